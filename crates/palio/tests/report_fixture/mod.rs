//! Reports that look like real ones, made from a seed: the same on every machine and in every run.
//!
//! The statistics here are simple stand-ins (a normal interval over blocks); what the tests need is
//! a document that is consistent in itself, with every outcome, ties, variants and intervals that
//! are open.
#![allow(dead_code, reason = "each test binary uses a part")]

mod contenders;
mod ranking;
mod rng;
mod spec;

use palio::contender::{Kind, Track};
use palio::grid::{Axis, Design, Grid, Point};
use palio::record::{Machine, Outcome};
use palio::report::model::*;
use palio::workload::Model;

use contenders::*;
use ranking::{rank, totals};
use spec::Spec;

/// Two races, three contenders, five blocks.
pub(crate) fn small() -> Report {
    let mut spec = Spec::new("small", 7, 5, 8);
    spec.contenders = vec![GO, TOKIO_MT, SMOL];
    spec.course(
        "rt_multi_threaded/ping_pong",
        "Round trips over two oneshots",
        &[],
        Model::Async,
        "round trip",
        1_000,
        640e3,
        &[4],
    );
    spec.course(
        "fan_in/10000x100",
        "Many senders, one bounded channel",
        &[("buffer", "100"), ("senders", "10000")],
        Model::Async,
        "message",
        10_000,
        6.2e6,
        &[4],
    );
    spec.report()
}

/// The quick suite as it may look on a workstation: every outcome, ties, variants, thread sweeps,
/// intervals that are open, predictions of each kind.
pub(crate) fn typical() -> Report {
    let mut spec = Spec::new("quick", 20_260_301, 15, 12);
    spec.contenders = vec![SERIAL, TOKIO_MT, TOKIO_CT, SMOL, RAYON, GO, ONETBB, OPENMP];
    spec.quick_suite();
    let mut report = spec.report();
    break_some(&mut report);
    finish_typical(&mut report);
    report
}

/// The typical run, interrupted in its sixth race.
pub(crate) fn pending() -> Report {
    let mut report = typical();
    report.run.state = "partial".into();
    report.run.finished_at = None;
    for (i, race) in report.races.iter_mut().enumerate().skip(5) {
        for entry in &mut race.entries {
            let is_settled = matches!(entry.outcome, Outcome::Unsupported | Outcome::NotBuilt);
            let was_raced = i == 5 && entry.contender == "go";
            if !is_settled && !was_raced {
                wipe(
                    entry,
                    Outcome::Pending,
                    "the run was interrupted before this contender's first block",
                );
            }
        }
        race.noise_floor = None;
    }
    for race in report.races.iter_mut().skip(5) {
        rank(race, None, false);
    }
    report.totals = totals(&report);
    report
}

/// Twelve contenders, fifty races, four hundred samples each: the size limit's case.
pub(crate) fn large() -> Report {
    let mut spec = Spec::new("everything", 99, 20, 20);
    spec.contenders = vec![
        SERIAL, TOKIO_MT, TOKIO_CT, SMOL, RAYON, GO, ONETBB, OPENMP, LIBFORK, TASKFLOW, FORTE,
        TUNED,
    ];
    for i in 0..25 {
        let name = format!("family_{}/workload_number_{i}", i / 5);
        let depth = (20 + i).to_string();
        let params = [("depth", depth.as_str()), ("width", "100")];
        spec.course(
            &name,
            "A workload of the catalogue with a title of the usual length",
            &params,
            Model::Async,
            "task",
            10_000,
            1e6 * (1.0 + i as f64),
            &[1, 8],
        );
    }
    let mut report = spec.report();
    for (i, race) in report.races.iter_mut().enumerate().filter(|(i, _)| i % 9 == 4) {
        let at = i % race.entries.len();
        wipe(&mut race.entries[at], Outcome::Crashed, "signal 11 (SIGSEGV)");
        race.entries[at].stderr = Some("thread 'main' panicked at src/main.rs:1:1\n".repeat(60));
        rank(race, race.reference.clone(), true);
    }
    report.totals = totals(&report);
    report
}

/// Names that try to break out of every format.
pub(crate) fn hostile() -> Report {
    let mut report = small();
    let evil = "</script><script>alert(1)</script><!-- \u{1b}[31m\"'&|`*\u{202e}\u{0}";
    let race = &mut report.races[0];
    race.title = evil.into();
    race.params.insert("k<b>".into(), "v|\"'".into());
    let last = race.entries.len() - 1;
    wipe(&mut race.entries[last], Outcome::Crashed, evil);
    race.entries[last].stderr = Some(format!("{evil}\n{evil}"));
    race.entries[0].by_hand = Some(evil.into());
    race.entries[0].variant = Some(evil.into());
    report.run.warnings.push(evil.into());
    report.run.command = evil.into();
    report.contenders[0].homepage = "javascript:alert(1)".into();
    report.contenders[0].notes = Some(evil.into());
    report
}

/// A sweep of one contender, with a point that failed: the small report, whose contenders are its
/// points.
pub(crate) fn swept() -> Report {
    let mut report = small();
    let point = |(contender, dial): (&str, &str)| Point {
        contender: contender.into(),
        settings: [("dial".to_string(), dial.to_string())].into(),
    };
    let last = report.races[0].entries.len() - 1;
    wipe(&mut report.races[0].entries[last], Outcome::Crashed, "signal 11 (SIGSEGV)");
    report.run.design = Some(Design::Sweep(Grid {
        baseline: "tokio-mt".into(),
        knobs: vec![Axis {
            name: "dial".into(),
            default: "0".into(),
            values: vec!["1".into(), "<2>".into()],
        }],
        points: [("go", "1"), ("smol", "<2>")].map(point).into(),
    }));
    report.sweep = Sweep::of(&report);
    report
}

/// The typical report with its numbers of threads side by side.
pub(crate) fn scaled() -> Report {
    let mut report = typical();
    report.run.design = Some(Design::Scale);
    report.scaling = palio::report::scaling::of(&report);
    report
}

/// A run that has only been planned.
pub(crate) fn empty() -> Report {
    let mut report = small();
    report.races.clear();
    report.totals.clear();
    report.predictions.clear();
    report.contenders.clear();
    report.run.state = "partial".into();
    report.run.finished_at = None;
    report.run.machine = Machine { fingerprint: "0".into(), ..Machine::default() };
    report
}

fn break_some(report: &mut Report) {
    for race in &mut report.races {
        let workload = race.workload.clone();
        let threads = race.threads;
        for entry in &mut race.entries {
            match (entry.contender.as_str(), workload.as_str(), threads) {
                ("openmp", "skynet", _) => {
                    wipe(entry, Outcome::Crashed, "died of signal 11 (SIGSEGV) in block 1");
                    entry.stderr = Some(
                        "libgomp: Thread creation failed: Resource temporarily unavailable\n\
                         \u{1b}[31mSegmentation fault\u{1b}[0m at 0x7ffd0f2e3ff8 (stack guard page)\n\
                         #0  skynet(long, long) at skynet.cpp:31\n#1  skynet(long, long) at skynet.cpp:34\n"
                            .into(),
                    );
                }
                ("smol", "rt_multi_threaded/yield_many", _) => {
                    wipe(
                        entry,
                        Outcome::TimedOut,
                        "no sample within 20 s in block 3; its process group was killed",
                    );
                    entry.stderr = Some("worker 3: still polling after 20 s\n".into());
                }
                ("onetbb", "fib", _) => entry.certified = Some(false),
                ("openmp", "fib", _) => {
                    entry.accounted_percent = Some(12.0);
                    entry.doubts =
                        vec!["accounted for 12 % of the time that it took by Palio's clock".into()];
                }
                ("go", "skynet", _) => wipe(
                    entry,
                    Outcome::FalseTime,
                    "it claims more time than passed: its 3 samples took 9000000 ns by its own clock, \
                     and by Palio's clock 4100000 ns passed between `run` and `done`",
                ),
                ("onetbb", "nqueens", _) => {
                    wipe(
                        entry,
                        Outcome::WrongAnswer,
                        "answered 351 in sample 7 of block 2; 352 is right",
                    );
                }
                (
                    "rayon",
                    "rt_multi_threaded/ping_pong"
                    | "rt_multi_threaded/yield_many"
                    | "fan_in/10000x100"
                    | "many_timers",
                    _,
                )
                | (
                    "rayon" | "serial",
                    "rt_multi_threaded/chained_spawn" | "rt_multi_threaded/spawn_many_remote_idle",
                    _,
                ) => {
                    wipe(
                        entry,
                        Outcome::Unsupported,
                        "fork-join only: it has no task that can wait",
                    );
                }
                ("onetbb" | "openmp" | "serial", name, _)
                    if name.contains('/') || name == "many_timers" =>
                {
                    wipe(
                        entry,
                        Outcome::Unsupported,
                        "fork-join only: it has no task that can wait",
                    );
                }
                ("tokio-ct", _, 2..) => {
                    wipe(entry, Outcome::Unsupported, "runs on one thread only");
                }
                ("openmp", "matmul", _) => {
                    wipe(entry, Outcome::NotBuilt, "g++ 12 was not found; palio setup installs it");
                }
                ("serial", _, 2..) => wipe(entry, Outcome::Unsupported, "runs on one thread only"),
                _ => {}
            }
        }
        let reference = ["tokio-mt", "rayon"].into_iter().find(|id| {
            race.entries.iter().any(|entry| entry.contender == *id && entry.outcome == Outcome::Ok)
        });
        // The last race was cut short: three blocks bound nothing.
        let is_bounded = workload != "many_timers";
        rank(race, reference.map(Into::into), is_bounded);
    }
}

fn finish_typical(report: &mut Report) {
    for race in report.races.iter_mut().filter(|race| race.workload.starts_with("fan_in")) {
        for entry in race.entries.iter_mut().filter(|entry| entry.median_ns.is_some()) {
            entry.variant = Some("reader=first".into());
            entry.other_variants.insert("reader=last".into(), entry.median_ns.unwrap() * 1.31);
        }
    }
    report.totals = totals(report);
    report.predictions = vec![
        prediction(
            "fib",
            8,
            "rayon < onetbb",
            "a rayon join keeps its job in the caller's frame, a TBB task is allocated",
            "onetbb ÷ rayon = 2.21 [2.17, 2.25]",
            Some(true),
        ),
        prediction(
            "fib",
            8,
            "rayon < go",
            "a goroutine and a wait group cost more than a job on a deque",
            "go ÷ rayon = 9.80 [9.61, 9.99]",
            Some(true),
        ),
        prediction(
            "matmul",
            8,
            "rayon ~ onetbb",
            "the kernel is the same loop, and there are few forks",
            "onetbb ÷ rayon = 1.02 [1.00, 1.04], within 1.5",
            Some(true),
        ),
        prediction(
            "fan_in/10000x100",
            8,
            "go < tokio-mt",
            "a Go channel hands the value straight to a waiting goroutine",
            "tokio-mt ÷ go = 0.62 [0.59, 0.66]",
            Some(false),
        ),
        prediction(
            "nqueens",
            8,
            "rayon ~ onetbb",
            "checking a placement outweighs forking it",
            "onetbb gave a wrong answer",
            None,
        ),
    ];
    report.run.warnings = vec![
        "Turbo is on: clocks depend on how many cores are busy and on temperature.".into(),
        "The governor is schedutil, not performance: the first milliseconds of a sample may run at a low clock.".into(),
        "Another process (pid 4211, rust-analyzer) used 31 % of a core during blocks 4 to 6.".into(),
    ];
    report.contenders.push(Contender {
        id: "libfork".into(),
        name: "libfork".into(),
        language: "C++".into(),
        kind: Kind::ForkJoin,
        track: Track::Stock,
        homepage: "https://github.com/ConorWilliams/libfork".into(),
        licence: "MPL-2.0".into(),
        runtime: None,
        version: None,
        toolchain: None,
        flags: None,
        absent: Some("not built: g++ 12 was not found; palio setup installs it".into()),
        notes: None,
    });
}

fn prediction(
    workload: &str,
    threads: u32,
    expected: &str,
    because: &str,
    seen: &str,
    held: Option<bool>,
) -> CheckedPrediction {
    let text = |text: &str| text.to_string();
    CheckedPrediction {
        note: None,
        workload: text(workload),
        threads,
        expected: text(expected),
        because: text(because),
        seen: text(seen),
        held,
    }
}

/// Moves the upper third of the samples far above the others: a second group.
pub(crate) fn split(entry: &mut Entry) {
    let mut sorted = entry.sample_ns.clone();
    sorted.sort_by(f64::total_cmp);
    let bound = sorted[sorted.len() * 2 / 3];
    entry.sample_ns.iter_mut().filter(|ns| **ns > bound).for_each(|ns| *ns *= 1.5);
    entry.max_ns = entry.max_ns.map(|ns| ns * 1.5);
}

fn wipe(entry: &mut Entry, outcome: Outcome, detail: &str) {
    entry.outcome = outcome;
    entry.detail = Some(detail.into());
    entry.variant = None;
    entry.other_variants.clear();
    entry.sample_ns.clear();
    entry.sample_block.clear();
    entry.samples = 0;
    (entry.value_ns, entry.median_ns) = (None, None);
    (entry.min_ns, entry.max_ns) = (None, None);
    (entry.user_us, entry.sys_us, entry.cpu_percent, entry.max_rss_kib) = (None, None, None, None);
    (entry.voluntary_switches, entry.involuntary_switches) = (None, None);
    (entry.accounted_percent, entry.accounted_cpu_percent) = (None, None);
    (entry.certified, entry.doubts) = (None, Vec::new());
    (entry.rank, entry.ratio_to_best, entry.ratio_to_reference) = (None, None, None);
}
