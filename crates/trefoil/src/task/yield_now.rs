use super::task_of;
use crate::context;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Gives the other tasks their turn.
///
/// The task is moved to the back of its worker's queue. Nothing is promised about
/// the order after that: a runtime may poll the same task again at once when
/// it has no other.
///
/// # Cancellation safety
/// Yes; there is nothing to lose.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        wake_later(cx.waker());
        Poll::Pending
    })
    .await
}

/// Wakes the task being polled as if another task had woken it: it may continue at
/// once, though not many times in a row. With `wake_later` it would wait for all that
/// is queued. Any other waker is woken later, because its owner might poll again at
/// once and find nothing changed.
pub(crate) fn wake_in_turn(waker: &Waker) {
    let current = context::with(|context| context.task.get());
    if current.is_some() && current == task_of(waker) {
        waker.wake_by_ref();
    } else {
        wake_later(waker);
    }
}

/// Wakes after everything else that is ready had its turn.
///
/// When the waker is that of the task being polled, a note to its worker is
/// enough, and no state changes hands. Any other waker (of a combinator, of
/// `block_on`) is kept by the worker until its queue has been served once.
pub(crate) fn wake_later(waker: &Waker) {
    context::with(|context| {
        let current = context.task.get();
        if current.is_some() && current == task_of(waker) {
            context.yielded.set(true);
        } else if !context.defer(waker) {
            waker.wake_by_ref();
        }
    });
}
