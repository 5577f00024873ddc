//! What tests about hangs need: a watchdog that says what hangs, and events.

use super::Hasty;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use trefoil::fork_join::join;
use trefoil::runtime::{Runtime, RuntimeMetrics};

pub(crate) const WATCHDOG: Duration = Duration::from_secs(20);

/// Waits until `is_so`; panics if that takes for ever.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < WATCHDOG, "waited in vain: {what}");
        thread::sleep(Duration::from_micros(50));
    }
}

#[track_caller]
pub(crate) fn receive<T>(what: &str, receiver: &mpsc::Receiver<T>) -> T {
    receiver.recv_timeout(WATCHDOG).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Drops a runtime elsewhere; panics if that takes for ever.
#[track_caller]
pub(crate) fn drop_returns(what: &str, mut runtime: Hasty) {
    ends(what, runtime.0.take());
}

/// Drops a runtime, if there still is one, elsewhere; panics if that takes for ever.
#[track_caller]
pub(super) fn ends(what: &str, runtime: Option<Runtime>) {
    let (sender, dropped) = mpsc::channel();
    thread::spawn(move || {
        drop(runtime);
        sender.send(()).unwrap();
    });
    receive(what, &dropped);
}

/// Something that is to happen. It happens at the latest when the test ends, so
/// that a failed test leaves no thread that spins.
#[derive(Clone, Default)]
pub(crate) struct Event(Arc<AtomicBool>);

impl Event {
    pub(crate) fn happens(&self) {
        self.0.store(true, SeqCst);
    }

    pub(crate) fn has_happened(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Holds the thread, and forks all the while, so that what it has forked before
    /// is in everybody's sight.
    pub(crate) fn await_forking(&self) {
        while !self.has_happened() {
            join(thread::yield_now, || ());
        }
    }
}

pub(crate) struct HappensOnDrop(pub(crate) Event);

impl Drop for HappensOnDrop {
    fn drop(&mut self) {
        self.0.happens();
    }
}

pub(crate) fn is_parked(metrics: &RuntimeMetrics, worker: usize) -> bool {
    !metrics.worker_park_unpark_count(worker).is_multiple_of(2)
}

/// Waits until all workers sleep, and do so for long: a new runtime's workers
/// wake once by themselves, so that one of them starts the monitor.
pub(crate) fn workers_sleep(metrics: &RuntimeMetrics) {
    let counts =
        || Vec::from_iter((0..metrics.num_workers()).map(|n| metrics.worker_park_unpark_count(n)));
    wait_for("idle workers sleep", || {
        let before = counts();
        // Several periods of the monitor.
        thread::sleep(Duration::from_millis(10));
        before == counts() && (0..before.len()).all(|n| is_parked(metrics, n))
    });
}
