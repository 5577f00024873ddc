//! Unbounded channels of the contender's choice: many producers, and one.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::row::{cold, one_thread};
use crate::{AsyncRuntime, Channels};

async fn receive_all<C: Channels>(mut receiver: C::UnboundedReceiver<u64>) -> Tally {
    let mut tally = Tally::default();
    while let Some(answer) = C::receive_unbounded(&mut receiver).await {
        tally += Tally { answer, work: 1 };
    }
    tally
}

async fn contention<R: AsyncRuntime, C: Channels>(producers: u64, messages: u64) -> Tally {
    let (sender, receiver) = C::unbounded();
    for producer in 0..producers {
        let sender = sender.clone();
        R::spawn_detached(async move {
            for number in producer * messages..(producer + 1) * messages {
                C::send_unbounded(&sender, salt::of_process().wrapping_add(number));
            }
        });
    }
    drop(sender);
    receive_all::<C>(receiver).await
}

async fn uncontended<R: AsyncRuntime, C: Channels>(messages: u64) -> Tally {
    let (sender, receiver) = C::unbounded();
    let producer = R::spawn(async move {
        for number in 0..messages {
            C::send_unbounded(&sender, salt::of_process().wrapping_add(number));
        }
    });
    let tally = R::spawn(receive_all::<C>(receiver)).await;
    producer.await;
    tally
}

pub(crate) fn prepare_contention<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (producers, messages) = (request.param("producers")?, request.param("messages")?);
    Ok(cold::<R, _, _>(request.threads, move || contention::<R, C>(producers, messages)))
}

pub(crate) fn prepare_uncontended<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    one_thread(request)?;
    let messages = request.param("messages")?;
    Ok(cold::<R, _, _>(request.threads, move || uncontended::<R, C>(messages)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_message_is_received() {
        let runtime = TestRuntime::start(2);
        let tally = Tally { answer: 4950, work: 100 };
        assert_eq!(runtime.run(contention::<TestRuntime, TokioSync>(4, 25)), tally);
        assert_eq!(runtime.run(uncontended::<TestRuntime, TokioSync>(100)), tally);
    }
}
