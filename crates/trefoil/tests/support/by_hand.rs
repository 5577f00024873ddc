//! Futures that are polled by hand, wakers that tell, and numbers from a seed.

use parking_lot::Mutex;
use std::fmt::Debug;
use std::future::{Future, IntoFuture};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// A future on the heap and its waker, which counts.
pub(crate) struct Polled<'a, R> {
    future: Option<Pin<Box<dyn Future<Output = R> + Send + 'a>>>,
    wakes: Arc<Wakes>,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

pub(crate) fn by_hand<'a, F>(future: F) -> Polled<'a, F::Output>
where
    F: IntoFuture<IntoFuture: Send + 'a>,
{
    Polled { future: Some(Box::pin(future.into_future())), wakes: Arc::default() }
}

impl<R> Polled<'_, R> {
    pub(crate) fn poll(&mut self) -> Poll<R> {
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.poll_with(&waker)
    }

    pub(crate) fn poll_with(&mut self, waker: &Waker) -> Poll<R> {
        let future = self.future.as_mut().expect("it has not returned yet");
        let polled = future.as_mut().poll(&mut Context::from_waker(waker));
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }

    /// How often its own waker was woken.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.0.load(SeqCst)
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.wakes() > 0
    }

    #[track_caller]
    pub(crate) fn is_pending(&mut self) -> bool {
        self.poll().is_pending()
    }

    #[track_caller]
    pub(crate) fn output(&mut self) -> R {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("the future is not ready"),
        }
    }
}

/// The output of a future that is ready at its first poll.
#[track_caller]
pub(crate) fn now<F: IntoFuture>(future: F) -> F::Output {
    let future = std::pin::pin!(future.into_future());
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future is not ready"),
    }
}

/// A waker that does what it is told.
pub(crate) fn waker(act: impl Fn() + Send + Sync + 'static) -> Waker {
    struct Act<F>(F);
    impl<F: Fn() + Send + Sync + 'static> Wake for Act<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }
    Waker::from(Arc::new(Act(act)))
}

/// What has happened, in order.
#[derive(Clone, Debug)]
pub(crate) struct Record<E>(Arc<Mutex<Vec<E>>>);

impl<E> Default for Record<E> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<E: Clone + Debug + Send + Sync + 'static> Record<E> {
    pub(crate) fn add(&self, event: E) {
        self.0.lock().push(event);
    }

    pub(crate) fn take(&self) -> Vec<E> {
        std::mem::take(&mut self.0.lock())
    }

    /// A waker that adds this event.
    pub(crate) fn waker(&self, event: E) -> Waker {
        let record = self.clone();
        waker(move || record.add(event.clone()))
    }
}

/// Numbers from a seed (SplitMix64, Steele, Lea and Flood 2014).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn within(&mut self, range: Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    /// True once in `n` calls.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// How often another task ran while a task did `work`, on a current-thread runtime.
pub(crate) fn turns_of_others(work: impl Future<Output = ()> + Send + 'static) -> usize {
    super::current_thread().block_on(async {
        let turns = Arc::new(AtomicUsize::new(0));
        let its = Arc::clone(&turns);
        let worker = trefoil::spawn(async move {
            // The other task is queued now.
            trefoil::task::yield_now().await;
            let before = its.load(SeqCst);
            work.await;
            its.load(SeqCst) - before
        });
        let other = trefoil::spawn(async move {
            loop {
                turns.fetch_add(1, SeqCst);
                trefoil::task::yield_now().await;
            }
        });
        let turns = worker.await.unwrap();
        other.abort();
        turns
    })
}
