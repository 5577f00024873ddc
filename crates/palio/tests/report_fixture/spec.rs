//! What a fixture is made from: its contenders, its workloads, and a seed.

use std::collections::BTreeMap;

use palio::contender::Kind;
use palio::record::{Machine, Outcome};
use palio::report::model::*;
use palio::workload::{Fidelity, Model, Origin, Preset, Scope};

use super::contenders::*;
use super::ranking::{rank, sorted, totals};
use super::rng::Rng;

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

pub(super) struct Spec {
    suite: String,
    seed: u64,
    blocks: u32,
    samples: u32,
    pub(super) contenders: Vec<Racer>,
    courses: Vec<Course>,
}

impl Spec {
    pub(super) fn new(suite: &str, seed: u64, blocks: u32, samples: u32) -> Self {
        Self { suite: suite.into(), seed, blocks, samples, contenders: vec![], courses: vec![] }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a table of literals reads best in one line each"
    )]
    pub(super) fn course(
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

    pub(super) fn quick_suite(&mut self) {
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

    pub(super) fn report(&self) -> Report {
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
            told_apart: None,
            predictions: Vec::new(),
            contenders: self.contenders.iter().map(|c| c.contender()).collect(),
            sweep: None,
            scaling: Vec::new(),
            replication: None,
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
            disturbance: None,
            seed: self.seed,
            state: "finished".into(),
            started_at: "2026-03-01T09:12:44Z".into(),
            finished_at: some("2026-03-01T09:14:59Z"),
            interruptions: None,
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
                control_groups: None,
            },
            design: None,
            warnings: vec![],
            thinned: None,
            selection: None,
        }
    }

    fn race(&self, course: &Course, threads: u32, rng: &mut Rng) -> Race {
        let drift: Vec<f64> = (0..self.blocks).map(|_| (0.012 * rng.normal()).exp()).collect();
        let is_async = course.model == Model::Async;
        let serial_part = if is_async { 0.7 } else { 0.05 };
        let speedup = 1.0 / (serial_part + (1.0 - serial_part) / f64::from(threads.min(8)));
        let entries = self.contenders.iter().map(|racer| {
            let taste = if self.contenders.len() > 5 { (0.25 * rng.normal()).exp() } else { 1.0 };
            let speedup = if racer.kind == Kind::Baseline || racer.id.ends_with("-ct") {
                1.0
            } else {
                speedup
            };
            let time = course.base_ns * racer.pace[usize::from(is_async)] * taste / speedup;
            self.entry(course, threads, *racer, time, &drift, rng)
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
            salted: course.workload == "skynet",
            ops: course.ops,
            statistic: None,
            cpu_budget: None,
            reference: None,
            noise_floor: None,
            origin: (course.workload == "skynet").then(|| Origin {
                source: "runtime-benchmarks".into(),
                fidelity: Fidelity::Adapted,
                deviations: vec!["the tasks are <counted>".into()],
                held_out: None,
            }),
            cautions: Vec::new(),
            others: Vec::new(),
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
        racer: Racer,
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
        let busy = if racer.kind == Kind::Baseline || racer.id.ends_with("-ct") {
            1.0
        } else {
            f64::from(threads.min(8)) * racer.greed
        };
        let params: String = course.params.iter().map(|(k, v)| format!(" --set {k}={v}")).collect();
        Entry {
            contender: racer.id.into(),
            version: racer.version.into(),
            kind: racer.kind,
            track: racer.track,
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
            latency: None,
            throttled: None,
            ratio_to_best: None,
            ratio_to_reference: None,
            noise_floor: None,
            drift: None,
            user_us: Some((median * busy * 0.94 / 1e3 * 10.0).round() / 10.0),
            sys_us: Some((median * busy * 0.05 / 1e3 * 10.0).round() / 10.0),
            cpu_percent: Some((busy * 990.0).round() / 10.0),
            accounted_percent: Some((96.0 + 3.0 * busy / (busy + 1.0)).round()),
            accounted_cpu_percent: Some(98.0),
            certified: Some(true),
            forks: (course.workload == "fib" && racer.kind != Kind::Baseline).then(|| Forks {
                handed: (racer.kind == Kind::ForkJoin).then_some(course.ops),
                detail: (racer.kind != Kind::ForkJoin).then(|| "it <does> not count".into()),
                at_least: course.ops,
                at_most: 2 * course.ops + 1,
            }),
            doubts: Vec::new(),
            max_rss_kib: Some(2_300 + (rng.unit() * 9_000.0) as u64),
            voluntary_switches: Some((rng.unit() * 4_000.0).round()),
            involuntary_switches: Some((rng.unit() * 90.0).round()),
            samples: sample_ns.len() as u32,
            batch: 1,
            sample_ns,
            sample_block,
            threads_used: (racer.kind == Kind::Baseline && threads != 1).then_some(1),
            by_hand: Some(format!(
                "printf 'run 20\\nquit\\n' | contenders/{}/target/release/{} --workload {} --threads {threads}{params}",
                racer.language.to_lowercase().replace('+', "p"),
                racer.id,
                course.workload
            )),
        }
    }
}
