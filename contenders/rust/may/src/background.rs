//! Coroutines that keep the workers busy beside the ones that are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use may::go;
use task_work::stall;

/// How long a busy coroutine holds its worker at a time.
const STALL: Duration = Duration::from_micros(10);

/// The flag on which background coroutines stop; dropping this raises it.
pub(crate) struct Background(Arc<AtomicBool>);

impl Background {
    /// Starts `count` coroutines that do `body` until the flag is raised.
    pub(crate) fn start(count: usize, body: fn(Arc<AtomicBool>)) -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        for _ in 0..count {
            let flag = Arc::clone(&flag);
            go!(move || body(flag));
        }
        Self(flag)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

// Relaxed, here and above: the flag is all that is passed, and a late reader does one more round.
fn stopped(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

/// One link of a chain in which each spawns the next one and ends.
pub(crate) fn chain(flag: Arc<AtomicBool>) {
    if !stopped(&flag) {
        go!(move || chain(flag));
    }
}

/// One link of a chain in which each stalls, spawns the next one and ends.
pub(crate) fn busy_chain(flag: Arc<AtomicBool>) {
    if !stopped(&flag) {
        stall(STALL);
        go!(move || busy_chain(flag));
    }
}
