//! Two runs side by side: what the machine did is divided away, or nothing is concluded.

use crate::support::{Fake, Project, assert_has};
use nix::sys::signal::Signal;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

const NAMES: [&str; 3] = ["anchor", "other", "third"];

/// A project with a run of 8 blocks, and the id of that run.
fn raced() -> (Project, String) {
    let project = NAMES.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    let id = race(&project);
    (project, id)
}

fn race(project: &Project) -> String {
    let race = project.race().set("--blocks", "8").set("--reference", "third");
    race.run().exits(0).json()["run"]["id"].as_str().unwrap().to_owned()
}

/// Makes `contender` take so long from now on, instead of 2 ms.
fn slow_down(project: &Project, contender: &str, ns: u64) {
    let path = format!("contenders/rust/{contender}/contender.toml");
    let fault = format!("\"--fault\", \"claim:{ns}\", \"--from\"");
    project.write(&path, &project.read(&path).replace("\"--from\"", &fault));
}

#[test]
fn a_slower_machine_is_no_slower_contender() {
    let (project, first) = raced();
    NAMES.into_iter().for_each(|name| slow_down(&project, name, 3_000_000));
    race(&project);

    let alone = project.palio(&["compare", &first, "latest"]).run().exits(0);
    let text = alone.prints(&["1.500", "cannot tell machine from contender"]).stdout;
    assert!(text.trim_end().ends_with("0 slower, 0 faster, 3 inconclusive"), "{text}");

    let args = ["compare", &first, "latest", "--anchor", "anchor", "--fail-above", "0.1"];
    let anchored = project.palio(&args).run().exits(0);
    anchored.prints(&[
        "B ÷ A, by anchor",
        "1.000",
        "2 equivalent, 0 not completed in both; 0 slower, 0 faster, 0 inconclusive",
        "Passed: of 2 cells, none is slower by more than 0.1 % beyond the noise.",
    ]);
}

/// The first run has blocks of other numbers than the second one, and as many.
#[test]
fn a_block_that_was_cut_off_takes_no_other_away() {
    let project = ["anchor", "third"].into_iter().fold(Project::new(), |p, n| p.with(Fake::new(n)));
    let project = project.with(Fake::new("other").fault("meet:2").from(2));
    let meeting = project.meeting("other");
    let race = || project.race().set("--blocks", "5").set("--reference", "third");
    let palio = race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    drop(guest);
    let first = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    race().run().exits(0);
    let first = first["run"]["id"].as_str().unwrap();
    let args = ["compare", first, "latest", "--anchor", "anchor", "--fail-above", "10"];
    project.palio(&args).run().exits(0).prints(&["Passed: of 2 cells"]);
}

#[test]
fn a_slower_contender_on_a_faster_machine_is_slower_and_exits_with_1() {
    let (project, first) = raced();
    slow_down(&project, "anchor", 1_000_000);
    slow_down(&project, "other", 2_000_000);
    slow_down(&project, "third", 500_000);
    race(&project);
    let compare = |limit: &str| {
        let args = ["compare", &first, "latest", "--anchor", "anchor", "--fail-above", limit];
        project.palio(&args).run()
    };
    compare("10").exits(1).prints(&[
        "2.00 ",
        "0.50 ",
        "1 slower, 1 faster, 0 inconclusive",
        "slower  echo n=10 · 1 thread: other takes 2.00 ",
        "Failed: of 2 cells, 1 slower by more than 10 % beyond the noise",
    ]);
    compare("150").exits(0);
}

#[test]
fn an_anchor_is_needed_to_fail_and_must_be_there_and_the_same() {
    let (project, first) = raced();
    let bare = ["compare", "latest", "latest", "--fail-above", "5"];
    project.palio(&bare).run().exits(2).complains(&["--anchor", "--within"]);
    let itself = [&bare[..], &["--anchor", "anchor"]].concat();
    project.palio(&itself).run().fails_with(&["with itself"]);
    let unknown = ["compare", "latest", "latest", "--anchor", "nobody"];
    project.palio(&unknown).run().fails_with(&["anchor nobody did not race"]);

    project.write("state/anchor/version", "2.0");
    race(&project);
    let args = ["compare", &first, "latest", "--anchor", "anchor"];
    let beware = "the anchor anchor is not the same in both runs: 1.0 in A, 2.0 in B";
    let text = project.palio(&args).run().exits(0).prints(&[beware]).stdout;
    assert!(text.trim_end().ends_with("0 slower, 0 faster, 2 inconclusive"), "{text}");
    let gate = [&args[..], &["--fail-above", "5"]].concat();
    project.palio(&gate).run().fails_with(&["the anchor anchor is not the same in both runs"]);
}

#[test]
fn an_anchor_with_other_knobs_is_another() {
    let project = NAMES.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    let race = |dial: &str| {
        let contenders = format!("x=anchor@dial={dial},other,third");
        let race = project.race().set("--blocks", "8").set("--contender", contenders);
        race.set("--reference", "third").run().exits(0);
    };
    race("7");
    let first = project.runs()[0]["id"].as_str().unwrap().to_owned();
    race("8");
    let args = ["compare", &first, "latest", "--anchor", "x", "--fail-above", "5"];
    project.palio(&args).run().fails_with(&["the anchor x is not the same in both runs"]);
}

#[test]
fn what_a_run_warns_of_is_told_beside_what_it_is_compared_with() {
    let (project, first) = raced();
    race(&project);
    let connection = Connection::open(project.database()).unwrap();
    for (of, warnings) in
        [("=", r#"["dust", "a storm\u001b"]"#), ("<>", r#"["dust", "an earthquake"]"#)]
    {
        let set = format!(
            "UPDATE run SET header = json_set(header, '$.warnings', json(?1)) WHERE id {of} ?2"
        );
        assert_eq!(connection.execute(&set, [warnings, &first]).unwrap(), 1);
    }
    let compared = |args: &[&str]| project.palio(args).run().exits(0).stdout;
    let between = compared(&["compare", &first, "latest", "--anchor", "anchor"]);
    assert_has(&between, &["A and B: dust", "A: a storm", "B: an earthquake"]);
    assert_eq!(between.matches("dust").count(), 1, "{between}");
    let within = compared(&["compare", "other", "third", "--within", &first]);
    assert_has(&within, &["beware  dust", "beware  a storm"]);
    assert!(!(between + &within).contains('\u{1b}'), "it drives a terminal");
}

#[test]
fn a_name_of_its_own_with_other_knobs_is_told() {
    let project = NAMES.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    let race = |dial: &str| {
        let contenders = format!("anchor,x=other@dial={dial},third");
        project.race().set("--contender", contenders).set("--reference", "third").run().exits(0);
        project.runs()[0]["id"].as_str().unwrap().to_owned()
    };
    let first = race("7");
    let compare = |run: &str| {
        let args = ["compare", &first, run, "--anchor", "anchor"];
        project.palio(&args).run().exits(0).stdout
    };
    assert!(!compare(&race("7")).contains("x is"));
    assert_has(&compare(&race("8")), &["x is other@dial=7 in A and other@dial=8 in B"]);
}

#[test]
fn a_row_that_the_anchor_did_not_complete_is_told_beside_a_check_that_passes() {
    let project = NAMES.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    let race = || {
        let race = project.race().set("--workload", "echo,tally").set("--blocks", "8");
        let race = race.set("--reference", "third").run().exits(0);
        race.json()["run"]["id"].as_str().unwrap().to_owned()
    };
    let first = race();
    let path = "contenders/rust/anchor/contender.toml";
    let fault = "\"--fault\", \"wrong-in:tally\", \"--from\"";
    project.write(path, &project.read(path).replace("\"--from\"", fault));
    race();
    let args = ["compare", &first, "latest", "--anchor", "anchor", "--fail-above", "50"];
    let text = project.palio(&args).run().exits(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(&text, &["Passed: of 2 cells", "Not judged: 2 cells, whose times there is nothing"]);
}

/// What is missing was never seen, and could not fail.
#[test]
fn nothing_is_judged_of_a_run_that_is_not_finished() {
    let (project, first) = raced();
    let path = "contenders/rust/third/contender.toml";
    let slow = project.read(path).replace("\"--from\"", "\"--fault\", \"silent\", \"--from\"");
    project.write(path, &slow);
    let race = project.race().set("--blocks", "8").set("--reference", "third").start();
    while project.runs().len() < 2 {
        assert!(!race.is_over(), "it was to wait for a contender that says nothing");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    race.signal(Signal::SIGINT);
    race.finish();
    let args = ["compare", &first, "latest", "--anchor", "anchor"];
    project.palio(&args).run().exits(0).prints(&["B is not finished"]);
    let within = ["compare", "anchor", "other", "--within", "latest"];
    project.palio(&within).run().exits(0).prints(&["the run is not finished"]);
    for args in [&args[..], &within] {
        let gate = [args, &["--fail-above", "10"]].concat();
        project.palio(&gate).run().fails_with(&["is not finished", "palio run --resume"]);
    }
}

/// Nobody knows then how much of a difference is noise: a check that could not fail has not passed.
#[test]
fn nothing_is_judged_without_a_noise_floor() {
    let project = NAMES.into_iter().fold(Project::new(), |project, name| {
        let fake = Fake::new(name);
        project.with(if name == "third" { fake.fault("segfault") } else { fake })
    });
    let race = || {
        let race = project.race().set("--blocks", "8").set("--reference", "third").run();
        race.json()["run"]["id"].as_str().unwrap().to_owned()
    };
    let first = race();
    slow_down(&project, "other", 6_000_000);
    race();
    let args = ["compare", &first, "latest", "--anchor", "anchor"];
    project.palio(&args).run().exits(0).prints(&["inconclusive: the noise floor is unknown"]);
    let gate = [&args[..], &["--fail-above", "10"]].concat();
    project.palio(&gate).run().exits(2).complains(&["nothing can be judged", "noise floor"]);
}

#[test]
fn other_work_under_the_same_name_is_another_race() {
    let (project, first) = raced();
    for (from, to) in [("unit = \"echo\"", "unit = \"reply\""), ("\"steady\"", "\"cold\"")] {
        let echo = project.read("workloads/echo.toml");
        project.write("workloads/echo.toml", &echo.replace(from, to));
        race(&project);
        project.write("workloads/echo.toml", &echo);
        let run = project.palio(&["compare", &first, "latest", "--anchor", "anchor"]).run();
        run.fails_with(&["no race in common"]);
    }
}

/// The answer under the salt 0 is of the work, as that of an unsalted row is.
#[test]
fn other_work_in_a_salted_row_is_another_race() {
    let project = NAMES.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    let race = || {
        let race = project.race().set("--workload", "raise").set("--blocks", "8");
        race.run().exits(0).json()["run"]["id"].as_str().unwrap().to_owned()
    };
    let first = race();
    project.palio(&["compare", &first, &race(), "--anchor", "anchor"]).run().exits(0);
    // Whose work answers something else under the same salt does something else.
    let mut other = project.stored();
    other["header"]["id"] = "other".into();
    other["races"][0]["answer"] = "43".into();
    let text = other.to_string();
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
    let bundle = format!(
        "{{\"format\":\"palio-bundle\",\"version\":1,\"sha256\":\"{hash}\",\"run\":{text}}}"
    );
    project.write("other.json", &bundle);
    project.palio(&["import", "other.json", "--other-catalogue"]).run().exits(0);
    let compared = project.palio(&["compare", &first, "other", "--anchor", "anchor"]).run();
    compared.fails_with(&["no race in common"]);
}

#[test]
fn what_was_built_or_said_differently_is_told() {
    let (project, first) = raced();
    let path = "contenders/rust/other/contender.toml";
    let fault = "\"--fault\", \"describe-flags:allocator=mimalloc-2\", \"--from\"";
    project.write(
        path,
        &project
            .read(path)
            .replace("\"--from\"", fault)
            .replace("kind = ", "allocator = \"mimalloc\"\nkind = "),
    );
    let echo = project.read("workloads/echo.toml");
    let adapted = echo
        .replace("fidelity = \"own\"", "fidelity = \"adapted\"\ndeviations = [\"it is slower\"]");
    project.write("workloads/echo.toml", &adapted);
    race(&project);
    let compared =
        project.palio(&["compare", &first, "latest", "--anchor", "anchor"]).run().exits(0);
    let text = compared.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(
        &text,
        &[
            "other was built with - in A and with allocator=mimalloc-2 in B",
            "echo n=10 · 1 thread: what the catalogue says of its work differs",
        ],
    );
}

#[test]
fn another_contender_under_the_same_name_is_not_compared() {
    let project = NAMES.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    let race = |contenders: &str| {
        let race = project.race().set("--blocks", "8").set("--contender", contenders);
        race.run().exits(0).json()["run"]["id"].as_str().unwrap().to_owned()
    };
    let first = race("anchor,x=other");
    slow_down(&project, "third", 4_000_000);
    race("anchor,x=third");
    let run = project.palio(&["compare", &first, "latest", "--anchor", "anchor"]).run().exits(0);
    let text = run.prints(&["other in A, third in B"]).stdout;
    assert!(text.trim_end().contains("0 slower, 0 faster"), "{text}");
}

#[test]
fn whoever_fails_now_has_not_passed() {
    let (project, first) = raced();
    let path = "contenders/rust/other/contender.toml";
    let fault = "\"--fault\", \"wrong-answer\", \"--from\"";
    project.write(path, &project.read(path).replace("\"--from\"", fault));
    race(&project);
    let args = ["compare", &first, "latest", "--anchor", "anchor", "--fail-above", "5"];
    project.palio(&args).run().exits(1).prints(&["ok → wrong-answer"]);
}

#[test]
fn a_plan_that_differs_and_a_race_that_is_gone_are_told() {
    let project = NAMES.into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    let race = |workloads: &str, warm_up: &str| {
        let race = project.race().set("--workload", workloads).set("--warm-up", warm_up);
        race.run().exits(0).json()["run"]["id"].as_str().unwrap().to_owned()
    };
    let first = race("echo,tally", "0");
    race("echo", "5");
    let run = project.palio(&["compare", &first, "latest"]).run().exits(0);
    run.prints(&["warm-up 0 ms in A, 5 ms in B", "only in A: tally n=10 · 1 thread"]);
}

#[test]
fn where_the_anchor_failed_nothing_is_concluded() {
    let (project, first) = raced();
    let path = "contenders/rust/anchor/contender.toml";
    let fault = "\"--fault\", \"wrong-answer\", \"--from\"";
    project.write(path, &project.read(path).replace("\"--from\"", fault));
    race(&project);
    let args = ["compare", &first, "latest", "--anchor", "anchor"];
    let run = project.palio(&args).run().exits(0);
    let text = run.prints(&["no block in common with anchor"]).stdout;
    assert!(text.contains("2 not completed in both"), "{text}");
}

#[test]
fn two_contenders_of_one_run_are_compared_block_by_block() {
    let (project, id) = raced();
    slow_down(&project, "other", 2_400_000);
    race(&project);
    let within = |run: &str, limit: &str| {
        let args = ["compare", "third", "other", "--within", run, "--fail-above", limit];
        project.palio(&args).run()
    };
    let told = "slower  echo n=10 · 1 thread: other takes 1.2";
    within("latest", "10%").exits(1).prints(&[told, "A is third, B is other, both of the run "]);
    within("latest", "30%").exits(0).prints(&["Passed: of 1 cell"]);
    within(&id, "10%").exits(0).prints(&["1 equivalent"]);
    let nobody = ["compare", "third", "nobody", "--within", "latest"];
    project.palio(&nobody).run().fails_with(&["nobody is not in the run", "anchor, other, third"]);
    // Whoever fails has not passed, and who failed before cannot be compared with.
    let path = "contenders/rust/other/contender.toml";
    let fault = "\"--fault\", \"wrong-answer\", \"--from\"";
    project.write(path, &project.read(path).replace("\"--from\"", fault));
    race(&project);
    within("latest", "10%").exits(1).prints(&["other: ok → wrong-answer"]);
    let args = ["compare", "other", "third", "--within", "latest", "--fail-above", "10"];
    project.palio(&args).run().fails_with(&["nothing can be judged between other and third"]);
}
