//! What a report says of a run whose times are known: whose noise floor a comparison, a rank and a
//! prediction have, and what else a reader relies on.

use palio::contender::{Kind, Track};
use palio::record::{CellRecord, ContenderRecord, Dropped, RunRecord};
use palio::report::model::{Entry, Report, VerdictWord};
use palio::report::summary;
use palio::stats::Statistic;
use palio::workload::{Order, Prediction};

use crate::statistic;

/// A contender whose samples all take `ns`.
fn cell(contender: &str, ns: u64) -> CellRecord {
    let mut cell = statistic::cell(contender, false, 1);
    for sample in cell.invocations.iter_mut().flat_map(|i| &mut i.samples) {
        sample.elapsed_ns = ns;
        sample.distribution = None;
    }
    cell
}

fn shadow(contender: &str, ns: u64) -> CellRecord {
    CellRecord { shadow: true, ..cell(contender, ns) }
}

/// A run of these with `good` as its reference.
fn run(cells: Vec<CellRecord>) -> RunRecord {
    let mut run = statistic::run(Statistic::Max);
    run.races[0].statistic = None;
    run.races[0].cells = cells;
    run
}

fn entry<'a>(report: &'a Report, contender: &str) -> &'a Entry {
    report.races[0].entries.iter().find(|entry| entry.contender == contender).unwrap()
}

fn predict(order: &str) -> Prediction {
    Prediction {
        order: Order::try_from(order.to_owned()).unwrap(),
        because: String::new(),
        within: 1.25,
    }
}

/// What the data say of `order` with these.
fn held(order: &str, cells: Vec<CellRecord>) -> Option<bool> {
    let mut run = run(cells);
    run.races[0].predictions = vec![predict(order)];
    summary::report(&run).predictions[0].held
}

/// The reference is steady, and `other` takes a fifth more; `other` beside itself takes `other_ns`.
fn beside_itself(other_ns: u64) -> Vec<CellRecord> {
    vec![
        cell("good", 1_000_000),
        cell("other", 1_200_000),
        shadow("good", 1_000_000),
        shadow("other", other_ns),
    ]
}

#[test]
fn a_contender_that_differs_from_itself_as_much_is_not_told_apart_from_the_steady_reference() {
    let told = |other_ns| {
        let report = summary::report(&run(beside_itself(other_ns)));
        assert_eq!(report.races[0].noise_floor.unwrap().ratio, Some(1.01), "the reference's");
        let other = entry(&report, "other");
        (other.ratio_to_reference.unwrap().verdict, entry(&report, "good").rank, other.rank)
    };
    assert_eq!(told(1_200_000), (VerdictWord::Slower, Some([1, 1]), Some([2, 2])));
    assert_eq!(told(1_500_000), (VerdictWord::Inconclusive, Some([1, 2]), Some([1, 2])));
}

#[test]
fn a_prediction_is_judged_with_the_floors_of_both() {
    assert_eq!(held("good < other", beside_itself(1_200_000)), Some(true));
    assert_eq!(held("other < good", beside_itself(1_200_000)), Some(false));
    assert_eq!(held("good < other", beside_itself(1_500_000)), None);
    assert_eq!(held("other < good", beside_itself(1_500_000)), None);
}

#[test]
fn those_that_are_equivalent_refute_that_one_is_faster() {
    let alike = || vec![cell("good", 1_000), cell("other", 1_000), shadow("good", 1_000)];
    assert_eq!(held("good < other", alike()), Some(false));
}

#[test]
fn close_is_within_the_bound_on_both_sides() {
    let close = |other_ns| held("other ~ good", vec![cell("good", 1_000), cell("other", other_ns)]);
    assert_eq!([790, 810, 1_240, 1_260].map(close), [false, true, true, false].map(Some));
    // In four of five blocks it takes as long, and in one twice: the interval goes beyond.
    let mut other = cell("other", 1_000);
    other.invocations[2].samples.iter_mut().for_each(|sample| sample.elapsed_ns = 2_000);
    for order in ["other ~ good", "good ~ other"] {
        assert_eq!(held(order, vec![cell("good", 1_000), other.clone()]), None);
    }
}

/// The shadow repeats `size=2`, which takes as long as it does; `size=1` is faster.
#[test]
fn a_floor_is_that_of_the_variant_which_the_shadow_repeats() {
    let of = |cell: CellRecord, size: &str| CellRecord {
        variant: [("size".to_owned(), size.to_owned())].into(),
        ..cell
    };
    let cells = vec![
        of(cell("good", 1_000_000), "1"),
        of(cell("good", 1_500_000), "2"),
        of(shadow("good", 1_500_000), "2"),
    ];
    let report = summary::report(&run(cells));
    assert_eq!(report.races[0].noise_floor.unwrap().ratio, Some(1.01));
}

#[test]
fn a_baseline_has_a_ratio_and_no_rank() {
    let mut run = run(vec![cell("good", 2_000), cell("loop", 1_000), shadow("good", 2_000)]);
    let ranks = |run: &RunRecord| {
        let report = summary::report(run);
        ["good", "loop"].map(|id| {
            let entry = entry(&report, id);
            (entry.rank, (1e6 * entry.ratio_to_best.unwrap().point).round() / 1e6)
        })
    };
    assert_eq!(ranks(&run), [(Some([2, 2]), 2.0), (Some([1, 1]), 1.0)]);
    run.contenders.push(ContenderRecord {
        id: "loop".into(),
        base: "loop".into(),
        release: None,
        name: "A loop".into(),
        language: "Rust".into(),
        kind: Kind::Baseline,
        track: Track::Stock,
        homepage: String::new(),
        licence: String::new(),
        notes: None,
        runtime: None,
        version: None,
        toolchain: None,
        flags: None,
        program: None,
        absent: None,
    });
    assert_eq!(ranks(&run), [(Some([1, 1]), 1.0), (None, 0.5)]);
}

#[test]
fn whoever_did_not_count_its_work_in_a_sample_is_not_certified_though_that_sample_was_dropped() {
    let certified = |uncounted| {
        let mut run = run(vec![cell("good", 1_000)]);
        run.races[0].work = Some(7);
        let invocations = &mut run.races[0].cells[0].invocations;
        invocations.iter_mut().flat_map(|i| &mut i.samples).for_each(|s| s.work = Some(7));
        invocations[1].dropped = Some(Dropped {
            warm_ups: 0,
            samples: 2,
            iterations: 2,
            elapsed_ns: 2_000,
            user_us: None,
            sys_us: None,
            uncounted,
        });
        entry(&summary::report(&run), "good").certified
    };
    assert_eq!((certified(0), certified(1)), (Some(true), Some(false)));
}

#[test]
fn a_race_is_too_noisy_for_a_headline_above_a_quarter() {
    let cautions = |shadow_ns| {
        let run = run(vec![cell("good", 1_000_000), shadow("good", shadow_ns)]);
        summary::report(&run).races[0].cautions.clone()
    };
    let told = "too noisy for a headline: a noise floor above 25 %";
    assert!(!cautions(1_240_000).iter().any(|caution| caution.starts_with("too noisy")));
    let told_of = cautions(1_260_000);
    assert!(told_of.iter().any(|caution| caution == told), "{told_of:?}");
}

/// A cell whose block `b` takes what `ns` says of it.
fn over_blocks(contender: &str, blocks: u32, ns: impl Fn(u32) -> u64) -> CellRecord {
    let mut cell = cell(contender, 1);
    let plain = cell.invocations.iter().find(|i| i.block.is_some()).unwrap().clone();
    let each = (0..blocks).map(|block| {
        let mut invocation = plain.clone();
        invocation.block = Some(block);
        invocation.samples.iter_mut().for_each(|sample| sample.elapsed_ns = ns(block));
        invocation
    });
    cell.invocations = each.collect();
    cell
}

#[test]
fn noise_that_lasts_from_block_to_block_is_told_and_its_verdict_stays() {
    // As even as noise is, in no order that means anything.
    let mixed = |block: u32| 1_000_000 + u64::from(block * 7 % 20) * 1_000;
    let lasting = |block: u32| 1_200_000 + u64::from(block) * 3_000;
    let report = |blocks: u32, shown: [&dyn Fn(u32) -> u64; 3]| {
        let [good, twin, other] = shown;
        let twin = CellRecord { shadow: true, ..over_blocks("good", blocks, twin) };
        let good = over_blocks("good", blocks, good);
        let mut run = run(vec![good, twin, over_blocks("other", blocks, other)]);
        run.header.blocks = blocks;
        summary::report(&run)
    };
    let flat = |_| 1_000_000;
    let told = |report: &Report| {
        let all = report.races[0].cautions.iter();
        all.filter(|caution| caution.starts_with("noise lasts")).cloned().collect::<Vec<_>>()
    };

    let slow = report(20, [&flat, &mixed, &lasting]);
    assert_eq!(told(&slow).len(), 1, "{:?}", slow.races[0].cautions);
    let said = &told(&slow)[0];
    assert!(said.contains("relative to good"), "{said}");
    assert!(said.contains(": other (0.99 in 20 blocks). More blocks"), "{said}");
    assert_eq!(
        entry(&slow, "other").ratio_to_reference.unwrap().verdict,
        VerdictWord::Slower,
        "it is a fifth slower in every block"
    );

    let doubled = |block| 2 * mixed(block);
    assert_eq!(told(&report(20, [&flat, &mixed, &doubled])), [""; 0]);
    // Too few for any order of them to mean something.
    assert_eq!(told(&report(7, [&flat, &mixed, &lasting])), [""; 0]);
    assert_eq!(told(&report(8, [&flat, &mixed, &lasting])).len(), 1);
    // What the reference does strikes its own floor and everybody.
    let both = told(&report(20, [&lasting, &mixed, &doubled]));
    assert!(both[0].contains("good beside its own shadow (0."), "{both:?}");
    assert!(both[0].contains(", other (0."), "{both:?}");
}
