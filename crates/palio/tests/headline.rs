//! What `palio report --headline` says follows from the races of the run, all of them.

use crate::support::{Fake, Project, assert_has};

fn claiming(id: &str, ns: u64) -> Fake {
    Fake::new(id).fault(&format!("claim:{ns}"))
}

/// Two workloads: `own` takes half as long as `second` and twice as long as `first` in both.
fn raced(project: &Project, reference: &str) {
    let race = project.race().set("--workload", "echo,tally").set("--blocks", "5");
    race.set("--reference", reference).run().exits(0);
}

fn three() -> Project {
    Project::new()
        .with(claiming("first", 1_000_000))
        .with(claiming("own", 2_000_000))
        .with(claiming("second", 4_000_000))
}

fn headline(project: &Project, more: &[&str]) -> String {
    let args = [&["report", "latest", "--headline", "own"], more].concat();
    project.palio(&args).run().exits(0).stdout
}

#[test]
fn the_ratio_is_to_the_best_of_all_others_in_every_row() {
    let project = three();
    raced(&project, "own");
    let text = headline(&project, &[]);
    assert_has(
        &text,
        &[
            "own (1.0",
            "2.00, the geometric mean of 2 rows",
            "First in 0, tied with the first in 0, not decided in 0, behind in 2.",
            "2.00 of first's time, behind",
            "preset quick, 5 blocks a race. Noise floors of the rows that count: ",
            "--seed 1",
        ],
    );
    // Whoever is left out is named.
    let text = headline(&project, &["--without", "first"]);
    assert_has(&text, &["left out of these: first", "0.50, the geo", "First in 2"]);
}

/// A runtime that was not there may be the fastest.
#[test]
fn who_was_not_built_is_named() {
    let absent = Fake::new("absent").toml("[build]\ncommands = [[\"false\"]]\n");
    let project = three().with(absent);
    raced(&project, "own");
    let told = "Not built, so that nothing is said about them: absent.";
    assert_has(&headline(&project, &[]), &["absent 0 of 2", told]);
    let json = headline(&project, &["--format", "json"]);
    assert_has(&json, &["\"not_built\":[\"absent\"]"]);
    assert!(!headline(&project, &["--without", "absent"]).contains("Not built"));
}

#[test]
fn a_noisy_race_is_left_out_and_listed() {
    let project = three().with(Fake::new("moody").fault("moody"));
    raced(&project, "moody");
    let text = headline(&project, &[]);
    assert_has(&text, &["the geometric mean of 0 rows", "2 rows left out", "its noise floor is"]);
}

#[test]
fn a_doubtful_time_is_named() {
    // `first` takes 2 ms and claims 0.2 ms.
    let project = Project::new()
        .with(claiming("first", 2_000_000).fault("lie:10"))
        .with(claiming("own", 2_000_000))
        .with(claiming("second", 4_000_000).fault("lie:10"));
    raced(&project, "own");
    let text = headline(&project, &[]);
    assert_has(&text, &["behind in 2", "Doubtful times in rows that count:", "echo", "tally"]);
    assert_has(&text, &["first accounted for"]);
    // Whoever is not in the headline's numbers is not in its doubts either.
    assert!(!text.contains("second"), "{text}");
    let text = headline(&project, &["--without", "first,second"]);
    assert!(!text.contains("Doubtful"), "{text}");
}

#[test]
fn work_that_nobody_counted_is_doubtful() {
    let project = Project::new()
        .with(claiming("first", 1_000_000).fault("no-work:2"))
        .with(claiming("own", 2_000_000))
        .with(claiming("second", 4_000_000).fault("no-work:2"));
    raced(&project, "own");
    let text = headline(&project, &[]);
    assert_has(&text, &["Doubtful times in rows that count:", "first did not count its work"]);
    assert!(!text.contains("second"), "{text}");
    let args = ["report", "latest", "--headline", "own", "--format", "json"];
    let json = project.palio(&args).run().exits(0).json();
    let doubtful = json["headlines"][0]["doubtful"].as_array().unwrap().iter();
    // On a busy machine, the clock outside raises doubts of its own.
    let uncounted =
        |remark: &&serde_json::Value| remark["text"].as_str().unwrap().contains("did not count");
    assert_eq!(doubtful.filter(uncounted).count(), 2);
    let picture = project.palio(&["report", "latest", "--format", "svg"]).run().exits(0).stdout;
    let picture = picture.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(&picture, &["nobody counted their work or their forks: first in 2 races, second"]);
}

#[test]
fn a_row_in_which_it_failed_is_left_out_and_listed() {
    let project = Project::new()
        .with(claiming("first", 1_000_000))
        .with(Fake::new("own").fault("wrong-answer"));
    raced(&project, "first");
    let text = headline(&project, &[]);
    assert_has(&text, &["2 rows left out", "wrong answer"]);
}

#[test]
fn an_unknown_contender_is_refused() {
    let project = three();
    raced(&project, "own");
    let run = project.palio(&["report", "latest", "--headline", "nobody"]).run();
    run.fails_with(&["nobody is not in the run", "; it has ", "own"]);
    let run = project.palio(&["report", "latest", "--headline", "secnd"]).run();
    run.fails_with(&["secnd is not in the run", "did you mean second?"]);
}

#[test]
fn who_is_to_be_left_out_and_is_not_there_is_told_and_one_whom_nobody_knows_is_refused() {
    let project = three();
    raced(&project, "own");
    let plain = headline(&project, &[]);
    let project = project.with(Fake::new("absent"));
    let args = ["report", "latest", "--headline", "own", "--without"];
    let run = project.palio(&args).arg("absent,absent@dial=7").run().exits(0);
    let said = ["absent is not in the run", "absent@dial=7 is not in the run"];
    assert_eq!(run.complains(&said).stdout, plain);
    let run = project.palio(&args).arg("absnet").run();
    run.fails_with(&["absnet is not in the run", "did you mean \"absent\""]);
}

#[test]
fn the_run_and_whom_it_lacks_are_named() {
    // The best one of all fails in one of the two rows, so that it is not beaten there.
    let project = three().with(claiming("zero", 500_000).fault("wrong-in:tally"));
    raced(&project, "own");
    let text = headline(&project, &[]);
    assert_has(&text, &["suite custom", "preset quick", "palio run -w"]);
    assert_has(&text, &["zero 1 of 2"]);
    assert!(!text.contains("partial"), "{text}");
}

#[test]
fn tuning_is_marked() {
    let project = three();
    let names = "own@dial=1,fast=first@dial=1,second";
    let race = project.race().set("--blocks", "5").set("--contender", names);
    race.set("--reference", "second").run().exits(0);
    let args = ["report", "latest", "--headline", "own@dial=1"];
    let text = project.palio(&args).run().exits(0).stdout;
    assert_has(&text, &["own@dial=1 (tuned)", "of fast (tuned)'s time"]);
    for format in ["terminal", "markdown"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        // The table of totals has neither versions nor verdicts, but shares of completed races.
        let is_total = |line: &&str| line.contains("1/1") && line.contains("fast");
        let total = text.lines().find(is_total).unwrap_or_else(|| panic!("{format}: {text}"));
        assert_has(total, &["fast (tuned)"]);
    }
}

#[test]
fn no_headline_is_corrected_and_no_baseline_has_one() {
    let project = three();
    let path = "contenders/rust/second/contender.toml";
    let text = project.read(path).replace("kind = \"async\"", "kind = \"baseline\"");
    project.write(path, &text);
    raced(&project, "own");
    let run = project.palio(&["report", "latest", "--headline", "second"]).run();
    run.fails_with(&["second is a baseline"]);
    let run = project.palio(&["report", "latest", "--headline", "own", "--holm"]).run();
    run.exits(2).complains(&["--holm"]);
}

#[test]
fn headlines_of_all_are_read_by_machines_and_from_bundles() {
    let project = three().with(Fake::new("twin").fault("claim:1000000"));
    raced(&project, "own");
    project.palio(&["export", "latest", "run.json.gz"]).run().exits(0);
    let args = ["report", "--bundle", "run.json.gz", "--headline", "all", "--format", "json"];
    // Neither a database nor a catalogue is needed; but without the latter, it is said.
    let nowhere =
        || project.palio(&args).set("--db", "/nowhere/palio.db").set("--root", "/nowhere");
    nowhere().run().fails_with(&["/nowhere", "choose another --root"]);
    let document = nowhere().arg("--other-catalogue").run().exits(0).json();
    let warning = document["run"]["warnings"].as_array().unwrap().last().unwrap();
    assert_has(warning.as_str().unwrap(), &["read where there was no catalogue"]);
    assert_eq!(document["run"]["suite"], "custom");
    let headlines = document["headlines"].as_array().unwrap();
    let ids: Vec<&str> = headlines.iter().map(|h| h["contender"].as_str().unwrap()).collect();
    assert_eq!(ids, document["contenders"].as_array().unwrap()[..]);
    let of = |id: &str| headlines.iter().find(|h| h["contender"] == id).unwrap();
    let (own, first) = (of("own"), of("first"));
    assert_eq!(own["geometric_mean"], 2.0);
    assert_eq!([&own["first"], &own["tied"], &own["not_decided"], &own["behind"]], [0, 0, 0, 2]);
    assert_eq!([&first["first"], &first["tied"], &first["behind"]], [0, 2, 0]);
    assert_eq!(first["rows"][0]["best_other"], "twin");
    assert_eq!(own["text"], headline(&project, &[]));
    let run = project.palio(&["report", "latest", "--headline", "own", "--format", "csv"]).run();
    run.fails_with(&["as text or as JSON"]);
}
