//! Requests through a bounded channel, each answered on a channel of its own.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::request_reply::ROOM;
use crate::row::Root;
use crate::{AsyncRuntime, Channels, Oneshots};

struct Question<O: Oneshots> {
    number: u64,
    reply: O::OneshotSender<u64>,
}

async fn server<C: Channels, O: Oneshots>(mut questions: C::Receiver<Question<O>>) {
    while let Some(Question { number, reply }) = C::next(&mut questions).await {
        O::reply(reply, number.wrapping_add(1));
    }
}

async fn client<C: Channels, O: Oneshots>(sender: C::Sender<Question<O>>, requests: u64) -> Tally {
    let mut tally = Tally::default();
    for request in 0..requests {
        let number = salt::of_process().wrapping_add(request);
        let (reply, replied) = O::oneshot();
        C::send(&sender, Question { number, reply }).await;
        tally += Tally { answer: O::replied(replied).await, work: 1 };
    }
    tally
}

/// Starts a runtime with a server that lives from the first iteration to the last.
fn start<R: AsyncRuntime, C: Channels, O: Oneshots>(threads: usize) -> (R, C::Sender<Question<O>>) {
    let runtime = R::start(threads);
    let (sender, questions) = C::bounded(ROOM);
    R::spawn_detached_from_outside(&runtime.handle(), server::<C, O>(questions));
    (runtime, sender)
}

pub(super) fn prepare<R: AsyncRuntime, C: Channels, O: Oneshots>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (place, requests) = (Root::of::<R>(request)?, request.param("requests")?);
    let (runtime, sender) = start::<R, C, O>(request.threads);
    Ok(place.in_one(runtime, move || client::<C, O>(sender.clone(), requests)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_request_is_answered() {
        let (runtime, sender) = start::<TestRuntime, TokioSync, TokioSync>(2);
        for place in [Root::Worker, Root::Outside, Root::Worker] {
            let client = client::<TokioSync, TokioSync>(sender.clone(), 100);
            assert_eq!(place.run(&runtime, client), Tally { answer: 5050, work: 100 });
        }
        drop(sender);
    }
}
