//! Blocking closures that really block: how many get through, and what a task beside them notices.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use super::gap::{Gap, victim};
use super::{counted, micros, word};
use crate::AsyncRuntime;
use crate::background::Busy;
use crate::row::steady;

/// Batches of closures that sleep.
async fn sleeps<R: AsyncRuntime>(batches: usize, closures: usize, block: Duration) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..batches {
        let sleep = |_| {
            R::spawn_blocking(move || {
                thread::sleep(block);
                1
            })
        };
        let joins: Vec<_> = (0..closures).map(sleep).collect();
        for join in joins {
            tally += Tally { answer: join.await, work: 1 };
        }
    }
    tally
}

/// Closures of which each waits for all others of its batch: who runs them one after the other
/// never ends.
async fn rendezvous<R: AsyncRuntime>(batches: usize, closures: usize) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..batches {
        let barrier = Arc::new(Barrier::new(closures));
        let meet = |_| {
            let barrier = Arc::clone(&barrier);
            R::spawn_blocking(move || {
                barrier.wait();
                1
            })
        };
        let joins: Vec<_> = (0..closures).map(meet).collect();
        for join in joins {
            tally += Tally { answer: join.await, work: 1 };
        }
    }
    tally
}

pub(super) fn prepare_blocks<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (batches, closures) = (request.param("batches")?, request.param("closures")?);
    let block = micros(request, "block_us")?;
    Ok(match word(request, "closure", ["sleep", "rendezvous"])? {
        "sleep" => {
            steady::<R, _, _>(request.threads, move || sleeps::<R>(batches, closures, block))
        }
        _ if !R::BLOCKING_CLOSURES_MEET => {
            let reason = "its blocking closures may be run one after the other, and then closures \
                          that wait for each other never end";
            return Err(Refusal::Unsupported(reason.into()));
        }
        _ => steady::<R, _, _>(request.threads, move || rendezvous::<R>(batches, closures)),
    })
}

/// For each batch, the longest gap of a task that yields beside it.
async fn gaps<R: AsyncRuntime>(
    gap: Arc<Gap>,
    batches: usize,
    closures: usize,
    block: Duration,
) -> Vec<u64> {
    let mut gaps_ns = Vec::with_capacity(batches);
    for _ in 0..batches {
        gap.begin();
        sleeps::<R>(1, closures, block).await;
        gaps_ns.push(gap.end());
    }
    gaps_ns
}

pub(super) fn prepare_beside<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (batches, closures) = (request.param("batches")?, request.param("closures")?);
    let block = micros(request, "block_us")?;
    let gap = Gap::in_time();
    let beside = Busy::<R>::start(request.threads, 1, |flag| victim::<R>(flag, Arc::clone(&gap)));
    Ok(Work::measured(move |gaps_ns| {
        let root = gaps::<R>(Arc::clone(&gap), batches, closures, block);
        let longest_ns = beside.runtime().run(root);
        gaps_ns.extend_from_slice(&longest_ns);
        counted(longest_ns.len())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_closure_is_awaited() {
        let runtime = TestRuntime::start(1);
        let all = Tally { answer: 12, work: 12 };
        let block = Duration::from_micros(100);
        assert_eq!(runtime.run(sleeps::<TestRuntime>(3, 4, block)), all);
        assert_eq!(runtime.run(rendezvous::<TestRuntime>(6, 2)), all);
        assert_eq!(runtime.run(gaps::<TestRuntime>(Gap::in_time(), 5, 2, block)).len(), 5);
    }
}
