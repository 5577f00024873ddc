//! The rows about spawning, yielding and one bounded channel, in a runtime that lives through all
//! samples.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as std_mpsc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Iterations, Refusal, Request, Work};
use palio_protocol::salt;
use trefoil::fiber;
use trefoil::sync::mpsc;
use trefoil::task::JoinHandle;

use crate::fibers::{Root, join, start};

/// Room of the channels on which the sampling thread waits.
const ROOM_OUTSIDE: usize = 1000;

fn one_thread(request: &Request) -> Result<(), Refusal> {
    match request.threads {
        1 => Ok(()),
        threads => Err(Refusal::Unsupported(format!(
            "{} is about one thread, not {threads}",
            request.workload
        ))),
    }
}

fn at_least_one(request: &mut Request, key: &str) -> Result<u64, Refusal> {
    match request.param(key)? {
        0 => Err(Refusal::Misuse(format!("--set {key}=0: there is a last one to wait for"))),
        count => Ok(count),
    }
}

fn sum(handles: Vec<JoinHandle<u64>>) -> Tally {
    handles.into_iter().map(|handle| Tally { answer: join(handle), work: 1 }).sum()
}

fn yield_once(request: &mut Request, place: Root) -> Result<Work, Refusal> {
    let tasks: usize = request.param("tasks")?;
    let runtime = start(request.threads);
    let two = || {
        fiber::yield_now();
        salt::of_process().wrapping_add(2)
    };
    let root = move || sum((0..tasks).map(|_| fiber::spawn(two)).collect());
    Ok(Work::new(move || place.run(&runtime, root).into()))
}

pub(crate) fn basic_scheduler_spawn(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    yield_once(request, Root::Worker)
}

pub(crate) fn threaded_scheduler_spawn(request: &mut Request) -> Result<Work, Refusal> {
    let place = Root::of(request)?;
    yield_once(request, place)
}

pub(crate) fn many_remote(request: &mut Request) -> Result<Work, Refusal> {
    let (spawners, tasks): (usize, usize) = (request.param("spawners")?, request.param("tasks")?);
    if spawners == 0 || !tasks.is_multiple_of(spawners) {
        return Err(Refusal::Misuse(format!(
            "--set spawners={spawners} does not divide --set tasks={tasks}"
        )));
    }
    let place = Root::of(request)?;
    let runtime = start(request.threads);
    let each = tasks / spawners;
    let one = || salt::of_process().wrapping_add(1);
    let spawner = move || sum((0..each).map(|_| fiber::spawn(one)).collect());
    let root = move || {
        let handles: Vec<_> = (0..spawners).map(|_| fiber::spawn(spawner)).collect();
        handles.into_iter().map(join).sum::<Tally>()
    };
    Ok(Work::new(move || place.run(&runtime, root).into()))
}

/// The fibers of this iteration that have not ended.
static REMAINING: AtomicU64 = AtomicU64::new(0);

pub(crate) fn many_local(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = at_least_one(request, "tasks")?;
    let runtime = start(request.threads);
    let (ring, rung) = std_mpsc::sync_channel(ROOM_OUTSIDE);
    Ok(Work::new(move || {
        let _inside = runtime.enter();
        // Relaxed: the spawns below publish it.
        REMAINING.store(tasks, Ordering::Relaxed);
        for _ in 0..tasks {
            let ring = ring.clone();
            drop(fiber::spawn(move || {
                // AcqRel: the last fiber speaks for all that came before it.
                let before = REMAINING.fetch_sub(1, Ordering::AcqRel);
                if before == 1 {
                    ring.send(tasks - (before - 1)).expect("the outside thread waits");
                }
            }));
        }
        let done = rung.recv().expect("the last fiber rings");
        Tally { answer: done, work: done }.into()
    }))
}

pub(crate) fn yield_many(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, yields): (usize, u64) = (request.param("tasks")?, request.param("yields")?);
    let runtime = start(request.threads);
    let (done, ended) = std_mpsc::sync_channel(tasks);
    Ok(Work::new(move || {
        let _inside = runtime.enter();
        for _ in 0..tasks {
            let done = done.clone();
            drop(fiber::spawn(move || {
                let mut yielded: u64 = 0;
                for _ in 0..yields {
                    fiber::yield_now();
                    yielded += 1;
                }
                done.send(yielded).expect("the outside thread receives");
            }));
        }
        let yielded = (0..tasks).map(|_| ended.recv().expect("every fiber sends")).sum();
        Tally { answer: yielded, work: yielded }.into()
    }))
}

fn receive_all(mut receiver: mpsc::Receiver<u64>, senders: u64) -> Tally {
    let receive = |_| receiver.blocking_recv().expect("a sender is left");
    (0..senders).map(receive).map(|answer| Tally { answer, work: 1 }).sum()
}

fn spawn_senders(sender: &mpsc::Sender<u64>, senders: u64) {
    for index in 0..senders {
        let (sender, value) = (sender.clone(), salt::of_process().wrapping_add(index));
        let send = move || sender.blocking_send(value).expect("the receiver is there");
        drop(fiber::spawn(send));
    }
}

pub(crate) fn fan_in(request: &mut Request) -> Result<Work, Refusal> {
    let (senders, buffer): (u64, usize) = (request.param("senders")?, request.param("buffer")?);
    if buffer == 0 {
        return Err(Refusal::Misuse("--set buffer=0: a bounded channel has room for one".into()));
    }
    let is_first = match request.param::<String>("reader")?.as_str() {
        "first" => true,
        "last" => false,
        other => {
            return Err(Refusal::Misuse(format!("--set reader={other} is neither first nor last")));
        }
    };
    let place = Root::of(request)?;
    let runtime = start(request.threads);
    let root = move || {
        let (sender, receiver) = mpsc::channel(buffer);
        if is_first {
            let all = fiber::spawn(move || receive_all(receiver, senders));
            spawn_senders(&sender, senders);
            join(all)
        } else {
            spawn_senders(&sender, senders);
            receive_all(receiver, senders)
        }
    };
    // As in the document: one root for all iterations of a sample.
    Ok(Work::batched(move |batch| {
        place.run(&runtime, move || {
            let mut done = Iterations::start();
            (0..batch).for_each(|_| done.add(root().into()));
            done.stop()
        })
    }))
}
