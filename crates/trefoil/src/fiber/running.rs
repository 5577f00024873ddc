//! A fiber that has begun to run: its coroutine, and what of it code on its stack may reach.

use super::preempt::{self, Slice};
use super::stack::Stack;
use crate::context::{self, Detached, Entered, Layers, Surroundings};
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::thread::{self, ThreadId};
use crate::task::{self, Header, Id};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

type Resumed<R> = Coroutine<(), (), Result<R, Box<dyn Any + Send>>, Stack>;

/// A coroutine that has begun, and the thread that it belongs to.
pub(super) struct Running<R: 'static> {
    /// `None` once it has ended.
    coroutine: Option<Resumed<R>>,
    /// Apart: code on the stack refers to it, and this may move until it first rests.
    inside: Rc<Inside>,
}

/// What code on a fiber's stack reaches through the thread's context, while it runs.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(super) id: Id,
    pub(super) name: Option<Box<str>>,
    pub(super) stack_size: usize,
    guard: std::ops::Range<usize>,
    /// The host, which stays until the fiber has ended (`multi/host.rs`).
    thread: ThreadId,
    /// Set as soon as it runs.
    yielder: Cell<*const Yielder<(), ()>>,
    /// The task's own, without a reference. It is not that of a poll: a future that is polled on
    /// the stack may wait in turn, and go on with this one in a later poll.
    waker: ManuallyDrop<Waker>,
    /// What the thread was doing for the runtime when it was resumed.
    surroundings: Cell<Surroundings>,
    /// What was entered then.
    layers: Cell<Layers>,
    /// It is being unwound, and must not be left any more.
    is_ending: Cell<bool>,
    /// In how many scopes it is.
    scopes: Cell<u32>,
    pub(super) slice: Slice,
    /// When its slice was first looked at since it was resumed.
    pub(super) since: Cell<Option<Instant>>,
}

/// What unwinds the stack of an aborted fiber up to the scope that it is in, or, after the last
/// scope, to its root.
pub(super) struct Aborted;

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
        let (surroundings, layers) =
            context::with(|context| (context.surroundings(), context.layers()));
        let inside = Rc::new(Inside {
            id: task::id_of(task),
            name,
            stack_size: stack.size(),
            guard: stack.guard(),
            thread: context::thread_id(),
            yielder: Cell::new(ptr::null()),
            // SAFETY: the caller's promise: the stack, which may use it, is this one's.
            waker: unsafe { task::borrowed_waker(task) },
            surroundings: Cell::new(surroundings),
            layers: Cell::new(layers),
            is_ending: Cell::new(false),
            scopes: Cell::new(0),
            slice,
            since: Cell::new(None),
        });
        let coroutine = Coroutine::with_stack(stack, |yielder: &Yielder<(), ()>, ()| {
            context::with(|context| {
                // SAFETY: set by `resume`, for as long as this runs.
                let inside = unsafe { context.fiber.get().as_ref() };
                inside.expect("a fiber was resumed without its context").yielder.set(yielder);
            });
            catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
                if !payload.is::<Aborted>() && is_inside_of_ending() {
                    // The coroutine, which unwinds this stack, tells its own unwinding from a panic
                    // of the fiber, which may have caught that and gone on.
                    resume_unwind(payload);
                }
                payload
            })
        });
        Self { coroutine: Some(coroutine), inside }
    }

    /// Runs the fiber until it waits or ends.
    ///
    /// If it has panicked, the thread's context has the payload (`Context::panics`).
    #[inline(always)]
    pub(super) fn resume(&mut self) -> Poll<R> {
        assert!(
            self.is_here(),
            "a fiber was to run on another thread than the one on which it began"
        );
        let Some(coroutine) = &mut self.coroutine else {
            unreachable!("a fiber was resumed after its end")
        };
        let resumed = self.inside.enter(|| coroutine.resume(()));
        match resumed {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(ended) => {
                self.release();
                match ended {
                    Ok(output) => Poll::Ready(output),
                    // The payload alone does not tell: somebody may have caught that of another
                    // fiber.
                    Err(payload) if payload.is::<Aborted>() && self.inside.is_to_unwind() => {
                        // The task is cancelled, and not shielded any more: instead of the poll
                        // that this wakes, it ends as one that was aborted.
                        self.inside.waker.wake_by_ref();
                        Poll::Pending
                    }
                    Err(payload) => {
                        context::with(|context| context.panics(payload));
                        Poll::Pending
                    }
                }
            }
        }
    }

    /// Whether the calling thread is the fiber's.
    fn is_here(&self) -> bool {
        self.inside.thread == context::thread_id()
    }

    fn release(&mut self) {
        if let Some(coroutine) = self.coroutine.take() {
            coroutine.into_stack().release();
        }
    }
}

impl<R: 'static> Drop for Running<R> {
    /// Unwinds the stack, so that what is on it is dropped.
    fn drop(&mut self) {
        let is_here = self.is_here();
        let Some(mut coroutine) = self.coroutine.take() else { return };
        if self.inside.scopes.get() > 0 {
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
        self.inside.is_ending.set(true);
        let ended =
            self.inside.enter(|| catch_unwind(AssertUnwindSafe(|| coroutine.force_unwind())));
        coroutine.into_stack().release();
        if let Err(payload) = ended {
            resume_unwind(payload);
        }
    }
}

impl Inside {
    /// Runs `f`, which switches to this fiber's stack and comes back.
    #[inline(always)]
    fn enter<T>(&self, f: impl FnOnce() -> T) -> T {
        let before = context::with(|context| {
            self.surroundings.set(context.surroundings());
            self.layers.set(context.layers());
            self.since.set(None);
            (context.fiber.replace(self), context.reductions.replace(self.slice.budget))
        });
        // Nothing unwinds through this: panics end at the root of the coroutine.
        let result = f();
        context::with(|context| {
            context.fiber.set(before.0);
            context.reductions.set(before.1);
        });
        result
    }

    /// Whether the fiber's stack may be left here for another one.
    ///
    /// It may not be where the thread is in something that ends on this stack: the closure of a
    /// fork, another task's poll, a set of local tasks, `block_on`, `block_in_place`, a borrow of a
    /// task-local, or a panic, which `std` counts for each thread.
    pub(super) fn may_wait(&self) -> bool {
        context::with(|context| self.may_wait_in(context))
    }

    #[inline]
    fn may_wait_in(&self, context: &context::Context) -> bool {
        self.surroundings.get() == context.surroundings()
            && context.worker().is_none_or(|worker| worker.may_leave_stack())
            && self.layers.get().may_detach(context)
            && !self.is_ending.get()
            && !thread::panicking()
    }

    /// Whether the calling code is the fiber's own, and no other task's poll, set of local tasks,
    /// `block_on` or `block_in_place` on top of it.
    pub(super) fn is_where_it_was_resumed(&self) -> bool {
        context::with(|context| self.surroundings.get() == context.surroundings())
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.get()
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
            resume_unwind(Box::new(Aborted));
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

    /// Whether somebody has aborted the fiber, which runs all the same, and is not in a destructor
    /// that runs for that.
    pub(super) fn is_to_unwind(&self) -> bool {
        self.state().is_cancelled() && !self.is_ending.get() && !thread::panicking()
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

    fn state(&self) -> &task::State {
        let Some(task) = task::task_of(&self.waker) else {
            unreachable!("the waker of a fiber is its task's")
        };
        // SAFETY: this is called in a poll of the task, or while its future is dropped: by
        // `resume`, or by code on the fiber's stack.
        unsafe { task::own_state(task) }
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
        let layers = self.layers.get();
        let has_entered = context::with(|context| !layers.are_on_top(context));
        if has_entered { Some(layers.detach()) } else { None }
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
/// The switch itself is left to the caller: see `README.md`.
pub(super) fn begin_yield() -> Yield {
    context::with(|context| {
        // SAFETY: it is set for as long as the fiber runs, and the fiber owns it.
        let Some(inside) = (unsafe { context.fiber.get().as_ref() }) else { return Yield::No };
        if !inside.may_wait_in(context) {
            return Yield::No;
        }
        // It may have been unwound before, and that was caught: nobody wakes it again.
        inside.unwind_if_aborted();
        // The thread is in the poll of the fiber's own task, and in nothing on top of that: this is
        // what `yield_now` of a task does.
        context.yielded.set(true);
        if inside.layers.get().are_on_top(context) {
            return Yield::Leaves(Leaving(NonNull::from(inside)));
        }
        inside.leave();
        inside.unwind_if_aborted();
        Yield::Done
    })
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
    context::with(|context| {
        // SAFETY: it is set for as long as the fiber runs, and the fiber owns it.
        let Some(inside) = (unsafe { context.fiber.get().as_ref() }) else { return Wait::Outside };
        if !inside.may_wait_in(context) {
            // On a fiber's stack, but where the thread may block, whoever asks.
            let is_entered = context.entered() != Entered::No;
            return if is_entered { Wait::InPlace } else { Wait::Outside };
        }
        if preempt::count(context) {
            preempt::give_way();
        }
        Wait::Leaves(Leaving(NonNull::from(inside)))
    })
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

/// In a handler of a signal: says which fiber's stack has overflown, if an address is in the guard
/// of the fiber that this thread runs.
pub(super) fn names_overflow(address: usize, say: fn(&[u8])) -> bool {
    inside(|inside| {
        let Some(inside) = inside.filter(|inside| inside.guard.contains(&address)) else {
            return false;
        };
        let mut digits = Digits::default();
        say(b"\nfiber ");
        say(digits.of(inside.id.as_u64()));
        if let Some(name) = &inside.name {
            say(b" '");
            say(name.as_bytes());
            say(b"'");
        }
        say(b" has overflowed its stack of ");
        say(digits.of(inside.stack_size as u64));
        say(b" bytes: give it more by `fiber::Builder::stack_size`\n");
        true
    })
}

/// A number in decimal digits, without an allocation.
#[derive(Default)]
struct Digits([u8; 20]);

impl Digits {
    fn of(&mut self, mut number: u64) -> &[u8] {
        let mut start = self.0.len();
        loop {
            start -= 1;
            self.0[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return &self.0[start..];
            }
        }
    }
}
