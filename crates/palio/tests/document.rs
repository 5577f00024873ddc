//! A run in the tables of its reference document: one that measured what the document has prints
//! the document's tables.
//!
//! After a change that is meant: `PALIO_BLESS=1 cargo test -p palio --test program document::`,
//! then read the difference in git before committing it.

use crate::report_fixture;
use std::path::{Path, PathBuf};

use crate::support::{Fake, Project, assert_has};
use palio::budget::CpuBudget;
use palio::contender::Contender;
use palio::published::{Document, Per, Published, Row, Table, Value};
use palio::record::Outcome;
use palio::report::model::{Entry, Interval, NoiseFloor, Race, Selection, Thinned};
use palio::report::{Report, document, replication};
use palio::workload::Catalogue;

/// Of the second number of threads, where a document has one processor and we do not.
const ALL_THREADS: u32 = 2;
const UNITS: u64 = 1000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn published() -> Published {
    let catalogue = Catalogue::load(&root().join("workloads")).unwrap();
    let nowhere = root().join("target/contenders");
    let known = Contender::load_all(&root().join("contenders"), &[], &nowhere).unwrap().contenders;
    Published::load(&root().join("published"), &catalogue, &known).unwrap()
}

/// The race of a row, made if need be.
fn race<'a>(report: &'a mut Report, row: &Row, threads: u32, capped: bool) -> &'a mut Race {
    let is_it = |race: &Race| {
        race.workload == row.workload
            && race.threads == threads
            && race.cpu_budget.is_some() == capped
    };
    if let Some(found) = report.races.iter().position(is_it) {
        return &mut report.races[found];
    }
    let mut race = report_fixture::small().races.remove(0);
    race.entries.clear();
    race.workload.clone_from(&row.workload);
    race.params = row.set.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    (race.threads, race.ops) = (threads, UNITS);
    let shadow = Interval { point: 1.0, lo: Some(0.99), hi: Some(1.01) };
    race.noise_floor = Some(NoiseFloor { ratio: Some(1.01), shadow });
    race.cpu_budget =
        capped.then(|| serde_json::from_str(r#"{"cpus":4,"period_us":100000}"#).unwrap());
    report.races.push(race);
    report.races.last_mut().unwrap()
}

/// Five blocks that are as far apart as the document says, around its number.
fn entry(contender: &str, value: &Value, per: Per) -> Entry {
    let units = if per == Per::Unit { UNITS as f64 } else { 1.0 };
    let ns = value.time.ns * units;
    let reach = value.spread.unwrap_or(0.0) * units / 2.0;
    let mut entry = report_fixture::small().races.remove(0).entries.remove(0);
    entry.contender = contender.to_owned();
    (entry.outcome, entry.noise_floor) = (Outcome::Ok, None);
    (entry.value_ns, entry.min_ns, entry.max_ns) = (Some(ns), Some(ns - reach), Some(ns + reach));
    entry.sample_ns = vec![ns * 0.98, ns * 0.99, ns, ns * 1.01, ns * 1.02];
    entry.sample_block = (0..5).collect();
    (entry.samples, entry.batch) = (value.iterations.unwrap_or(5) as u32, 1);
    entry.user_us = value.user.as_ref().map(|time| time.ns / 1e3);
    entry.sys_us = value.system.as_ref().map(|time| time.ns / 1e3);
    entry.cpu_percent = value.cpu_percent;
    entry
}

fn add(report: &mut Report, document: &Document, table: &Table, row: &Row) {
    for (system, value) in &row.values {
        let contender = &document.systems_of(table, row)[system];
        let of_all = table.all_threads.contains(system);
        let threads = if of_all { ALL_THREADS } else { row.threads.unwrap() };
        let race = race(report, row, threads, row.cpu_budget);
        race.entries.retain(|known| known.contender != *contender);
        race.entries.push(entry(contender, value, table.per));
    }
}

/// A run that measured every number of the document.
fn measured(document: &Document) -> Report {
    let mut report = report_fixture::small();
    report.races.clear();
    report.run.suite.clone_from(&document.suite);
    for id in document.systems.values() {
        let mut known = report_fixture::small().contenders.remove(0);
        known.homepage = format!("https://example.org/{id}");
        known.id.clone_from(id);
        report.contenders.push(known);
    }
    for table in &document.tables {
        for row in &table.rows {
            add(&mut report, document, table, row);
        }
    }
    report
}

#[track_caller]
fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("PALIO_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "tests/golden/{name}; bless it with PALIO_BLESS=1 if it is meant");
}

#[test]
fn every_document_is_printed_as_it_is() {
    let published = published();
    for of in &published.documents {
        let text = document::render(&measured(of), &published).unwrap();
        golden(&format!("document-{}.md", of.suite), &text);
    }
}

/// A race with a CPU budget and one without are not the same, whichever the run has first.
#[test]
fn a_row_stands_beside_a_race_of_its_own_track() {
    let published = published();
    for of in &published.documents {
        let mut report = measured(of);
        let alone = replication::of(&report, of);
        let flip = |race: &Race| {
            let mut other = race.clone();
            let budget = CpuBudget::of_threads(race.threads);
            other.cpu_budget = race.cpu_budget.is_none().then_some(budget);
            other.entries.iter_mut().flat_map(|e| &mut e.sample_ns).for_each(|ns| *ns *= 3.0);
            // Only one contender, so that each ratio would change.
            other.entries.truncate(1);
            other
        };
        let others: Vec<Race> = report.races.iter().map(flip).collect();
        let is_new = |other: &Race| {
            let same = |race: &&Race| {
                (&race.workload, race.threads) == (&other.workload, other.threads)
                    && race.cpu_budget.is_some() == other.cpu_budget.is_some()
            };
            !report.races.iter().any(|race| same(&race))
        };
        let others: Vec<Race> = others.into_iter().filter(is_new).collect();
        assert!(!others.is_empty(), "{}", of.suite);
        report.races.splice(..0, others);
        assert_eq!(replication::of(&report, of), alone, "{}", of.suite);
    }
}

/// Read off the documents, and not off our own output.
#[test]
fn the_lines_are_those_of_the_documents() {
    let published = published();
    let text = |suite: &str| {
        document::render(&measured(published.of(suite).unwrap()), &published).unwrap()
    };
    assert_has(
        &text("nio"),
        &[
            "## rt_current_thread\n\n| Test Name              |    Nio    |   Tokio   |\n",
            "| ---------------------- | :-------: | :-------: |\n",
            "## sync_mpsc_oneshot\n",
            "| 129.42 µs | 31.277 ms |",
            "| single_thread_timeout  | 62.405 ns | 45.661 ns |",
        ],
    );
    assert_has(
        &text("runtime-benchmarks"),
        &[
            "| Runtime | [TooManyCooks](https://example.org/tmc) | [libfork](https://example.org/libfork) |",
            "| Mean Ratio to Best<br>(lower is better) | 1.22x | 2.15x | 2.77x | 8.04x | 171.91x | 281.91x |",
            "| skynet | 49619 us | 38518 us | 140487 us | 639277 us | 11889739 us | 20008863 us |",
            "| fib(40) | 156765 us | 107774 us | 433678 us | 433178 us | 30012566 us | 55921776 us |",
            "| matmul(2048) | 45018 us | 252345 us | 66608 us | 53247 us | 69233 us | 96501 us |",
        ],
    );
    assert_has(
        &text("go-rust-channels"),
        &[
            "Go:\n```\nBenchmarkGo10threads_1bufsize-16                  131868               8.902 ns/op\n",
            "BenchmarkGo10000threads_10000bufsize-16              276           4.353.314 ns/op\n```",
            "Rust (`tokio`):\n```\ntokio test 10 threads 1 buf size                 time:   [",
            " 19.559 us ",
            "async-std test 10                                time:   [",
            " 14.402 ms ",
        ],
    );
    assert_has(
        &text("yaay"),
        &[
            "test defer_bench ... bench:         263 ns/iter (+/- 76)\n",
            "test spawn_bench ... bench:         330 ns/iter (+/- 84)\n",
            "test threaded_scheduler_local_spawn  ... bench:         450 ns/iter (+/- 58)\n",
            "                                    User Time    Sys Time  Total Time        CPU%\n",
            "                                   ==========  ==========  ==========  ==========\n",
            "tokio-rs 4 threads                     58.534     198.250      64.383       398.0\n\
             yaay-rs 4 threads                      34.641     236.203      59.949       451.2\n\
             yaay-rs 4 threads (cgroup limit)       39.302     240.712      70.213       398.0\n\n",
            "yaay-rs 20 threads (cgroup limit)      52.471     273.882      16.459      1982.1\n",
        ],
    );
    let smarm = text("smarm");
    let cells: Vec<Vec<&str>> =
        smarm.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    for line in [
        ["Bench", "smarm 1t", "smarm Nt", "tokio ct", "tokio mt"],
        ["chained_spawn", "7136", "6979", "113", "176"],
        ["yield_in_hot_loop", "182177", "—", "138335", "—"],
        ["catch_unwind_panics", "112306", "114305", "151443", "161344"],
    ] {
        assert!(cells.iter().any(|cells| cells.len() > 5 && cells[1..6] == line), "{line:?}");
    }
    for (bench, note) in [
        ("chained_spawn", "smarm ~63.2x slower"),
        ("uncontended_channel", "smarm wins; ~1.65x"),
        ("catch_unwind_panics", "smarm wins; ~1.35x"),
    ] {
        assert!(cells.iter().any(|line| line.len() > 6 && line[1] == bench && line[6] == note));
    }
    let sweep = ["1", "19852", "19638"];
    assert!(cells.iter().any(|cells| cells.len() > 3 && cells[1..4] == sweep), "{smarm}");
}

#[test]
fn what_is_not_as_in_the_document_is_told() {
    let published = published();
    let of = published.of("runtime-benchmarks").unwrap();
    let mut report = measured(of);
    let fib = report.races.iter_mut().find(|race| race.workload == "fib").unwrap();
    fib.threads = 2;
    fib.params.insert("n".into(), "27".into());
    let origin =
        r#"{"source":"runtime-benchmarks","fidelity":"same","deviations":["a half is kept"]}"#;
    fib.origin = Some(serde_json::from_str(origin).unwrap());
    let gone = fib.entries.iter_mut().find(|entry| entry.contender == "coros").unwrap();
    (gone.outcome, gone.value_ns) = (Outcome::Crashed, None);
    gone.detail = Some("signal 11".into());
    report.races.retain(|race| race.workload != "matmul");
    let text = document::render(&report, &published).unwrap();
    assert_has(
        &text,
        &[
            // No mean of some rows: a system that fails would have the best ones.
            "| Mean Ratio to Best<br>(lower is better) | — | — | — | — | — | — |",
            "| fib(27) | 156765 us | 107774 us | 433678 us | — | 30012566 us | 55921776 us |",
            "| matmul(2048) | — | — | — | — | — | — |",
            "- fib(40): on 2 threads, where the document has 64",
            "- fib(40): with n=27, where the document has n=40",
            "- fib(40): a half is kept\n",
            "- fib(40): not measured: coros",
            "signal 11",
            "- matmul(2048): not measured: the run has no race of it",
        ],
    );
}

#[test]
fn a_part_of_a_run_a_thinned_and_an_unfinished_one_say_so_below_the_tables() {
    let published = published();
    let of = published.of("yaay").unwrap();
    let mut report = measured(of);
    report.races.retain(|race| !race.workload.starts_with("spawn_one"));
    let plain = document::render(&report, &published).unwrap();
    let run = &mut report.run;
    run.thinned = Some(Thinned { samples_per_process: 10, measured: 2_000, kept: 500 });
    run.selection = Some(Selection {
        contenders: vec!["tokio-mt".into()],
        contenders_left_out: vec!["yaay".into()],
        intersection: false,
        races_left_out: Vec::new(),
    });
    run.interruptions = Some("resumed once".into());
    run.state = "running".into();
    let text = document::render(&report, &published).unwrap();
    let said = [
        "This run is thinned: 2,000 samples measured, of which 500 are here",
        "This report shows a part of its run: 1 of 2 contenders, without yaay.",
        "was resumed once.",
        "is running.",
    ];
    assert_has(&text, &said);
    assert!(said.iter().all(|said| !plain.contains(said)), "{plain}");
    // Names of rows that have commas do not run into each other.
    assert_has(&text, &["- spawn, local; spawn, remote: not measured: the run has no race of it"]);
}

const DOCUMENT: &str = r#"
suite = "quick"
document = "a document of the tests"
machine = "a machine"
reference = "Good"
systems = { Good = "good", Slow = "slow" }
[[table]]
title = "echoes"
order = ["Slow", "Good"]
row = [
    { name = "echo/64", workload = "echo", threads = 64, values = { Good = "1 µs", Slow = "2 µs" } },
]
"#;

#[test]
fn the_command_prints_what_was_raced() {
    let claims = |id: &str, ns: u32| Fake::new(id).fault(&format!("claim:{ns}"));
    let project = Project::new().with(claims("good", 4_000_000)).with(claims("slow", 8_000_000));
    project.write("published/quick.toml", DOCUMENT);
    let args = ["run", "quick", "--quiet", "--blocks", "2", "--budget", "5", "--warm-up", "0"];
    project.palio(&args).run().exits(0);
    let text = project.palio(&["report", "--format", "document"]).run().exits(0).stdout;
    assert_has(
        &text,
        &[
            "## echoes\n\n| Test Name |   Slow    |   Good    |\n",
            "| echo/64   | 8.0000 ms | 4.0000 ms |\n",
            "In the shape of a document of the tests.",
            "- echo/64: on 1 thread, where the document has 64\n",
        ],
    );
    let wrong = DOCUMENT.replace("\"Slow\", \"Good\"", "\"Slow\", \"Goood\"");
    project.write("published/quick.toml", &wrong);
    let told = project.palio(&["report", "--format", "document"]).run().exits(2).stderr;
    assert_has(&told, &["\"echoes\"", "\"Goood\"", "none of its `systems`"]);
    std::fs::remove_file(project.path("published/quick.toml")).unwrap();
    let told = project.palio(&["report", "--format", "document"]).run().exits(2).stderr;
    assert_has(&told, &["no row of a reference document"]);
}
