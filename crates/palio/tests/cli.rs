//! The command line as scripts and other programs meet it.

use std::process::{Command, Stdio};

use crate::support::{self, Fake, Project, entry};

fn project() -> Project {
    Project::good_and(Fake::new("other"))
}

#[test]
fn whatever_may_be_read_by_a_machine_is_json() {
    let project = project();
    project.race().run().exits(0);
    for command in [
        &["list", "workloads", "--json"][..],
        &["list", "contenders", "--json"],
        &["list", "suites", "--json"],
        &["list", "runs", "--json"],
        &["doctor", "--json"],
        &["verify", "-t", "1", "--json"],
        &["report", "--format", "json"],
        &["show", "echo", "good", "--json"],
        &["compare", "latest", "latest", "--json"],
        &["export", "latest", "-"],
    ] {
        let value = project.palio(command).run().exits(0).json();
        assert!(value.is_array() || value.is_object(), "{command:?}");
    }
}

#[test]
fn a_report_as_json_may_be_asked_for_as_elsewhere() {
    let project = project();
    project.race().run().exits(0);
    let report = |args: &[&str]| project.palio(&[&["report"], args].concat()).run();
    assert_eq!(report(&["--json"]).exits(0).stdout, report(&["--format", "json"]).exits(0).stdout);
    let headlines = report(&["--json", "--headline", "all"]).exits(0).json();
    assert_eq!(headlines["headlines"].as_array().unwrap().len(), 2);
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let project = project();
    let list = || project.palio(&["list", "contenders"]);
    let known = list().run().exits(0).stdout;
    for variable in ["PALIO_ROOT", "PALIO_CONTENDERS", "PALIO_TARGET", "PALIO_DB"] {
        assert_eq!(list().env(variable, "").run().exits(0).stdout, known, "{variable}");
    }
}

#[test]
fn contenders_of_a_suite_are_those_that_race_in_it() {
    let project = project();
    let toml = project.read("contenders/rust/other/contender.toml");
    let toml = toml.replace("[\"echo\", \"tally\", \"raise\", \"fib\"]", "[\"raise\"]");
    project.write("contenders/rust/other/contender.toml", &toml);
    let names = |args: &[&str]| {
        let list = [&["list", "contenders", "--json"], args].concat();
        let json = project.palio(&list).run().exits(0).json();
        let ids = json.as_array().unwrap().iter().map(|known| known["id"].as_str().unwrap());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&[]), "good other");
    assert_eq!(names(&["--suite", "quick"]), "good");
    assert_eq!(names(&["--suite", "quick", "-c", "other"]), "");
    let unknown = project.palio(&["list", "contenders", "--suite", "quik"]).run();
    unknown.fails_with(&["did you mean \"quick\""]);
}

#[test]
fn options_that_would_change_nothing_about_a_list_are_refused() {
    let project = project();
    for (args, said) in [
        (
            &["runs", "--suite", "quick"][..],
            "`palio list runs` takes no --suite, which is for `palio list workloads` and `palio list contenders`",
        ),
        (&["suites", "-c", "good"], "takes no --contender, which is for `palio list contenders`"),
        (&["contenders", "--deviations"], "takes no --deviations"),
        (&["contenders", "--preset", "native"], "takes no --preset"),
    ] {
        project.palio(&[&["list"], args].concat()).run().fails_with(&[said]);
    }
}

#[test]
fn two_formats_at_once_are_refused() {
    let project = project();
    for args in [
        &["report"][..],
        &["scale", "echo"],
        &["sweep", "good", "-k", "dial=1,2"],
        &["replicate", "quick"],
    ] {
        let both = [args, &["--format", "csv", "--json"]].concat();
        let run = project.palio(&both).run();
        run.fails_with(&["cannot be used with", "--json", "--format"]);
    }
    assert!(!project.database().exists());
}

#[test]
fn a_report_may_be_sent_to_standard_output_by_name() {
    let project = project();
    project.race().run().exits(0);
    let report = |args: &[&str]| project.palio(&[&["report"], args].concat()).run().exits(0);
    assert_eq!(report(&["-o", "-"]).stdout, report(&[]).stdout);
    assert!(!project.path("-").exists());
}

#[test]
fn json_is_alone_on_standard_output() {
    let run = project().race().run().exits(0);
    assert_eq!(run.json()["run"]["state"], "finished");
    assert!(run.stderr.contains("block 2/2"), "progress goes to standard error: {}", run.stderr);
}

#[test]
fn quiet_is_quiet() {
    let run = project().race().arg("--quiet").run().exits(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_failure_is_told_while_it_happens() {
    let project = Project::good_and(Fake::new("bad").fault("abort"));
    let run = project.race().run().exits(0);
    run.complains(&["bad is out of echo", "SIGABRT"]);
}

#[test]
fn a_run_prints_a_table_and_where_the_html_is() {
    let project = project();
    let run = project
        .palio(&["run", "-w", "echo", "--blocks", "1", "--budget", "5", "--warm-up", "0"])
        .run()
        .exits(0);
    let path = run.stdout.lines().find_map(|line| line.strip_prefix("HTML report: ")).unwrap();
    assert!(std::path::Path::new(path).is_file());
    assert!(run.stdout.contains("palio report"));
}

#[test]
fn without_a_command_the_quick_suite_is_raced() {
    let project = project();
    project.palio::<&str>(&[]).run().exits(0).prints(&["palio quick"]);
    let report = project.palio(&["report", "--format", "json"]).run().exits(0).json();
    assert_eq!(report["run"]["suite"], "quick");
    assert_eq!(report["races"].as_array().unwrap().len(), 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let project = project();
    project.race().run().exits(0);
    for command in [
        &["list"][..],
        &["list", "runs", "--json"],
        &["doctor"],
        &["report", "--format", "json"],
        &["export", "latest", "-"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["verify", "-t", "1"],
        &["--help"],
    ] {
        let run = project.palio(command).with_closed_stdout().run().exits(0);
        assert_eq!(run.stderr, "", "{command:?}");
    }
}

#[test]
fn a_log_that_nobody_reads_does_not_end_a_run() {
    let report = project().race().with_closed_stderr().run().exits(0).json();
    assert_eq!(entry(&report, "good")["samples"], 10);
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let project = project();
    let run = project.palio(&["list", "--json"]).through_shell("\"$@\" > /dev/full").run();
    run.fails_with(&["cannot write to standard output", "No space left"]);
}

#[test]
fn nothing_is_coloured_where_nobody_looks() {
    let project = project();
    let args = ["run", "-w", "echo", "--blocks", "1", "--budget", "5", "--warm-up", "0"];
    for run in [project.palio(&args).run(), project.palio(&args).env("NO_COLOR", "1").run()] {
        let run = run.exits(0);
        assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{run:?}");
    }
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let project = project();
    for (shell, part) in
        [("bash", "complete -F"), ("zsh", "#compdef palio"), ("fish", "complete -c palio")]
    {
        let script = project.palio(&["completions", shell]).run().exits(0).prints(&[part]).stdout;
        for command in ["run", "report", "export", "completions"] {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
        // Where the shell is installed, it says itself whether it understands.
        let path = project.write("script", &script);
        let check = Command::new(shell).arg("-n").arg(path).stderr(Stdio::piped()).output();
        if let Ok(check) = check {
            assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
        }
    }
    project.palio(&["completions", "cmd.exe"]).run().exits(2);
}

#[test]
fn help_documents_the_exit_statuses() {
    let run = project().palio(&["--help"]).run().exits(0);
    // Wherever its lines end.
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    support::assert_has(
        &text,
        &["Exit status: 0", "baseline check, build)", "130", "palio run --resume"],
    );
    project().palio(&["--version"]).run().exits(0).prints(&["palio "]);
}

#[test]
fn a_cell_can_be_run_by_hand_as_shown() {
    let project = project();
    project.race().run().exits(0);
    let shown = project.palio(&["show", "echo", "good"]).run().exits(0).stdout;
    let line = shown.lines().find_map(|line| line.trim().strip_prefix("by hand:")).unwrap();
    let output = Command::new("sh").args(["-c", line.trim()]).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.ends_with("done 5\n"), "{output}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_without_colour_gets_none() {
    let project = Project::new().with(Fake::new("good"));
    project.race().run().exits(0);
    let colours = |settings: &[(&str, &str)]| {
        let palio = project.palio(&["report"]).env("TERM", "xterm");
        let palio = settings.iter().fold(palio, |palio, (name, value)| palio.env(name, value));
        let run = palio.through_shell("exec script -qec \"$*\" /dev/null").run().exits(0);
        assert!(run.stdout.contains("good"), "{}", run.stdout);
        run.stdout.contains("\u{1b}[")
    };
    assert!(colours(&[]));
    assert!(!colours(&[("TERM", "dumb")]));
    assert!(!colours(&[("NO_COLOR", "1")]));
}
