//! Other releases of a contender's runtime, and working copies of it, beside the pinned one.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::support::{Fake, Palio, Project, assert_has, entry};
use nix::sys::signal::Signal;
use serde_json::Value;

const WORKSPACE: &str = "contenders/rust";

/// Cargo by itself: rustup's stand-in needs the home of a user.
fn path_variable() -> OsString {
    let cargo = Path::new(env!("CARGO")).parent().unwrap().to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([cargo].into_iter().chain(std::env::split_paths(&rest))).unwrap()
}

fn palio(project: &Project, args: &[&str]) -> Palio {
    project.palio(args).env("PATH", path_variable())
}

/// The crate `engine`, which is the runtime.
fn engine(project: &Project, folder: &str, version: &str) {
    let manifest =
        format!("[package]\nname = \"engine\"\nversion = \"{version}\"\nedition = \"2024\"\n");
    project.write(&format!("{folder}/Cargo.toml"), &manifest);
    let source = "pub const VERSION: &str = env!(\"CARGO_PKG_VERSION\");\n";
    project.write(&format!("{folder}/src/lib.rs"), source);
}

/// The contender `racer`, a package of a workspace that is linked with `engine` 2.0.0. There is an
/// engine 1.0.0 too; both are where cargo looks instead of a registry.
fn project() -> Project {
    let project = Project::new().with(Fake::new("racer"));
    let path = format!("{WORKSPACE}/racer/contender.toml");
    let text = project.read(&path);
    let line = text.lines().find(|line| line.starts_with("command = ")).unwrap().to_owned();
    let fake = line.trim_start_matches("command = ").to_owned();
    let build = r#"
        [build]
        directory = ".."
        commands = [["cargo", "build", "--quiet", "--locked", "--target-dir", "{target}", "--package", "racer"]]
        inputs = [".."]
        [releases]
        tool = "cargo"
        package = "engine"
    "#;
    let text = text.replace(&line, "command = [\"{target}/debug/racer\"]");
    project.write(&path, &format!("{text}{build}"));
    project.write(
        &format!("{WORKSPACE}/Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"racer\", \"other\"]\n\
         [workspace.dependencies]\nengine = \"2.0\"\n",
    );
    // A neighbour that can only be linked with the pinned release.
    for (name, dependency) in [("racer", "{ workspace = true }"), ("other", "\"2.0.0\"")] {
        project.write(
            &format!("{WORKSPACE}/{name}/Cargo.toml"),
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                 [dependencies]\nengine = {dependency}\n"
            ),
        );
        // It lends its version to the fake contender.
        let source = format!(
            "use std::os::unix::process::CommandExt;\n\
             fn main() {{\n    let fake: &[&str] = &{fake};\n    \
             let mut command = std::process::Command::new(fake[0]);\n    \
             command.args(&fake[1..]).arg(\"--fault\");\n    \
             command.arg(format!(\"describe-version:{{}}\", engine::VERSION));\n    \
             panic!(\"{{}}\", command.args(std::env::args_os().skip(1)).exec());\n}}\n"
        );
        project.write(&format!("{WORKSPACE}/{name}/src/main.rs"), &source);
    }
    project.write(
        &format!("{WORKSPACE}/.cargo/config.toml"),
        "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"vendor\"\n",
    );
    for version in ["1.0.0", "2.0.0"] {
        let folder = format!("{WORKSPACE}/vendor/engine-{version}");
        engine(&project, &folder, version);
        project.write(&format!("{folder}/.cargo-checksum.json"), "{\"files\":{}}");
    }
    let lock = Command::new(env!("CARGO"))
        .args(["generate-lockfile", "--quiet"])
        .current_dir(project.path(WORKSPACE))
        .status();
    assert!(lock.unwrap().success());
    project
}

fn git(folder: &Path, args: &[&str]) -> String {
    let settings = ["-c", "user.name=me", "-c", "user.email=me@example.org"];
    let output =
        Command::new("git").args(settings).args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a repository of a folder, with all of it committed. Returns the commit.
fn committed(folder: &Path) -> String {
    git(folder, &["init", "--quiet"]);
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "--message", "start"]);
    git(folder, &["rev-parse", "--short=7", "HEAD"])
}

/// `[id, version]` of every contender of a report.
fn contenders(report: &Value) -> Vec<[String; 2]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = report["contenders"].as_array().unwrap();
    all.iter().map(|contender| [text(&contender["id"]), text(&contender["version"])]).collect()
}

#[test]
fn a_release_and_a_working_copy_race_beside_the_pinned_release() {
    let project = project();
    // A workspace in which the package is one of several, as most repositories are.
    project.write("work/copy/Cargo.toml", "[workspace]\nmembers = [\"engine\"]\n");
    engine(&project, "work/copy/engine", "3.0.0-dev");
    let copy = project.path("work/copy");
    let commit = committed(&copy);
    let sources = ["Cargo.toml", "Cargo.lock", "racer/Cargo.toml"];
    let read = || sources.map(|name| project.read(&format!("{WORKSPACE}/{name}")));
    let before = read();

    let chosen = "racer@version=1.0.0,racer@path=work/copy,racer";
    let race = project.race().env("PATH", path_variable()).set("--contender", chosen);
    let report = race.run().exits(0).json();
    let clean = format!("racer@path=copy-{commit}");
    let expected = [
        ["racer@version=1.0.0", "1.0.0"],
        [&clean, &format!("3.0.0-dev (copy-{commit})")],
        ["racer", "2.0.0"],
    ];
    assert_eq!(contenders(&report), expected.map(|pair| pair.map(str::to_owned)));
    for name in ["racer@version=1.0.0", &clean, "racer"] {
        assert_eq!(entry(&report, name)["outcome"], "ok");
        assert_eq!(entry(&report, name)["samples"], entry(&report, "racer")["samples"]);
    }
    let ratio = &entry(&report, "racer@version=1.0.0")["ratio_to_reference"];
    assert!(ratio["point"].is_number(), "compared as any other contender is");
    assert_eq!(read(), before, "what is committed stays as it is");

    project.write("work/copy/engine/README.md", "changed");
    let built = palio(&project, &["build", "racer@path=work/copy", "racer@version=1.0.0"]);
    let built = built.run().exits(0);
    built.prints(&[&format!("{clean}-dirty"), " built: ", " up to date: "]);
    let listed = palio(&project, &["list", "contenders", "-c", "racer@version=1.0.0"]);
    listed.run().exits(0).prints(&["racer@version=1.0.0", "Fake racer, 1.0.0"]);
    let verified = palio(&project, &["verify", "-c", "racer@version=1.0.0", "-w", "echo"]);
    verified.run().exits(0).prints(&["racer@version=1.0.0"]);
}

#[test]
fn an_unknown_version_is_told_in_cargos_words_and_the_others_race() {
    let project = project();
    let built = palio(&project, &["build", "racer@version=9.9.9"]).run().exits(1);
    built.prints(&["racer@version=9.9.9", "not built", "engine = \"=9.9.9\"", "1.0.0"]);
    let race = project.race().env("PATH", path_variable());
    let race = race.set("--contender", "racer@version=9.9.9,racer").run().exits(0);
    race.complains(&["racer@version=9.9.9 will not race", "engine = \"=9.9.9\""]);
    let report = project.report("latest");
    assert_eq!(entry(&report, "racer@version=9.9.9")["outcome"], "not-built");
    assert_eq!(entry(&report, "racer")["outcome"], "ok");
}

#[test]
fn what_cannot_be_had_is_refused_before_anything_is_built() {
    let project = project().with(Fake::new("plain"));
    project.write("work/empty/README.md", "");
    engine(&project, "work/motor", "1.0.0");
    let motor = project.read("work/motor/Cargo.toml").replace("engine", "motor");
    project.write("work/motor/Cargo.toml", &motor);
    let cases: [(&str, &[&str]); 7] = [
        ("plain@version=1.0", &["plain", "plain/contender.toml has no section [releases]"]),
        ("racer@path=work/none", &["no working copy at \"work/none\""]),
        ("racer@path=work/empty", &["work/empty has no Cargo.toml", "working copy of engine"]),
        ("racer@path=work/motor", &["there is no package engine in"]),
        ("racer@version=1/0", &["\"1/0\" is no version"]),
        ("racer@version=1.0.0@path=work/motor", &["two releases of racer"]),
        ("racer@version=1.0.0,racer@version=1.0.0", &["racer@version=1.0.0 is chosen twice"]),
    ];
    for (choice, parts) in cases {
        palio(&project, &["run", "-c", choice]).run().fails_with(parts);
    }
    assert!(!project.path("target").exists());
}

/// A contender whose build is a script that writes the program that is then started.
fn scripted(project: &Project, id: &str, version: &str, more: &str) {
    let path = format!("{WORKSPACE}/{id}/contender.toml");
    let text = project.read(&path);
    let line = text.lines().find(|line| line.starts_with("command = ")).unwrap().to_owned();
    let exec = line.trim_start_matches("command = [").trim_end_matches(']');
    let exec = exec.replace("\", \"", "' '").replace('"', "'");
    let script = format!(
        r#"mkdir -p '{{target}}' && printf '%s\n' '#!/bin/sh' "exec {exec} --fault describe-version:{version} \"\$@\"" > '{{target}}/{id}' && chmod +x '{{target}}/{id}'"#
    );
    let text = text.replace(&line, &format!("command = [\"{{target}}/{id}\"]"));
    let build = format!("[build]\ncommands = [[\"sh\", \"-c\", '''{script}''']]\n");
    project.write(&path, &format!("{text}{build}{more}"));
}

#[test]
fn gos_releases_are_toolchains() {
    let project = Project::new().with(Fake::new("goer")).with(Fake::new("slow").fault("meet"));
    scripted(&project, "goer", "${GOTOOLCHAIN:-1.1}", "[releases]\ntool = \"go\"\n");
    project.palio(&["build", "goer@version=1.25.0", "goer"]).run().exits(0).prints(&[
        "goer@version=1.25.0",
        "fake go1.25.0",
        "fake 1.1",
    ]);
    project.write("work/go/README.md", "");
    let run = project.palio(&["run", "-c", "goer@path=work/go"]).run();
    run.fails_with(&["goer cannot be raced at path=", "has no bin/go"]);
    // A GOROOT that was built is the first in the path, and keeps to itself.
    project.write("work/go/bin/go", "");
    let built = project.palio(&["build", "goer@path=work/go"]).run().exits(0);
    built.prints(&["goer@path=go", "fake local"]);

    // A run that was cut off goes on with the same release.
    let meeting = project.meeting("slow");
    let run = project.race().set("--contender", "goer@version=1.25.0,slow").start();
    let guest = meeting.guest();
    run.signal(Signal::SIGKILL);
    run.finish().dies_of(Signal::SIGKILL);
    drop(guest);
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    assert_eq!(entry(&report, "goer@version=1.25.0")["outcome"], "ok");
    assert_has(&contenders(&report)[0].join(" "), &["goer@version=1.25.0 go1.25.0"]);
}

/// Be it that nobody had built it when the run was cut off: its name says which commit races.
#[test]
fn another_state_of_a_working_copy_is_not_mixed_in() {
    // `slow` comes first where it meets us in its pilot, for nothing has to be built for it.
    for (from, is_asked) in [(1, false), (2, true)] {
        let slow = Fake::new("slow").fault("meet").from(from);
        let project = Project::new().with(Fake::new("goer")).with(slow);
        scripted(&project, "goer", "1.1", "[releases]\ntool = \"go\"\n");
        project.write("work/go/bin/go", "");
        let copy = project.path("work/go");
        let commit = committed(&copy);
        let meeting = project.meeting("slow");
        let run = project.race().set("--contender", "goer@path=work/go,slow").start();
        let guest = meeting.guest();
        run.signal(Signal::SIGKILL);
        run.finish().dies_of(Signal::SIGKILL);
        drop(guest);
        let name = format!("goer@path=go-{commit}");
        let version = project.report("latest")["contenders"][0]["version"].clone();
        assert_eq!(version.is_string(), is_asked);

        project.write("work/go/bin/go", "another one");
        let said = format!("the release of {name} was \"path=go-{commit}\" and is");
        let refused = project.palio(&["run", "--resume"]).run().fails_with(&[&said, "-dirty-"]);
        assert!(!refused.stderr.contains("building"), "{}", refused.stderr);
        git(&copy, &["commit", "--quiet", "--all", "--message", "another one"]);
        project.palio(&["run", "--resume"]).run().fails_with(&[&said, "start a new run"]);
        // Put back, it goes on.
        git(&copy, &["reset", "--quiet", "--hard", &commit]);
        let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
        assert_eq!(entry(&report, &name)["outcome"], "ok");
    }
}

/// A race may wait for others for hours before it builds a working copy, which then is another one.
#[test]
fn a_working_copy_that_changes_before_it_is_built_does_not_race() {
    for was_dirty in [false, true] {
        let slow = Fake::new("slow").fault("meet");
        let project = Project::new().with(Fake::new("goer")).with(slow);
        scripted(&project, "goer", "1.1", "[releases]\ntool = \"go\"\n");
        project.write("work/go/bin/go", "");
        let copy = project.path("work/go");
        let commit = committed(&copy);
        if was_dirty {
            project.write("work/go/bin/go", "one");
        }
        let meeting = project.meeting("slow");
        let run = project.race().set("--contender", "goer@path=work/go,slow").start();
        let guest = meeting.guest();
        project.write("work/go/bin/go", "another one");
        drop(guest);
        let report = run.finish().exits(0).json();
        let entries = report["races"][0]["entries"].as_array().unwrap();
        let goer = entries.iter().find(|entry| entry["contender"] != "slow").unwrap();
        assert_eq!(goer["outcome"], "not-built", "{goer:#}");
        let was = if was_dirty { format!("{commit}-dirty-") } else { format!("{commit} ") };
        let (was, is) = (format!("was {was}"), format!("is {commit}-dirty-"));
        assert_has(goer["detail"].as_str().unwrap(), &["state of its working copy", &was, &is]);
        assert_eq!(entry(&report, "slow")["outcome"], "ok");
    }
}

#[test]
fn a_build_that_is_linked_with_another_version_does_not_race() {
    let project = Project::new().with(Fake::new("goer"));
    scripted(&project, "goer", "1.24.3", "[releases]\ntool = \"go\"\n");
    project.palio(&["build", "goer@version=1.24"]).run().exits(0);
    let built = project.palio(&["build", "goer@version=1.25.0"]).run().exits(1);
    built.prints(&["built with version=1.25.0, but says that it is linked with fake 1.24.3"]);
}

#[test]
fn a_prefix_reaches_probe_and_build_and_the_library_must_come_from_it() {
    let project = Project::new().with(Fake::new("maker"));
    // What CMake would have found there, or the system's where there is none.
    let probe = r#"mkdir -p {target}/build; p="${CMAKE_PREFIX_PATH%%:*}"; test -d "$p/Engine" || p=/usr; echo "Engine_DIR:PATH=$p/Engine" > {target}/build/CMakeCache.txt"#;
    let more = format!(
        "[releases]\ntool = \"cmake\"\npackage = \"Engine\"\n\
         [[requires]]\nname = \"Engine\"\nprobe = [\"sh\", \"-c\", '''{probe}''']\ninstall = \"-\"\n"
    );
    scripted(&project, "maker", "1.0", &more);
    project.write("work/prefix/Engine/EngineConfig.cmake", "");
    project.write("work/other/README.md", "");
    let build = |choice: &str| project.palio(&["build", choice]).run();
    build("maker").exits(0);
    build("maker@path=work/prefix").exits(0).prints(&["maker@path=prefix"]);
    build("maker@path=work/other")
        .exits(1)
        .prints(&["CMake found Engine in /usr/Engine, and not below", "work/other"]);
    build("maker@version=1.0").fails_with(&["maker cannot be raced at version=1.0", "path=PREFIX"]);
}
