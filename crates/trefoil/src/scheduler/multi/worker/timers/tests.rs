//! A worker in a long poll, whose timers are due meanwhile: others fire them, without a monitor.

use super::*;
use crate::runtime::{Builder, Runtime};
use crate::scheduler::Scheduler;
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

fn without_monitor(workers: usize) -> Runtime {
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

/// One polls, of which it is to look at the timers of all in turn; the others sleep.
#[test]
fn one_worker_of_many_fires_anothers_timers() {
    is_fired_beside(5, async {
        loop {
            crate::task::yield_now().await;
        }
    });
}
