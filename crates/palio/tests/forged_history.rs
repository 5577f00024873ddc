//! Bundles from which somebody has taken what he does not like, or in which he says that it went
//! otherwise: what the seed of the run gives, what the clock outside saw and how contenders failed
//! hang together.

use crate::support::forging::{Edits, blocks, bundle, forge, import, one, raced, reseed};
use crate::support::{Fake, Project, assert_has};
use palio::plan::salt;
use serde_json::{Value, json};

fn refused(project: &Project, run: &Value, words: &str) {
    import(project, &bundle(run)).fails_with(&["cannot import forged.json", words]);
}

#[test]
fn another_seed_has_all_salts_against_it() {
    let (project, mut run) = raced();
    let command = run["header"]["command"].as_str().unwrap();
    let edits = vec![
        ("/header/command", command.replace("--seed 1", "--seed 2").into()),
        ("/header/seed", 2.into()),
    ];
    let said = "and the run's seed 2 gives";
    refused(
        &project,
        &forge(&run, &edits),
        &format!("invocations[0].salt: {}, {said}", { salt(1, 0, 0, None, 0) }),
    );
    // Whoever computes them anew has made a run up with care, and passes.
    reseed(&mut run, 2);
    import(&project, &bundle(&run)).exits(0);
}

#[test]
fn a_block_is_raced_in_the_order_that_the_seed_gives() {
    let (project, run) = raced();
    let place = "/races/0/cells/1/invocations/1/position";
    let was = run.pointer(place).unwrap().as_u64().unwrap();
    let said = format!("and the run's seed 1 starts this cell as number {was} of the block");
    refused(&project, &forge(&run, &one(place, (was + 1) % 3)), &said);
}

#[test]
fn a_race_a_contender_or_a_block_that_is_left_out_is_missed() {
    let project = Project::good_and(Fake::new("bad"));
    let mut race = project.race().set("--blocks", "3").set("--reference", "good");
    race = race.arg("-w").arg("tally");
    race.run().exits(0);
    let run = project.stored();
    assert_eq!(run["races"].as_array().unwrap().len(), 2);
    import(&project, &bundle(&run)).exits(0);
    std::fs::remove_file(project.path("empty.db")).unwrap();

    let mut forged = run.clone();
    forged["races"].as_array_mut().unwrap().remove(0);
    refused(&project, &forged, "races[0].cells[0].invocations[0].salt: ");

    let mut forged = run.clone();
    forged["races"][1]["cells"].as_array_mut().unwrap().remove(0);
    refused(&project, &forged, "races[1].cells: bad has none");
    // Nor does it help to say that it was never there.
    for race in forged["races"].as_array_mut().unwrap() {
        race["cells"].as_array_mut().unwrap().retain(|cell| cell["contender"] != "bad");
    }
    forged["contenders"].as_array_mut().unwrap().retain(|known| known["id"] != "bad");
    refused(&project, &forged, "races[0].cells[0].invocations[0].salt: ");

    let mut forged = forge(&run, &blocks(&run, 2));
    for race in forged["races"].as_array_mut().unwrap() {
        for cell in race["cells"].as_array_mut().unwrap() {
            let all = cell["invocations"].as_array_mut().unwrap();
            all.retain(|invocation| invocation["block"] != 1);
            for invocation in all.iter_mut().filter(|invocation| invocation["block"] == 2) {
                invocation["block"] = 1.into();
            }
        }
    }
    refused(&project, &forged, "races[0].cells[0].invocations[2].salt: ");
}

/// Nothing stands behind the last race whose salts would tell.
#[test]
fn the_rows_that_a_suite_has_and_a_run_has_not_are_told() {
    let project = Project::good_and(Fake::new("bad"));
    let rows = |rows: &str| {
        let suite = "[[suite]]\nid = \"all\"\ntitle = \"All\"\npreset = \"quick\"\n";
        project.write("workloads/suites.toml", &format!("{suite}workloads = [{rows}]\n"));
    };
    rows("\"echo\", \"tally\"");
    let race = ["run", "all", "-t", "1", "--blocks", "1", "--seed", "1", "--warm-up", "0"];
    project.palio(&race).run().exits(0);
    let run = project.stored();
    let warnings = |run: &Value| {
        project.write("read.json", &bundle(run));
        let args = ["report", "--bundle", "read.json", "--format", "json"];
        project.palio(&args).run().exits(0).json()["run"]["warnings"].to_string()
    };
    let told = "read where the catalogue had rows in its suite that it has not raced";
    assert!(!warnings(&run).contains(told));
    let mut forged = run.clone();
    let last = forged["races"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!(last["workload"], "tally");
    assert_has(&warnings(&forged), &[told, "or that were taken out: tally"]);
    // Whoever races a part of a suite says so in the name that the run has for it.
    forged["header"]["suite"] = "custom".into();
    assert!(!warnings(&forged).contains(told));
}

#[test]
fn nobody_has_failed_of_whom_no_process_did() {
    let (project, run) = raced();
    let of_good = |outcome: &str| -> Edits {
        vec![
            ("/races/0/cells/1/outcome", outcome.into()),
            ("/races/0/cells/1/detail", "it went wrong".into()),
            ("/races/0/cells/2/outcome", outcome.into()),
            ("/races/0/cells/2/detail", "as itself: it went wrong".into()),
        ]
    };
    for outcome in ["crashed", "wrong-answer", "false-time", "timed-out", "unsupported"] {
        let said = format!("cells[1].outcome: {outcome}, and no process of good ended so");
        refused(&project, &forge(&run, &of_good(outcome)), &said);
    }
    // As its own shadow it did.
    let mut forged = forge(&run, &of_good("crashed"));
    let cells = forged["races"][0]["cells"].as_array_mut().unwrap();
    let last = cells[2]["invocations"].as_array_mut().unwrap().last_mut().unwrap();
    last["outcome"] = "crashed".into();
    last["detail"] = "it went wrong".into();
    import(&project, &bundle(&forged)).exits(0);
}

/// Whose pilot took so long that no process of a block could end in time, and whose shadow.
#[test]
fn who_was_too_slow_has_a_slow_pilot_and_nothing_else() {
    let (project, run) = raced();
    let edits: Edits = vec![
        ("/races/0/cells/1/outcome", "timed-out".into()),
        ("/races/0/cells/1/detail", "an iteration took too long in its pilot".into()),
        ("/races/0/cells/1/schedule", Value::Null),
        ("/races/0/cells/2/outcome", "timed-out".into()),
        ("/races/0/cells/2/detail", "an iteration took too long in its pilot".into()),
        ("/races/0/cells/2/schedule", Value::Null),
        ("/races/0/cells/2/invocations", json!([])),
    ];
    let mut slow = forge(&run, &edits);
    let all = slow["races"][0]["cells"][1]["invocations"].as_array_mut().unwrap();
    all.retain(|invocation| invocation["block"].is_null());
    assert_eq!(all.len(), 1);
    let unpiloted = forge(&slow, &one("/races/0/cells/1/invocations", json!([])));
    refused(&project, &unpiloted, "cells[1].outcome: timed-out, and no process of good ended so");
    // Its pilot was as fast as all others.
    refused(&project, &slow, "cells[1].outcome: timed-out, and no process of good ended so");
}

#[test]
fn nobody_who_failed_is_started_again() {
    let (project, mut run) = raced();
    let all = run["races"][0]["cells"][0]["invocations"].as_array_mut().unwrap();
    let mut again = all.last().unwrap().clone();
    let block = again["block"].as_u64().unwrap();
    assert_eq!((all.len(), block), (2, 0));
    again["block"] = 1.into();
    again["position"] = (2 - again["position"].as_u64().unwrap()).into();
    again["salt"] = salt(1, 0, 0, Some(1), 0).into();
    all.push(again);
    let said =
        "cells[0].invocations[2].outcome: wrong-answer, and the process before it was wrong-answer";
    refused(&project, &run, said);
}

#[test]
fn who_has_a_salt_was_seen_by_the_clock_outside() {
    let (project, run) = raced();
    let without = |place: &str, field: &str| {
        let mut forged = run.clone();
        let place = forged.pointer_mut(place).unwrap().as_object_mut().unwrap();
        assert!(place.remove(field).is_some());
        forged
    };
    let one_process = "/races/0/cells/1/invocations/1";
    let said =
        "invocations[1].spans: none: Palio's clock saw every process to which it gave a salt";
    refused(&project, &without(one_process, "spans"), said);
    let said = "invocations[1].salt: some processes of the run have one, and others have none";
    refused(&project, &without(one_process, "salt"), said);
    let slow = "/races/0/cells/1/invocations/1/spans/1/wall_ns";
    let said = "invocations[1].spans: 3600";
    refused(&project, &forge(&run, &one(slow, 3_600_000_000_000_u64)), said);
}

#[test]
fn where_answers_hang_on_a_salt_there_is_one() {
    let project = Project::new().with(Fake::new("good"));
    project.race().set("--workload", "raise").run().exits(0);
    let mut run = project.stored();
    for cell in run["races"][0]["cells"].as_array_mut().unwrap() {
        for invocation in cell["invocations"].as_array_mut().unwrap() {
            let fields = invocation.as_object_mut().unwrap();
            assert!(fields.remove("salt").is_some() && fields.remove("spans").is_some());
        }
    }
    let said = "invocations[0].salt: none, and the answers of the row hang on it";
    refused(&project, &run, said);
}

#[test]
fn a_thinned_run_has_as_many_samples_as_it_says() {
    let (project, run) = raced();
    let said = "samples: 5 measured ones of 5 and 1 warm-up(s), and a run that was thinned to 5";
    // Its failed process has all of its samples in any case, and its pilot is the first.
    let mut forged = forge(&run, &one("/header/thinned", 5));
    let cells = forged["races"][0]["cells"].as_array_mut().unwrap();
    for cell in cells {
        cell["invocations"].as_array_mut().unwrap().retain(|one| !one["block"].is_null());
    }
    refused(&project, &forged, said);

    project.palio(&["export", "latest", "thin.json", "--thin", "5"]).run().exits(0);
    let thinned: Value = serde_json::from_str(&project.read("thin.json")).unwrap();
    let mut forged = thinned["run"].clone();
    let process = &mut forged["races"][0]["cells"][1]["invocations"][1];
    let gone = process["samples"].as_array_mut().unwrap().remove(2);
    assert_eq!((&process["dropped"]["samples"], &gone["batch"]), (&json!(0), &json!(1)));
    process["dropped"]["samples"] = 1.into();
    process["dropped"]["iterations"] = 1.into();
    process["dropped"]["elapsed_ns"] = gone["elapsed_ns"].clone();
    let said = "samples: 4 measured ones of 5 and 0 warm-up(s), and a run that was thinned to 5";
    refused(&project, &forged, said);
    let sum = "/races/0/cells/1/invocations/1/dropped/iterations";
    let said = "invocations[1].dropped: its sums are not those of so many samples";
    refused(&project, &forge(&thinned["run"], &one(sum, 3)), said);
    import(&project, &bundle(&thinned["run"])).exits(0);
}

#[test]
fn a_machine_has_the_fingerprint_of_what_it_is() {
    let (project, run) = raced();
    for (place, value) in [
        ("/header/machine/fingerprint", json!("0123456789ab")),
        ("/header/machine/cpu_model", json!("A faster one")),
    ] {
        let said = "header.machine.fingerprint: ";
        refused(&project, &forge(&run, &one(place, value)), said);
    }
}

/// Says of a contender that it does not do a row, and takes its processes away.
fn set_aside(run: &mut Value, race: usize, contender: &str) {
    for cell in run["races"][race]["cells"].as_array_mut().unwrap() {
        if cell["contender"] == contender {
            cell["outcome"] = "unsupported".into();
            cell["detail"] = "does not run echo".into();
            cell["schedule"] = Value::Null;
            cell["forks"] = Value::Null;
            cell["invocations"] = json!([]);
        }
    }
}

/// The same with the command that such a one has.
fn set_aside_with_care(run: &mut Value, race: usize, contender: &str) {
    set_aside(run, race, contender);
    for cell in run["races"][race]["cells"].as_array_mut().unwrap() {
        if cell["contender"] == contender {
            let words = cell["command"].as_array_mut().unwrap();
            words.truncate(words.iter().position(|word| word == "--workload").unwrap());
        }
    }
}

#[test]
fn who_is_said_to_be_unsupported_is_missed_where_the_rest_of_the_run_knows_better() {
    let project = Project::new().with(Fake::new("good")).with(Fake::new("rival"));
    project.race().set("--reference", "good").set("--threads", "1,2,3").run().exits(0);
    let run = project.stored();
    let mut forged = run.clone();
    set_aside(&mut forged, 1, "rival");
    let said = "cells[1].command: it asks for work, and rival is said to be unsupported";
    refused(&project, &forged, said);

    let mut forged = run.clone();
    set_aside_with_care(&mut forged, 1, "rival");
    let said =
        "races[1].cells[1].outcome: unsupported, and rival did echo on 3 thread(s) in races[2]";
    refused(&project, &forged, said);

    let mut forged = run.clone();
    set_aside_with_care(&mut forged, 1, "good");
    refused(
        &project,
        &forged,
        "cells[0].outcome: unsupported without a process, and good has 2 cells",
    );

    // On more threads than it did otherwise: so it may be, and nothing else tells.
    let mut forged = run;
    set_aside_with_care(&mut forged, 2, "rival");
    import(&project, &bundle(&forged)).exits(0);
    let report = project.palio(&["report", "latest", "--db", "empty.db"]).run().exits(0).stdout;
    assert_has(&report, &["rival", "unsupported", "does not run echo"]);
}

#[test]
fn the_schedule_of_a_race_shows_who_took_part() {
    let claiming = |name: &str, ns: u32| Fake::new(name).fault(&format!("claim:{ns}"));
    let project = Project::new().with(claiming("good", 50)).with(claiming("rival", 3_000_000));
    project.race().set("--reference", "good").set("--budget", "1000").run().exits(0);
    let run = project.stored();
    import(&project, &bundle(&run)).exits(0);
    std::fs::remove_file(project.path("empty.db")).unwrap();

    let mut forged = run.clone();
    set_aside_with_care(&mut forged, 0, "rival");
    let said = "iteration(s), and the pilots of those who raced give";
    refused(&project, &forged, said);

    let mut forged = run;
    let pilot = forged["races"][0]["cells"][1]["invocations"].as_array_mut().unwrap();
    assert!(pilot.remove(0)["block"].is_null());
    refused(&project, &forged, "races[0].cells: somebody has a schedule, and no pilot");
}
