use super::queue::{Closed, TimerQueue};
use super::wheel::Entry;
use super::{Duration, Instant};
use crate::runtime::{NO_RUNTIME, context};
use crate::task::coop;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Waits for `duration`.
///
/// Nothing happens before the first poll, but the duration counts from the
/// call.
///
/// # Cancellation safety
/// Dropping it cancels the timer.
///
/// # Panics
/// Outside of a runtime, and in one without `enable_time`.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(Instant::after(duration))
}

/// Waits until `deadline`.
///
/// # Cancellation safety
/// Dropping it cancels the timer.
///
/// # Panics
/// Outside of a runtime, and in one without `enable_time`.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline)
}

const NO_TIME: &str = "A Trefoil context was found, but timers are disabled. Call `enable_time` \
                       on the runtime builder to enable timers.";

/// The future of [`sleep`] and [`sleep_until`]. To keep one and
/// [`reset`](Sleep::reset) it, pin it.
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    deadline: Instant,
    /// What the wheel links: pinned with the rest, and found on no wheel any
    /// more when the drop is over.
    entry: Entry,
    /// Where the entry was registered.
    queue: Option<Arc<TimerQueue>>,
    _pinned: PhantomPinned,
}

// SAFETY: all of the entry that others than the timer's owner touch is guarded
// by the lock of its queue, and the waker in it is `Send`.
unsafe impl Send for Sleep {}
// SAFETY: through a shared reference only the deadline and the entry's atomic
// state can be read.
unsafe impl Sync for Sleep {}

impl Sleep {
    #[track_caller]
    fn new(deadline: Instant) -> Self {
        match context::with(|context| context.handle().map(|handle| handle.common().has_time)) {
            Some(true) => {}
            Some(false) => panic!("{NO_TIME}"),
            None => panic!("{NO_RUNTIME}"),
        }
        Self { deadline, entry: Entry::new(), queue: None, _pinned: PhantomPinned }
    }

    /// When it is due.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it is over. Stays as it is until the next poll or
    /// [`reset`](Sleep::reset).
    pub fn is_elapsed(&self) -> bool {
        self.entry.state.has_fired()
    }

    /// Makes it wait until another deadline, whether it has fired or not.
    ///
    /// A task that waits for it is woken for the new deadline only.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        let waker = this.unregister();
        this.deadline = deadline;
        if let (Some(queue), Some(waker)) = (this.queue.clone(), waker) {
            // A task waits, and it will not poll again before it is woken.
            if deadline.into_std() <= queue.clock().now() {
                this.entry.state.set_fired();
                waker.wake();
            } else if this.register(&queue, waker.clone()).is_err() {
                waker.wake();
            }
        }
    }

    /// Takes the entry off its queue; returns who waited for it, if it had not
    /// fired.
    fn unregister(&mut self) -> Option<std::task::Waker> {
        let mut waker = None;
        if let Some(queue) = &self.queue {
            // SAFETY: it was registered there.
            waker = unsafe { queue.remove(NonNull::from(&self.entry)) };
        }
        self.entry.state.set_unregistered();
        waker
    }

    fn register(&self, queue: &TimerQueue, waker: std::task::Waker) -> Result<(), Closed> {
        // SAFETY: 1: callers have taken it off. 2: the entry is pinned, and
        // `drop` removes it.
        unsafe { queue.register(NonNull::from(&self.entry), self.deadline.into_std(), waker) }
    }

    #[track_caller]
    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.entry.state.has_fired() {
            return Poll::Ready(());
        }
        if let Some(queue) = &self.queue
            && self.entry.state.is_registered()
        {
            let entry = NonNull::from(&self.entry);
            // SAFETY: it was registered there.
            ready!(unsafe { queue.poll(entry, cx.waker()) });
            if self.entry.state.has_fired() {
                return Poll::Ready(());
            }
        }
        // The queue is closed, and the entry is free.
        let queue = match context::with(context::Context::timers) {
            Some(queue) => queue,
            None => panic!("{NO_RUNTIME}"),
        };
        if self.deadline.into_std() <= queue.clock().now() {
            self.entry.state.set_fired();
            return Poll::Ready(());
        }
        if self.register(&queue, cx.waker().clone()).is_err() {
            panic!("a timer was polled in a runtime that has shut down");
        }
        self.queue = Some(queue);
        Poll::Pending
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let budget = ready!(coop::poll_proceed(cx));
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        ready!(this.poll_inner(cx));
        budget.made_progress();
        Poll::Ready(())
    }
}

impl Drop for Sleep {
    #[inline]
    fn drop(&mut self) {
        if self.queue.is_some() {
            drop(self.unregister());
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
