//! Fork-join: closures that potentially run in parallel, on the workers that run the asynchronous
//! tasks.
//!
//! | function | forks |
//! |---|---|
//! | [`join`](fn@join) | two closures; all others are made of it |
//! | [`fork_all`](fn@fork_all) | an array of closures |
//! | [`fork_reduce`] | one call for each number of a range, whose results are combined |
//! | [`scope`](fn@scope) | closures that are spawned one by one |
//! | [`for_each`], [`map_reduce`] | the iterations of a loop over a range or a slice |
//!
//! All of them may be called inside of tasks, where they use the worker that runs the task and idle
//! workers. Other threads reach the workers with
//! [`Runtime::install`](crate::runtime::Runtime::install). Inside of
//! [`Runtime::install_here`](crate::runtime::Runtime::install_here), the calling thread takes the
//! place of a worker.
//!
//! # Where closures run
//!
//! | called | closures run |
//! |---|---|
//! | on a worker of a multi-thread runtime | there, and on idle workers of the runtime |
//! | elsewhere in the context of such a runtime | on its workers; the caller blocks |
//! | in the context of a current-thread runtime | **on the caller, one after another, in order** |
//! | in no runtime | on the workers of the process-wide one; the caller blocks |
//!
//! The order of what is spawned into a [`scope`](fn@scope) is not specified, on the caller either.
//!
//! A thread that is not a worker is in the context of a runtime in `block_on`, in a blocking task,
//! and under [`Handle::enter`](crate::runtime::Handle::enter). The process-wide runtime is
//! [`runtime::global`](crate::runtime::global()); the first fork starts it.
//!
//! Closures run on the caller in the same way if the runtime has shut down, if the process is a
//! fork of the one that has made the runtime (whose threads are not in the fork), or if the
//! process-wide runtime cannot be started.
//!
//! What other threads have the workers run is in tasks, which hooks of tasks and reports of stalls
//! see: as spawned where the function is called. What a [`scope`](fn@scope) has other workers run
//! is so, too. A thread that has fibers runs what it takes in a fiber that no hook sees: after such
//! a closure has waited, [`task::id`](crate::task::id) in it is an id that was told to nobody, and
//! no report tells of its stalls.
//!
//! # Tasks meanwhile
//!
//! A task that forks for long does not keep other tasks from running. In a runtime with two workers
//! or more, another thread serves the tasks and timers of a forking worker after some milliseconds,
//! and the tasks that are pinned to that worker. A runtime that does nothing but fork can turn this
//! off: see [`Builder::handoff_while_forking`](crate::runtime::Builder::handoff_while_forking).
//!
//! [`from_rayon`] lists the names and the differences for users of rayon. The protocol is described
//! in `README.md` beside this file.
//!
//! # Cancellation
//!
//! Forks are synchronous calls, which nothing cancels. The abort of a task that forks has an effect
//! at the task's next `.await`. That of a [fiber](crate::fiber) unwinds the closures of its forks
//! where they [wait](fn@crate::fiber::wait).
//!
//! # Stack
//!
//! Closures run on the workers' stacks, except that `install_here` calls its closure on the
//! caller's stack. A worker's stack has the default size of `std`'s threads, 2 MiB, unless
//! `RUST_MIN_STACK` or
//! [`Builder::thread_stack_size`](crate::runtime::Builder::thread_stack_size) says otherwise.
//!
//! One level of recursion is a `join` and a small function around it. In an optimised build, it
//! takes 110 to 210 bytes (on x86-64; the usual `fib` takes 208), so a default stack holds 8,000
//! levels and more. Without optimisation, it takes 1 to 2 KiB, so a default stack holds 800 levels
//! and more. A thief begins on an empty stack. A worker that waits for a thief, and runs parts of
//! what it waits for, needs no more levels than the recursion has, and some more bytes for each
//! wait.
//!
//! A recursion that is too deep ends the process, as on any thread of `std`, if the system has
//! guard pages: the process prints `thread 'trefoil-worker' has overflowed its stack`, with the
//! name of the thread, and aborts. The program cannot catch this. (A thread that has fibers runs
//! what it takes in one, on a stack of the same size, whose overflow is told as that of a fiber.)

mod deque;
mod deques;
mod fork_all;
pub mod from_rayon;
mod install;
mod job;
mod join;
mod latch;
mod loops;
mod scope;
mod wait;

#[cfg(all(test, loom))]
mod loom_tests;

pub use fork_all::{fork_all, fork_reduce};
pub use join::join;
pub use loops::{Chunks, ChunksMut, Divisible, Grained, chunks, chunks_mut, for_each, map_reduce};
pub use scope::{Scope, scope};

pub(crate) use deque::{Deque, Owner, Stolen};
pub(crate) use deques::{DequeGuard, Deques};
pub(crate) use install::{install, install_here};

use crate::context::{self, Context};
use crate::scheduler::multi::WorkerThread;
use deque::Share;
use job::Header;
use std::ptr::NonNull;

/// The deque of a thread that is a worker, which it needs in order to fork. The thread's context
/// has the scheduler.
#[derive(Clone, Copy, Debug)]
struct Fork<'a> {
    owner: Owner<'a>,
}

impl<'a> Fork<'a> {
    /// None on a thread that is not a worker, in a fiber, and in a closure of the fork of a fiber.
    ///
    /// # Safety
    /// The result is dropped before the calling function returns.
    #[inline(always)]
    unsafe fn outside_of_fibers() -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::of(Context::fork_outside) }
    }

    /// None on a thread that is not a worker.
    ///
    /// # Safety
    /// The result is dropped before the calling function returns.
    #[inline(always)]
    unsafe fn current() -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::of(Context::fork) }
    }

    /// # Safety
    /// The result is dropped before the function returns that calls the caller of this.
    #[inline(always)]
    unsafe fn of(deque: fn(&Context) -> *const Deque) -> Option<Self> {
        let deque = context::with(deque);
        // SAFETY: `enter_fork` sets it for as long as the `DequeGuard` lives, and fibers exchange
        // it for others of the same table, which the guard borrows. The guard's frame lies below
        // the caller's, and the result is gone before the caller returns.
        let deque = unsafe { deque.as_ref() }?;
        // SAFETY: the `DequeGuard` is this thread's, so this thread is the deque's owner. So it is
        // of one for which a fiber has exchanged that. And so it is for as long as the caller has
        // the result: a fiber that waits meanwhile takes the deque along, unless the caller has
        // joined all that it has forked, and does nothing more with it (`Baggage`).
        Some(Self { owner: unsafe { Owner::new(deque) } })
    }

    fn deque(self) -> &'a Deque {
        self.owner.deque()
    }

    /// Calls `f` with the thread's worker.
    fn with_worker<R>(self, f: impl FnOnce(&WorkerThread) -> R) -> R {
        context::with(|context| f(context.worker().expect("only workers have deques")))
    }

    /// # Safety
    /// As for [`Owner::push`].
    #[inline(always)]
    unsafe fn push(self, job: NonNull<Header>) {
        // SAFETY: the caller promises what `Owner::push` asks for.
        unsafe { self.owner.push(job) };
        if self.owner.is_starved() {
            self.publish(Share::Half);
        }
    }

    /// # Safety
    /// As for [`Owner::push_all`].
    #[inline(always)]
    unsafe fn push_all(self, jobs: impl Iterator<Item = NonNull<Header>>) {
        // SAFETY: the caller promises what `Owner::push_all` asks for.
        unsafe { self.owner.push_all(jobs) };
        if self.owner.is_starved() {
            // All jobs: the caller may not fork again for long, and as many workers may be idle as
            // there are jobs.
            self.publish(Share::All);
        }
    }

    /// Publishes private jobs, and wakes workers that may want them.
    #[cold]
    #[inline(never)]
    fn publish(self, share: Share) {
        if !self.owner.publish(share) {
            return;
        }
        let helper = self.owner.take_helper();
        self.with_worker(|worker| {
            worker.has_forked();
            if let Some(helper) = helper.and_then(|id| worker.deques().get(id as usize)) {
                helper.wake_owner();
            }
        });
    }
}

/// Whether the thread is on a fiber's stack, or in a closure of the fork of a fiber.
#[inline(always)]
fn is_in_fiber() -> bool {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    return context::forks_as_in_fibers();
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    false
}

/// Whether the calling thread has no forks outstanding.
#[inline(always)]
pub(crate) fn is_joined() -> bool {
    // SAFETY: the result is dropped at the end of this statement.
    unsafe { Fork::current() }.is_none_or(|fork| fork.owner.is_empty())
}

/// Publishes all jobs of the calling thread, which will not come to them for a while.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn publish_all() {
    // SAFETY: the fork is dropped at the end of this statement.
    unsafe { Fork::current() }.into_iter().for_each(|fork| fork.publish(Share::All));
}

/// The id of the calling thread's deque, if it has one.
pub(crate) fn deque_id() -> Option<u32> {
    // SAFETY: the result is dropped at the end of this statement.
    unsafe { Fork::current() }.map(|fork| fork.deque().id())
}

impl Stolen<'_> {
    /// Runs the job on a worker whose stack is empty, or on one that waits for a job of which this
    /// job is a part.
    pub(crate) fn run_apart(self) {
        let _entered = context::mark_entered(context::Entered::Yes);
        context::without_local(|| self.run());
    }
}
