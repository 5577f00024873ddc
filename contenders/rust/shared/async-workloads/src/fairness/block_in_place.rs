//! A task that blocks its worker with the runtime's leave: how long does a task wait that it has
//! just woken?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use palio_protocol::harness::{Refusal, Request, Work};

use super::bell::Bell;
use super::{counted, micros, ns, word};
use crate::AsyncRuntime;

/// The task that is woken and waits to run: it answers each bell until there is none any more.
async fn woken(bell: Arc<Bell>, answer: Arc<Bell>, ended: Arc<AtomicBool>) -> Vec<u64> {
    let mut latencies_ns = Vec::new();
    loop {
        let rung = bell.heard().await;
        let latency_ns = ns(rung.elapsed());
        // Acquire: pairs with the Release in `blocker`; the bell's lock would do as well.
        if ended.load(Ordering::Acquire) {
            return latencies_ns;
        }
        latencies_ns.push(latency_ns);
        answer.ring();
    }
}

/// The task that wakes it and blocks, as long as there are events left.
async fn blocker<R: AsyncRuntime>(left: Arc<AtomicUsize>, block: Option<Duration>) -> Vec<u64> {
    let (bell, answer) = (Arc::<Bell>::default(), Arc::<Bell>::default());
    let ended = Arc::new(AtomicBool::new(false));
    let other = R::spawn(woken(Arc::clone(&bell), Arc::clone(&answer), Arc::clone(&ended)));
    let take = |left: usize| left.checked_sub(1);
    // Relaxed: the count is all that is shared.
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
        // It must sleep to be woken.
        while !bell.is_awaited() {
            R::yield_now().await;
        }
        bell.ring();
        match block {
            Some(block) => R::block_in_place(|| thread::sleep(block)),
            None => {
                R::block_in_place(|| ());
                R::yield_now().await;
            }
        }
        answer.heard().await;
    }
    ended.store(true, Ordering::Release);
    bell.ring();
    other.await
}

/// A pair for each worker.
async fn pairs<R: AsyncRuntime>(
    threads: usize,
    events: usize,
    block: Option<Duration>,
) -> Vec<u64> {
    let left = Arc::new(AtomicUsize::new(events));
    let joins: Vec<_> =
        (0..threads).map(|_| R::spawn(blocker::<R>(Arc::clone(&left), block))).collect();
    let mut latencies_ns = Vec::with_capacity(events);
    for join in joins {
        latencies_ns.extend(join.await);
    }
    latencies_ns
}

pub(super) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let events = request.param("events")?;
    let block = micros(request, "block_us")?;
    let block = match word(request, "closure", ["blocks", "empty"])? {
        "blocks" => Some(block),
        _ => None,
    };
    let threads = request.threads;
    let runtime = R::start(threads);
    Ok(Work::measured(move |latencies_ns| {
        let waited = runtime.run(pairs::<R>(threads, events, block));
        latencies_ns.extend_from_slice(&waited);
        counted(waited.len())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_event_is_measured_by_one_of_the_pairs() {
        let runtime = TestRuntime::start(1);
        for block in [None, Some(Duration::from_micros(50))] {
            assert_eq!(runtime.run(pairs::<TestRuntime>(3, 50, block)).len(), 50);
        }
    }
}
