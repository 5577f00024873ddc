//! What the reference documents print, as data: nothing of it is without counterpart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::{Fake, Finished, Project, assert_has};
use palio::contender::Contender;
use palio::published::{Document, Published, Value};
use palio::workload::{Catalogue, MissNote, Relation};

/// Every system that a document names or announces, and those that belong beside them.
const SYSTEMS: &[&str] = &[
    "async-std",
    "asio",
    "asyncio",
    "boost-fiber",
    "chili",
    "citor",
    "compio",
    "concurrencpp",
    "coros",
    "dotnet",
    "folly",
    "forte",
    "go",
    "java-fjp",
    "java-nio",
    "java-vt",
    "libfork",
    "may",
    "mio",
    "mono",
    "monoio",
    "nio",
    "nio-local",
    "onetbb",
    "openmp",
    "photon",
    "rayon",
    "serial",
    "smarm",
    "smol",
    "taskflow",
    "tmc",
    "tokio-ct",
    "tokio-mt",
    "uvloop",
    "yaay",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn contenders() -> Vec<Contender> {
    let nowhere = root().join("target/contenders");
    Contender::load_all(&root().join("contenders"), &[], &nowhere).unwrap().contenders
}

fn published() -> Published {
    let catalogue = Catalogue::load(&root().join("workloads")).unwrap();
    Published::load(&root().join("published"), &catalogue, &contenders()).unwrap()
}

fn values(document: &Document) -> impl Iterator<Item = &Value> {
    document.tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.values.values())
}

#[test]
fn each_system_that_is_named_has_a_contender() {
    let there: BTreeSet<String> = contenders().into_iter().map(|known| known.id).collect();
    for id in SYSTEMS {
        assert!(there.contains(*id), "there is no contender {id}");
    }
    for document in published().documents {
        for id in document.contenders() {
            assert!(SYSTEMS.contains(&id), "{}: {id} is not in SYSTEMS", document.suite);
        }
        for missing in &document.missing {
            let id = &missing.contender;
            assert!(!there.contains(id), "{}: {id} is there: take it off", document.suite);
            assert!(document.contenders().any(|named| named == id), "nobody names {id}");
        }
    }
}

#[test]
fn a_suite_is_listed_with_every_row_of_its_document() {
    let published = published();
    let suites: Vec<&str> = published.documents.iter().map(|known| &*known.suite).collect();
    assert_eq!(suites, ["go-rust-channels", "nio", "runtime-benchmarks", "smarm", "yaay"]);
    for document in &published.documents {
        let project = Project::new();
        let args = ["list", "workloads", "--suite", &document.suite, "--json"];
        let listed = project.palio(&args).env("PALIO_ROOT", root()).run().exits(0).json();
        let listed: BTreeSet<&str> =
            listed.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
        let rows = document.tables.iter().flat_map(|table| &table.rows);
        let named: BTreeSet<&str> = rows
            .map(|row| &*row.workload)
            .chain(document.unnumbered.iter().map(String::as_str))
            .collect();
        assert_eq!(listed, named, "{}", document.suite);
    }
}

#[test]
fn the_suite_full_has_every_row_of_every_document_and_no_other() {
    let catalogue = Catalogue::load(&root().join("workloads")).unwrap();
    let full = catalogue.suite("full").unwrap();
    let documents = published().documents;
    let named: Vec<&String> = documents
        .iter()
        .flat_map(|document| &catalogue.suite(&document.suite).unwrap().workloads)
        .collect();
    assert_eq!(full.workloads.len(), named.len());
    let all: BTreeSet<&String> = named.into_iter().collect();
    assert_eq!(full.workloads.iter().collect::<BTreeSet<_>>(), all);
}

/// The documents state what follows from their numbers; so it must follow from ours.
#[test]
fn what_the_documents_conclude_follows_from_the_numbers() {
    let published = published();
    let of = |suite: &str| published.of(suite).unwrap();

    let fork_join = of("runtime-benchmarks");
    let rows = &fork_join.tables[0].rows;
    let mean_to_best = |system: &str| {
        let ratio = |row: &palio::published::Row| {
            let best = row.values.values().map(|value| value.time.ns).fold(f64::MAX, f64::min);
            row.values[system].time.ns / best
        };
        format!("{:.2}x", rows.iter().map(ratio).sum::<f64>() / rows.len() as f64)
    };
    let systems = ["TooManyCooks", "libfork", "tbb", "coros", "concurrencpp", "taskflow"];
    let means = systems.map(mean_to_best);
    assert_eq!(means, ["1.22x", "2.15x", "2.77x", "8.04x", "171.91x", "281.91x"]);

    // Go's benchmarks run for about a second, and criterion's estimates lie within their limits.
    for value in values(of("go-rust-channels")) {
        if let Some(iterations) = value.iterations {
            let all_s = iterations as f64 * value.time.ns / 1e9;
            assert!((0.9..1.5).contains(&all_s), "{value:?}");
        } else {
            let (lo, hi) = (value.lo.as_ref().unwrap().ns, value.hi.as_ref().unwrap().ns);
            assert!(lo < value.time.ns && value.time.ns < hi, "{value:?}");
        }
    }

    // CPU% is user and system time over total time, all of them means of ten runs.
    let busy = values(of("yaay")).filter(|value| value.cpu_percent.is_some());
    let mut count = 0;
    for value in busy {
        let cpu = value.user.as_ref().unwrap().ns + value.system.as_ref().unwrap().ns;
        let percent = 100.0 * cpu / value.time.ns;
        let printed = value.cpu_percent.unwrap();
        assert!((percent / printed - 1.0).abs() < 0.01, "{percent} {value:?}");
        count += 1;
    }
    assert_eq!(count, 20);

    let numbers = |suite: &str| values(of(suite)).filter(|value| !value.unprinted).count();
    let counts = ["nio", "runtime-benchmarks", "go-rust-channels", "yaay", "smarm"].map(numbers);
    assert_eq!(counts, [98, 24, 18, 19, 42]);
}

/// Of smarm's document, the ratios that it names in its notes.
#[test]
fn the_notes_of_smarm_follow_from_its_numbers() {
    let published = published();
    let document = published.of("smarm").unwrap();
    let rows = &document.tables[0].rows;
    for (row, at_least, at_most) in [
        ("chained_spawn", 60.0, 64.0),
        ("yield_many", 2.7, 2.85),
        ("ping_pong_oneshot", 16.0, 17.5),
        ("spawn_storm_busy", 47.0, 48.0),
        ("many_timers", 8.5, 9.0),
        ("uncontended_channel", 1.0 / 1.66, 1.0 / 1.64),
        ("catch_unwind_panics", 1.0 / 1.36, 1.0 / 1.34),
    ] {
        let row = rows.iter().find(|known| known.name == row).unwrap();
        let ratio = row.values["smarm 1t"].time.ns / row.values["tokio ct"].time.ns;
        assert!((at_least..=at_most).contains(&ratio), "{}: {ratio}", row.name);
    }
}

const DOCUMENT: &str = r#"
suite = "quick"
document = "a document"
machine = "a machine"
reference = "Good"
systems = { Good = "good", Other = "other" }
[[table]]
title = "times"
row = [
    { name = "echo", workload = "echo", values = { Good = "1 ms", Other = "2 ms" } },
]
"#;

fn list_with(document: &str) -> Finished {
    let project = Project::good_and(Fake::new("other"));
    project.write("published/quick.toml", document);
    project.palio(&["list"]).run()
}

#[test]
fn a_row_without_counterpart_is_refused_by_name() {
    list_with(DOCUMENT).exits(0);
    for (from, to, words) in [
        (
            "workload = \"echo\"",
            "workload = \"ecco\"",
            &["row \"echo\"", "no workload \"ecco\"", "did you mean \"echo\""][..],
        ),
        (
            "workload = \"echo\"",
            "workload = \"raise\"",
            &["\"raise\" is not in the suite \"quick\""],
        ),
        (
            "\"other\"",
            "\"othre\"",
            &["no contender \"othre\"", "did you mean \"other\"", "[[missing]]"],
        ),
        ("Other = \"2 ms\"", "Others = \"2 ms\"", &["row \"echo\"", "`systems` has no \"Others\""]),
        ("\"2 ms\"", "\"2\"", &["quick.toml", "malformed"]),
        ("reference = \"Good\"", "reference = \"Goood\"", &["the reference \"Goood\""]),
        ("suite = \"quick\"", "suite = \"quik\"", &["no suite \"quik\""]),
    ] {
        assert!(DOCUMENT.contains(from));
        let told = list_with(&DOCUMENT.replace(from, to)).exits(2).stderr;
        assert_has(&told, words);
    }
}

#[test]
fn every_row_of_nio_and_smarm_predicts_who_is_ahead() {
    let catalogue = Catalogue::load(&root().join("workloads")).unwrap();
    for suite in ["nio", "smarm"] {
        for id in &catalogue.suite(suite).unwrap().workloads {
            let predictions = &catalogue.workload(id).unwrap().predictions;
            assert!(!predictions.is_empty(), "{id} predicts nothing");
            for prediction in predictions {
                assert!(!prediction.because.is_empty(), "{id}");
                for side in [&prediction.order.left, &prediction.order.right] {
                    assert!(
                        SYSTEMS.contains(&side.as_str()) || side.starts_with("trefoil"),
                        "{side}"
                    );
                }
            }
        }
    }
}

/// Who stands for a system in a table, and of whom its prediction is, is one choice.
#[test]
fn a_prediction_of_nio_is_of_whom_its_row_compares_and_says_what_the_document_measured() {
    let catalogue = Catalogue::load(&root().join("workloads")).unwrap();
    let published = published();
    let document = published.of("nio").unwrap();
    let mut compared = 0;
    for table in &document.tables {
        for row in &table.rows {
            let systems: BTreeSet<&String> = document.systems_of(table, row).values().collect();
            for prediction in &catalogue.workload(&row.workload).unwrap().predictions {
                let order = &prediction.order;
                let predicted = BTreeSet::from([&order.left, &order.right]);
                if !predicted.iter().all(|id| id.starts_with("nio") || id.starts_with("tokio")) {
                    continue;
                }
                assert_eq!(systems, predicted, "{}", row.workload);
                compared += 1;

                // The document made no predictions, so ours are what it measured.
                let of = |id: &String| {
                    let systems = document.systems_of(table, row);
                    let printed = row.values.iter().find(|(name, _)| systems[*name] == *id);
                    printed.map(|(_, value)| value.time.ns)
                };
                let (Some(left), Some(right)) = (of(&order.left), of(&order.right)) else {
                    continue;
                };
                let is_so = match order.relation {
                    Relation::Faster => left < right,
                    Relation::Close => {
                        (1.0 / prediction.within..=prediction.within).contains(&(left / right))
                    }
                };
                assert!(is_so, "{}: {order}, and {left} ns, {right} ns", row.workload);
            }
        }
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn each_note_of_a_miss_is_about_a_prediction_that_there_is() {
    let catalogue = Catalogue::load(&root().join("workloads")).unwrap();
    let notes = MissNote::load(&root().join("docs/results/predictions-notes.toml")).unwrap();
    assert!(!notes.is_empty());
    for note in notes {
        let predictions = &catalogue.workload(&note.workload).unwrap().predictions;
        let is_there = predictions.iter().any(|prediction| prediction.order == note.order);
        assert!(is_there, "{} does not predict {}", note.workload, note.order);
    }
}

#[test]
fn a_missed_prediction_is_shown_with_its_note() {
    let bundle = root().join("docs/results/full.json.gz");
    let project = Project::new();
    // Read once: it is the largest one.
    let import = ["import", "--other-catalogue", bundle.to_str().unwrap()];
    project.palio(&import).env("PALIO_ROOT", root()).run().exits(0);
    let report = |format: &str| {
        let palio = project.palio(&["report", "latest", "--format", format]);
        palio.env("PALIO_ROOT", root()).set("--only", "nio,tokio-mt").run().exits(0).stdout
    };
    let json: serde_json::Value = serde_json::from_str(&report("json")).unwrap();
    let predictions = json["predictions"].as_array().unwrap().iter();
    let missed = predictions.filter(|prediction| prediction["held"] == false);
    let notes = Vec::from_iter(missed.filter_map(|prediction| prediction["note"].as_str()));
    assert!(!notes.is_empty(), "nothing was missed that has a note");
    // What no format writes in another way.
    let plain = |c: char| c.is_ascii_alphanumeric() || " ,.;".contains(c);
    for format in ["terminal", "markdown", "html"] {
        let text = report(format).split_whitespace().collect::<Vec<_>>().join(" ");
        for note in &notes {
            let parts = note.split(|c| !plain(c));
            assert_has(&text, &[parts.max_by_key(|part| part.len()).unwrap()]);
        }
    }
}

/// The reports are written from the bundles, with the notes of that day.
#[test]
fn every_missed_prediction_of_the_results_says_why() {
    let results = root().join("docs/results");
    let mut seen = 0;
    for entry in std::fs::read_dir(results).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for missed in text.lines().filter(|line| line.starts_with("| **missed**")) {
            let note = "; but ";
            assert!(missed.contains(note), "no note in predictions-notes.toml: {path:?}: {missed}");
            seen += 1;
        }
    }
    assert!(seen > 0, "a row of a missed prediction is found by its beginning");
}

#[test]
fn a_table_of_a_thinned_run_says_so_where_there_is_room() {
    let bundle = root().join("docs/results/yaay.json.gz");
    let project = Project::new();
    for (format, has_room) in [("terminal", true), ("markdown", true), ("csv", false)] {
        let args = ["replicate", "yaay", "--bundle", bundle.to_str().unwrap(), "--format", format];
        let palio = project.palio(&args).env("PALIO_ROOT", root()).arg("--other-catalogue");
        let run = palio.run().exits(0);
        let (text, other) =
            if has_room { (run.stdout, run.stderr) } else { (run.stderr, run.stdout) };
        assert_has(&text, &["This run is thinned: "]);
        assert!(!other.contains("thinned"), "{format}: {other}");
    }
}
