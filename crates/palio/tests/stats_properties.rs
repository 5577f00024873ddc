//! What must hold for any times at all, not only for plausible ones.

use palio::stats::{
    BlockTimes, EquivalenceMargin, NoiseFloor, Ranking, RatioInterval, Summary, Totals, Verdict,
    location_ns,
};
use proptest::prelude::*;
use proptest::sample::subsequence;

/// Locations of several contenders over the same blocks: `field[contender][block]`.
type Field = Vec<Vec<Option<f64>>>;

/// A plausible race: contenders up to 30 % apart, noise of a few percent, now and then a failure.
fn field(contenders: usize) -> impl Strategy<Value = Field> {
    (1..20_usize, prop::collection::vec(1.0..1.3_f64, contenders)).prop_flat_map(
        |(blocks, speeds)| {
            let times = |speed: f64| {
                let time = prop_oneof![
                    1 => Just(None),
                    15 => (0.95..1.05_f64).prop_map(move |noise| Some(1e6 * speed * noise)),
                ];
                prop::collection::vec(time, blocks)
            };
            speeds.into_iter().map(times).collect::<Vec<_>>()
        },
    )
}

fn block_times(locations: &[Option<f64>]) -> BlockTimes {
    BlockTimes::new(locations.iter().copied()).unwrap()
}

fn all(field: &Field) -> Vec<BlockTimes> {
    field.iter().map(|locations| block_times(locations)).collect()
}

fn verdict(ratio: &RatioInterval, floor: &NoiseFloor) -> Verdict {
    Verdict::of(ratio, floor, EquivalenceMargin::default())
}

fn assert_close(a: RatioInterval, b: RatioInterval) {
    let close = |x: f64, y: f64| x == y || (x - y).abs() <= 1e-9 * y.abs();
    assert!(close(a.point, b.point) && close(a.lo, b.lo) && close(a.hi, b.hi), "{a:?} {b:?}");
    assert_eq!(a.blocks, b.blocks);
}

/// Floor, verdict on the third contender, and ranking of all but the shadow.
fn judge(times: &[BlockTimes]) -> (NoiseFloor, Option<(RatioInterval, Verdict)>, Ranking) {
    let floor = NoiseFloor::measure(&times[0], &times[1]);
    let judged = RatioInterval::between(&times[2], &times[0]).map(|r| (r, verdict(&r, &floor)));
    let ranked: Vec<_> = [&times[..1], &times[2..]].concat();
    let ranking = Ranking::of(&ranked, &floor);
    (floor, judged, ranking)
}

fn assert_same_conclusions(a: &[BlockTimes], b: &[BlockTimes]) {
    let ((_, judged_a, ranking_a), (_, judged_b, ranking_b)) = (judge(a), judge(b));
    assert_eq!(judged_a.is_some(), judged_b.is_some());
    if let (Some((ratio_a, verdict_a)), Some((ratio_b, verdict_b))) = (judged_a, judged_b) {
        assert_close(ratio_a, ratio_b);
        assert_eq!(verdict_a, verdict_b);
    }
    let places = |r: &Ranking| r.standings.iter().map(|s| (s.lo, s.hi, s.rank)).collect::<Vec<_>>();
    assert_eq!(places(&ranking_a), places(&ranking_b));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_unit_of_time_changes_nothing(field in field(5), unit in 1e-6..1e6_f64) {
        let scaled: Field =
            field.iter().map(|c| c.iter().map(|t| t.map(|t| t * unit)).collect()).collect();
        assert_same_conclusions(&all(&field), &all(&scaled));
    }

    #[test]
    fn a_slow_block_is_slow_for_all(field in field(5), drift in prop::collection::vec(0.1..10.0_f64, 20)) {
        let drifted: Field = field
            .iter()
            .map(|c| c.iter().zip(&drift).map(|(t, d)| t.map(|t| t * d)).collect())
            .collect();
        assert_same_conclusions(&all(&field), &all(&drifted));
    }

    #[test]
    fn the_order_of_blocks_changes_nothing(field in field(5), keys in prop::collection::vec(any::<u32>(), 20)) {
        let mut order: Vec<usize> = (0..field[0].len()).collect();
        order.sort_by_key(|&block| keys[block]);
        let shuffled: Field =
            field.iter().map(|c| order.iter().map(|&block| c[block]).collect()).collect();
        assert_same_conclusions(&all(&field), &all(&shuffled));
    }

    #[test]
    fn a_against_b_is_the_inverse_of_b_against_a(field in field(4)) {
        let times = all(&field);
        let floor = NoiseFloor::measure(&times[0], &times[1]);
        let ab = RatioInterval::between(&times[2], &times[3]);
        let ba = RatioInterval::between(&times[3], &times[2]);
        prop_assert_eq!(ab.is_some(), ba.is_some());
        if let (Some(ab), Some(ba)) = (ab, ba) {
            assert_close(ab.inverse(), ba);
            prop_assert_eq!(verdict(&ab, &floor).reversed(), verdict(&ba, &floor));
        }
    }

    #[test]
    fn identical_contenders_tie(field in field(3), copies in 2..6_usize) {
        let times = all(&field);
        let floor = NoiseFloor::measure(&times[0], &times[1]);
        if let Some(ratio) = RatioInterval::between(&times[2], &times[2].clone()) {
            prop_assert_eq!(ratio.point, 1.0);
            let verdict = verdict(&ratio, &floor);
            prop_assert!(matches!(verdict, Verdict::Equivalent | Verdict::Inconclusive));
        }
        for standing in Ranking::of(&vec![times[2].clone(); copies], &floor).standings {
            prop_assert_eq!((standing.lo, standing.hi, standing.rank), (1, copies, 1));
        }
    }

    #[test]
    fn an_interval_holds_its_point(field in field(2)) {
        let times = all(&field);
        if let Some(r) = RatioInterval::between(&times[0], &times[1]) {
            prop_assert!(r.lo <= r.point && r.point <= r.hi);
            prop_assert_eq!(r.is_bounded(), r.blocks >= palio::stats::MIN_BLOCKS);
            prop_assert!(r.blocks <= times[0].measured().min(times[1].measured()));
        }
    }

    #[test]
    fn ranks_are_sane(field in field(9)) {
        let times = all(&field);
        let floor = NoiseFloor::measure(&times[0], &times[1]);
        let (ranked, n) = (&times[2..], times.len() - 2);
        let ranking = Ranking::of(ranked, &floor);
        let standings = &ranking.standings;
        prop_assert!(standings.iter().any(|s| s.rank == 1));
        for (i, a) in standings.iter().enumerate() {
            prop_assert!(1 <= a.rank && a.rank <= a.lo && a.lo <= a.hi && a.hi <= n);
            // A shared rank is followed by a gap of its size.
            prop_assert_eq!(a.rank, 1 + standings.iter().filter(|s| s.rank < a.rank).count());
            for (j, b) in standings.iter().enumerate() {
                if a.lo <= b.hi && b.lo <= a.hi {
                    prop_assert_eq!(a.rank, b.rank, "overlapping intervals share a rank");
                }
                if a.rank < b.rank {
                    let ratio = RatioInterval::between(&ranked[j], &ranked[i]).unwrap();
                    prop_assert!(floor.clears(&ratio) && ratio.point > floor.ratio());
                }
            }
        }
        if let Some(best) = ranking.best {
            prop_assert_eq!(standings[best].ratio_to_best.unwrap().point, 1.0);
        }
    }

    #[test]
    fn the_best_is_best_whenever_anyone_beats_all_others(field in field(6)) {
        let times = all(&field);
        let ranking = Ranking::of(&times, &NoiseFloor::unknown());
        let beats_all = |i: usize| (0..times.len()).filter(|&j| j != i).all(|j| {
            RatioInterval::between(&times[i], &times[j]).is_some_and(|r| r.point < 1.0)
        });
        if let Some(winner) = (0..times.len()).find(|&i| beats_all(i)) {
            prop_assert_eq!(ranking.best, Some(winner));
            prop_assert!(ranking.standings.iter().all(|s| s.ratio_to_best.unwrap().point >= 1.0));
        }
    }

    #[test]
    fn no_times_however_strange_make_it_panic(
        field in (0..8_usize).prop_flat_map(|blocks| {
            let time = prop::option::of(prop_oneof![f64::MIN_POSITIVE..f64::MAX, 1.0..2.0_f64]);
            prop::collection::vec(prop::collection::vec(time, blocks), 3..6)
        })
    ) {
        let (floor, _, ranking) = judge(&all(&field));
        prop_assert!(floor.ratio() >= palio::stats::MIN_FLOOR);
        prop_assert_eq!(ranking.standings.len(), field.len() - 1);
    }

    #[test]
    fn samples_are_described_or_refused(samples in prop::collection::vec(any::<f64>(), 0..9)) {
        let are_times = !samples.is_empty() && samples.iter().all(|x| x.is_finite() && *x > 0.0);
        prop_assert_eq!(Summary::of(&samples).is_ok(), are_times);
        prop_assert_eq!(location_ns(&samples).is_ok(), are_times);
        prop_assert_eq!(BlockTimes::from_samples([Some(&samples[..])]).is_ok(), are_times);
        if let Ok(s) = Summary::of(&samples) {
            prop_assert!(s.min_ns <= s.q1_ns && s.q1_ns <= s.median_ns);
            prop_assert!(s.median_ns <= s.q3_ns && s.q3_ns <= s.max_ns);
        }
    }

    #[test]
    fn a_total_ignores_races_that_somebody_failed(
        races in prop::collection::vec(prop::collection::vec(prop::option::of(1.0..4.0_f64), 3), 0..8),
        keep in subsequence((0..3_usize).collect::<Vec<_>>(), 1..3),
    ) {
        let totals = Totals::of(3, &races).unwrap();
        let complete: Vec<_> =
            races.iter().filter(|race| race.iter().all(Option::is_some)).cloned().collect();
        let alone = Totals::of(3, &complete).unwrap();
        prop_assert_eq!(totals.common, complete.len());
        for (with, without) in totals.totals.iter().zip(&alone.totals) {
            prop_assert_eq!(with.geometric_mean, without.geometric_mean);
            prop_assert!(with.geometric_mean <= with.arithmetic_mean.map(|m| m * (1.0 + 1e-12)));
        }
        // To list fewer contenders can only add races in common.
        let fewer: Vec<Vec<_>> =
            races.iter().map(|race| keep.iter().map(|&c| race[c]).collect()).collect();
        prop_assert!(Totals::of(keep.len(), &fewer).unwrap().common >= totals.common);
    }
}
