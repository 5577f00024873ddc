//! A race that ranks a number of a distribution: what is stored, computed and shown of it.

use palio::record::{
    CellRecord, DistributionRecord, Header, InvocationRecord, Limits, Machine, Outcome, RaceRecord,
    Resources, RunRecord, SampleRecord, Schedule,
};
use palio::report::{csv, html, json, markdown, summary, terminal};
use palio::stats::Statistic;
use palio::store::Store;
use palio::workload::{Model, Preset, Scope};

const BLOCKS: u32 = 5;

/// A sample whose longest event is `max_ns`.
fn sample(max_ns: u64) -> SampleRecord {
    let events = 1_000;
    SampleRecord {
        warm_up: false,
        batch: 1,
        elapsed_ns: 7_000_000,
        ops: events,
        answer: None,
        work: None,
        user_us: Some(1),
        sys_us: Some(1),
        distribution: Some(DistributionRecord {
            events,
            p50_ns: 1_000,
            p99_ns: max_ns / 2,
            p999_ns: max_ns,
            max_ns,
        }),
        load: None,
    }
}

/// In each block, one sample is ten times as bad as the two others.
pub(crate) fn cell(contender: &str, shadow: bool, scale: u64) -> CellRecord {
    let invocation = |block: u32| InvocationRecord {
        block: Some(block),
        position: 0,
        started_at: "2026-01-01T00:00:00Z".into(),
        salt: None,
        outcome: Outcome::Ok,
        detail: None,
        disturbed: false,
        resources: Resources::default(),
        throttled: None,
        spans: Vec::new(),
        dropped: None,
        samples: [4_000, 40_000, 4_000]
            .map(|ns| sample(scale * (ns + u64::from(block) * 2)))
            .to_vec(),
    };
    CellRecord {
        contender: contender.into(),
        variant: Default::default(),
        shadow,
        command: vec![contender.into()],
        outcome: Outcome::Ok,
        detail: None,
        stderr: None,
        forks: None,
        schedule: Some(Schedule { warm_ups: 1, samples: 3, batch: 1 }),
        invocations: (0..BLOCKS).map(invocation).collect(),
    }
}

pub(crate) fn run(statistic: Statistic) -> RunRecord {
    RunRecord {
        header: Header {
            id: "r1".into(),
            suite: "fairness".into(),
            preset: Preset::Quick,
            blocks: BLOCKS,
            seed: 1,
            limits: Limits {
                budget_ms: 120,
                warm_up_ms: 0,
                cold: false,
                samples: None,
                timeout_ms: 1000,
                memory_mib: 100,
            },
            until_floor: None,
            repeat: None,
            started_at: "2026-01-01T00:00:00Z".into(),
            finished_at: Some("2026-01-01T00:00:01Z".into()),
            resumed_at: Vec::new(),
            palio_version: "0".into(),
            command: "palio run fairness".into(),
            machine: Machine::default(),
            warnings: Vec::new(),
            design: None,
            thinned: None,
        },
        contenders: Vec::new(),
        races: vec![RaceRecord {
            workload: "fairness/x".into(),
            title: "Waits".into(),
            definition: None,
            model: Model::Async,
            scope: Scope::Steady,
            unit: "wake-up".into(),
            params: Default::default(),
            threads: 2,
            answer: "1000".into(),
            origin: None,
            salt: None,
            ops: 1_000,
            work: None,
            elapsed_ns_min: None,
            untimed: None,
            one_root: false,
            statistic: Some(statistic),
            served: false,
            cpu_budget: None,
            reference: Some("good".into()),
            predictions: Vec::new(),
            blocks: Vec::new(),
            begun: None,
            cells: vec![cell("good", false, 1), cell("bad", false, 3), cell("good", true, 1)],
        }],
    }
}

#[test]
fn a_maximum_is_that_of_the_invocation_and_a_percentile_the_median_of_its_samples() {
    for (statistic, value_ns, least_ns) in
        [(Statistic::Max, 40_004.0, 4_000.0), (Statistic::P99, 2_003.0, 2_000.0)]
    {
        let report = summary::report(&run(statistic));
        let race = &report.races[0];
        assert_eq!(race.statistic, Some(statistic));
        let (good, bad) = (&race.entries[0], &race.entries[1]);
        assert_eq!((good.contender.as_str(), bad.contender.as_str()), ("good", "bad"));
        // Among 15 samples the median lies among the low ones.
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
        assert!(close(good.value_ns.unwrap(), value_ns), "{statistic}: {:?}", good.value_ns);
        assert_eq!((good.median_ns, good.min_ns), (None, Some(least_ns)));
        assert!(close(bad.ratio_to_reference.unwrap().point, 3.0));
        let all = good.distribution.unwrap();
        assert_eq!((all.events, all.p999_ns, all.max_ns), (15_000, None, 40_008.0));
    }
}

#[test]
fn every_format_names_the_statistic() {
    let report = summary::report(&run(Statistic::Max));
    let options = terminal::Options { width: 200, color: false };
    for text in [
        terminal::render(&report, options),
        terminal::render(&report, terminal::Options::default()),
        markdown::render(&report),
        html::render(&report),
    ] {
        assert!(text.contains("ranked is the max of 1,000 wake-ups"), "{text}");
        assert!(text.contains("p50 · p99 · p99.9 · max"), "{text}");
        assert!(text.contains("1.00 µs · "), "{text}");
    }
    let text = terminal::render(&report, options);
    let head = text.lines().find(|line| line.starts_with("rank ")).unwrap();
    assert!(head.contains("  max  ") && !head.contains("median"), "{head}");
    let head = markdown::render(&report);
    let head = head.lines().find(|line| line.starts_with("| Rank")).unwrap().to_owned();
    assert!(head.contains(" Max |") && !head.contains("Median"), "{head}");
    let html = html::render(&report);
    assert!(html.contains("<th scope=col class=n>Max") && !html.contains("class=n>Median"));
    let entries = csv::entries(&report);
    assert!(entries.lines().nth(1).unwrap().contains(",max,"), "{entries}");
    // A sample's number is no time of the sample.
    let samples = csv::samples(&report);
    assert!(samples.lines().nth(1).unwrap().ends_with(",,max,4000,,ok"), "{samples}");
    let value: serde_json::Value = serde_json::from_str(&json::render(&report)).unwrap();
    let schema = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.schema.json"),
    );
    let schema: serde_json::Value = serde_json::from_str(&schema.unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn counts_are_not_shown_as_times() {
    let report = summary::report(&run(Statistic::MaxPolls));
    let options = terminal::Options { width: 200, color: false };
    for text in
        [terminal::render(&report, options), markdown::render(&report), html::render(&report)]
    {
        assert!(text.contains("ranked is the max polls of 1,000 wake-ups"), "{text}");
        assert!(text.contains("1,000 · ") && text.contains("40,004"), "{text}");
        assert!(!text.contains("µs ·") && !text.contains("40.0 µs"), "{text}");
    }
}

#[test]
fn distributions_survive_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("palio.db")).unwrap();
    let run = run(Statistic::P99);
    store.insert(&run).unwrap();
    assert_eq!(store.load("r1").unwrap(), run);
}
