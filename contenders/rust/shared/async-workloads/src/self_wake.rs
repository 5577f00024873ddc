//! A yield that is the same in every runtime.

use std::future::poll_fn;
use std::task::Poll;

/// Wakes the task that awaits it, and lets the runtime poll it again.
///
/// A runtime's own yield may put the task behind others, or defer its wake-up; this one is a
/// wake-up like any other.
pub async fn wake_and_yield() {
    let mut is_woken = false;
    poll_fn(|cx| {
        if is_woken {
            return Poll::Ready(());
        }
        is_woken = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
