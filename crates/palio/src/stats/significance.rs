//! How surprising is a difference, alone and among many?

use super::blocks::BlockTimes;
use super::sign;

/// Largest number of blocks for which the signed-rank distribution is computed exactly.
const EXACT_MAX: usize = 64;

/// Two-sided p-value of "no difference between `a` and `b`": the larger one of the exact
/// signed-rank test and the exact sign test on the log-ratios of their blocks, as an interval here
/// is the outer of both. `None` without a block in common.
///
/// It knows no noise floor; a verdict needs both.
#[must_use]
pub fn p_value(a: &BlockTimes, b: &BlockTimes) -> Option<f64> {
    let differences = a.log_ratios(b);
    (!differences.is_empty()).then(|| signed_rank(&differences).max(sign_test(&differences)))
}

/// Holm's adjusted p-values, in the order of `p_values`: those of 0.05 or less stand together at
/// 95 %, however the tests depend on each other (Holm 1979).
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        largest = largest.max(left * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// The least that [`p_value`] can be with so many blocks: all differences on one side.
#[must_use]
pub fn least_p_value(blocks: usize) -> f64 {
    2.0_f64.powi(1 - i32::try_from(blocks).unwrap_or(i32::MAX)).min(1.0)
}

/// The fewest blocks with which any of `comparisons` can stand at `level` after Holm's correction,
/// if all have as many: the least p-value must stand for all of them.
#[must_use]
pub fn holm_blocks_min(comparisons: usize, level: f64) -> usize {
    let fits = |&blocks: &usize| comparisons as f64 * least_p_value(blocks) <= level;
    (1..).find(fits).unwrap_or(usize::MAX)
}

/// A difference of 0 counts for the smaller side: against a verdict.
fn sign_test(differences: &[f64]) -> f64 {
    let above = differences.iter().filter(|&&d| d > 0.0).count();
    let below = differences.iter().filter(|&&d| d < 0.0).count();
    let n = differences.len();
    (2.0 * sign::tail(n - above.max(below), n)).min(1.0)
}

/// By the number of pairwise averages on either side of 0, which is the rank sum.
fn signed_rank(differences: &[f64]) -> f64 {
    let n = differences.len();
    let (mut above, mut below) = (0_usize, 0_usize);
    for (i, a) in differences.iter().enumerate() {
        for b in &differences[i..] {
            above += usize::from(a + b > 0.0);
            below += usize::from(a + b < 0.0);
        }
    }
    let all = n * (n + 1) / 2;
    let statistic = all - above.max(below);
    if n > EXACT_MAX { approximate(n, statistic) } else { exact(n, statistic) }
}

/// Two-sided chance of a signed-rank statistic this small or smaller, by the normal distribution
/// with a correction for continuity.
fn approximate(n: usize, statistic: usize) -> f64 {
    let n = n as f64;
    let (mean, sd) = (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt());
    (2.0 * normal_tail((mean - 0.5 - statistic as f64) / sd)).min(1.0)
}

/// The same by counting all subsets.
fn exact(n: usize, statistic: usize) -> f64 {
    let all = n * (n + 1) / 2;
    // `chance[t]`: that a random subset of {1, ..., n} sums to t.
    let mut chance = vec![0.0; all + 1];
    chance[0] = 0.5_f64.powi(n as i32);
    for k in 1..=n {
        for t in (k..=all).rev() {
            chance[t] += chance[t - k];
        }
    }
    (2.0 * chance[..=statistic].iter().sum::<f64>()).min(1.0)
}

/// An upper bound of the normal distribution's tail beyond `z`, tight where it matters.
fn normal_tail(z: f64) -> f64 {
    if z <= 0.0 {
        return 1.0;
    }
    // Birnbaum's and Sampford's inequality.
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    (density * 4.0 / (3.0 * z + (z * z + 8.0).sqrt())).min(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(logs: &[f64]) -> f64 {
        let times = |logs: &[f64]| BlockTimes::new(logs.iter().map(|x| Some(x.exp()))).unwrap();
        p_value(&times(logs), &times(&vec![0.0; logs.len()])).unwrap()
    }

    #[test]
    fn clear_differences_have_the_smallest_possible_value() {
        for n in [5, 10, 15] {
            let logs: Vec<f64> = (1..=n).map(|x| 0.01 * f64::from(x)).collect();
            assert!((p(&logs) - 2.0 * 0.5_f64.powi(n)).abs() < 1e-12);
        }
        assert_eq!(p(&[0.0; 15]), 1.0);
    }

    #[test]
    fn the_more_cautious_of_two_tests_decides() {
        // Of ten signs eight are positive: 2 × 56 ÷ 1024. The ranks alone would say less.
        let logs = [-0.01, -0.02, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
        assert!((p(&logs) - 112.0 / 1024.0).abs() < 1e-12);
        // Nine of ten signs, but the tenth weighs most: T = 10, of 43 subsets.
        let logs = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, -1.0];
        assert!((p(&logs) - 2.0 * 43.0 / 1024.0).abs() < 1e-12, "{}", p(&logs) * 512.0);
    }

    #[test]
    fn many_blocks_are_no_problem() {
        let logs: Vec<f64> = (0..200).map(|x| f64::from(x % 7) - 1.5).collect();
        assert!((0.0..1e-3).contains(&p(&logs)), "{}", p(&logs));
    }

    /// It may ask for a little more than the exact test, and never for less.
    #[test]
    fn the_approximation_is_no_smaller_than_what_it_stands_for() {
        let n = EXACT_MAX + 1;
        for statistic in 0..n * (n + 1) / 4 {
            let (near, exact) = (approximate(n, statistic), exact(n, statistic));
            assert!(near >= exact, "{statistic}: {near} {exact}");
            let matters = (0.02..0.5).contains(&exact);
            assert!(near <= 1.05 * exact || !matters, "{statistic}: {near} {exact}");
        }
    }

    #[test]
    fn no_difference_is_clearer_than_the_least() {
        for n in 1..=30 {
            let least = p(&vec![1.0; n]);
            assert!((least_p_value(n) / least - 1.0).abs() < 1e-9, "{n}");
        }
        assert_eq!([least_p_value(0), least_p_value(1)], [1.0, 1.0]);
    }

    #[test]
    fn one_block_fewer_than_the_fewest_is_not_enough() {
        // One comparison: 2 ÷ 2^6 = 3.1 %. Forty: 80 ÷ 2^11 = 3.9 %.
        assert_eq!([1, 2, 40].map(|count| holm_blocks_min(count, 0.05)), [6, 7, 11]);
        for count in 1..300 {
            let blocks = holm_blocks_min(count, 0.05);
            let stands = |blocks| holm(&vec![least_p_value(blocks); count])[0] <= 0.05;
            assert!(stands(blocks) && !stands(blocks - 1), "{count}");
        }
    }

    #[test]
    fn holm_multiplies_by_what_is_left() {
        let adjusted = holm(&[0.04, 0.01, 0.03, 0.5]);
        let expected = [0.09, 0.04, 0.09, 0.5];
        assert!(adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{adjusted:?}");
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
