//! The rows about channels and semaphores: may's own, as they block the coroutine and not its
//! worker.

use std::sync::Arc;

use fork_join_workloads::Tally;
use may::go;
use may::sync::Semphore;
use may::sync::mpsc::{Receiver, channel};
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;

use crate::scheduler::{join, one_thread, root_on_worker, run, start, start_later};

/// Tasks of one pair: the one that asks and its echo.
const PAIR: u64 = 2;

/// One round trip of the number `i`.
fn pair(i: u64) -> u64 {
    let (ping, pinged) = channel();
    let (pong, ponged) = channel();
    go!(move || {
        let number: u64 = pinged.recv().expect("the asking task sends");
        pong.send(number).expect("the asking task waits");
    });
    ping.send(i).expect("the echo waits");
    ponged.recv().expect("the echo sends")
}

pub(crate) fn ping_pong(request: &mut Request) -> Result<Work, Refusal> {
    let pairs: u64 = request.param("pairs")?;
    start(request)?;
    let salt = request.salt;
    let root = move || {
        let handles: Vec<_> = (0..pairs).map(|i| go!(move || pair(salt.wrapping_add(i)))).collect();
        let (mut answer, mut ops, mut work) = (0_u64, 0, 0);
        for handle in handles {
            answer = answer.wrapping_add(join(handle));
            ops += 1;
            work += PAIR;
        }
        Iteration { answer, ops, work: Some(work) }
    };
    Ok(Work::new(move || run(root)))
}

pub(crate) fn ping_pong_oneshot(request: &mut Request) -> Result<Work, Refusal> {
    let rounds: u64 = request.param("rounds")?;
    start_later(request)?;
    // One echo has been spawned when its number is back.
    let salt = request.salt;
    let round = move |i| Tally { answer: pair(salt.wrapping_add(i)), work: 1 };
    let root = move || (0..rounds).map(round).sum::<Tally>();
    Ok(Work::new(move || run(root).into()))
}

fn receive_all(receiver: &Receiver<u64>) -> Tally {
    let mut tally = Tally::default();
    while let Ok(answer) = receiver.recv() {
        tally += Tally { answer, work: 1 };
    }
    tally
}

fn contention(request: &mut Request) -> Result<Work, Refusal> {
    let (producers, messages): (u64, u64) =
        (request.param("producers")?, request.param("messages")?);
    let root = move || {
        let (sender, receiver) = channel();
        for producer in 0..producers {
            let sender = sender.clone();
            go!(move || {
                for number in producer * messages..(producer + 1) * messages {
                    let number = salt::of_process().wrapping_add(number);
                    sender.send(number).expect("the consumer receives until the end");
                }
            });
        }
        drop(sender);
        receive_all(&receiver)
    };
    Ok(Work::new(move || run(root).into()))
}

pub(crate) fn contention_steady(request: &mut Request) -> Result<Work, Refusal> {
    root_on_worker(request)?;
    start(request)?;
    contention(request)
}

pub(crate) fn contention_cold(request: &mut Request) -> Result<Work, Refusal> {
    start_later(request)?;
    contention(request)
}

/// One task sends, then receives.
pub(crate) fn uncontended_steady(request: &mut Request) -> Result<Work, Refusal> {
    root_on_worker(request)?;
    let messages: u64 = request.param("messages")?;
    start(request)?;
    let root = move || {
        let (sender, receiver) = channel();
        for number in 0..messages {
            sender.send(salt::of_process().wrapping_add(number)).expect("this task receives");
        }
        let receive = |_| receiver.recv().expect("this task has sent");
        (0..messages).map(receive).map(|answer| Tally { answer, work: 1 }).sum::<Tally>()
    };
    Ok(Work::new(move || run(root).into()))
}

/// One task sends, and another receives.
pub(crate) fn uncontended_cold(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let messages: u64 = request.param("messages")?;
    start_later(request)?;
    let root = move || {
        let (sender, receiver) = channel();
        let producer = go!(move || {
            for number in 0..messages {
                let number = salt::of_process().wrapping_add(number);
                sender.send(number).expect("the consumer receives until the end");
            }
        });
        let tally = join(go!(move || receive_all(&receiver)));
        join(producer);
        tally
    };
    Ok(Work::new(move || run(root).into()))
}

/// Every task acquires one permit.
pub(crate) fn semaphore(request: &mut Request) -> Result<Work, Refusal> {
    root_on_worker(request)?;
    let (tasks, permits): (usize, usize) = (request.param("tasks")?, request.param("permits")?);
    if permits == 0 {
        return Err(Refusal::Misuse("--set permits=0: nobody would ever get one".into()));
    }
    start(request)?;
    let semaphore = Arc::new(Semphore::new(permits));
    let root = move |semaphore: Arc<Semphore>| {
        let spawn = |_| {
            let semaphore = Arc::clone(&semaphore);
            go!(move || {
                semaphore.wait();
                semaphore.post();
                1
            })
        };
        let handles: Vec<_> = (0..tasks).map(spawn).collect();
        let acquired = handles.into_iter().map(join).sum();
        Tally { answer: acquired, work: acquired }
    };
    Ok(Work::new(move || {
        let semaphore = Arc::clone(&semaphore);
        run(move || root(semaphore)).into()
    }))
}
