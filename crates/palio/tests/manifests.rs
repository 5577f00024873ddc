//! What is wrong with a `contender.toml` or with what it needs is said by name, with the fix.

use crate::support::{self, Fake, Project};

const GOOD: &str = "contenders/rust/good/contender.toml";

fn project() -> Project {
    Project::good_and(Fake::new("better"))
}

#[test]
fn a_fault_in_a_folder_of_the_users_leaves_out_that_contender_alone() {
    let project = project();
    project.write("mine/lua/broken/contender.toml", "id = \"broken\"\nname: 1\n");
    let mine = |args: &[&str]| project.palio(args).set("--contenders-dir", "mine").run();
    let said = ["left out", "mine/lua/broken/contender.toml is malformed", "line 2"];
    let list = mine(&["list", "contenders"]).exits(0).complains(&said).prints(&["good", "better"]);
    assert!(!list.stdout.contains("broken"));
    project.race().set("--contenders-dir", "mine").run().exits(0).complains(&said);
    mine(&["doctor"]).exits(0).complains(&said);
    // It is not hidden from who asks whether all is well, nor from who wants it.
    mine(&["verify", "-t", "1"]).exits(1);
    mine(&["verify", "-t", "1", "-c", "good"]).exits(0);
    mine(&["build"]).exits(0);
    mine(&["build", "--strict"]).exits(1);
    mine(&["build", "--strict", "good"]).exits(0);
    for args in [&["run", "-c", "broken"][..], &["build", "broken"], &["verify", "-c", "broken"]] {
        mine(args).fails_with(&["broken cannot be used", said[1]]);
    }
}

#[test]
fn a_contender_of_the_users_does_not_take_the_place_of_one_of_the_projects() {
    let project = project();
    project.write("mine/rust/good/contender.toml", &project.read(GOOD));
    let list = project.palio(&["list", "contenders", "--contenders-dir", "mine"]).run().exits(0);
    let said = ["left out", "two contenders call themselves \"good\"", "mine/rust/good"];
    list.complains(&said);
    // Nor does it hide that one from what is held against it.
    project.race().run().exits(0);
    project.palio(&["export", "latest", "run.json"]).run().exits(0);
    let import = project.palio(&["import", "run.json", "--db", "other.db"]);
    let imported = import.set("--contenders-dir", "mine").run().exits(0).complains(&said);
    assert!(!imported.stderr.contains("compared with nothing"), "{}", imported.stderr);
}

#[test]
fn names_that_differ_in_their_case_alone_are_one() {
    let project = project();
    project.write("mine/rust/Good/contender.toml", &project.read(GOOD).replace("good", "Good"));
    let list = project.palio(&["list", "contenders", "--contenders-dir", "mine"]).run().exits(0);
    list.complains(&["left out", "two contenders call themselves \"Good\"", "mine/rust/Good"]);
}

#[test]
fn faults_of_a_manifest_are_named_with_the_fix() {
    let project = project();
    let good = project.read(GOOD);
    let run = |words: &str| format!("[build]\n{words}\n[run]");
    let faults = [
        (
            "kind =",
            "threads_max = 0\nkind =".to_owned(),
            "`threads_max` is 0, and nobody races on no thread",
        ),
        (
            "[run]\ncommand = [",
            "[run]\ncommand = [\"{Dir}/x\", ".to_owned(),
            "{Dir} in \"{Dir}/x\" is no placeholder (did you mean {dir}?)",
        ),
        ("[run]", run("commands = [[\"{out}\"]]"), "{out} in \"{out}\" is no placeholder"),
        ("[run]", run("directory = \"{dir}/x\""), "{dir} in \"{dir}/x\" is no placeholder"),
        (
            "id = \"good\"",
            "id = \"fine\"".to_owned(),
            "its id \"fine\" is not the name of its folder, \"good\"",
        ),
    ];
    for (from, to, words) in faults {
        let text = good.replacen(from, &to, 1);
        assert_ne!(text, good);
        project.write(GOOD, &text);
        project.palio(&["list", "contenders"]).run().fails_with(&[GOOD, words]);
    }
    // What a shell makes of braces is its own affair.
    let shell = "[[requires]]\nname = \"x\"\nprobe = [\"sh\", \"-c\", \"test -z ${NONE}\"]\ninstall = \"-\"\n";
    project.write(GOOD, &format!("{good}{shell}"));
    project.palio(&["list", "contenders"]).run().exits(0);
}

#[test]
fn a_manifest_in_the_wrong_place_is_named() {
    for (place, words) in [
        ("rust/deep/er/contender.toml", "a level too deep: move its folder up by one"),
        ("flat/contender.toml", "not deep enough: put it into a folder LANGUAGE/ID"),
    ] {
        let project = project();
        let text = project.read(GOOD).replace("\"good\"", "\"er\"");
        project.write(&format!("contenders/{place}"), &text);
        project.palio(&["list", "contenders"]).run().fails_with(&[place, words]);
        let project = Project::good_and(Fake::new("better"));
        project.write(&format!("mine/{place}"), &text);
        let list = project.palio(&["list", "contenders", "--contenders-dir", "mine"]).run();
        list.exits(0).complains(&["left out", place, words]);
    }
}

#[test]
fn a_contender_is_built_as_it_is_raced() {
    let project = project();
    project.palio(&["build", "-c", "good"]).run().exits(0).prints(&["good", "up to date"]);
    let both: [&[&str]; 3] =
        [&["-c", "good,better"], &["-c", "good", "-c", "better"], &["good", "-c", "better"]];
    for args in both {
        let args = [&["build"], args].concat();
        project.palio(&args).run().exits(0).prints(&["good ", "better "]);
    }
    let run = project.palio(&["build", "-c", "goood"]).run();
    run.fails_with(&["no contender \"goood\"", "did you mean \"good\""]);
}

#[test]
fn a_probe_that_fails_is_quoted() {
    let requires = |script: &str| {
        format!(
            "[[requires]]\nname = \"lua5.4\"\nprobe = [\"sh\", \"-c\", {script:?}]\n\
             debian = [\"lua-posix\"]\ninstall = \"-\"\n"
        )
    };
    let lua = "echo \"lua5.4: module 'posix.time' not found:\" >&2; echo ' no file' >&2; exit 1";
    let python = "echo 'Traceback (most recent call last):' >&2; echo ' at' >&2; \
                  echo 'ModuleNotFoundError: uvloop' >&2; exit 1";
    for (script, said) in [
        (lua, "lua5.4 fails its probe: lua5.4: module 'posix.time' not found (`sudo apt-get"),
        (python, "lua5.4 fails its probe: ModuleNotFoundError: uvloop (`sudo"),
        ("exit 1", "lua5.4 is missing (`sudo apt-get install lua-posix`"),
    ] {
        let project = Project::good_and(Fake::new("frob").toml(&requires(script)));
        project.palio(&["build", "frob"]).run().exits(1).prints(&[said]);
    }
}

#[test]
fn too_many_threads_suggest_as_many_as_can_be_used() {
    let project = project();
    let text = project.read(GOOD).replace("kind =", "threads_max = 1\nkind =");
    project.write(GOOD, &text);
    let said = "uses at most 1 thread: `-t 1` races it";
    let race = |who: &str| project.race().set("--threads", "2").set("--contender", who);
    race("good").run().fails_with(&["none of these contenders", said]);
    let report = race("good,better").run().exits(0).json();
    assert_eq!(support::entry(&report, "good")["detail"], said);
    race("good").set("--threads", "1").run().exits(0);
    // What keeps two of them out is said once.
    let better = GOOD.replace("good", "better");
    let text = project.read(&better).replace("kind =", "threads_max = 1\nkind =");
    project.write(&better, &text);
    let both = format!("any of these workloads: good, better: {said}");
    race("good,better").run().fails_with(&[&both]);
}

#[test]
fn a_reason_is_not_said_twice() {
    let project = Project::good_and(Fake::new("bad").fault("refuse"));
    let report = project.race().run().exits(0).json();
    let bad = support::entry(&report, "bad");
    assert_eq!(bad["outcome"], "unsupported");
    assert_eq!(bad["detail"], "fake: I do not do this on a Tuesday");
    assert!(bad["stderr"].is_null(), "{bad:#}");
}
