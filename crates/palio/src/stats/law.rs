//! By which law does a time fall, and rise again, with the number of threads?

use super::blocks::BlockTimes;
use super::estimate::Estimate;
use super::summary::is_time;

/// Fewest numbers of threads to which the law is fitted: one more than it has parameters, since
/// three points lie on it whatever they are.
pub const LAW_POINTS_MIN: usize = 4;

/// Gunther's Universal Scalability Law: `n` threads do `n / (1 + sigma (n - 1) + kappa n (n - 1))`
/// times what one does (N. J. Gunther, *Guerrilla Capacity Planning*, 2007).
///
/// `sigma` is the share of the work that only one thread can do at a time, `kappa` what each pair
/// of threads costs to agree. With `kappa = 0` it is Amdahl's law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalabilityLaw {
    /// What the law says of the time on one thread, in the unit of the times that it was fitted to.
    pub one: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherency, or crosstalk.
    pub kappa: f64,
}

impl ScalabilityLaw {
    /// Fits all three numbers to times on numbers of threads, so that the sum of the squares of the
    /// relative errors is least. The time on one thread is fitted like all others: a law that is
    /// forced through it makes its noise that of the whole curve.
    ///
    /// As `n` times the time is `one (1 + sigma (n - 1) + kappa n (n - 1))`, this is a linear
    /// problem, with one solution and no start value.
    ///
    /// `None` with fewer than [`LAW_POINTS_MIN`] different numbers of threads, if one of the times
    /// is none, or if no time on one thread above 0 fits.
    #[must_use]
    pub fn fit(times: &[(u32, f64)]) -> Option<Self> {
        let mut counts: Vec<u32> = times.iter().map(|(threads, _)| *threads).collect();
        counts.sort_unstable();
        counts.dedup();
        let is_sound = |(threads, time): &(u32, f64)| *threads > 0 && is_time(*time);
        if counts.len() < LAW_POINTS_MIN || !times.iter().all(is_sound) {
            return None;
        }
        // Each equation is divided by `n` times its time, so that errors are relative.
        let rows = times.iter().map(|&(threads, time)| {
            let n = f64::from(threads);
            [1.0, n - 1.0, n * (n - 1.0)].map(|term| term / (n * time))
        });
        let [one, shared, pairs] = least_squares(rows.collect())?;
        let law = Self { one, sigma: shared / one, kappa: pairs / one };
        (one > 0.0 && law.sigma.is_finite() && law.kappa.is_finite()).then_some(law)
    }

    /// How many times what one thread does `threads` threads do.
    #[must_use]
    pub fn capacity(&self, threads: f64) -> f64 {
        threads / (1.0 + self.sigma * (threads - 1.0) + self.kappa * threads * (threads - 1.0))
    }

    /// The time on so many threads.
    #[must_use]
    pub fn time(&self, threads: f64) -> f64 {
        self.one / self.capacity(threads)
    }

    /// The number of threads beyond which more threads do less; `None` if there is no such number.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        let peak = ((1.0 - self.sigma) / self.kappa).sqrt();
        (self.kappa > 0.0 && peak.is_finite()).then_some(peak.max(1.0))
    }
}

/// The coefficients `x` for which the sum of the squares of `rows · x - 1` is least, by modified
/// Gram and Schmidt; `None` if the columns do not determine them.
fn least_squares(mut rows: Vec<[f64; 3]>) -> Option<[f64; 3]> {
    // Columns of very different size would lose digits.
    let norm = |rows: &[[f64; 3]], k: usize| rows.iter().map(|r| r[k] * r[k]).sum::<f64>().sqrt();
    let scale: [f64; 3] = std::array::from_fn(|k| norm(&rows, k));
    rows.iter_mut().for_each(|row| (0..3).for_each(|k| row[k] /= scale[k]));
    let mut target = vec![1.0; rows.len()];
    let (mut upper, mut image) = ([[0.0; 3]; 3], [0.0; 3]);
    for k in 0..3 {
        upper[k][k] = norm(&rows, k);
        if upper[k][k] < 1e-12 {
            return None;
        }
        rows.iter_mut().for_each(|row| row[k] /= upper[k][k]);
        for j in k + 1..3 {
            upper[k][j] = rows.iter().map(|row| row[k] * row[j]).sum();
            rows.iter_mut().for_each(|row| row[j] -= upper[k][j] * row[k]);
        }
        image[k] = rows.iter().zip(&target).map(|(row, t)| row[k] * t).sum();
        target.iter_mut().zip(&rows).for_each(|(t, row)| *t -= image[k] * row[k]);
    }
    let mut x = [0.0; 3];
    for k in (0..3).rev() {
        let known: f64 = (k + 1..3).map(|j| upper[k][j] * x[j]).sum();
        x[k] = (image[k] - known) / upper[k][k];
    }
    Some(std::array::from_fn(|k| x[k] / scale[k]))
}

/// The law of one contender, with what the blocks say of its certainty.
///
/// The law is fitted to each block by itself, which gives as many estimates of each number as there
/// are blocks, and these have a centre and an interval as log-ratios have. Blocks of races on other
/// numbers of threads were raced at other times; the first of one is put together with the first of
/// the others, which is as good as any other pairing.
///
/// The interval is about the noise. That a contender does not follow the law at all is what
/// [`misfit`](Self::misfit) shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLaw {
    /// The centres of the blocks' laws.
    pub law: ScalabilityLaw,
    /// Its `sigma` with an interval.
    pub sigma: Estimate,
    /// Its `kappa` with an interval.
    pub kappa: Estimate,
    /// How far the farthest of the typical times lies from the law, as a ratio of at least 1.
    pub misfit: f64,
}

impl FittedLaw {
    /// Fits the law to the times of one contender on numbers of threads; `None` without a block
    /// that has enough of them, and if what is nearest to them has a time that is none.
    #[must_use]
    pub fn of(curve: &[(u32, BlockTimes)]) -> Option<Self> {
        let (_, first) = curve.first()?;
        let laws: Vec<ScalabilityLaw> = first
            .blocks()
            .filter_map(|block| {
                let time = |(threads, times): &(u32, BlockTimes)| {
                    Some((*threads, times.location_ns(block)?))
                };
                ScalabilityLaw::fit(&curve.iter().map(time).collect::<Option<Vec<_>>>()?)
            })
            .collect();
        let centre =
            |of: fn(&ScalabilityLaw) -> f64| Estimate::of(&laws.iter().map(of).collect::<Vec<_>>());
        let (sigma, kappa) = (centre(|law| law.sigma)?, centre(|law| law.kappa)?);
        let one = centre(|law| law.one.ln())?.point.exp();
        let law = ScalabilityLaw { one, sigma: sigma.point, kappa: kappa.point };
        // The nearest law to times that follow none may say that one of them is below 0, from which
        // no ratio tells how far it is off.
        if !curve.iter().all(|(threads, _)| is_time(law.time(f64::from(*threads)))) {
            return None;
        }
        let off = curve.iter().filter_map(|(threads, times)| {
            let ratio = times.typical_ns()? / law.time(f64::from(*threads));
            Some(ratio.max(1.0 / ratio))
        });
        Some(Self { law, sigma, kappa, misfit: off.fold(1.0, f64::max) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: ScalabilityLaw = ScalabilityLaw { one: 80.0, sigma: 0.03, kappa: 0.002 };

    fn exact(counts: &[u32]) -> Vec<(u32, f64)> {
        counts.iter().map(|&n| (n, LAW.time(f64::from(n)))).collect()
    }

    #[test]
    fn times_that_follow_a_law_give_it_back() {
        for counts in [&[1, 2, 4, 8][..], &[1, 2, 4, 8, 16, 32, 64, 128, 192], &[2, 3, 5, 7]] {
            let law = ScalabilityLaw::fit(&exact(counts)).unwrap();
            for (found, true_) in
                [(law.one, LAW.one), (law.sigma, LAW.sigma), (law.kappa, LAW.kappa)]
            {
                assert!((found / true_ - 1.0).abs() < 1e-9, "{counts:?}: {law:?}");
            }
        }
        assert!((LAW.peak().unwrap() - (0.97_f64 / 0.002).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_gets_no_slower_has_no_peak() {
        assert_eq!(ScalabilityLaw { kappa: 0.0, ..LAW }.peak(), None);
        assert_eq!(ScalabilityLaw { kappa: -0.001, ..LAW }.peak(), None);
        // Worse from the second thread on.
        assert_eq!(ScalabilityLaw { kappa: 2.0, ..LAW }.peak(), Some(1.0));
    }

    #[test]
    fn three_points_and_times_that_are_none_give_no_law() {
        assert_eq!(ScalabilityLaw::fit(&exact(&[1, 2, 4])), None);
        assert_eq!(ScalabilityLaw::fit(&exact(&[1, 2, 4, 4])), None);
        let mut broken = exact(&[1, 2, 4, 8]);
        broken[2].1 = 0.0;
        assert_eq!(ScalabilityLaw::fit(&broken), None);
    }

    #[test]
    fn times_that_no_law_is_near_have_none() {
        // On two threads forty times as long as on one and on four: the nearest law is less than
        // 2 % off at all others, and has a time below 0 there.
        let times = [(1, 0.22655), (2, 8.6023), (4, 0.15114), (8, 1.02446), (16, 2.9707)];
        let law = ScalabilityLaw::fit(&times).unwrap();
        assert!(law.time(2.0) < 0.0 && (law.time(4.0) / 0.15114 - 1.0).abs() < 0.02, "{law:?}");
        let curve =
            times.map(|(n, time)| (n, BlockTimes::new((0..6).map(|_| Some(time))).unwrap()));
        assert_eq!(FittedLaw::of(&curve), None);
    }

    #[test]
    fn the_misfit_is_the_farthest_time_on_either_side_of_the_law() {
        for factor in [0.9, 1.1] {
            let times: [(u32, f64); 12] = std::array::from_fn(|at| {
                let n = at as u32 + 1;
                let time = LAW.time(f64::from(n));
                (n, if n == 6 { factor * time } else { time })
            });
            let curve = times.map(|(n, time)| (n, BlockTimes::new([Some(time); 6]).unwrap()));
            let fitted = FittedLaw::of(&curve).unwrap();
            let ratios = times.map(|(n, time)| time / fitted.law.time(f64::from(n)));
            let above = ratios.into_iter().fold(0.0, f64::max);
            let below = 1.0 / ratios.into_iter().fold(f64::INFINITY, f64::min);
            assert_eq!(below > above, factor < 1.0, "{ratios:?}");
            assert!((fitted.misfit - above.max(below)).abs() < 1e-9, "{fitted:?}: {ratios:?}");
        }
    }

    #[test]
    fn blocks_without_all_numbers_of_threads_are_left_out() {
        let blocks = |n: u32, missing: Option<usize>| {
            let each = (0..6).map(|block| {
                (Some(block) != missing).then(|| LAW.time(f64::from(n)) * (1.0 + block as f64))
            });
            (n, BlockTimes::new(each).unwrap())
        };
        let curve = [blocks(1, None), blocks(2, Some(3)), blocks(4, None), blocks(8, None)];
        let fitted = FittedLaw::of(&curve).unwrap();
        assert_eq!(fitted.sigma.blocks, 5);
        assert!((fitted.law.sigma - LAW.sigma).abs() < 1e-9);
        assert!((fitted.law.kappa - LAW.kappa).abs() < 1e-9);
        assert_eq!(FittedLaw::of(&curve[..3]), None);
    }
}
