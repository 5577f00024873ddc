use super::task_of;
use crate::context;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Lets other tasks run.
///
/// The task goes to the back of its worker's queue. If the runtime has nothing else to run, it
/// polls the task again at once, after a look at events. No order is promised beyond this.
///
/// # Cancellation safety
/// Yes: there is nothing to lose.
#[inline]
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

/// Wakes the task that is being polled, as if another task had woken it: it may continue at once,
/// but only a few times in a row. (With `wake_later`, it would wait for everything that is queued.)
/// Any other waker is woken later, because its owner might poll again at once and find nothing
/// changed.
pub(crate) fn wake_in_turn(waker: &Waker) {
    let current = context::with(|context| context.task.get());
    if current.is_some() && current == task_of(waker) {
        waker.wake_by_ref();
    } else {
        wake_later(waker);
    }
}

/// Wakes after everything else that is ready has had its turn.
///
/// If the waker is that of the task that is being polled, a note to the worker is enough, and the
/// task's state does not change. The worker keeps any other waker (of a combinator, of `block_on`)
/// until its queue has been served once.
#[inline]
pub(crate) fn wake_later(waker: &Waker) {
    let is_noted = context::with(|context| {
        let current = context.task.get();
        let is_own = current.is_some() && current == task_of(waker);
        if is_own {
            context.yielded.set(true);
        }
        is_own
    });
    if !is_noted {
        wake_deferred(waker);
    }
}

#[inline(never)]
fn wake_deferred(waker: &Waker) {
    if !context::with(|context| context.defer(waker)) {
        waker.wake_by_ref();
    }
}
