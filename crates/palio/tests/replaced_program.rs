//! A contender whose program is exchanged while it is raced is out of the race: its times would be
//! those of two programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Fake, Project, assert_has, cells, entry};

const WRAPPER: &str = "#!/bin/sh\nexec \"$@\"\n";

/// A project in which `bad` is started through a program of its own, which it can exchange.
fn project(fault: impl Fn(&str) -> String, from: u32) -> Project {
    let project = Project::new().with(Fake::new("good"));
    let path = project.write("program", WRAPPER);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.to_str().unwrap();
    let project = project.with(Fake::new("bad").fault(&fault(path)).from(from));
    let manifest = "contenders/rust/bad/contender.toml";
    let through = format!("command = [{path:?}, ");
    let text = project.read(manifest).replace("command = [", &through);
    project.write(manifest, &(text + "\n[build]\ncommands = [[\"true\"]]\n"));
    project
}

fn starts(project: &Project, id: &str) -> usize {
    project.starts().iter().filter(|name| *name == id).count()
}

#[test]
fn who_replaces_its_own_program_is_out_of_the_race() {
    // In the pilot, and in the first block.
    for from in [1, 2] {
        let project = project(|path| format!("replaces:{path}"), from);
        let report = project.race().set("--reference", "good").run().exits(0).json();
        let bad = entry(&report, "bad");
        assert_eq!(bad["outcome"], "crashed", "{bad:#}");
        assert!(bad["rank"].is_null() && bad["value_ns"].is_null());
        assert_has(
            bad["detail"].as_str().unwrap(),
            &["its program was changed", "program has another content", "race it again"],
        );
        assert_eq!(entry(&report, "good")["outcome"], "ok");
        assert_eq!(starts(&project, "bad"), from as usize, "the other program was raced too");
        for format in ["terminal", "markdown", "csv", "html"] {
            let text = project.palio(&["report", "latest", "--format", format]).run().exits(0);
            let words = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("its program was changed"), "{format}:\n{words}");
        }
        // What is stored of it keeps the rules of a run from elsewhere.
        let bundle = project.path("bundle.json");
        project.palio(&["export", "latest", bundle.to_str().unwrap()]).run().exits(0);
        let import = project.palio(&["import", bundle.to_str().unwrap()]);
        import.env("PALIO_DB", project.path("other.db")).run().exits(0);
    }
}

#[test]
fn who_replaces_its_program_while_it_says_who_it_is_is_never_started() {
    let project = project(|path| format!("describe-replaces:{path}"), 1);
    let report = project.race().set("--reference", "good").run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "crashed");
    assert_eq!(starts(&project, "bad"), 0);
}

#[test]
fn the_same_program_built_again_goes_on() {
    let project = project(|path| format!("rewrites:{path}"), 1);
    let report = project.race().set("--reference", "good").run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "ok", "{:#}", entry(&report, "bad"));
}

/// Races while `change` is done to the project between two processes of `good`, and says what
/// became of that.
fn changed_by_others(fake: Fake, change: impl FnOnce(&Project)) -> (String, String) {
    // Comes after `good` in the alphabet, and so in the pilots.
    let project = Project::new().with(fake).with(Fake::new("late").fault("meet"));
    project.write("contenders/rust/good/classes/Main", "one");
    project.write("contenders/rust/good/README.md", "one");
    let meeting = project.meeting("late");
    let palio = project.race().set("--reference", "late").start();
    let guest = meeting.guest();
    assert_eq!(starts(&project, "good"), 1, "its pilot was before");
    change(&project);
    drop(guest);
    let report = palio.finish().exits(0).json();
    let good = entry(&report, "good");
    let outcome = good["outcome"].as_str().unwrap().to_owned();
    if outcome != "ok" {
        assert_eq!(starts(&project, "good"), 1, "it was started again");
        let stored = project.stored();
        let is_good = |cell: &&serde_json::Value| cell["contender"] == "good";
        let cell = cells(&stored).into_iter().find(is_good).unwrap().clone();
        assert_eq!(cell["invocations"][0]["outcome"], "ok", "the pilot was before");
    }
    (outcome, good["detail"].as_str().unwrap_or_default().to_owned())
}

type Change = fn(&Project, &str);

#[test]
fn sources_of_which_nothing_is_built_are_watched() {
    let main = "contenders/rust/good/classes/Main";
    let changes: [(&str, Change); 3] = [
        ("Main has another content", |project, main| drop(project.write(main, "two"))),
        ("Main is gone", |project, main| fs::remove_file(project.path(main)).unwrap()),
        ("Other is new", |project, _| drop(project.write("contenders/rust/good/Other", ""))),
    ];
    for (said, change) in changes {
        let (outcome, detail) = changed_by_others(Fake::new("good"), |p| change(p, main));
        assert_eq!(outcome, "crashed", "{said}");
        assert_has(&detail, &["its program was changed", said]);
    }
    let readme = |project: &Project| drop(project.write("contenders/rust/good/README.md", "two"));
    let (outcome, detail) = changed_by_others(Fake::new("good"), readme);
    assert_eq!(outcome, "ok", "{detail}");
}

#[test]
fn of_what_is_built_the_files_that_the_manifest_names_are_watched() {
    let main = "contenders/rust/good/classes/Main";
    // What takes long to build comes last, and so after the meeting.
    let built = "[build]\ncommands = [[\"true\"]]\nseconds = 0\n";
    for (files, outcome) in [("", "ok"), ("files = [\"{dir}/classes\"]\n", "crashed")] {
        let fake = Fake::new("good").toml(&format!("{files}{built}"));
        let (became, detail) = changed_by_others(fake, |p| drop(p.write(main, "two")));
        assert_eq!(became, outcome, "{detail}");
    }
}
