//! Busy waiting.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// Keeps the processor busy until the monotonic clock has advanced by `duration`.
pub fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        spin_loop();
    }
}
