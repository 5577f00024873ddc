//! Notify, called from an outside thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::{AsyncRuntime, Notifies};

/// What the waiters share with the outside thread: two allocations, as in the document. The outside
/// thread reads the counter without pause, and on the cache line of the lock that would be felt.
struct Shared<N: Notifies> {
    notify: Arc<N::Notify>,
    woken: Arc<AtomicU64>,
}

async fn waiter<N: Notifies>(notify: Arc<N::Notify>, woken: Arc<AtomicU64>) {
    loop {
        N::notified(&notify).await;
        // Relaxed, here and below: the counter passes nothing but itself.
        woken.fetch_add(1, Ordering::Relaxed);
    }
}

/// A runtime with waiters that live until it is dropped.
struct Waiters<R, N: Notifies> {
    shared: Shared<N>,
    _runtime: R,
}

impl<R: AsyncRuntime, N: Notifies> Waiters<R, N> {
    fn start(threads: usize, waiters: usize) -> Self {
        let runtime = R::start(threads);
        let shared = Shared { notify: Arc::default(), woken: Arc::default() };
        let handle = runtime.handle();
        for _ in 0..waiters {
            let task = waiter::<N>(Arc::clone(&shared.notify), Arc::clone(&shared.woken));
            R::spawn_detached_from_outside(&handle, task);
        }
        Self { shared, _runtime: runtime }
    }

    fn iterate(&self, wakeups: u64, notify: impl Fn(&N::Notify)) -> Tally {
        let Shared { notify: all, woken } = &self.shared;
        woken.store(0, Ordering::Relaxed);
        loop {
            notify(all);
            let woken = woken.load(Ordering::Relaxed);
            if woken >= wakeups {
                let credited = woken.min(wakeups);
                return Tally { answer: credited, work: credited };
            }
        }
    }
}

fn prepare<R: AsyncRuntime, N: Notifies>(
    request: &mut Request,
    notify: impl Fn(&N::Notify) + 'static,
) -> Result<Work, Refusal> {
    let (waiters, wakeups) = (request.param("waiters")?, request.param("wakeups")?);
    if waiters == 0 {
        return Err(Refusal::Misuse("--set waiters=0: nobody would ever be woken".into()));
    }
    let waiters = Waiters::<R, N>::start(request.threads, waiters);
    Ok(Work::new(move || waiters.iterate(wakeups, &notify).into()))
}

pub(crate) fn prepare_one<R: AsyncRuntime, N: Notifies>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    prepare::<R, N>(request, N::notify_one)
}

pub(crate) fn prepare_waiters<R: AsyncRuntime, N: Notifies>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    prepare::<R, N>(request, N::notify_waiters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_wakeups_asked_for_are_credited() {
        let tally = Tally { answer: 50, work: 50 };
        for waiters in [1, 7] {
            let waiters = Waiters::<TestRuntime, TokioSync>::start(2, waiters);
            assert_eq!(waiters.iterate(50, TokioSync::notify_one), tally);
            assert_eq!(waiters.iterate(50, TokioSync::notify_waiters), tally);
        }
    }
}
