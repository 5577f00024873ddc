//! Oneshot round trips with freshly spawned echoes.
//!
//! The channel is `futures::channel::oneshot` in every contender, so that only the runtime differs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use futures_channel::oneshot;
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::ROOM_OUTSIDE;

/// Tasks of one pair: the one that asks and its echo.
const TASKS: u64 = 2;

/// One round trip of the number `i`.
pub(crate) async fn pair<R: AsyncRuntime>(i: u64) -> u64 {
    let (ping, pinged) = oneshot::channel();
    let (pong, ponged) = oneshot::channel();
    R::spawn_detached(async move {
        let number: u64 = pinged.await.expect("the asking task sends");
        pong.send(number).expect("the asking task waits");
    });
    ping.send(i).expect("the echo waits");
    ponged.await.expect("the echo sends")
}

/// The pairs of this iteration that have not ended. A static, as in the document: a task that held
/// a counted reference would pay for it.
static REMAINING: AtomicU64 = AtomicU64::new(0);
/// The sum of the numbers that came back.
static SUM: AtomicU64 = AtomicU64::new(0);

/// What the last pair of an iteration tells the thread outside: not how many have ended, because a
/// task that held their number would be larger than the document's.
struct Ended {
    answer: u64,
    left: u64,
}

/// A runtime, and a channel to the thread outside that lives from the first iteration to the last.
struct Pairs<R> {
    done: mpsc::SyncSender<Ended>,
    ended: mpsc::Receiver<Ended>,
    runtime: R,
}

impl<R: AsyncRuntime> Pairs<R> {
    fn start(threads: usize) -> Self {
        let (done, ended) = mpsc::sync_channel(ROOM_OUTSIDE);
        Self { done, ended, runtime: R::start(threads) }
    }

    fn iterate(&self, pairs: u64) -> Iteration {
        // Relaxed: the spawns below publish both.
        REMAINING.store(pairs, Ordering::Relaxed);
        SUM.store(0, Ordering::Relaxed);
        let done = self.done.clone();
        R::spawn_detached_from_outside(&self.runtime.handle(), async move {
            for i in 0..pairs {
                let (done, number) = (done.clone(), salt::of_process().wrapping_add(i));
                R::spawn_detached(async move {
                    let number = pair::<R>(number).await;
                    // Relaxed: published by the subtraction below.
                    SUM.fetch_add(number, Ordering::Relaxed);
                    // AcqRel: the last pair speaks for all that came before it.
                    let before = REMAINING.fetch_sub(1, Ordering::AcqRel);
                    if before == 1 {
                        let answer = SUM.load(Ordering::Relaxed);
                        let ended = Ended { answer, left: before - 1 };
                        done.send(ended).expect("the outside thread waits");
                    }
                });
            }
        });
        let Ended { answer, left } = self.ended.recv().expect("the last pair sends");
        let ops = pairs - left;
        Iteration { answer, ops, work: Some(TASKS * ops) }
    }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let pairs = request.param("pairs")?;
    if pairs == 0 {
        return Err(Refusal::Misuse("--set pairs=0: there is a last pair to wait for".into()));
    }
    let all = Pairs::<R>::start(request.threads);
    Ok(Work::new(move || all.iterate(pairs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_number_comes_back() {
        let all = Pairs::<TestRuntime>::start(2);
        for _ in 0..3 {
            let done = Iteration { answer: 4950, ops: 100, work: Some(200) };
            assert_eq!(all.iterate(100), done);
        }
    }
}
