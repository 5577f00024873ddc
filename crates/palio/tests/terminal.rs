//! What a person sees on a terminal of 20, 80 and 120 columns: the real `palio` in a real
//! pseudo-terminal.

use std::process::{Command, Stdio};

use crate::support::{Fake, Project};

const WIDTHS: [usize; 3] = [20, 80, 120];

/// Runs `palio` of `project` on a terminal of so many columns; `None` where there is no `script`.
fn on_terminal(project: &Project, columns: usize, args: &[&str]) -> Option<String> {
    let is_there = Command::new("script").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("`script` (util-linux) is not installed: nothing is tested");
        return None;
    }
    let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
    let line = format!(
        "stty cols {columns} rows 40; exec '{}' {}",
        env!("CARGO_BIN_EXE_palio"),
        quoted.join(" ")
    );
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("PALIO_ROOT", project.path(""))
        .env("PALIO_TARGET", project.path("target"))
        .env("PALIO_DB", project.database())
        .env("XDG_RUNTIME_DIR", project.path("runtime"))
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    Some(text)
}

/// The text without escape sequences, as lines that a cursor would have left or drawn over.
fn drawn(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if chars.next() == Some('[') {
                for c in chars.by_ref() {
                    if c.is_ascii_alphabetic() {
                        break;
                    }
                }
            }
            continue;
        }
        plain.push(c);
    }
    plain.split(['\n', '\r']).map(|line| line.trim_end().to_owned()).collect()
}

fn race_args(project: &Project, html: &str) -> Vec<String> {
    let html = project.path(html).to_str().unwrap().to_owned();
    [
        "run",
        "-w",
        "echo",
        "--blocks",
        "5",
        "--budget",
        "5",
        "--warm-up",
        "0",
        "--seed",
        "1",
        "--html",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([html])
    .collect()
}

#[test]
fn progress_stays_on_one_line_and_the_bar_gives_way_first() {
    for columns in WIDTHS {
        let project = Project::good_and(Fake::new("other"));
        let args = race_args(&project, "report.html");
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let Some(text) = on_terminal(&project, columns, &args) else { return };
        let lines = drawn(&text);
        // What was drawn over: `3/15 · 0 s · good · echo n=10, 1 thread · block 2/5`.
        let progress: Vec<&String> = lines
            .iter()
            // Not behind a line that stays.
            .filter(|line| line.contains("/15 · ") && !line.starts_with("1/1"))
            .filter(|line| !line.contains("preliminary"))
            .collect();
        assert!(!progress.is_empty(), "{columns}: {text}");
        assert!(progress.iter().all(|line| line.chars().count() <= columns), "{progress:?}");
        let has_bar = |line: &&&String| line.contains(['█', '░']);
        match columns {
            20 => {
                assert!(progress.iter().all(|line| !has_bar(&line)), "{progress:?}");
                assert!(progress.iter().any(|line| line.contains("good")), "{progress:?}");
            }
            _ => {
                assert!(progress.iter().all(|line| has_bar(&line)), "{progress:?}");
                let whole = "· good · echo n=10, 1 thread · block";
                assert!(progress.iter().any(|line| line.contains(whole)), "{progress:?}");
            }
        }
        let ended = lines.iter().filter(|line| line.starts_with("1/1 · echo")).count();
        assert!(ended > 0, "the end of the race stays: {text}");
    }
}

#[test]
fn texts_fit_their_terminal() {
    let project = Project::good_and(Fake::new("other").toml(
        "[[requires]]\nname = \"frobnicator\"\nprobe = [\"true\"]\ninstall = \"https://frob.example\"\n",
    ));
    let project = project.with(Fake::new("absent").toml(
        "[[requires]]\nname = \"frobnicator\"\nprobe = [\"no-such-probe\"]\ndebian = [\"libfrob-dev\"]\n\
         install = \"https://frob.example\"\n",
    ));
    project.write("published/quick.toml", DOCUMENT);
    // A title, knobs and failures of some length.
    let project = project
        .with(Fake::new("wrong-at-times").fault("wrong-with:dial=11"))
        .with(Fake::new("moody").fault("claim:62000000").from(6));
    for args in [
        &["run", "-w", "echo,tally", "-c", "good,other,moody,absent"][..],
        &["sweep", "wrong-at-times", "--knob", "dial=11,12", "-w", "echo,tally"],
        &["scale", "echo", "tally", "-c", "good,other", "-t", "1,2"],
    ] {
        let quick = ["--blocks", "5", "--budget", "5", "--warm-up", "0", "--seed", "1"];
        for columns in [20, 40, 80, 120] {
            // Its text is looked at on each terminal, and raced on the narrowest alone.
            if columns == 20 {
                let all: Vec<&str> = args.iter().chain(&quick).copied().collect();
                let Some(text) = on_terminal(&project, columns, &all) else { return };
                fits(&text, columns, args);
            }
            let Some(text) = on_terminal(&project, columns, &["report", "latest"]) else { return };
            fits(&text, columns, args);
        }
        project.palio(&["baseline", "save", args[0]]).run().exits(0);
    }
    let baselines = project.palio(&["baseline", "list", "--json"]).run().exits(0).json();
    let mut baselines = baselines.as_array().unwrap().iter();
    let whole = baselines.find(|known| known["name"] == "run").unwrap()["run"].as_str().unwrap();
    for columns in [20, 40, 80, 120] {
        for args in [
            &["list", "runs"][..],
            &["list", "workloads", "--deviations"],
            &["list", "contenders"],
            &["list", "suites"],
            &["doctor"],
            &["show", "echo", "good", "--run", whole],
            &["show", "echo", "moody", "--run", whole],
            &["compare", "latest", "latest", "--anchor", "good"],
            &["report", "latest", "--table", "scaling"],
            &["replicate", "quick", "latest"],
            &["baseline", "list"],
            &["baseline", "save", "scale", "--replace"],
            &["baseline", "remove", "scale"],
        ] {
            let Some(text) = on_terminal(&project, columns, args) else { return };
            fits(&text, columns, args);
        }
    }
}

const DOCUMENT: &str = r#"
suite = "quick"
document = "a document of the tests"
machine = "a machine with 64 cores"
reference = "Good"
systems = { Good = "good", Another = "other" }
unnumbered = []

[[table]]
title = "echoes of some length"
per = "unit"
row = [{ name = "echo/64", workload = "echo", values = { Good = "1 µs", Another = "2 µs" } }]
"#;

/// What is to be copied is whole, however long it is.
const COPIED: [&str; 5] =
    ["by hand:", "under perf:", "palio report ", "HTML report: ", "Again, in"];

fn fits(text: &str, columns: usize, args: &[&str]) {
    for line in drawn(text) {
        // Nor can a word be broken that is longer than the line.
        let is_whole = COPIED.iter().any(|head| line.starts_with(head));
        let is_word = !line.trim().contains(' ');
        assert!(
            line.chars().count() <= columns || is_whole || is_word,
            "{args:?} at {columns}: {line:?}"
        );
    }
}

#[test]
fn a_list_that_nobody_looks_at_has_a_line_for_each_element() {
    let project = Project::good_and(Fake::new("other"));
    let title = "all of it ".repeat(40);
    let suites = project.read("workloads/suites.toml").replace("All of it", title.trim());
    project.write("workloads/suites.toml", &suites);
    let list = || project.palio(&["list", "suites"]);
    assert_eq!(list().run().exits(0).stdout.lines().count(), 1);
    let narrow = list().env("COLUMNS", "80").run().exits(0).stdout;
    assert!(narrow.starts_with("quick\n    2 workload(s) · preset=quick · all of it"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn a_contender_that_is_not_built_is_named_once() {
    let project = Project::good_and(Fake::new("other")).with(Fake::new("absent").toml(
        "[[requires]]\nname = \"frobnicator\"\nprobe = [\"no-such-probe\"]\n\
         install = \"https://frob.example\"\n",
    ));
    let args = ["run", "--blocks", "1", "--budget", "5", "--warm-up", "0", "--quiet"];
    let text = project.palio(&args).run().exits(0).prints(&["tally", "absent  absent: "]).stdout;
    assert_eq!(text.matches("frobnicator is missing").count(), 1, "{text}");
}

#[test]
fn a_run_is_listed_by_what_was_raced_by_whom_and_whether_it_is_whole() {
    let project = Project::good_and(Fake::new("other"));
    project.race().run().exits(0);
    let run = project.palio(&["list", "runs"]).env("COLUMNS", "120").run().exits(0);
    run.prints(&["finished  echo (quick): 1 race of 2 blocks  good, other"]);
}

#[test]
fn a_block_that_stands_out_is_named_and_samples_are_shown_on_request() {
    // The first process is the pilot's, and the sixth that of the last block.
    let project = Project::good_and(Fake::new("moody").fault("claim:62000000").from(6));
    project.race().set("--blocks", "5").run().exits(0);
    let moody = project.palio(&["show", "echo", "moody"]).run().exits(0).stdout;
    assert_eq!(moody.matches("stands out: × 31.0 above the others").count(), 1, "{moody}");
    assert_eq!(moody.matches("stands out").count(), 1, "{moody}");
    let cell = ["show", "echo", "good"];
    let text = project.palio(&cell).run().exits(0).prints(&["median 2.00 ms", "5 blocks"]).stdout;
    assert!(!text.contains("ns per iteration") && !text.contains("stands out"), "{text}");
    let all = project.palio(&cell).arg("--samples").run().exits(0);
    all.prints(&["ns per iteration (~ warm-up): ~2000000 ", "by Palio's clock: "]);
}

#[test]
fn a_large_difference_says_how_many_blocks_a_verdict_takes() {
    let project =
        Project::new().with(Fake::new("good")).with(Fake::new("slow").fault("claim:62000000"));
    let args = ["run", "-w", "echo", "--blocks", "2", "--budget", "5", "--warm-up", "0"];
    let run = project.palio(&args).set("--reference", "good").arg("--quiet").run().exits(0);
    run.prints(&["against good", "inconclusive: 2 blocks, and a verdict takes 5 at least"]);
    let compared = ["compare", "latest", "latest", "--anchor", "good"];
    let text = project.palio(&compared).run().exits(0).stdout;
    assert!(text.contains("62.0 ms  62.0 ms"), "both medians: {text}");
    assert!(text.trim_end().ends_with("0 slower, 0 faster, 1 inconclusive"), "{text}");
}
