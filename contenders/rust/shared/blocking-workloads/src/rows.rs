//! What each row does.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;
use task_work::{planned_panic, primes_of, silence_planned_panics, sleeper_ms};

use crate::Blocking;

/// Every iteration starts a runtime, runs `root` as its first task, and stops the runtime.
fn cold<B: Blocking, T>(threads: usize, root: impl Fn() -> T + Copy + Send + 'static) -> Work
where
    T: Into<Iteration> + Send + 'static,
{
    Work::new(move || B::run_cold(threads, root).into())
}

/// Joins a task that does not panic.
fn join<B: Blocking, T: Send + 'static>(handle: B::Handle<T>) -> T {
    B::join(handle).expect("no task of this row panics")
}

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
fn spawn_link<B: Blocking, D: FnOnce(u64) + Send + 'static>(count: u64, last: u64, done: D) {
    B::spawn(move || {
        if count == last {
            done(count);
        } else {
            spawn_link::<B, _>(count.wrapping_add(1), last, done);
        }
    });
}

pub(crate) fn chained_spawn<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let depth: u64 = request.param("depth")?;
    if depth == 0 {
        return Err(Refusal::Misuse("--set depth=0: a chain has at least one link".into()));
    }
    Ok(cold::<B, _>(request.threads, move || {
        let salt = salt::of_process();
        let (done, ended) = B::channel_of_one();
        let done = move |count: u64| B::send_one(done, count);
        spawn_link::<B, _>(salt.wrapping_add(1), salt.wrapping_add(depth), done);
        let count = B::receive_one(ended);
        Tally { answer: count, work: count.wrapping_sub(salt) }
    }))
}

pub(crate) fn yield_many<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, yields): (u64, u64) = (request.param("tasks")?, request.param("yields")?);
    let task = move || {
        let mut yielded: u64 = 0;
        for _ in 0..yields {
            B::yield_now();
            yielded += 1;
        }
        yielded
    };
    Ok(cold::<B, _>(request.threads, move || {
        let handles: Vec<_> = (0..tasks).map(|_| B::spawn(task)).collect();
        let yielded = handles.into_iter().map(join::<B, _>).sum();
        Tally { answer: yielded, work: yielded }
    }))
}

pub(crate) fn yield_in_hot_loop<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    yield_many::<B>(request)
}

pub(crate) fn primes<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let (limit, tasks): (u64, u64) = (request.param("limit")?, request.param("tasks")?);
    Ok(cold::<B, _>(request.threads, move || {
        let task = |task| B::spawn(move || primes_of(task, tasks, limit, salt::of_process()));
        let handles: Vec<_> = (0..tasks).map(task).collect();
        handles
            .into_iter()
            .map(|handle| Tally { answer: join::<B, _>(handle), work: 1 })
            .sum::<Tally>()
    }))
}

pub(crate) fn ping_pong_oneshot<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let rounds: u64 = request.param("rounds")?;
    let round = |i: u64| {
        let (ping, pinged) = B::channel_of_one();
        let (pong, ponged) = B::channel_of_one();
        B::spawn(move || B::send_one(pong, B::receive_one(pinged)));
        B::send_one(ping, salt::of_process().wrapping_add(i));
        Tally { answer: B::receive_one(ponged), work: 1 }
    };
    Ok(cold::<B, _>(request.threads, move || (0..rounds).map(round).sum::<Tally>()))
}

pub(crate) fn spawn_storm_busy<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let (busy, tasks): (u64, u64) = (request.param("busy")?, request.param("tasks")?);
    Ok(cold::<B, _>(request.threads, move || {
        let flag = Arc::new(AtomicBool::new(false));
        let yielder = |_| {
            let flag = Arc::clone(&flag);
            B::spawn(move || {
                // Relaxed, here and below: the flag is all that is passed.
                while !flag.load(Ordering::Relaxed) {
                    B::yield_now();
                }
            })
        };
        let yielders: Vec<_> = (0..busy).map(yielder).collect();
        let handles: Vec<_> = (0..tasks).map(|_| B::spawn(|| ())).collect();
        let mut joined = 0;
        for handle in handles {
            join::<B, _>(handle);
            joined += 1;
        }
        flag.store(true, Ordering::Relaxed);
        yielders.into_iter().for_each(join::<B, _>);
        Tally { answer: joined, work: joined }
    }))
}

pub(crate) fn mpsc_contention<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let (producers, messages): (u64, u64) =
        (request.param("producers")?, request.param("messages")?);
    Ok(cold::<B, _>(request.threads, move || {
        let (sender, mut receiver) = B::channel();
        for producer in 0..producers {
            let sender = sender.clone();
            B::spawn(move || {
                for number in producer * messages..(producer + 1) * messages {
                    let number = salt::of_process().wrapping_add(number);
                    B::send(&sender, number);
                }
            });
        }
        drop(sender);
        let mut tally = Tally::default();
        while let Some(answer) = B::receive(&mut receiver) {
            tally += Tally { answer, work: 1 };
        }
        tally
    }))
}

pub(crate) fn uncontended_channel<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let messages: u64 = request.param("messages")?;
    Ok(cold::<B, _>(request.threads, move || {
        let (sender, mut receiver) = B::channel();
        let producer = B::spawn(move || {
            for number in 0..messages {
                let number = salt::of_process().wrapping_add(number);
                B::send(&sender, number);
            }
        });
        let consumer = B::spawn(move || {
            let mut tally = Tally::default();
            while let Some(answer) = B::receive(&mut receiver) {
                tally += Tally { answer, work: 1 };
            }
            tally
        });
        let tally = join::<B, _>(consumer);
        join::<B, _>(producer);
        tally
    }))
}

pub(crate) fn many_timers<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let sleepers: u64 = request.param("sleepers")?;
    Ok(cold::<B, _>(request.threads, move || {
        let sleeper = |i| {
            B::spawn(move || {
                let ms = sleeper_ms(salt::of_process(), i);
                B::sleep(Duration::from_millis(ms));
                ms
            })
        };
        let handles: Vec<_> = (0..sleepers).map(sleeper).collect();
        handles
            .into_iter()
            .map(|handle| Tally { answer: join::<B, _>(handle), work: 1 })
            .sum::<Tally>()
    }))
}

/// Calls itself until it is `depth` deep, and counts the calls from the salt on the way back. What
/// comes back passes through `black_box`, or the compiler would make a loop of it.
#[inline(never)]
fn recurse(depth: usize) -> u64 {
    let below = if depth == 1 { salt::of_process() } else { black_box(recurse(depth - 1)) };
    below.wrapping_add(1)
}

pub(crate) fn deep_recursion<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let depth: usize = request.param("depth")?;
    if !(1..=B::DEPTH_MAX).contains(&depth) {
        return Err(Refusal::Misuse(format!(
            "--set depth={depth} is not from 1 to {}, for which stacks have room",
            B::DEPTH_MAX
        )));
    }
    Ok(cold::<B, _>(request.threads, move || {
        let count = join::<B, _>(B::spawn(move || recurse(depth)));
        Tally { answer: count, work: count.wrapping_sub(salt::of_process()) }
    }))
}

/// What a task of catch_unwind_panics returns, beside the salt; one that panicked adds 1 to the
/// answer.
const RETURNED: u64 = 1_000_000;

pub(crate) fn catch_unwind_panics<B: Blocking>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks: u64 = request.param("tasks")?;
    silence_planned_panics();
    let task = |i| {
        B::spawn(move || {
            if i % 2 == 1 {
                planned_panic();
            }
            salt::of_process().wrapping_add(RETURNED)
        })
    };
    Ok(cold::<B, _>(request.threads, move || {
        let handles: Vec<_> = (0..tasks).map(task).collect();
        let joined = handles.into_iter();
        joined.map(|handle| Tally { answer: B::join(handle).unwrap_or(1), work: 1 }).sum::<Tally>()
    }))
}
