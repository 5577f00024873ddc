//! Only one `palio run` at a time races into a database.

use std::os::unix::fs::symlink;

use crate::support::{Fake, Project, entry};

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
