//! `palio replicate`: a document's numbers beside those of a run.

use crate::support::{Fake, Finished, Palio, Project, assert_has};
use serde_json::Value;

/// Of the times: `good` is the document's reference, `twice` takes twice as long there and here,
/// `turned` is slower there and faster here, and of `gone` there are only words.
const DOCUMENT: &str = r#"
suite = "quick"
document = "a document of the tests"
machine = "a machine with 64 cores"
reference = "Good"
systems = { Good = "good", Twice = "twice", Turned = "turned", Gone = "gone" }
unnumbered = []

[[missing]]
contender = "gone"
reason = "nobody can build it any more"

[[table]]
title = "echoes"
per = "unit"
row = [
    { name = "echo/64", workload = "echo", threads = 64, values = { Good = "1 µs", Twice = "2 µs", Turned = "3 µs", Gone = "4 µs" } },
    { name = "echo/128", workload = "echo", threads = 128, values = { Good = "1 µs", Twice = "2 µs" } },
    { name = "tally", workload = "tally", values = { Good = "1 µs", Twice = { time = "2 µs", lo = "1 µs", hi = "3 µs" } } },
    { name = "silent", workload = "tally", values = {} },
]
"#;

fn project() -> Project {
    let claims = |id: &str, ns: u32| Fake::new(id).fault(&format!("claim:{ns}"));
    let project = Project::new()
        .with(claims("good", 4_000_000))
        .with(claims("twice", 8_000_000))
        .with(claims("turned", 2_000_000));
    project.write("published/quick.toml", DOCUMENT);
    project
}

fn short(palio: Palio) -> Palio {
    let settings = [
        ("--blocks", "6"),
        ("--budget", "5"),
        ("--warm-up", "0"),
        ("--seed", "1"),
        ("--reference", "good"),
    ];
    settings.into_iter().fold(palio.arg("--quiet"), |palio, (key, value)| palio.set(key, value))
}

fn raced(project: &Project, format: &str) -> Finished {
    short(project.palio(&["replicate", "quick", "--format", format])).run().exits(0)
}

fn pair<'a>(table: &'a Value, row: usize, system: &str) -> &'a Value {
    let pairs = table["rows"][row]["pairs"].as_array().unwrap();
    pairs.iter().find(|pair| pair["system"] == system).unwrap()
}

#[test]
fn a_new_race_stands_beside_its_document() {
    let project = project();
    let document = raced(&project, "json").json();
    let table = &document["replication"]["tables"][0];
    let point = |pair: &Value| pair["measured_ratio"]["point"].as_f64().unwrap();

    let twice = pair(table, 0, "Twice");
    assert_eq!(twice["direction"], "agrees");
    assert_eq!(twice["published_ratio"], 2.0);
    assert!((point(twice) - 2.0).abs() < 0.01, "{twice}");
    // The document's numbers are those of one unit, of which an iteration has ten.
    assert!((twice["measured_ns"].as_f64().unwrap() - 800_000.0).abs() < 10_000.0, "{twice}");

    let turned = pair(table, 0, "Turned");
    assert_eq!(turned["direction"], "disagrees");
    assert!((point(turned) - 0.5).abs() < 0.01 && turned["published_ratio"] == 3.0, "{turned}");

    let gone = pair(table, 0, "Gone");
    assert_eq!(gone["direction"], "not-measured");
    assert_eq!(gone["measured_ratio"], Value::Null);
    assert_eq!(gone["reason"], "gone: nobody can build it any more");

    assert_eq!(table["rows"][0]["differences"][0], "on 1 thread, where the document has 64");
    // One race cannot stand beside two rows: its direction would count twice.
    let other = pair(table, 1, "Twice");
    assert_eq!(other["direction"], "not-measured");
    assert_eq!(
        other["reason"],
        "the race on 1 thread stands beside echo/64; --threads=128 races it"
    );
    assert_eq!(table["rows"][2]["differences"], serde_json::json!([]));
    assert_eq!(table["rows"][3]["pairs"], serde_json::json!([]));
    assert_eq!(table["rows"][0]["reference"], "Good");
}

/// Where the run lacks the document's number of threads, the race on the most of them is nearest.
#[test]
fn without_its_number_of_threads_a_row_stands_beside_the_race_on_the_most() {
    let project = project();
    let palio = project.palio(&["replicate", "quick", "--threads", "1,2", "--format", "json"]);
    let document = short(palio).run().exits(0).json();
    let rows = &document["replication"]["tables"][0]["rows"];
    assert_eq!(rows[0]["differences"][0], "on 2 threads, where the document has 64");
}

/// Two systems of a document may be one contender here, which is nobody to compare it with.
#[test]
fn nobody_is_compared_with_itself_and_only_the_compared_are_doubted() {
    let claims = |id: &str| Fake::new(id).fault("claim:4000000");
    let liar = Fake::new("liar").fault("claim:2000000").fault("lie:10");
    let project = Project::new().with(claims("good")).with(claims("twice")).with(liar);
    let names = "Good = \"good\", Twice = \"twice\", Turned = \"good\"";
    let text = DOCUMENT.replace("Good = \"good\", Twice = \"twice\", Turned = \"turned\"", names);
    assert!(text.contains(names));
    project.write("published/quick.toml", &text);
    let document = raced(&project, "json").json();
    let row = &document["replication"]["tables"][0]["rows"][0];
    let systems: Vec<&Value> =
        row["pairs"].as_array().unwrap().iter().map(|pair| &pair["system"]).collect();
    assert_eq!(systems, ["Gone", "Twice"]);
    let doubts = row["doubts"].to_string();
    assert!(!doubts.contains("liar"), "{doubts}");
}

#[test]
fn a_stored_run_and_its_bundle_say_the_same_in_every_form() {
    let project = project();
    raced(&project, "terminal");
    let csv = |args: &[&str]| {
        let args = [&["replicate", "quick", "--format", "csv"], args].concat();
        project.palio(&args).run().exits(0).stdout
    };
    let stored = csv(&["latest"]);
    let bundle = project.path("run.json");
    let bundle = bundle.to_str().unwrap();
    project.palio(&["export", "latest", bundle]).run().exits(0);
    assert_eq!(csv(&["--bundle", bundle]), stored);
    let directions: Vec<&str> =
        stored.lines().skip(1).map(|line| line.split(',').nth(19).unwrap()).collect();
    assert_eq!(directions, ["not measured", "disagrees", "agrees", "not measured", "agrees"]);
    // Who has nothing but the lines knows that they are of another size.
    let first = stored.lines().nth(1).unwrap();
    assert!(first.ends_with("\"on 1 thread, where the document has 64\""), "{first}");

    let json = |args: &[&str]| {
        let args = [&["replicate", "quick", "latest"], args].concat();
        project.palio(&args).run().exits(0).json()
    };
    assert_eq!(json(&["--json"])["replication"], json(&["--format", "json"])["replication"]);

    for format in ["terminal", "markdown"] {
        let args = ["replicate", "quick", "latest", "--format", format];
        let text = project.palio(&args).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "a document of the tests, on a machine with 64 cores",
            "Turned / Good",
            "disagrees",
            "on 1 thread, where the document has 64",
            "not measured: gone: nobody can build it any more",
            "no pair in the document",
        ] {
            assert!(text.contains(words), "{format}: {words} is not in {text}");
        }
    }
    let html = project.path("report.html");
    let html = html.to_str().unwrap();
    project.palio(&["replicate", "quick", "latest", "--html", html]).run().exits(0);
    assert_has(&project.read("report.html"), &["Published beside measured", "Turned / Good"]);
}

#[test]
fn what_is_said_of_equivalence_is_what_is_done() {
    // The margin stands in a sentence that cannot compute it.
    let margin = palio::stats::EquivalenceMargin::default().ratio();
    assert!((margin - 1.05).abs() < 1e-12);
    let project = project();
    let text = raced(&project, "terminal").stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(
        &text,
        &["equivalent here (within 5 %) agree where the document has them within 5 %"],
    );
}

#[test]
fn a_doubtful_number_is_marked_beside_that_of_the_document() {
    let project = project().with(Fake::new("twice").fault("lie:10"));
    let report = raced(&project, "json").json();
    let row = &report["replication"]["tables"][0]["rows"][2];
    assert_has(row["doubts"][0].as_str().unwrap(), &["doubtful: twice accounted for"]);
    for [verb, format] in [
        ["replicate", "terminal"],
        ["replicate", "markdown"],
        ["replicate", "csv"],
        ["report", "document"],
    ] {
        let args: &[&str] = if verb == "report" {
            &["report", "latest", "--format", format]
        } else {
            &["replicate", "quick", "latest", "--format", format]
        };
        let text = project.palio(args).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_has(&text, &["doubtful: twice accounted for"]);
    }
}

#[test]
fn too_few_blocks_decide_nothing() {
    let project = project();
    let palio = short(project.palio(&["replicate", "quick", "--format", "json"]));
    let document = palio.set("--blocks", "2").run().exits(0).json();
    let twice = pair(&document["replication"]["tables"][0], 0, "Twice");
    assert_eq!(twice["direction"], "undecided");
}

/// What is measured is compared with the best of the document's row that was raced.
#[test]
fn who_was_not_raced_is_no_reference() {
    let project = project();
    let palio =
        short(project.palio(&["replicate", "quick", "-c", "twice,turned", "--format", "json"]));
    let document = palio.unset("--reference").run().exits(0).json();
    let table = &document["replication"]["tables"][0];
    assert_eq!(table["rows"][0]["reference"], "Twice");
    assert_eq!(pair(table, 0, "Turned")["direction"], "disagrees");
    assert_eq!(pair(table, 0, "Good")["direction"], "not-measured");
}

#[test]
fn what_cannot_be_replicated_is_refused_by_name() {
    let project = project();
    let told =
        |args: &[&str]| project.palio(&[&["replicate"], args].concat()).run().exits(2).stderr;
    assert_has(&told(&["quik", "latest"]), &["no suite \"quik\"", "did you mean \"quick\""]);
    assert_has(&told(&["quick", "--bundle", "nowhere.json"]), &["nowhere.json"]);
    // What is stored was raced as it was: nothing of that can be asked for any more.
    for stored in [&["latest"][..], &["--bundle", "nowhere.json"]] {
        for option in [["-c", "good"], ["--threads", "7"], ["--blocks", "99"], ["--seed", "1"]] {
            let args = [&["quick"], stored, &option].concat();
            assert_has(&told(&args), &["cannot be used with"]);
        }
    }
    let other = Project::good_and(Fake::new("other"));
    let told = other.palio(&["replicate", "quick"]).run().exits(2).stderr;
    assert_has(&told, &["nothing is published of the suite \"quick\"", "none"]);
}

/// A document compares what it has, and not whatever is fastest here.
#[test]
fn a_system_is_measured_in_the_variant_that_the_document_has() {
    let claims = |id: &str, outside: u32, worker: u32| {
        let fake = Fake::new(id).fault(&format!("claim-with:{outside}:root=outside"));
        fake.fault(&format!("claim-with:{worker}:root=worker"))
    };
    let project = Project::new()
        .with(claims("good", 8_000_000, 2_000_000))
        .with(claims("twice", 4_000_000, 4_000_000))
        .with(Fake::new("turned").fault("wrong-with:root=outside"));
    let echo = project.read("workloads/echo.toml");
    let places = "variants = [{ root = \"worker\" }, { root = \"outside\" }]\n[[case]]";
    project.write("workloads/echo.toml", &echo.replacen("[[case]]", places, 1));
    let all =
        "variants = { Good = { root = \"outside\" }, Turned = { root = \"outside\" } }\nunnumbered";
    let document = DOCUMENT.replacen("unnumbered", all, 1);
    project.write("published/quick.toml", &document);

    let report = raced(&project, "json").json();
    let table = &report["replication"]["tables"][0];
    let twice = pair(table, 0, "Twice");
    // Twice says nothing of its own.
    assert_eq!(twice["reference_variant"], "root=outside");
    assert!((twice["measured_ratio"]["point"].as_f64().unwrap() - 0.5).abs() < 0.01, "{twice}");
    assert_eq!(twice["direction"], "disagrees");
    let turned = pair(table, 0, "Turned");
    assert_eq!(turned["direction"], "not-measured");
    let reason = turned["reason"].as_str().unwrap();
    assert!(reason.starts_with("turned wrong answer with root=outside: "), "{reason}");
    // Where a row has no variants there is nothing to choose.
    assert_eq!(pair(table, 2, "Twice")["reference_variant"], Value::Null);

    let text = |args: &[&str]| project.palio(args).run().exits(0).stdout;
    let table = text(&["replicate", "quick", "latest", "--format", "markdown"]);
    assert_has(&table, &[" / Good root=outside "]);
    let sheet = text(&["report", "latest", "--format", "document"]);
    assert_has(&sheet, &["- echo/64, echo/128: Good: with root=outside\n", "| 800.00 µs |"]);

    // Of the row's own.
    let row = "threads = 64, variants = { Good = { root = \"worker\" } },";
    project.write("published/quick.toml", &document.replacen("threads = 64,", row, 1));
    let table = text(&["replicate", "quick", "latest", "--format", "markdown"]);
    assert_has(&table, &[" / Good root=worker "]);

    for (from, to, words) in [
        ("Good = { root", "Goood = { root", "\"Goood\", which is none of `systems`"),
        ("Good = { root = \"outside\"", "Good = { root = \"inside\"", "Good with root=inside"),
    ] {
        project.write("published/quick.toml", &document.replacen(from, to, 1));
        let told = project.palio(&["replicate", "quick", "latest"]).run().exits(2).stderr;
        assert_has(&told, &["quick.toml", words]);
    }
}

/// As where a document has columns for one thread and for all of a machine that has but one.
#[test]
fn two_systems_that_are_one_measurement_count_once() {
    let claims = |id: &str, ns: u32| Fake::new(id).fault(&format!("claim:{ns}"));
    let project = Project::new().with(claims("good", 4_000_000)).with(claims("twice", 8_000_000));
    let document = DOCUMENT.replacen("Turned = \"turned\"", "Turned = \"twice\"", 1).replacen(
        "per = \"unit\"",
        "per = \"unit\"\nall_threads = [\"Turned\"]",
        1,
    );
    project.write("published/quick.toml", &document);
    let report = raced(&project, "json").json();
    let table = &report["replication"]["tables"][0];
    assert_eq!(pair(table, 0, "Twice")["direction"], "agrees");
    let again = pair(table, 0, "Turned");
    assert_eq!(again["direction"], "not-measured");
    assert_eq!(again["reason"], "it is the same measurement as Twice, which counts once");
}

#[test]
fn a_missed_prediction_is_shown_with_its_note_here_as_well() {
    let project = project();
    let echo = project.read("workloads/echo.toml");
    let wrong =
        "predictions = [{ expect = \"twice < good\", because = \"it is hoped\" }]\n[[case]]";
    project.write("workloads/echo.toml", &echo.replacen("[[case]]", wrong, 1));
    let note =
        "[[note]]\nworkload = \"echo\"\nexpect = \"twice < good\"\nnote = \"it was in vain\"\n";
    project.write("docs/results/predictions-notes.toml", note);
    raced(&project, "json");
    let stored = project.palio(&["replicate", "quick", "latest", "--json"]).run().exits(0).json();
    assert_eq!(stored["predictions"][0]["note"], "it was in vain");
}
