//! A future that a test polls by hand, with a waker that counts.
#![allow(dead_code, reason = "no program of tests uses all of it")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

pub(crate) struct Polled<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Count>,
}

impl<F: Future> Polled<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future: Box::pin(future), wakes: Arc::default() }
    }

    pub(crate) fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Polls for the first time, and has to wait.
    #[track_caller]
    pub(crate) fn waiting(future: F) -> Self {
        let mut polled = Self::new(future);
        assert!(polled.poll().is_pending(), "it should wait");
        polled
    }

    /// Polls, and has to be ready.
    #[track_caller]
    pub(crate) fn ready(&mut self) -> F::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it should be ready"),
        }
    }

    pub(crate) fn wakes(&self) -> usize {
        self.wakes.0.load(SeqCst)
    }
}

/// Small pseudo-random numbers (xorshift64, Marsaglia 2003), the same in each run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
