//! The statistics agree with NumPy and SciPy, which got to the same numbers another way:
//! see `golden/generate.py`.

use palio::stats::{BlockTimes, NoiseFloor, RatioInterval, Summary, Totals};

const GOLDEN: &str = include_str!("golden/stats.csv");

/// One line of the fixture: its name, and its groups of numbers (`None` where one is missing).
struct Case {
    name: &'static str,
    groups: Vec<Vec<Option<f64>>>,
}

impl Case {
    fn of_kind(kind: &str) -> Vec<Self> {
        let cases: Vec<Self> = GOLDEN
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split(',').collect::<Vec<_>>())
            .filter(|fields| fields[0] == kind)
            .map(|fields| Self {
                name: fields[1],
                groups: fields[2..].iter().map(|group| numbers(group)).collect(),
            })
            .collect();
        assert!(!cases.is_empty(), "no golden case of kind {kind}");
        cases
    }

    fn complete(&self, group: usize) -> Vec<f64> {
        self.groups[group].iter().map(|x| x.expect("a number")).collect()
    }

    fn times(&self, group: usize) -> BlockTimes {
        BlockTimes::new(self.groups[group].iter().copied()).unwrap()
    }

    fn check(&self, got: &[f64], group: usize) {
        let want = self.complete(group);
        assert_eq!(got.len(), want.len(), "{}", self.name);
        for (i, (g, w)) in got.iter().zip(&want).enumerate() {
            let close = g == w || (g - w).abs() <= 1e-11 * w.abs();
            assert!(close, "{}: number {i} is {g}, SciPy has {w}", self.name);
        }
    }
}

fn numbers(group: &str) -> Vec<Option<f64>> {
    group.split(' ').map(|x| (x != "-").then(|| x.parse().expect("a number"))).collect()
}

#[test]
fn summaries() {
    for case in Case::of_kind("summary") {
        let samples = case.complete(0);
        let s = Summary::of(&samples).unwrap();
        assert_eq!(s.n, samples.len());
        let got =
            [s.min_ns, s.q1_ns, s.median_ns, s.q3_ns, s.max_ns, s.mean_ns, s.mad_ns, s.spread()];
        case.check(&got, 1);
    }
}

#[test]
fn ratios() {
    for case in Case::of_kind("ratio") {
        let r = RatioInterval::between(&case.times(0), &case.times(1)).unwrap();
        case.check(&[r.point, r.lo, r.hi, r.blocks as f64], 2);
    }
}

#[test]
fn noise_floors() {
    for case in Case::of_kind("floor") {
        let floor = NoiseFloor::measure(&case.times(0), &case.times(1));
        case.check(&[floor.ratio(), floor.bias()], 2);
    }
}

#[test]
fn totals() {
    for case in Case::of_kind("totals") {
        let contenders = case.groups[1].len();
        let races: Vec<_> = case.groups[0].chunks(contenders).map(<[_]>::to_vec).collect();
        let totals = Totals::of(contenders, &races).unwrap();
        let means = |mean: fn(&palio::stats::Total) -> Option<f64>| {
            totals.totals.iter().map(|t| mean(t).unwrap()).collect::<Vec<_>>()
        };
        case.check(&means(|t| t.geometric_mean), 1);
        case.check(&means(|t| t.arithmetic_mean), 2);
    }
}
