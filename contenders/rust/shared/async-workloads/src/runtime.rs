//! What a runtime must be able to do to race.

use std::time::Duration;

use crate::TimedTask;

/// An async runtime with a given number of workers.
///
/// The verbs that a *task* uses are associated functions, not methods: every runtime raced knows
/// from its worker threads which runtime a task belongs to, and a program written for it does not
/// pass a runtime around. A runtime that has no such ambient context (smol's own `Executor`) gives
/// its workers one, which is what its global executor is too.
///
/// Nothing is boxed on the way: futures and join handles keep the runtime's own types, so that one
/// runtime does not pay an allocation that another does not.
///
/// A runtime whose tasks are stacks and whose calls block (may) does not belong here: to be
/// idiomatic it has the same rows over blocking verbs, in a crate of its own.
pub trait AsyncRuntime: Sized + 'static {
    /// Whether there are no threads but the one inside [`block_on`](Self::block_on), which is then
    /// the only worker. Rows in which a thread that is no worker waits in another way cannot run
    /// there, and are left out of its table.
    const DRIVEN_BY_BLOCK_ON: bool = false;

    /// Whether [`block_on`](Self::block_on) runs its future on the thread that calls it, and that
    /// thread is no worker. Otherwise no root future can run outside of the workers.
    const BLOCKS_ON_OUTSIDE: bool = !Self::DRIVEN_BY_BLOCK_ON;

    /// Whether blocking closures that wait for each other all get threads.
    const BLOCKING_CLOSURES_MEET: bool = true;

    /// Whether [`block_in_place`](Self::block_in_place) is something that the runtime has.
    const HAS_BLOCK_IN_PLACE: bool = false;

    /// Whether a sleep is made when it is asked for, and not at its first poll: where it never
    /// comes to that, there would be nothing to measure.
    const MAKES_SLEEPS_AT_ONCE: bool = true;

    /// What another thread needs in order to spawn.
    type Handle;

    /// Resolves when the task has ended, with what it returned. A panic of the task goes on in
    /// whoever awaits it.
    type Join<T: Send + 'static>: Future<Output = T> + Send + 'static;

    /// Starts exactly `threads` workers, all with the runtime's defaults. Dropping stops the
    /// runtime, and returns when the workers have ended. (A runtime that cannot be stopped says in
    /// its `contender.toml` what its rows of scope `cold` mean.)
    fn start(threads: usize) -> Self;

    /// As [`start`](Self::start), with what the runtime's users set for a program of few tasks that
    /// use many timers.
    fn start_for_timers(threads: usize) -> Self {
        Self::start(threads)
    }

    /// For a thread that is no worker.
    fn handle(&self) -> Self::Handle;

    /// Spawns from a thread that is no worker.
    fn spawn_from_outside<F>(handle: &Self::Handle, task: F) -> Self::Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Spawns, from a thread that is no worker, what nobody will await.
    fn spawn_detached_from_outside<F>(handle: &Self::Handle, task: F)
    where
        F: Future<Output = ()> + Send + 'static;

    /// Waits from a thread that is no worker, in the runtime's way.
    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send;

    /// As [`block_on`](Self::block_on), for a future that spawns.
    fn block_on_root<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.block_on(root)
    }

    /// Spawns from a task.
    fn spawn<F>(task: F) -> Self::Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Spawns, from a task, one that stays on one worker, where the runtime has such tasks; one
    /// like any other elsewhere.
    fn spawn_pinned<F>(task: F) -> Self::Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Self::spawn(task)
    }

    /// Spawns, from a task, what nobody will await. Not simply a dropped handle: dropping one
    /// detaches the task on some runtimes and cancels it on others.
    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static;

    /// Hands a closure that blocks to the runtime's pool for such work, from a task.
    fn spawn_blocking<T, F>(work: F) -> Self::Join<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static;

    /// Runs a closure that blocks, in a task, after the runtime was told that this worker is about
    /// to block.
    ///
    /// # Panics
    /// The runtime has nothing of the kind: its rows are then left out of its table.
    fn block_in_place<T>(_work: impl FnOnce() -> T) -> T {
        unreachable!("a row that needs block_in_place is left out where there is none")
    }

    /// Awaits a task that may panic; `None` if it did.
    fn join_caught<T>(join: Self::Join<T>) -> impl Future<Output = Option<T>> + Send
    where
        T: Send + 'static;

    /// Goes through the scheduler once.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Waits for the runtime's own timer. Not `Send`, because some runtimes' timers stay with their
    /// worker.
    fn sleep(duration: Duration) -> impl Future<Output = ()>;

    /// Awaits `future` unless the runtime's own timer is earlier; `None` if it is.
    fn timeout<F: Future>(duration: Duration, future: F)
    -> impl Future<Output = Option<F::Output>>;

    /// Spawns, from a task, one that uses timers: [`spawn`](Self::spawn) of `task.run::<Self>()`,
    /// unless the runtime's timers want to be spawned in another way.
    fn spawn_timed(task: TimedTask) -> Self::Join<u64>;

    /// Runs `root` as a task on the workers and waits for it here.
    fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.block_on(Self::spawn_from_outside(&self.handle(), root))
    }
}
