//! Unbounded channels inside of a running runtime.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::row::Root;
use crate::{AsyncRuntime, Channels};

async fn receive<C: Channels>(receiver: &mut C::UnboundedReceiver<u64>, messages: u64) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..messages {
        let answer = C::receive_unbounded(receiver).await.expect("this task holds a sender");
        tally += Tally { answer, work: 1 };
    }
    tally
}

fn send<C: Channels>(sender: &C::UnboundedSender<u64>, numbers: std::ops::Range<u64>) {
    for number in numbers {
        C::send_unbounded(sender, salt::of_process().wrapping_add(number));
    }
}

async fn contention<R: AsyncRuntime, C: Channels>(producers: u64, messages: u64) -> Tally {
    let (sender, mut receiver) = C::unbounded();
    for producer in 0..producers {
        let sender = sender.clone();
        R::spawn_detached(async move {
            send::<C>(&sender, producer * messages..(producer + 1) * messages);
        });
    }
    let tally = receive::<C>(&mut receiver, producers * messages).await;
    // Only here: until now, this task holds one.
    drop(sender);
    tally
}

async fn uncontended<C: Channels>(messages: u64) -> Tally {
    let (sender, mut receiver) = C::unbounded();
    send::<C>(&sender, 0..messages);
    let tally = receive::<C>(&mut receiver, messages).await;
    drop(sender);
    tally
}

pub(super) fn prepare_contention<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let (producers, messages) = (request.param("producers")?, request.param("messages")?);
    let root = move || contention::<R, C>(producers, messages);
    Ok(place.steady_in_one::<R, _, _>(request.threads, root))
}

pub(super) fn prepare_uncontended<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (place, messages) = (Root::of::<R>(request)?, request.param("messages")?);
    Ok(place.steady_in_one::<R, _, _>(request.threads, move || uncontended::<C>(messages)))
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
        assert_eq!(runtime.run(uncontended::<TokioSync>(100)), tally);
    }
}
