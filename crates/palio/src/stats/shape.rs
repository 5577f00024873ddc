//! What a median hides: samples far off the others, and samples that fall into two groups.
//!
//! Both describe the samples that there are and test nothing: samples of one process share its
//! luck, so that two groups may be two kinds of processes.

use super::quantile;

/// Fewest samples of which a shape is told.
const SAMPLES_MIN: usize = 20;
/// How many interquartile ranges beyond the quartiles a sample is far off (Tukey's outer fence).
const FENCE: f64 = 3.0;
/// An interquartile range below this, of the logarithm, is taken for this: a clock's steps are no
/// shape.
const SPREAD_MIN: f64 = 0.001;
/// More than this share, and two samples at least, are outliers worth a mark.
const FAR_SHARE_MIN: f64 = 0.01;
/// The smaller of two groups has at least this share of the samples.
const GROUP_SHARE_MIN: f64 = 0.2;
/// How many standard deviations lie between the means of two groups. Halves of a uniform
/// distribution have 3.5, of a normal one 2.7.
const SEPARATION_MIN: f64 = 6.0;
/// The empty interval between two groups, as a share of the distance of their means.
const GAP_MIN: f64 = 0.3;
/// Groups closer than this factor concern nobody.
const FACTOR_MIN: f64 = 1.1;

/// Samples as their distribution shows them, compared by their logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shape {
    /// How many samples are far off the others; 0 where they are too few to matter.
    pub outliers: usize,
    pub groups: Option<Groups>,
}

/// Two groups with nothing between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groups {
    /// The share of the samples in the lower group.
    pub lower_share: f64,
    /// The geometric mean of each.
    pub lower: f64,
    pub upper: f64,
}

impl Shape {
    /// The shape of positive samples; of few there is none.
    #[must_use]
    pub fn of(samples: &[f64]) -> Self {
        let mut logs: Vec<f64> = samples.iter().filter(|x| **x > 0.0).map(|x| x.ln()).collect();
        if logs.len() < SAMPLES_MIN {
            return Self::default();
        }
        logs.sort_by(f64::total_cmp);
        let groups = groups(&logs);
        // Of two groups the smaller one is no outlier of the other.
        let outliers = if groups.is_some() { 0 } else { outliers(&logs) };
        Self { outliers, groups }
    }
}

fn outliers(logs: &[f64]) -> usize {
    let (low, high) = (quantile(logs, 0.25), quantile(logs, 0.75));
    let reach = FENCE * (high - low).max(SPREAD_MIN);
    let far = logs.iter().filter(|x| **x < low - reach || **x > high + reach).count();
    if far >= 2 && far as f64 > FAR_SHARE_MIN * logs.len() as f64 { far } else { 0 }
}

/// The two groups with the least variance within, if they are far enough apart.
fn groups(logs: &[f64]) -> Option<Groups> {
    let n = logs.len();
    // Sums of what lies below each place, about the mean so that no digits are lost.
    let centre = logs.iter().sum::<f64>() / n as f64;
    let mut sums = vec![(0.0, 0.0)];
    for x in logs {
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + (x - centre), squares + (x - centre).powi(2)));
    }
    let part = |from: usize, to: usize| {
        let count = (to - from) as f64;
        let mean = (sums[to].0 - sums[from].0) / count;
        let squares = (sums[to].1 - sums[from].1 - count * mean * mean).max(0.0);
        Part { mean: mean + centre, squares, count }
    };
    let least = ((n as f64 * GROUP_SHARE_MIN).ceil() as usize).max(1);
    let best = (least..=n - least)
        .map(|at| (at, part(0, at), part(at, n)))
        .min_by(|a, b| (a.1.squares + a.2.squares).total_cmp(&(b.1.squares + b.2.squares)));
    let (at, lower, upper) = best?;
    let distance = upper.mean - lower.mean;
    let deviation = f64::midpoint(lower.variance(), upper.variance()).sqrt();
    let is_apart = distance > FACTOR_MIN.ln()
        && distance > SEPARATION_MIN * deviation
        && logs[at] - logs[at - 1] > GAP_MIN * distance;
    is_apart.then(|| Groups {
        lower_share: at as f64 / n as f64,
        lower: lower.mean.exp(),
        upper: upper.mean.exp(),
    })
}

/// A run of sorted logarithms.
struct Part {
    mean: f64,
    /// Sum of the squared deviations.
    squares: f64,
    count: f64,
}

impl Part {
    fn variance(&self) -> f64 {
        self.squares / self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evenly spaced quantiles of a uniform distribution.
    fn uniform(n: usize, from: f64, to: f64) -> Vec<f64> {
        (0..n).map(|i| from + (to - from) * (i as f64 + 0.5) / n as f64).collect()
    }

    #[test]
    fn one_hump_has_no_shape() {
        for samples in [uniform(50, 100.0, 110.0), uniform(50, 100.0, 400.0), vec![7.0; 50]] {
            assert_eq!(Shape::of(&samples), Shape::default());
        }
    }

    #[test]
    fn two_groups_are_told_with_their_shares() {
        let samples = [uniform(15, 99.0, 101.0), uniform(35, 198.0, 202.0)].concat();
        let shape = Shape::of(&samples);
        let groups = shape.groups.unwrap();
        assert!((groups.lower_share - 0.3).abs() < 1e-9);
        assert!((groups.lower - 100.0).abs() < 0.1 && (groups.upper - 200.0).abs() < 0.1);
        assert_eq!(shape.outliers, 0);
        // Too near to each other, or one of them too small to be a group.
        let near = [uniform(25, 100.0, 100.1), uniform(25, 105.0, 105.1)].concat();
        assert_eq!(Shape::of(&near).groups, None);
        for n in [4, 9] {
            let few = [uniform(50 - n, 99.0, 101.0), uniform(n, 198.0, 202.0)].concat();
            assert_eq!(Shape::of(&few), Shape { outliers: n, groups: None });
        }
        // Near, and far enough.
        let near = [uniform(25, 100.0, 100.1), uniform(25, 115.0, 115.1)].concat();
        assert!(Shape::of(&near).groups.is_some());
    }

    #[test]
    fn what_is_wide_or_has_samples_between_is_no_two_groups() {
        // Their means are five standard deviations apart.
        let wide = [uniform(25, 100.0, 110.0), uniform(25, 115.0, 126.5)].concat();
        assert_eq!(Shape::of(&wide), Shape::default());
        let between = vec![104.0, 108.0, 112.0, 116.0];
        let tight = [uniform(45, 100.0, 100.1), uniform(45, 120.0, 120.1)].concat();
        assert!(Shape::of(&tight).groups.is_some());
        assert_eq!(Shape::of(&[tight, between].concat()), Shape::default());
    }

    #[test]
    fn a_clock_s_steps_are_no_outliers() {
        let with = |far: f64| Shape::of(&[vec![1_000.0; 48], vec![far; 2]].concat()).outliers;
        assert_eq!([1_002.0, 998.0, 1_004.0, 996.0].map(with), [0, 0, 2, 2]);
    }

    #[test]
    fn one_far_sample_is_no_mark_and_few_samples_have_no_shape() {
        let mut samples = uniform(99, 100.0, 110.0);
        samples.push(1_000.0);
        assert_eq!(Shape::of(&samples).outliers, 0);
        // Nor where it is more than the share.
        assert_eq!(Shape::of(&samples[50..]).outliers, 0);
        samples.push(1_000.0);
        assert_eq!(Shape::of(&samples).outliers, 2);
        assert_eq!(Shape::of(&samples[85..]), Shape::default());
    }
}
