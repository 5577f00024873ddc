//! Many senders, one bounded channel: the runtime's own.

use std::str::FromStr;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::row::Root;
use crate::{AsyncRuntime, Channels};

/// Who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// A task that is spawned before the senders.
    First,
    /// The root future, after it has spawned the senders.
    Last,
}

impl FromStr for Reader {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            _ => Err(()),
        }
    }
}

async fn receive_all<C: Channels>(mut receiver: C::Receiver<u64>, senders: u64) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..senders {
        let value = C::receive(&mut receiver).await;
        tally += Tally { answer: value, work: 1 };
    }
    tally
}

fn spawn_senders<R: AsyncRuntime, C: Channels>(sender: &C::Sender<u64>, senders: u64) {
    for index in 0..senders {
        let (sender, value) = (sender.clone(), salt::of_process().wrapping_add(index));
        R::spawn_detached(async move { C::send(&sender, value).await });
    }
}

async fn root<R: AsyncRuntime, C: Channels>(senders: u64, buffer: usize, reader: Reader) -> Tally {
    let (sender, receiver) = C::bounded(buffer);
    match reader {
        Reader::First => {
            let sum = R::spawn(receive_all::<C>(receiver, senders));
            spawn_senders::<R, C>(&sender, senders);
            sum.await
        }
        Reader::Last => {
            spawn_senders::<R, C>(&sender, senders);
            receive_all::<C>(receiver, senders).await
        }
    }
}

pub(crate) fn prepare<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (senders, buffer) = (request.param("senders")?, request.param("buffer")?);
    let (reader, place) = (request.param("reader")?, Root::of::<R>(request)?);
    if buffer == 0 {
        return Err(Refusal::Misuse("--set buffer=0: a bounded channel has room for one".into()));
    }
    let root = move || root::<R, C>(senders, buffer, reader);
    Ok(place.steady_in_one::<R, _, _>(request.threads, root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_message_is_received() {
        let runtime = TestRuntime::start(2);
        for reader in [Reader::First, Reader::Last] {
            for buffer in [1, 7, 1000] {
                let tally = runtime.run(root::<TestRuntime, TokioSync>(100, buffer, reader));
                assert_eq!(tally, Tally { answer: 4950, work: 100 }, "{reader:?} {buffer}");
            }
        }
    }
}
