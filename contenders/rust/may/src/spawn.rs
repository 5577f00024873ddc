//! The rows about spawning, joining and yielding.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as std_mpsc;

use fork_join_workloads::Tally;
use may::coroutine::{JoinHandle, yield_now};
use may::go;
use may::sync::mpsc::channel;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::background::{Background, busy_chain, chain};
use crate::scheduler::{
    ROOM_OUTSIDE, join, keep_stacks, one_thread, root_on_worker, run, start, start_later,
};

/// From a coroutine or from an outside thread: may spawns and joins alike from both.
fn spawn_and_join(tasks: usize) -> Tally {
    let handles: Vec<_> = (0..tasks).map(|_| go!(|| ())).collect();
    let mut joined = 0;
    for handle in handles {
        join(handle);
        joined += 1;
    }
    Tally { answer: joined, work: joined }
}

fn sum(handles: Vec<JoinHandle<u64>>) -> Tally {
    let mut tally = Tally::default();
    for handle in handles {
        tally += Tally { answer: join(handle), work: 1 };
    }
    tally
}

pub(crate) fn many_local(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let tasks = request.param("tasks")?;
    keep_stacks(tasks);
    start(request)?;
    Ok(Work::new(move || run(move || spawn_and_join(tasks)).into()))
}

pub(crate) fn many_remote_busy(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let tasks = request.param("tasks")?;
    keep_stacks(tasks);
    start(request)?;
    let background = Background::start(1, chain);
    Ok(Work::new(move || {
        // Named, so that the closure keeps it.
        let _ = &background;
        run(move || spawn_and_join(tasks)).into()
    }))
}

pub(crate) fn many_remote_idle(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = request.param("tasks")?;
    keep_stacks(tasks);
    start(request)?;
    Ok(Work::new(move || spawn_and_join(tasks).into()))
}

pub(crate) fn many_remote_busy2(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, busy) = (request.param("tasks")?, request.param("busy")?);
    keep_stacks(tasks);
    start(request)?;
    let background = Background::start(busy, busy_chain);
    Ok(Work::new(move || {
        let _ = &background;
        spawn_and_join(tasks).into()
    }))
}

/// The tasks of this iteration that have not ended.
static REMAINING: AtomicU64 = AtomicU64::new(0);

pub(crate) fn many_detached(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = request.param("tasks")?;
    if tasks == 0 {
        return Err(Refusal::Misuse("--set tasks=0: there is a last task to wait for".into()));
    }
    keep_stacks(tasks as usize);
    start(request)?;
    let (ring, rung) = std_mpsc::sync_channel(ROOM_OUTSIDE);
    Ok(Work::new(move || {
        // Relaxed: the spawns below publish it.
        REMAINING.store(tasks, Ordering::Relaxed);
        for _ in 0..tasks {
            let ring = ring.clone();
            go!(move || {
                // AcqRel: the last task speaks for all that came before it.
                let before = REMAINING.fetch_sub(1, Ordering::AcqRel);
                if before == 1 {
                    ring.send(tasks - (before - 1)).expect("the outside thread waits");
                }
            });
        }
        let done = rung.recv().expect("the last task rings");
        Tally { answer: done, work: done }.into()
    }))
}

pub(crate) fn many_remote(request: &mut Request) -> Result<Work, Refusal> {
    let (spawners, tasks): (usize, usize) = (request.param("spawners")?, request.param("tasks")?);
    if spawners == 0 || !tasks.is_multiple_of(spawners) {
        return Err(Refusal::Misuse(format!(
            "--set spawners={spawners} does not divide --set tasks={tasks}"
        )));
    }
    root_on_worker(request)?;
    keep_stacks(tasks + spawners);
    start(request)?;
    let each = tasks / spawners;
    let spawner =
        move || sum((0..each).map(|_| go!(|| salt::of_process().wrapping_add(1))).collect());
    let root = move || {
        let handles: Vec<_> = (0..spawners).map(|_| go!(spawner)).collect();
        handles.into_iter().map(join).sum::<Tally>()
    };
    Ok(Work::new(move || run(root).into()))
}

pub(crate) fn yield_once(request: &mut Request) -> Result<Work, Refusal> {
    root_on_worker(request)?;
    yield_once_and_join(request)
}

fn yield_once_and_join(request: &mut Request) -> Result<Work, Refusal> {
    let tasks: usize = request.param("tasks")?;
    keep_stacks(tasks);
    start(request)?;
    let two = || {
        yield_now();
        salt::of_process().wrapping_add(2)
    };
    Ok(Work::new(move || run(move || sum((0..tasks).map(|_| go!(two)).collect())).into()))
}

pub(crate) fn yield_once_on_one(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    yield_once_and_join(request)
}

fn yields(count: u64) -> u64 {
    let mut yielded = 0;
    for _ in 0..count {
        yield_now();
        yielded += 1;
    }
    yielded
}

/// The thread outside spawns the coroutines, and receives from each.
pub(crate) fn yield_many_steady(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, count): (usize, u64) = (request.param("tasks")?, request.param("yields")?);
    start(request)?;
    let (done, ended) = std_mpsc::sync_channel(tasks);
    Ok(Work::new(move || {
        for _ in 0..tasks {
            let done = done.clone();
            go!(move || done.send(yields(count)).expect("the outside thread receives"));
        }
        let yielded = (0..tasks).map(|_| ended.recv().expect("every coroutine sends")).sum();
        Tally { answer: yielded, work: yielded }.into()
    }))
}

pub(crate) fn yield_many_cold(request: &mut Request) -> Result<Work, Refusal> {
    start_later(request)?;
    let (tasks, count): (usize, u64) = (request.param("tasks")?, request.param("yields")?);
    let root = move || {
        let Tally { answer, .. } = sum((0..tasks).map(|_| go!(move || yields(count))).collect());
        Tally { answer, work: answer }
    };
    Ok(Work::new(move || run(root).into()))
}

pub(crate) fn yield_in_hot_loop(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    yield_many_cold(request)
}

/// The link that counts to `count` of a chain that ends at `last`.
fn spawn_link<D: FnOnce(u64) + Send + 'static>(count: u64, last: u64, done: D) {
    go!(move || {
        if count == last {
            done(count);
        } else {
            spawn_link(count.wrapping_add(1), last, done);
        }
    });
}

fn depth(request: &mut Request) -> Result<u64, Refusal> {
    match request.param("depth")? {
        0 => Err(Refusal::Misuse("--set depth=0: a chain has at least one link".into())),
        depth => Ok(depth),
    }
}

/// The thread outside waits for the last link.
pub(crate) fn chained_spawn_steady(request: &mut Request) -> Result<Work, Refusal> {
    let (salt, depth) = (request.salt, depth(request)?);
    start(request)?;
    let (done, ended) = std_mpsc::sync_channel(ROOM_OUTSIDE);
    Ok(Work::new(move || {
        let done = done.clone();
        go!(move || {
            let done = move |count| done.send(count).expect("the outside thread waits");
            spawn_link(salt.wrapping_add(1), salt.wrapping_add(depth), done);
        });
        let count: u64 = ended.recv().expect("the last link sends");
        Tally { answer: count, work: count.wrapping_sub(salt) }.into()
    }))
}

pub(crate) fn chained_spawn_cold(request: &mut Request) -> Result<Work, Refusal> {
    let (salt, depth) = (request.salt, depth(request)?);
    start_later(request)?;
    let root = move || {
        let (done, ended) = channel();
        let done = move |count: u64| done.send(count).expect("the root waits");
        spawn_link(salt.wrapping_add(1), salt.wrapping_add(depth), done);
        let count = ended.recv().expect("the last link sends");
        Tally { answer: count, work: count.wrapping_sub(salt) }
    };
    Ok(Work::new(move || run(root).into()))
}
