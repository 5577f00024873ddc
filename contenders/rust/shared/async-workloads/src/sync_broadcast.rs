//! Broadcast to many receivers, which live on from one iteration to the next.

use std::sync::Arc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, TimedIterations, Work};
use palio_protocol::salt;

use crate::fan_out::{Receipts, Size, message, random_of};
use crate::row::Root;
use crate::{AsyncRuntime, Broadcasts, Notifies};

/// The channel's room.
const ROOM: usize = 1000;

async fn receiver<P: Broadcasts + Notifies>(
    index: u64,
    mut numbers: P::BroadcastReceiver,
    receipts: Arc<Receipts<P>>,
) {
    let mut random = random_of(index);
    while let Some(number) = P::next_broadcast(&mut numbers).await {
        message(&mut random);
        receipts.sign(number);
    }
}

async fn root<P: Broadcasts + Notifies>(
    sends: u64,
    sender: P::BroadcastSender,
    receipts: Arc<Receipts<P>>,
) -> Tally {
    for send in 0..sends {
        P::broadcast_number(&sender, salt::of_process().wrapping_add(send));
        receipts.all_of(send + 1).await;
    }
    receipts.take()
}

struct Broadcast<R, P: Broadcasts + Notifies> {
    sender: P::BroadcastSender,
    receipts: Arc<Receipts<P>>,
    sends: u64,
    runtime: R,
}

impl<R: AsyncRuntime, P: Broadcasts + Notifies> Broadcast<R, P> {
    fn start(threads: usize, size: Size) -> Self {
        let runtime = R::start(threads);
        let handle = runtime.handle();
        let sender = P::broadcast(ROOM);
        let receipts = Arc::new(Receipts::of(size.receivers));
        for index in 0..size.receivers {
            let task = receiver::<P>(index, P::subscribe(&sender), Arc::clone(&receipts));
            R::spawn_detached_from_outside(&handle, task);
        }
        Self { sender, receipts, sends: size.sends, runtime }
    }

    fn iterate(&self, place: Root) -> Tally {
        let root = root::<P>(self.sends, self.sender.clone(), Arc::clone(&self.receipts));
        place.run(&self.runtime, root)
    }

    fn iterate_in_one(&self, place: Root, batch: u32) -> TimedIterations {
        let (sends, sender) = (self.sends, self.sender.clone());
        let receipts = Arc::clone(&self.receipts);
        let root = move || root::<P>(sends, sender.clone(), Arc::clone(&receipts));
        place.run_in_one(&self.runtime, batch, root)
    }
}

/// The row of the document: each iteration has a root of its own.
pub(crate) fn prepare<R: AsyncRuntime, P: Broadcasts + Notifies>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let broadcast = Broadcast::<R, P>::start(request.threads, Size::of(request)?);
    Ok(Work::new(move || broadcast.iterate(place).into()))
}

/// The row of the suite `native-sync`: one root has all iterations of a sample.
pub(crate) fn prepare_in_one<R: AsyncRuntime, P: Broadcasts + Notifies>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let broadcast = Broadcast::<R, P>::start(request.threads, Size::of(request)?);
    Ok(Work::batched(move |batch| broadcast.iterate_in_one(place, batch)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_receiver_receives_every_number() {
        let size = Size { receivers: 7, sends: 10 };
        let broadcast = Broadcast::<TestRuntime, TokioSync>::start(2, size);
        for place in [Root::Worker, Root::Outside, Root::Worker] {
            assert_eq!(broadcast.iterate(place), Tally { answer: 7 * 55, work: 70 });
        }
    }
}
