use super::{Duration, Instant, Sleep, sleep, sleep_until};
use crate::task::coop::{self, Budget};
use pin_project_lite::pin_project;
use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Gives a future so long to finish.
///
/// The future is polled first, so one that is ready is never too late.
///
/// # Errors
/// [`Elapsed`], if the time runs out first; the future is dropped with the
/// `Timeout`.
///
/// # Cancellation safety
/// As that of the future.
///
/// # Panics
/// Outside of a runtime, and in one without `enable_time`.
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { value: future.into_future(), delay: sleep(duration) }
}

/// Gives a future until `deadline` to finish: see [`timeout`].
///
/// # Panics
/// Outside of a runtime, and in one without `enable_time`.
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

/// The time ran out.
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

    /// The future inside, without its limit.
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
            // The future used it up. Were the timer to wait for new budget, a
            // future that always does so would never time out.
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
