//! A chain of spawns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use fork_join_workloads::Tally;
use futures_channel::oneshot;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::{ROOM_OUTSIDE, cold};

/// What the last link does with the count.
trait Done: Send + 'static {
    fn done(self, count: u64);
}

impl Done for oneshot::Sender<u64> {
    fn done(self, count: u64) {
        self.send(count).expect("the root waits");
    }
}

impl Done for mpsc::SyncSender<u64> {
    fn done(self, count: u64) {
        self.send(count).expect("the outside thread waits");
    }
}

/// The count of the last link. A static: a link that held it would be larger than the document's,
/// which holds one number and a sender.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Spawns the link that counts to `count`, and returns without waiting for it. (A plain function
/// around the task, so that the task's type does not contain itself and nothing need be boxed.)
fn spawn_link<R: AsyncRuntime, D: Done>(count: u64, done: D) {
    R::spawn_detached(async move {
        // Relaxed: published by the spawns.
        if count == LAST.load(Ordering::Relaxed) {
            done.done(count);
        } else {
            spawn_link::<R, D>(count.wrapping_add(1), done);
        }
    });
}

/// Spawns all links of a chain, and returns at once.
fn spawn_chain<R: AsyncRuntime, D: Done>(depth: u64, done: D) {
    let salt = salt::of_process();
    LAST.store(salt.wrapping_add(depth), Ordering::Relaxed);
    spawn_link::<R, D>(salt.wrapping_add(1), done);
}

fn tally(count: u64) -> Tally {
    Tally { answer: count, work: count.wrapping_sub(salt::of_process()) }
}

/// Waits for the chain on a worker.
async fn root<R: AsyncRuntime>(depth: u64) -> Tally {
    let (done, ended) = oneshot::channel();
    spawn_chain::<R, _>(depth, done);
    tally(ended.await.expect("the last link sends"))
}

/// A runtime, and a channel to the thread outside that lives from the first iteration to the last.
struct Chain<R> {
    done: mpsc::SyncSender<u64>,
    ended: mpsc::Receiver<u64>,
    runtime: R,
}

impl<R: AsyncRuntime> Chain<R> {
    fn start(threads: usize) -> Self {
        let (done, ended) = mpsc::sync_channel(ROOM_OUTSIDE);
        Self { done, ended, runtime: R::start(threads) }
    }

    /// Waits for the chain on the thread outside; the task that spawns its first link ends at once.
    fn iterate(&self, depth: u64) -> Tally {
        let done = self.done.clone();
        R::spawn_detached_from_outside(&self.runtime.handle(), async move {
            spawn_chain::<R, _>(depth, done);
        });
        tally(self.ended.recv().expect("the last link sends"))
    }
}

fn depth(request: &mut Request) -> Result<u64, Refusal> {
    let depth = request.param("depth")?;
    if depth == 0 {
        return Err(Refusal::Misuse("--set depth=0: a chain has at least one link".into()));
    }
    Ok(depth)
}

pub(crate) fn prepare_steady<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let depth = depth(request)?;
    let chain = Chain::<R>::start(request.threads);
    Ok(Work::new(move || chain.iterate(depth).into()))
}

pub(crate) fn prepare_cold<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let depth = depth(request)?;
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(depth)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_link_is_counted() {
        let chain = Chain::<TestRuntime>::start(2);
        for depth in [1, 2, 100] {
            let tally = Tally { answer: depth, work: depth };
            assert_eq!(chain.runtime.run(root::<TestRuntime>(depth)), tally);
            assert_eq!(chain.iterate(depth), tally);
        }
    }
}
