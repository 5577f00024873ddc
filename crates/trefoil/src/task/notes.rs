//! Tasks that are looked at: by the hooks of their runtime, by its histograms, or for stalls.
//!
//! Such a task has [`Notes`] at its end, and a vtable whose functions are in this file. For all
//! other tasks, the cost is one branch when they are spawned.

use super::header::{Header, Trailer, Vtable, header};
use super::hooks::{TaskHooks, TaskMeta, call};
use crate::context;
use crate::primitives::UnsafeCell;
use crate::scheduler::Handle;
use crate::scheduler::stalls::Subject;
use std::mem::offset_of;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// Where a task comes from, for those who look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    at: &'static Location<'static>,
    name: Option<&'a str>,
}

impl<'a> Origin<'a> {
    /// The caller of the function that calls this, if both are marked so.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here(name: Option<&'a str>) -> Self {
        Self { at: Location::caller(), name }
    }

    #[cfg(feature = "actor")]
    pub(crate) fn at(at: &'static Location<'static>, name: Option<&'a str>) -> Self {
        Self { at, name }
    }
}

/// What is noted of a task that is looked at.
#[derive(Debug)]
pub(crate) struct Notes {
    is_measured: bool,
    /// Its runtime reports stalls.
    is_watched: bool,
    hooks: Option<Arc<TaskHooks>>,
    spawned_at: &'static Location<'static>,
    /// Only hooks ask for it.
    name: Option<Box<str>>,
}

impl Notes {
    #[cold]
    pub(crate) fn new(
        origin: Origin<'_>,
        is_measured: bool,
        hooks: Option<&Arc<TaskHooks>>,
    ) -> Self {
        Self {
            is_measured,
            is_watched: false,
            hooks: hooks.cloned(),
            spawned_at: origin.at,
            name: hooks.and(origin.name).map(Box::from),
        }
    }

    pub(crate) fn watched(self, is_watched: bool) -> Self {
        Self { is_watched, ..self }
    }

    /// Enters the task's runtime until the guard is dropped, if there are hooks: for the time in
    /// which the task is made and maybe refused, on a thread that may be in any runtime or in none.
    #[cold]
    pub(crate) fn enter_for_hooks(&self, runtime: &Handle) -> Option<context::HandleGuard> {
        if self.hooks.is_some() { context::enter_handle_if_outside(runtime) } else { None }
    }
}

/// The trailer of a task with notes.
#[derive(Debug)]
#[repr(C)]
pub(super) struct NotedTrailer {
    /// First, so that code that does not know of the notes finds the trailer.
    trailer: Trailer,
    noted: Noted,
}

#[derive(Debug)]
struct Noted {
    notes: Notes,
    /// When the task was last made runnable. Belongs to the holder of the queue entry or of the
    /// right to the future; there is at most one of them.
    runnable_since: UnsafeCell<Instant>,
    /// The vtable that the task would have without notes.
    plain: &'static Vtable,
}

/// The place of a task's notes.
///
/// # Safety
/// `task` is live, and was allocated with room for a [`NotedTrailer`].
unsafe fn place(task: NonNull<Header>) -> NonNull<Noted> {
    // SAFETY: the caller's promise.
    let trailer = unsafe { header(task) }.vtable.trailer_offset;
    // SAFETY: the trailer is where its offset says, and by the caller's promise,
    // the notes behind it are inside of the same allocation.
    unsafe { task.byte_add(trailer + offset_of!(NotedTrailer, noted)) }.cast()
}

/// Gives a new task, which is about to be queued, its notes, and calls the hook of its spawn.
///
/// # Safety
/// 1. As for [`place`].
/// 2. Nobody else knows the task.
/// 3. `plain` would serve it if it had no notes.
#[cold]
#[inline(never)]
pub(super) unsafe fn init(task: NonNull<Header>, notes: Notes, plain: &'static Vtable) {
    let noted = Noted { notes, runnable_since: UnsafeCell::new(Instant::now()), plain };
    // SAFETY: 1.
    let place = unsafe { place(task) };
    // SAFETY: 2: no other thread accesses the place. It holds no value yet.
    unsafe { place.write(noted) };
    // SAFETY: live by 1, and just written.
    let noted = unsafe { noted_of(task) };
    if let Some(hooks) = &noted.notes.hooks {
        call(&hooks.spawn, &noted.meta(task));
    }
}

/// # Safety
/// `task` is live, and has notes.
unsafe fn noted_of<'a>(task: NonNull<Header>) -> &'a Noted {
    // SAFETY: the caller's promise.
    let place = unsafe { place(task) };
    // SAFETY: the task is live and has notes, which `init` has filled. What changes is in a cell.
    unsafe { place.as_ref() }
}

impl Noted {
    /// `task` is the one whose notes these are.
    fn meta(&self, task: NonNull<Header>) -> TaskMeta<'_> {
        let notes = &self.notes;
        TaskMeta {
            id: super::id_of(task),
            spawned_at: notes.spawned_at,
            name: notes.name.as_deref(),
        }
    }
}

/// Notes that a task is made runnable now.
///
/// # Safety
/// 1. As for [`noted_of`].
/// 2. The caller owes the task's queue entry.
pub(super) unsafe fn set_runnable(task: NonNull<Header>) {
    // SAFETY: 1.
    let noted = unsafe { noted_of(task) };
    if !noted.notes.is_measured {
        return;
    }
    noted.runnable_since.with_mut(|since| {
        // SAFETY: 2: until the entry is delivered, the cell is the caller's.
        unsafe { *since = Instant::now() }
    });
}

/// Polls a task, and tells those who look for stalls whose poll it is.
///
/// # Safety
/// 1. As for [`noted_of`].
/// 2. As for the `poll` of the task's plain vtable.
pub(super) unsafe fn poll(task: NonNull<Header>, cx: &mut Context<'_>) -> Poll<()> {
    // SAFETY: 1.
    let noted = unsafe { noted_of(task) };
    // SAFETY: 1 and 2.
    watched(noted, task, || unsafe { poll_with_hooks(noted, task, cx) })
}

/// Calls a function, and tells those who look for stalls on whose behalf. `noted` are the notes of
/// `task`.
#[inline(always)]
fn watched<R>(noted: &Noted, task: NonNull<Header>, f: impl FnOnce() -> R) -> R {
    if !noted.notes.is_watched {
        return f();
    }
    let subject = Subject { id: super::id_of(task), spawned_at: noted.notes.spawned_at };
    let outer = context::with(|context| context.worker()?.begin_watch(subject));
    let result = f();
    context::with(|context| {
        if let (Some(worker), Some(outer)) = (context.worker(), outer) {
            worker.end_watch(outer);
        }
    });
    result
}

/// Polls a task between the calls of its runtime's hooks. All of them are called within the poll:
/// like the future, they may give the worker's state away. Only the first may not: the poll of a
/// fiber that begins binds the task to the thread, which it can if the task is on no list yet.
///
/// # Safety
/// 1. `noted` are the notes of `task`.
/// 2. As for the `poll` of the task's plain vtable.
unsafe fn poll_with_hooks(noted: &Noted, task: NonNull<Header>, cx: &mut Context<'_>) -> Poll<()> {
    let Some(hooks) = &noted.notes.hooks else {
        if noted.notes.is_measured {
            // SAFETY: 1 and 2.
            return unsafe { poll_measured(noted, task, cx) };
        }
        // SAFETY: 2.
        return unsafe { (noted.plain.poll)(task, cx) };
    };
    context::keep_state(|| call(&hooks.before_poll, &noted.meta(task)));
    // An earlier task may have had this one's address.
    context::with(|context| context.panicked.set(None));
    let polled = if noted.notes.is_measured {
        // SAFETY: 1 and 2.
        unsafe { poll_measured(noted, task, cx) }
    } else {
        // SAFETY: 2.
        unsafe { (noted.plain.poll)(task, cx) }
    };
    // Not another one, which the future has polled: of a set within the task, for example.
    if context::with(|context| context.panicked.get()) == Some(task) {
        hooks.task_panicked();
    }
    call(&hooks.after_poll, &noted.meta(task));
    if polled.is_ready() {
        // Whoever joins the task is woken afterwards.
        call(&hooks.terminate, &noted.meta(task));
    }
    polled
}

/// Drops a task's future, and calls the hook of its end.
///
/// # Safety
/// 1. As for [`noted_of`].
/// 2. As for the `cancel` of the task's plain vtable.
pub(super) unsafe fn cancel(task: NonNull<Header>) {
    // SAFETY: 1.
    let noted = unsafe { noted_of(task) };
    // SAFETY: 2.
    watched(noted, task, || unsafe { (noted.plain.cancel)(task) });
    if let Some(hooks) = &noted.notes.hooks {
        call(&hooks.terminate, &noted.meta(task));
    }
}

/// Polls a task, and has this thread's worker record how long the task waited and how long the poll
/// took.
///
/// # Safety
/// 1. `noted` are the notes of `task`, which is measured.
/// 2. As for the `poll` of the task's plain vtable.
unsafe fn poll_measured(noted: &Noted, task: NonNull<Header>, cx: &mut Context<'_>) -> Poll<()> {
    let since = noted.runnable_since.with(|since| {
        // SAFETY: 2: the caller holds the right to the future.
        unsafe { *since }
    });
    context::with(|context| {
        // Taken before the poll, which may give the worker's state away.
        let times = context.counters().and_then(|counters| counters.times.as_deref());
        let started = Instant::now();
        if let Some(times) = times {
            times.record_schedule_latency(started.saturating_duration_since(since));
        }
        // SAFETY: 2.
        let polled = unsafe { (noted.plain.poll)(task, cx) };
        let ended = Instant::now();
        if let Some(times) = times {
            times.record_poll_time(ended.saturating_duration_since(started));
        }
        // A task that has yielded or was woken during its poll is queued when the poll is over,
        // without a call of `set_runnable`.
        noted.runnable_since.with_mut(|since| {
            // SAFETY: 2: the right is still the caller's.
            unsafe { *since = ended }
        });
        polled
    })
}
