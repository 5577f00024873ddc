//! The sign interval: where is the median of a few paired differences, whatever their shape?
//!
//! Its limits are order statistics of the differences. It is the set of medians that the exact
//! sign test does not reject, and assumes nothing but independence: neither symmetry, nor one
//! mode, nor equal spread (Hollander, Wolfe and Chicken 2014, chapter 3).

/// Largest number of differences for which the binomial distribution is summed.
const EXACT_MAX: usize = 1000;

/// The 95 % interval of the median of `differences`; without limits below five of them.
///
/// Of five, the extremes are taken, which cover the median with probability 15/16 = 93.75 %.
pub(super) fn limits(differences: &[f64]) -> (f64, f64) {
    let mut sorted = differences.to_vec();
    sorted.sort_by(f64::total_cmp);
    match cut(sorted.len()) {
        0 => (f64::NEG_INFINITY, f64::INFINITY),
        cut => (sorted[cut - 1], sorted[sorted.len() - cut]),
    }
}

/// How far in from either end the limits lie, counted from 1; 0 where even the extremes do not
/// reach far enough. It is the largest `k` for which at most `k - 1` of `n` fair coins show heads
/// with probability 1/40 or less.
fn cut(n: usize) -> usize {
    if n == 5 {
        return 1;
    }
    if n > EXACT_MAX {
        // The normal approximation, rounded towards the wider interval.
        let n = n as f64;
        return (n / 2.0 - 1.96 / 2.0 * n.sqrt()) as usize;
    }
    let mut cut = 0;
    while tail(cut, n) <= 1.0 / 40.0 {
        cut += 1;
    }
    cut
}

/// Probability that at most `heads` of `n` fair coins show heads.
pub(super) fn tail(heads: usize, n: usize) -> f64 {
    let mut term = 0.5_f64.powi(n as i32);
    let mut sum = term;
    for k in 1..=heads.min(n) {
        term *= (n - k + 1) as f64 / k as f64;
        sum += term;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_agree_with_the_published_table() {
        let table = [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10)];
        for (n, expected) in table {
            assert_eq!(cut(n), expected, "n = {n}");
        }
        assert_eq!([0, 1, 2, 3, 4, 5].map(cut), [0, 0, 0, 0, 0, 1]);
        assert!(cut(EXACT_MAX + 1).abs_diff(cut(EXACT_MAX)) <= 2);
    }

    #[test]
    fn the_limits_are_order_statistics() {
        let differences = [9.0, 2.0, 4.0, 1.0, 3.0, 8.0, 5.0, 7.0, 6.0, 10.0];
        assert_eq!(limits(&differences), (2.0, 9.0));
        assert_eq!(limits(&differences[..4]), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
