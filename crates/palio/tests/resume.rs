//! A run that was cut short is completed: nothing stored is lost, nothing is mixed with something
//! else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{self, Fake, Project, assert_nothing_lost, cells, entry};
use nix::sys::signal::Signal;
use palio::plan::block_order;
use rusqlite::Connection;
use serde_json::Value;

/// A race whose Palio is killed when `bad` takes its second sample in the first block.
fn killed(bad: Fake) -> (Project, support::Guest) {
    let project = Project::good_and(bad.fault("meet:2").from(2));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    (project, guest)
}

fn interrupted() -> Project {
    let (project, guest) = killed(Fake::new("bad"));
    drop(guest);
    project
}

#[test]
fn a_killed_run_is_completed_without_losing_a_sample() {
    let (project, guest) = killed(Fake::new("bad"));
    assert_eq!(project.report("latest")["run"]["state"], "partial");
    let before = project.stored();
    let cell = project.palio(&["show", "echo", "good", "--json"]).run().exits(0).json();

    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    // The contender that the killed Palio left behind is ended before it could disturb the race.
    guest.must_end();
    assert_eq!(report["run"]["state"], "finished");
    for contender in ["good", "bad"] {
        assert_eq!(entry(&report, contender)["outcome"], "ok");
        assert_eq!(entry(&report, contender)["samples"], 10);
        // The block of the interruption is raced by all once more.
        assert_eq!(
            entry(&report, contender)["sample_block"],
            serde_json::json!([1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
        );
    }
    let told = report["run"]["interruptions"].as_str().unwrap();
    assert!(told.starts_with("interrupted and resumed 1 time: 1 block was cut off"), "{told}");
    for format in ["terminal", "markdown", "html"] {
        let report = project.palio(&["report", "latest", "--format", format]).run().exits(0);
        let text = report.prints(&["interrupted and resumed 1 time"]).stdout;
        // The block that was cut off is none of theirs.
        assert!(text.contains("2 blocks") && !text.contains("2 to 3 blocks"), "{text}");
    }
    let compared = project.palio(&["compare", "good", "bad", "--within", "latest"]).run().exits(0);
    compared.prints(&["the run was interrupted and resumed 1 time"]);
    assert!(assert_nothing_lost(&before, &project.stored()) > 0);
    let after = project.palio(&["show", "echo", "good", "--json"]).run().exits(0).json();
    let (old, new) = (&cell[0]["invocations"], &after[0]["invocations"]);
    for (old, new) in old.as_array().unwrap().iter().zip(new.as_array().unwrap()) {
        assert_eq!((&old["salt"], &old["samples"]), (&new["salt"], &new["samples"]));
    }
}

#[test]
fn the_order_of_a_resumed_run_is_the_planned_one() {
    let (names, blocks, seed) = (["a", "b", "c", "d"], 4, 11);
    let plan: Vec<&str> = (0..blocks)
        .flat_map(|block| block_order(seed, 0, block, names.len() + 1))
        .map(|cell| *names.get(cell).unwrap_or(&"a"))
        .collect();
    let project = names.into_iter().fold(Project::new(), |project, name| {
        let fake = Fake::new(name);
        project.with(if name == "c" { fake.fault("meet").from(3) } else { fake })
    });
    let meeting = project.meeting("c");
    let race = project.race().set("--blocks", "4").set("--seed", "11").set("--reference", "a");
    let palio = race.start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    drop(guest);
    let cut = project.starts().len();
    project.palio(&["run", "--resume"]).run().exits(0);

    let starts = project.starts();
    assert_eq!(starts[..4], names, "pilots");
    // In the second block, which all race in once more, in the same order.
    assert_eq!(starts[cut - 1], "c");
    let second = names.len() + 1;
    assert_eq!(starts[4..cut], plan[..cut - 4]);
    assert_eq!(starts[cut..], plan[second..]);
    let stored = project.stored();
    for (index, cell) in cells(&stored).into_iter().enumerate() {
        for invocation in cell["invocations"].as_array().unwrap() {
            let Some(block) = invocation["block"].as_u64() else { continue };
            let place = u32::try_from(if block > 1 { block - 1 } else { block }).unwrap();
            let order = block_order(seed, 0, place, names.len() + 1);
            assert_eq!(
                order[usize::try_from(invocation["position"].as_u64().unwrap()).unwrap()],
                index
            );
        }
    }
}

#[test]
fn a_failure_before_the_cut_stays_a_failure() {
    let project = Project::good_and(Fake::new("bad").fault("meet").from(2))
        .with(Fake::new("worse").fault("abort"));
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    // `worse` comes after `bad` in the alphabet and so in the pilots, but it has failed by the
    // first block.
    palio.finish().exits(130).complains(&["worse is out of"]);
    drop(guest);
    let starts = project.starts().iter().filter(|name| *name == "worse").count();
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    assert_eq!(entry(&report, "worse")["outcome"], "crashed");
    project.assert_travels();
    assert_eq!(project.starts().iter().filter(|name| *name == "worse").count(), starts);
}

#[test]
fn a_finished_run_is_not_resumed() {
    let project = Project::new().with(Fake::new("good"));
    let id = project.race().run().exits(0).json()["run"]["id"].as_str().unwrap().to_owned();
    let report = format!("palio report {id}");
    project.palio(&["run", "--resume", &id]).run().fails_with(&["is finished", &report]);
    project.palio(&["run", "--resume"]).run().fails_with(&["nothing to resume", "`palio report`"]);
    project.palio(&["run", "--resume", "nope"]).run().fails_with(&["no run \"nope\""]);
}

#[test]
fn a_run_that_was_killed_after_its_last_sample_is_finished() {
    let project = Project::new().with(Fake::new("good"));
    project.race().run().exits(0);
    let before = project.stored();
    let starts = project.starts();
    let connection = Connection::open(project.database()).unwrap();
    connection
        .execute("UPDATE run SET header = json_set(header, '$.finished_at', json('null'))", [])
        .unwrap();
    drop(connection);
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    assert_eq!(report["run"]["state"], "finished");
    assert_nothing_lost(&before, &project.stored());
    assert_eq!(project.starts(), starts, "there was nothing left to race");
}

#[test]
fn another_version_is_not_mixed_in() {
    let project = interrupted();
    project.write("state/good/version", "2.0");
    project.palio(&["run", "--resume"]).run().fails_with(&[
        "cannot be resumed",
        "version of good",
        "\"1.0\"",
        "\"2.0\"",
        "start a new run",
    ]);
    // Put back, it goes on.
    project.write("state/good/version", "1.0");
    project.palio(&["run", "--resume"]).run().exits(0);
}

#[test]
fn another_program_of_the_same_version_is_not_mixed_in() {
    let project = Project::good_and(Fake::new("bad").fault("meet:2").from(2));
    let program = project.write("program", "#!/bin/sh\nexec \"$@\"\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = "contenders/rust/good/contender.toml";
    let through = format!("command = [{:?}, ", program.to_str().unwrap());
    project.write(path, &project.read(path).replace("command = [", &through));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    drop(guest);

    let text = project.read("program");
    project.write("program", &format!("{text}# It does something else now.\n"));
    let run = project.palio(&["run", "--resume"]).run();
    run.fails_with(&["cannot be resumed", "program of good", "start a new run"]);
    project.write("program", &text);
    project.palio(&["run", "--resume"]).run().exits(0);
}

#[test]
fn a_process_that_is_started_again_has_a_salt_of_its_own() {
    let (project, guest) = killed(Fake::new("bad"));
    drop(guest);
    // As after a second Ctrl-C, which stores nothing, or after a first one, which does.
    let meeting = project.meeting("bad");
    let palio = project.palio(&["run", "--resume"]).start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130);
    drop(guest);
    project.palio(&["run", "--resume"]).run().exits(0);
    project.assert_travels();
    let stored = project.stored();
    let salts = cells(&stored).into_iter().flat_map(|cell| cell["invocations"].as_array().unwrap());
    let salts: Vec<u64> = salts.map(|i| i["salt"].as_u64().unwrap()).collect();
    let distinct: std::collections::BTreeSet<_> = salts.iter().collect();
    assert_eq!(distinct.len(), salts.len(), "{salts:?}");
}

/// Goes on with a run, and interrupts it once more in its next block.
fn interrupted_again(project: &Project) -> String {
    let meeting = project.meeting("bad");
    let palio = project.palio(&["run", "--resume"]).start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    let finished = palio.finish().exits(130);
    drop(guest);
    finished.stderr
}

#[test]
fn a_run_that_never_gets_on_says_why_and_what_helps() {
    let project = interrupted();
    let said = "the run was interrupted in its last";
    for _ in 0..2 {
        let told = interrupted_again(&project);
        assert!(!told.contains(said), "too early: {told}");
    }
    let third = interrupted_again(&project);
    assert_eq!(third.matches(said).count(), 1, "{third}");
    support::assert_has(
        &third,
        &["echo n=10, 1 thread: ", "its last 3 blocks", "smaller --budget"],
    );
    // Where no progress is wanted, the lack of it is told all the same.
    let last = project.palio(&["run", "--resume", "--quiet"]).run().exits(0);
    last.complains(&["its last 4 blocks, one after the other"]);
    project.assert_travels();
}

/// Its second block is cut off; the first one stays.
#[test]
fn whole_blocks_of_what_is_pending_are_shown_and_not_ranked() {
    let project = Project::good_and(Fake::new("bad").fault("meet:2").from(3))
        .with(Fake::new("other").fault("claim:1000000"));
    let race = project.race().set("--blocks", "3").set("--reference", "good");
    let meeting = project.meeting("bad");
    let palio = race.start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    drop(guest);
    let said = "in 1 whole block so far, incomplete and not ranked";
    let report = project.report("latest");
    for contender in ["good", "bad", "other"] {
        let entry = entry(&report, contender);
        assert_eq!((&entry["outcome"], &entry["rank"]), (&"pending".into(), &Value::Null));
        support::assert_has(entry["detail"].as_str().unwrap(), &["median ", said]);
    }
    for format in ["terminal", "markdown", "html", "csv"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        support::assert_has(&text, &["pending", "median 1.00 ms in 1 whole block so far"]);
    }
    // Where no block is whole, there is nothing to say.
    let report = interrupted().report("latest");
    assert_eq!(entry(&report, "good")["detail"], Value::Null);
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    assert_eq!(entry(&report, "other")["detail"], Value::Null);
}

#[test]
fn a_run_without_salts_is_not_gone_on_with() {
    let project = interrupted();
    let connection = Connection::open(project.database()).unwrap();
    connection.execute("UPDATE invocation SET salt = NULL", []).unwrap();
    drop(connection);
    let run = project.palio(&["run", "--resume"]).run();
    run.fails_with(&["cannot be resumed", "an older Palio", "no salt", "start a new run"]);
}

#[test]
fn another_command_is_not_mixed_in() {
    let project = interrupted();
    let path = "contenders/rust/good/contender.toml";
    let text = project.read(path);
    project.write(path, &text.replace("\"--from\", \"1\"", "\"--from\", \"9\""));
    project.palio(&["run", "--resume"]).run().fails_with(&[
        "cannot be resumed",
        "command of good",
        "--from 1",
        "--from 9",
    ]);
    project.write(path, &text);
    project.palio(&["run", "--resume"]).run().exits(0);
}

#[test]
fn a_contender_that_is_gone_or_broken_is_named() {
    let project = interrupted();
    let path = "contenders/rust/good/contender.toml";
    let text = project.read(path);
    std::fs::remove_file(project.path(path)).unwrap();
    project.palio(&["run", "--resume"]).run().fails_with(&["\"good\""]);
    project.write(path, &text.replace("fake-contender", "no-such-contender"));
    project
        .palio(&["run", "--resume"])
        .run()
        .fails_with(&["cannot be resumed", "good is not ready"]);
}

#[test]
fn a_run_of_another_machine_is_not_resumed_here() {
    let project = interrupted();
    let connection = Connection::open(project.database()).unwrap();
    connection
        .execute(
            "UPDATE run SET header = json_set(header, '$.machine.fingerprint', 'elsewhere')",
            [],
        )
        .unwrap();
    drop(connection);
    project.palio(&["run", "--resume"]).run().fails_with(&["another machine"]);
}

#[test]
fn a_resumed_run_takes_no_new_limits() {
    for option in
        ["--blocks", "--seed", "--budget", "--warm-up", "--timeout", "--memory", "--threads"]
    {
        interrupted_cheaply()
            .palio(&["run", "--resume", option, "3"])
            .run()
            .fails_with(&[option, "--resume"]);
    }
}

/// Refused before anything is read, so nothing needs to be there.
fn interrupted_cheaply() -> Project {
    Project::new()
}

#[test]
fn a_turned_knob_and_a_second_name_are_resumed_too() {
    let project = Project::good_and(Fake::new("bad").fault("meet").from(2));
    let meeting = project.meeting("bad");
    let race =
        ["good@dial=7", "twin=good", "bad"].iter().fold(project.race(), |r, c| r.arg("-c").arg(c));
    let palio = race.start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130);
    drop(guest);
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    for contender in ["good@dial=7", "twin", "bad"] {
        assert_eq!(entry(&report, contender)["outcome"], "ok");
    }
}

#[test]
fn nobody_is_ended_whose_process_id_was_only_used_again() {
    let project = Project::new().with(Fake::new("good"));
    // A lease that names a living process, but not the moment it was born.
    let mut bystander = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    project.write("palio.db.lease", &format!("palio (process 1)\n{} 1\n", bystander.id()));
    project.race().run().exits(0);
    assert!(bystander.try_wait().unwrap().is_none(), "a bystander was killed");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_lease_full_of_nonsense_disturbs_nobody() {
    let project = Project::new().with(Fake::new("good"));
    project.write("palio.db.lease", "\u{0}\u{1}\nnonsense here\n-1 -1\n");
    project.race().run().exits(0);
}

#[test]
fn a_bundle_cannot_bring_commands_of_its_own() {
    let project = interrupted();
    let fake = "fake-contender";
    let connection = Connection::open(project.database()).unwrap();
    for sql in [
        "UPDATE cell SET command = replace(command, ?1, 'something-else') WHERE outcome = 'pending'",
        "UPDATE cell SET contender = 'ghost', command = replace(command, ?1, 'x') WHERE outcome = 'pending'",
    ] {
        connection.execute(sql, [fake]).unwrap();
        project.palio(&["run", "--resume"]).run().fails_with(&["cannot be resumed"]);
    }
}
