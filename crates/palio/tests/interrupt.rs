//! Ctrl-C at any moment ends Palio soon, with status 130, no contender left behind and nothing
//! lost.

use crate::support::{Fake, Project, assert_nothing_lost, entry};
use nix::sys::signal::Signal;

/// Interrupts a race when `bad` comes to the meeting, and checks that it can be resumed.
#[track_caller]
fn interrupt_and_resume(bad: Fake, signals: &[Signal]) {
    let project = Project::good_and(bad);
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    for &signal in signals {
        palio.signal(signal);
    }
    let run = palio.finish().exits(130);
    assert_eq!(run.stdout, "", "an interrupted run prints no report");
    let partial = project.report("latest");
    assert_eq!(partial["run"]["state"], "partial");
    says_everywhere(&project, "partial");
    assert_eq!(entry(&partial, "bad")["outcome"], "pending");
    project.assert_travels();
    let before = project.stored();

    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    // Either Palio itself ended it, or, where it was ended first, the next one did.
    guest.must_end();
    assert_eq!(report["run"]["state"], "finished");
    says_everywhere(&project, "finished");
    for contender in ["good", "bad"] {
        assert_eq!(entry(&report, contender)["outcome"], "ok");
        assert_eq!(entry(&report, contender)["samples"], 10);
    }
    assert_nothing_lost(&before, &project.stored());
    project.assert_travels();
    assert_eq!(project.runs().len(), 1);
}

/// Lists and reports have one word for how far the latest run came.
#[track_caller]
fn says_everywhere(project: &Project, state: &str) {
    assert_eq!(project.runs()[0]["state"], state);
    project.palio(&["list", "runs"]).run().exits(0).prints(&[state]);
    for (args, word) in [
        (&["report"][..], "This run is partial"),
        (&["report", "--format", "markdown"], "This run is **partial**"),
        (&["report", "--format", "html"], "This run is partial."),
        (&["report", "--format", "svg"], "(partial)"),
        (&["report", "--format", "csv"], "is partial."),
        (&["report", "--headline", "good"], ", partial."),
    ] {
        let run = project.palio(args).run().exits(0);
        let said = run.stdout + &run.stderr;
        assert_eq!(said.contains(word), state == "partial", "{args:?}: {said}");
    }
}

#[test]
fn in_a_pilot() {
    interrupt_and_resume(Fake::new("bad").fault("meet"), &[Signal::SIGINT]);
}

#[test]
fn in_the_middle_of_a_pilot() {
    interrupt_and_resume(Fake::new("bad").fault("meet:3"), &[Signal::SIGINT]);
}

#[test]
fn in_the_first_block() {
    interrupt_and_resume(Fake::new("bad").fault("meet:2").from(2), &[Signal::SIGINT]);
}

#[test]
fn in_the_last_block() {
    interrupt_and_resume(Fake::new("bad").fault("meet:4").from(3), &[Signal::SIGINT]);
}

#[test]
fn while_a_contender_takes_its_leave() {
    interrupt_and_resume(Fake::new("bad").fault("meet-at-end").from(2), &[Signal::SIGINT]);
}

#[test]
fn by_other_signals() {
    interrupt_and_resume(Fake::new("bad").fault("meet").from(2), &[Signal::SIGTERM]);
    interrupt_and_resume(Fake::new("bad").fault("meet").from(2), &[Signal::SIGHUP]);
}

#[test]
fn twice() {
    interrupt_and_resume(Fake::new("bad").fault("meet").from(2), &[Signal::SIGINT, Signal::SIGINT]);
}

#[test]
fn the_message_says_how_to_go_on() {
    let project = Project::good_and(Fake::new("bad").fault("meet").from(2));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    let run = palio.finish().exits(130);
    guest.must_end();
    let id = project.runs()[0]["id"].as_str().unwrap().to_owned();
    run.complains(&[&format!("palio run --resume {id}"), &format!("palio report {id}"), "stored"]);
    let again = project.palio(&["run", "--json", "--resume", &id]).run().exits(0);
    assert_eq!(again.json()["run"]["id"], id);
}

#[test]
fn in_a_build() {
    let project = Project::new().with(Fake::new("good"));
    let build = format!("[build]\ncommands = [{:?}]\n", project.lingering("bad"));
    let project = project.with(Fake::new("bad").toml(&build));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130).complains(&["palio run --resume"]);
    guest.must_end();
    // What was measured before the build is there. The build was not done, so it is done again, and
    // this time it ends.
    assert_eq!(entry(&project.report("latest"), "bad")["outcome"], "pending");
    let before = project.stored();
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    for contender in ["good", "bad"] {
        assert_eq!(entry(&report, contender)["samples"], 10);
    }
    assert!(assert_nothing_lost(&before, &project.stored()) > 0);
}

#[test]
fn in_the_first_build() {
    let project = Project::new();
    let build = format!("[build]\ncommands = [{:?}]\n", project.lingering("bad"));
    let project = project.with(Fake::new("bad").toml(&build));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130).complains(&["interrupted before it was done"]);
    guest.must_end();
    assert!(project.runs().is_empty());
    project.race().run().exits(0);
}

#[test]
fn in_a_description() {
    let project = Project::good_and(Fake::new("aaa").fault("describe-hang"));
    let meeting = project.meeting("aaa");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130).complains(&["interrupted before it was done"]);
    guest.must_end();
    assert!(project.runs().is_empty());
}

#[test]
fn in_the_description_of_a_resumed_run() {
    let project = Project::good_and(Fake::new("bad").fault("meet").from(2));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130);
    drop(guest);

    project.write("state/bad/describe-slowly", "");
    let meeting = project.meeting("bad");
    let palio = project.palio(&["run", "--resume", "--json"]).start();
    let guest = meeting.guest();
    assert_eq!(guest.what, "describing");
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130).complains(&["interrupted"]);
    guest.must_end();
    project.palio(&["run", "--resume", "--json"]).run().exits(0);
}

#[test]
fn in_a_verification() {
    let project = Project::good_and(Fake::new("bad").fault("meet:2"));
    let meeting = project.meeting("bad");
    let palio = project.palio(&["verify"]).start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130).complains(&["interrupted"]);
    guest.must_end();
}

#[test]
fn in_a_verification_of_the_contract() {
    let project = Project::good_and(Fake::new("bad").fault("deaf"));
    let meeting = project.meeting("bad");
    let palio = project.palio(&["verify"]).start();
    let guest = meeting.guest();
    assert_eq!(guest.what, "vector");
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130).complains(&["interrupted"]);
    guest.must_end();
}

#[test]
fn in_a_build_alone() {
    let project = Project::good_and(Fake::new("bad").fault("describe-hang"));
    let meeting = project.meeting("bad");
    let palio = project.palio(&["build"]).start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130).complains(&["interrupted"]);
    guest.must_end();
}
