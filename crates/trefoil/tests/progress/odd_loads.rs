//! "Between the queues of one worker", beyond the floods: where `global_queue_interval` and
//! `event_interval` are as small as they can be, or so large that they never come, and where what
//! waits came in an odd order or in great number.

use crate::bounds;
use crate::floods::{supply, yield_for_ever};
use crate::queues::{Noted, run};
use crate::rig::{Counts, Event, OnDrop, Rig, WATCHDOG, Worst, timer_that_waits, worker};
use std::sync::Arc;
use std::sync::mpsc;
use std::task::Waker;
use std::thread;
use trefoil::runtime::Builder;
use trefoil::spawn;
use trefoil::task::{spawn_pinned, yield_now};
use trefoil::time::Duration;

const KNOBS: [(u32, u32); 4] = [(1, 1), (1, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX)];
const TRIALS: usize = 100;

/// A busy runtime with these intervals, and with a backlog of 600 tasks from outside, which is
/// never worked off.
fn rig(workers: usize, (shared, event): (u32, u32)) -> Rig {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all();
    let rig = Rig::of(builder.global_queue_interval(shared).event_interval(event)).keep_busy();
    supply(&rig, 600, 50);
    rig
}

/// With an interval of 1, the shared queue once had all turns for as long as it was not empty.
#[test]
fn a_task_in_the_ring_beside_a_flood_from_outside() {
    let mut worst = Worst::default();
    for knobs in KNOBS {
        for workers in [1, 2] {
            let rig = rig(workers, knobs);
            let metrics = rig.metrics.clone();
            let seen = run(&rig, false, async move {
                let mut seen = Vec::new();
                for _ in 0..TRIALS {
                    let (home, before) = (worker().unwrap(), Counts::of(&metrics));
                    yield_now().await;
                    if worker() == Some(home) && !before.may_have_been_elsewhere() {
                        seen.push(before.between(home));
                    }
                }
                seen
            });
            for seen in seen {
                worst.add(seen, bounds::beside_injected(), (knobs, workers));
            }
        }
    }
    worst.report("beside a flood from outside, with odd intervals");
}

#[test]
fn a_timer_beside_a_flood_from_outside() {
    let mut worst = Worst::default();
    for knobs in KNOBS {
        let rig = rig(1, knobs);
        let metrics = rig.metrics.clone();
        let seen = run(&rig, true, async move {
            let noted = Noted::new(&metrics);
            let waker = Waker::from(noted.clone());
            let _timer = timer_that_waits(Duration::from_millis(2), &waker);
            thread::sleep(Duration::from_millis(4));
            let before = Counts::of(&metrics);
            noted.until_woken(1).await.map(|polls| before.until(0, polls))
        });
        if let Some(seen) = seen {
            worst.add(seen, bounds::timer(1), knobs);
        }
    }
    worst.report("timers, with odd intervals");
}

/// A worker that is never idle leaves when its runtime ends.
#[test]
fn a_busy_runtime_ends() {
    for workers in [1, 2] {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).event_interval(u32::MAX).build().unwrap();
        for worker in 0..workers {
            drop(runtime.spawn_pinned(worker, yield_for_ever()));
            drop(runtime.spawn(yield_for_ever()));
        }
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            drop(runtime);
            tell.send(()).unwrap();
        });
        assert_eq!(told.recv_timeout(WATCHDOG), Ok(()), "the drop of a runtime");
    }
}

/// A pinned task that comes from outside while a poll wakes many others that are pinned: it was
/// there before them.
#[test]
fn a_pinned_task_from_outside_before_others_that_are_woken_here() {
    let rig = Rig::new(1);
    let handle = rig.handle().clone();
    let (before, at) = run(&rig, true, async move {
        let metrics = handle.metrics();
        let all = Arc::new(trefoil::sync::Notify::new());
        for _ in 0..1000 {
            let all = all.clone();
            drop(spawn_pinned(0, async move { all.notified().await }));
        }
        // When it was polled, they wait.
        spawn_pinned(0, async {}).await.unwrap();
        let (send, polled) = mpsc::channel();
        let its = metrics.clone();
        let spawner = thread::spawn(move || {
            drop(handle.spawn_pinned(0, async move {
                send.send(its.worker_poll_count(0)).unwrap();
            }));
        });
        spawner.join().unwrap();
        let before = Counts::of(&metrics);
        all.notify_waiters();
        // Something that is polled between the pinned tasks.
        let other = spawn(yield_for_ever());
        let at = loop {
            if let Ok(at) = polled.try_recv() {
                break at;
            }
            yield_now().await;
        };
        other.abort();
        (before, at)
    });
    let mut worst = Worst::default();
    worst.add(before.until(0, at), bounds::pinned(0), "a pinned task from outside");
    worst.report("pinned, before others");
}

/// A long ring, pinned tasks that are always ready, and a long shared queue.
#[test]
fn a_task_behind_many_in_the_shared_queue() {
    const BEFORE: u64 = 20_000;
    let rig = Rig::new(1);
    rig.on_each(|_| async {
        (0..300).for_each(|_| drop(spawn(yield_for_ever())));
        drop(spawn_pinned(0, yield_for_ever()));
    });
    // In a long poll, so that they all wait.
    let (begun, goes_on) = (Event::default(), Event::default());
    let (its_begun, its_goes_on) = (begun.clone(), goes_on.clone());
    drop(rig.handle().spawn_pinned(0, async move {
        its_begun.happens();
        its_goes_on.hold();
    }));
    begun.wait("a long poll");
    let _goes_on = OnDrop(goes_on.clone());
    for _ in 0..BEFORE {
        drop(rig.handle().spawn(async {}));
    }
    let (send, polled) = mpsc::channel();
    let metrics = rig.metrics.clone();
    drop(rig.handle().spawn(async move {
        send.send(metrics.worker_poll_count(0)).unwrap();
    }));
    assert_eq!(rig.metrics.global_queue_depth() as u64, BEFORE + 1);
    let before = rig.polls();
    goes_on.happens();
    let at = polled.recv_timeout(WATCHDOG).expect("a task in the shared queue");
    let mut worst = Worst::default();
    worst.add(before.until(0, at), bounds::shared(BEFORE), BEFORE);
    worst.report("behind many in the shared queue");
}
