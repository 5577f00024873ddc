//! Notify, called from an outside thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use tokio::sync::Notify;

use crate::AsyncRuntime;

/// What the waiters share with the outside thread: two allocations, as in the document. The outside
/// thread reads the counter without pause, and on the cache line of the lock that would be felt.
#[derive(Clone, Default)]
struct Shared {
    notify: Arc<Notify>,
    woken: Arc<AtomicU64>,
}

async fn waiter(shared: Shared) {
    loop {
        shared.notify.notified().await;
        // Relaxed, here and below: the counter passes nothing but itself.
        shared.woken.fetch_add(1, Ordering::Relaxed);
    }
}

/// A runtime with waiters that live until it is dropped.
struct Waiters<R> {
    shared: Shared,
    _runtime: R,
}

impl<R: AsyncRuntime> Waiters<R> {
    fn start(threads: usize, waiters: usize) -> Self {
        let runtime = R::start(threads);
        let shared = Shared::default();
        let handle = runtime.handle();
        for _ in 0..waiters {
            R::spawn_detached_from_outside(&handle, waiter(shared.clone()));
        }
        Self { shared, _runtime: runtime }
    }
}

impl<R> Waiters<R> {
    fn iterate(&self, wakeups: u64, notify: impl Fn(&Notify)) -> Tally {
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

fn prepare<R: AsyncRuntime>(
    request: &mut Request,
    notify: impl Fn(&Notify) + 'static,
) -> Result<Work, Refusal> {
    let (waiters, wakeups) = (request.param("waiters")?, request.param("wakeups")?);
    if waiters == 0 {
        return Err(Refusal::Misuse("--set waiters=0: nobody would ever be woken".into()));
    }
    let waiters = Waiters::<R>::start(request.threads, waiters);
    Ok(Work::new(move || waiters.iterate(wakeups, &notify).into()))
}

pub(crate) fn prepare_one<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    prepare::<R>(request, Notify::notify_one)
}

pub(crate) fn prepare_waiters<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    prepare::<R>(request, Notify::notify_waiters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_wakeups_asked_for_are_credited() {
        let tally = Tally { answer: 50, work: 50 };
        for waiters in [1, 7] {
            let waiters = Waiters::<TestRuntime>::start(2, waiters);
            assert_eq!(waiters.iterate(50, Notify::notify_one), tally);
            assert_eq!(waiters.iterate(50, Notify::notify_waiters), tally);
        }
    }
}
