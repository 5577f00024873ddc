//! Tasks that hold their worker for a given time at every poll, and yield in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use task_work::spin;

use crate::AsyncRuntime;

// Relaxed: the flag is all that is passed, and a late reader does one more round.
pub(super) fn stopped(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

/// Polls of `poll` each, until told to stop; a poll of zero only yields.
pub(super) async fn yielder<R: AsyncRuntime>(flag: Arc<AtomicBool>, poll: Duration) {
    while !stopped(&flag) {
        if !poll.is_zero() {
            spin(poll);
        }
        R::yield_now().await;
    }
}
