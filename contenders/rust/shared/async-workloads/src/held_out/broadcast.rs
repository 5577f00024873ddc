//! A tree of actors: a value goes down to the leaves, and the sum comes back up.

use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt::{self, mix};

use crate::row::steady;
use crate::{AsyncRuntime, Channels};

/// Children of an actor that is no leaf.
const CHILDREN: usize = 2;

#[derive(Debug)]
enum Message {
    Down(u64),
    Up(u64),
}

async fn next<C: Channels>(inbox: &mut C::UnboundedReceiver<Message>) -> Message {
    C::receive_unbounded(inbox).await.expect("who sends is still there")
}

/// Answers every value that comes down; returns how many messages it got.
async fn actor<C: Channels>(
    rounds: u64,
    mut inbox: C::UnboundedReceiver<Message>,
    parent: C::UnboundedSender<Message>,
    children: Vec<C::UnboundedSender<Message>>,
) -> u64 {
    let mut received = 0;
    for _ in 0..rounds {
        let Message::Down(value) = next::<C>(&mut inbox).await else {
            unreachable!("no child speaks before it was asked")
        };
        received += 1;
        let mut sum = if children.is_empty() { value } else { 0 };
        for (child, i) in children.iter().zip(1..) {
            C::send_unbounded(child, Message::Down(mix(value, i)));
        }
        for _ in &children {
            let Message::Up(below) = next::<C>(&mut inbox).await else {
                unreachable!("the parent waits for the answer")
            };
            received += 1;
            sum = sum.wrapping_add(below);
        }
        C::send_unbounded(&parent, Message::Up(sum));
    }
    received
}

/// Spawns an actor and all below it; how to reach it.
fn spawn<R: AsyncRuntime, C: Channels>(
    levels: u32,
    rounds: u64,
    parent: C::UnboundedSender<Message>,
    joins: &mut Vec<R::Join<u64>>,
) -> C::UnboundedSender<Message> {
    let (sender, inbox) = C::unbounded::<Message>();
    let below = if levels > 1 { CHILDREN } else { 0 };
    let children: Vec<_> =
        (0..below).map(|_| spawn::<R, C>(levels - 1, rounds, sender.clone(), joins)).collect();
    joins.push(R::spawn(actor::<C>(rounds, inbox, parent, children)));
    sender
}

async fn root<R: AsyncRuntime, C: Channels>(levels: u32, rounds: u64) -> Iteration {
    let (own, mut inbox) = C::unbounded::<Message>();
    let mut joins = Vec::new();
    let top = spawn::<R, C>(levels, rounds, own, &mut joins);
    let (mut answer, mut ops) = (0_u64, 0);
    for round in 0..rounds {
        C::send_unbounded(&top, Message::Down(mix(salt::of_process(), round)));
        let Message::Up(sum) = next::<C>(&mut inbox).await else {
            unreachable!("nobody is above the root")
        };
        answer = answer.wrapping_add(sum);
        ops += 1;
    }
    let mut work = ops;
    for join in joins {
        work += join.await;
    }
    Iteration { answer, ops, work: Some(work) }
}

pub(crate) fn prepare<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (levels, rounds) = (request.param("levels")?, request.param("rounds")?);
    if !(1..=24).contains(&levels) {
        return Err(Refusal::Misuse(format!("--set levels={levels} is not from 1 to 24")));
    }
    Ok(steady::<R, _, _>(request.threads, move || root::<R, C>(levels, rounds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_sums_are_those_of_another_program() {
        let done = TestRuntime::start(2).run(root::<TestRuntime, TokioSync>(3, 2));
        assert_eq!(done, Iteration { answer: 7_624_708_163_691_983_034, ops: 2, work: Some(28) });
    }
}
