//! Which rows count in a headline, and where its contender stands in them: by reports that are made
//! up, so that each number is known.

use palio::budget::CpuBudget;
use palio::contender::Kind;
use palio::record::Outcome;
use palio::report::headline::{Headline, Place};
use palio::report::model::{Contender, Interval, NoiseFloor, Race, Report};

use crate::report_fixture;

const BLOCKS: u32 = 6;

/// How long a contender takes in a block, against `own`.
#[derive(Clone, Copy)]
enum Pace {
    Steady(f64),
    /// As long as `own` on average, and far from it in each block.
    Wild,
}
use Pace::{Steady, Wild};

impl Pace {
    fn ns(self, block: u32) -> f64 {
        match self {
            Steady(ratio) => 1e6 * ratio,
            Wild if block.is_multiple_of(2) => 1.3e6,
            Wild => 1e6 / 1.3,
        }
    }
}

/// A race of `own` and these.
fn race(others: &[(&str, Pace)]) -> Race {
    let mut race = report_fixture::small().races.remove(0);
    let entry = race.entries[0].clone();
    let made = [("own", Steady(1.0))].iter().chain(others).map(|&(id, pace)| {
        let mut entry = entry.clone();
        entry.contender = id.to_owned();
        entry.sample_block = (0..BLOCKS).collect();
        entry.sample_ns = (0..BLOCKS).map(|block| pace.ns(block)).collect();
        entry
    });
    race.entries = made.collect();
    race.reference = Some("reference".to_owned());
    with_floor(race, 1.01)
}

fn with_floor(mut race: Race, ratio: f64) -> Race {
    let shadow = Interval { point: 1.0, lo: Some(1.0 / ratio), hi: Some(ratio) };
    race.noise_floor = Some(NoiseFloor { ratio: Some(ratio), shadow });
    race
}

/// The same where `contender` beside itself reached from `1 / hi` to `hi`, or anywhere.
fn with_own_floor(mut race: Race, contender: &str, hi: Option<f64>) -> Race {
    let shadow = Interval { point: 1.0, lo: hi.map(|hi| 1.0 / hi), hi };
    let mut entries = race.entries.iter_mut();
    entries.find(|entry| entry.contender == contender).unwrap().noise_floor =
        Some(NoiseFloor { ratio: hi, shadow });
    race
}

fn report(races: Vec<Race>) -> Report {
    let mut report = report_fixture::small();
    let known = report.contenders[0].clone();
    let mut ids: Vec<String> =
        races.iter().flat_map(|race| &race.entries).map(|e| e.contender.clone()).collect();
    ids.sort();
    ids.dedup();
    report.contenders = ids.into_iter().map(|id| Contender { id, ..known.clone() }).collect();
    report.races = races;
    report
}

fn headline(races: Vec<Race>) -> Headline {
    Headline::of(&report(races), "own", &[]).unwrap()
}

/// Its only row: the place, and who is the best of the others.
fn only_row(race: Race) -> (Place, String) {
    let mut rows = headline(vec![race]).rows;
    assert_eq!(rows.len(), 1);
    let row = rows.remove(0);
    (row.place, row.best_other)
}

/// Why its only race does not count.
fn left_out(race: Race) -> String {
    let headline = headline(vec![race]);
    assert_eq!(headline.rows, []);
    headline.left_out[0].text.clone()
}

#[test]
fn the_worst_verdict_against_any_of_the_others_is_the_place() {
    let (slow, even, fast) = (("slow", Steady(2.0)), ("even", Steady(1.0)), ("fast", Steady(0.5)));
    let wild = ("wild", Wild);
    let place = |others: &[(&str, Pace)]| only_row(race(others)).0;
    assert_eq!(place(&[slow]), Place::First);
    assert_eq!(place(&[slow, even]), Place::Tied);
    assert_eq!(place(&[slow, even, wild]), Place::NotDecided);
    assert_eq!(place(&[slow, even, wild, fast]), Place::Behind);
}

/// Each of the two may have a floor of its own, and a floor that nothing bounds allows no verdict.
#[test]
fn a_place_is_told_by_the_floors_of_both() {
    let twice = || race(&[("slow", Steady(2.0))]);
    assert_eq!(only_row(twice()).0, Place::First);
    for who in ["own", "slow"] {
        let place = |hi| only_row(with_own_floor(twice(), who, hi)).0;
        assert_eq!(place(Some(1.9)), Place::First, "{who}");
        assert_eq!(place(Some(2.1)), Place::NotDecided, "{who}");
        assert_eq!(place(None), Place::NotDecided, "{who}");
    }
}

#[test]
fn only_what_completed_and_is_no_baseline_is_beaten_or_beats() {
    let others = [("fast", Steady(0.5)), ("slow", Steady(2.0))];
    assert_eq!(only_row(race(&others)), (Place::Behind, "fast".to_owned()));
    let mut baseline = race(&others);
    baseline.entries[1].kind = Kind::Baseline;
    assert_eq!(only_row(baseline), (Place::First, "slow".to_owned()));
    // What it measured before it failed is in the run, and decides nothing.
    let mut failed = race(&others);
    failed.entries[1].outcome = Outcome::WrongAnswer;
    assert_eq!(only_row(failed), (Place::First, "slow".to_owned()));
}

#[test]
fn a_row_counts_up_to_a_floor_and_not_without_one() {
    let others = [("slow", Steady(2.0))];
    let row = only_row(with_floor(race(&others), 1.25));
    assert_eq!(row, (Place::First, "slow".to_owned()));
    let text = left_out(with_floor(race(&others), 1.26));
    assert_eq!(text, "its noise floor is 26 %");
    let mut own = with_floor(race(&others), 1.26);
    own.reference = Some("own".to_owned());
    assert!(left_out(own).ends_with("that is its own: it was the reference"));
    let mut unknown = race(&others);
    unknown.noise_floor = None;
    assert_eq!(left_out(unknown), "its noise floor is unknown");
}

#[test]
fn a_row_with_a_cpu_budget_does_not_count() {
    let mut budgeted = race(&[("slow", Steady(2.0))]);
    budgeted.cpu_budget = Some(CpuBudget::of_threads(4));
    assert_eq!(left_out(budgeted), "it has a CPU budget: a track of its own");
}

#[test]
fn the_mean_is_geometric_and_the_worst_row_comes_first() {
    let headline = headline(vec![
        race(&[("fast", Steady(0.5))]),
        race(&[("fast", Steady(0.125))]),
        race(&[("fast", Steady(2.0))]),
    ]);
    let ratios: Vec<f64> = headline.rows.iter().map(|row| (4.0 * row.ratio).round()).collect();
    assert_eq!(ratios, [32.0, 8.0, 2.0], "quarters");
    // 8 · 2 · ½ is 2³.
    assert!((headline.geometric_mean().unwrap() - 2.0).abs() < 1e-9);
    assert_eq!((headline.count(Place::First), headline.count(Place::Behind)), (1, 2));
}
