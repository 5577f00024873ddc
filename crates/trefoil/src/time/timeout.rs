use super::{Duration, Instant, Sleep, sleep, sleep_until};
use crate::task::coop::{self, Budget};
use pin_project_lite::pin_project;
use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a future for `duration` at most.
///
/// A poll looks at the future first and at the time afterwards, so a future that is ready is never
/// too late.
///
/// # Errors
/// [`Elapsed`], if the time ends first. The future is dropped with the `Timeout`.
///
/// # Cancellation safety
/// As that of the future.
///
/// # Panics
/// Outside of a runtime, and in a runtime without `enable_time`.
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { value: future.into_future(), delay: sleep(duration) }
}

/// Runs a future until `deadline` at most: see [`timeout`].
///
/// # Panics
/// Outside of a runtime, and in a runtime without `enable_time`.
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { value: future.into_future(), delay: sleep_until(deadline) }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct Timeout<F> {
        #[pin]
        value: F,
        #[pin]
        delay: Sleep,
    }
}

/// The error of a [`timeout`]: its time ended before its future.
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl<F> Timeout<F> {
    /// The future inside.
    pub fn get_ref(&self) -> &F {
        &self.value
    }

    /// The future inside.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.value
    }

    /// The future inside, without the timeout.
    pub fn into_inner(self) -> F {
        self.value
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = this.value.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let delay = this.delay;
        let expired = if had_budget && !coop::has_budget_remaining() {
            // The future has used up the budget. If the timer waited for new budget, a future that
            // always uses it up would never time out.
            coop::with_budget(Budget::UNLIMITED, || delay.poll(cx))
        } else {
            delay.poll(cx)
        };
        expired.map(|()| Err(Elapsed(())))
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(_: Elapsed) -> Self {
        std::io::ErrorKind::TimedOut.into()
    }
}
