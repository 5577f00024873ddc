//! `palio report --only`, `--except` and `--intersection`: what is compared is compared anew over
//! what is shown, every format obeys, and every report says what it leaves out.

use crate::support::{Fake, Project, assert_has, entry};
use serde_json::Value;

fn claiming(id: &str, ns: u64) -> Fake {
    Fake::new(id).fault(&format!("claim:{ns}"))
}

/// 1, 2 and 4 ms in `echo` and in `tally`, where `swift` gives a wrong answer.
fn raced() -> Project {
    let project = Project::new()
        .with(claiming("swift", 1_000_000).fault("wrong-in:tally"))
        .with(claiming("middle", 2_000_000))
        .with(claiming("tardy", 4_000_000));
    let race = project.race().set("--workload", "echo,tally").set("--blocks", "6");
    race.set("--reference", "swift").run().exits(0);
    project
}

fn report(project: &Project, more: &[&str]) -> Value {
    let args = [&["report", "latest", "--format", "json"], more].concat();
    project.palio(&args).run().exits(0).json()
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let names = list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn ranks_ratios_and_means_are_those_of_the_shown() {
    let project = raced();
    let all = report(&project, &[]);
    assert_eq!(all["run"]["selection"], Value::Null);
    assert_eq!(entry(&all, "middle")["rank"], serde_json::json!([2, 2]));
    let some = report(&project, &["--except", "swift"]);
    assert_eq!(names(&some["races"][0]["entries"], "contender"), ["middle", "tardy"]);
    assert_eq!(names(&some["contenders"], "id"), ["middle", "tardy"]);
    assert_eq!(entry(&some, "middle")["rank"], serde_json::json!([1, 1]));
    assert_eq!(entry(&some, "middle")["ratio_to_best"]["point"], 1.0);
    let is_two = |number: &Value| (number.as_f64().unwrap() - 2.0).abs() < 1e-9;
    assert!(is_two(&entry(&some, "tardy")["ratio_to_best"]["point"]));
    let totals = some["totals"].as_array().unwrap();
    assert_eq!(totals.len(), 2);
    assert_eq!(totals[1]["common"], 2);
    assert!(is_two(&totals[1]["geomean_ratio"]));
    // What belongs to the race is not lost with its reference.
    assert_eq!(some["races"][0]["noise_floor"], all["races"][0]["noise_floor"]);
    assert_eq!(some["races"][0]["reference"], "swift");
    let verdict = |report: &Value| entry(report, "tardy")["ratio_to_reference"]["verdict"].clone();
    assert_eq!([verdict(&some), verdict(&all)], ["slower", "slower"]);
    assert_eq!(some, report(&project, &["--only", "tardy,middle"]));
    assert_eq!(some["run"]["selection"]["contenders_left_out"], serde_json::json!(["swift"]));
}

/// Or whoever looks for a difference could leave out all that show none.
#[test]
fn holms_correction_is_for_the_whole_run() {
    let project = raced();
    let of = |more: &[&str]| {
        let report = report(&project, &[&["--holm"], more].concat());
        let verdict = entry(&report, "middle")["ratio_to_reference"].clone();
        (verdict["holm"].clone(), verdict["verdict"].clone(), report["told_apart"].clone())
    };
    let (holm, verdict, told) = of(&[]);
    // Two comparisons of six blocks: each has a p-value of 2 ÷ 64, and twice that is above 5 %.
    assert_eq!((&verdict, &told["comparisons"]), (&"inconclusive".into(), &2.into()));
    for part in [&["--except", "tardy"][..], &["--only", "swift,middle", "--intersection"]] {
        let (part_holm, part_verdict, told) = of(part);
        assert_eq!((&part_holm, &part_verdict), (&holm, &verdict), "{part:?}");
        assert_eq!((&told["comparisons"], &told["in_run"]), (&1.into(), &2.into()));
        let text = project.palio(&[&["report"], part].concat()).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_has(&text, &["Holm's correction for all 2 comparisons of the run takes 7 blocks"]);
    }
}

/// Whoever takes medians of samples must see whose answers were wrong.
#[test]
fn a_sample_says_what_became_of_its_contender() {
    let project = raced();
    let args = ["report", "latest", "--format", "csv-samples"];
    let text = project.palio(&args).run().exits(0).stdout;
    let mut lines = text.lines();
    assert!(lines.next().unwrap().ends_with(",outcome"));
    for line in lines {
        let is_wrong = line.contains(",tally,") && line.contains(",swift,");
        assert!(line.ends_with(if is_wrong { ",wrong-answer" } else { ",ok" }), "{line}");
    }
}

/// Corrected, what a verdict takes depends on all comparisons: no race says a number of its own.
#[test]
fn with_holms_correction_no_race_says_how_many_blocks_it_needs() {
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/yaay.json.gz");
    let says = |more: &[&str]| {
        let args = [&["report", "--bundle", bundle], more].concat();
        let text = Project::new().palio(&args).run().exits(0).stdout;
        text.contains("blocks that a verdict would take")
    };
    assert_eq!([says(&[]), says(&["--holm"])], [true, false]);
}

/// Of contenders that were not built, nothing is "completed by all".
#[test]
fn an_intersection_of_nobody_is_refused() {
    let project = raced();
    let absent = Fake::new("absent")
        .toml("[[requires]]\nname = \"x\"\nprobe = [\"false\"]\ninstall = \"x\"\n");
    let project = project.with(absent);
    project.race().run().exits(0);
    let all = ["report", "latest", "--except", "swift,middle,tardy"];
    let refused = [&all[..], &["--intersection"]].concat();
    for args in [&all[..], &refused] {
        project.palio(args).run().fails_with(&["no race of the run", "was raced by absent"]);
    }
}

#[test]
fn an_intersection_has_only_races_that_all_completed() {
    let project = raced();
    let all = report(&project, &["--intersection"]);
    assert_eq!(names(&all["races"], "workload"), ["echo"]);
    assert_eq!(all["run"]["selection"]["races_left_out"].as_array().unwrap().len(), 1);
    let some = report(&project, &["--intersection", "--except", "swift"]);
    assert_eq!(names(&some["races"], "workload"), ["echo", "tally"]);
}

#[test]
fn every_format_obeys_and_says_so() {
    let project = raced();
    let of = |format: &str| {
        let args = ["report", "latest", "--except", "tardy", "--intersection", "--format", format];
        project.palio(&args).run().exits(0)
    };
    let told = ["shows a part of its run: 2 of 3 contenders, without tardy; and 1 of 2 races"];
    for format in ["terminal", "markdown", "html"] {
        let text = of(format).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_has(&text, &told);
        // Its name is in that sentence and nowhere else.
        assert_eq!(text.matches("tardy").count(), 1, "{format}: {text}");
    }
    for format in ["csv", "csv-samples"] {
        let finished = of(format).complains(&told);
        assert!(!finished.stdout.contains("tardy") && !finished.stdout.contains("tally"));
        assert_has(&finished.stdout, &["swift", "middle", "echo"]);
    }
    // Of a whole run nothing of the kind is said.
    let whole = project.palio(&["report", "latest", "--format", "csv"]).run().exits(0);
    assert_eq!(whole.stderr, "");
    assert_has(&whole.stdout, &["tardy", "tally"]);
}

#[test]
fn a_headline_is_over_what_is_shown() {
    let project = raced();
    let args = ["report", "latest", "--headline", "middle", "--except", "swift"];
    let text = project.palio(&args).run().exits(0).stdout;
    // The reference failed in the other row, which leaves it without a noise floor.
    assert_has(&text, &["0.50, the geometric mean of 1 row", "First in 1", "without swift"]);
    let args =
        ["report", "latest", "--headline", "all", "--only", "tardy,middle", "--format", "json"];
    let all = project.palio(&args).run().exits(0).json();
    assert_eq!(names(&all["headlines"], "contender"), ["middle", "tardy"]);
}

#[test]
fn predictions_of_those_left_out_are_not_counted() {
    let project = raced();
    let path = "workloads/echo.toml";
    let text = project.read(path).replacen(
        "[[case]]",
        "predictions = [\n{ expect = \"swift < tardy\", because = \"it does less\" },\n\
         { expect = \"middle < tardy\", because = \"it does less\" },\n]\n[[case]]",
        1,
    );
    project.write(path, &text);
    project.race().set("--blocks", "6").run().exits(0);
    assert_eq!(report(&project, &[])["predictions"].as_array().unwrap().len(), 2);
    let some = report(&project, &["--except", "swift"]);
    assert_eq!(names(&some["predictions"], "expected"), ["middle < tardy"]);
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let project = raced();
    let fails = |args: &[&str], parts: &[&str]| {
        project.palio(&[&["report", "latest"], args].concat()).run().fails_with(parts);
    };
    fails(&["--only", "midle"], &["the contender midle is not in the run", "did you mean middle?"]);
    fails(&["--except", "zzz"], &["zzz is not in the run", "it has middle, swift, tardy"]);
    fails(&["--only", "swift", "--except", "swift"], &["leave no contender"]);
    let project = Project::good_and(Fake::new("bad").fault("wrong-answer"));
    project.race().run().exits(0);
    let run = project.palio(&["report", "latest", "--intersection"]).run();
    run.fails_with(&["completed by all", "good completed 1 of 1", "bad completed 0 of 1"]);
}

/// It would turn the row, and the run could be imported nowhere.
#[test]
fn a_knob_that_the_row_sets_itself_is_refused() {
    let project = Project::new().with(Fake::new("good"));
    let race = project.race().set("-c", "good@n=3").run();
    race.fails_with(&["good@n=3 cannot have the knob n in echo, which sets n itself"]);
    let unseen = project.race().set("-c", "good@dial=1\u{ad}2").run();
    unseen.fails_with(&["\"dial\"", "what cannot be seen"]);
}
