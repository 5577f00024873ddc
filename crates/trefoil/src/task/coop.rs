//! The cooperative budget: what keeps a task that is always ready from
//! keeping its worker.
//!
//! Each poll of a task starts with a budget, and each operation of this crate
//! that makes progress spends one unit of it. Once it is spent, operations
//! return `Pending` and have the task polled again later, so that others get
//! their turn. The scheme, and the size of the budget, are tokio's (see "Reducing
//! tail latencies with automatic cooperative task yielding", 2020).

use crate::context;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Operations per poll. A task that has spent them is queued as one that was just
/// woken. On a worker of several, that is the LIFO slot: the task gets up to three
/// more budgets before others run. At some ten nanoseconds an operation, that is less
/// than what one of the others may take.
const PER_POLL: u8 = 128;

/// What is left of this poll's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(Option<u8>);

impl Budget {
    pub(crate) const UNLIMITED: Self = Self(None);
    pub(crate) const FULL: Self = Self(Some(PER_POLL));
}

/// A unit of the budget, spent by [`poll_proceed`]. On drop, the budget is what
/// it was before, unless progress was made: an operation that stays pending
/// costs nothing.
#[derive(Debug)]
#[must_use = "the unit is given back on drop"]
pub struct RestoreOnPending {
    before: Cell<Budget>,
    /// The budget is that of a poll on this thread.
    _thread: PhantomData<*const ()>,
}

impl RestoreOnPending {
    #[inline]
    fn new(before: Budget) -> Self {
        Self { before: Cell::new(before), _thread: PhantomData }
    }

    /// The operation has made progress: the unit stays spent.
    #[inline]
    pub fn made_progress(&self) {
        self.before.set(Budget::UNLIMITED);
    }
}

impl Drop for RestoreOnPending {
    #[inline]
    fn drop(&mut self) {
        let before = self.before.get();
        if before != Budget::UNLIMITED {
            context::with(|context| {
                // A unit that was kept beyond its poll must not impose a budget
                // on code that has none, and so nobody to renew it.
                if context.budget.get() != Budget::UNLIMITED {
                    context.budget.set(before);
                }
            });
        }
    }
}

/// Spends a unit of the budget, or says `Pending` and has the task polled again:
/// after others had their turn, or, on a multi-thread runtime, up to three times
/// before.
///
/// For leaf futures of other crates. Outside of a runtime the budget has no end.
///
/// ```
/// use std::collections::VecDeque;
/// use std::task::{Context, Poll, ready};
/// use trefoil::task::coop;
///
/// /// A queue that is never empty keeps no other task from running.
/// fn poll_pop(queue: &mut VecDeque<u32>, cx: &mut Context<'_>) -> Poll<u32> {
///     let unit = ready!(coop::poll_proceed(cx));
///     match queue.pop_front() {
///         Some(item) => {
///             unit.made_progress();
///             Poll::Ready(item)
///         }
///         // A real one would keep the waker. The unit is given back.
///         None => Poll::Pending,
///     }
/// }
/// # let mut cx = Context::from_waker(std::task::Waker::noop());
/// # assert_eq!(poll_pop(&mut VecDeque::from([7]), &mut cx), Poll::Ready(7));
/// # assert_eq!(poll_pop(&mut VecDeque::new(), &mut cx), Poll::Pending);
/// ```
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    context::with(|context| match context.budget.get() {
        Budget(None) => Poll::Ready(RestoreOnPending::new(Budget::UNLIMITED)),
        Budget(Some(0)) => {
            super::yield_now::wake_in_turn(cx.waker());
            Poll::Pending
        }
        before @ Budget(Some(left)) => {
            context.budget.set(Budget(Some(left - 1)));
            Poll::Ready(RestoreOnPending::new(before))
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

pin_project! {
    /// The future of [`cooperative`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Coop<F: Future> {
        #[pin]
        future: F,
    }
}

/// Has a future take part in the budget that knows nothing of it: it spends a
/// unit when it is done, and is not polled once the budget is used up.
///
/// # Cancellation safety
/// As that of `future`.
///
/// ```
/// # trefoil::runtime::Runtime::new().unwrap().block_on(async {
/// // Always ready, and yet other tasks run meanwhile.
/// for n in 0..1000 {
///     assert_eq!(trefoil::task::coop::cooperative(std::future::ready(n)).await, n);
/// }
/// # });
/// ```
pub fn cooperative<F: Future>(future: F) -> Coop<F> {
    Coop { future }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let unit = ready!(poll_proceed(cx));
        let polled = self.project().future.poll(cx);
        if polled.is_ready() {
            unit.made_progress();
        }
        polled
    }
}
