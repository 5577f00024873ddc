//! Broadcast to many receivers, which live on from one iteration to the next.

use std::sync::Arc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};

use crate::AsyncRuntime;
use crate::fan_out::{Receipts, Size, message, random_of};
use crate::row::Root;

/// The channel's room.
const ROOM: usize = 1000;

async fn receiver(index: u64, mut numbers: Receiver<u64>, receipts: Arc<Receipts>) {
    let mut random = random_of(index);
    loop {
        match numbers.recv().await {
            Ok(number) => {
                message(&mut random);
                receipts.sign(number);
            }
            Err(RecvError::Closed) => return,
            Err(RecvError::Lagged(_)) => panic!("the sender waits for every receiver"),
        }
    }
}

async fn root(sends: u64, sender: Sender<u64>, receipts: Arc<Receipts>) -> Tally {
    for send in 0..sends {
        sender.send(salt::of_process().wrapping_add(send)).expect("the receivers live on");
        receipts.all_of(send + 1).await;
    }
    receipts.take()
}

struct Broadcast<R> {
    sender: Sender<u64>,
    receipts: Arc<Receipts>,
    sends: u64,
    runtime: R,
}

impl<R: AsyncRuntime> Broadcast<R> {
    fn start(threads: usize, size: Size) -> Self {
        let runtime = R::start(threads);
        let handle = runtime.handle();
        let sender = Sender::new(ROOM);
        let receipts = Arc::new(Receipts::of(size.receivers));
        for index in 0..size.receivers {
            let task = receiver(index, sender.subscribe(), Arc::clone(&receipts));
            R::spawn_detached_from_outside(&handle, task);
        }
        Self { sender, receipts, sends: size.sends, runtime }
    }

    fn iterate(&self, place: Root) -> Tally {
        let root = root(self.sends, self.sender.clone(), Arc::clone(&self.receipts));
        place.run(&self.runtime, root)
    }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let broadcast = Broadcast::<R>::start(request.threads, Size::of(request)?);
    Ok(Work::new(move || broadcast.iterate(place).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_receiver_receives_every_number() {
        let size = Size { receivers: 7, sends: 10 };
        let broadcast = Broadcast::<TestRuntime>::start(2, size);
        for place in [Root::Worker, Root::Outside, Root::Worker] {
            assert_eq!(broadcast.iterate(place), Tally { answer: 7 * 55, work: 70 });
        }
    }
}
