//! Nothing that a contender or a build has started outlives Palio's interest in it, whichever dies
//! first.
#![cfg(target_os = "linux")]

mod support;

use nix::sys::signal::Signal;
use support::{Fake, Project, assert_has, entry};

/// Kills Palio when the contender `bad` comes to the meeting, and checks that what came there ends,
/// and that the run goes on without a loss.
#[track_caller]
fn kill_palio(bad: Fake) {
    let project = Project::good_and(bad);
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    guest.must_end();
}

#[test]
fn a_contender_ends_with_palio() {
    kill_palio(Fake::new("bad").fault("meet"));
    kill_palio(Fake::new("bad").fault("meet:3").from(2));
}

#[test]
fn a_contender_that_describes_itself_ends_with_palio() {
    kill_palio(Fake::new("bad").fault("describe-hang"));
}

#[test]
fn what_a_contender_has_started_ends_with_palio() {
    for kind in ["grandchild", "grandchild:escaped", "grandchild:daemon"] {
        kill_palio(Fake::new("bad").fault(kind));
    }
}

#[test]
fn a_build_ends_with_palio() {
    let project = Project::new().with(Fake::new("good"));
    // Not the command itself: what it starts.
    let [program, args @ ..] = project.lingering("bad");
    let line = format!("'{program}' {} & wait", args.join(" "));
    let build = format!("[build]\ncommands = [{:?}]\n", ["sh", "-c", &line]);
    let project = project.with(Fake::new("bad").toml(&build));
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let meeting = project.meeting("bad");
        let palio = project.race().start();
        let guest = meeting.guest();
        palio.signal(signal);
        palio.finish();
        guest.must_end();
    }
}

#[test]
fn daemons_end_with_their_contender_and_are_told() {
    // As any contender; and as the reference, whose third process is its shadow's.
    for reference in ["good", "bad"] {
        let project = Project::good_and(Fake::new("bad").fault("grandchild:daemon").from(3));
        let meeting = project.meeting("bad");
        let palio = project.race().set("--reference", reference).start();
        let guest = meeting.guest();
        let report = palio.finish().exits(0).json();
        guest.must_end();
        let bad = entry(&report, "bad");
        assert_eq!(bad["outcome"], "ok");
        assert_has(&bad["doubts"].to_string(), &["left 1 process behind", "killed"]);
        assert_eq!(entry(&report, "good")["doubts"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn the_memory_of_a_child_counts() {
    let project = Project::good_and(Fake::new("bad").fault("child-eats-memory"));
    let report = project.race().set("--memory", "100").run().exits(0).json();
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed");
    assert_has(bad["detail"].as_str().unwrap(), &["memory reached", "MiB", "--memory"]);
}

#[test]
fn a_contender_that_kills_what_watches_it_ends_all_the_same() {
    let project = Project::good_and(Fake::new("bad").fault("kill-parent").from(2));
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").start();
    let guest = meeting.guest();
    let report = palio.finish().exits(0).json();
    guest.must_end();
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed");
    assert_has(bad["detail"].as_str().unwrap(), &["signal 9"]);
}
