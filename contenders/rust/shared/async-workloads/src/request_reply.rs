//! Requests through a channel, each answered on its own: both channels are `futures::channel` in
//! every contender.

use std::future::poll_fn;

use fork_join_workloads::Tally;
use futures_channel::{mpsc, oneshot};
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::steady;

/// Room for requests.
const ROOM: usize = 10;

struct Question {
    number: u64,
    reply: oneshot::Sender<u64>,
}

async fn server(mut questions: mpsc::Receiver<Question>) {
    while let Ok(Question { number, reply }) = questions.recv().await {
        reply.send(number.wrapping_add(1)).expect("the client waits");
    }
}

async fn client<R: AsyncRuntime>(requests: u64) -> Tally {
    let (mut sender, questions) = mpsc::channel(ROOM);
    let server = R::spawn(server(questions));
    let mut tally = Tally::default();
    for request in 0..requests {
        let number = salt::of_process().wrapping_add(request);
        let (reply, replied) = oneshot::channel();
        // What `SinkExt::send` does, without the crate that has it.
        poll_fn(|cx| sender.poll_ready(cx)).await.expect("the server receives until the end");
        sender.start_send(Question { number, reply }).expect("there is room");
        tally += Tally { answer: replied.await.expect("the server replies"), work: 1 };
    }
    drop(sender);
    server.await;
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let requests = request.param("requests")?;
    Ok(steady::<R, _, _>(request.threads, move || client::<R>(requests)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_request_is_answered() {
        let tally = TestRuntime::start(2).run(client::<TestRuntime>(100));
        assert_eq!(tally, Tally { answer: 5050, work: 100 });
    }
}
