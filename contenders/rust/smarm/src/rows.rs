//! The rows of smarm's document, all of them of scope `cold`.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use task_work::{planned_panic, primes_of, silence_planned_panics, sleeper_ms};

use crate::actors::{channel, cold, join, sleep, spawn, yield_now};

/// For rows that are about one thread: on more they would be other rows.
fn one_thread(request: &Request) -> Result<(), Refusal> {
    match request.threads {
        1 => Ok(()),
        threads => Err(Refusal::Unsupported(format!(
            "{} is about one thread, not {threads}",
            request.workload
        ))),
    }
}

/// The link that counts to `count` of a chain that ends at `last`.
fn spawn_link<D: FnOnce(u64) + Send + 'static>(count: u64, last: u64, done: D) {
    spawn(move || {
        if count == last {
            done(count);
        } else {
            spawn_link(count.wrapping_add(1), last, done);
        }
    });
}

pub(crate) fn chained_spawn(request: &mut Request) -> Result<Work, Refusal> {
    let depth: u64 = request.param("depth")?;
    if depth == 0 {
        return Err(Refusal::Misuse("--set depth=0: a chain has at least one link".into()));
    }
    Ok(cold(request.threads, move || {
        let salt = salt::of_process();
        let (done, ended) = channel();
        let done = move |count: u64| done.send(count).expect("the root waits");
        spawn_link(salt.wrapping_add(1), salt.wrapping_add(depth), done);
        let count = ended.recv().expect("the last link sends");
        Tally { answer: count, work: count.wrapping_sub(salt) }
    }))
}

pub(crate) fn yield_many(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, yields): (u64, u64) = (request.param("tasks")?, request.param("yields")?);
    let task = move || {
        let mut yielded: u64 = 0;
        for _ in 0..yields {
            yield_now();
            yielded += 1;
        }
        yielded
    };
    Ok(cold(request.threads, move || {
        let handles: Vec<_> = (0..tasks).map(|_| spawn(task)).collect();
        let yielded = handles.into_iter().map(join).sum();
        Tally { answer: yielded, work: yielded }
    }))
}

pub(crate) fn yield_in_hot_loop(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    yield_many(request)
}

pub(crate) fn primes(request: &mut Request) -> Result<Work, Refusal> {
    let (limit, tasks): (u64, u64) = (request.param("limit")?, request.param("tasks")?);
    Ok(cold(request.threads, move || {
        let task = |task| spawn(move || primes_of(task, tasks, limit, salt::of_process()));
        let handles: Vec<_> = (0..tasks).map(task).collect();
        handles.into_iter().map(|handle| Tally { answer: join(handle), work: 1 }).sum::<Tally>()
    }))
}

pub(crate) fn ping_pong_oneshot(request: &mut Request) -> Result<Work, Refusal> {
    let rounds: u64 = request.param("rounds")?;
    let round = |i: u64| {
        let (ping, pinged) = channel();
        let (pong, ponged) = channel();
        spawn(move || {
            let number: u64 = pinged.recv().expect("the root sends");
            pong.send(number).expect("the root waits");
        });
        ping.send(salt::of_process().wrapping_add(i)).expect("the echo waits");
        Tally { answer: ponged.recv().expect("the echo sends"), work: 1 }
    };
    Ok(cold(request.threads, move || (0..rounds).map(round).sum::<Tally>()))
}

pub(crate) fn spawn_storm_busy(request: &mut Request) -> Result<Work, Refusal> {
    let (busy, tasks): (u64, u64) = (request.param("busy")?, request.param("tasks")?);
    Ok(cold(request.threads, move || {
        let flag = Arc::new(AtomicBool::new(false));
        let yielder = |_| {
            let flag = Arc::clone(&flag);
            spawn(move || {
                // Relaxed, here and below: the flag is all that is passed.
                while !flag.load(Ordering::Relaxed) {
                    yield_now();
                }
            })
        };
        let yielders: Vec<_> = (0..busy).map(yielder).collect();
        let handles: Vec<_> = (0..tasks).map(|_| spawn(|| ())).collect();
        let mut joined = 0;
        for handle in handles {
            join(handle);
            joined += 1;
        }
        flag.store(true, Ordering::Relaxed);
        yielders.into_iter().for_each(join);
        Tally { answer: joined, work: joined }
    }))
}

pub(crate) fn mpsc_contention(request: &mut Request) -> Result<Work, Refusal> {
    let (producers, messages): (u64, u64) =
        (request.param("producers")?, request.param("messages")?);
    Ok(cold(request.threads, move || {
        let (sender, receiver) = channel();
        for producer in 0..producers {
            let sender = sender.clone();
            spawn(move || {
                for number in producer * messages..(producer + 1) * messages {
                    let number = salt::of_process().wrapping_add(number);
                    sender.send(number).expect("the consumer receives until the end");
                }
            });
        }
        drop(sender);
        let mut tally = Tally::default();
        while let Ok(answer) = receiver.recv() {
            tally += Tally { answer, work: 1 };
        }
        tally
    }))
}

pub(crate) fn uncontended_channel(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let messages: u64 = request.param("messages")?;
    Ok(cold(request.threads, move || {
        let (sender, receiver) = channel();
        let producer = spawn(move || {
            for number in 0..messages {
                let number = salt::of_process().wrapping_add(number);
                sender.send(number).expect("the consumer receives until the end");
            }
        });
        let consumer = spawn(move || {
            let mut tally = Tally::default();
            while let Ok(answer) = receiver.recv() {
                tally += Tally { answer, work: 1 };
            }
            tally
        });
        let tally = join(consumer);
        join(producer);
        tally
    }))
}

pub(crate) fn many_timers(request: &mut Request) -> Result<Work, Refusal> {
    let sleepers: u64 = request.param("sleepers")?;
    Ok(cold(request.threads, move || {
        let sleeper = |i| {
            spawn(move || {
                let ms = sleeper_ms(salt::of_process(), i);
                sleep(Duration::from_millis(ms));
                ms
            })
        };
        let handles: Vec<_> = (0..sleepers).map(sleeper).collect();
        handles.into_iter().map(|handle| Tally { answer: join(handle), work: 1 }).sum::<Tally>()
    }))
}

/// Calls itself until it is `depth` deep, and counts the calls from the salt on the way back. What
/// comes back passes through `black_box`, or the compiler would make a loop of it.
#[inline(never)]
fn recurse(depth: usize) -> u64 {
    let below = if depth == 1 { salt::of_process() } else { black_box(recurse(depth - 1)) };
    below.wrapping_add(1)
}

pub(crate) fn deep_recursion(request: &mut Request) -> Result<Work, Refusal> {
    // Its document's stacks have 64 KiB, and a call takes up to 64 bytes of them.
    const DEPTH_MAX: usize = 1000;
    let depth: usize = request.param("depth")?;
    if !(1..=DEPTH_MAX).contains(&depth) {
        return Err(Refusal::Misuse(format!("--set depth={depth} is not from 1 to {DEPTH_MAX}")));
    }
    Ok(cold(request.threads, move || {
        let count = join(spawn(move || recurse(depth)));
        Tally { answer: count, work: count.wrapping_sub(salt::of_process()) }
    }))
}

/// What a task of catch_unwind_panics returns, beside the salt; one that panicked adds 1 to the
/// answer.
const RETURNED: u64 = 1_000_000;

pub(crate) fn catch_unwind_panics(request: &mut Request) -> Result<Work, Refusal> {
    let tasks: u64 = request.param("tasks")?;
    silence_planned_panics();
    let task = |i| {
        spawn(move || {
            if i % 2 == 1 {
                planned_panic();
            }
            salt::of_process().wrapping_add(RETURNED)
        })
    };
    Ok(cold(request.threads, move || {
        let handles: Vec<_> = (0..tasks).map(task).collect();
        let joined = handles.into_iter();
        joined.map(|handle| Tally { answer: handle.join().unwrap_or(1), work: 1 }).sum::<Tally>()
    }))
}
