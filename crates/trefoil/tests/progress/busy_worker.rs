//! "Beside a worker that does not come out of its poll." The poll ends when the expected event has
//! been seen. If it never is, the watchdog says so.

use crate::floods::{Flood, yield_for_ever};
use crate::rig::{Event, OnDrop, Rig, timer_that_waits, wait_for, worker};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Instant;
use trefoil::runtime::Builder;
use trefoil::task::{spawn_pinned, yield_now};
use trefoil::time::{Duration, sleep};
use trefoil::{spawn, task};

const WORKERS: [usize; 2] = [2, 8];

/// A waker that reports that it was woken.
struct Tell(Event);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.happens();
    }
}

/// Keeps worker 0 in the poll in which `leave` is called, until `seen` has happened.
fn held(rig: &Rig, what: &str, seen: &Event, leave: impl FnOnce() + Send + 'static) {
    let end = OnDrop(Event::default());
    let its_end = end.0.clone();
    let holder = rig.handle().spawn_pinned(0, async move {
        leave();
        its_end.hold();
    });
    seen.wait(what);
    assert!(!holder.is_finished(), "the poll is still to end");
    drop(end);
    rig.handle().block_on(holder).unwrap();
}

#[test]
fn tasks_in_its_ring() {
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        // All tasks except the last one, which stays in the slot.
        for _ in 0..20 {
            let events: Vec<_> = (0..20).map(|_| Event::default()).collect();
            let (its, all) = (events.clone(), Event::default());
            let done = all.clone();
            held(&rig, "the ring's tasks", &all, move || {
                for event in its.clone() {
                    drop(spawn(async move { event.happens() }));
                }
                thread::spawn(move || {
                    its[..19].iter().for_each(|event| event.wait("one in the ring"));
                    done.happens();
                });
            });
        }
    }
}

/// The task in a worker's slot once waited for the end of the worker's poll, even if other workers
/// were idle.
#[test]
fn the_task_in_its_lifo_slot() {
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        for _ in 0..20 {
            let seen = Event::default();
            let its = seen.clone();
            held(&rig, "the task in the slot", &seen, move || {
                drop(spawn(async move { its.happens() }));
            });
        }
        // A task that was waiting and is woken goes to the slot, too.
        let (seen, its) = (Event::default(), Event::default());
        let (told, notify) = (seen.clone(), Arc::new(trefoil::sync::Notify::new()));
        let (waits, listens) = (notify.clone(), its.clone());
        drop(rig.handle().spawn(async move {
            let mut notified = pin!(waits.notified());
            notified.as_mut().enable();
            listens.happens();
            notified.await;
            told.happens();
        }));
        its.wait("a task that waits");
        held(&rig, "the task that was woken", &seen, move || notify.notify_waiters());
    }
}

/// The monitor "begins when the runtime is a period old: … so does a worker that is polling within
/// 8 polls". Neither worker sleeps from before that on, so that nothing else starts it.
#[test]
fn the_task_in_its_lifo_slot_if_no_worker_has_slept_since_the_first_period() {
    const PERIOD: Duration = Duration::from_millis(2);
    let mut trials = 0;
    loop {
        trials += 1;
        let start = Instant::now();
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        let (end, seen) = (OnDrop(Event::default()), Event::default());
        let (its_end, told) = (end.0.clone(), seen.clone());
        // Each begins to yield when both have begun.
        let both = Arc::new(Barrier::new(2));
        let (begins, other_begins) = (both.clone(), both);
        let (began, has_begun) = mpsc::channel();
        drop(runtime.spawn_pinned(1, async move {
            other_begins.wait();
            loop {
                yield_now().await;
            }
        }));
        let holder = runtime.spawn_pinned(0, async move {
            begins.wait();
            began.send(start.elapsed() < PERIOD).unwrap();
            while start.elapsed() < 2 * PERIOD {
                yield_now().await;
            }
            for _ in 0..8 {
                yield_now().await;
            }
            drop(spawn(async move { told.happens() }));
            its_end.hold();
        });
        let is_as_meant = has_begun.recv().unwrap();
        seen.wait("the task in the slot, beside workers that have never slept");
        assert!(!holder.is_finished(), "the poll is still to end");
        drop(end);
        // Where threads begin that slowly, one worker may have slept for too long.
        if is_as_meant || trials == 200 {
            break;
        }
    }
}

/// "To the front of the shared queue": before those that wait there already.
#[test]
fn the_task_in_its_lifo_slot_goes_before_those_in_the_shared_queue() {
    const QUEUED: usize = 8;
    let rig = Rig::monitored(2);
    for _ in 0..5 {
        let ends = [OnDrop(Event::default()), OnDrop(Event::default())];
        let (inside, order) = (Arc::new(Barrier::new(3)), Arc::new(Mutex::new(Vec::new())));
        let (go, all) = (Event::default(), Event::default());
        let note = |who: &'static str| {
            let (order, all) = (order.clone(), all.clone());
            async move {
                let mut order = order.lock();
                order.push(who);
                if order.len() > QUEUED {
                    all.happens();
                }
            }
        };
        let holders: Vec<_> = (0..2)
            .map(|worker| {
                let (its_end, is_inside) = (ends[worker].0.clone(), inside.clone());
                let (may_go, from_slot) = (go.clone(), note("slot"));
                rig.handle().spawn_pinned(worker, async move {
                    is_inside.wait();
                    if worker == 0 {
                        may_go.hold();
                        drop(spawn(from_slot));
                    }
                    its_end.hold();
                })
            })
            .collect();
        inside.wait();
        for _ in 0..QUEUED {
            drop(rig.handle().spawn(note("queued")));
        }
        go.happens();
        wait_for("the task from the slot in the shared queue", || {
            rig.metrics.global_queue_depth() == QUEUED + 1
        });
        let [first, second] = ends;
        drop(second);
        all.wait("all tasks, beside the other worker");
        assert_eq!(order.lock()[0], "slot");
        drop(first);
        holders.into_iter().for_each(|holder| rig.handle().block_on(holder).unwrap());
    }
}

/// The first poll of a new runtime begins before there is a monitor, while the other workers sleep
/// or are always busy.
#[test]
fn the_task_in_the_lifo_slot_of_a_first_poll() {
    for make in [Rig::new, Rig::kept_busy] {
        for workers in WORKERS {
            for _ in 0..5 {
                let rig = make(workers);
                let seen = Event::default();
                let its = seen.clone();
                held(&rig, "the task in the slot", &seen, move || {
                    drop(spawn(async move { its.happens() }));
                });
            }
        }
    }
}

/// The other workers always have work of their own, and still take the task.
#[test]
fn its_lifo_slot_beside_busy_workers() {
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        for worker in 1..workers {
            for _ in 0..50 {
                drop(rig.handle().spawn_pinned(worker, yield_for_ever()));
            }
        }
        for _ in 0..20 {
            let seen = Event::default();
            let its = seen.clone();
            held(&rig, "the task in the slot", &seen, move || {
                drop(spawn(async move { its.happens() }));
            });
        }
    }
}

/// Nobody has time to steal: all others have tasks of their own, for ever. More tasks wait than are
/// passed on at one look, and all of them are served while the poll goes on.
#[test]
fn its_ring_beside_busy_workers() {
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        for worker in 1..workers {
            for _ in 0..50 {
                drop(rig.handle().spawn_pinned(worker, async {
                    // Tasks of the ring, which the worker always finds there, and the slot's.
                    drop(spawn(yield_for_ever()));
                    yield_for_ever().await;
                }));
            }
        }
        for tasks in [2, 5000] {
            let served = Arc::new(AtomicUsize::new(0));
            let (all, its) = (Event::default(), Arc::clone(&served));
            let seen = all.clone();
            held(&rig, "all tasks in the ring", &all, move || {
                for _ in 0..tasks {
                    let (its, seen) = (Arc::clone(&its), seen.clone());
                    drop(spawn(async move {
                        if its.fetch_add(1, SeqCst) + 1 == tasks {
                            seen.happens();
                        }
                    }));
                }
            });
            assert_eq!(served.load(SeqCst), tasks);
        }
    }
}

#[test]
fn its_deferred_wakers() {
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        for _ in 0..20 {
            let seen = Event::default();
            let waker = Waker::from(Arc::new(Tell(seen.clone())));
            held(&rig, "a deferred waker", &seen, move || {
                let mut yields = pin!(yield_now());
                assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            });
        }
    }
}

/// A timer once waited for the end of the poll of the worker on which it was made, while other
/// workers were idle.
#[test]
fn timers() {
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        for due in [1, 5, 30] {
            let seen = Event::default();
            let its = seen.clone();
            let made = Event::default();
            let is_made = made.clone();
            // The task that makes the timer runs on worker 0, and may run on any worker.
            drop(rig.handle().spawn_pinned(0, async move {
                let sleeps = timer_that_waits(Duration::from_millis(due), Waker::noop());
                is_made.happens();
                drop(spawn(async move {
                    sleeps.await;
                    its.happens();
                }));
            }));
            made.wait("the timer is made");
            held(&rig, "a timer of a worker in a long poll", &seen, || ());
        }
        // Many timers at a time, made in the long poll itself.
        let (events, all) = (Arc::new(AtomicUsize::new(0)), Event::default());
        struct Count(Arc<AtomicUsize>, Event);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                if self.0.fetch_add(1, SeqCst) + 1 == 10_000 {
                    self.1.happens();
                }
            }
        }
        let waker = Waker::from(Arc::new(Count(events, all.clone())));
        let end = OnDrop(Event::default());
        let its_end = end.0.clone();
        let holder = rig.handle().spawn_pinned(0, async move {
            let mut all: Vec<_> =
                (0..10_000).map(|_| Box::pin(sleep(Duration::from_millis(50)))).collect();
            for sleep in &mut all {
                let polled = sleep.as_mut().poll(&mut Context::from_waker(&waker));
                if polled.is_ready() {
                    waker.wake_by_ref();
                }
            }
            its_end.hold();
        });
        all.wait("ten thousand timers of a worker in a long poll");
        assert!(!holder.is_finished());
    }
}

/// The exception: these tasks wait, and run when the poll has ended.
#[test]
fn tasks_that_are_pinned_to_it() {
    for workers in [1, 2, 8] {
        let rig = Rig::monitored(workers);
        let (inside, seen) = (Event::default(), Event::default());
        let end = OnDrop(Event::default());
        let (its_end, is_inside) = (end.0.clone(), inside.clone());
        let holder = rig.handle().spawn_pinned(0, async move {
            is_inside.happens();
            its_end.hold();
        });
        inside.wait("the long poll");
        let its = seen.clone();
        drop(rig.handle().spawn_pinned(0, async move {
            assert_eq!(worker(), Some(0));
            its.happens();
        }));
        assert!(!seen.has_happened());
        drop(end);
        seen.wait("a pinned task, after the long poll");
        rig.handle().block_on(holder).unwrap();
    }
}

/// Under each load, all workers except one are in a long poll, and the last one serves all tasks.
#[test]
fn all_but_one_worker_held() {
    for flood in [Flood::Yielders, Flood::Joiners, Flood::Pairs, Flood::Outside, Flood::Timers] {
        let workers = 4;
        let rig = flood.rig(workers);
        let end = OnDrop(Event::default());
        // A worker that is not held yet may take a task along that another one's slot has passed
        // on. Then that waits in the ring of a worker in a long poll, and is passed on once more.
        let mut holders = Vec::new();
        let seen: Vec<_> = (1..workers)
            .map(|worker| {
                let (seen, end, inside) = (Event::default(), end.0.clone(), Event::default());
                let (its, is_inside) = (seen.clone(), inside.clone());
                holders.push(rig.handle().spawn_pinned(worker, async move {
                    for _ in 0..130 {
                        task::yield_now().await;
                    }
                    is_inside.happens();
                    drop(spawn(async move { its.happens() }));
                    end.hold();
                }));
                inside.wait("a long poll");
                seen
            })
            .collect();
        for seen in seen {
            seen.wait(&format!("the slot of a worker in a long poll, beside {flood:?}"));
        }
        let from_outside = Event::default();
        let its = from_outside.clone();
        drop(rig.handle().spawn(async move { its.happens() }));
        from_outside.wait("a task from outside, for the one worker that is left");
        let (pinned, on_it) = (Event::default(), Event::default());
        let (is_pinned, is_on_it) = (pinned.clone(), on_it.clone());
        drop(rig.handle().spawn_pinned(0, async move {
            is_pinned.happens();
            drop(spawn_pinned(0, async move { is_on_it.happens() }));
        }));
        pinned.wait("a pinned task from outside");
        on_it.wait("a pinned task from inside");
        drop(end);
        for holder in holders {
            rig.handle().block_on(holder).unwrap();
        }
    }
}
