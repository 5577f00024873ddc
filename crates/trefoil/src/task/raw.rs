//! The functions behind a task's vtable: the only code that knows its future.

use super::header::{Header, NO_HOME, Neighbours, Stage, TaskCell, Trailer, Vtable, header};
use super::memory::{self, Depot};
use super::notes::{self, NotedTrailer, Notes};
use super::state::{State, Undeliver};
use super::{Id, JoinError, JoinHandle, Runnable, Schedule, TaskRef, discard};
use crate::context;
use crate::primitives::UnsafeCell;
use crate::queue::{Link, Linked};
use std::alloc::Layout;
use std::any::Any;
use std::future::Future;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Makes a task, in the state of a task that was just queued. Only worker `pinned` may run it,
/// unless that is [`NO_HOME`]. It gets notes if somebody looks at it. Its memory may come from a
/// depot.
///
/// The scheduler must outlive the task's completion: see [`Schedule`]. The caller makes sure that
/// the threads that will use the future, the output and the scheduler may do so; the functions that
/// spawn have bounds for it.
#[inline]
pub(crate) fn allocate<F, S>(
    future: F,
    scheduler: *const S,
    id: Id,
    pinned: u32,
    notes: Option<Notes>,
    depot: Option<&Depot>,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future,
    S: Schedule,
{
    // The same code makes tasks with and without notes, so that the future is moved only once,
    // and the code is not compiled twice for each future.
    let (layout, its_vtable) = if notes.is_some() {
        (Layout::new::<TaskCell<F, NotedTrailer>>(), const { &noted_vtable::<F, S>() })
    } else {
        (Layout::new::<TaskCell<F>>(), const { &vtable::<F, S>() })
    };
    let task = memory::acquire(layout, depot).cast::<TaskCell<F>>();
    let cell = TaskCell {
        header: Header {
            link: Link::new(),
            state: State::new(),
            vtable: its_vtable,
            scheduler: scheduler.cast(),
        },
        stage: UnsafeCell::new(Stage::Future(future)),
        trailer: Trailer {
            id,
            join_waker: UnsafeCell::new(None),
            neighbours: UnsafeCell::new(Neighbours::default()),
            home: UnsafeCell::new(NO_HOME),
            pinned: UnsafeCell::new(pinned),
        },
    };
    // SAFETY: the memory is new, and has room for a cell, with or without notes. A cell with notes
    // starts like a cell without (`noted_vtable`).
    unsafe { task.write(cell) };
    // The header is the first field. The pointer keeps the provenance of the whole allocation.
    let task = task.cast::<Header>();
    if let Some(notes) = notes {
        // SAFETY: there is room for notes, which are not initialised yet. Nobody else knows the
        // task. The vtable is that of this future and this scheduler.
        unsafe { notes::init(task, notes, const { &vtable::<F, S>() }) };
    }
    // SAFETY: `State::new` counts two references: one for the runtime, which the queue entry
    // carries, and one for the join handle. The task is in no queue, and nobody else knows it.
    let runnable = unsafe { Runnable::new(task) };
    // SAFETY: this is the second reference.
    let task = unsafe { TaskRef::from_raw(task) };
    (runnable, JoinHandle::new(task))
}

const fn vtable<F: Future, S: Schedule>() -> Vtable {
    Vtable {
        poll: poll::<F>,
        cancel: cancel::<F>,
        take_output: take_output::<F>,
        drop_output: drop_output::<F>,
        dealloc: dealloc::<F, Trailer>,
        end_joined: end_joined::<F, Trailer>,
        schedule: schedule::<S>,
        trailer_offset: offset_of!(TaskCell<F>, trailer),
        joins_bursts: S::JOINS_BURSTS,
        has_notes: false,
    }
}

/// The vtable of tasks whose trailer is a [`NotedTrailer`]. It shares all functions that do not
/// use the notes, so that futures are not compiled twice.
const fn noted_vtable<F: Future, S: Schedule>() -> Vtable {
    let plain = vtable::<F, S>();
    // What `cell` and `trailer` rely on.
    assert!(plain.trailer_offset == offset_of!(TaskCell<F, NotedTrailer>, trailer));
    assert!(align_of::<TaskCell<F>>() == align_of::<TaskCell<F, NotedTrailer>>());
    Vtable {
        poll: notes::poll,
        cancel: notes::cancel,
        dealloc: dealloc::<F, NotedTrailer>,
        end_joined: end_joined::<F, NotedTrailer>,
        schedule: schedule_noted::<S>,
        has_notes: true,
        ..plain
    }
}

/// # Safety
/// `task` is a live task whose future is of type `F`.
#[inline(always)]
unsafe fn cell<'a, F: Future>(task: NonNull<Header>) -> &'a TaskCell<F> {
    // SAFETY: the caller's promise. The header is the cell's first field, and what changes in a
    // cell is in `UnsafeCell`s and atomics. A cell with notes starts like a cell without
    // (`noted_vtable`).
    unsafe { task.cast::<TaskCell<F>>().as_ref() }
}

/// # Safety
/// 1. `task` is a live task with a future of type `F`.
/// 2. The caller holds the right to the future, which was not dropped yet.
unsafe fn poll<F: Future>(task: NonNull<Header>, cx: &mut Context<'_>) -> Poll<()> {
    // SAFETY: 1.
    let cell = unsafe { cell::<F>(task) };
    cell.stage.with_mut(|stage| {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let drop_in_panic = DropInPanic { stage };
            // SAFETY: 2: nobody else touches the stage.
            let Stage::Future(future) = (unsafe { &mut *stage }) else {
                unreachable!("a task was polled without its future")
            };
            // SAFETY: the future lives in the task's allocation, is never moved
            // out of it, and is dropped in place (`replace_future`).
            let polled = unsafe { Pin::new_unchecked(future) }.poll(cx);
            std::mem::forget(drop_in_panic);
            polled
        }));
        let end = match polled {
            Ok(Poll::Pending) => match end_of_fiber(task) {
                Some(panicked) => panicked,
                None => return Poll::Pending,
            },
            Ok(Poll::Ready(output)) => Stage::Output(output),
            Err(panic) => {
                context::with(|context| context.panicked.set(Some(task)));
                Stage::Panicked(panic)
            }
        };
        // If the future's destructor panics, the output stays.
        // SAFETY: 2.
        if let Some(payload) = unsafe { replace_future(stage, end) } {
            discard(payload);
        }
        Poll::Ready(())
    })
}

/// The end of the task whose future has just returned `Pending`, if it was that of a fiber which
/// has panicked.
#[inline(always)]
fn end_of_fiber<F: Future>(_task: NonNull<Header>) -> Option<Stage<F>> {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    if let Some(payload) = context::with(context::Context::take_panic) {
        context::with(|context| context.panicked.set(Some(_task)));
        return Some(Stage::Panicked(payload));
    }
    None
}

/// Drops a future while its panic unwinds, so that its destructor can tell: a lock that it holds is
/// poisoned, for example. A panic of the destructor ends here, and not the process.
///
/// Only `poll` makes one, with the exclusive access to `stage` that [`replace_future`] asks for.
struct DropInPanic<F: Future> {
    stage: *mut Stage<F>,
}

impl<F: Future> Drop for DropInPanic<F> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: the stage is `poll`'s, and its poll of the future has just been left.
        if let Some(payload) = unsafe { replace_future(self.stage, Stage::Taken) } {
            discard(payload);
        }
    }
}

/// # Safety
/// As for [`poll`].
unsafe fn cancel<F: Future>(task: NonNull<Header>) {
    // SAFETY: 1 of `poll`.
    let cell = unsafe { cell::<F>(task) };
    cell.stage.with_mut(|stage| {
        // SAFETY: 2 of `poll`.
        if let Some(payload) = unsafe { replace_future(stage, Stage::Cancelled) } {
            // SAFETY: 2 of `poll`. There is nothing to drop in `Cancelled`.
            unsafe { stage.write(Stage::Panicked(payload)) };
        }
    });
}

/// Drops the stage where it is, and stores another. Returns the payload of the
/// destructor's panic, which the caller must not drop just like that: its own
/// destructor may panic.
///
/// # Safety
/// The caller has exclusive access to `stage`, which holds a value.
unsafe fn replace_future<F: Future>(
    stage: *mut Stage<F>,
    next: Stage<F>,
) -> Option<Box<dyn Any + Send>> {
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's promise. Even if this unwinds, the value counts as dropped. It is
        // overwritten below, without another drop.
        unsafe { ptr::drop_in_place(stage) }
    }));
    // Nothing may come between the drop and this write: a stage that was dropped and not
    // overwritten would be dropped again with the task.
    // SAFETY: the caller's promise; the old value is gone.
    unsafe { stage.write(next) };
    dropped.err()
}

/// # Safety
/// 1. `task` is a live task with a future of type `F`.
/// 2. It is complete and its output belongs to the caller.
/// 3. `to` points to room for a `Result<F::Output, JoinError>`, which is written
///    to without dropping what was there.
unsafe fn take_output<F: Future>(task: NonNull<Header>, to: *mut ()) {
    // SAFETY: 1.
    let cell = unsafe { cell::<F>(task) };
    let id = cell.trailer.id;
    let stage = cell.stage.with_mut(|stage| {
        // SAFETY: 2. A complete task holds no future, so nothing pinned moves.
        unsafe { ptr::replace(stage, Stage::Taken) }
    });
    let output = match stage {
        Stage::Output(output) => Ok(output),
        Stage::Panicked(payload) => Err(JoinError::panic(id, payload)),
        Stage::Cancelled => Err(JoinError::cancelled(id)),
        Stage::Future(_) | Stage::Taken => panic!("JoinHandle polled after completion"),
    };
    // SAFETY: 3.
    unsafe { to.cast::<Result<F::Output, JoinError>>().write(output) };
}

/// # Safety
/// As for [`take_output`], 1 and 2.
unsafe fn drop_output<F: Future>(task: NonNull<Header>) {
    // SAFETY: 1 of `take_output`.
    let cell = unsafe { cell::<F>(task) };
    cell.stage.with_mut(|stage| {
        // A panic of the destructor is caught here, because nobody joins the task.
        // SAFETY: 2 of `take_output`.
        if let Some(payload) = unsafe { replace_future(stage, Stage::Taken) } {
            discard(payload);
        }
    });
}

/// # Safety
/// The last reference to `task`, whose future and trailer are an `F` and a `T`,
/// was given up.
unsafe fn dealloc<F: Future, T>(task: NonNull<Header>) {
    /// Releases the memory, even if a destructor panics.
    struct Release<C>(NonNull<C>);
    impl<C> Drop for Release<C> {
        fn drop(&mut self) {
            // SAFETY: `allocate` got this memory for a `C`. The `C` is dropped, and nobody refers
            // to it any more.
            unsafe { memory::release(self.0.cast(), Layout::new::<C>()) };
        }
    }
    let cell = Release(task.cast::<TaskCell<F, T>>());
    // SAFETY: the last reference is gone, and this is the one place that drops a cell.
    unsafe { cell.0.drop_in_place() };
}

/// # Safety
/// 1. As for [`dealloc`].
/// 2. The task is complete, and its output was the join handle's.
unsafe fn end_joined<F: Future, T>(task: NonNull<Header>) {
    // SAFETY: 1: the caller alone knows the task.
    let cell = unsafe { cell::<F>(task) };
    let is_taken = cell.stage.with(|stage| {
        // SAFETY: 2: nobody else accesses the stage.
        matches!(unsafe { &*stage }, Stage::Taken)
    });
    if !is_taken {
        // The output's destructor may ask for the id of its task.
        let scope = context::enter_task(task);
        // SAFETY: 1 and 2.
        unsafe { drop_output::<F>(task) };
        scope.leave();
        // SAFETY: 1: it is the caller's. (Not the last any more, if a destructor could make more.)
        return drop(unsafe { TaskRef::from_raw(task) });
    }
    // SAFETY: 1.
    unsafe { dealloc::<F, T>(task) };
}

/// # Safety
/// `task` is live, was just marked `SCHEDULED` by the caller, and its scheduler
/// is an `S`.
unsafe fn schedule<S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller's promise.
    let scheduler = unsafe { header(task) }.scheduler.cast::<S>();
    // SAFETY: the caller made the entry by its transition.
    let runnable = unsafe { Runnable::new(task) };
    // SAFETY: a scheduler outlives its incomplete tasks, and this task is incomplete for as long as
    // we have its entry. If the shutdown has seized the task, it has left us a count of the
    // scheduler (see `Schedule`).
    if let Err(refused) = unsafe { S::deliver(scheduler, runnable) } {
        // SAFETY: the entry came back, and is still the one of our transition; so what makes the
        // scheduler live above does here.
        unsafe { take_back(scheduler, refused) };
    }
}

/// A wake-up has found its queue closed for good.
///
/// # Safety
/// `task` is of `scheduler`, which is as in [`Schedule::deliver`], and its entry comes from the
/// caller's transition.
pub(crate) unsafe fn take_back<S: Schedule>(scheduler: *const S, refused: Runnable) {
    let task = Linked::into_link(refused).cast::<Header>();
    // SAFETY: it was this entry just now.
    match unsafe { Runnable::new(task) }.undeliver() {
        Undeliver::Reverted => {}
        Undeliver::Seized => {
            // SAFETY: `State::seize` left this reference for the entry.
            drop(unsafe { TaskRef::from_raw(task) });
            // SAFETY: the shutdown, which has seized the task, left this count for us.
            unsafe { Arc::decrement_strong_count(scheduler) };
        }
    }
}

/// # Safety
/// As for [`schedule`], and the task has notes.
unsafe fn schedule_noted<S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller's promise: by its transition, it owes the entry.
    unsafe { notes::set_runnable(task) };
    // SAFETY: the caller's promise.
    unsafe { schedule::<S>(task) };
}
