//! The ranks of contenders, some of which differ by less than the noise.

use super::blocks::BlockTimes;
use super::floor::{NoiseFloor, Side};
use super::ratio::RatioInterval;

/// One contender's place in a race. Ranks count from 1, the fastest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Best rank the data allow: 1 + the number of contenders reliably faster.
    pub lo: usize,
    /// Worst rank the data allow: all contenders less the number reliably slower.
    pub hi: usize,
    /// The shared rank: contenders whose intervals overlap have the same, and the next group
    /// continues after their number (1, 1, 3).
    pub rank: usize,
    /// Time relative to the best of the race; exactly 1 for the best itself, and `None` without
    /// a block in common with it. Slightly below 1 only where noise makes a cycle (see
    /// [`Ranking::best`]).
    pub ratio_to_best: Option<RatioInterval>,
}

/// All `ok` contenders of one race in order, with ties.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// One standing per contender, in the order in which they were given.
    pub standings: Vec<Standing>,
    /// Index of the contender to which ratios refer; `None` if no contender was measured.
    ///
    /// It is the one whose estimate is smaller than every other's in a direct comparison. If noise
    /// makes a cycle (a before b, b before c, c before a), it is the one that wins the most
    /// comparisons and, among equals, by most on average. The best is chosen by looking at the
    /// same data, so its lead is flattered when several are close (the winner's curse): the choice
    /// names a denominator and gives no rank. Ranks come from the pairwise intervals, which know
    /// nothing of it.
    pub best: Option<usize>,
}

impl Ranking {
    /// Ranks `contenders`, every pair compared over the blocks that both completed.
    ///
    /// One is *reliably faster* than another if the ratio between the two clears `floor` (see
    /// [`NoiseFloor::clears`]), so that no two are ranked apart by less than the floor. Intervals
    /// are pairwise: the chance of a false separation somewhere among many equal contenders is
    /// larger than for one pair (simulated in `docs/methodology.md`).
    #[must_use]
    pub fn of(contenders: &[BlockTimes], floor: &NoiseFloor) -> Self {
        Self::with_floors(contenders, &vec![*floor; contenders.len()])
    }

    /// The same where every contender has a floor of its own: that of a pair is the wider of both.
    #[must_use]
    pub fn with_floors(contenders: &[BlockTimes], floors: &[NoiseFloor]) -> Self {
        let pairs = Pairs::compare(contenders, floors);
        let n = contenders.len();
        let bounds: Vec<(usize, usize)> = (0..n)
            .map(|i| {
                let faster = (0..n).filter(|&j| pairs.is_faster(j, i)).count();
                let slower = (0..n).filter(|&j| pairs.is_faster(i, j)).count();
                (1 + faster, n - slower)
            })
            .collect();
        let ranks = shared_ranks(&bounds, &pairs);
        let best = pairs.best().filter(|&best| contenders[best].measured() > 0);
        let standings = (0..n)
            .map(|i| Standing {
                lo: bounds[i].0,
                hi: bounds[i].1,
                rank: ranks[i],
                ratio_to_best: best.and_then(|best| {
                    if i == best {
                        Some(RatioInterval::identity(contenders[i].measured()))
                    } else {
                        pairs.ratio(i, best)
                    }
                }),
            })
            .collect();
        Self { standings, best }
    }
}

/// The comparison of every contender with every other, each computed once.
struct Pairs {
    n: usize,
    // Row-major n x n; the diagonal is `None`.
    ratios: Vec<Option<RatioInterval>>,
    sides: Vec<Option<Side>>,
}

impl Pairs {
    fn compare(contenders: &[BlockTimes], floors: &[NoiseFloor]) -> Self {
        let n = contenders.len();
        let mut pairs = Self { n, ratios: vec![None; n * n], sides: vec![None; n * n] };
        for i in 0..n {
            for j in i + 1..n {
                let Some(ratio) = RatioInterval::between(&contenders[i], &contenders[j]) else {
                    continue;
                };
                pairs.ratios[i * n + j] = Some(ratio);
                pairs.ratios[j * n + i] = Some(ratio.inverse());
                let side = floors[i].with(&floors[j]).side(&ratio);
                pairs.sides[i * n + j] = side;
                pairs.sides[j * n + i] = side.map(|side| match side {
                    Side::Faster => Side::Slower,
                    Side::Slower => Side::Faster,
                });
            }
        }
        pairs
    }

    fn ratio(&self, i: usize, j: usize) -> Option<RatioInterval> {
        self.ratios[i * self.n + j]
    }

    fn is_faster(&self, i: usize, j: usize) -> bool {
        self.sides[i * self.n + j] == Some(Side::Faster)
    }

    fn best(&self) -> Option<usize> {
        let standing = |i: usize| {
            let points = || (0..self.n).filter_map(move |j| self.ratio(i, j)).map(|r| r.point);
            let wins = points().filter(|&point| point < 1.0).count();
            let score: f64 = points().map(f64::ln).sum();
            (wins, score)
        };
        // Equal contenders: the first one given, so that the choice does not wander.
        (0..self.n)
            .map(|i| (i, standing(i)))
            .reduce(|best, next| {
                let (wins, score) = next.1;
                let ahead = wins > best.1.0 || (wins == best.1.0 && score < best.1.1);
                if ahead { next } else { best }
            })
            .map(|(i, _)| i)
    }
}

/// Splits the field wherever everyone before the split is reliably faster than everyone after it.
///
/// Then all rank intervals before the split end before those after it begin, and two contenders
/// with different ranks have always been told apart directly. "Not told apart" is not transitive,
/// so a chain of small steps shares one rank although its ends differ; the interval `lo..=hi` is
/// what tells them apart.
fn shared_ranks(bounds: &[(usize, usize)], pairs: &Pairs) -> Vec<usize> {
    let mut order: Vec<usize> = (0..bounds.len()).collect();
    order.sort_by_key(|&i| bounds[i]);
    let mut ranks = vec![1; bounds.len()];
    let mut rank = 1;
    for (position, &i) in order.iter().enumerate() {
        let (before, after) = order.split_at(position);
        if before.iter().all(|&a| after.iter().all(|&b| pairs.is_faster(a, b))) {
            rank = position + 1;
        }
        ranks[i] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contenders whose times differ by exact factors in every block, under a common drift.
    fn field(factors: &[f64], blocks: usize) -> Vec<BlockTimes> {
        let drift = |block: usize| 1.0 + 0.1 * (block as f64).sin();
        factors
            .iter()
            .map(|f| BlockTimes::new((0..blocks).map(|b| Some(f * 1e6 * drift(b)))).unwrap())
            .collect()
    }

    fn quiet() -> NoiseFloor {
        let twins = field(&[1.0, 1.0], 5);
        NoiseFloor::measure(&twins[0], &twins[1])
    }

    fn places(ranking: &Ranking) -> Vec<(usize, usize, usize)> {
        ranking.standings.iter().map(|s| (s.lo, s.hi, s.rank)).collect()
    }

    #[test]
    fn clear_distances_give_single_ranks() {
        let ranking = Ranking::of(&field(&[1.5, 1.0, 3.0], 5), &quiet());
        assert_eq!(places(&ranking), [(2, 2, 2), (1, 1, 1), (3, 3, 3)]);
        assert_eq!(ranking.best, Some(1));
        let to_best = ranking.standings[2].ratio_to_best.unwrap();
        assert!((to_best.point - 3.0).abs() < 1e-12 && to_best.blocks == 5);
        assert_eq!(ranking.standings[1].ratio_to_best, Some(RatioInterval::identity(5)));
    }

    #[test]
    fn a_distance_below_the_floor_is_a_tie() {
        let ranking = Ranking::of(&field(&[1.0, 1.009, 1.3], 5), &quiet());
        assert_eq!(places(&ranking), [(1, 2, 1), (1, 2, 1), (3, 3, 3)]);
    }

    #[test]
    fn a_chain_of_ties_shares_a_rank_and_shows_its_ends_in_the_intervals() {
        let ranking = Ranking::of(&field(&[1.0, 1.008, 1.016], 5), &quiet());
        assert_eq!(places(&ranking), [(1, 2, 1), (1, 3, 1), (2, 3, 1)]);
    }

    #[test]
    fn a_noisy_contender_is_not_ranked_apart_by_less_than_its_own_floor() {
        let noisy = BlockTimes::new([1.0, 1.2, 1.0, 0.8, 1.0].map(Some)).unwrap();
        let noisy = NoiseFloor::measure(&field(&[1.0], 5)[0], &noisy);
        let field = field(&[1.0, 1.1, 1.1], 5);
        let bounds = |ranking: Ranking| {
            ranking.standings.iter().map(|standing| (standing.lo, standing.hi)).collect::<Vec<_>>()
        };
        assert_eq!(bounds(Ranking::of(&field, &quiet())), [(1, 1), (2, 3), (2, 3)]);
        let ranking = Ranking::with_floors(&field, &[quiet(), noisy, quiet()]);
        assert_eq!(bounds(ranking), [(1, 2), (1, 3), (2, 3)]);
    }

    #[test]
    fn with_an_unknown_floor_or_too_few_blocks_all_share_the_first_rank() {
        let all_tied = [(1, 3, 1); 3];
        let clear = field(&[1.0, 2.0, 3.0], 5);
        assert_eq!(places(&Ranking::of(&clear, &NoiseFloor::unknown())), all_tied);
        for blocks in 1..5 {
            assert_eq!(places(&Ranking::of(&field(&[1.0, 2.0, 3.0], blocks), &quiet())), all_tied);
        }
    }

    #[test]
    fn nobody_and_nothing_measured() {
        assert_eq!(Ranking::of(&[], &quiet()), Ranking { standings: vec![], best: None });
        let absent = BlockTimes::new([None, None]).unwrap();
        let ranking = Ranking::of(&[absent], &quiet());
        assert_eq!((ranking.best, ranking.standings[0].ratio_to_best), (None, None));
    }

    #[test]
    fn a_contender_without_common_blocks_is_ranked_by_nothing() {
        let mut contenders = field(&[1.0, 2.0], 5);
        contenders.push(BlockTimes::new([None; 5]).unwrap());
        let ranking = Ranking::of(&contenders, &quiet());
        assert_eq!(ranking.best, Some(0));
        assert_eq!(places(&ranking)[2], (1, 3, 1));
        assert_eq!(ranking.standings[2].ratio_to_best, None);
    }
}
