//! `palio forget`: a run goes with everything of it, and no other does.

use crate::support::{Fake, Project};
use nix::sys::signal::Signal;
use rusqlite::Connection;

fn race(project: &Project) -> String {
    let report = project.race().run().exits(0).json();
    report["run"]["id"].as_str().unwrap().to_owned()
}

/// How many rows each table has, but for that of baselines.
fn rows(project: &Project) -> Vec<u32> {
    let database = Connection::open(project.database()).unwrap();
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        database.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    ["run", "race", "cell", "invocation", "sample", "span"].iter().map(|name| count(name)).collect()
}

#[test]
fn a_run_is_forgotten_with_everything_of_it_and_others_stay() {
    let project = Project::new().with(Fake::new("good"));
    let first = race(&project);
    let of_one = rows(&project);
    assert!(of_one.iter().all(|&count| count > 0), "{of_one:?}");
    let stored = project.stored();
    let second = race(&project);
    let forgotten = project.palio(&["forget", &second]).run().exits(0);
    forgotten.prints(&["Forgotten: ", &second, "1 race of 2 blocks", "samples"]);
    assert_eq!(rows(&project), of_one);
    assert_eq!((project.stored(), project.runs().len()), (stored, 1));
    // Twice the same is one.
    project.palio(&["forget", &first, "latest"]).run().exits(0).prints(&[&first]);
    assert!(rows(&project).iter().all(|&count| count == 0));
}

#[test]
fn a_baseline_is_kept_and_with_it_all_that_were_named() {
    let project = Project::new().with(Fake::new("good"));
    let (first, second) = (race(&project), race(&project));
    project.palio(&["baseline", "save", "main", &first]).run().exits(0);
    let before = rows(&project);
    let forget = || project.palio(&["forget", &second, &first]).run();
    forget().fails_with(&[&first, "is the baseline main", "`palio baseline remove main`"]);
    assert_eq!(rows(&project), before);
    project.palio(&["baseline", "remove", "main"]).run().exits(0);
    forget().exits(0).prints(&[&first, &second]);
    assert!(project.runs().is_empty());
}

#[test]
fn a_run_that_is_being_raced_is_kept_and_an_interrupted_one_goes() {
    let project = Project::new().with(Fake::new("good"));
    let finished = race(&project);
    let project = project.with(Fake::new("slow").fault("meet").from(2));
    let meeting = project.meeting("slow");
    let running = project.race().start();
    let guest = meeting.guest();
    let holder = format!("palio (process {})", running.id());
    let refused = project.palio(&["forget", &finished, "latest"]).run();
    refused.fails_with(&["is not finished", &holder, "is racing"]);
    assert_eq!(project.runs().len(), 2);
    // One that is finished may go meanwhile.
    project.palio(&["forget", &finished]).run().exits(0).prints(&[&finished]);
    running.signal(Signal::SIGINT);
    drop(guest);
    running.finish().exits(130);
    assert_eq!(project.runs().len(), 1);
    project.palio(&["forget", "latest"]).run().exits(0);
    assert!(rows(&project).iter().all(|&count| count == 0));
}

#[test]
fn what_names_no_run_or_several_is_refused() {
    let project = Project::new().with(Fake::new("good"));
    project.palio(&["forget"]).run().exits(2).complains(&["<RUN>"]);
    project.palio(&["forget", "latest"]).run().fails_with(&["there is no run"]);
    assert!(!project.database().exists());
    let (first, second) = (race(&project), race(&project));
    // Both began in this century.
    project.palio(&["forget", "20"]).run().fails_with(&[&first, &second, "say more of it"]);
    project.palio(&["forget", ""]).run().exits(2);
    project.palio(&["forget", &first, "nope"]).run().fails_with(&["no run \"nope\""]);
    assert_eq!(project.runs().len(), 2);
}
