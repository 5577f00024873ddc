//! The one-sample signed-rank interval: where is the centre of a few paired differences?
//!
//! The estimate is the median of all Walsh averages `(d[i] + d[j]) / 2`, `i <= j` (Hodges and
//! Lehmann 1963); the interval is the set of centres that Wilcoxon's exact signed-rank test does
//! not reject (Hollander, Wolfe and Chicken 2014, chapter 3).

/// Half of the 5 % that a 95 % interval may miss, as the fraction 1/40: see [`cut`].
const TAIL_INVERSE: u128 = 40;

/// Largest number of differences whose exact null distribution is tabulated.
const EXACT_MAX: usize = 64;

/// `CUTS[n]`: see [`cut`].
static CUTS: [usize; EXACT_MAX + 1] = cuts();

/// Estimate and 95 % interval of the centre of `differences`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Centre {
    pub(super) point: f64,
    pub(super) lo: f64,
    pub(super) hi: f64,
}

impl Centre {
    /// The centre of `differences`; without limits where there are too few of them for 95 %
    /// (see [`cut`]). `None` if there is no difference at all.
    pub(super) fn of(differences: &[f64]) -> Option<Self> {
        let n = differences.len();
        if n == 0 {
            return None;
        }
        let mut walsh = Vec::with_capacity(n * (n + 1) / 2);
        for (i, &a) in differences.iter().enumerate() {
            walsh.extend(differences[i..].iter().map(|&b| f64::midpoint(a, b)));
        }
        let cut = cut(n);
        // Selection, not sorting: a report asks for thousands of these.
        let total = walsh.len();
        if cut == 0 {
            let point = select_median(&mut walsh);
            return Some(Self { point, lo: f64::NEG_INFINITY, hi: f64::INFINITY });
        }
        let (_, &mut lo, above) = walsh.select_nth_unstable_by(cut - 1, f64::total_cmp);
        let inner = total - 2 * cut + 1;
        let (between, &mut hi, _) = above.select_nth_unstable_by(inner - 1, f64::total_cmp);
        // What lies between the two limits is still centred on the median of the whole.
        let point = if between.is_empty() { f64::midpoint(lo, hi) } else { select_median(between) };
        Some(Self { point, lo, hi })
    }
}

/// How far in from either end of the sorted Walsh averages the limits of a 95 % interval lie:
/// the limits are the `cut`-th smallest and the `cut`-th largest, counted from 1.
///
/// 0 means that even the extreme averages do not reach far enough.
///
/// Five differences are a special case. Their extremes cover the centre of every continuous
/// symmetric distribution with probability 15/16 = 93.75 %, and no distribution-free interval
/// inside the data can do better, so the extremes are taken and the caller widens them
/// (see `RatioInterval`); four would start from 87.5 %, which no honest widening repairs.
fn cut(n: usize) -> usize {
    if let Some(&cut) = CUTS.get(n) {
        return cut;
    }
    // Normal approximation, with a continuity correction towards the wider interval; at 65
    // differences it is within one position of the exact value.
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    (mean - 1.959_963_984_540_054 * sd) as usize
}

/// The exact cuts: the largest `k` with `P(T <= k - 1) <= 1/40`, where `T` is the signed-rank
/// statistic under symmetry, that is the sum of a uniformly random subset of `{1, ..., n}`.
const fn cuts() -> [usize; EXACT_MAX + 1] {
    // The tail ends well below half of the largest sum.
    const SUMS: usize = EXACT_MAX * (EXACT_MAX + 1) / 4;
    let mut cuts = [0; EXACT_MAX + 1];
    // `subsets[t]`: how many subsets of {1, ..., n} sum to t, updated in place as n grows.
    let mut subsets = [0_u128; SUMS];
    subsets[0] = 1;
    let mut n = 1;
    while n <= EXACT_MAX {
        let mut t = SUMS - 1;
        while t >= n {
            subsets[t] += subsets[t - n];
            t -= 1;
        }
        let mut cumulative = subsets[0];
        while cumulative * TAIL_INVERSE <= 1 << n {
            cuts[n] += 1;
            cumulative += subsets[cuts[n]];
        }
        n += 1;
    }
    cuts[5] = 1;
    cuts
}

fn select_median(values: &mut [f64]) -> f64 {
    let n = values.len();
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_agree_with_the_published_table() {
        // Two-sided 5 % critical values of Wilcoxon's T are one less than the cut.
        let table =
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137)];
        for (n, critical) in table {
            assert_eq!(cut(n), critical + 1, "n = {n}");
        }
        assert_eq!([cut(0), cut(1), cut(2), cut(3), cut(4), cut(5)], [0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn the_approximation_continues_the_exact_table() {
        let step = CUTS[EXACT_MAX] - CUTS[EXACT_MAX - 1];
        assert!(cut(EXACT_MAX + 1).abs_diff(CUTS[EXACT_MAX] + step) <= 2);
    }

    #[test]
    fn an_even_count_between_the_limits_takes_both_middles() {
        let centre = Centre::of(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]).unwrap();
        let mut walsh = Vec::new();
        let d = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        for i in 0..d.len() {
            walsh.extend(d[i..].iter().map(|b| (d[i] + b) / 2.0));
        }
        walsh.sort_by(f64::total_cmp);
        assert_eq!(centre.point, f64::midpoint(walsh[13], walsh[14]));
        assert_eq!((centre.lo, centre.hi), (walsh[2], walsh[25]));
    }
}
