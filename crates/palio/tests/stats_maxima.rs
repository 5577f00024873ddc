//! Is a maximum judged fairly? Simulated races of contenders whose longest events have heavy tails.
//!
//! The tests check bounds on a few thousand races with fixed seeds. The table of
//! `docs/methodology.md` comes from more races, by
//!
//! ```text
//! cargo test --release -p palio --test stats stats_maxima:: -- --ignored --nocapture
//! ```

use palio::stats::{BlockTimes, EquivalenceMargin, NoiseFloor, RatioInterval, Statistic, Verdict};

const BLOCKS: [usize; 3] = [5, 15, 30];
/// Samples in an invocation, as Palio takes them of a maximum.
const SAMPLES: usize = 3;
/// Events in a sample.
const EVENTS: f64 = 64.0;

/// `SplitMix64`: small, and good enough to make noise.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// What makes events long.
#[derive(Clone, Copy)]
struct Tail {
    name: &'static str,
    /// Exponent of a Pareto tail: at 1 not even the mean exists.
    pareto: f64,
    /// Chance of a sample that the machine takes the processor away, once, for 4 to 40 ms.
    preempted: f64,
    /// Chance of a block in which that happens to every sample of everybody.
    bad_block: f64,
}

const PLAIN: Tail = Tail { name: "Pareto 3", pareto: 3.0, preempted: 0.0, bad_block: 0.0 };

const TAILS: [Tail; 5] = [
    PLAIN,
    Tail { name: "Pareto 1.5: no variance", pareto: 1.5, ..PLAIN },
    Tail { name: "Pareto 1: no mean", pareto: 1.0, ..PLAIN },
    Tail { name: "Pareto 3, a pause of 4-40 ms in 1 of 10 samples", preempted: 0.1, ..PLAIN },
    Tail {
        name: "Pareto 1, pauses in 1 of 3 samples, 1 of 10 blocks bad",
        pareto: 1.0,
        preempted: 1.0 / 3.0,
        bad_block: 0.1,
    },
];

impl Tail {
    /// The longest of the events of one sample, in ns.
    fn sample(&self, rng: &mut Rng, scale: f64, is_bad: bool) -> f64 {
        // The longest of so many independent events, drawn at once: its distribution function is
        // theirs to that power.
        let beyond = (1.0 - rng.unit().powf(1.0 / EVENTS)).max(f64::MIN_POSITIVE);
        let longest = 20_000.0 * scale * beyond.powf(-1.0 / self.pareto);
        if is_bad || rng.unit() <= self.preempted {
            longest + 4e6 + 36e6 * rng.unit()
        } else {
            longest
        }
    }

    /// Whether a contender `ratio` times as bad as the reference is told apart from it, and on
    /// which side.
    fn race(&self, rng: &mut Rng, blocks: usize, ratio: f64) -> Verdict {
        let mut invocations = [const { Vec::new() }; 3];
        for _ in 0..blocks {
            let is_bad = rng.unit() <= self.bad_block;
            for (contender, scale) in [1.0, 1.0, ratio].into_iter().enumerate() {
                let samples: [f64; SAMPLES] =
                    std::array::from_fn(|_| self.sample(rng, scale, is_bad));
                invocations[contender].push(samples);
            }
        }
        let [reference, shadow, other] = invocations.map(|invocations| {
            let each = invocations.iter().map(|samples| Some(&samples[..]));
            BlockTimes::by(Some(Statistic::Max), each).unwrap()
        });
        let floor = NoiseFloor::measure(&reference, &shadow);
        let ratio = RatioInterval::between(&other, &reference).unwrap();
        Verdict::of(&ratio, &floor, EquivalenceMargin::default())
    }

    /// How many of `races` end with `verdict`.
    fn count(
        &self,
        races: usize,
        blocks: usize,
        ratio: f64,
        is: impl Fn(Verdict) -> bool,
    ) -> usize {
        let mut rng = Rng(blocks as u64);
        (0..races).filter(|_| is(self.race(&mut rng, blocks, ratio))).count()
    }
}

fn is_difference(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

#[test]
fn equal_contenders_with_heavy_tails_are_rarely_told_apart() {
    for tail in &TAILS {
        for blocks in BLOCKS {
            let lies = tail.count(2000, blocks, 1.0, is_difference);
            // The requirement is 5 %, 100 of 2000.
            assert!(lies <= 40, "{}, {blocks} blocks: {lies} of 2000", tail.name);
        }
    }
}

#[test]
fn a_contender_that_is_ten_times_as_bad_is_seen_through_heavy_tails() {
    for (tail, least) in TAILS.iter().zip([490, 450, 250]) {
        let seen = tail.count(500, 15, 10.0, |verdict| verdict == Verdict::Slower);
        assert!(seen >= least, "{}: {seen} of 500", tail.name);
    }
}

/// What the number cannot say, said once: a pause in one invocation of fifteen is no verdict,
/// however long it is.
#[test]
fn one_bad_invocation_decides_nothing() {
    let good: Vec<[f64; 1]> = vec![[1e5]; 15];
    let mut bad = good.clone();
    bad[7] = [1e9];
    let times = |all: &[[f64; 1]]| {
        BlockTimes::by(Some(Statistic::Max), all.iter().map(|one| Some(&one[..]))).unwrap()
    };
    let (good, bad) = (times(&good), times(&bad));
    let ratio = RatioInterval::between(&bad, &good).unwrap();
    let floor = NoiseFloor::measure(&good, &good);
    assert!(!is_difference(Verdict::of(&ratio, &floor, EquivalenceMargin::default())));
    assert!((ratio.point - 1.0).abs() < 1e-9);
}

/// The table of `docs/methodology.md`.
#[test]
#[ignore = "makes a table, and takes a while"]
fn table_of_maxima() {
    println!("| events | blocks | equal told apart | 1.5 seen | 2 seen | 3 seen | 10 seen |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for tail in &TAILS {
        for blocks in BLOCKS {
            let percent = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
            let lies = percent(tail.count(20_000, blocks, 1.0, is_difference), 20_000);
            let seen = [1.5, 2.0, 3.0, 10.0].map(|ratio| {
                percent(tail.count(2_000, blocks, ratio, |v| v == Verdict::Slower), 2_000)
            });
            let [a, b, c, d] = seen;
            println!(
                "| {} | {blocks} | {lies:.2} | {a:.1} | {b:.1} | {c:.1} | {d:.1} |",
                tail.name
            );
        }
    }
}
