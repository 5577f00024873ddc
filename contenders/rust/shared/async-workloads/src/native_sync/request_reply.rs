//! Requests through a bounded channel, each answered on a channel of its own.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, TimedIterations, Work};
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

/// A runtime with a server that lives from the first iteration to the last.
struct Service<R, C: Channels, O: Oneshots> {
    // Fields are dropped in this order: the server has nobody left to serve when the runtime stops.
    sender: C::Sender<Question<O>>,
    runtime: R,
}

impl<R: AsyncRuntime, C: Channels, O: Oneshots> Service<R, C, O> {
    fn start(threads: usize) -> Self {
        let runtime = R::start(threads);
        let (sender, questions) = C::bounded(ROOM);
        R::spawn_detached_from_outside(&runtime.handle(), server::<C, O>(questions));
        Self { sender, runtime }
    }

    fn iterate(&self, place: Root, requests: u64, batch: u32) -> TimedIterations {
        let sender = self.sender.clone();
        let root = move || client::<C, O>(sender.clone(), requests);
        place.run_in_one(&self.runtime, batch, root)
    }
}

pub(super) fn prepare<R: AsyncRuntime, C: Channels, O: Oneshots>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (place, requests) = (Root::of::<R>(request)?, request.param("requests")?);
    let service = Service::<R, C, O>::start(request.threads);
    Ok(Work::batched(move |batch| service.iterate(place, requests, batch)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_request_is_answered() {
        let service = Service::<TestRuntime, TokioSync, TokioSync>::start(2);
        for place in [Root::Worker, Root::Outside, Root::Worker] {
            let client = client::<TokioSync, TokioSync>(service.sender.clone(), 100);
            let tally = place.run(&service.runtime, client);
            assert_eq!(tally, Tally { answer: 5050, work: 100 });
        }
    }
}
