//! Palio where the system lacks what it stands on, and where it is itself made to stand still.
#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::Duration;

use crate::support::{Fake, Project, entry};
use nix::sys::signal::Signal;

/// Where `/proc` is not there, and where it is that of another PID namespace.
const WITHOUT_PROC: [(&str, &str); 2] = [
    (
        "exec unshare --user --map-root-user --mount \
         sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh \"$@\"",
        "/proc is not mounted",
    ),
    ("exec unshare --user --map-root-user --pid --fork \"$@\"", "of another PID namespace"),
];

#[test]
fn without_its_processes_in_proc_nothing_is_started_and_all_that_is_stored_is_shown() {
    let mut may = Command::new("unshare");
    may.args(["--user", "--map-root-user", "--mount", "true"]);
    if !may.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped, no namespaces may be made here");
        return;
    }
    let project = Project::new().with(Fake::new("good"));
    project.race().run().exits(0);
    let starts = project.starts();
    for (line, what) in WITHOUT_PROC {
        let refused = |args: &[&str]| {
            let run = project.palio(args).through_shell(line).run();
            run.fails_with(&[what, "mount -t proc proc /proc"]);
        };
        refused(&["run", "--workload", "echo"]);
        refused(&["run", "--resume"]);
        refused(&["verify"]);
        refused(&["build"]);
        refused(&["sweep", "good", "--knob", "size=1,2"]);
        refused(&["doctor"]);
        refused(&["setup", "--dry-run"]);
        project.palio(&["report", "latest"]).through_shell(line).run().exits(0).prints(&["good"]);
    }
    assert_eq!(project.starts(), starts);
    assert_eq!(project.runs().len(), 1);
}

/// The stacks of Palio's threads are as large as they may be for two at a time, which is enough to
/// ask a contender who it is, and too little to ask it from a thread.
#[test]
fn a_contender_that_cannot_be_verified_for_want_of_threads_has_not_failed() {
    let project = Project::new().with(Fake::new("good"));
    let verify = project.palio(&["verify", "--jobs", "1", "--workload", "echo"]);
    let verify = verify.env("RUST_MIN_STACK", (1_u64 << 30).to_string());
    let run = verify.through_shell("ulimit -v 2700000; exec \"$@\"").run();
    let run = run.fails_with(&["the system gives Palio no thread", "ulimit -u"]);
    assert!(!run.stdout.contains("FAIL"), "{}", run.stdout);
}

#[test]
fn a_stack_that_is_too_small_is_told_of() {
    let project = Project::new().with(Fake::new("good"));
    for kib in [64, 512] {
        let line = format!("ulimit -s {kib}; exec \"$@\"");
        let run = project.palio(&["list", "runs"]).through_shell(&line).run();
        run.fails_with(&[&format!("no more than {kib} KiB"), "ulimit -s"]);
    }
    project.race().through_shell("ulimit -s 1024; exec \"$@\"").run().exits(0);
}

/// Stops Palio for longer than `patience_s` when a contender with this fault has come, lets the
/// contender go on meanwhile, and expects that this is not held against it.
#[track_caller]
fn is_not_held_against_it(fault: &str, patience_s: u64) {
    let project = Project::good_and(Fake::new("bad").fault(fault));
    let meeting = project.meeting("bad");
    let palio = project.race().set("--timeout", patience_s.to_string()).start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_secs(patience_s) + Duration::from_millis(500));
    drop(guest);
    palio.signal(Signal::SIGCONT);
    let report = palio.finish().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "ok", "{bad}");
    assert_eq!(entry(&report, "good")["outcome"], "ok");
}

#[test]
fn a_palio_that_was_stopped_says_of_no_contender_that_it_took_too_long() {
    is_not_held_against_it("meet", 5);
}

#[test]
fn a_palio_that_was_stopped_says_of_no_contender_that_it_did_not_end() {
    is_not_held_against_it("meet-at-end", 5);
}
