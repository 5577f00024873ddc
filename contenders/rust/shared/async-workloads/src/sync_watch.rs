//! Watchers of one value, which live on from one iteration to the next.

use std::sync::Arc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use tokio::sync::watch::{Receiver, Sender};

use crate::AsyncRuntime;
use crate::fan_out::{Receipts, Size, message, random_of};

async fn watcher(index: u64, mut number: Receiver<u64>, receipts: Arc<Receipts>) {
    let mut random = random_of(index);
    while number.changed().await.is_ok() {
        let seen = *number.borrow();
        message(&mut random);
        receipts.sign(seen);
    }
}

async fn root(sends: u64, sender: Arc<Sender<u64>>, receipts: Arc<Receipts>) -> Tally {
    for send in 0..sends {
        sender.send(salt::of_process().wrapping_add(send)).expect("the watchers live on");
        receipts.all_of(send + 1).await;
    }
    receipts.take()
}

struct Watch<R> {
    sender: Arc<Sender<u64>>,
    receipts: Arc<Receipts>,
    sends: u64,
    runtime: R,
}

impl<R: AsyncRuntime> Watch<R> {
    fn start(threads: usize, size: Size) -> Self {
        let runtime = R::start(threads);
        let handle = runtime.handle();
        let sender = Arc::new(Sender::new(0));
        let receipts = Arc::new(Receipts::of(size.receivers));
        for index in 0..size.receivers {
            let task = watcher(index, sender.subscribe(), Arc::clone(&receipts));
            R::spawn_detached_from_outside(&handle, task);
        }
        Self { sender, receipts, sends: size.sends, runtime }
    }

    fn iterate(&self) -> Tally {
        let (sender, receipts) = (Arc::clone(&self.sender), Arc::clone(&self.receipts));
        let root = root(self.sends, sender, receipts);
        self.runtime.block_on_root(async { R::spawn(root).await })
    }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let watch = Watch::<R>::start(request.threads, Size::of(request)?);
    Ok(Work::new(move || watch.iterate().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_watcher_sees_every_number() {
        let watch = Watch::<TestRuntime>::start(2, Size { receivers: 7, sends: 10 });
        for _ in 0..3 {
            assert_eq!(watch.iterate(), Tally { answer: 7 * 55, work: 70 });
        }
    }
}
