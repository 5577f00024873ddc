//! What a thread is doing for the runtime: all of this crate's thread-locals.
//!
//! Every field is a plain cell without a destructor, so that an access is one load relative to the
//! thread pointer, and is possible at any time, in the destructors of other thread-locals as well.
//!
//! # What is restored, and when
//!
//! Fields that a user's guard changes must allow for any order of drops, for `mem::forget`, and for
//! an owner that is dropped before the guard. User code must not change the fields that `Restore`
//! restores: its guards live in frames of this crate and end with them, in the reverse order, on
//! the same thread, also in a panic.
//!
//! - `handles`. Set by `EnterGuard` (public), `block_on`, workers, blocking threads
//!   and ends of runtimes; restored by `HandleGuard`. A [`Stack`], whose nodes own
//!   their handles; guards are not `Send`.
//! - `locals`, by guards. Set by `LocalEnterGuard` (public) and
//!   `LocalRuntime::enter`; restored by `LocalGuard`. A [`Stack`], whose nodes own
//!   their sets; guards are not `Send`.
//! - `locals`, by frames. Set by polls and drops of a `LocalSet`, and by stolen jobs;
//!   restored by the end of `with_local`. The node is in that frame, and the set is
//!   borrowed by a frame below it.
//! - `entered`. Set by `block_on`, `blocking_recv`, `block_in_place`, workers and
//!   stolen jobs; restored by `EnteredGuard` and `AllowedGuard`. For frames; only
//!   a flag.
//! - `task`. Set by polls and drops of tasks, and by `block_on`; restored by
//!   `TaskScope::leave` and `EnteredGuard`. For frames; the restored task is that of a
//!   frame below, which keeps it alive.
//! - `helper`. Set by polls of a fork's own tasks; restored by the end of `in_helper`. For frames;
//!   it is only compared with `task`.
//! - `taken`. Set by those who run the closure of another thread's fork; restored by the end of
//!   `in_taken`. For frames, in which the closure is. A fiber that waits takes its own along.
//! - `blocking`. Set by `block_in_place` on a worker; restored by its end. For frames. As `taken`.
//! - `budget`, by frames. Set by polls of tasks, `block_on`, `unconstrained` and
//!   `block_in_place`; restored by `TaskScope::leave`, `with_budget`, `EnteredGuard`
//!   and `AllowedGuard`. For frames; only a number. A fiber that waits where there is none has
//!   none when it goes on.
//! - `budget`, by `poll_proceed`; restored by `RestoreOnPending` (public). Only a
//!   number. A guard that outlives its poll changes the budget of a later one, but
//!   never that of code without a budget.
//! - `seeded_rng`. Set by `block_on` and workers of runtimes that have a seed; restored by
//!   `RandomGuard`. For frames; only a number.
//! - `fiber`, `reductions`. Set by polls and drops of fibers; restored by the end of
//!   `Inside::enter`. For frames; the fiber is owned by the task that is polled.
//! - `scopes`. Set by polls and drops of a `TaskLocalFuture` and by `sync_scope`; restored by the
//!   end of `in_scope`. For frames. A fiber that waits takes its own along, as with `handles`.
//! - `burst`. Set by `open_burst` and `without_burst`; restored by the end of the former's guard,
//!   and of the latter. For frames; the burst is in a frame below.
//! - `forks_as_in_fibers`. Set by the function of that name, and restored by its end. For frames;
//!   no fiber is entered on top of them.
//! - `worker`, `fork`, `fork_outside`, `current`, `block_on`. Set by `enter_worker`, `enter_fork`,
//!   `enter_current`, `enter_block_on` and `enter_root`; restored by the end of that
//!   function. For frames; the restored value belongs to a frame below. A fiber that waits in a
//!   fork takes the deque along, and leaves the thread another one (`surroundings.rs`).
//!
//! Futures keep none of these across an `.await`, except the two public guards and
//! `RestoreOnPending`, if their author keeps them. (Task-locals are in slots of their own:
//! `task::local_key` swaps their values within a frame.)
//!
//! Two addresses are only compared if both are valid. `local()` returns sets that a node keeps
//! alive. The frame that runs a worker, or drives, owns the scheduler that it compares with others.
//! Those are alive by the promise of [`Schedule`](crate::task::Schedule).

mod block_on;
mod bursts;
mod closures;
mod handles;
mod locals;
mod polls;
mod random;
mod scopes;
mod stack;
#[cfg(all(feature = "fiber", unix, not(loom)))]
mod surroundings;

pub(crate) use block_on::{BlockOn, enter_block_on, enter_root};
pub(crate) use bursts::{open_burst, without_burst};
pub(crate) use closures::{Taken, in_helper, in_taken, taken_closure_waits};
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
pub(crate) use closures::{Waiter, is_taken_aborted};
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) use closures::{
    fork_as_in_fibers, forks_as_in_fibers, is_in_taken, may_unwind_taken, taken_closure_stays,
};
pub(crate) use closures::{is_in_taken_closure, is_taken_closures_own};
pub(crate) use handles::{
    HandleGuard, beside_guards, current_handle, enter_handle, enter_handle_if_outside,
    enter_handle_strictly, runtime_with_time,
};
pub(crate) use locals::{
    LocalGuard, enter_local, is_in_local, is_polling_local, with_local, without_local,
};
pub(crate) use polls::{enter_task, thread_id};
pub(crate) use random::{RandomGuard, random, random_for_select, seed_random};
pub(crate) use scopes::{Scope, borrowing, in_scope};
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) use surroundings::{Before, Detached};

use crate::fork_join::{self, DequeGuard};
use crate::primitives::thread::ThreadId;
use crate::scheduler::{Handle, WorkerCounters, current, multi};
use crate::task::coop::Budget;
use crate::task::{self, Header, LocalShared};
use stack::{Pin, Stack};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

#[derive(Debug)]
pub(crate) struct Context {
    /// The next id for a task. At the multiples of a block, a new block is taken.
    pub(crate) next_id: Cell<u64>,
    /// The task that this thread is inside of.
    pub(crate) task: Cell<Option<NonNull<Header>>>,
    /// That task yields: it goes behind all others that are queued.
    pub(crate) yielded: Cell<bool>,
    /// The task in whose poll this thread runs a closure of a fork.
    helper: Cell<Option<NonNull<Header>>>,
    /// The closure of another thread's fork that this one runs.
    taken: Cell<Option<NonNull<closures::Running>>>,
    pub(crate) budget: Cell<Budget>,
    /// The last task whose poll has panicked since somebody cleared this.
    pub(crate) panicked: Cell<Option<NonNull<Header>>>,
    /// With what payload the fiber that was just polled has panicked. From `Box::into_raw`; whoever
    /// polls the task takes it at once.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    payload: Cell<*mut Payload>,
    /// What `thread_id` has found.
    thread_id: Cell<Option<ThreadId>>,
    /// The runtimes that were entered.
    handles: Stack<Handle>,
    entered: Cell<Entered>,
    /// The multi-thread worker that this thread is, with or without its state.
    worker: Cell<*const multi::WorkerThread>,
    /// That worker's deque, if it has one.
    fork: Cell<*const fork_join::Deque>,
    /// The same where a fork may use it at once, and null in fibers: see `join_in_fiber`.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    fork_outside: Cell<*const fork_join::Deque>,
    /// On a thread without fibers: whether it is in a closure of the fork of a fiber.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    forks_as_in_fibers: Cell<bool>,
    /// The single-threaded scheduler that this thread drives.
    current: Cell<*const current::Driver>,
    /// The wakes that this thread makes together.
    burst: Cell<*const multi::Burst>,
    /// The timers of the `block_on` that this thread is in.
    block_on: Cell<*const BlockOn>,
    /// The `block_in_place` that this thread is in, if it is a worker.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    blocking: Cell<*const task::Blocking>,
    /// The fiber that this thread runs.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fiber: Cell<*const crate::fiber::Inside>,
    /// How many more reductions that fiber may make: see `fiber/preempt.rs`.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) reductions: Cell<u32>,
    /// How often something was entered or left that `Surroundings` or `Layers` tell, but for
    /// `task`, whose changes are counted by nobody: each poll makes two.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    changes: Cell<u64>,
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    scopes: scopes::Scopes,
    /// The sets of local tasks that were entered.
    locals: Stack<Local>,
    rng: Cell<u32>,
    /// The same for `select!`, where the runtime has a seed; or else 0.
    seeded_rng: Cell<u32>,
}

/// Whether this thread may block to drive a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    No,
    /// Inside of `block_on`, or a worker.
    Yes,
    /// Inside of `block_in_place` or a blocking task.
    Allowed,
}

impl Context {
    const fn new() -> Self {
        Self {
            next_id: Cell::new(0),
            task: Cell::new(None),
            yielded: Cell::new(false),
            helper: Cell::new(None),
            taken: Cell::new(None),
            budget: Cell::new(Budget::UNLIMITED),
            panicked: Cell::new(None),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            payload: Cell::new(std::ptr::null_mut()),
            thread_id: Cell::new(None),
            handles: Stack::new(),
            entered: Cell::new(Entered::No),
            worker: Cell::new(std::ptr::null()),
            fork: Cell::new(std::ptr::null()),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            fork_outside: Cell::new(std::ptr::null()),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            forks_as_in_fibers: Cell::new(false),
            current: Cell::new(std::ptr::null()),
            burst: Cell::new(std::ptr::null()),
            block_on: Cell::new(std::ptr::null()),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            blocking: Cell::new(std::ptr::null()),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            fiber: Cell::new(std::ptr::null()),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            reductions: Cell::new(0),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            changes: Cell::new(0),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            scopes: scopes::Scopes::new(),
            locals: Stack::new(),
            rng: Cell::new(0),
            seeded_rng: Cell::new(0),
        }
    }
}

#[cfg(not(loom))]
thread_local! {
    static CONTEXT: Context = const { Context::new() };
}

// All threads of a loom model run on one thread of the system.
#[cfg(loom)]
loom::thread_local! {
    static CONTEXT: Context = Context::new();
}

#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Context) -> R) -> R {
    // By a closure so small that it is inlined wherever this is: `LocalKey::with` of a larger one
    // is a function, which calls another for the address.
    let context = CONTEXT.with(|context| &raw const *context);
    const { assert!(!std::mem::needs_drop::<Context>()) };
    // SAFETY: it was initialised by a constant and has no destructor, so it is valid for as long as
    // the thread runs, and this thread is in `f` for as long as `f` has the reference.
    f(unsafe { &*context })
}

#[cfg(loom)]
pub(crate) fn with<R>(f: impl FnOnce(&Context) -> R) -> R {
    CONTEXT.with(f)
}

/// Where this thread's context is, for as long as the thread runs.
#[cfg(all(feature = "fiber", unix, not(loom)))]
#[inline(always)]
pub(crate) fn address() -> NonNull<Context> {
    with(|context| NonNull::from(context))
}

/// A set of local tasks, or none.
#[derive(Debug)]
pub(crate) struct Local {
    set: *const LocalShared,
    /// The owner of the set, unless a frame owns it.
    owner: Option<Arc<LocalShared>>,
}

/// Restores a cell of the context on drop. Only for frames of this crate, and never for guards that
/// users hold: see the module's documentation.
#[derive(Debug)]
struct Restore<T: Copy + 'static> {
    cell: fn(&Context) -> &Cell<T>,
    before: T,
}

impl<T: Copy + 'static> Restore<T> {
    fn set(cell: fn(&Context) -> &Cell<T>, value: T) -> Self {
        let before = with(|context| {
            context.count_change();
            cell(context).replace(value)
        });
        Self { cell, before }
    }
}

impl<T: Copy + 'static> Drop for Restore<T> {
    fn drop(&mut self) {
        with(|context| {
            context.count_change();
            (self.cell)(context).set(self.before);
        });
    }
}

/// Of a panic.
#[cfg(all(feature = "fiber", unix, not(loom)))]
type Payload = Box<dyn std::any::Any + Send>;

#[cfg(all(feature = "fiber", unix, not(loom)))]
impl Context {
    /// The future that is being polled returns `Pending`, and has ended with a panic, which was
    /// caught on the stack of a fiber. Unwinding this stack as well would cost as much again.
    pub(crate) fn panics(&self, payload: Payload) {
        let payload = Box::into_raw(Box::new(payload));
        let before = self.payload.replace(payload);
        debug_assert!(before.is_null());
    }

    /// Whether the future that has just returned `Pending` has ended with a panic.
    pub(crate) fn has_panicked(&self) -> bool {
        !self.payload.get().is_null()
    }

    /// With what panic the future that has just returned `Pending` has ended, if it has.
    #[inline(always)]
    pub(crate) fn take_panic(&self) -> Option<Payload> {
        if self.payload.get().is_null() {
            return None;
        }
        let payload = self.payload.replace(std::ptr::null_mut());
        // SAFETY: it came from `Box::into_raw`, and the cell has given it up.
        Some(*unsafe { Box::from_raw(payload) })
    }
}

impl Context {
    /// Something is entered or left that fibers compare when they wait.
    #[inline(always)]
    fn count_change(&self) {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        self.changes.set(self.changes.get().wrapping_add(1));
    }

    /// Keeps a waker until this thread's queue has been served once. False if the thread serves no
    /// queue.
    pub(crate) fn defer(&self, waker: &Waker) -> bool {
        if let Some(worker) = self.worker()
            && worker.defer(waker)
        {
            return true;
        }
        // SAFETY: set by `enter_current` for as long as the driver lives.
        if let Some(driver) = unsafe { self.current.get().as_ref() } {
            driver.defer(waker);
            return true;
        }
        // SAFETY: set by `enter_block_on` for as long as the frame lives.
        if let Some(frame) = unsafe { self.block_on.get().as_ref() } {
            // The clone is foreign code, so nothing may be borrowed meanwhile.
            let waker = waker.clone();
            frame.deferred.borrow_mut().push(waker);
            return true;
        }
        false
    }

    /// The multi-thread worker that this thread is.
    #[inline(always)]
    pub(crate) fn worker(&self) -> Option<&multi::WorkerThread> {
        // SAFETY: set by `enter_worker` for as long as the worker lives. The reference does not
        // leave the thread.
        unsafe { self.worker.get().as_ref() }
    }

    /// The deque of the worker that this thread is, as `enter_fork` has set it, or null.
    #[inline(always)]
    pub(crate) fn fork(&self) -> *const fork_join::Deque {
        self.fork.get()
    }

    /// The same outside of fibers, and null in them.
    #[inline(always)]
    pub(crate) fn fork_outside(&self) -> *const fork_join::Deque {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        return self.fork_outside.get();
        #[cfg(not(all(feature = "fiber", unix, not(loom))))]
        self.fork.get()
    }

    /// Whether the calling code is in a worker's `block_in_place`.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn is_in_blocking(&self) -> bool {
        !self.blocking.get().is_null()
    }

    /// The thread enters the stack of a fiber.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[inline(always)]
    pub(crate) fn enter_fiber(&self) {
        self.fork_outside.set(std::ptr::null());
    }

    /// It has left it, and was in none before. It may have got a deque meanwhile, or lost it.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[inline(always)]
    pub(crate) fn leave_fibers(&self) {
        self.fork_outside.set(self.fork.get());
    }

    /// The single-threaded scheduler that this thread drives.
    #[inline(always)]
    pub(crate) fn current(&self) -> Option<&current::Driver> {
        // SAFETY: set by `enter_current` for as long as the driver lives.
        unsafe { self.current.get().as_ref() }
    }

    /// Which worker of its runtime this thread is.
    pub(crate) fn worker_index(&self) -> Option<usize> {
        match self.worker() {
            Some(worker) => worker.worker_index(),
            None => self.current().map(|_| 0),
        }
    }

    /// The counters of the worker that this thread is, if it has the worker's state.
    pub(crate) fn counters(&self) -> Option<&WorkerCounters> {
        match self.worker() {
            Some(worker) => worker.counters(),
            None => self.current().map(current::Driver::counters),
        }
    }

    /// The memory of completed tasks that this thread may use for new ones.
    #[inline(always)]
    pub(crate) fn task_memory(&self) -> Option<&task::Memory> {
        match self.worker() {
            Some(worker) => worker.task_memory(),
            None => self.current().map(current::Driver::task_memory),
        }
    }

    /// The current set of local tasks, or null. It is valid until foreign code is called, or until
    /// the end of a pin.
    #[inline(always)]
    pub(crate) fn local(&self) -> *const LocalShared {
        // SAFETY: no foreign code is called in between.
        unsafe { self.locals.newest().as_ref() }.map_or(std::ptr::null(), |local| local.set)
    }

    /// Keeps the set that `local` returns from being freed.
    #[inline(always)]
    pub(crate) fn pin_locals(&self) -> Pin<'_, Local> {
        self.locals.pin()
    }

    pub(crate) fn entered(&self) -> Entered {
        self.entered.get()
    }
}

/// Marks the thread as one that drives futures.
#[derive(Debug)]
#[must_use]
pub(crate) struct EnteredGuard {
    _entered: Restore<Entered>,
    _budget: Restore<Budget>,
    _task: Restore<Option<NonNull<Header>>>,
}

/// Begins a `block_on`.
///
/// # Panics
/// If the thread drives futures already.
#[track_caller]
pub(crate) fn enter_block_on_section() -> EnteredGuard {
    if with(Context::entered) == Entered::Yes {
        // The first words are those by which programs know this panic from others.
        panic!(
            "Cannot start a runtime from within a runtime: this thread drives asynchronous code and \
             must not block on a future: `.await` it, or block inside of `block_in_place` or \
             `spawn_blocking`"
        );
    }
    mark_entered(Entered::Yes)
}

/// Begins a wait of a method that blocks.
///
/// # Panics
/// If the thread drives futures already.
#[track_caller]
pub(crate) fn enter_wait() -> EnteredGuard {
    if with(Context::entered) == Entered::Yes {
        // As above.
        panic!(
            "Cannot block the current thread from within a runtime: this thread drives asynchronous \
             code. Call the method that is to be awaited, or this one inside of `block_in_place` or \
             `spawn_blocking`"
        );
    }
    mark_entered(Entered::Yes)
}

/// Sets what the thread may do, whatever it did before.
pub(crate) fn mark_entered(entered: Entered) -> EnteredGuard {
    EnteredGuard {
        _entered: Restore::set(|context| &context.entered, entered),
        _budget: Restore::set(|context| &context.budget, Budget::UNLIMITED),
        _task: Restore::set(|context| &context.task, None),
    }
}

/// Allows the thread to block, if it must not, and changes nothing else.
#[derive(Debug)]
#[must_use]
pub(crate) struct AllowedGuard {
    _entered: Option<Restore<Entered>>,
    _budget: Restore<Budget>,
}

pub(crate) fn allow_blocking() -> AllowedGuard {
    let entered = with(Context::entered) == Entered::Yes;
    AllowedGuard {
        _entered: entered.then(|| Restore::set(|context| &context.entered, Entered::Allowed)),
        _budget: Restore::set(|context| &context.budget, Budget::UNLIMITED),
    }
}

/// Whether the thread is in `block_in_place`, or in a blocking task.
pub(crate) fn may_block() -> bool {
    with(Context::entered) == Entered::Allowed
}

/// Runs `f`, in which the thread must not block.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn without_blocking<R>(f: impl FnOnce() -> R) -> R {
    let _entered = Restore::set(|context| &context.entered, Entered::Yes);
    f()
}

/// Runs `f` as the given worker of a multi-thread runtime.
pub(crate) fn enter_worker<R>(worker: &multi::WorkerThread, f: impl FnOnce() -> R) -> R {
    let _worker = Restore::set(|context| &context.worker, &raw const *worker);
    f()
}

/// Calls foreign code in the midst of a scheduler's own. If this thread is a worker,
/// it keeps the worker's state.
pub(crate) fn keep_state<R>(f: impl FnOnce() -> R) -> R {
    with(|context| match context.worker() {
        Some(worker) => worker.keep_state(f),
        None => f(),
    })
}

/// Runs `f` with a deque, if there is one, on a worker's thread.
pub(crate) fn enter_fork<R>(deque: Option<DequeGuard<'_>>, f: impl FnOnce() -> R) -> R {
    /// Gives back the deque that the thread has at the end: fibers may have exchanged it.
    struct Exchanged<'a>(Option<DequeGuard<'a>>);
    impl Drop for Exchanged<'_> {
        fn drop(&mut self) {
            let Some(mut deque) = self.0.take() else { return };
            // SAFETY: null, or a deque of the table that the guard borrows.
            match with(|context| unsafe { context.fork.get().as_ref() }) {
                Some(last) => deque.is_now(last),
                // It was given back already.
                None => std::mem::forget(deque),
            }
        }
    }
    let first = deque.as_ref().map_or(std::ptr::null(), |deque| &raw const *deque.owner().deque());
    let _fork = enter_deque(first);
    let _deque = Exchanged(deque);
    f()
}

/// Makes a deque, or null, the thread's.
fn enter_deque(deque: *const fork_join::Deque) -> impl Sized {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    let outside = {
        let outside = if forks_as_in_fibers() { std::ptr::null() } else { deque };
        Restore::set(|context| &context.fork_outside, outside)
    };
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    let outside = ();
    (Restore::set(|context| &context.fork, deque), outside)
}

/// Runs `f` inside of a `block_in_place` of a worker.
pub(crate) fn in_blocking<R>(blocking: &task::Blocking, f: impl FnOnce() -> R) -> R {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    let _blocking = {
        blocking.is_within(with(|context| context.blocking.get()));
        Restore::set(|context| &context.blocking, &raw const *blocking)
    };
    let _ = blocking;
    f()
}

/// Runs `f` as the thread that drives a single-threaded scheduler, or, with none, as a thread that
/// drives none.
pub(crate) fn enter_current<R>(driver: Option<&current::Driver>, f: impl FnOnce() -> R) -> R {
    let driver = driver.map_or(std::ptr::null(), |driver| &raw const *driver);
    let _current = Restore::set(|context| &context.current, driver);
    let _worker = Restore::set(|context| &context.worker, std::ptr::null());
    let _fork = enter_deque(std::ptr::null());
    f()
}

/// Whether nothing runs on this thread that a task must not run on top of: no worker, no scheduler
/// that the thread drives, no closure of another thread's fork, no set of local tasks, and no other
/// `block_on`.
pub(crate) fn is_free() -> bool {
    let drives = |context: &Context| {
        context.worker().is_some()
            || context.current().is_some()
            || context.block_on().is_some()
            || context.taken.get().is_some()
    };
    !with(drives) && !is_in_local()
}
