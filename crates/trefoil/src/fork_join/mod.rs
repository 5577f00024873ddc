//! Fork-join: closures that potentially run in parallel, on the workers that
//! run the asynchronous tasks.
//!
//! [`join`](fn@join) is the primitive: two closures. [`fork_all`](fn@fork_all) takes an array of
//! them, [`fork_reduce`] one for each number of a range, [`scope`](fn@scope) lets them be spawned
//! one by one, and [`for_each`] and [`map_reduce`] are loops over ranges and slices. All of them may be called
//! inside of tasks, where they use the worker that runs the task, and idle ones
//! beside it; from other threads,
//! [`Runtime::install`](crate::runtime::Runtime::install) leads to the workers, and
//! [`Runtime::install_here`](crate::runtime::Runtime::install_here) makes the calling
//! thread one of them for so long.
//!
//! # Where closures run
//!
//! | called | closures run |
//! |---|---|
//! | on a worker of a multi-thread runtime, in a task or in another closure | there, and on its idle workers |
//! | elsewhere in the context of such a runtime (`block_on`, a blocking task, [`Handle::enter`](crate::runtime::Handle::enter)) | on its workers; the caller blocks |
//! | in the context of a current-thread runtime | **on the calling thread, one after the other, in order** |
//! | in no runtime | on the workers of the process-wide one, [`runtime::global`](crate::runtime::global()), which the first fork starts; the caller blocks |
//!
//! They also run on the caller, in order, where the runtime they would go to has
//! shut down, or, in the last case, cannot be started.
//!
//! # Tasks meanwhile
//!
//! A task that forks for long is not in the way of others: on two workers or
//! more, what waits for its worker (tasks, timers, what is pinned there) is
//! served by another thread after some milliseconds, until the fork is over. A
//! runtime that is for forks alone can do without:
//! [`Builder::handoff_while_forking`](crate::runtime::Builder::handoff_while_forking).
//!
//! For those who know rayon, [`from_rayon`] says what is called what, and what is
//! different. How it works inside stands in `README.md` beside this file.
//!
//! # Stack
//!
//! Closures run on the workers' stacks (but what `install_here` runs itself is on
//! its caller's, whatever its size), those of std's threads: 2 MiB, unless
//! `RUST_MIN_STACK` or [`Builder::thread_stack_size`](crate::runtime::Builder::thread_stack_size)
//! says otherwise. In an optimised build, one level of recursion takes 110 to 210
//! bytes, `join` and a small function around it together (x86-64; the usual `fib`
//! has 208): a default stack holds 8,000 levels and more. Without optimisation,
//! it is 1 to 2 KiB, and so 800 levels and more. A thief begins on an empty
//! stack. A worker that waits for one, and runs parts of what it waits for, needs
//! no more levels than the recursion has, and some more bytes for each wait.
//!
//! Recursion that goes beyond ends the process, as on any thread of std's, where
//! the system has guard pages: it prints `thread 'trefoil-worker' has overflowed
//! its stack`, with the name of the thread, and aborts. It cannot be caught.

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
pub(crate) use deques::Deques;
pub(crate) use install::{install, install_here};

use crate::context::{self, Context};
use crate::scheduler::multi::WorkerThread;
use deque::Share;
use job::Header;
use std::ptr::NonNull;

/// What a thread needs in order to fork while it is a worker: its deque. The
/// scheduler it works for is in the thread's context.
#[derive(Clone, Copy, Debug)]
struct Fork<'a> {
    owner: Owner<'a>,
}

impl<'a> Fork<'a> {
    /// None on threads that are not workers.
    ///
    /// # Safety
    /// The result is gone before the calling function returns.
    #[inline(always)]
    unsafe fn current() -> Option<Self> {
        let deque = context::with(Context::fork);
        // SAFETY: `enter_fork` sets it for as long as the `DequeGuard` lives. The guard's frame lies
        // below the caller's, and the result is gone before the caller returns.
        let deque = unsafe { deque.as_ref() }?;
        // SAFETY: the `DequeGuard` is this thread's, so this thread is the deque's owner.
        Some(Self { owner: unsafe { Owner::new(deque) } })
    }

    fn deque(self) -> &'a Deque {
        self.owner.deque()
    }

    /// Calls `f` with the worker that the thread is.
    fn with_worker<R>(self, f: impl FnOnce(&WorkerThread) -> R) -> R {
        context::with(|context| f(context.worker().expect("only workers have deques")))
    }

    /// # Safety
    /// As for [`Owner::push`].
    #[inline(always)]
    unsafe fn push(self, job: NonNull<Header>) {
        // SAFETY: the caller's promise.
        unsafe { self.owner.push(job) };
        if self.owner.is_starved() {
            self.publish(Share::Half);
        }
    }

    /// # Safety
    /// As for [`Owner::push_all`].
    #[inline(always)]
    unsafe fn push_all(self, jobs: impl Iterator<Item = NonNull<Header>>) {
        // SAFETY: the caller's promise.
        unsafe { self.owner.push_all(jobs) };
        if self.owner.is_starved() {
            // With everything: the caller may not fork again for long, and
            // there may be as many workers idle as it has jobs.
            self.publish(Share::All);
        }
    }

    /// Makes jobs public, and has those woken who may want them.
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
                helper.parker().unpark();
            }
        });
    }
}

/// Whether the calling thread has no forks outstanding.
pub(crate) fn is_joined() -> bool {
    // SAFETY: gone at the end of this line.
    unsafe { Fork::current() }.is_none_or(|fork| fork.owner.is_empty())
}

/// The id of the calling thread's deque, if it has one.
pub(crate) fn deque_id() -> Option<u32> {
    // SAFETY: gone at the end of this line.
    unsafe { Fork::current() }.map(|fork| fork.deque().id())
}

impl Stolen<'_> {
    /// Runs the job on a worker that has nothing else on its stack, or waits
    /// for what this is a part of.
    pub(crate) fn run_apart(self) {
        let _entered = context::mark_entered(context::Entered::Yes);
        context::without_local(|| self.run());
    }
}
