//! How often do the statistics lie, and how much can they see? Simulated races tell.
//!
//! The tests check bounds on a few thousand races with fixed seeds. The tables of
//! `docs/methodology.md` come from more races, by
//!
//! ```text
//! cargo test --release -p palio --test stats stats_simulation:: -- \
//!     --ignored --nocapture --test-threads 1
//! ```

use crate::noise::Rng;
use palio::stats::{
    BlockTimes, EquivalenceMargin, NoiseFloor, Ranking, RatioInterval, Summary, Totals, Verdict,
    location_ns,
};

const BLOCKS: [usize; 3] = [5, 15, 30];
const SAMPLES: usize = 5;

/// A machine and what it does to times. Standard deviations are of logarithms.
#[derive(Clone, Copy)]
struct Machine {
    name: &'static str,
    /// Between invocations.
    invocation_sd: f64,
    /// Between the samples of an invocation.
    sample_sd: f64,
    /// Of the step that the whole machine's speed takes from block to block.
    drift_sd: f64,
    /// How much slower each later start within a block is than the one before.
    slope: f64,
    /// Probability that a sample takes 2 to 10 times as long.
    slow_sample: f64,
    /// Probability that a whole invocation takes 1.2 to 3 times as long.
    slow_invocation: f64,
    /// Half of all invocations take this times as long.
    second_mode: f64,
    /// Invocation noise from Student's t with 2 degrees of freedom (its variance is infinite).
    heavy: bool,
}

const QUIET: Machine = Machine {
    name: "quiet: 1 % noise",
    invocation_sd: 0.01,
    sample_sd: 0.01,
    drift_sd: 0.0,
    slope: 0.0,
    slow_sample: 0.0,
    slow_invocation: 0.0,
    second_mode: 1.0,
    heavy: false,
};

const MACHINES: [Machine; 8] = [
    QUIET,
    Machine { name: "noisy: 5 % noise", invocation_sd: 0.05, sample_sd: 0.05, ..QUIET },
    Machine {
        name: "drift: 5 % a block, 1 % a start",
        drift_sd: 0.05,
        slope: 0.01,
        invocation_sd: 0.02,
        ..QUIET
    },
    Machine {
        name: "slow samples: 5 % of them x2-x10",
        slow_sample: 0.05,
        sample_sd: 0.03,
        invocation_sd: 0.02,
        ..QUIET
    },
    Machine {
        name: "slow invocations: 5 % of them x1.2-x3",
        slow_invocation: 0.05,
        invocation_sd: 0.02,
        ..QUIET
    },
    Machine { name: "bimodal: half of invocations +10 %", second_mode: 1.1, ..QUIET },
    Machine { name: "heavy tails: Student t, 2 d.f.", heavy: true, invocation_sd: 0.02, ..QUIET },
    Machine {
        name: "all of it at once",
        invocation_sd: 0.03,
        sample_sd: 0.05,
        drift_sd: 0.05,
        slope: 0.01,
        slow_sample: 0.05,
        slow_invocation: 0.05,
        second_mode: 1.1,
        heavy: false,
    },
];

impl Machine {
    /// Samples of one invocation of a contender whose true time is `speed` milliseconds.
    fn invoke(&self, rng: &mut Rng, speed: f64) -> [f64; SAMPLES] {
        let mut noise = rng.normal();
        if self.heavy {
            // Student's t with 2 degrees of freedom: a normal over a root of an exponential.
            noise /= (-rng.unit().ln()).sqrt();
        }
        let mut base = 1e6 * speed * (self.invocation_sd * noise).exp();
        if rng.chance(0.5) {
            base *= self.second_mode;
        }
        if rng.chance(self.slow_invocation) {
            base *= rng.between(1.2, 3.0);
        }
        std::array::from_fn(|_| {
            let mut sample = base * (self.sample_sd * rng.normal()).exp();
            if rng.chance(self.slow_sample) {
                sample *= rng.between(2.0, 10.0);
            }
            sample
        })
    }

    /// Races contenders with the true times `speeds` over `blocks` blocks, as the runner would:
    /// every one once a block, in random order, mirrored in the next block.
    fn race(&self, rng: &mut Rng, blocks: usize, speeds: &[f64]) -> Vec<BlockTimes> {
        let mut order: Vec<usize> = (0..speeds.len()).collect();
        let mut locations = vec![Vec::with_capacity(blocks); speeds.len()];
        let mut ln_drift = 0.0;
        for block in 0..blocks {
            if block % 2 == 0 {
                rng.shuffle(&mut order);
            } else {
                order.reverse();
            }
            ln_drift += self.drift_sd * rng.normal();
            for (start, &contender) in order.iter().enumerate() {
                let machine = f64::exp(ln_drift) * (1.0 + self.slope * start as f64);
                let samples = self.invoke(rng, speeds[contender] * machine);
                locations[contender].push(Some(location_ns(&samples).unwrap()));
            }
        }
        locations.into_iter().map(|c| BlockTimes::new(c).unwrap()).collect()
    }

    /// Races one contender `ratio` times as slow as the reference, which has a shadow.
    fn duel(&self, rng: &mut Rng, blocks: usize, ratio: f64) -> Duel {
        let times = self.race(rng, blocks, &[1.0, 1.0, ratio]);
        let floor = NoiseFloor::measure(&times[0], &times[1]);
        let interval = RatioInterval::between(&times[2], &times[0]).unwrap();
        let verdict = Verdict::of(&interval, &floor, EquivalenceMargin::default());
        Duel { floor, interval, verdict }
    }
}

struct Duel {
    floor: NoiseFloor,
    interval: RatioInterval,
    verdict: Verdict,
}

impl Duel {
    fn claims_difference(&self) -> bool {
        matches!(self.verdict, Verdict::Faster | Verdict::Slower)
    }
}

/// How many of `races` duels satisfy `is`.
fn count(
    machine: &Machine,
    seed: u64,
    races: usize,
    blocks: usize,
    ratio: f64,
    is: impl Fn(&Duel) -> bool,
) -> usize {
    let mut rng = Rng::new(seed);
    (0..races).filter(|_| is(&machine.duel(&mut rng, blocks, ratio))).count()
}

fn false_differences_stay_rare(blocks: usize) {
    for (seed, machine) in MACHINES.iter().enumerate() {
        let lies = count(machine, seed as u64, 2000, blocks, 1.0, Duel::claims_difference);
        // The requirement is 5 % (100 of 2000); the rule is built for a twentieth of that.
        assert!(lies <= 10, "{}, {blocks} blocks: {lies} of 2000", machine.name);
    }
}

#[test]
fn false_differences_stay_rare_in_5_blocks() {
    false_differences_stay_rare(5);
}

#[test]
fn false_differences_stay_rare_in_15_blocks() {
    false_differences_stay_rare(15);
}

#[test]
fn false_differences_stay_rare_in_30_blocks() {
    false_differences_stay_rare(30);
}

#[test]
fn intervals_cover_the_truth() {
    let covers = |duel: &Duel| duel.interval.lo <= 1.1 && 1.1 <= duel.interval.hi;
    for machine in [&MACHINES[0], &MACHINES[4], &MACHINES[7]] {
        for blocks in [5, 6, 15] {
            let covered = count(machine, 7, 2000, blocks, 1.1, covers);
            // Three standard errors below 95 %.
            assert!(covered >= 1871, "{}, {blocks} blocks: {covered} of 2000", machine.name);
        }
    }
}

#[test]
fn a_quiet_machine_sees_five_percent() {
    let slower = |duel: &Duel| duel.verdict == Verdict::Slower;
    for (blocks, least) in [(5, 400), (15, 490), (30, 490)] {
        let seen = count(&QUIET, 1, 500, blocks, 1.05, slower);
        assert!(seen >= least, "{blocks} blocks: {seen} of 500");
    }
}

#[test]
fn equivalence_is_claimed_when_true_and_not_at_the_margin() {
    let equivalent = |duel: &Duel| duel.verdict == Verdict::Equivalent;
    assert!(count(&QUIET, 2, 500, 15, 1.0, equivalent) >= 450);
    for machine in &MACHINES {
        let lies = count(machine, 3, 500, 15, 1.05, equivalent);
        assert!(lies <= 20, "{}: {lies} of 500", machine.name);
    }
}

#[test]
fn one_or_two_blocks_settle_nothing() {
    let settled = |duel: &Duel| duel.verdict != Verdict::Inconclusive;
    for blocks in 1..palio::stats::MIN_BLOCKS {
        assert_eq!(count(&QUIET, 4, 100, blocks, 3.0, settled), 0);
    }
}

#[test]
fn equal_contenders_are_hardly_ever_ranked_apart() {
    for machine in &MACHINES {
        let (races, contenders) = ranked_apart(machine, 100, 5, 8);
        assert!(races <= 12 && contenders <= 40, "{}: {races}, {contenders}", machine.name);
    }
}

/// Races `equals`, the first of which is the reference and has a shadow besides. Returns in how
/// many of `races` anyone was told apart from anyone, and how many of the `races * equals` rank
/// intervals were not the whole range.
fn ranked_apart(machine: &Machine, races: usize, blocks: usize, equals: usize) -> (usize, usize) {
    let mut rng = Rng::new(5);
    let mut apart = (0, 0);
    for _ in 0..races {
        let times = machine.race(&mut rng, blocks, &vec![1.0; equals + 1]);
        let floor = NoiseFloor::measure(&times[0], &times[equals]);
        let ranking = Ranking::of(&times[..equals], &floor);
        let wrong = ranking.standings.iter().filter(|s| s.lo > 1 || s.hi < equals).count();
        apart.0 += usize::from(wrong > 0);
        apart.1 += wrong;
    }
    apart
}

fn percent(part: usize, of: usize) -> String {
    format!("{:.2}", 100.0 * part as f64 / of as f64)
}

fn median_floor(machine: &Machine, blocks: usize) -> f64 {
    let mut rng = Rng::new(8);
    let floors: Vec<f64> =
        (0..1001).map(|_| machine.duel(&mut rng, blocks, 1.0).floor.ratio()).collect();
    Summary::of(&floors).unwrap().median_ns
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_1_false_differences() {
    const RACES: usize = 20_000;
    println!(
        "\n| machine | blocks | floor (median) | false faster/slower, % | interval misses, % | any of 20 races, % |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for machine in &MACHINES {
        for blocks in [5, 8, 15, 30] {
            let lies = count(machine, 11, RACES, blocks, 1.0, Duel::claims_difference);
            let misses = count(machine, 12, RACES, blocks, 1.1, |duel| {
                duel.interval.lo > 1.1 || duel.interval.hi < 1.1
            });
            let of_20 = 100.0 * (1.0 - (1.0 - lies as f64 / RACES as f64).powi(20));
            println!(
                "| {} | {blocks} | {:.3} | {} | {} | {of_20:.1} |",
                machine.name,
                median_floor(machine, blocks),
                percent(lies, RACES),
                percent(misses, RACES),
            );
        }
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_2_power() {
    const RACES: usize = 4_000;
    println!(
        "\n| noise | slow invocations | blocks | floor (median) | 2 % seen | 5 % seen | 10 % seen | 20 % seen | equal called equivalent | 5 % called equivalent |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for slow_invocation in [0.0, 0.05] {
        for noise in [0.005, 0.01, 0.02, 0.05] {
            let machine =
                Machine { invocation_sd: noise, sample_sd: noise, slow_invocation, ..QUIET };
            for blocks in BLOCKS {
                let share = |ratio: f64, verdict: Verdict| {
                    let hits =
                        count(&machine, 13, RACES, blocks, ratio, |duel| duel.verdict == verdict);
                    format!("{:.1}", 100.0 * hits as f64 / RACES as f64)
                };
                println!(
                    "| {:.1} % | {:.0} % | {blocks} | {:.3} | {} | {} | {} | {} | {} | {} |",
                    100.0 * noise,
                    100.0 * slow_invocation,
                    median_floor(&machine, blocks),
                    share(1.02, Verdict::Slower),
                    share(1.05, Verdict::Slower),
                    share(1.10, Verdict::Slower),
                    share(1.20, Verdict::Slower),
                    share(1.0, Verdict::Equivalent),
                    share(1.05, Verdict::Equivalent),
                );
            }
        }
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_3_ranks_of_twelve_equals() {
    const RACES: usize = 2_000;
    println!("\n| machine | 5 blocks | 15 blocks | 30 blocks |\n|---|---:|---:|---:|");
    for machine in &MACHINES {
        let cells = BLOCKS.map(|blocks| {
            let (races, contenders) = ranked_apart(machine, RACES, blocks, 12);
            format!("{} / {}", percent(races, RACES), percent(contenders, RACES * 12))
        });
        println!("| {} | {} |", machine.name, cells.join(" | "));
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md; needs --release"]
fn table_4_rules_for_clearing_the_noise() {
    const RACES: usize = 20_000;
    type Rule = fn(&NoiseFloor, &RatioInterval) -> bool;
    // One side suffices: the other one is the same rule on the inverse.
    let rules: [(&str, Rule); 6] = [
        ("interval excludes 1", |_, r| r.lo > 1.0),
        ("and estimate beyond the bias", |f, r| r.lo > 1.0 && r.point > f.bias()),
        ("and estimate beyond the floor (1)", |f, r| r.lo > 1.0 && r.point > f.ratio()),
        ("interval beyond the bias (2)", |f, r| r.lo > f.bias()),
        ("(1) and (2): used", NoiseFloor::clears),
        ("interval beyond the floor", |f, r| r.lo > f.ratio()),
    ];
    let machines = [&MACHINES[0], &MACHINES[1], &MACHINES[4], &MACHINES[5]];
    for blocks in BLOCKS {
        let names = machines.map(|m| m.name).join(" | ");
        println!("\n| {blocks} blocks | {names} |\n|---|---:|---:|---:|---:|");
        for (name, rule) in rules {
            let cells = machines.map(|machine| {
                let is_false = |duel: &Duel| {
                    rule(&duel.floor, &duel.interval) || rule(&duel.floor, &duel.interval.inverse())
                };
                let is_seen = |duel: &Duel| rule(&duel.floor, &duel.interval);
                let lies = count(machine, 14, RACES, blocks, 1.0, is_false);
                let seen = count(machine, 15, RACES / 5, blocks, 1.05, is_seen);
                let seen = 100.0 * seen as f64 / (RACES / 5) as f64;
                format!("{} / {seen:.0}", percent(lies, RACES))
            });
            println!("| {name} | {} |", cells.join(" | "));
        }
    }
}

#[test]
#[ignore = "a time limit; needs --release"]
fn a_large_report_takes_well_under_a_second() {
    let mut rng = Rng::new(6);
    // 50 races x 12 contenders x 30 blocks x 12 samples = 216,000 samples.
    let races: Vec<Vec<Vec<Vec<f64>>>> = (0..50)
        .map(|_| {
            let cell = |rng: &mut Rng| {
                (0..30).map(|_| (0..12).map(|_| 1e6 * rng.between(1.0, 1.1)).collect()).collect()
            };
            (0..12).map(|_| cell(&mut rng)).collect()
        })
        .collect();
    let start = std::time::Instant::now();
    let mut to_best = Vec::new();
    for race in &races {
        let times: Vec<BlockTimes> = race
            .iter()
            .map(|c| BlockTimes::from_samples(c.iter().map(|s| Some(&s[..]))).unwrap())
            .collect();
        for cell in race {
            assert!(Summary::of(&cell.concat()).is_ok());
        }
        let floor = NoiseFloor::measure(&times[0], &times[1]);
        for contender in &times[1..] {
            let ratio = RatioInterval::between(contender, &times[0]).unwrap();
            let _ = Verdict::of(&ratio, &floor, EquivalenceMargin::default());
        }
        let ranking = Ranking::of(&times, &floor);
        to_best.push(ranking.standings.iter().map(|s| s.ratio_to_best.map(|r| r.point)).collect());
    }
    assert_eq!(Totals::of(12, &to_best).unwrap().common, 50);
    let elapsed = start.elapsed();
    println!("216,000 samples, 50 races of 12: {elapsed:?}");
    assert!(elapsed.as_millis() < 1000, "{elapsed:?}");
}
