//! A fiber that has begun to run: its coroutine, and what of it code on its stack may reach.

use super::preempt::{self, Slice};
use super::stack::Stack;
use super::unwinding::{Aborted, UNWINDS, unwind_again};
use crate::context::{self, Before, Context as Here, Detached, Entered};
use crate::primitives::UnsafeCell;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::thread;
use crate::scheduler::multi::WorkerThread;
use crate::task::{self, Header, Id};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::alloc::Layout;
use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// The coroutine of any fiber: what the fiber ends with goes to its `Running`.
type Erased = Coroutine<(), (), (), Stack>;

/// A coroutine that has begun, and the thread that it belongs to.
pub(super) struct Running<R: 'static> {
    /// Owned. Apart: code on the stack refers to it, and this may move until it first rests.
    begun: NonNull<Begun<R>>,
}

#[repr(C)]
struct Begun<R: 'static> {
    /// First, so that a pointer to this is a pointer to that.
    inside: Inside,
    /// With what the fiber has ended.
    ended: Cell<Option<Result<R, Box<dyn Any + Send>>>>,
}

/// What code on a fiber's stack reaches through the thread's context, while it runs.
pub(crate) struct Inside {
    /// `None` before it begins, and once the stack is released. Only `Running` and `resume` use it,
    /// while the fiber does not run.
    coroutine: UnsafeCell<Option<Erased>>,
    task: NonNull<Header>,
    pub(super) id: Id,
    pub(super) name: Option<Box<str>>,
    pub(super) stack_size: usize,
    pub(super) guard: std::ops::Range<usize>,
    /// That of the host, which stays until the fiber has ended (`multi/host.rs`).
    context: NonNull<Here>,
    /// Set as soon as it runs.
    yielder: Cell<*const Yielder<(), ()>>,
    /// The task's own, without a reference. It is not that of a poll: a future that is polled on
    /// the stack may wait in turn, and go on with this one in a later poll.
    pub(super) waker: ManuallyDrop<Waker>,
    /// What the thread was doing for the runtime when it was resumed.
    before: Before,
    /// It is being unwound, and must not be left any more.
    is_ending: Cell<bool>,
    /// In how many scopes it is.
    scopes: Cell<u32>,
    pub(super) slice: Slice,
    /// When its slice was first looked at since it was resumed.
    pub(super) since: Cell<Option<Instant>>,
}

/// Why a fiber has come back to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// It waits for a wake-up.
    Waits,
    /// It goes behind all others.
    Yielded,
    /// It has ended, now or before.
    Ended,
}

impl<R: 'static> Running<R> {
    /// # Safety
    /// The task of that header is live for as long as this is.
    pub(super) unsafe fn new<F>(
        stack: Stack,
        f: F,
        task: NonNull<Header>,
        name: Option<Box<str>>,
        slice: Slice,
    ) -> Self
    where
        F: FnOnce() -> R + 'static,
    {
        // As the task, it is kept by the worker for later fibers.
        let memory = task::acquire_memory(Layout::new::<Begun<R>>(), None);
        let begun = memory.cast::<Begun<R>>();
        let inside = Inside {
            coroutine: UnsafeCell::new(None),
            task,
            id: task::id_of(task),
            name,
            stack_size: stack.size(),
            guard: stack.guard(),
            context: context::address(),
            yielder: Cell::new(ptr::null()),
            // SAFETY: the caller's promise: the stack, which may use it, is this one's.
            waker: unsafe { task::borrowed_waker(task) },
            before: context::with(Before::new),
            is_ending: Cell::new(false),
            scopes: Cell::new(0),
            slice,
            since: Cell::new(None),
        };
        // SAFETY: it is new, and has this layout.
        unsafe { begun.write(Begun { inside, ended: Cell::new(None) }) };
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: it is freed after this has ended.
            let begun = unsafe { begun.as_ref() };
            begun.inside.yielder.set(yielder);
            let ended = catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
                if !payload.is::<Aborted>() && is_inside_of_ending() {
                    // The coroutine, which unwinds this stack, tells its own unwinding from a panic
                    // of the fiber, which may have caught that and gone on.
                    resume_unwind(payload);
                }
                payload
            });
            begun.ended.set(Some(ended));
        });
        let running = Self { begun };
        running.inside().coroutine.with_mut(|place| {
            // SAFETY: nobody else knows it. There is nothing in it to drop.
            unsafe { place.write(Some(coroutine)) };
        });
        running
    }

    /// Where in the task the pointer to what has begun is, as [`task::bind`] wants it: in place for
    /// as long as this is.
    pub(super) fn place(&self) -> *const NonNull<Inside> {
        // A pointer to what has begun is one to its first field.
        (&raw const self.begun).cast()
    }

    #[inline(always)]
    fn begun(&self) -> &Begun<R> {
        // SAFETY: this owns it. What changes in it is in cells.
        unsafe { self.begun.as_ref() }
    }

    #[inline(always)]
    fn inside(&self) -> &Inside {
        &self.begun().inside
    }

    /// Runs the fiber until it waits or ends, if it has not ended.
    ///
    /// If it has panicked, the thread's context has the payload (`Context::panics`).
    #[inline(always)]
    pub(super) fn resume(&mut self) -> Poll<R> {
        assert!(
            self.is_here(),
            "a fiber was to run on another thread than the one on which it began"
        );
        if self.inside().resume_in_poll() { Poll::Pending } else { self.ended() }
    }

    fn ended(&mut self) -> Poll<R> {
        self.release();
        match self.begun().ended.take() {
            None => unreachable!("a fiber was resumed after its end"),
            Some(Ok(output)) => Poll::Ready(output),
            // The payload alone does not tell: somebody may have caught that of another fiber.
            Some(Err(payload)) if payload.is::<Aborted>() && self.inside().is_to_unwind() => {
                // The task is cancelled, and not shielded any more: instead of the poll that this
                // wakes, it ends as one that was aborted.
                self.inside().waker.wake_by_ref();
                Poll::Pending
            }
            Some(Err(payload)) => {
                context::with(|context| context.panics(payload));
                Poll::Pending
            }
        }
    }

    /// Whether the calling thread is the fiber's.
    fn is_here(&self) -> bool {
        // A thread's context is where it is until the thread ends, which the fiber's does not.
        self.inside().context == context::address()
    }

    /// The coroutine, which does not run.
    fn take(&mut self) -> Option<Erased> {
        self.inside().coroutine.with_mut(|coroutine| {
            // SAFETY: the right to the future is the caller's, and nobody is on the stack.
            unsafe { &mut *coroutine }.take()
        })
    }

    fn release(&mut self) {
        if let Some(coroutine) = self.take() {
            coroutine.into_stack().release();
        }
    }
}

impl<R: 'static> Drop for Running<R> {
    /// Unwinds the stack, so that what is on it is dropped.
    fn drop(&mut self) {
        let has_stack = self.inside().coroutine.with(|coroutine| {
            // SAFETY: the right to the future is the caller's, and nobody is on the stack.
            unsafe { &*coroutine }.is_some()
        });
        let dropped = if has_stack {
            self.drop_with_stack()
        } else {
            // What the fiber has ended with was taken: no destructor of the user runs.
            // SAFETY: it is this one's. There is no stack, and so nobody who could refer to it.
            unsafe { self.begun.drop_in_place() };
            Ok(())
        };
        // SAFETY: it came from `acquire_memory` for this layout, and was just dropped.
        unsafe { task::release_memory(self.begun.cast(), Layout::new::<Begun<R>>()) };
        if let Err(payload) = dropped {
            resume_unwind(payload);
        }
    }
}

impl<R: 'static> Running<R> {
    #[cold]
    fn drop_with_stack(&mut self) -> Result<(), Box<dyn Any + Send>> {
        let unwound = catch_unwind(AssertUnwindSafe(|| self.unwind()));
        // A fiber that was unwound may have returned all the same.
        // SAFETY: it is this one's. The stack is gone, and with it whoever has referred to it.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { self.begun.drop_in_place() }));
        match (unwound, dropped) {
            (Err(payload), Err(another)) => {
                task::discard(another);
                Err(payload)
            }
            (unwound, dropped) => unwound.and(dropped),
        }
    }

    fn unwind(&mut self) {
        let is_here = self.is_here();
        let Some(mut coroutine) = self.take() else { return };
        if self.inside().scopes.get() > 0 {
            // Fibers of a scope on this stack have borrowed, perhaps from a local of the thread,
            // and are alive. The schedulers drop no shielded task; were one to do so, nothing else
            // would be sound.
            std::mem::forget(coroutine);
            drop(AbortOnUnwind("(a fiber was dropped while fibers of its scope are alive)"));
            return;
        }
        if !is_here {
            // Only its own thread may run the destructors of what is on the stack, and others may
            // have borrowed from it. The schedulers drop bound tasks on their hosts alone.
            std::mem::forget(coroutine);
            drop(AbortOnUnwind("(a fiber was dropped by another thread than its own)"));
            return;
        }
        if cfg!(panic = "abort") && coroutine.started() && !coroutine.done() {
            // Nor can its stack be left as it is, which may have lent to others.
            std::mem::forget(coroutine);
            drop(AbortOnUnwind(UNWINDS));
            return;
        }
        self.inside().is_ending.set(true);
        let ended =
            self.inside().enter(|| catch_unwind(AssertUnwindSafe(|| coroutine.force_unwind())));
        coroutine.into_stack().release();
        if let Err(payload) = ended {
            resume_unwind(payload);
        }
    }
}

impl Inside {
    /// Runs the fiber until it waits or ends, on its thread, with the right to its task's future.
    /// Returns whether it waits; false if it has ended, now or before.
    #[inline(always)]
    fn resume(&self) -> bool {
        self.coroutine.with_mut(|coroutine| {
            // SAFETY: the fiber does not run, and while it does, nobody else accesses this: code on
            // its stack does not, and the right to the future is the caller's.
            match unsafe { &mut *coroutine } {
                Some(coroutine) if !coroutine.done() => {
                    matches!(self.enter(|| coroutine.resume(())), CoroutineResult::Yield(()))
                }
                _ => false,
            }
        })
    }

    /// As `resume`, in a poll of the fiber's task: the first, and any that somebody is to see. One
    /// function for all fibers.
    #[inline(never)]
    fn resume_in_poll(&self) -> bool {
        self.resume()
    }

    /// As `resume`, with what a poll of the fiber's task is on the thread.
    #[inline(always)]
    pub(crate) fn resume_in_task(&self) -> Resumed {
        let context = self.context();
        let scope = context.enter_task(self.task);
        let waits = self.resume();
        let yielded = scope.leave_in(context);
        match (waits, yielded) {
            (false, _) => Resumed::Ended,
            (true, false) => Resumed::Waits,
            (true, true) => Resumed::Yielded,
        }
    }

    /// Runs `f`, which switches to this fiber's stack and comes back.
    #[inline(always)]
    fn enter<T>(&self, f: impl FnOnce() -> T) -> T {
        let context = self.context();
        self.before.note(context);
        self.since.set(None);
        let fiber = context.fiber.replace(self);
        let reductions = context.reductions.replace(self.slice.budget);
        context.enter_fiber();
        // Nothing unwinds through this: panics end at the root of the coroutine.
        let result = f();
        context.fiber.set(fiber);
        context.reductions.set(reductions);
        if fiber.is_null() {
            context.leave_fibers();
        }
        result
    }

    /// The thread's.
    #[inline(always)]
    fn context(&self) -> &Here {
        // SAFETY: this is only called on the fiber's thread, which outlives it. A context is in
        // place, and has no destructor.
        unsafe { self.context.as_ref() }
    }

    /// Whether the fiber's stack may be left here for another one.
    ///
    /// It may not be where the thread is in something that ends on this stack: the closure of a
    /// fork, another task's poll, a set of local tasks, `block_on`, `block_in_place`, a borrow of a
    /// task-local, or a panic, which `std` counts for each thread. (With some of these it may be:
    /// see `may_pack`.)
    #[inline(always)]
    pub(super) fn may_wait(&self) -> bool {
        self.may_wait_if(self.is_unchanged())
    }

    #[inline(always)]
    fn may_wait_if(&self, is_unchanged: bool) -> bool {
        let context = self.context();
        (is_unchanged || self.before.may_leave(context))
            && context.worker().is_none_or(|worker| worker.may_leave_stack())
            && !self.is_ending.get()
            && !thread::panicking()
    }

    /// Whether the stack may be left here with what the fiber takes along: see `baggage.rs`.
    pub(super) fn may_pack(&self) -> bool {
        self.before.may_pack(self.context()) && !self.is_ending.get() && !thread::panicking()
    }

    /// Leaves the stack so until the fiber is resumed.
    pub(super) fn leave_packed(&self, yields: bool) {
        let baggage = self.before.pack(self.context());
        if yields {
            // As in `begin_yield`. A future that was polled may have set it already.
            self.context().yielded.set(true);
        }
        self.leave();
        self.before.unpack(self.context(), baggage);
    }

    /// Whether nothing was entered or left since the fiber was resumed.
    #[inline(always)]
    fn is_unchanged(&self) -> bool {
        self.before.is_unchanged(self.context(), self.task)
    }

    /// Whether the calling code is the fiber's own, and no other task's poll, set of local tasks,
    /// `block_on` or `block_in_place` on top of it.
    pub(super) fn is_where_it_was_resumed(&self) -> bool {
        self.before.is_there(self.context())
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.get()
    }

    /// Whether the fiber was unwound for its abort, and has caught that: the calling code is its
    /// own, and in no destructor of the unwinding.
    ///
    /// A destructor is where `std` says that the thread panics. That may also be so because of
    /// something around the fiber, in which this says no, and the fiber blocks the thread.
    #[cold]
    pub(super) fn goes_on_unwound(&self) -> bool {
        self.is_ending.get() && !thread::panicking() && self.is_where_it_was_resumed()
    }

    /// Unwinds such a fiber again, in a call that would leave its stack.
    #[cold]
    pub(super) fn unwind_if_it_goes_on(&self) {
        if self.goes_on_unwound() {
            unwind_again();
        }
    }

    /// Waits for a future: the thread does something else meanwhile.
    ///
    /// The caller has asked whether it [may](Self::may_wait).
    ///
    /// Inlined, so that the switch is in the frame of whoever waits: see `README.md`.
    #[inline(always)]
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            let mut cx = Context::from_waker(&self.waker);
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            // It may have been unwound before, and that was caught: nobody wakes it again.
            self.unwind_if_aborted();
            self.leave();
            self.unwind_if_aborted();
        }
    }

    /// Unwinds a fiber that is in a scope. (Any other is dropped.)
    #[inline(always)]
    fn unwind_if_aborted(&self) {
        if self.scopes.get() > 0 {
            self.unwind_in_scope_if_aborted();
        }
    }

    #[cold]
    fn unwind_in_scope_if_aborted(&self) {
        if self.is_to_unwind() {
            unwind_again();
        }
    }

    /// As `wait`, and an abort does not end it while the fiber is in a scope.
    pub(super) fn wait_through<F: Future>(&self, future: F) -> F::Output {
        debug_assert!(self.scopes.get() > 0);
        let mut future = pin!(future);
        loop {
            let mut cx = Context::from_waker(&self.waker);
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            self.leave();
        }
    }

    /// Whether somebody has aborted the fiber, which runs all the same, or the one whose fork's
    /// closure it has taken; and it is not in a destructor that runs for that.
    pub(super) fn is_to_unwind(&self) -> bool {
        let is_aborted = self.is_cancelled() || context::is_taken_aborted();
        is_aborted && !self.is_ending.get() && !thread::panicking() && context::may_unwind_taken()
    }

    /// Whether the fiber is to be unwound, or its runtime ends, of which another thread may have
    /// learned first. Then it is aborted here and now.
    pub(super) fn is_to_end(&self) -> bool {
        let ends = || self.context().worker().is_some_and(WorkerThread::is_shut_down);
        if !self.is_to_unwind() && ends() {
            // It runs, and so is queued at the end of this turn.
            let _ = self.state().cancel();
        }
        self.is_to_unwind()
    }

    /// The fiber enters a scope: until it has left, an abort does not take its stack.
    pub(super) fn enter_scope(&self) {
        if self.scopes.replace(self.scopes.get() + 1) == 0 {
            self.state().shield();
        }
    }

    /// The fiber leaves a scope, whose fibers have all ended. Returns whether it is to unwind.
    pub(super) fn leave_scope(&self) -> bool {
        self.scopes.set(self.scopes.get() - 1);
        if self.scopes.get() == 0 {
            self.state().unshield();
            if self.state().is_cancelled() {
                // The wake-up that came with the abort is used up. If somebody catches the
                // unwinding, this one ends the fiber where it next leaves its stack.
                self.waker.wake_by_ref();
            }
        }
        self.is_to_unwind()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state().is_cancelled()
    }

    fn state(&self) -> &task::State {
        // SAFETY: this is called in a poll of the task, or while its future is dropped: by
        // `resume`, or by code on the fiber's stack.
        unsafe { task::own_state(self.task) }
    }

    /// Leaves the stack until the fiber is resumed.
    ///
    /// Inlined, so that the switch is in the frame of whoever waits: see `README.md`.
    #[inline(always)]
    fn leave(&self) {
        let own = self.take_along();
        self.switch();
        drop(own);
    }

    /// What the fiber has entered, and takes along: nothing, most of the time.
    #[inline(always)]
    fn take_along(&self) -> Option<Detached> {
        if self.is_unchanged() { None } else { self.take_along_anything() }
    }

    #[cold]
    fn take_along_anything(&self) -> Option<Detached> {
        let layers = self.before.layers();
        if layers.are_on_top(self.context()) { None } else { Some(layers.detach()) }
    }

    #[inline(always)]
    fn switch(&self) {
        let yielder = self.yielder.get();
        // SAFETY: the coroutine has set it when it began, at the root of this very stack, where it
        // stays until the coroutine ends.
        let yielder = unsafe { &*yielder };
        yielder.suspend(());
    }
}

/// The calling fiber, which may leave its stack here and now. Whoever gets one uses it at once.
pub(crate) struct Leaving(NonNull<Inside>);

impl Leaving {
    /// Waits for a future.
    #[inline(always)]
    pub(crate) fn wait<F: Future>(self, future: F) -> F::Output {
        // SAFETY: `begin_wait` has made it on the stack of this fiber, where the caller is still.
        // The fiber owns it for as long as it has a stack.
        unsafe { self.0.as_ref() }.wait(future)
    }

    /// Does the second half of a yield.
    #[inline(always)]
    pub(super) fn yield_now(self) {
        // SAFETY: as in `wait`; by `begin_yield`.
        let inside = unsafe { self.0.as_ref() };
        inside.switch();
        inside.unwind_if_aborted();
    }
}

/// The first half of a yield.
pub(super) enum Yield {
    /// The caller leaves the stack.
    Leaves(Leaving),
    /// That has been done.
    Done,
    /// The caller is in no fiber, or where one cannot leave its stack.
    No,
}

/// Makes the calling fiber one that yields, and the task of it one that goes behind all others.
///
/// The switch itself is left to the caller: see `README.md`. This is a call of its own, so that the
/// caller stays small enough to be inlined, with its switch.
#[inline(never)]
pub(super) fn begin_yield() -> Yield {
    let Some(inside) = here() else { return Yield::No };
    // SAFETY: the fiber owns it for as long as it has a stack, on which this is.
    let fiber = unsafe { inside.as_ref() };
    let is_unchanged = fiber.is_unchanged();
    if !fiber.may_wait_if(is_unchanged) {
        fiber.unwind_if_it_goes_on();
        return if fiber.yield_packed() { Yield::Done } else { Yield::No };
    }
    // It may have been unwound before, and that was caught: nobody wakes it again.
    fiber.unwind_if_aborted();
    // The thread is in the poll of the fiber's own task, and in nothing on top of that: this is
    // what `yield_now` of a task does.
    fiber.context().yielded.set(true);
    if is_unchanged {
        return Yield::Leaves(Leaving(inside));
    }
    fiber.leave();
    fiber.unwind_if_aborted();
    Yield::Done
}

/// The fiber on whose stack the calling code is.
#[inline(always)]
fn here() -> Option<NonNull<Inside>> {
    NonNull::new(context::with(|context| context.fiber.get()).cast_mut())
}

/// How a call that may wait does so.
pub(crate) enum Wait {
    /// It leaves the stack.
    Leaves(Leaving),
    /// It is inside of a fiber's poll, and cannot leave the stack.
    InPlace,
    /// It is not.
    Outside,
}

/// Precedes a wait of the calling code, ready or not: a fiber that only makes calls that need not
/// wait has its time, too.
#[inline]
pub(crate) fn begin_wait() -> Wait {
    let Some(inside) = here() else { return Wait::Outside };
    // SAFETY: the fiber owns it for as long as it has a stack, on which this is.
    let fiber = unsafe { inside.as_ref() };
    if !fiber.may_wait() {
        // On a fiber's stack, but where the thread may block, whoever asks.
        let is_entered = fiber.context().entered() != Entered::No;
        return if is_entered { Wait::InPlace } else { Wait::Outside };
    }
    if preempt::count(fiber.context()) {
        preempt::give_way();
    }
    Wait::Leaves(Leaving(inside))
}

/// Calls `f` with what the calling code's fiber is, if it is in one.
pub(super) fn inside<T>(f: impl FnOnce(Option<&Inside>) -> T) -> T {
    let inside = context::with(|context| context.fiber.get());
    // SAFETY: it is set for as long as the fiber runs, and the fiber owns it. The reference ends
    // with `f`, which is called on the fiber's stack.
    f(unsafe { inside.as_ref() })
}

/// Whether the calling code is on the stack of a fiber that is being unwound.
#[cold]
fn is_inside_of_ending() -> bool {
    inside(|inside| inside.is_some_and(Inside::is_ending))
}
