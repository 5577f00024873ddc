//! Does noise last from one block to the next?

use super::blocks::BlockTimes;
use super::significance::holm;

/// Fewest blocks of which this is asked. Of 8 blocks 2 orders in 40,320 are as even as can be, so
/// that up to 200 comparisons of a race can reach its level together; of 7, 25 could.
pub const PERSISTENCE_BLOCKS_MIN: usize = 8;

/// How often one race or more of a hundred may raise the alarm without cause.
const LEVEL: f64 = 0.01;

/// Steps of the integral below; it is smooth, so that these give six digits or more.
const STEPS: u32 = 512;

/// Whether neighbouring blocks of a comparison are alike: what every interval here assumes that
/// they are not.
///
/// From the log-ratios of two contenders in the order of their blocks: the serial correlation of
/// their ranks, `1 - RVN / 2`, where `RVN` is von Neumann's ratio of ranks (Bartels 1982), the sum
/// of the squared steps between neighbours over that of the squared distances from the mean. If
/// blocks are exchangeable, every order of them is as likely as any other, whatever the noise: the
/// mean is then exactly 0, where that of the usual correlation is `-1 / (n - 1)`, and its
/// distribution depends on the number of blocks alone. Ranks, so that one ruined block hides
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Persistence {
    /// Near 0 for independent blocks, near 1 for those that change slowly.
    pub correlation: f64,
    /// How likely as much or more is among independent blocks.
    pub p: f64,
    pub blocks: usize,
}

impl Persistence {
    /// Of the ratio of two contenders, over the blocks in which both were measured; `None` with
    /// fewer than [`PERSISTENCE_BLOCKS_MIN`], and where all ratios are the same.
    #[must_use]
    pub fn between(contender: &BlockTimes, reference: &BlockTimes) -> Option<Self> {
        Self::of(&contender.log_ratios(reference))
    }

    fn of(series: &[f64]) -> Option<Self> {
        let blocks = series.len();
        if blocks < PERSISTENCE_BLOCKS_MIN {
            return None;
        }
        let ranks = ranks(series);
        let mean = (blocks + 1) as f64 / 2.0;
        let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
        let steps: f64 = ranks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let correlation = 1.0 - steps / (2.0 * spread);
        // Without a spread it is no number.
        (spread > 0.0).then(|| Self { correlation, p: p_value(correlation, &ranks), blocks })
    }

    /// Which comparisons of one race raise the alarm, each under the correction for all of them
    /// (Holm 1979): if all of them are independent, one does in at most a hundredth of all races.
    #[must_use]
    pub fn alarms(race: &[Option<Self>]) -> Vec<bool> {
        let values: Vec<f64> = race.iter().flatten().map(|persistence| persistence.p).collect();
        let mut adjusted = holm(&values).into_iter();
        let is_clear = |known: &Option<Self>| {
            known.is_some() && adjusted.next().is_some_and(|value| value <= LEVEL)
        };
        race.iter().map(is_clear).collect()
    }
}

/// Ranks from 1; those that are equal share theirs.
fn ranks(series: &[f64]) -> Vec<f64> {
    let rank = |x: &f64| {
        let (below, same) = series.iter().fold((0, 0), |(below, same), other| {
            (below + usize::from(other < x), same + usize::from(other == x))
        });
        below as f64 + (same + 1) as f64 / 2.0
    };
    series.iter().map(rank).collect()
}

/// The chance of as large a correlation of the ranks of exchangeable blocks, or a larger one.
///
/// By Bartels' approximation: a density in proportion to `(1 - r²)^(a - 1)`, with the exact
/// variance. A test below compares it with the exact distribution. It is one of ranks that differ;
/// of few values there are few orders, none of which is less likely than one of so many.
fn p_value(correlation: f64, ranks: &[f64]) -> f64 {
    let n = ranks.len() as f64;
    let variance =
        (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0).powi(2));
    let a = (1.0 / variance - 1.0) / 2.0;
    // With r = cos u the density is a power of the sine, which ends smoothly.
    let power = 2.0 * a - 1.0;
    let upper = correlation.clamp(-1.0, 1.0).acos();
    let near = integral(upper, power) / integral(std::f64::consts::PI, power);
    // Two orders, up and down, are as even as can be. Blocks with the same value change places
    // without another order.
    let least =
        2.0 / (1..=ranks.len()).map(|place| place as f64 / alike(ranks, place)).product::<f64>();
    near.clamp(least.min(1.0), 1.0)
}

/// How many of the first so many ranks are as the last of these, itself included: the product over
/// all places is that of the numbers of orders of those that are alike.
fn alike(ranks: &[f64], place: usize) -> f64 {
    let last = ranks[place - 1];
    ranks[..place].iter().filter(|rank| **rank == last).count() as f64
}

/// Of `sin(u)^power` from 0 to `upper`, by Simpson's rule.
fn integral(upper: f64, power: f64) -> f64 {
    let step = upper / f64::from(STEPS);
    let weighted = |index: u32| {
        let weight =
            if index == 0 || index == STEPS { 1.0 } else { f64::from(2 + 2 * (index % 2)) };
        weight * (step * f64::from(index)).sin().abs().powf(power)
    };
    (0..=STEPS).map(weighted).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(series: &[f64]) -> Persistence {
        Persistence::of(series).unwrap()
    }

    fn numbers(ranks: &[u32]) -> Vec<f64> {
        ranks.iter().copied().map(f64::from).collect()
    }

    fn in_order(n: usize) -> Vec<f64> {
        (1..=n).map(|rank| rank as f64).collect()
    }

    /// How many orders of `n` blocks there are, by their sum of squared steps; the orders of the
    /// chosen ones, by which of them is last.
    fn orders_by_steps(n: usize) -> Vec<f64> {
        let most = n * n * n;
        let mut known = vec![vec![Vec::new(); n]; 1 << n];
        for last in 0..n {
            known[1 << last][last] = vec![0.0; most];
            known[1 << last][last][0] = 1.0;
        }
        for chosen in 1..1 << n {
            for last in 0..n {
                let before = std::mem::take(&mut known[chosen][last]);
                if chosen == (1 << n) - 1 {
                    known[chosen][last] = before;
                    continue;
                }
                for next in (0..n).filter(|next| chosen >> next & 1 == 0 && !before.is_empty()) {
                    let step = next.abs_diff(last).pow(2);
                    let after = &mut known[chosen | 1 << next][next];
                    after.resize(most, 0.0);
                    for (sum, orders) in before.iter().enumerate().filter(|(_, o)| **o > 0.0) {
                        after[sum + step] += orders;
                    }
                }
            }
        }
        let all = &known[(1 << n) - 1];
        (0..most).map(|sum| all.iter().map(|of_last| of_last[sum]).sum()).collect()
    }

    #[test]
    fn the_approximation_agrees_with_all_orders() {
        for n in [8, 9, 10] {
            let orders = orders_by_steps(n);
            let all: f64 = orders.iter().sum();
            assert_eq!(all, (1..=n).map(|k| k as f64).product::<f64>());
            let spread = (n * (n * n - 1)) as f64 / 12.0;
            let mut exact = 0.0;
            for (steps, count) in orders.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                exact += count / all;
                let near = p_value(1.0 - steps as f64 / (2.0 * spread), &in_order(n));
                // Too small a chance is a false alarm, too large a one an alarm that is missing.
                let (least, most) = (0.85 * exact, 1.6 * exact + 1e-4);
                assert!(near >= least && near <= most, "{n}, {steps}: {near} and {exact}");
            }
        }
    }

    #[test]
    fn a_series_of_each_kind() {
        // In order, by turns from both ends, and mixed.
        let lasting = of(&numbers(&[1, 2, 3, 4, 5, 6, 7, 8]));
        assert!((lasting.correlation - (1.0 - 7.0 / 84.0)).abs() < 1e-12);
        assert!(lasting.p < 1e-4 && lasting.blocks == 8, "{lasting:?}");
        let turning = of(&numbers(&[1, 8, 2, 7, 3, 6, 4, 5]));
        assert!(turning.correlation < -0.6 && turning.p > 0.95, "{turning:?}");
        let mixed = of(&numbers(&[3, 7, 2, 4, 8, 5, 6, 1]));
        assert!((0.2..0.9).contains(&mixed.p), "{mixed:?}");
        let waves: Vec<f64> = (0..16).map(|block| (f64::from(block) / 3.0).sin()).collect();
        assert!(of(&waves).p < 1e-3);
        let mut ruined = waves;
        ruined[7] = 1e6;
        assert!(of(&ruined).p < 0.01, "one ruined block hides nothing: {:?}", of(&ruined));
    }

    #[test]
    fn few_blocks_and_one_value_say_nothing() {
        assert_eq!(Persistence::of(&numbers(&[1, 2, 3, 4, 5, 6, 7])), None);
        assert_eq!(Persistence::of(&[0.0; 20]), None);
        assert_eq!(Persistence::of(&[]), None);
        // Two values, each in half of the blocks: first the one, then the other.
        let halves = of(&[vec![1.0; 8], vec![2.0; 8]].concat());
        assert!(halves.correlation > 0.8 && halves.correlation < 1.0, "{halves:?}");
    }

    /// Counts, such as polls, are often the same. Of 105 places of two blocks among 15, two have
    /// both at one end; of 45 among 10, two.
    #[test]
    fn few_values_are_no_alarm() {
        for (n, places) in [(15, 105.0), (10, 45.0)] {
            let last = of(&[vec![0.0; n - 2], vec![1.0; 2]].concat());
            assert!(last.p >= 0.999 * 2.0 / places, "{n}: {last:?}");
        }
    }

    #[test]
    fn more_comparisons_ask_for_more() {
        let with = |p: f64| Some(Persistence { correlation: 0.5, p, blocks: 15 });
        assert_eq!(Persistence::alarms(&[with(0.009)]), [true]);
        assert_eq!(Persistence::alarms(&[with(0.009), with(0.8)]), [false, false]);
        // The second one is held against what is left, and those that are not known do not count.
        let race = [with(0.009), None, with(0.001), with(0.002), None];
        assert_eq!(Persistence::alarms(&race), [true, false, true, true, false]);
    }
}
