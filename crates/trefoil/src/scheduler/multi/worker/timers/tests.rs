//! A worker in a long poll, whose timers are due meanwhile: others fire them, without a monitor.

use super::*;
use crate::runtime::{Builder, Runtime};
use crate::scheduler::Scheduler;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Wake};

const WATCHDOG: Duration = Duration::from_secs(30);

struct Bell(mpsc::Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // The poll may have given up.
        let _ = self.0.send(());
    }
}

/// All of its workers have threads.
pub(in crate::scheduler::multi) fn without_monitor(workers: usize) -> Runtime {
    loop {
        let mut builder = Builder::new_multi_thread();
        // So that all threads start at once, and none of them is the monitor's.
        builder.serve_in_block_on(true);
        let runtime = builder.worker_threads(workers).enable_time().build().unwrap();
        let Scheduler::Multi(shared) = &runtime.handle().scheduler else { unreachable!() };
        if shared.monitor.withhold() {
            return runtime;
        }
    }
}

/// A timer of this worker that is not due yet.
fn that_rings(bell: mpsc::Sender<()>) -> Pin<Box<crate::time::Sleep>> {
    let bell = Waker::from(Arc::new(Bell(bell)));
    let mut timer = Box::pin(crate::time::sleep(Duration::from_millis(5)));
    while timer.as_mut().poll(&mut Context::from_waker(&bell)).is_ready() {
        timer.set(crate::time::sleep(Duration::from_millis(5)));
    }
    timer
}

/// The poll of worker 0 ends when its timer has fired, while `other` runs on another worker.
fn is_fired_beside(workers: usize, other: impl Future<Output = ()> + Send + 'static) {
    let runtime = without_monitor(workers);
    let (ready, is_ready) = mpsc::channel();
    let (end, has_ended) = mpsc::channel();
    drop(runtime.spawn_pinned(0, async move {
        let (ring, has_rung) = mpsc::channel();
        let bell = Waker::from(Arc::new(Bell(ring)));
        let mut sleep = Box::pin(crate::time::sleep(Duration::from_millis(20)));
        let is_pending = sleep.as_mut().poll(&mut Context::from_waker(&bell)).is_pending();
        ready.send(is_pending).unwrap();
        end.send(has_rung.recv_timeout(WATCHDOG)).unwrap();
    }));
    assert_eq!(is_ready.recv_timeout(WATCHDOG), Ok(true), "a timer of worker 0");
    drop(runtime.spawn(other));
    assert_eq!(has_ended.recv_timeout(2 * WATCHDOG), Ok(Ok(())), "nobody has fired it");
}

#[test]
fn a_worker_with_short_polls_fires_anothers_timers() {
    is_fired_beside(2, async {
        loop {
            crate::task::yield_now().await;
        }
    });
}

#[test]
fn a_worker_with_short_polls_and_timers_of_its_own_fires_anothers() {
    is_fired_beside(2, async {
        // One that is always on the wheel.
        let never = crate::time::sleep(Duration::from_secs(3600));
        let yields = async {
            loop {
                crate::task::yield_now().await;
            }
        };
        crate::select! {
            () = never => {}
            () = yields => {}
        }
    });
}

#[test]
fn a_worker_that_wakes_now_and_then_fires_anothers_timers() {
    is_fired_beside(2, async {
        loop {
            crate::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

/// "Within 40·(*W* − 1)·(1 + *k*/64 + *m*/192) polls of any one other worker, begun a quarter of a
/// millisecond after it is due": `progress.md`. The timer is moved twice at most.
#[test]
fn a_timer_that_is_late_is_fired_within_forty_one_polls_of_another_worker() {
    // It says nothing if the other worker itself came late.
    for _ in 0..10 {
        a_late_timer_is_fired();
    }
}

fn a_late_timer_is_fired() {
    let runtime = without_monitor(2);
    let (armed, is_armed) = mpsc::channel();
    let (rung, has_rung) = mpsc::channel();
    let (end, may_end) = mpsc::channel::<()>();
    drop(runtime.spawn_pinned(0, async move {
        let timer = that_rings(rung);
        armed.send(timer.deadline()).unwrap();
        let _ = may_end.recv();
    }));
    let (fired, is_fired) = mpsc::channel();
    drop(runtime.spawn_pinned(1, async move {
        let due = is_armed.recv_timeout(WATCHDOG).expect("a timer of worker 0");
        // The wheel rounds up to its tick, a sixteenth of a millisecond.
        let late = due + Duration::from_micros(250 + 63);
        while crate::time::Instant::now() < late {
            std::hint::spin_loop();
        }
        for _ in 0..41 {
            crate::task::yield_now().await;
        }
        fired.send(has_rung.try_recv()).unwrap();
    }));
    let fired = is_fired.recv_timeout(2 * WATCHDOG);
    drop(end);
    assert_eq!(fired, Ok(Ok(())), "it was late, and has not been fired");
}

/// Whichever of them it is: the third one is in a long poll as well.
#[test]
fn each_worker_of_three_fires_the_timers_of_each_other() {
    for (owner, looker) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
        let runtime = without_monitor(3);
        let (inside, is_inside) = mpsc::channel();
        let (end, may_end) = mpsc::channel::<()>();
        let third_is_inside = inside.clone();
        drop(runtime.spawn_pinned(3 - owner - looker, async move {
            third_is_inside.send(()).unwrap();
            let _ = may_end.recv();
        }));
        is_inside.recv_timeout(WATCHDOG).expect("the third one is held");
        let (rung, has_rung) = mpsc::channel();
        let (fired, is_fired) = mpsc::channel();
        drop(runtime.spawn_pinned(owner, async move {
            let _timer = that_rings(rung);
            inside.send(()).unwrap();
            fired.send(has_rung.recv_timeout(WATCHDOG)).unwrap();
        }));
        is_inside.recv_timeout(WATCHDOG).expect("a timer");
        drop(runtime.spawn_pinned(looker, async {
            loop {
                crate::task::yield_now().await;
            }
        }));
        let fired = is_fired.recv_timeout(2 * WATCHDOG);
        drop(end);
        assert_eq!(fired, Ok(Ok(())), "{looker} has not fired the timer of {owner}");
    }
}

/// One polls, of which it is to look at the timers of all in turn; the others sleep.
#[test]
fn one_worker_of_many_fires_anothers_timers() {
    is_fired_beside(5, async {
        loop {
            crate::task::yield_now().await;
        }
    });
}
