//! Bundles that call things what they are not: rows, contenders and commands are held against the
//! catalogue, the files of contenders and the races, whoever reads the bundle.

use crate::support::forging::{Edits, bundle, forge, import, one, raced};
use crate::support::{Fake, Project, assert_has};
use serde_json::{Value, json};

/// What a cell of the first race is asked for, from `--workload` on, changed.
fn asks(run: &Value, place: &'static str, change: impl Fn(&mut Vec<Value>)) -> Edits {
    let words = run.pointer(place).unwrap().as_array().unwrap();
    let at = words.iter().position(|word| word == "--workload").unwrap();
    let mut asked = words[at..].to_vec();
    change(&mut asked);
    vec![(place, [&words[..at], &asked].concat().into())]
}

fn replaced(run: &Value, old: &str, new: &str) -> Edits {
    asks(run, "/races/0/cells/1/command", |words| {
        let word = words.iter_mut().find(|word| **word == old).unwrap();
        *word = new.into();
    })
}

fn added(run: &Value, more: &[&str]) -> Edits {
    asks(run, "/races/0/cells/1/command", |words| {
        words.extend(more.iter().map(|&word| word.into()));
    })
}

/// What differs from the catalogue here, with what is said of it.
fn differences() -> Vec<(Edits, &'static str, &'static str)> {
    vec![
        (
            one("/races/0/unit", "yodel"),
            "races[0].unit: yodel, and echo is what",
            "its workloads were not those of the catalogue there: echo: unit: yodel, and echo there",
        ),
        (
            one("/races/0/origin/held_out", "2026-11-22"),
            "races[0].origin: the tests (own); held out since 2026-11-22, and the tests (own) is",
            "echo: origin: the tests (own); held out since 2026-11-22, and the tests (own) there",
        ),
        (
            one("/races/0/origin", Value::Null),
            "races[0].origin: null, and the tests (own) is",
            "echo: origin: null, and the tests (own) there",
        ),
        (
            one("/races/0/predictions", json!([{"expect": "good < bad", "because": "so"}])),
            "races[0].predictions: good < bad (within 1.25), and none is what",
            "echo: predictions: good < bad (within 1.25), and none there",
        ),
        (
            one("/races/0/untimed", "the start"),
            "races[0].untimed: some time, and null is what the catalogue here says of echo",
            "echo: untimed: some time, and null there",
        ),
        (
            one("/contenders/1/kind", "baseline"),
            "contenders[1].kind: baseline, and async is what its contender.toml here says; --other",
            "its contenders were not what their files there said: good: kind: baseline, and async there",
        ),
        (
            one("/contenders/1/track", "tuned"),
            "contenders[1].track: tuned, and stock is what its contender.toml here says; --other",
            "good: track: tuned, and stock there",
        ),
        (
            one("/races/0/workload", "echo/loud"),
            "",
            "the catalogue there had no such workloads in the run's preset: echo/loud",
        ),
    ]
}

#[test]
fn what_differs_from_the_catalogue_is_refused_or_told_by_every_reader() {
    let (project, run) = raced();
    for (edits, refused, told) in differences() {
        project.write("forged.json", &bundle(&forge(&run, &edits)));
        let report = ["report", "--bundle", "forged.json", "--format", "json"];
        for args in [&["import", "forged.json", "--db", "empty.db"][..], &report] {
            let run = project.palio(args).run();
            if refused.is_empty() {
                run.exits(0);
            } else {
                run.fails_with(&["cannot import forged.json", refused]);
            }
        }
        let warnings = |report: Value| report["run"]["warnings"].to_string().replace("\\\"", "\"");
        let read = project.palio(&report).arg("--other-catalogue").run().exits(0).json();
        assert_has(&warnings(read), &["read although ", told]);
        for format in ["terminal", "markdown", "html"] {
            let args = ["report", "--bundle", "forged.json", "--other-catalogue", "--format"];
            let text = project.palio(&[&args[..], &[format]].concat()).run().exits(0).stdout;
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_has(&text, &["read although"]);
        }
        // What is stored has the mark, and only once: also where it is carried on.
        let at = |args: &[&str]| project.palio(args).run().exits(0);
        at(&["import", "forged.json", "--db", "marked.db", "--other-catalogue"]);
        at(&["export", "latest", "again.json", "--db", "marked.db"]);
        at(&["import", "again.json", "--db", "twice.db", "--other-catalogue"]);
        let stored = at(&["report", "--db", "twice.db", "--format", "json"]).json();
        let all = warnings(stored);
        assert_has(&all, &[told]);
        assert_eq!(all.matches("read although").count(), 1, "{all}");
        for database in ["empty.db", "marked.db", "twice.db"] {
            let _ = std::fs::remove_file(project.path(database));
        }
    }
}

/// The warnings of a run that is read from the bundle of `run`, by both readers; it is stored in
/// `read.db`.
fn warnings(project: &Project, run: &Value) -> String {
    project.write("read.json", &bundle(run));
    let args = ["report", "--bundle", "read.json", "--format", "json"];
    let read = project.palio(&args).run().exits(0).json()["run"]["warnings"].clone();
    let _ = std::fs::remove_file(project.path("read.db"));
    project.palio(&["import", "read.json", "--db", "read.db"]).run().exits(0);
    let stored = ["report", "--db", "read.db", "--format", "json"];
    assert_eq!(project.palio(&stored).run().exits(0).json()["run"]["warnings"], read);
    read.to_string()
}

#[test]
fn a_catalogue_that_is_worded_otherwise_is_told_and_refuses_nothing() {
    let project = Project::good_and(Fake::new("bad"));
    let file = "workloads/echo.toml";
    let adapted = project.read(file).replace(
        "fidelity = \"own\"",
        "fidelity = \"adapted\"\ndeviations = [\"it shouts\"]\nuntimed = \"the first shout\"",
    );
    let predicts = "\n[[case.predictions]]\nexpect = \"good < bad\"\nbecause = \"it is good\"\n";
    project.write(file, &(adapted + predicts));
    project.race().run().exits(0);
    let run = project.stored();
    assert!(!warnings(&project, &run).contains("other words"), "nothing differs yet");
    let plain = project.read(file);
    for (old, new, told) in [
        ("title = \"Echo\"", "title = \"Call\"", "title of echo"),
        ("Answers 42.", "Says 42, and adds nothing.", "definition of echo"),
        ("it shouts", "it shouts aloud", "deviations of echo"),
        ("the first shout", "the very first shout", "untimed of echo"),
        ("it is good", "it is good at this", "reasons of predictions of echo"),
    ] {
        project.write(file, &plain.replace(old, new));
        let said = format!("read where the catalogue had other words for the same rows: {told}");
        assert_has(&warnings(&project, &run), &[&said]);
    }
    // Only lines break elsewhere.
    project.write(file, &plain.replace("\"Answers 42.\"", "\"\"\"\nAnswers\n42.\"\"\""));
    assert!(!warnings(&project, &run).contains("other words"), "the words are the same");
    // What changes the work is none of the wording.
    project.write(file, &plain.replace("n = 10", "n = 11"));
    import(&project, &bundle(&run)).fails_with(&["races[0].params: n=10, and n=11 is what"]);
    project.write(file, &plain.replace("good < bad", "bad < good"));
    import(&project, &bundle(&run)).fails_with(&["races[0].predictions: good < bad (within"]);
}

#[test]
fn a_contender_whose_file_cannot_be_read_is_compared_with_nothing() {
    let (project, run) = raced();
    let file = "contenders/rust/good/contender.toml";
    project.write(file, &format!("{}\nthis is no TOML", project.read(file)));
    project.palio(&["list", "contenders"]).run().fails_with(&["good/contender.toml"]);
    let said = "so that nothing says whether these are what they are called: good\"";
    assert_has(&warnings(&project, &run), &[said]);
    let import = |edits: Edits| import(&project, &bundle(&forge(&run, &edits)));
    let imported = import(one("/contenders/1/kind", "baseline")).exits(0);
    imported.complains(&["good/contender.toml", "the contender good of a run is compared with"]);
    std::fs::remove_file(project.path("empty.db")).unwrap();
    // The others are compared, and its name stays its own.
    import(one("/contenders/0/kind", "baseline")).fails_with(&["contenders[0].kind: baseline"]);
    let said = "contenders[1].base: bad, and good is a contender here";
    import(one("/contenders/1/base", "bad")).fails_with(&[said]);
}

#[test]
fn rows_whose_file_cannot_be_read_are_compared_with_nothing() {
    let (project, run) = raced();
    let [tally, echo] = ["workloads/tally.toml", "workloads/echo.toml"];
    let break_it = |file: &str| {
        project.write(file, &format!("{}\nthis is no TOML", project.read(file)));
    };
    // The other file says nothing of its rows.
    break_it(tally);
    assert!(!warnings(&project, &run).contains("could not be read"));
    let edits = one("/races/0/unit", "yodel");
    let import = |edits: &Edits| import(&project, &bundle(&forge(&run, edits)));
    import(&edits).fails_with(&["races[0].unit: yodel, and echo is what"]);
    break_it(echo);
    assert_has(
        &warnings(&project, &run),
        &["where a part of the catalogue could not be read, and the rest had no such workloads"],
    );
    let said = ["workloads/echo.toml is malformed", "compared with nothing that this file says"];
    import(&edits).exits(0).complains(&said);
    std::fs::remove_file(project.path("empty.db")).unwrap();
    // What is raced here is another matter, and contenders are still compared.
    import(&one("/contenders/0/kind", "baseline")).fails_with(&["contenders[0].kind: baseline"]);
    project.race().run().fails_with(&[said[0]]);
}

#[test]
fn a_variant_that_the_catalogue_has_not_may_be_one_elsewhere() {
    let (project, run) = raced();
    let edits = one("/races/0/cells/1/variant", json!({"reader": "first"}));
    let refused = import(&project, &bundle(&forge(&run, &edits))).fails_with(&[
        "races[0].cells[1].variant: \"reader=first\" is no variant of echo in the catalogue here",
    ]);
    assert!(!refused.stderr.contains("export the run again"), "{}", refused.stderr);
}

#[test]
fn nobody_takes_the_name_of_another_contender() {
    let (project, run) = raced();
    for (edits, said) in [
        (one("/contenders/1/base", "go\u{f6}d"), "contenders[1].base: \"go\u{f6}d\" is no name"),
        (
            one("/contenders/1/base", "bad"),
            "contenders[1].base: bad, and good is a contender here, whose name no other one can",
        ),
    ] {
        import(&project, &bundle(&forge(&run, &edits))).fails_with(&[said]);
    }
}

#[test]
fn a_command_asks_for_what_was_raced() {
    let (project, run) = raced();
    let command = "/races/0/cells/1/command";
    let shadow = "/races/0/cells/2/command/0";
    for (edits, said) in [
        (asks(&run, command, Vec::clear), "it has no `--workload`: it is not what was raced"),
        (
            replaced(&run, "echo", "tally"),
            "`--workload tally`, and the race is one of echo: it is not what was raced",
        ),
        (replaced(&run, "1", "2"), "2 behind `--threads`, and the race has 1"),
        (replaced(&run, "1", "0"), "0 behind `--threads`, and the race has 1"),
        (replaced(&run, "1", "all"), "no number behind `--threads`, and the race has 1"),
        (replaced(&run, "n=10", "n=1"), "settings n=1, and the race has n=10 first"),
        (added(&run, &["--set", "n=1"]), "n is set twice"),
        (added(&run, &["--set", "dial=1"]), "settings dial=1 of its own, and its name says none"),
        (added(&run, &["--fast"]), "\"--fast\" where settings stand as `--set KEY=VALUE`"),
    ] {
        let refused = import(&project, &bundle(&forge(&run, &edits)));
        refused.fails_with(&[&format!("races[0].cells[1].command: {said}")]);
    }
    let refused = import(&project, &bundle(&forge(&run, &one(shadow, "something-else"))));
    refused
        .fails_with(&["cells[2].command: good (shadow) is started by another one than the cell"]);
}

#[test]
fn a_turned_knob_is_tuning_whatever_the_name() {
    let project = Project::good_and(Fake::new("bad"));
    let race = project.race().set("--contender", "good@dial=1,quick=good@dial=2,bad");
    race.run().exits(0);
    let run = project.stored();
    for id in ["good@dial=1", "quick"] {
        let mut forged = run.clone();
        let known = forged["contenders"].as_array_mut().unwrap();
        known.iter_mut().find(|known| known["id"] == id).unwrap()["track"] = "stock".into();
        let refused = import(&project, &bundle(&forged));
        refused.fails_with(&["command: it turns dial=", "which is tuning, and its track is stock"]);
    }
    let mut forged = run.clone();
    let cells = forged["races"][0]["cells"].as_array_mut().unwrap();
    for cell in cells.iter_mut().filter(|cell| cell["contender"] == "good@dial=1") {
        let words = cell["command"].as_array_mut().unwrap();
        *words.last_mut().unwrap() = "dial=3".into();
    }
    let said = "settings dial=3 of its own, and its name says dial=1";
    import(&project, &bundle(&forged)).fails_with(&[said]);
    import(&project, &bundle(&run)).exits(0);
}

/// What a run was asked for leaves no room for pilots, nor for another schedule.
#[test]
fn a_run_of_so_many_samples_has_these_and_no_pilots() {
    let (project, run) = raced();
    let mut asked = one("/header/limits/samples", 3);
    asked.extend(one("/header/command", "palio run --samples 3 --seed 1"));
    let refused = import(&project, &bundle(&forge(&run, &asked)));
    refused.fails_with(&["a run whose limits say how many samples there are has no pilots"]);
    let mut without = forge(&run, &asked);
    for race in without["races"].as_array_mut().unwrap() {
        for cell in race["cells"].as_array_mut().unwrap() {
            let invocations = cell["invocations"].as_array_mut().unwrap();
            invocations.retain(|invocation| !invocation["block"].is_null());
        }
    }
    let refused = import(&project, &bundle(&without));
    refused.fails_with(&["and limits.samples makes it 3 of 1"]);
}

/// A reader pastes it into a shell.
#[test]
fn the_command_of_a_run_repeats_it_and_does_nothing_else() {
    let (project, run) = raced();
    for (edits, said) in [
        (one("/header/blocks", 3), "it says --blocks 2, and the header says 3"),
        (one("/header/seed", 2), "it says --seed 1, and the header says 2"),
        (one("/header/command", "palio run"), "it says no --seed, and the header says 1"),
        (
            one("/header/command", "palio run --cold --seed 1"),
            "with --cold or not: true, and the header says false",
        ),
        (
            one("/header/command", "palio run --samples 3 --seed 1"),
            "it says --samples 3, and the header says none",
        ),
        (one("/header/command", "rm -rf --seed 1"), "\"rm -rf --seed 1\" does not race"),
        (one("/header/command", "palio setup --seed 1"), "\"palio setup --seed 1\" does not race"),
        (
            one("/header/command", "palio run $(rm x) --seed 1"),
            "\"palio run $(rm x) --seed 1\" is no command as Palio writes one",
        ),
        (
            one("/header/command", "palio run --seed 1\nrm x"),
            "\"palio run --seed 1\\nrm x\" is no command as Palio writes one",
        ),
    ] {
        let refused = import(&project, &bundle(&forge(&run, &edits)));
        refused.fails_with(&[&format!("header.command: {said}")]);
    }
}
