//! `palio bisect`: between which two releases a row changed.

use crate::support::{Fake, Palio, Project, assert_has};

/// The contender `goer`, whose release is a toolchain of Go, and whose `pace`, lines of `sh`, says
/// what a sample takes by the release in `$v`.
fn project(pace: &str) -> Project {
    project_of(Fake::new("goer"), pace)
}

fn project_of(goer: Fake, pace: &str) -> Project {
    let project = Project::new().with(goer);
    let path = "contenders/rust/goer/contender.toml";
    let text = project.read(path);
    let line = text.lines().find(|line| line.starts_with("command = ")).unwrap().to_owned();
    let exec = line.trim_start_matches("command = [").trim_end_matches(']');
    let exec = exec.replace("\", \"", "' '").replace('"', "'");
    let script = format!(
        r#"v="${{GOTOOLCHAIN#go}}"; mkdir -p '{{target}}'; ns=2000000; {pace}
printf '%s\n' '#!/bin/sh' "exec {exec} --fault describe-version:go$v --fault claim:$ns \"\$@\"" > '{{target}}/goer' && chmod +x '{{target}}/goer'"#
    );
    let text = text.replace(&line, "command = [\"{target}/goer\"]");
    let build = format!(
        "[build]\ncommands = [[\"sh\", \"-c\", '''{script}''']]\n[releases]\ntool = \"go\"\n"
    );
    project.write(path, &format!("{text}{build}"));
    project
}

const VERSIONS: &str = "1.1,1.2,1.3,1.4,1.5,1.6,1.7";

fn bisect(project: &Project, more: &[&str]) -> Palio {
    let args = ["bisect", "echo", "-c", "goer", "--versions", VERSIONS];
    let every = ["--", "--quiet", "--blocks", "6", "--budget", "5", "--warm-up", "0"];
    project.palio(&[&args[..], more, &every[..]].concat())
}

#[test]
fn the_release_that_changed_is_found_in_few_steps() {
    for (changed, before) in [("1.2", "1.1"), ("1.5", "1.4"), ("1.7", "1.6")] {
        let slow: String =
            VERSIONS.split(',').filter(|v| *v >= changed).collect::<Vec<_>>().join("|");
        let project = project(&format!("case $v in {slow}) ns=3000000;; esac"));
        let found = bisect(&project, &["--json"]).run().exits(0).json();
        assert_eq!(found["between"][0], before, "{found:#}");
        assert_eq!(found["between"][1], changed);
        let steps = found["steps"].as_array().unwrap();
        assert!(steps.len() <= 4, "{steps:#?}");
        // Each step is a run of its own, to be reported on, with both ends in it.
        assert_eq!(project.runs().len(), steps.len());
        let whole = steps[0]["whole"]["ratio"].as_f64().unwrap();
        assert!((whole - 1.5).abs() < 0.05, "{whole}");
    }
}

#[test]
fn each_step_says_what_it_saw() {
    let project = project("case $v in 1.4|1.5|1.6|1.7) ns=3000000;; esac");
    let finished = bisect(&project, &[]).run().exits(0);
    assert_has(
        &finished.stdout,
        &[
            "goer@version=1.4: ÷ goer@version=1.1 = 1.5",
            "like goer@version=1.7 (run ",
            "It changed between 1.3 and 1.4.",
        ],
    );
}

#[test]
fn a_step_that_hangs_on_doubtful_times_says_so() {
    // Faster by what the newer ones do not account for.
    let project = project("case $v in 1.1) ;; *) ns=\"2000000 --fault lie:10\";; esac");
    let args = ["bisect", "echo", "-c", "goer", "--versions", "1.1,1.2"];
    let every = ["--", "--quiet", "--blocks", "6", "--budget", "5", "--warm-up", "0"];
    let found = project.palio(&[&args[..], &every].concat()).run().exits(0);
    found.prints(&["between 1.1 and 1.2", "\n  doubtful: goer@version=1.2 accounted for"]);
    let found = project.palio(&[&args[..], &["--json"], &every].concat()).run().exits(0).json();
    let doubts = found["steps"][0]["doubts"].to_string();
    assert_has(&doubts, &["goer@version=1.2 accounted for"]);
}

#[test]
fn a_difference_that_is_none_is_not_looked_for() {
    // There is none; or there is one, and every process runs at another pace.
    let slow = "case $v in 1.4|1.5|1.6|1.7) ns=3000000;; esac";
    for (goer, pace) in [(Fake::new("goer"), ":"), (Fake::new("goer").fault("moody"), slow)] {
        let project = project_of(goer, pace);
        let finished = bisect(&project, &[]).run().exits(1);
        finished.prints(&["Cannot tell: ", "no difference beyond the noise"]);
        assert_eq!(project.runs().len(), 1);
    }
}

#[test]
fn two_changes_are_not_taken_for_one() {
    let pace = "case $v in 1.1|1.2) ;; 1.3|1.4|1.5) ns=3000000;; *) ns=4500000;; esac";
    let finished = bisect(&project(pace), &[]).run().exits(1);
    finished.prints(&["Cannot tell: goer@version=1.4 is like neither end"]);
}

/// Three small steps: each release in the middle is like the end that is nearer, and no two
/// neighbours are told apart.
#[test]
fn a_change_in_small_steps_is_not_that_of_two_releases() {
    let pace = "case $v in 1.1) ;; 1.7) ns=2035000;; 1.5|1.6) ns=2024000;; *) ns=2012000;; esac";
    let finished = bisect(&project(pace), &[]).run().exits(1);
    finished.prints(&[
        "goer@version=1.5 ÷ goer@version=1.4 = 1.006",
        "Cannot tell: goer@version=1.4 is like the first and goer@version=1.5 like the last",
        "may be spread over several releases",
    ]);
}

/// One that became slower in a variant of a row that nobody is ranked by did not change the row.
#[test]
fn the_fastest_variant_is_compared_as_in_reports() {
    let project =
        project("case $v in 1.1) ;; *) ns=\"2000000 --fault slow-with:reader=first\";; esac");
    let echo = project.read("workloads/echo.toml");
    let variants = "variants = [{ reader = \"first\" }, { reader = \"last\" }]\n[[case]]";
    project.write("workloads/echo.toml", &echo.replacen("[[case]]", variants, 1));
    let args = ["bisect", "echo", "-c", "goer", "--versions", "1.1,1.2", "--"];
    let every = ["--quiet", "--blocks", "6", "--budget", "5", "--warm-up", "0"];
    let finished = project.palio(&[&args[..], &every[..]].concat()).run().exits(1);
    finished.prints(&["no difference beyond the noise"]);
}

#[test]
fn a_release_that_cannot_be_built_is_left_out() {
    let project = project("case $v in 1.4) exit 7;; 1.1|1.2|1.3) ;; *) ns=3000000;; esac");
    let finished = bisect(&project, &[]).run().exits(0);
    finished.prints(&["goer@version=1.4 did not race", "it is left out", "between 1.3 and 1.5"]);
}

#[test]
fn two_releases_are_compared_and_an_end_that_fails_ends_it() {
    let project = project("case $v in 1.1) ;; 1.9) exit 7;; *) ns=3000000;; esac");
    let of = |versions: &str| {
        let args = ["bisect", "echo", "-c", "goer", "--versions", versions, "--"];
        let every = ["--quiet", "--blocks", "6", "--budget", "5", "--warm-up", "0"];
        project.palio(&[&args[..], &every[..]].concat()).run()
    };
    of("1.1,1.2").exits(0).prints(&["It changed between 1.1 and 1.2."]);
    of("1.2,1.3").exits(1).prints(&["no difference beyond the noise"]);
    of("1.1,1.2,1.9").exits(1).prints(&["Cannot tell: goer@version=1.9 did not race"]);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_built() {
    let project = project(":").with(Fake::new("plain"));
    let echo = project.read("workloads/echo.toml");
    project.write("workloads/echo.toml", &echo.replace("threads = [1]", "threads = [1, 2]"));
    let cases: [(&[&str], &[&str]); 5] = [
        (&["echo", "-c", "goer", "--versions", "1.1"], &["two releases"]),
        (&["echo", "-c", "goer", "--versions", "1.1,1.2"], &["more than one race", "-t 2"]),
        (&["echo", "-c", "plain", "--versions", "1.1,1.2"], &["no section [releases]"]),
        (&["echo", "-c", "goer", "--versions", "1.1,1.1"], &["chosen twice"]),
        (&["echo", "-c", "goer", "--versions", "1.1,1.2", "--", "--resume"], &["--resume"]),
    ];
    for (args, parts) in cases {
        project.palio(&[&["bisect"], args].concat()).run().fails_with(parts);
    }
    assert!(!project.path("target").exists());
}
