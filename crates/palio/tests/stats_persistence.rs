//! What does noise do that lasts from block to block, and how often is it seen?
//!
//! The tests check bounds on a few hundred races with fixed seeds. The tables of
//! `docs/methodology.md` come from more races, by
//!
//! ```text
//! cargo test --release -p palio --test stats stats_persistence:: -- \
//!     --ignored --nocapture --test-threads 1
//! ```

use crate::noise::Rng;
use palio::stats::{
    BlockTimes, EquivalenceMargin, NoiseFloor, Persistence, RatioInterval, Verdict,
};

/// How one contender's invocations deviate, as logarithms: a share of each deviation is that of
/// the block before.
#[derive(Clone, Copy)]
struct Noise {
    sd: f64,
    lasting: f64,
}

const QUIET: Noise = Noise { sd: 0.005, lasting: 0.0 };

impl Noise {
    /// As a process that has gone on for ever: an autoregressive one of the first order.
    fn times(self, rng: &mut Rng, blocks: usize, ratio: f64) -> BlockTimes {
        let fresh = (1.0 - self.lasting.powi(2)).sqrt();
        let mut noise = rng.normal();
        let mut time = || {
            let now = noise;
            noise = self.lasting * noise + fresh * rng.normal();
            Some(1e6 * ratio * (self.sd * now).exp())
        };
        BlockTimes::new((0..blocks).map(|_| time()).collect::<Vec<_>>()).unwrap()
    }
}

/// A reference, its shadow and contenders `ratio` times as slow, in one race.
struct Race {
    verdicts: Vec<Verdict>,
    alarms: Vec<bool>,
}

impl Race {
    fn new(
        rng: &mut Rng,
        blocks: usize,
        [reference, contender]: [Noise; 2],
        ratios: &[f64],
    ) -> Self {
        let own = reference.times(rng, blocks, 1.0);
        let shadow = reference.times(rng, blocks, 1.0);
        let floor = NoiseFloor::measure(&own, &shadow);
        let field: Vec<BlockTimes> =
            ratios.iter().map(|&ratio| contender.times(rng, blocks, ratio)).collect();
        let verdict = |times: &BlockTimes| {
            let ratio = RatioInterval::between(times, &own).unwrap();
            Verdict::of(&ratio, &floor, EquivalenceMargin::default())
        };
        let all = field.iter().chain([&shadow]).map(|times| Persistence::between(times, &own));
        Self {
            verdicts: field.iter().map(verdict).collect(),
            alarms: Persistence::alarms(&all.collect::<Vec<_>>()),
        }
    }

    fn tells_apart(&self, contender: usize) -> bool {
        matches!(self.verdicts[contender], Verdict::Faster | Verdict::Slower)
    }
}

/// Of races of one contender: how often it is told apart, how often the alarm goes up, and how
/// often it is told apart without an alarm, in per cent.
fn shares(races: usize, blocks: usize, noise: [Noise; 2], ratio: f64) -> [f64; 3] {
    let mut rng = Rng::new(blocks as u64);
    let mut counts = [0; 3];
    for _ in 0..races {
        let race = Race::new(&mut rng, blocks, noise, &[ratio]);
        let (apart, alarm) = (race.tells_apart(0), race.alarms[0]);
        for (count, is) in counts.iter_mut().zip([apart, alarm, apart && !alarm]) {
            *count += usize::from(is);
        }
    }
    counts.map(|count| 100.0 * count as f64 / races as f64)
}

#[test]
fn an_alarm_is_rare_where_nothing_lasts_and_common_where_much_does() {
    let any = |field: usize, blocks: usize, noise: Noise| {
        let mut rng = Rng::new(4);
        let is_told = |rng: &mut Rng| {
            let race = Race::new(rng, blocks, [noise; 2], &vec![1.0; field]);
            race.alarms.contains(&true)
        };
        (0..500).filter(|_| is_told(&mut rng)).count()
    };
    for (field, blocks) in [(1, 8), (1, 15), (12, 8), (12, 15)] {
        let alarms = any(field, blocks, Noise { sd: 0.05, lasting: 0.0 });
        // 1 % of 500, and three standard errors.
        assert!(alarms <= 12, "{field} in {blocks} blocks: {alarms}");
    }
    let noise = Noise { sd: 0.05, lasting: 0.8 };
    let [_, alarm, _] = shares(300, 20, [QUIET, noise], 1.0);
    assert!(alarm > 60.0, "{alarm} %");
    assert_eq!(shares(50, 7, [QUIET, noise], 1.0)[1], 0.0, "too few blocks");
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_1_noise_that_lasts() {
    const RACES: usize = 10_000;
    println!(
        "\n| noise of the contender, beside a reference with | lasting | blocks | told apart, % | alarm, % | told apart without alarm, % | twice as slow, without alarm, % |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, is_quiet) in [("5 %, beside 0.5 %", true), ("5 %, beside the same", false)] {
        for lasting in [0.0, 0.8, 0.95] {
            for blocks in [5, 10, 15, 20, 40] {
                let noise = Noise { sd: 0.05, lasting };
                let pair = [if is_quiet { QUIET } else { noise }, noise];
                let [apart, alarm, silent] = shares(RACES, blocks, pair, 1.0);
                let [_, _, twice] = shares(RACES / 10, blocks, pair, 2.0);
                println!(
                    "| {name} | {lasting} | {blocks} | {apart:.1} | {alarm:.1} | {silent:.1} | {twice:.0} |"
                );
            }
        }
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_2_false_alarms() {
    const RACES: usize = 10_000;
    let noise = Noise { sd: 0.05, lasting: 0.0 };
    println!("\n| contenders | 8 blocks | 15 blocks | 30 blocks |\n|---:|---:|---:|---:|");
    for field in [1, 12, 30] {
        let cells = [8, 15, 30].map(|blocks| {
            let mut rng = Rng::new(4);
            let is_told = |rng: &mut Rng| {
                let own = noise.times(rng, blocks, 1.0);
                let others = (0..=field).map(|_| noise.times(rng, blocks, 1.0));
                let all = others.map(|times| Persistence::between(&times, &own));
                Persistence::alarms(&all.collect::<Vec<_>>()).contains(&true)
            };
            let told = (0..RACES).filter(|_| is_told(&mut rng)).count();
            format!("{:.2}", 100.0 * told as f64 / RACES as f64)
        });
        println!("| {field} | {} |", cells.join(" | "));
    }
}
