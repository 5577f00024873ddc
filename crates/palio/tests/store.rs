//! A database that cannot be used is named, with the way out, and left as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{self, Fake, Finished, Project, assert_nothing_lost, cells};
use rusqlite::Connection;

fn project() -> Project {
    Project::new().with(Fake::new("good"))
}

fn list_runs(project: &Project, database: &Path) -> Finished {
    project.palio(&["list", "runs"]).env("PALIO_DB", database).run()
}

#[test]
fn a_place_below_a_file_cannot_hold_a_database() {
    let project = project();
    let file = project.write("file", "");
    let database = file.join("folder/palio.db");
    let run = project.race().env("PALIO_DB", &database).run();
    run.fails_with(&[file.to_str().unwrap(), "--db"]);
}

#[test]
fn a_folder_that_takes_no_files_cannot_hold_a_database() {
    let database = Path::new("/proc/palio.db");
    let run = project().race().env("PALIO_DB", database).run();
    run.fails_with(&["cannot use the database /proc/palio.db", "--db"]);
}

#[test]
fn a_folder_is_no_database() {
    let project = project();
    let run = list_runs(&project, &project.path("workloads"));
    run.fails_with(&["cannot use the database", "workloads", "--db"]);
}

#[test]
fn a_database_that_is_read_only_is_refused_before_anything_is_raced() {
    let project = project();
    project.race().run().exits(0);
    let before = project.starts().len();
    // The only read-only medium that a test can count on, root or not: a file size limit of zero.
    let run = project.race().through_shell("ulimit -f 0; exec \"$@\"").run();
    run.fails_with(&["palio.db", "--db"]);
    assert_eq!(project.starts().len(), before);
    assert_eq!(project.runs().len(), 1);
}

/// Every command that only reads.
const READERS: [&[&str]; 6] = [
    &["report"],
    &["report", "--format", "json"],
    &["list", "runs"],
    &["show", "echo", "good"],
    &["export", "latest", "-"],
    &["compare", "latest", "latest"],
];

/// No file may grow, as on a full disk.
const FULL: &str = "ulimit -f 0; exec \"$@\"";

#[test]
fn a_database_that_cannot_be_written_can_be_read() {
    let project = project();
    project.race().run().exits(0);
    let texts = READERS.map(|args| project.palio(args).run().exits(0).stdout);
    for (args, text) in READERS.iter().zip(&texts) {
        assert_eq!(project.palio(args).through_shell(FULL).run().exits(0).stdout, *text);
    }
    for (name, mode) in [("palio.db", 0o444), ("", 0o555)] {
        fs::set_permissions(project.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    // No mode stops root.
    let line = if nix::unistd::geteuid().is_root() {
        "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\""
    } else {
        "exec \"$@\""
    };
    for (args, text) in READERS.iter().zip(&texts) {
        assert_eq!(project.palio(args).through_shell(line).run().exits(0).stdout, *text);
    }
    let run = project.race().through_shell(line).run();
    fs::set_permissions(project.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    run.fails_with(&["palio.db", "--db"]);
}

#[test]
fn an_older_database_that_cannot_be_written_can_be_read() {
    let project = project();
    project.race().run().exits(0);
    downgrade(&project.database());
    let before = fs::read(project.database()).unwrap();
    let report = project.palio(&["report", "--format", "json"]).through_shell(FULL).run().exits(0);
    assert_eq!(support::entry(&report.json(), "good")["samples"], 10);
    assert_eq!(fs::read(project.database()).unwrap(), before);
}

#[test]
fn who_only_looks_makes_no_database() {
    let project = project();
    let database = project.path("new/folder/palio.db");
    let look = |args: &[&str]| project.palio(args).env("PALIO_DB", &database).run();
    look(&["list", "runs"]).exits(0).prints(&["No run yet"]);
    look(&["report"]).fails_with(&["no run", "folder/palio.db", "`palio run` makes one"]);
    look(&["export", "x", "-"]).fails_with(&["no run \"x\""]);
    assert!(!project.path("new").exists());
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let project = project();
    project.race().run().exits(0);
    let full = "ulimit -f 1; exec \"$@\"";
    for (args, name) in [
        (&["report", "--format", "html", "--output"][..], "report.html"),
        (&["export", "latest"], "bundle.json"),
        (&["export", "latest"], "bundle.json.gz"),
    ] {
        let write = || project.palio(args).arg(name);
        write().through_shell(full).run().fails_with(&[&format!("cannot write {name}")]);
        assert!(!project.path(name).exists(), "{name} is there");
        project.write(name, "as it was");
        write().through_shell(full).run().exits(2);
        assert_eq!(project.read(name), "as it was");
        write().run().exits(0);
        assert!(fs::metadata(project.path(name)).unwrap().len() > 512);
    }
    let names = fs::read_dir(project.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let drafts: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
    // What a link leads to is replaced, and not the link.
    std::os::unix::fs::symlink("bundle.json", project.path("link.json")).unwrap();
    project.write("bundle.json", "as it was");
    project.palio(&["export", "latest", "link.json"]).run().exits(0);
    assert!(project.path("link.json").is_symlink() && project.read("bundle.json").len() > 512);
}

#[test]
fn a_report_that_has_no_room_can_be_made_again() {
    let project = project();
    let run = project.race().set("--html", "/dev/full").run();
    let id = project.runs()[0]["id"].as_str().unwrap().to_owned();
    let again = format!("`palio report {id} --format html --output FILE`");
    run.fails_with(&["cannot write /dev/full", "The run is stored", &again]);
}

#[test]
fn a_disk_that_fills_up_stops_the_run_and_loses_nothing() {
    let project = project();
    // Blocks of 512 bytes: enough for the schema and a few invocations.
    let run =
        project.race().set("--blocks", "12").through_shell("ulimit -f 400; exec \"$@\"").run();
    let run = run.fails_with(&["palio.db", "palio run --resume", "is stored"]);
    assert_eq!(run.stdout, "");
    assert_eq!(project.report("latest")["run"]["state"], "partial");
    let before = project.stored();
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    assert_eq!(report["run"]["state"], "finished");
    assert_eq!(support::entry(&report, "good")["samples"], 60);
    assert!(assert_nothing_lost(&before, &project.stored()) > 0);
}

/// A device that is full, which nothing tells before it is written.
#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_does_not_hide_the_result() {
    let project = project();
    let run = project.race().set("--html", "/dev/full").run();
    let run = run.fails_with(&["/dev/full"]);
    assert_eq!(run.json()["run"]["state"], "finished");
    assert!(!project.runs()[0]["finished_at"].is_null());
}

#[test]
fn a_new_database_that_has_no_room_leaves_nothing() {
    let project = project();
    let imported = project.write("bundle.json", "{}");
    let folder = project.path("full");
    fs::create_dir(&folder).unwrap();
    let database = folder.join("new.db");
    // From no room at all to not quite enough, in blocks of 512 bytes.
    for blocks in [0, 1, 7, 8, 9, 16, 64] {
        let limit = format!("ulimit -f {blocks}; exec \"$@\"");
        for palio in [project.race(), project.palio(&["import"]).arg(&imported)] {
            let run = palio.env("PALIO_DB", &database).through_shell(&limit).run();
            run.fails_with(&["cannot use the database", "new.db", "--db"]);
            let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
            assert!(left.is_empty(), "with {blocks} blocks: {left:?}");
        }
    }
    // What could not be made is no obstacle.
    project.race().env("PALIO_DB", &database).run().exits(0);
}

#[test]
fn an_empty_file_becomes_a_database() {
    let project = project();
    project.write("palio.db", "");
    project.race().run().exits(0);
    assert_eq!(project.runs().len(), 1);
}

#[test]
fn a_database_of_a_newer_palio_is_left_alone() {
    let project = project();
    project.race().run().exits(0);
    let connection = Connection::open(project.database()).unwrap();
    connection.pragma_update(None, "journal_mode", "delete").unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    let before = fs::read(project.database()).unwrap();
    for run in [project.race().run(), list_runs(&project, &project.database())] {
        run.fails_with(&["palio.db", "newer Palio", "schema 999", "update Palio", "--db"]);
    }
    assert_eq!(fs::read(project.database()).unwrap(), before);
}

/// What the steps after schema 2 added is taken away again.
fn downgrade(database: &Path) {
    let connection = Connection::open(database).unwrap();
    let steps = "DROP TABLE span; DROP TABLE baseline; ALTER TABLE invocation DROP COLUMN salt;
                 ALTER TABLE invocation DROP COLUMN dropped; ALTER TABLE cell DROP COLUMN forks;
                 ALTER TABLE invocation DROP COLUMN throttled; ALTER TABLE sample DROP COLUMN load;
                 PRAGMA user_version = 2";
    connection.execute_batch(steps).unwrap();
}

#[test]
fn a_database_of_an_older_palio_is_read_and_raced_into() {
    let project = project();
    let id = project.race().run().exits(0).json()["run"]["id"].as_str().unwrap().to_owned();
    downgrade(&project.database());
    let report = project.report(&id);
    let old = support::entry(&report, "good");
    assert_eq!((&old["outcome"], &old["samples"]), (&"ok".into(), &10.into()));
    assert!(old["accounted_percent"].is_null() && old["doubts"].as_array().unwrap().is_empty());
    let new = project.race().run().exits(0).json();
    assert!(support::entry(&new, "good")["accounted_percent"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let project = project();
    for version in [0, 1] {
        let path = project.path(&format!("other-{version}.db"));
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE recipe (title TEXT)").unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        drop(connection);
        let before = fs::read(&path).unwrap();
        list_runs(&project, &path).fails_with(&["other-", "not one of Palio", "--db"]);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let project = project();
    let path = project.write("palio.db", &"Dear diary, today I raced. ".repeat(200));
    let before = fs::read(&path).unwrap();
    for run in [project.race().run(), list_runs(&project, &path)] {
        run.fails_with(&["palio.db", "not a database", "palio import", "--db"]);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_database_is_noticed() {
    let project = project();
    project.race().run().exits(0);
    let mut bytes = fs::read(project.database()).unwrap();
    assert!(bytes.len() > 8192 && !project.path("palio.db-wal").exists());
    let middle = bytes.len() / 2;
    bytes[4096..middle].fill(0xa5);
    fs::write(project.database(), &bytes).unwrap();
    list_runs(&project, &project.database()).fails_with(&["palio.db", "palio import", "--db"]);
}

#[test]
fn a_run_that_is_whole_comes_out_of_a_damaged_database() {
    let project = project();
    let ids: Vec<String> = (0..2)
        .map(|_| project.race().set("--blocks", "20").run().exits(0).json())
        .map(|report| report["run"]["id"].as_str().unwrap().to_owned())
        .collect();
    let whole = project.path("whole.json");
    let export = |id: &str, to: &str| project.palio(&["export", id]).arg(project.path(to)).run();
    export(&ids[1], "whole.json").exits(0);
    // The pages of the first run's samples: the first ones with rows of their table in them.
    let connection = Connection::open(project.database()).unwrap();
    let page: u32 = connection
        .query_row(
            "SELECT min(pageno) FROM dbstat WHERE name = 'sample' AND pagetype = 'leaf'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    drop(connection);
    let mut bytes = fs::read(project.database()).unwrap();
    let from = (page as usize - 1) * 4096;
    bytes[from..from + 4096].fill(0xa5);
    fs::write(project.database(), &bytes).unwrap();

    list_runs(&project, &project.database()).fails_with(&["damaged", "`palio export RUN FILE`"]);
    export(&ids[0], "first.json").fails_with(&["damaged", "cannot be read", &ids[1]]);
    export(&ids[1], "second.json").exits(0).complains(&["damaged", &ids[1], "keeps the rules"]);
    assert_eq!(fs::read(project.path("second.json")).unwrap(), fs::read(whole).unwrap());
}

#[test]
fn a_truncated_database_is_noticed() {
    let project = project();
    project.race().run().exits(0);
    let bytes = fs::read(project.database()).unwrap();
    for length in [bytes.len() - 4096, bytes.len() / 2, 5000, 50] {
        fs::write(project.database(), &bytes[..length]).unwrap();
        list_runs(&project, &project.database()).fails_with(&["palio.db", "palio import", "--db"]);
    }
}

#[test]
fn a_stored_value_that_was_tampered_with_is_noticed() {
    let project = project();
    project.race().run().exits(0);
    let connection = Connection::open(project.database()).unwrap();
    connection.execute("UPDATE cell SET outcome = 'splendid'", []).unwrap();
    drop(connection);
    project.palio(&["report"]).run().fails_with(&["palio.db", "malformed", "splendid"]);
}

#[test]
fn without_home_the_database_has_to_be_named() {
    let run = project().palio(&["list", "runs"]).env("PALIO_DB", "").env("HOME", "").run();
    assert_ne!(run.status.code(), Some(0));
}

#[test]
fn the_default_place_is_the_data_directory() {
    let project = project();
    project.race().without_env("PALIO_DB").run().exits(0);
    assert!(project.path("home/.local/share/palio/palio.db").is_file());
    let data = project.path("data");
    project.race().without_env("PALIO_DB").env("XDG_DATA_HOME", &data).run().exits(0);
    assert!(data.join("palio/palio.db").is_file());
}

#[test]
fn samples_are_stored_in_the_order_in_which_they_were_taken() {
    let project = Project::new().with(Fake::new("good").fault("count-up"));
    project.race().run().exits(0);
    let stored = project.stored();
    for invocation in
        cells(&stored).into_iter().flat_map(|cell| cell["invocations"].as_array().unwrap())
    {
        let samples = invocation["samples"].as_array().unwrap();
        let times: Vec<u64> =
            samples.iter().map(|sample| sample["elapsed_ns"].as_u64().unwrap()).collect();
        assert!(times.is_sorted() && times.len() > 1, "{times:?}");
    }
}
