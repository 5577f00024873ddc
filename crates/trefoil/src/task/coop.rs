//! The cooperative budget: what keeps a task that is always ready from
//! keeping its worker.
//!
//! Each poll of a task starts with a budget, and each operation of this crate
//! that makes progress spends one unit of it. Once it is spent, operations
//! return `Pending` and have the task polled again later, so that others get
//! their turn. The scheme, and the size of the budget, are tokio's (see "Reducing
//! tail latencies with automatic cooperative task yielding", 2020).

use crate::runtime::context;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Operations per poll.
const PER_POLL: u8 = 128;

/// What is left of this poll's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(Option<u8>);

impl Budget {
    pub(crate) const UNLIMITED: Self = Self(None);
    pub(crate) const FULL: Self = Self(Some(PER_POLL));
}

/// Gives the unit back on drop, unless progress was made: an operation that
/// stays pending costs nothing.
#[derive(Debug)]
#[must_use]
pub(crate) struct Spent(Cell<Budget>);

impl Spent {
    #[inline]
    pub(crate) fn made_progress(&self) {
        self.0.set(Budget::UNLIMITED);
    }
}

impl Drop for Spent {
    #[inline]
    fn drop(&mut self) {
        let before = self.0.get();
        if before != Budget::UNLIMITED {
            context::with(|context| context.budget.set(before));
        }
    }
}

/// Spends a unit, or says `Pending` and arranges another poll.
#[inline]
pub(crate) fn poll_proceed(cx: &mut Context<'_>) -> Poll<Spent> {
    context::with(|context| match context.budget.get() {
        Budget(None) => Poll::Ready(Spent(Cell::new(Budget::UNLIMITED))),
        Budget(Some(0)) => {
            super::yield_now::wake_later(cx.waker());
            Poll::Pending
        }
        before @ Budget(Some(left)) => {
            context.budget.set(Budget(Some(left - 1)));
            Poll::Ready(Spent(Cell::new(before)))
        }
    })
}

/// Runs `f` with another budget, and puts the old one back after.
pub(crate) fn with_budget<R>(budget: Budget, f: impl FnOnce() -> R) -> R {
    struct Restore(Budget);
    impl Drop for Restore {
        fn drop(&mut self) {
            context::with(|context| context.budget.set(self.0));
        }
    }
    let _restore = Restore(context::with(|context| context.budget.replace(budget)));
    f()
}

/// Whether this poll's budget has anything left; true outside of a runtime.
pub fn has_budget_remaining() -> bool {
    context::with(|context| context.budget.get() != Budget(Some(0)))
}

/// Spends one unit of the task's budget, and yields once it is used up.
///
/// For loops that await nothing of the runtime's.
///
/// # Cancellation safety
/// Dropping it before it is done spends nothing.
pub async fn consume_budget() {
    poll_fn(|cx| {
        ready!(poll_proceed(cx)).made_progress();
        Poll::Ready(())
    })
    .await;
}

/// Polls `future` with no limit to its budget: see [`unconstrained`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Unconstrained<F> {
    future: F,
}

/// Exempts a future from the budget. It can then keep its worker for as long
/// as it finds something ready.
pub fn unconstrained<F>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the field is pinned exactly when the whole is: it is never
        // moved out, `Unconstrained` has no `Drop`, and is `Unpin` by auto
        // trait only if `F` is.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        with_budget(Budget::UNLIMITED, || future.poll(cx))
    }
}
