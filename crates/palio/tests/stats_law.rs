//! The law of scalability: against NumPy and SciPy, and how often its intervals are right.

use palio::stats::{BlockTimes, FittedLaw, ScalabilityLaw};

/// Times on 1, 2, 3, 4, 6, 8, 12 and 16 threads, made up, and what two other ways to the same
/// least squares find: `numpy.linalg.lstsq` on the equations divided by their times, and
/// `scipy.optimize.least_squares` on the relative errors of `n` times the law's time (see
/// `golden/law.py`).
const TIMES: [(u32, f64); 8] = [
    (1, 981.0),
    (2, 517.5),
    (3, 366.0),
    (4, 287.1),
    (6, 214.9),
    (8, 180.2),
    (12, 156.3),
    (16, 149.8),
];

#[test]
fn the_law_is_that_of_numpy_and_scipy() {
    let law = ScalabilityLaw::fit(&TIMES).unwrap();
    for (found, expected) in [(law.one, ONE), (law.sigma, SIGMA), (law.kappa, KAPPA)] {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} and {expected}");
    }
}
const ONE: f64 = 987.286_730_569_086_3;
const SIGMA: f64 = 0.040_446_501_810_752_77;
const KAPPA: f64 = 0.003_409_990_400_017_176_4;

/// Steele, Lea and Flood's SplitMix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// How often the 95 % intervals of sigma and kappa hold the truth, of `runs` contenders that follow
/// the law and of which every time has lognormal noise of this size.
fn coverage(counts: &[u32], blocks: usize, noise: f64, runs: u32) -> [f64; 2] {
    let truth = ScalabilityLaw { one: 1e6, sigma: 0.04, kappa: 0.001 };
    let mut random = Random(blocks as u64 * 1000 + counts.len() as u64);
    let mut held = [0_u32; 2];
    for _ in 0..runs {
        let curve: Vec<(u32, BlockTimes)> = counts
            .iter()
            .map(|&n| {
                let time = |_| Some(truth.time(f64::from(n)) * (noise * random.normal()).exp());
                (n, BlockTimes::new((0..blocks).map(time)).unwrap())
            })
            .collect();
        let fitted = FittedLaw::of(&curve).unwrap();
        for (k, (estimate, truth)) in
            [(fitted.sigma, truth.sigma), (fitted.kappa, truth.kappa)].into_iter().enumerate()
        {
            held[k] += u32::from((estimate.lo..=estimate.hi).contains(&truth));
        }
    }
    held.map(|count| f64::from(count) / f64::from(runs))
}

/// The intervals are of the fit of each block, whose bias grows with the noise: at 5 % of noise it
/// is still far below what they cover.
#[test]
fn the_intervals_hold_the_truth_as_often_as_they_say() {
    for counts in [&[1, 2, 4, 8][..], &[1, 2, 4, 8, 16, 32]] {
        for blocks in [5, 15, 30] {
            for noise in [0.01, 0.05] {
                let held = coverage(counts, blocks, noise, 1000);
                // The standard error of 95 % of 1,000 is 0.7 %.
                assert!(
                    held.iter().all(|share| *share >= 0.93),
                    "{counts:?} {blocks} {noise}: {held:?}"
                );
            }
        }
    }
}

#[test]
fn no_peak_is_sure_of_a_contender_that_has_none() {
    let amdahl = ScalabilityLaw { one: 1e6, sigma: 0.05, kappa: 0.0 };
    let mut random = Random(7);
    let mut sure = 0;
    for _ in 0..1000 {
        let curve = [1, 2, 4, 8, 16].map(|n: u32| {
            let time = |_| Some(amdahl.time(f64::from(n)) * (0.02 * random.normal()).exp());
            (n, BlockTimes::new((0..15).map(time)).unwrap())
        });
        sure += u32::from(FittedLaw::of(&curve).unwrap().kappa.lo > 0.0);
    }
    assert!(sure <= 40, "{sure} of 1,000");
}
