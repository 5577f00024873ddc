//! Only one `palio run` at a time races into a database.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{Fake, Project, assert_has, entry};
use nix::sys::signal::Signal;
use serde_json::Value;

#[test]
fn a_second_run_says_who_races_and_harms_nobody() {
    let project = Project::good_and(Fake::new("slow").fault("meet").from(2));
    let meeting = project.meeting("slow");
    let first = project.race().start();
    let guest = meeting.guest();

    let holder = format!("palio (process {})", first.id());
    project.race().run().fails_with(&[&holder, "is racing", "Wait for it, or stop it"]);
    project.palio(&["run", "--resume"]).run().fails_with(&[&holder]);
    // By another name it is still the same database.
    symlink(project.database(), project.path("alias.db")).unwrap();
    project.race().env("PALIO_DB", project.path("alias.db")).run().fails_with(&[&holder]);
    // Looking is allowed.
    assert_eq!(project.runs().len(), 1);
    assert_eq!(project.report("latest")["run"]["state"], "partial");

    drop(guest);
    let report = first.finish().exits(0).json();
    for contender in ["good", "slow"] {
        assert_eq!(entry(&report, contender)["outcome"], "ok");
        assert_eq!(entry(&report, contender)["samples"], 10);
    }
    project.race().run().exits(0);
}

#[test]
fn a_second_run_starts_no_contender() {
    let project = Project::good_and(Fake::new("slow").fault("meet").from(2));
    let meeting = project.meeting("slow");
    let first = project.race().start();
    let guest = meeting.guest();
    let before = project.starts();
    project.race().run().exits(2);
    assert_eq!(project.starts(), before);
    drop(guest);
    first.finish().exits(0);
}

const NEIGHBOUR: &str = "Another palio raced on this machine during this run";

/// A lease keeps nobody out of another database.
#[test]
fn two_races_into_two_databases_warn_both() {
    let project = Project::good_and(Fake::new("slow").fault("meet").from(2));
    let race = |who: &str, db: &str| {
        let race = project.race().set("--contender", who);
        race.env("PALIO_DB", project.path(db))
    };
    let warnings = |report: &Value| report["run"]["warnings"].to_string();
    let meeting = project.meeting("slow");
    let first = race("slow", "first.db").start();
    let guest = meeting.guest();
    let second = race("good", "second.db").run().exits(0);
    let who = format!("palio (process {}) into {}", first.id(), project.path("first.db").display());
    let second = second.complains(&[&who, "races on this machine now", "will disturb each other"]);
    assert_has(&warnings(&second.json()), &[NEIGHBOUR]);
    drop(guest);
    let first = first.finish().exits(0);
    assert!(!first.stderr.contains("races on this machine now"), "{}", first.stderr);
    assert_has(&warnings(&first.json()), &[NEIGHBOUR]);
    // Whoever races alone is warned of nobody, be it that another one was killed before.
    let meeting = project.meeting("slow");
    let killed = race("slow", "killed.db").start();
    let guest = meeting.guest();
    killed.signal(Signal::SIGKILL);
    killed.finish().dies_of(Signal::SIGKILL);
    drop(guest);
    let alone = race("good", "second.db").run().exits(0);
    assert!(!alone.stderr.contains("races on this machine now"), "{}", alone.stderr);
    assert!(!warnings(&alone.json()).contains(NEIGHBOUR));
    let left = std::fs::read_dir(project.path("runtime/palio")).unwrap().count();
    assert_eq!(left, 0, "files of races that are over");
}

#[test]
fn where_nobody_can_tell_who_races_a_race_goes_on() {
    let project = Project::new().with(Fake::new("good"));
    let file = project.write("file", "");
    for folder in [file, "/proc/self".into()] {
        let run = project.race().env("XDG_RUNTIME_DIR", &folder).run().exits(0);
        assert!(!run.stderr.contains("machine now"), "{}", run.stderr);
    }
    // In a folder that somebody else may write to, anything may be said: nothing is read or done
    // there, not even to what looks left behind.
    let open = project.path("open/palio");
    let left = project.write("open/palio/race-1-1", "");
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    project.race().env("XDG_RUNTIME_DIR", project.path("open")).run().exits(0);
    assert!(left.exists());
}
