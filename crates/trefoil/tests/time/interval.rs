//! Streams of ticks.

use crate::support::current_and_multi;
use trefoil::time::{self, Duration, Instant, MissedTickBehavior, interval, timeout};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[trefoil::test(start_paused = true)]
async fn intervals_make_up_for_missed_ticks() {
    for (behavior, expected) in [
        (MissedTickBehavior::Burst, [0, 50, 100, 150, 200, 250]),
        (MissedTickBehavior::Delay, [0, 50, 180, 230, 280, 330]),
        (MissedTickBehavior::Skip, [0, 50, 150, 200, 250, 300]),
    ] {
        let start = Instant::now();
        let mut ticks = interval(ms(50));
        ticks.set_missed_tick_behavior(behavior);
        let mut due = Vec::new();
        due.push(ticks.tick().await);
        time::advance(ms(130)).await;
        due.push(ticks.tick().await);
        for _ in 0..4 {
            due.push(ticks.tick().await);
        }
        let due: Vec<_> = due.iter().map(|due| (*due - start).as_millis()).collect();
        assert_eq!(due, expected, "{behavior:?}");
        assert_eq!(ticks.period(), ms(50));
    }
}

/// Timers fire a little late, which is no missed tick.
#[trefoil::test(start_paused = true)]
async fn a_tick_that_is_five_milliseconds_late_is_not_missed() {
    for (late, expected) in [(0, 100), (1, 100), (5, 100), (6, 106)] {
        let start = Instant::now();
        let mut ticks = interval(ms(50));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        time::advance(ms(50 + late)).await;
        assert_eq!(ticks.tick().await - start, ms(50));
        assert_eq!(ticks.tick().await - start, ms(expected), "{late} ms late");
    }
}

#[trefoil::test(start_paused = true)]
async fn intervals_can_be_reset() {
    let start = Instant::now();
    let mut ticks = interval(ms(50));
    ticks.tick().await;
    ticks.reset_after(ms(7));
    ticks.tick().await;
    assert_eq!(start.elapsed(), ms(7));
    ticks.reset();
    ticks.tick().await;
    assert_eq!(start.elapsed(), ms(57));
    ticks.reset_immediately();
    ticks.tick().await;
    assert_eq!(start.elapsed(), ms(57));
}

#[trefoil::test]
#[should_panic(expected = "`period` must be non-zero")]
async fn an_interval_of_nothing_panics() {
    drop(interval(ms(0)));
}

/// A tick was missed, and the next one would come later than can be said.
#[test]
fn an_interval_of_centuries_survives_a_missed_tick() {
    for runtime in current_and_multi([1, 3]) {
        runtime.block_on(async {
            for behavior in
                [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip]
            {
                let missed = Instant::now().checked_sub(ms(100)).unwrap();
                let mut ticks = time::interval_at(missed, Duration::MAX);
                ticks.set_missed_tick_behavior(behavior);
                assert_eq!(ticks.tick().await, missed);
                assert!(timeout(ms(1), ticks.tick()).await.is_err());
            }
        });
    }
}
