//! Reports that look like real ones, made from a seed: the same on every machine and in every run.
//!
//! The statistics here are simple stand-ins (a normal interval over blocks); what the tests need is
//! a document that is consistent in itself, with every outcome, ties, variants and intervals that
//! are open.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::collections::BTreeMap;

use palio::contender::{Kind, Track};
use palio::record::{Machine, Outcome};
use palio::report::model::*;
use palio::workload::{Model, Preset, Scope};

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
        workload: text(workload),
        threads,
        expected: text(expected),
        because: text(because),
        seen: text(seen),
        held,
    }
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
    (entry.rank, entry.ratio_to_best, entry.ratio_to_reference) = (None, None, None);
}

#[derive(Clone, Copy)]
struct Runner {
    id: &'static str,
    name: &'static str,
    language: &'static str,
    kind: Kind,
    track: Track,
    version: &'static str,
    toolchain: &'static str,
    /// Time of an iteration relative to the course's base: fork-join rows, async rows.
    pace: [f64; 2],
    /// How many of the threads it keeps busy, from 0 to 1.
    greed: f64,
}

const RUSTC: &str = "rustc 1.95.0";
const SERIAL: Runner =
    runner("serial", "No runtime", "Rust", Kind::Baseline, "1.0.0", RUSTC, [0.9, 0.5], 1.0);
const TOKIO_MT: Runner = runner(
    "tokio-mt",
    "Tokio, multi-thread",
    "Rust",
    Kind::Async,
    "1.54.1",
    RUSTC,
    [11.0, 1.0],
    0.93,
);
const TOKIO_CT: Runner = runner(
    "tokio-ct",
    "Tokio, current-thread",
    "Rust",
    Kind::Async,
    "1.54.1",
    RUSTC,
    [6.1, 0.62],
    1.0,
);
const SMOL: Runner = runner("smol", "smol", "Rust", Kind::Async, "2.0.2", RUSTC, [14.0, 1.35], 0.8);
const RAYON: Runner =
    runner("rayon", "Rayon", "Rust", Kind::ForkJoin, "1.12.0", RUSTC, [1.0, 1.0], 0.98);
const GO: Runner =
    runner("go", "Go", "Go", Kind::GreenThreads, "go1.26.1", "go1.26.1", [9.8, 1.61], 0.7);
const ONETBB: Runner =
    runner("onetbb", "oneTBB", "C++", Kind::ForkJoin, "2021.8.0", "g++ 12.2.0", [2.2, 1.0], 0.99);
const OPENMP: Runner = runner(
    "openmp",
    "OpenMP tasks",
    "C++",
    Kind::ForkJoin,
    "libgomp 12.2.0",
    "g++ 12.2.0",
    [42.0, 1.0],
    1.0,
);
const LIBFORK: Runner =
    runner("libfork", "libfork", "C++", Kind::ForkJoin, "3.8.0", "g++ 12.2.0", [0.7, 1.2], 1.0);
const TASKFLOW: Runner = runner(
    "taskflow",
    "Taskflow",
    "C++",
    Kind::ForkJoin,
    "3.11.0",
    "g++ 12.2.0",
    [120.0, 31.0],
    0.9,
);
const FORTE: Runner =
    runner("forte", "Forte", "Rust", Kind::ForkJoin, "1.0.0-beta.3", RUSTC, [1.02, 1.3], 0.97);
const TUNED: Runner = Runner {
    track: Track::Tuned,
    ..runner(
        "tokio-mt-pinned",
        "Tokio, pinned",
        "Rust",
        Kind::Async,
        "1.54.1",
        RUSTC,
        [10.2, 0.92],
        1.0,
    )
};

#[expect(clippy::too_many_arguments, reason = "a table of literals reads best in one line each")]
const fn runner(
    id: &'static str,
    name: &'static str,
    language: &'static str,
    kind: Kind,
    version: &'static str,
    toolchain: &'static str,
    pace: [f64; 2],
    greed: f64,
) -> Runner {
    Runner { id, name, language, kind, track: Track::Stock, version, toolchain, pace, greed }
}

struct Course {
    workload: String,
    title: String,
    params: Vec<(String, String)>,
    model: Model,
    unit: String,
    ops: u64,
    base_ns: f64,
    threads: Vec<u32>,
}

struct Spec {
    suite: String,
    seed: u64,
    blocks: u32,
    samples: u32,
    contenders: Vec<Runner>,
    courses: Vec<Course>,
}

impl Spec {
    fn new(suite: &str, seed: u64, blocks: u32, samples: u32) -> Self {
        Self { suite: suite.into(), seed, blocks, samples, contenders: vec![], courses: vec![] }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a table of literals reads best in one line each"
    )]
    fn course(
        &mut self,
        workload: &str,
        title: &str,
        params: &[(&str, &str)],
        model: Model,
        unit: &str,
        ops: u64,
        base_ns: f64,
        threads: &[u32],
    ) {
        let params = params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let text = |text: &str| text.to_string();
        self.courses.push(Course {
            workload: text(workload),
            title: text(title),
            params,
            model,
            unit: text(unit),
            ops,
            base_ns,
            threads: threads.into(),
        });
    }

    fn quick_suite(&mut self) {
        self.course(
            "fib",
            "Recursive Fibonacci, forked without cut-off",
            &[("n", "27")],
            Model::ForkJoin,
            "fork",
            317_810,
            5.1e6,
            &[1, 2, 4, 8],
        );
        self.course(
            "skynet",
            "Skynet: a ten-way tree of tasks",
            &[("leaves", "100000")],
            Model::ForkJoin,
            "task",
            111_111,
            2.9e6,
            &[1, 2, 4, 8],
        );
        self.course(
            "nqueens",
            "All placements of n queens",
            &[("n", "9")],
            Model::ForkJoin,
            "placement",
            8_393,
            0.7e6,
            &[8],
        );
        self.course(
            "matmul",
            "Recursive matrix multiplication",
            &[("n", "256")],
            Model::ForkJoin,
            "block",
            512,
            4.4e6,
            &[8],
        );
        self.course(
            "rt_multi_threaded/spawn_many_remote_idle",
            "Ten thousand tasks spawned from outside",
            &[("tasks", "10000")],
            Model::Async,
            "task",
            10_000,
            2.4e6,
            &[8],
        );
        self.course(
            "rt_multi_threaded/ping_pong",
            "Round trips over two oneshots",
            &[("rounds", "1000")],
            Model::Async,
            "round trip",
            1_000,
            0.31e6,
            &[8],
        );
        self.course(
            "rt_multi_threaded/yield_many",
            "Tasks that only yield",
            &[("tasks", "200"), ("yields", "1000")],
            Model::Async,
            "yield",
            200_000,
            3.0e6,
            &[1, 2, 4, 8, 16],
        );
        self.course(
            "rt_multi_threaded/chained_spawn",
            "A chain of a thousand spawns",
            &[("depth", "1000")],
            Model::Async,
            "spawn",
            1_000,
            0.2e6,
            &[1, 8],
        );
        self.course(
            "fan_in/10000x100",
            "Many senders, one bounded channel",
            &[("buffer", "100"), ("senders", "10000")],
            Model::Async,
            "message",
            10_000,
            6.4e6,
            &[1, 8],
        );
        self.course(
            "many_timers",
            "Ten thousand sleepers",
            &[("sleepers", "10000")],
            Model::Async,
            "timer",
            10_000,
            13.6e6,
            &[8],
        );
    }

    fn report(&self) -> Report {
        let mut rng = Rng(self.seed);
        let mut races = Vec::new();
        for course in &self.courses {
            for &threads in &course.threads {
                races.push(self.race(course, threads, &mut rng));
            }
        }
        let mut report = Report {
            run: self.run(),
            races,
            totals: Vec::new(),
            predictions: Vec::new(),
            contenders: self.contenders.iter().map(|c| c.contender()).collect(),
        };
        report.totals = totals(&report);
        report
    }

    fn run(&self) -> Run {
        let some = |text: &str| Some(text.to_string());
        Run {
            id: "2026-03-01-a3f9".into(),
            suite: self.suite.clone(),
            preset: Preset::Quick,
            blocks: self.blocks,
            seed: self.seed,
            state: "finished".into(),
            started_at: "2026-03-01T09:12:44Z".into(),
            finished_at: some("2026-03-01T09:14:59Z"),
            palio_version: "0.1.0".into(),
            command: format!(
                "palio run {} --preset quick --blocks {} --seed {}",
                self.suite, self.blocks, self.seed
            ),
            machine: Machine {
                fingerprint: "9b1c44e07a52".into(),
                cpu_model: some("AMD Ryzen 7 5700X 8-Core Processor"),
                cores: Some(8),
                threads_per_core: Some(1),
                sockets: Some(1),
                numa_nodes: Some(1),
                caches: vec![
                    "L1d 32 KiB × 8".into(),
                    "L2 512 KiB × 8".into(),
                    "L3 32 MiB × 1".into(),
                ],
                memory_kib: Some(32_768_000),
                governor: some("schedutil"),
                turbo: some("on"),
                kernel: some("Linux 6.12.30"),
                libc: some("glibc 2.36"),
                os: some("Debian GNU/Linux 12"),
                virtualisation: some("none"),
                cpu_quota: None,
            },
            warnings: vec![],
        }
    }

    fn race(&self, course: &Course, threads: u32, rng: &mut Rng) -> Race {
        let drift: Vec<f64> = (0..self.blocks).map(|_| (0.012 * rng.normal()).exp()).collect();
        let is_async = course.model == Model::Async;
        let serial_part = if is_async { 0.7 } else { 0.05 };
        let speedup = 1.0 / (serial_part + (1.0 - serial_part) / f64::from(threads.min(8)));
        let entries = self.contenders.iter().map(|runner| {
            let taste = if self.contenders.len() > 5 { (0.25 * rng.normal()).exp() } else { 1.0 };
            let speedup = if runner.kind == Kind::Baseline || runner.id.ends_with("-ct") {
                1.0
            } else {
                speedup
            };
            let time = course.base_ns * runner.pace[usize::from(is_async)] * taste / speedup;
            self.entry(course, threads, *runner, time, &drift, rng)
        });
        let mut race = Race {
            workload: course.workload.clone(),
            title: course.title.clone(),
            model: course.model,
            params: course.params.iter().cloned().collect(),
            threads,
            unit: course.unit.clone(),
            scope: if course.workload == "many_timers" { Scope::Cold } else { Scope::Steady },
            answer: "196418".into(),
            ops: course.ops,
            statistic: None,
            reference: None,
            noise_floor: None,
            entries: entries.collect(),
        };
        rank(
            &mut race,
            self.contenders.iter().map(|c| c.id.to_string()).find(|id| id == "tokio-mt"),
            true,
        );
        race
    }

    fn entry(
        &self,
        course: &Course,
        threads: u32,
        runner: Runner,
        time: f64,
        drift: &[f64],
        rng: &mut Rng,
    ) -> Entry {
        let (mut sample_ns, mut sample_block) = (Vec::new(), Vec::new());
        let jitter = 0.008 + 0.02 * rng.unit();
        for (block, drift) in drift.iter().enumerate() {
            let own = (0.006 * rng.normal()).exp();
            for _ in 0..self.samples {
                let tail = if rng.unit() < 0.03 { 1.0 + 0.5 * rng.unit() } else { 1.0 };
                let ns = time * drift * own * tail * (jitter * rng.normal().abs()).exp();
                sample_ns.push((ns * 10.0).round() / 10.0);
                sample_block.push(block as u32);
            }
        }
        let sorted = sorted(&sample_ns);
        let median = sorted[sorted.len() / 2];
        let busy = if runner.kind == Kind::Baseline || runner.id.ends_with("-ct") {
            1.0
        } else {
            f64::from(threads.min(8)) * runner.greed
        };
        let params: String = course.params.iter().map(|(k, v)| format!(" --set {k}={v}")).collect();
        Entry {
            contender: runner.id.into(),
            version: runner.version.into(),
            kind: runner.kind,
            track: runner.track,
            variant: None,
            other_variants: BTreeMap::new(),
            outcome: Outcome::Ok,
            detail: None,
            stderr: None,
            rank: None,
            value_ns: Some(median),
            median_ns: Some(median),
            min_ns: Some(sorted[0]),
            max_ns: Some(sorted[sorted.len() - 1]),
            distribution: None,
            ratio_to_best: None,
            ratio_to_reference: None,
            user_us: Some((median * busy * 0.94 / 1e3 * 10.0).round() / 10.0),
            sys_us: Some((median * busy * 0.05 / 1e3 * 10.0).round() / 10.0),
            cpu_percent: Some((busy * 990.0).round() / 10.0),
            max_rss_kib: Some(2_300 + (rng.unit() * 9_000.0) as u64),
            voluntary_switches: Some((rng.unit() * 4_000.0).round()),
            involuntary_switches: Some((rng.unit() * 90.0).round()),
            samples: sample_ns.len() as u32,
            batch: 1,
            sample_ns,
            sample_block,
            by_hand: Some(format!(
                "printf 'run 20\\nquit\\n' | contenders/{}/target/release/{} --workload {} --threads {threads}{params}",
                runner.language.to_lowercase().replace('+', "p"),
                runner.id,
                course.workload
            )),
        }
    }
}

impl Runner {
    fn contender(&self) -> Contender {
        Contender {
            id: self.id.into(),
            name: self.name.into(),
            language: self.language.into(),
            kind: self.kind,
            track: self.track,
            homepage: format!("https://example.org/{}", self.id),
            licence: "MIT".into(),
            runtime: Some(self.id.split('-').next().unwrap_or(self.id).into()),
            version: Some(self.version.into()),
            toolchain: Some(self.toolchain.into()),
            flags: Some(
                if self.language == "Rust" { "opt-level=3 lto=thin" } else { "-O3" }.into(),
            ),
            absent: None,
            notes: (self.id == "rayon").then(|| {
                "its pool is global and cannot be stopped, so cold rows include no stop".into()
            }),
        }
    }
}

/// Fills in ranks, ratios, verdicts and the noise floor, and brings the entries in order.
fn rank(race: &mut Race, reference: Option<String>, is_bounded: bool) {
    let floor = is_bounded.then_some(1.018);
    let ran: Vec<(String, Vec<f64>)> = race
        .entries
        .iter()
        .filter(|entry| entry.outcome == Outcome::Ok)
        .map(|entry| (entry.contender.clone(), medians(entry)))
        .collect();
    let find = |id: &str| ran.iter().position(|(other, _)| other == id);
    let versus = |a: usize, b: usize| {
        if a == b {
            Interval { point: 1.0, lo: Some(1.0), hi: Some(1.0) }
        } else {
            interval(&ran[a].1, &ran[b].1, is_bounded)
        }
    };
    let all: Vec<Vec<Interval>> =
        (0..ran.len()).map(|a| (0..ran.len()).map(|b| versus(a, b)).collect()).collect();
    // A baseline is compared, but neither ranked nor the best.
    let is_ranked = |a: usize| {
        let entry = race.entries.iter().find(|entry| entry.contender == ran[a].0);
        entry.is_some_and(|entry| entry.kind != Kind::Baseline)
    };
    let field: Vec<usize> = (0..ran.len()).filter(|&a| is_ranked(a)).collect();
    let best = field
        .iter()
        .copied()
        .min_by_key(|&a| field.iter().filter(|&&b| all[a][b].point > 1.0).count());
    let against = reference.as_deref().and_then(find);
    for entry in &mut race.entries {
        let Some(me) = find(&entry.contender).filter(|_| entry.outcome == Outcome::Ok) else {
            continue;
        };
        let is_faster = |i: &Interval| i.hi.is_some_and(|hi| hi < 1.0 / 1.018);
        let faster = field.iter().filter(|&&other| is_faster(&all[other][me])).count() as u32;
        let slower = field.iter().filter(|&&other| is_faster(&all[me][other])).count() as u32;
        entry.rank = field.contains(&me).then(|| [1 + faster, field.len() as u32 - slower]);
        entry.ratio_to_best = best.map(|best| all[me][best]);
        entry.ratio_to_reference = against.map(|reference| {
            let i = all[me][reference];
            let (lo, hi) = (i.lo.unwrap_or(0.0), i.hi.unwrap_or(f64::INFINITY));
            let verdict = match () {
                () if me == reference => VerdictWord::Reference,
                () if hi < 1.0 / 1.018 => VerdictWord::Faster,
                () if lo > 1.018 => VerdictWord::Slower,
                () if lo > 0.95 && hi < 1.05 => VerdictWord::Equivalent,
                () => VerdictWord::Inconclusive,
            };
            Verdict { point: i.point, lo: i.lo, hi: i.hi, verdict }
        });
    }
    race.noise_floor = against.map(|_| NoiseFloor {
        ratio: floor,
        shadow: Interval { point: 1.004, lo: is_bounded.then_some(0.991), hi: floor },
    });
    race.reference = reference;
    race.entries.sort_by(|a, b| {
        let key =
            |entry: &Entry| (entry.outcome, entry.ratio_to_best.map_or(f64::INFINITY, |i| i.point));
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
}

fn interval(a: &[f64], b: &[f64], is_bounded: bool) -> Interval {
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let half = 2.2 * (variance / n).sqrt();
    let round = |x: f64| (x.exp() * 1e5).round() / 1e5;
    let bound = |x: f64| is_bounded.then(|| round(x));
    Interval { point: round(mean), lo: bound(mean - half), hi: bound(mean + half) }
}

fn medians(entry: &Entry) -> Vec<f64> {
    let blocks = entry.sample_block.iter().copied().max().map_or(0, |last| last + 1);
    let of = |block| {
        let samples = entry.sample_ns.iter().zip(&entry.sample_block);
        let samples = samples.filter(|(_, b)| **b == block).map(|(ns, _)| *ns);
        let sorted = sorted(&samples.collect::<Vec<_>>());
        sorted[sorted.len() / 2]
    };
    (0..blocks).map(of).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// For each model, as the product does it: listed are those that completed at least half of its
/// races.
fn totals(report: &Report) -> Vec<Total> {
    let mut models: Vec<Model> = report.races.iter().map(|race| race.model).collect();
    models.sort_unstable();
    models.dedup();
    models.into_iter().flat_map(|model| totals_of(report, model)).collect()
}

fn totals_of(report: &Report, model: Model) -> Vec<Total> {
    let races: Vec<&Race> = report.races.iter().filter(|race| race.model == model).collect();
    let ratio = |race: &Race, id: &str| {
        let entry = race.entries.iter().find(|e| e.contender == id && e.kind != Kind::Baseline);
        entry.and_then(|e| e.ratio_to_best).map(|i| i.point)
    };
    let completed = |id: &str| races.iter().filter(|race| ratio(race, id).is_some()).count();
    let ids: Vec<&str> = report.contenders.iter().map(|c| c.id.as_str()).collect();
    let listed: Vec<&str> =
        ids.iter().copied().filter(|id| completed(id) * 2 >= races.len()).collect();
    let common: Vec<&&Race> =
        races.iter().filter(|race| listed.iter().all(|id| ratio(race, id).is_some())).collect();
    let n = common.len() as f64;
    let mut totals: Vec<Total> = ids
        .iter()
        .filter(|id| completed(id) > 0)
        .map(|id| {
            let is_in = listed.contains(id) && !common.is_empty();
            let ratios = || common.iter().map(|race| ratio(race, id).unwrap());
            let round = |x: f64| (x * 1e5).round() / 1e5;
            Total {
                contender: (*id).to_owned(),
                model,
                geomean_ratio: is_in.then(|| round((ratios().map(f64::ln).sum::<f64>() / n).exp())),
                mean_ratio: is_in.then(|| round(ratios().sum::<f64>() / n)),
                completed: completed(id) as u32,
                of: races.len() as u32,
                common: common.len() as u32,
            }
        })
        .collect();
    totals.sort_by(|a, b| {
        let key = |t: &Total| t.geomean_ratio.unwrap_or(f64::INFINITY);
        key(a).total_cmp(&key(b)).then(b.completed.cmp(&a.completed))
    });
    totals
}

/// SplitMix64: a generator that needs no crate and gives the same numbers for ever.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The sum of twelve uniform numbers less six: near enough to normal, and free of library
    /// functions that may round differently from one machine to the next.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}
