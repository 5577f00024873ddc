//! The rows about primes, timers, stacks and panics.

use std::hint::black_box;
use std::time::Duration;

use fork_join_workloads::Tally;
use may::coroutine::{Builder, sleep};
use may::go;
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;
use task_work::{planned_panic, primes_of, silence_planned_panics, sleeper_ms};

use crate::scheduler::{join, keep_stacks, run, start_later};

pub(crate) fn primes(request: &mut Request) -> Result<Work, Refusal> {
    let (limit, tasks): (u64, u64) = (request.param("limit")?, request.param("tasks")?);
    start_later(request)?;
    let root = move || {
        let spawn = |task| go!(move || primes_of(task, tasks, limit, salt::of_process()));
        let handles: Vec<_> = (0..tasks).map(spawn).collect();
        handles.into_iter().map(|handle| Tally { answer: join(handle), work: 1 }).sum::<Tally>()
    };
    Ok(Work::new(move || run(root).into()))
}

pub(crate) fn many_timers(request: &mut Request) -> Result<Work, Refusal> {
    let sleepers: u64 = request.param("sleepers")?;
    keep_stacks(sleepers as usize);
    start_later(request)?;
    let sleeper = |i| {
        go!(move || {
            let ms = sleeper_ms(salt::of_process(), i);
            sleep(Duration::from_millis(ms));
            ms
        })
    };
    let root = move || {
        let handles: Vec<_> = (0..sleepers).map(sleeper).collect();
        handles.into_iter().map(|handle| Tally { answer: join(handle), work: 1 }).sum::<Tally>()
    };
    Ok(Work::new(move || run(root).into()))
}

/// A stack that holds `depth` calls of [`recurse`], in words: a call takes a few of them, and may's
/// smallest stack is for the rest.
const fn stack_words(depth: usize) -> usize {
    const WORDS_PER_CALL: usize = 16;
    const WORDS_BESIDE: usize = 0x1000;
    depth * WORDS_PER_CALL + WORDS_BESIDE
}

/// Calls itself until it is `depth` deep, and counts the calls from the salt on the way back. What
/// comes back passes through `black_box`, or the compiler would make a loop of it.
#[inline(never)]
fn recurse(depth: usize) -> u64 {
    let below = if depth == 1 { salt::of_process() } else { black_box(recurse(depth - 1)) };
    below.wrapping_add(1)
}

pub(crate) fn deep_recursion(request: &mut Request) -> Result<Work, Refusal> {
    const DEPTH_MAX: usize = 1_000_000;
    let depth: usize = request.param("depth")?;
    if !(1..=DEPTH_MAX).contains(&depth) {
        return Err(Refusal::Misuse(format!(
            "--set depth={depth} is not from 1 to {DEPTH_MAX}, for which there are stacks"
        )));
    }
    start_later(request)?;
    let root = move || {
        let task = Builder::new().stack_size(stack_words(depth));
        let count = join(go!(task, move || recurse(depth)).expect("there is memory for a stack"));
        Tally { answer: count, work: count.wrapping_sub(salt::of_process()) }
    };
    Ok(Work::new(move || run(root).into()))
}

/// What a task of catch_unwind_panics returns, beside the salt; one that panicked adds 1 to the
/// answer.
const RETURNED: u64 = 1_000_000;

pub(crate) fn catch_unwind_panics(request: &mut Request) -> Result<Work, Refusal> {
    let tasks: u64 = request.param("tasks")?;
    keep_stacks(tasks as usize);
    start_later(request)?;
    silence_planned_panics();
    let task = |i| {
        go!(move || {
            if i % 2 == 1 {
                planned_panic();
            }
            salt::of_process().wrapping_add(RETURNED)
        })
    };
    let root = move || {
        let handles: Vec<_> = (0..tasks).map(task).collect();
        let (mut answer, mut joined) = (0_u64, 0);
        for handle in handles {
            answer = answer.wrapping_add(handle.join().unwrap_or(1));
            joined += 1;
        }
        Iteration { answer, ops: joined, work: Some(joined) }
    };
    Ok(Work::new(move || run(root)))
}
