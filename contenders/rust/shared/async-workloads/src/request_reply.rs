//! Requests through a channel, each answered on its own: both channels are `futures::channel` in
//! every contender.

use fork_join_workloads::Tally;
use futures_channel::{mpsc, oneshot};
use futures_util::SinkExt;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::Root;

/// Room for requests.
pub(crate) const ROOM: usize = 10;

struct Question {
    number: u64,
    reply: oneshot::Sender<u64>,
}

async fn server(mut questions: mpsc::Receiver<Question>) {
    while let Ok(Question { number, reply }) = questions.recv().await {
        reply.send(number.wrapping_add(1)).expect("the client waits");
    }
}

async fn client(mut sender: mpsc::Sender<Question>, requests: u64) -> Tally {
    let mut tally = Tally::default();
    for request in 0..requests {
        let number = salt::of_process().wrapping_add(request);
        let (reply, replied) = oneshot::channel();
        let question = Question { number, reply };
        sender.send(question).await.expect("the server receives until the end");
        tally += Tally { answer: replied.await.expect("the server replies"), work: 1 };
    }
    tally
}

/// A runtime with a server that lives from the first iteration to the last.
struct Service<R> {
    // Fields are dropped in this order: the server has nobody left to serve when the runtime stops.
    sender: mpsc::Sender<Question>,
    runtime: R,
}

impl<R: AsyncRuntime> Service<R> {
    fn start(threads: usize) -> Self {
        let runtime = R::start(threads);
        let (sender, questions) = mpsc::channel(ROOM);
        R::spawn_detached_from_outside(&runtime.handle(), server(questions));
        Self { sender, runtime }
    }

    fn iterate(&self, place: Root, requests: u64) -> Tally {
        place.run(&self.runtime, client(self.sender.clone(), requests))
    }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (place, requests) = (Root::of::<R>(request)?, request.param("requests")?);
    let service = Service::<R>::start(request.threads);
    Ok(Work::new(move || service.iterate(place, requests).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_request_is_answered() {
        let service = Service::<TestRuntime>::start(2);
        for place in [Root::Worker, Root::Outside, Root::Worker] {
            assert_eq!(service.iterate(place, 100), Tally { answer: 5050, work: 100 });
        }
    }
}
