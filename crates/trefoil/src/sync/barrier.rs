//! `Barrier`: tasks that wait for each other.

use super::Notify;
use crate::primitives::atomic::{AcqRel, Acquire, AtomicU64, Relaxed};
use crate::task::coop;
use std::fmt;

/// Lets tasks go on once a given number of them has arrived; then it starts anew.
///
/// ```
/// use std::sync::Arc;
/// use trefoil::sync::Barrier;
///
/// # #[trefoil::main]
/// # async fn main() {
/// let barrier = Arc::new(Barrier::new(3));
/// let tasks = Vec::from_iter((0..3).map(|_| {
///     let barrier = Arc::clone(&barrier);
///     trefoil::spawn(async move { barrier.wait().await.is_leader() })
/// }));
/// let mut leaders = 0;
/// for task in tasks {
///     leaders += usize::from(task.await.unwrap());
/// }
/// assert_eq!(leaders, 1);
/// # }
/// ```
pub struct Barrier {
    /// All arrivals so far. Each `size` of them are a generation. At 10⁹ arrivals a second, it
    /// overflows after 500 years.
    arrivals: AtomicU64,
    size: u64,
    /// Called at the end of each generation.
    last_has_come: Notify,
}

/// What [`Barrier::wait`] returns.
#[derive(Clone, Debug)]
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// A barrier that waits for `n` tasks. With 0, it waits for one, as that of the standard
    /// library.
    pub fn new(n: usize) -> Self {
        let size = n.max(1) as u64;
        Self { arrivals: AtomicU64::new(0), size, last_has_come: Notify::new() }
    }

    /// Arrives, and waits until enough tasks have. The last one of them gets the result that says
    /// that it [`is_leader`](BarrierWaitResult::is_leader).
    ///
    /// # Cancellation safety
    /// None: a task has arrived with the first poll, also if the future is dropped afterwards.
    pub async fn wait(&self) -> BarrierWaitResult {
        // AcqRel: what each task did before it has arrived is visible to all that go on. Later
        // arrivals are RMWs, too, and so continue the release sequence of this one.
        let before = self.arrivals.fetch_add(1, AcqRel);
        // The number of arrivals at which the generation is complete.
        let end = (before / self.size + 1).saturating_mul(self.size);
        if before + 1 == end {
            self.last_has_come.notify_waiters();
            // Nobody else waits now, so it may yield.
            coop::consume_budget().await;
            return BarrierWaitResult(true);
        }
        loop {
            // From its creation on, it sees calls of `notify_waiters`. The last one calls it after
            // it has arrived. So either the call is seen, or the arrival.
            let last_has_come = self.last_has_come.notified();
            // Acquire: pairs with the AcqRel above.
            if self.arrivals.load(Acquire) >= end {
                coop::consume_budget().await;
                return BarrierWaitResult(false);
            }
            // The call may be one that an earlier generation's last one was slow to make.
            last_has_come.await;
        }
    }
}

impl BarrierWaitResult {
    /// Whether the task was the last one to arrive. One of each generation is.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier")
            .field("size", &self.size)
            // Relaxed: a snapshot for debug output.
            .field("arrived", &(self.arrivals.load(Relaxed) % self.size))
            .finish_non_exhaustive()
    }
}
