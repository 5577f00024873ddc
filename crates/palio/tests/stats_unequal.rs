//! Do verdicts hold where contenders are not equally noisy, and where blocks are added until the
//! noise floor is low enough?
//!
//! The tests check bounds on a few thousand races with fixed seeds. The tables of
//! `docs/methodology.md` come from more races, by
//!
//! ```text
//! cargo test --release -p palio --test stats stats_unequal:: -- \
//!     --ignored --nocapture --test-threads 1
//! ```

use crate::noise::Rng;
use palio::stats::{
    BlockTimes, EquivalenceMargin, FloorGoal, NoiseFloor, Ranking, RatioInterval, Verdict, holm,
    p_value,
};

const BLOCKS: [usize; 4] = [5, 10, 15, 30];

/// How the location of an invocation deviates, as a logarithm. The median of each is 0, to within
/// a few thousandths.
#[derive(Clone, Copy)]
enum Noise {
    /// Normal, with this standard deviation.
    Normal(f64),
    /// Exponential, with this standard deviation: a long tail on the slow side.
    Skewed(f64),
    /// A steady 0.5 %, but this share of invocations takes half as long again.
    Slow(f64),
    /// The same, but a third shorter.
    Fast(f64),
}

impl Noise {
    fn draw(self, rng: &mut Rng) -> f64 {
        let quiet = |rng: &mut Rng| 0.005 * rng.normal();
        match self {
            Self::Normal(sd) => sd * rng.normal(),
            Self::Skewed(sd) => sd * (-rng.unit().ln() - std::f64::consts::LN_2),
            Self::Slow(share) => quiet(rng) + if rng.chance(share) { 1.5_f64.ln() } else { 0.0 },
            Self::Fast(share) => quiet(rng) - if rng.chance(share) { 1.5_f64.ln() } else { 0.0 },
        }
    }
}

const QUIET: Noise = Noise::Normal(0.005);

/// What the reference does, and what the contender does.
const PAIRS: [(&str, Noise, Noise); 8] = [
    ("0.5 % against 15 %", QUIET, Noise::Normal(0.15)),
    ("15 % against 0.5 %", Noise::Normal(0.15), QUIET),
    ("0.5 % against skewed 15 %", QUIET, Noise::Skewed(0.15)),
    ("skewed 15 % against 0.5 %", Noise::Skewed(0.15), QUIET),
    ("0.5 % against ×1.5 in 30 %", QUIET, Noise::Slow(0.3)),
    ("×1.5 in 30 % against 0.5 %", Noise::Slow(0.3), QUIET),
    ("0.5 % against ×1.5 in 40 %", QUIET, Noise::Slow(0.4)),
    ("0.5 % against ÷1.5 in 30 %", QUIET, Noise::Fast(0.3)),
];

/// Reference, its shadow, the contender and its shadow over `blocks` blocks; the contender takes
/// `ratio` times as long.
struct Race<'a> {
    rng: &'a mut Rng,
    noise: [Noise; 2],
    ratio: f64,
    logs: [Vec<f64>; 4],
}

impl<'a> Race<'a> {
    fn new(rng: &'a mut Rng, reference: Noise, contender: Noise, ratio: f64) -> Self {
        Self { rng, noise: [reference, contender], ratio, logs: Default::default() }
    }

    fn add_block(&mut self) {
        let [reference, contender] = self.noise;
        let shift = self.ratio.ln();
        let all = [(reference, 0.0), (reference, 0.0), (contender, shift), (contender, shift)];
        for (log, (noise, shift)) in self.logs.iter_mut().zip(all) {
            log.push(noise.draw(self.rng) + shift);
        }
    }

    fn times(&self, contender: usize) -> BlockTimes {
        BlockTimes::new(self.logs[contender].iter().map(|log| Some(1e6 * log.exp()))).unwrap()
    }

    fn floor(&self) -> NoiseFloor {
        NoiseFloor::measure(&self.times(0), &self.times(1))
    }

    fn interval(&self) -> RatioInterval {
        RatioInterval::between(&self.times(2), &self.times(0)).unwrap()
    }

    fn verdict(&self) -> Verdict {
        Verdict::of(&self.interval(), &self.floor(), EquivalenceMargin::default())
    }

    /// Where the contender has a shadow too.
    fn verdict_of_two_floors(&self) -> Verdict {
        let own = NoiseFloor::measure(&self.times(2), &self.times(3));
        Verdict::of(&self.interval(), &self.floor().with(&own), EquivalenceMargin::default())
    }
}

/// How many of `races` end with "faster", and how many with "slower": by the floor of the
/// reference, and by that of both.
fn verdicts(races: usize, blocks: usize, noise: [Noise; 2], ratio: f64) -> [[usize; 2]; 2] {
    let mut rng = Rng::new(blocks as u64);
    let mut said = [[0, 0]; 2];
    for _ in 0..races {
        let mut race = Race::new(&mut rng, noise[0], noise[1], ratio);
        (0..blocks).for_each(|_| race.add_block());
        for (said, verdict) in said.iter_mut().zip([race.verdict(), race.verdict_of_two_floors()]) {
            match verdict {
                Verdict::Faster => said[0] += 1,
                Verdict::Slower => said[1] += 1,
                Verdict::Equivalent | Verdict::Inconclusive => {}
            }
        }
    }
    said
}

/// Among equals, in how many of `races` a quiet reference and eleven contenders with `noise` are
/// ranked apart anywhere, and how many of their rank intervals are not the full 1-12: by the floor
/// of the reference, and by that of both sides of every pair.
fn ranked_apart(races: usize, blocks: usize, noise: Noise) -> [[usize; 2]; 2] {
    const FIELD: usize = 12;
    let mut rng = Rng::new(31);
    let mut apart = [[0, 0]; 2];
    for _ in 0..races {
        let mut times = |number: usize| {
            let noise = if number == 0 { QUIET } else { noise };
            BlockTimes::new((0..blocks).map(|_| Some(noise.draw(&mut rng).exp()))).unwrap()
        };
        let [field, shadows] = [(); 2].map(|()| (0..FIELD).map(&mut times).collect::<Vec<_>>());
        let floors: Vec<NoiseFloor> = field
            .iter()
            .zip(&shadows)
            .map(|(own, shadow)| NoiseFloor::measure(own, shadow))
            .collect();
        let rankings = [Ranking::of(&field, &floors[0]), Ranking::with_floors(&field, &floors)];
        for (apart, ranking) in apart.iter_mut().zip(rankings) {
            let full =
                |standing: &&palio::stats::Standing| (standing.lo, standing.hi) == (1, FIELD);
            let narrow = FIELD - ranking.standings.iter().filter(full).count();
            apart[0] += usize::from(narrow > 0);
            apart[1] += narrow;
        }
    }
    apart
}

#[test]
fn unequal_noise_keeps_the_level() {
    for (name, reference, contender) in PAIRS {
        for blocks in BLOCKS {
            let [one_floor, two_floors] = verdicts(500, blocks, [reference, contender], 1.0);
            let [one_floor, two_floors] = [one_floor, two_floors].map(|[f, s]| f + s);
            // 5 % of 500, and two standard errors; 1 %, and two.
            assert!(one_floor <= 35, "{name}, {blocks} blocks: {one_floor}");
            assert!(two_floors <= 10, "{name}, {blocks} blocks, two floors: {two_floors}");
            assert!(two_floors <= one_floor);
        }
    }
}

#[test]
fn a_contenders_own_floor_keeps_ranks_of_noisy_equals_together() {
    const RACES: usize = 200;
    for blocks in [5, 15] {
        let [one_floor, two_floors] = ranked_apart(RACES, blocks, Noise::Normal(0.15));
        // One rank interval of twenty is the promise. A quiet reference alone does not keep it.
        let promise = RACES * 12 / 20;
        assert!(one_floor[1] > promise, "{blocks} blocks: {one_floor:?}");
        assert!(two_floors[1] <= promise, "{blocks} blocks, two floors: {two_floors:?}");
    }
}

#[test]
fn a_noisy_contender_that_is_twice_as_slow_is_still_seen() {
    let mut rng = Rng::new(3);
    let mut seen = 0;
    for _ in 0..300 {
        let mut race = Race::new(&mut rng, QUIET, Noise::Normal(0.15), 2.0);
        (0..10).for_each(|_| race.add_block());
        seen += usize::from(race.verdict() == Verdict::Slower);
    }
    assert!(seen >= 295, "{seen} of 300");
}

/// What became of races that went on until their floor was low enough.
#[derive(Default)]
struct Prolonged {
    faster: usize,
    slower: usize,
    missed: usize,
    blocks: usize,
    reached: usize,
}

/// Races of 10 blocks that may become 40 to reach a floor of 5 %.
fn prolonged(races: usize, noise: [Noise; 2], ratio: f64) -> Prolonged {
    const PLANNED: u32 = 10;
    let goal = FloorGoal { ratio: 1.05, blocks_max: 40 };
    let mut rng = Rng::new(21);
    let mut all = Prolonged::default();
    for _ in 0..races {
        let mut race = Race::new(&mut rng, noise[0], noise[1], ratio);
        (0..PLANNED).for_each(|_| race.add_block());
        let mut done = PLANNED;
        while goal.needs_block(PLANNED, done, &race.floor()) {
            race.add_block();
            race.add_block();
            done += 2;
        }
        let (floor, interval) = (race.floor(), race.interval());
        all.blocks += done as usize;
        all.reached += usize::from(floor.ratio() <= goal.ratio);
        all.missed += usize::from(interval.lo > ratio || interval.hi < ratio);
        all.faster += usize::from(race.verdict() == Verdict::Faster);
        all.slower += usize::from(race.verdict() == Verdict::Slower);
    }
    all
}

/// Reference and contender with the same noise; the last pair is unequal.
const PROLONGED: [(&str, [Noise; 2]); 4] = [
    ("3 % both", [Noise::Normal(0.03); 2]),
    ("6 % both", [Noise::Normal(0.06); 2]),
    ("skewed 6 % both", [Noise::Skewed(0.06); 2]),
    ("6 % against skewed 15 %", [Noise::Normal(0.06), Noise::Skewed(0.15)]),
];

#[test]
fn a_race_that_goes_on_until_its_floor_is_low_favours_nobody() {
    const RACES: usize = 300;
    for (name, noise) in PROLONGED {
        let all = prolonged(RACES, noise, 1.0);
        let (faster, slower) = (all.faster, all.slower);
        assert!(all.reached > 0, "{name}: the goal is never reached");
        assert!(faster + slower <= RACES / 20, "{name}: {faster} + {slower}");
        // 5 %, and two standard errors.
        assert!(all.missed <= 23, "{name}: {} missed", all.missed);
        if noise[0].is(noise[1]) {
            // Three standard errors of the difference between two counts.
            let error = 3.0 * ((faster + slower) as f64).sqrt().max(1.0);
            assert!((faster as f64 - slower as f64).abs() <= error, "{name}: {faster}, {slower}");
        }
    }
}

impl Noise {
    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Normal(a), Self::Normal(b))
            | (Self::Skewed(a), Self::Skewed(b))
            | (Self::Slow(a), Self::Slow(b))
            | (Self::Fast(a), Self::Fast(b)) => a == b,
            _ => false,
        }
    }
}

/// In how many of `suites` of 40 races between equals anybody is told apart, without a correction
/// and with Holm's.
fn suites_with_a_lie(suites: usize, blocks: usize, contender: Noise) -> [usize; 2] {
    const RACES: usize = 40;
    let mut rng = Rng::new(9);
    let mut wrong = [0, 0];
    for _ in 0..suites {
        let (mut apart, mut values) = (Vec::new(), Vec::new());
        for _ in 0..RACES {
            let mut race = Race::new(&mut rng, QUIET, contender, 1.0);
            (0..blocks).for_each(|_| race.add_block());
            apart.push(matches!(race.verdict(), Verdict::Faster | Verdict::Slower));
            values.push(p_value(&race.times(2), &race.times(0)).unwrap());
        }
        let adjusted = holm(&values);
        wrong[0] += usize::from(apart.contains(&true));
        let stands = |(apart, p): (&bool, &f64)| *apart && *p <= 0.05;
        wrong[1] += usize::from(apart.iter().zip(&adjusted).any(stands));
    }
    wrong
}

#[test]
fn after_holm_a_whole_suite_keeps_the_level() {
    let [plain, corrected] = suites_with_a_lie(100, 15, Noise::Normal(0.15));
    assert!(plain > 15, "uncorrected: {plain} of 100 suites");
    assert!(corrected <= 9, "corrected: {corrected} of 100 suites");
}

fn percent(part: usize, of: usize) -> String {
    format!("{:.2}", 100.0 * part as f64 / of as f64)
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_1_unequal_noise() {
    const RACES: usize = 10_000;
    println!("\n| reference against contender | 5 blocks | 10 blocks | 15 blocks | 30 blocks |");
    println!("|---|---:|---:|---:|---:|");
    for (name, reference, contender) in PAIRS {
        let cells = BLOCKS.map(|blocks| {
            let [[faster, slower], _] = verdicts(RACES, blocks, [reference, contender], 1.0);
            format!("{} + {}", percent(faster, RACES), percent(slower, RACES))
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_2_until_the_floor_is_reached() {
    const RACES: usize = 10_000;
    println!(
        "\n| noise | goal reached, % | blocks (mean) | equal: faster + slower, % | interval misses 1.10, % |"
    );
    println!("|---|---:|---:|---:|---:|");
    for (name, noise) in PROLONGED {
        let all = prolonged(RACES, noise, 1.0);
        let missed = prolonged(RACES, noise, 1.1).missed;
        println!(
            "| {name} | {} | {:.1} | {} + {} | {} |",
            percent(all.reached, RACES),
            all.blocks as f64 / RACES as f64,
            percent(all.faster, RACES),
            percent(all.slower, RACES),
            percent(missed, RACES),
        );
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_3_suites_of_forty_races() {
    const SUITES: usize = 2_000;
    println!("\n| contender, beside a reference with 0.5 % | blocks | uncorrected, % | Holm, % |");
    println!("|---|---:|---:|---:|");
    for (name, noise) in
        [("15 %", Noise::Normal(0.15)), ("skewed 15 %", Noise::Skewed(0.15)), ("0.5 %", QUIET)]
    {
        for blocks in [5, 15, 30] {
            let [plain, corrected] = suites_with_a_lie(SUITES, blocks, noise);
            println!(
                "| {name} | {blocks} | {} | {} |",
                percent(plain, SUITES),
                percent(corrected, SUITES)
            );
        }
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_4_floors_of_both_sides() {
    const RACES: usize = 10_000;
    const SEEN: usize = 2_000;
    println!("\n| reference against contender | 5 blocks | 15 blocks | 30 blocks |");
    println!("|---|---:|---:|---:|");
    for (name, reference, contender) in PAIRS {
        let cells = [5, 15, 30].map(|blocks| {
            let [_, [faster, slower]] = verdicts(RACES, blocks, [reference, contender], 1.0);
            let seen = verdicts(SEEN, blocks, [reference, contender], 1.25).map(|[_, s]| s);
            let [one, two] = seen.map(|seen| 100.0 * seen as f64 / SEEN as f64);
            format!("{} / {one:.0} → {two:.0}", percent(faster + slower, RACES))
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
    println!(
        "\n| eleven contenders beside a reference with 0.5 % | 5 blocks | 15 blocks | 30 blocks |"
    );
    println!("|---|---:|---:|---:|");
    let pairs =
        [("15 %", Noise::Normal(0.15)), ("skewed 15 %", Noise::Skewed(0.15)), ("0.5 %", QUIET)];
    for (name, noise) in pairs {
        let cells = [5, 15, 30].map(|blocks| {
            let each = ranked_apart(SEEN, blocks, noise).map(|[any, narrow]| {
                format!("{} / {}", percent(any, SEEN), percent(narrow, SEEN * 12))
            });
            each.join(" → ")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}
