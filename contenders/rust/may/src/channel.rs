//! The rows about channels and semaphores: may's own, as they block the coroutine and not its
//! worker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc as std_mpsc};

use fork_join_workloads::Tally;
use may::go;
use may::sync::Semphore;
use may::sync::mpsc::{Receiver, Sender, channel};
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;

use crate::scheduler::{
    ROOM_OUTSIDE, join, one_thread, root_on_worker, rooted, rooted_in_one, run, start, start_later,
};

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

/// The pairs of this iteration that have not ended.
static REMAINING: AtomicU64 = AtomicU64::new(0);
/// The sum of the numbers that came back.
static SUM: AtomicU64 = AtomicU64::new(0);

pub(crate) fn ping_pong(request: &mut Request) -> Result<Work, Refusal> {
    let pairs: u64 = request.param("pairs")?;
    if pairs == 0 {
        return Err(Refusal::Misuse("--set pairs=0: there is a last pair to wait for".into()));
    }
    start(request)?;
    let (done, ended) = std_mpsc::sync_channel(ROOM_OUTSIDE);
    Ok(Work::new(move || {
        // Relaxed: the spawns below publish both.
        REMAINING.store(pairs, Ordering::Relaxed);
        SUM.store(0, Ordering::Relaxed);
        let done = done.clone();
        go!(move || {
            for i in 0..pairs {
                let done = done.clone();
                go!(move || {
                    // Relaxed: published by the subtraction below.
                    SUM.fetch_add(pair(salt::of_process().wrapping_add(i)), Ordering::Relaxed);
                    // AcqRel: the last pair speaks for all that came before it.
                    let before = REMAINING.fetch_sub(1, Ordering::AcqRel);
                    if before == 1 {
                        let ended = (SUM.load(Ordering::Relaxed), pairs - (before - 1));
                        done.send(ended).expect("the outside thread waits");
                    }
                });
            }
        });
        let (answer, pairs) = ended.recv().expect("the last pair sends");
        Iteration { answer, ops: pairs, work: Some(PAIR * pairs) }
    }))
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

fn receive(receiver: &Receiver<u64>, messages: u64) -> Tally {
    let receive = |_| receiver.recv().expect("there is a sender, or all is sent");
    (0..messages).map(receive).map(|answer| Tally { answer, work: 1 }).sum()
}

fn contention(
    request: &mut Request,
    receive: impl Fn(Sender<u64>, Receiver<u64>, u64) -> Tally + Copy + Send + 'static,
) -> Result<impl Fn() -> Tally + Clone + Send + 'static, Refusal> {
    let (producers, messages): (u64, u64) =
        (request.param("producers")?, request.param("messages")?);
    Ok(move || {
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
        receive(sender, receiver, producers * messages)
    })
}

/// In a scheduler that is started here.
fn contention_counted(
    request: &mut Request,
) -> Result<impl Fn() -> Tally + Clone + Send + 'static, Refusal> {
    root_on_worker(request)?;
    start(request)?;
    // The sender lives until all is received.
    contention(request, |_sender, receiver, messages| receive(&receiver, messages))
}

pub(crate) fn contention_steady(request: &mut Request) -> Result<Work, Refusal> {
    Ok(rooted(contention_counted(request)?))
}

pub(crate) fn contention_in_one(request: &mut Request) -> Result<Work, Refusal> {
    Ok(rooted_in_one(contention_counted(request)?))
}

pub(crate) fn contention_cold(request: &mut Request) -> Result<Work, Refusal> {
    start_later(request)?;
    Ok(rooted(contention(request, |sender, receiver, _| {
        drop(sender);
        receive_all(&receiver)
    })?))
}

/// One task sends, then receives.
fn uncontended(
    request: &mut Request,
) -> Result<impl Fn() -> Tally + Clone + Send + 'static, Refusal> {
    root_on_worker(request)?;
    let messages: u64 = request.param("messages")?;
    start(request)?;
    Ok(move || {
        let (sender, receiver) = channel();
        for number in 0..messages {
            sender.send(salt::of_process().wrapping_add(number)).expect("this task receives");
        }
        receive(&receiver, messages)
    })
}

pub(crate) fn uncontended_steady(request: &mut Request) -> Result<Work, Refusal> {
    Ok(rooted(uncontended(request)?))
}

pub(crate) fn uncontended_in_one(request: &mut Request) -> Result<Work, Refusal> {
    Ok(rooted_in_one(uncontended(request)?))
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
    Ok(rooted(root))
}

/// Every task acquires one permit of a semaphore that all iterations share.
fn permits(request: &mut Request) -> Result<impl Fn() -> Tally + Clone + Send + 'static, Refusal> {
    root_on_worker(request)?;
    let (tasks, permits): (usize, usize) = (request.param("tasks")?, request.param("permits")?);
    if permits == 0 {
        return Err(Refusal::Misuse("--set permits=0: nobody would ever get one".into()));
    }
    start(request)?;
    let semaphore = Arc::new(Semphore::new(permits));
    Ok(move || {
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
    })
}

pub(crate) fn semaphore(request: &mut Request) -> Result<Work, Refusal> {
    Ok(rooted(permits(request)?))
}

pub(crate) fn semaphore_in_one(request: &mut Request) -> Result<Work, Refusal> {
    Ok(rooted_in_one(permits(request)?))
}

#[cfg(test)]
mod tests {
    use palio_protocol::harness::{Contender, converse};

    use crate::ROWS;
    use crate::scheduler::ENTRIES;

    const BATCH: u32 = 3;

    const CONTENTION: &str = "producers=4 messages=25";
    const UNCONTENDED: &str = "messages=100";
    const SEMAPHORE: &str = "tasks=6 permits=5";

    /// Takes one sample of a row, and expects its answer, its work and so many roots.
    fn expect(row: &str, settings: &str, answer: u64, work: u32, roots: u32) {
        let contender = Contender {
            id: "test",
            runtime: "may",
            version: "0",
            toolchain: "rustc",
            flags: "none",
            threads_max: 2,
            workloads: ROWS,
            knobs: &[],
        };
        let mut args = format!("--workload {row} --threads 2 --salt 0 --set root=worker");
        for setting in settings.split(' ') {
            args += &format!(" --set {setting}");
        }
        let (commands, mut output) = (format!("run 1 {BATCH}\nquit\n"), Vec::new());
        ENTRIES.set(0);
        converse(contender, args.split(' ').map(str::to_owned), commands.as_bytes(), &mut output)
            .unwrap();
        let (output, work) = (String::from_utf8(output).unwrap(), BATCH * work);
        assert!(output.contains(&format!(" ops={work} answer={answer} work={work} ")), "{output}");
        // The first root of all starts the scheduler, and is of no iteration.
        assert_eq!(ENTRIES.get() - 1, roots, "{row}");
    }

    /// One test: the scheduler is one for the whole process, and is told how to start.
    #[test]
    fn all_iterations_of_a_sample_are_in_one_root_or_each_in_its_own() {
        for (row, settings, answer, work, roots) in [
            ("native_sync/mpsc_contention", CONTENTION, 4950, 100, 1),
            ("native_sync/mpsc_uncontended", UNCONTENDED, 4950, 100, 1),
            ("native_sync/semaphore_contention", SEMAPHORE, 6, 6, 1),
            ("native_sync/semaphore_uncontended", SEMAPHORE, 6, 6, 1),
            ("sync_mpsc/contention", CONTENTION, 4950, 100, BATCH),
            ("sync_mpsc/uncontended", UNCONTENDED, 4950, 100, BATCH),
            ("sync_semaphore/contention", SEMAPHORE, 6, 6, BATCH),
            ("sync_semaphore/uncontended", SEMAPHORE, 6, 6, BATCH),
        ] {
            expect(row, settings, answer, work, roots);
        }
    }
}
