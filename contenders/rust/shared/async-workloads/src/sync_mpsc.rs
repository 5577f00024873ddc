//! Unbounded channels: `futures::channel::mpsc` in every contender, so that only the runtime
//! differs.

use fork_join_workloads::Tally;
use futures_channel::mpsc::unbounded;
use futures_util::SinkExt;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::Root;

async fn contention<R: AsyncRuntime>(producers: u64, messages: u64) -> Tally {
    let (sender, mut receiver) = unbounded();
    for producer in 0..producers {
        let mut sender = sender.clone();
        R::spawn_detached(async move {
            for number in producer * messages..(producer + 1) * messages {
                let number = salt::of_process().wrapping_add(number);
                sender.send(number).await.expect("the consumer receives until the end");
            }
        });
    }
    let mut tally = Tally::default();
    for _ in 0..producers * messages {
        let answer = receiver.recv().await.expect("this task holds a sender");
        tally += Tally { answer, work: 1 };
    }
    tally
}

async fn uncontended(messages: u64) -> Tally {
    let (mut sender, mut receiver) = unbounded();
    for number in 0..messages {
        let number = salt::of_process().wrapping_add(number);
        sender.send(number).await.expect("this task receives");
    }
    let mut tally = Tally::default();
    for _ in 0..messages {
        let answer = receiver.recv().await.expect("this task has sent");
        tally += Tally { answer, work: 1 };
    }
    tally
}

pub(crate) fn prepare_contention<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let (producers, messages) = (request.param("producers")?, request.param("messages")?);
    Ok(place.steady::<R, _, _>(request.threads, move || contention::<R>(producers, messages)))
}

pub(crate) fn prepare_uncontended<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (place, messages) = (Root::of::<R>(request)?, request.param("messages")?);
    Ok(place.steady::<R, _, _>(request.threads, move || uncontended(messages)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_message_is_received() {
        let runtime = TestRuntime::start(2);
        let tally = Tally { answer: 4950, work: 100 };
        assert_eq!(runtime.run(contention::<TestRuntime>(4, 25)), tally);
        assert_eq!(runtime.run(uncontended(100)), tally);
    }
}
