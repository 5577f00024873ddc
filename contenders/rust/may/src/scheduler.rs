//! may's scheduler: a static of the process.

use std::panic::resume_unwind;

use blocking_workloads::Lasting;
use fork_join_workloads::Tally;
use may::coroutine::JoinHandle;
use may::{config, go};
use palio_protocol::harness::{Iterations, Refusal, Request, Work};

/// may's own default, in words.
const STACK_WORDS: usize = 0x1000;

/// Room of the channel on which a thread that is no worker waits.
pub(crate) const ROOM_OUTSIDE: usize = 1000;

/// What `--set` accepts beside the parameters.
pub(crate) const KNOBS: &[(&str, &str)] = &[("stack_words", "4096"), ("pin", "0")];

/// How many stacks may keeps by default.
const STACKS_KEPT: usize = 1000;

/// For rows with so many coroutines at a time: their stacks are kept from one iteration to the
/// next, as a program with so many would have it. Called before the scheduler starts, which makes
/// them.
pub(crate) fn keep_stacks(coroutines: usize) {
    // A few more, for roots and what runs in the background.
    config().set_pool_capacity(coroutines.saturating_add(16).max(STACKS_KEPT));
}

/// Says how the scheduler is to start when it is first used.
fn configure(request: &mut Request) -> Result<(), Refusal> {
    let stack_words = request.knob("stack_words")?.unwrap_or(STACK_WORDS);
    // An odd number asks may to print, on standard output, what each coroutine has used.
    if stack_words == 0 || !stack_words.is_multiple_of(2) {
        return Err(Refusal::Misuse(format!("--set stack_words={stack_words}: not a stack size")));
    }
    let pin = match request.knob::<u8>("pin")?.unwrap_or(0) {
        0 => false,
        1 => true,
        other => return Err(Refusal::Misuse(format!("--set pin={other} is neither 0 nor 1"))),
    };
    config().set_workers(request.threads).set_stack_size(stack_words).set_worker_pin(pin);
    Ok(())
}

/// For rows of scope `steady`: starts the scheduler.
pub(crate) fn start(request: &mut Request) -> Result<(), Refusal> {
    configure(request)?;
    run(|| ());
    Ok(())
}

/// For rows of scope `cold`: the first iteration will start the scheduler. Nothing can stop it.
pub(crate) fn start_later(request: &mut Request) -> Result<(), Refusal> {
    configure(request)
}

/// For rows that are about one thread: on more they would be other rows.
pub(crate) fn one_thread(request: &Request) -> Result<(), Refusal> {
    if request.threads == 1 {
        return Ok(());
    }
    let Request { workload, threads, .. } = request;
    Err(Refusal::Unsupported(format!("{workload} is about one thread, not {threads}")))
}

/// For rows whose root may run on a worker or outside: here it is a coroutine, which runs on a
/// worker.
pub(crate) fn root_on_worker(request: &mut Request) -> Result<(), Refusal> {
    match request.param::<String>("root")?.as_str() {
        "worker" => Ok(()),
        "outside" => Err(Refusal::Unsupported("a root outside would be no coroutine".into())),
        other => Err(Refusal::Misuse(format!("--set root={other} is neither worker nor outside"))),
    }
}

/// Joins a coroutine; its panic goes on here.
pub(crate) fn join<T>(handle: JoinHandle<T>) -> T {
    handle.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
thread_local! {
    /// How often this thread, and no other, has waited in [`run`] so far.
    pub(crate) static ENTRIES: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Runs `root` as a coroutine on the workers and waits for it here.
pub(crate) fn run<T: Send + 'static>(root: impl FnOnce() -> T + Send + 'static) -> T {
    #[cfg(test)]
    ENTRIES.set(ENTRIES.get() + 1);
    join(go!(root))
}

/// Work of which each iteration is a root coroutine.
pub(crate) fn rooted(root: impl Fn() -> Tally + Clone + Send + 'static) -> Work {
    Work::new(move || run(root.clone()).into())
}

/// The same with one root for all iterations of a sample, one after the other: so none of them pays
/// for the way to the workers and back.
pub(crate) fn rooted_in_one(root: impl Fn() -> Tally + Clone + Send + 'static) -> Work {
    Work::batched(move |batch| {
        let root = root.clone();
        run(move || {
            let mut done = Iterations::start();
            (0..batch).for_each(|_| done.add(root().into()));
            done.stop()
        })
    })
}

/// The scheduler, once it was started.
pub(crate) struct Scheduler;

impl Lasting for Scheduler {
    fn start(request: &mut Request, tasks: u64) -> Result<Self, Refusal> {
        keep_stacks(tasks as usize);
        start(request)?;
        Ok(Self)
    }

    fn run_outside(&self, root: impl FnOnce()) {
        root();
    }

    fn run_inside(&self, root: impl FnOnce() + Send + 'static) {
        run(root);
    }

    fn spawn_detached(task: fn()) {
        go!(task);
    }
}
