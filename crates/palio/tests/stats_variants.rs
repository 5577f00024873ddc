//! How often is a contender told apart from its equal, where each is ranked by the fastest of
//! several ways to do the same work?
//!
//! The test checks bounds on a few hundred races with a fixed seed. The table of
//! `docs/methodology.md` comes from more races, by
//!
//! ```text
//! cargo test --release -p palio --test stats stats_variants:: -- --ignored --nocapture
//! ```

use crate::noise::Rng;
use palio::stats::{BlockTimes, EquivalenceMargin, NoiseFloor, RatioInterval, Verdict};

/// What is simulated, the standard deviations of the reference and of the contender, and how many
/// variants each has, all equal.
const CASES: [(&str, [f64; 2], [usize; 2]); 8] = [
    ("1 %, 1 variant each", [0.01, 0.01], [1, 1]),
    ("1 %, 4 variants each", [0.01, 0.01], [4, 4]),
    ("1 %, 1 of the reference, 4 of the contender", [0.01, 0.01], [1, 4]),
    ("5 %, 4 variants each", [0.05, 0.05], [4, 4]),
    ("5 %, 1 of the reference, 4 of the contender", [0.05, 0.05], [1, 4]),
    ("0.5 % against 15 %, 1 variant each", [0.005, 0.15], [1, 1]),
    ("0.5 % against 15 %, 2 variants each", [0.005, 0.15], [2, 2]),
    ("0.5 % against 15 %, 4 variants each", [0.005, 0.15], [4, 4]),
];

/// A cell's locations, as logarithms.
fn cell(rng: &mut Rng, blocks: usize, sd: f64) -> Vec<f64> {
    (0..blocks).map(|_| sd * rng.normal()).collect()
}

fn times(logs: &[f64]) -> BlockTimes {
    BlockTimes::new(logs.iter().map(|log| Some(1e6 * log.exp()))).unwrap()
}

fn median(logs: &[f64]) -> f64 {
    let mut sorted = logs.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// In how many of `races` a contender is called faster, and slower, than a reference that is as
/// fast in every variant. The shadow is of the reference's first variant.
fn told_apart(races: usize, blocks: usize, sds: [f64; 2], variants: [usize; 2]) -> [usize; 2] {
    let mut rng = Rng::new(blocks as u64);
    let mut said = [0, 0];
    for _ in 0..races {
        let [reference, contender] = [0, 1].map(|side| -> Vec<Vec<f64>> {
            (0..variants[side]).map(|_| cell(&mut rng, blocks, sds[side])).collect()
        });
        let shadow = cell(&mut rng, blocks, sds[0]);
        let floor = NoiseFloor::measure(&times(&reference[0]), &times(&shadow));
        let fastest = |cells: &[Vec<f64>]| {
            times(cells.iter().min_by(|a, b| median(a).total_cmp(&median(b))).unwrap())
        };
        let ratio = RatioInterval::between(&fastest(&contender), &fastest(&reference)).unwrap();
        match Verdict::of(&ratio, &floor, EquivalenceMargin::default()) {
            Verdict::Faster => said[0] += 1,
            Verdict::Slower => said[1] += 1,
            Verdict::Equivalent | Verdict::Inconclusive => {}
        }
    }
    said
}

#[test]
fn the_fastest_of_several_variants_keeps_the_level() {
    for (name, sds, variants) in CASES {
        for blocks in [5, 15] {
            let said: usize = told_apart(500, blocks, sds, variants).iter().sum();
            // 5 % of 500, and two standard errors.
            assert!(said <= 35, "{name}, {blocks} blocks: {said}");
        }
    }
}

#[test]
#[ignore = "prints the table of docs/methodology.md; needs --release"]
fn table() {
    const RACES: usize = 4_000;
    println!("\n| noise and variants | 5 blocks | 15 blocks | 30 blocks |\n|---|---:|---:|---:|");
    for (name, sds, variants) in CASES {
        let cells = [5, 15, 30].map(|blocks| {
            let said = told_apart(RACES, blocks, sds, variants);
            let [faster, slower] = said.map(|said| 100.0 * said as f64 / RACES as f64);
            format!("{faster:.2} + {slower:.2}")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}
