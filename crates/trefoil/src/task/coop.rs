//! The cooperative budget: it limits how long a task whose operations are always ready keeps its
//! worker.
//!
//! Each poll of a task starts with a budget, and each operation of this crate that makes progress
//! spends one unit of it, unless it could never have waited (the page
//! [`progress`](crate::progress) says which these are). Once the budget is spent, operations return
//! `Pending` and have the task polled again later, so that other tasks get their turn. The scheme,
//! and the size of the budget, are tokio's (see "Reducing tail latencies with automatic cooperative
//! task yielding", 2020).

use crate::context;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Operations per poll. A task that has spent them is queued like one that was just woken. On a
/// worker of several, it goes to the LIFO slot: the task gets up to three more budgets before
/// others run. At some ten nanoseconds an operation, this takes less time than one poll of another
/// task may.
const PER_POLL: u8 = 128;

/// The budget of a poll that found it spent, and was counted for that.
const SPENT_AND_COUNTED: u8 = u8::MAX;

/// What is left of this poll's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(Option<u8>);

impl Budget {
    pub(crate) const UNLIMITED: Self = Self(None);
    pub(crate) const FULL: Self = Self(Some(PER_POLL));
}

/// A unit of the budget, spent by [`poll_proceed`]. Dropping it returns the unit, unless progress
/// was made: an operation that stays pending costs nothing.
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

    /// Says that the operation has made progress: the unit stays spent.
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
                // A unit may be kept beyond its poll. It must not set a budget where there is none,
                // because nothing would renew that budget.
                if context.budget.get() != Budget::UNLIMITED {
                    context.budget.set(before);
                }
            });
        }
    }
}

/// Spends a unit of the budget. If none is left, returns `Pending` and has the task polled again
/// after other tasks have had their turn. (In a multi-thread runtime, the task may be polled up to
/// three times before.)
///
/// For leaf futures of other crates. Outside of a runtime, the budget is unlimited.
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
///         // A real queue would keep the waker. The unit is given back.
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
        Budget(Some(left @ (0 | SPENT_AND_COUNTED))) => {
            if left == 0 {
                count_forced_yield();
            }
            super::yield_now::wake_in_turn(cx.waker());
            Poll::Pending
        }
        before @ Budget(Some(left)) => {
            context.budget.set(Budget(Some(left - 1)));
            Poll::Ready(RestoreOnPending::new(before))
        }
    })
}

/// Spends a unit for progress that is certain. False if none is left: ask [`poll_proceed`].
#[inline(always)]
pub(crate) fn spend() -> bool {
    context::with(|context| match context.budget.get() {
        Budget(None) => true,
        Budget(Some(0 | SPENT_AND_COUNTED)) => false,
        Budget(Some(left)) => {
            context.budget.set(Budget(Some(left - 1)));
            true
        }
    })
}

/// The task has to yield, for the first time in this poll.
#[cold]
fn count_forced_yield() {
    context::with(|context| {
        context.budget.set(Budget(Some(SPENT_AND_COUNTED)));
        if let Some(handle) = context.handle() {
            handle.common().forced_yields.add_shared(1);
        }
    });
}

/// Runs `f` with another budget, and restores the old one afterwards.
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

/// Whether any of this poll's budget is left; true outside of a runtime.
pub fn has_budget_remaining() -> bool {
    let is_spent = |budget| matches!(budget, Budget(Some(0 | SPENT_AND_COUNTED)));
    context::with(|context| !is_spent(context.budget.get()))
}

/// Spends one unit of the task's budget, and yields if none is left.
///
/// For loops that await no operation of the runtime.
///
/// # Cancellation safety
/// If the future is dropped before it is done, it has spent nothing.
pub async fn consume_budget() {
    poll_fn(|cx| {
        ready!(poll_proceed(cx)).made_progress();
        Poll::Ready(())
    })
    .await;
}

/// The future of [`unconstrained`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Unconstrained<F> {
    future: F,
}

/// Polls a future without a budget. It can then keep its worker for as long as its operations are
/// ready.
pub fn unconstrained<F>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the field is pinned exactly when the whole is: it is never moved out,
        // `Unconstrained` has no `Drop`, and is `Unpin` by auto trait only if `F` is.
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

/// Applies the budget to a future that does not use it by itself. The future spends a unit when it
/// is done, and is not polled once the budget is used up.
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
