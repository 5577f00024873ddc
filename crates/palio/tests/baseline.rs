//! `palio baseline`: whether a later run is slower than one that was saved.

use crate::support::forging::{bundle, fingerprint};
use crate::support::{Fake, Finished, Project};

fn race(project: &Project) -> String {
    let race = project.race().set("--blocks", "8").run().exits(0);
    race.json()["run"]["id"].as_str().unwrap().to_owned()
}

/// `anchor` and `other`, raced once and saved as `main`.
fn saved(args: &[&str]) -> (Project, String) {
    let project = Project::new().with(Fake::new("anchor")).with(Fake::new("other"));
    let id = race(&project);
    let save = [&["baseline", "save", "main"], args].concat();
    project.palio(&save).run().exits(0).prints(&[&format!("The run {id} is the baseline main")]);
    (project, id)
}

/// From now on a sample takes `ns`, instead of 2 ms.
fn takes(project: &Project, contender: &str, ns: u64) {
    let path = format!("contenders/rust/{contender}/contender.toml");
    let fault = format!("\"--fault\", \"claim:{ns}\", \"--from\"");
    project.write(&path, &project.read(&path).replace("\"--from\"", &fault));
}

fn check(project: &Project, more: &[&str]) -> Finished {
    project.palio(&[&["baseline", "check", "main"], more].concat()).run()
}

#[test]
fn whatever_became_slower_is_named_and_the_status_is_1() {
    let (project, _) = saved(&["--anchor", "anchor"]);
    // The machine is half as fast, and the contender lost a fifth besides.
    takes(&project, "anchor", 4_000_000);
    takes(&project, "other", 4_800_000);
    race(&project);
    let failed = check(&project, &["--threshold", "10%"]).exits(1);
    failed
        .prints(&["slower  echo n=10 · 1 thread: other takes 1.2", "Failed: of 1 cell, 1 slower"]);
    let passed = check(&project, &["--threshold", "30"]).exits(0);
    passed.prints(&["Passed: of 1 cell, none is slower by more than 30 % beyond the noise."]);
    let json = check(&project, &["--threshold", "10", "--json"]).exits(1).json();
    assert_eq!(json["judgement"]["has_passed"], false);
    assert_eq!(json["judgement"]["regressions"].as_array().unwrap().len(), 1);
    assert_eq!(json["anchor"], "anchor");
}

#[test]
fn a_slower_machine_alone_passes() {
    let (project, _) = saved(&["--anchor", "anchor"]);
    takes(&project, "anchor", 3_000_000);
    takes(&project, "other", 3_000_000);
    race(&project);
    let passed = check(&project, &["--threshold", "2%"]).exits(0);
    assert!(!passed.stdout.contains("unsure"), "{}", passed.stdout);
}

/// A difference beyond the threshold that the noise may explain does not fail, and is not hidden.
#[test]
fn noise_does_not_fail_but_is_told() {
    let moody = Fake::new("other").fault("moody");
    let project = Project::new().with(Fake::new("anchor")).with(moody);
    race(&project);
    project.palio(&["baseline", "save", "main"]).run().exits(0);
    takes(&project, "other", 2_600_000);
    race(&project);
    let passed = check(&project, &["--threshold", "5%", "--anchor", "anchor"]).exits(0);
    passed.prints(&["unsure  echo n=10", "other takes", "may hide in the noise"]);
}

#[test]
fn whoever_fails_now_has_not_passed() {
    let (project, _) = saved(&["--anchor", "anchor"]);
    let path = "contenders/rust/other/contender.toml";
    let fault = "\"--fault\", \"wrong-answer\", \"--from\"";
    project.write(path, &project.read(path).replace("\"--from\"", fault));
    race(&project);
    let failed = check(&project, &["--threshold", "10%"]).exits(1);
    failed.prints(&["fails   echo n=10 · 1 thread: other: ok → wrong-answer"]);
}

/// One whose build broke was not slower, and others that were judged do not make up for it.
#[test]
fn whoever_is_not_built_any_more_has_not_passed() {
    let names = ["anchor", "other", "third"];
    let project = names.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    race(&project);
    project.palio(&["baseline", "save", "main", "--anchor", "anchor"]).run().exits(0);
    let path = "contenders/rust/other/contender.toml";
    let text = project.read(path);
    project.write(path, &text.replace("[run]", "[build]\ncommands = [[\"false\"]]\n[run]"));
    race(&project);
    let failed = check(&project, &["--threshold", "100%"]).exits(1);
    failed.prints(&["fails   echo n=10 · 1 thread: other: ok → not-built"]);
}

#[test]
fn who_did_not_race_again_is_told() {
    let names = ["anchor", "other", "third"];
    let project = names.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    race(&project);
    project.palio(&["baseline", "save", "main", "--anchor", "anchor"]).run().exits(0);
    let race = project.race().set("--blocks", "8").set("--contender", "anchor,third");
    race.run().exits(0);
    let passed = check(&project, &["--threshold", "100%"]).exits(0);
    passed.prints(&["only A has these contenders: other", "Passed: of 1 cell"]);
}

#[test]
fn baselines_are_listed_replaced_and_forgotten_and_their_runs_stay() {
    let (project, first) = saved(&["--anchor", "anchor"]);
    let second = race(&project);
    let again = ["baseline", "save", "main"];
    project.palio(&again).run().fails_with(&["there is a baseline \"main\" already", "--replace"]);
    project.palio(&["baseline", "save", "other.1", &first]).run().exits(0);
    project.palio(&[&again[..], &["latest", "--replace"]].concat()).run().exits(0);
    let list = project.palio(&["baseline", "list", "--json"]).run().exits(0).json();
    let told: Vec<[&str; 2]> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|known| [known["name"].as_str().unwrap(), known["run"].as_str().unwrap()])
        .collect();
    assert_eq!(told, [["main", second.as_str()], ["other.1", first.as_str()]]);
    project.palio(&["baseline", "list"]).run().exits(0).prints(&["other.1", &first, "no anchor"]);
    project.palio(&["baseline", "remove", "main"]).run().exits(0).prints(&[&second]);
    check(&project, &["--threshold", "5"]).fails_with(&["no baseline \"main\"", "baseline list"]);
    assert_eq!(project.runs().len(), 2);
}

#[test]
fn what_can_say_nothing_is_refused_with_the_reason() {
    let (project, _) = saved(&[]);
    let same = check(&project, &["--threshold", "5", "--anchor", "anchor"]);
    same.fails_with(&["is the baseline main itself"]);
    race(&project);
    check(&project, &["--threshold", "5"]).fails_with(&["needs an anchor", "anchor, other"]);
    let nobody = check(&project, &["--threshold", "5", "--anchor", "nobody"]);
    nobody.fails_with(&["the anchor nobody did not race", "anchor, other"]);
    for bad in ["-1", "much"] {
        let threshold = format!("--threshold={bad}");
        check(&project, &[&threshold]).exits(2).complains(&["percent"]);
    }
    check(&project, &[]).exits(2).complains(&["--threshold"]);
    let cases: [(&[&str], &str); 4] = [
        (&["save", "a b"], "is no name"),
        (&["save", "x", "nothing"], "no run \"nothing\""),
        (&["save", "x", "--anchor", "nobody"], "the anchor nobody did not race"),
        (&["remove", "mian"], "did you mean \"main\"?"),
    ];
    for (args, part) in cases {
        project.palio(&[&["baseline"], args].concat()).run().fails_with(&[part]);
    }
    let absent = Fake::new("absent").toml("[build]\ncommands = [[\"false\"]]\n");
    let project = project.with(absent);
    race(&project);
    let args = ["baseline", "save", "x", "--anchor", "absent"];
    project.palio(&args).run().fails_with(&["the anchor absent did not race", "anchor, other"]);
    project.palio(&["baseline", "save", "x"]).run().exits(0);
    // What is missing could never be checked.
    let id = race(&project);
    rusqlite::Connection::open(project.database())
        .unwrap()
        .execute(
            "UPDATE run SET header = json_set(header, '$.finished_at', json('null')) WHERE id = ?1",
            [&id],
        )
        .unwrap();
    let unfinished = [format!("the run {id} is not finished"), "palio run --resume".to_owned()];
    let parts: Vec<&str> = unfinished.iter().map(String::as_str).collect();
    project.palio(&["baseline", "save", "y"]).run().fails_with(&parts);
    // An anchor that is not what it was.
    project.write("state/anchor/version", "2.0");
    race(&project);
    let changed = check(&project, &["--threshold", "5", "--anchor", "anchor"]);
    changed
        .fails_with(&["the anchor anchor is not the same in both runs", "nothing can be judged"]);
    // Too few blocks on one side: that nothing is slower then would say nothing.
    let enough = project.palio(&["baseline", "save", "few", "--replace"]).run().exits(0);
    assert_eq!(enough.stderr, "");
    project.race().run().exits(0);
    let saved = project.palio(&["baseline", "save", "fewer"]).run().exits(0);
    saved.complains(&["nothing can be judged by fewer than 5", "--blocks"]);
    let few = ["baseline", "check", "few", "--threshold", "5", "--anchor", "anchor"];
    project.palio(&few).run().fails_with(&["nothing can be judged", "5 blocks or more"]);
}

#[test]
fn a_database_without_a_baseline_is_not_made() {
    let project = Project::new().with(Fake::new("good"));
    let list = project.palio(&["baseline", "list"]).run().exits(0);
    list.prints(&["There is no baseline yet"]);
    assert!(!project.database().exists());
}

/// The baseline of another machine, as a bundle brings it.
#[test]
fn another_machine_is_refused_unless_forced() {
    let (project, _) = saved(&["--anchor", "anchor"]);
    let mut run = project.stored();
    run["header"]["id"] = "elsewhere".into();
    run["header"]["machine"]["cores"] = 3.into();
    let fingerprint = fingerprint(&mut run);
    project.write("elsewhere.json", &bundle(&run));
    project.palio(&["import", "elsewhere.json"]).run().exits(0);
    project
        .palio(&["baseline", "save", "main", "elsewhere", "--replace", "--anchor", "anchor"])
        .run()
        .exits(0);
    race(&project);
    let refused = check(&project, &["--threshold", "5"]);
    refused.fails_with(&[
        &format!("raced on another machine (fingerprint {fingerprint} and now "),
        "processors 3, now ",
        "--force",
    ]);
    let forced = check(&project, &["--threshold", "50", "--force"]).exits(0);
    forced.complains(&["forced, although it was raced on another machine"]);
}

#[test]
fn a_run_that_is_not_finished_is_refused_unless_forced() {
    let (project, _) = saved(&["--anchor", "anchor"]);
    let id = race(&project);
    let database = rusqlite::Connection::open(project.database()).unwrap();
    let unfinish = "UPDATE run SET header = json_set(header, '$.finished_at', json('null')) \
        WHERE json_extract(header, '$.id') = ?1";
    assert_eq!(database.execute(unfinish, [&id]).unwrap(), 1);
    let told = format!("the run {id} is not finished");
    check(&project, &["--threshold", "50"]).fails_with(&[&told, "--force"]);
    let forced = check(&project, &["--threshold", "50", "--force"]).exits(0);
    forced.complains(&[&format!("forced, although {told}")]);
}
