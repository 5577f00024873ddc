//! Watchers of one value, which live on from one iteration to the next.

use std::sync::Arc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, TimedIterations, Work};
use palio_protocol::salt;

use crate::fan_out::{Receipts, Size, message, random_of};
use crate::row::one_after_the_other;
use crate::{AsyncRuntime, Notifies, Watches};

async fn watcher<P: Watches + Notifies>(
    index: u64,
    mut number: P::WatchReceiver,
    receipts: Arc<Receipts<P>>,
) {
    let mut random = random_of(index);
    while let Some(seen) = P::changed(&mut number).await {
        message(&mut random);
        receipts.sign(seen);
    }
}

async fn root<P: Watches + Notifies>(
    sends: u64,
    sender: Arc<P::WatchSender>,
    receipts: Arc<Receipts<P>>,
) -> Tally {
    for send in 0..sends {
        P::change(&sender, salt::of_process().wrapping_add(send));
        receipts.all_of(send + 1).await;
    }
    receipts.take()
}

struct Watch<R, P: Watches + Notifies> {
    sender: Arc<P::WatchSender>,
    receipts: Arc<Receipts<P>>,
    sends: u64,
    runtime: R,
}

impl<R: AsyncRuntime, P: Watches + Notifies> Watch<R, P> {
    fn start(threads: usize, size: Size) -> Self {
        let runtime = R::start(threads);
        let handle = runtime.handle();
        let sender = Arc::new(P::watch());
        let receipts = Arc::new(Receipts::of(size.receivers));
        for index in 0..size.receivers {
            let task = watcher::<P>(index, P::watcher(&sender), Arc::clone(&receipts));
            R::spawn_detached_from_outside(&handle, task);
        }
        Self { sender, receipts, sends: size.sends, runtime }
    }

    fn iterate(&self) -> Tally {
        let (sender, receipts) = (Arc::clone(&self.sender), Arc::clone(&self.receipts));
        let root = root::<P>(self.sends, sender, receipts);
        self.runtime.block_on_root(async { R::spawn(root).await })
    }

    fn iterate_in_one(&self, batch: u32) -> TimedIterations {
        let (sends, sender) = (self.sends, Arc::clone(&self.sender));
        let receipts = Arc::clone(&self.receipts);
        let iteration = move || root::<P>(sends, Arc::clone(&sender), Arc::clone(&receipts));
        let all = one_after_the_other(batch, iteration);
        self.runtime.block_on_root(async { R::spawn(all).await })
    }
}

/// The row of the document: each iteration has a sending task of its own.
pub(crate) fn prepare<R: AsyncRuntime, P: Watches + Notifies>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let watch = Watch::<R, P>::start(request.threads, Size::of(request)?);
    Ok(Work::new(move || watch.iterate().into()))
}

/// The row of the suite `native-sync`: one sending task has all iterations of a sample.
pub(crate) fn prepare_in_one<R: AsyncRuntime, P: Watches + Notifies>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let watch = Watch::<R, P>::start(request.threads, Size::of(request)?);
    Ok(Work::batched(move |batch| watch.iterate_in_one(batch)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::{TestRuntime, spawns};

    #[test]
    fn every_watcher_sees_every_number() {
        let watch = Watch::<TestRuntime, TokioSync>::start(2, Size { receivers: 7, sends: 10 });
        for _ in 0..3 {
            assert_eq!(watch.iterate(), Tally { answer: 7 * 55, work: 70 });
        }
    }

    #[test]
    fn one_sending_task_has_all_iterations_of_a_sample() {
        let watch = Watch::<TestRuntime, TokioSync>::start(2, Size { receivers: 7, sends: 10 });
        // The future of `block_on`, which spawns the sender, is polled by this thread.
        let before = spawns();
        watch.iterate_in_one(3);
        assert_eq!(spawns() - before, 1);
    }
}
