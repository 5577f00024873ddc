//! Forks that are not handed to the runtime: rows with the right answer, the right work and plain
//! calls instead of forks.

use crate::support::{Fake, Project, assert_has, entry};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Of 986 forks.
const FIB: &str = r#"
id = "fib"
title = "Fib"
model = "fork-join"
scope = "steady"
unit = "fork"
source = "the tests"
fidelity = "own"
definition = "As the real one."
salt = "fib"

[[case]]
published = { set = { n = 15 }, threads = [1], answer = "4234837754466", ops = 986, work = 986 }
native = { like = "published" }
quick = { like = "published" }
"#;

fn project(bad: Fake) -> Project {
    let project = Project::good_and(bad);
    project.write("workloads/fib.toml", FIB);
    project
}

/// The report of a race of `good` and `bad`.
fn raced(project: &Project) -> Value {
    let race = project.race().set("--workload", "fib").set("--reference", "good");
    race.run().exits(0).json()
}

/// The bundle of a run, as `palio export` would have written it.
fn bundle_of(run: &Value) -> String {
    let run = run.to_string();
    let hash: String =
        Sha256::digest(run.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{{\"format\":\"palio-bundle\",\"version\":1,\"sha256\":\"{hash}\",\"run\":{run}}}")
}

/// What all formats but JSON say, as one line each.
fn texts(project: &Project) -> Vec<String> {
    let text = |format| {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    ["terminal", "markdown", "html"].map(text).to_vec()
}

/// There, the process that is asked for forks is the first one, and no pilot.
#[test]
fn who_forks_too_little_in_a_race_without_pilots_is_in_the_bundle() {
    for fault in ["forks:none", "forks:cut-off"] {
        let project = project(Fake::new("bad").fault(fault));
        let race = project.race().set("--workload", "fib").set("--reference", "good");
        let report = race.unset("--budget").set("--samples", "1").run().exits(0).json();
        assert_eq!(entry(&report, "bad")["outcome"], "wrong-answer");
        assert_eq!(entry(&report, "good")["outcome"], "ok");
        project.assert_travels();
    }
}

#[test]
fn forks_that_were_handed_over_are_shown() {
    let project = project(Fake::new("bad"));
    let report = raced(&project);
    for contender in ["good", "bad"] {
        let entry = entry(&report, contender);
        assert_eq!(entry["outcome"], "ok", "{entry:#}");
        assert_eq!(entry["forks"]["handed"], 986);
        assert_eq!(entry["forks"]["at_least"], 986);
        assert_eq!(entry["forks"]["at_most"], 2 * 986 + 1);
    }
    for text in texts(&project) {
        let (handed, by) =
            text.split_once("of 986 forks due, handed to the runtime: 986 by ").unwrap();
        assert!(!handed.is_empty());
        assert!(by.starts_with("bad, good") || by.starts_with("good, bad"), "{by}");
    }
    let csv = project.palio(&["report", "latest", "--format", "csv"]).run().exits(0).stdout;
    // No column that follows has a comma in it.
    let (before, after) = csv.lines().next().unwrap().split_once("forks,forks_due").unwrap();
    assert!(before.ends_with(','), "{csv}");
    let later = after.matches(',').count();
    for line in csv.lines().skip(1) {
        let values: Vec<_> = line.rsplit(',').skip(later).take(2).collect();
        assert_eq!(values, ["986", "986"], "{csv}");
    }
}

#[test]
fn a_cut_off_is_found_out() {
    for (how, handed) in [("forks:cut-off", "20"), ("forks:none", "0")] {
        let project = project(Fake::new("bad").fault(how));
        let report = raced(&project);
        assert_eq!(entry(&report, "good")["outcome"], "ok");
        let bad = entry(&report, "bad");
        // Its answer and its work are right, under every salt.
        assert_eq!(bad["outcome"], "wrong-answer", "{bad:#}");
        assert!(bad["rank"].is_null() && bad["value_ns"].is_null());
        let detail = format!("it handed {handed} forks to its runtime, and 986 are due");
        assert_eq!(bad["detail"], detail);
        for text in texts(&project) {
            assert_has(&text, &[&detail]);
        }
        let verified = project.palio(&["verify", "-c", "bad", "-w", "fib"]).run().exits(1);
        verified.prints(&[&detail, "FAIL"]);
    }
}

#[test]
fn who_does_not_count_is_ranked_and_named() {
    for (fault, why) in
        [("forks:uncounted", "does not count the forks of"), ("old", "unknown argument")]
    {
        let project = project(Fake::new("bad").fault(fault));
        let report = raced(&project);
        let bad = entry(&report, "bad");
        assert_eq!(bad["outcome"], "ok", "{bad:#}");
        assert!(bad["forks"]["handed"].is_null());
        assert_has(bad["forks"]["detail"].as_str().unwrap(), &[why]);
        for text in texts(&project) {
            assert_has(&text, &["986 by good; forks not counted: bad (", why]);
        }
        let picture = project.palio(&["report", "latest", "--format", "svg"]).run().exits(0);
        assert_has(&picture.stdout, &["nobody counted their work or their forks: bad in 1 race."]);
        let verified = project.palio(&["verify", "-c", "bad,good", "-w", "fib"]).run().exits(0);
        verified.prints(&["forks not counted", why, "handed 986 of 986 forks due"]);
    }
}

#[test]
fn rows_that_do_not_fork_are_not_asked() {
    let project = project(Fake::new("bad"));
    let race = project.race().set("--workload", "echo").set("--reference", "good");
    let report = race.run().exits(0).json();
    assert!(entry(&report, "bad")["forks"].is_null());
    assert!(texts(&project).iter().all(|text| !text.contains("forks due")));
}

#[test]
fn a_baseline_is_not_asked() {
    let project = project(Fake::new("bad").fault("forks:none"));
    let manifest = project.read("contenders/rust/bad/contender.toml");
    let manifest = manifest.replace("kind = \"async\"", "kind = \"baseline\"");
    project.write("contenders/rust/bad/contender.toml", &manifest);
    let report = raced(&project);
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "ok", "{bad:#}");
    assert!(bad["forks"].is_null());
}

#[test]
fn a_count_is_stored_and_carried() {
    let project = project(Fake::new("bad"));
    raced(&project);
    let bundle = project.path("bundle.json");
    project.palio(&["export", "latest", bundle.to_str().unwrap()]).run().exits(0);
    let other = project.path("other.db");
    let at = |args: &[&str]| project.palio(args).set("--db", &other).run().exits(0);
    at(&["import", bundle.to_str().unwrap()]);
    let report = at(&["report", "latest", "--format", "json"]).json();
    assert_eq!(entry(&report, "bad")["forks"]["handed"], 986);
}

#[test]
fn a_run_in_which_a_cut_off_was_found_can_be_carried() {
    let project = project(Fake::new("bad").fault("forks:cut-off"));
    raced(&project);
    for thin in [&[][..], &["--thin", "5"]] {
        project.palio(&[&["export", "latest", "bundle.json"], thin].concat()).run().exits(0);
        let at = ["report", "--bundle", "bundle.json", "--format", "json"];
        let report = project.palio(&at).run().exits(0).json();
        let bad = entry(&report, "bad");
        assert_eq!(bad["outcome"], "wrong-answer");
        assert_eq!(bad["forks"]["handed"], 20);
    }
    // What is wrong must be there.
    let mut run = project.stored();
    run["races"][0]["cells"][0]["forks"]["handed"] = 986.into();
    project.write("forged.json", &bundle_of(&run));
    let refused = project.palio(&["import", "forged.json", "--db", "empty.db"]).run().exits(2);
    assert_has(&refused.stderr, &["wrong-answer, and no sample is wrong"]);
}

#[test]
fn who_was_not_asked_is_named() {
    let project = project(Fake::new("bad"));
    raced(&project);
    let mut run = project.stored();
    // The two are equally fast, so that either may be named first.
    for (cell, told) in [
        (
            0,
            &[
                "handed to the runtime: 986 by good; forks not counted: bad (it was not asked) rank ",
            ][..],
        ),
        (
            1,
            &[
                "forks not counted: bad, good (it was not asked) rank ",
                "forks not counted: good, bad (it was not asked) rank ",
            ],
        ),
    ] {
        run["races"][0]["cells"][cell].as_object_mut().unwrap().remove("forks");
        project.write("bundle.json", &bundle_of(&run));
        let report = |format| {
            let args = ["report", "--bundle", "bundle.json", "--format", format];
            project.palio(&args).run().exits(0)
        };
        let text = report("terminal").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.iter().any(|told| text.contains(told)), "{told:?} is not in:\n{text}");
        assert_eq!(entry(&report("json").json(), "bad")["forks"]["detail"], "it was not asked");
    }
}

/// To count the placements of 16 queens takes half a minute.
#[test]
fn a_large_board_takes_no_time_to_import() {
    let project = project(Fake::new("bad"));
    raced(&project);
    let mut run = project.stored();
    let race = &mut run["races"][0];
    race["workload"] = "boards".into();
    race["salt"] = "nqueens".into();
    race["params"]["n"] = "16".into();
    for cell in race["cells"].as_array_mut().unwrap() {
        for word in cell["command"].as_array_mut().unwrap() {
            *word = match word.as_str().unwrap() {
                "fib" => "boards".into(),
                set if set.starts_with("n=") => "n=16".into(),
                _ => continue,
            };
        }
        let Some(forks) = cell.get_mut("forks") else { continue };
        forks["at_least"] = 415_515_375_u64.into();
        forks["at_most"] = 1_141_190_303_u64.into();
        forks["handed"] = 415_515_375_u64.into();
    }
    project.write("boards.json", &bundle_of(&run));
    let import = project.palio(&["import", "boards.json", "--db", "empty.db"]);
    import.through_shell("ulimit -t 2; exec \"$@\"").run().exits(0);
}

#[test]
fn a_forged_count_is_refused() {
    let project = project(Fake::new("bad"));
    raced(&project);
    project.palio(&["export", "latest", "bundle.json"]).run().exits(0);
    let bundle: Value = serde_json::from_str(&project.read("bundle.json")).unwrap();
    let forged = [
        ("handed", 20, "cells[0].forks.handed: it handed 20 forks to its runtime, and 986 are due"),
        ("handed", 5000, "it counted 5000 forks, and there are 1973 at most"),
        ("at_least", 20, "cells[0].forks: 20 to 1973, and the row has 986 to 1973"),
    ];
    for (field, value, said) in forged {
        let mut run = bundle["run"].clone();
        let place = format!("/races/0/cells/0/forks/{field}");
        *run.pointer_mut(&place).unwrap() = value.into();
        project.write("forged.json", &bundle_of(&run));
        let refused = project.palio(&["import", "forged.json", "--db", "empty.db"]).run().exits(2);
        assert_has(&refused.stderr, &[said]);
    }
}

/// What no count can find out; `docs/bias.md` says so. Should this test fail, it can, and the
/// document is to be mended.
#[test]
fn a_count_that_is_made_up_is_believed() {
    // It hands nothing to anyone, as all fakes, and says otherwise.
    let project = project(Fake::new("bad"));
    assert_eq!(entry(&raced(&project), "bad")["outcome"], "ok");
}
