//! A timer that shares its slot of the wheel with many timers that are not due.

use crate::bounds;
use crate::queues::{Noted, run};
use crate::rig::{Counts, Rig, Worst};
use futures::future::{Either, select};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use trefoil::task::coop::unconstrained;
use trefoil::task::yield_now;
use trefoil::time::{Duration, Instant, sleep_until};

/// The number of timers that come up with it, and are moved down one by one; less where they cannot
/// be set before that.
const OTHERS: u64 = 100_000;

/// A slot of the wheel's third level, 64² ticks.
const SLOT: Duration = Duration::from_nanos(64 * 64 * 62_500);

const TICK: Duration = Duration::from_nanos(62_500);

/// The counts at the first poll after the timer became due.
async fn when_due(due: Instant, metrics: &trefoil::runtime::RuntimeMetrics) -> Counts {
    while Instant::now() < due {
        yield_now().await;
    }
    Counts::of(metrics)
}

#[test]
fn a_timer_among_many_that_are_not_due() {
    let rig = Rig::new(1);
    let metrics = rig.metrics.clone();
    // The wheel started a little earlier, when the runtime was built.
    let start = Instant::now();
    let seen = run(
        &rig,
        true,
        unconstrained(async move {
            let noted = Noted::new(&metrics);
            let waker = Waker::from(noted.clone());
            // Four slots are time enough to set the timers, where nothing slows the program down.
            let (mut slots, mut count) = (4, OTHERS);
            let (due, _timer, _others) = loop {
                let begun = start.elapsed().as_nanos() / SLOT.as_nanos();
                let begun = u32::try_from(begun).expect("a test that ends");
                let due = start + (begun + slots) * SLOT + Duration::from_millis(2);
                let later = due + SLOT - Duration::from_millis(150);
                let mut timer = Box::pin(sleep_until(due));
                let mut others: Vec<_> = (0..count).map(|_| Box::pin(sleep_until(later))).collect();
                let set = timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
                let mut noop = Context::from_waker(Waker::noop());
                if set && others.iter_mut().all(|other| other.as_mut().poll(&mut noop).is_pending())
                {
                    break (due, timer, others);
                }
                // The level has 64 slots.
                if slots < 32 {
                    slots *= 2;
                } else {
                    count /= 2;
                    assert!(count > 1000, "the level ends before {count} timers are set");
                }
            };
            // The wheel counts whole ticks, and rounds up.
            let is_due = pin!(when_due(due + TICK, &metrics));
            let woken = pin!(noted.until_woken(1));
            match select(is_due, woken).await {
                Either::Left((before, woken)) => woken.await.map(|polls| before.until(0, polls)),
                // The timer was fired before this task saw that it was due.
                Either::Right((woken, _)) => woken.map(|_| 0),
            }
        }),
    );
    let mut worst = Worst::default();
    let seen = seen.expect("fired by its worker");
    worst.add(seen, bounds::timer_among(1, OTHERS + 64), "one worker");
    worst.report("timers that share a slot");
}
