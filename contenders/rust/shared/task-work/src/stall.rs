//! Holding a thread without the runtime's knowledge.

use std::thread;
use std::time::{Duration, Instant};

/// Gives the processor to other threads again and again, until the monotonic clock has advanced by
/// `duration`.
pub fn stall(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        thread::yield_now();
    }
}
