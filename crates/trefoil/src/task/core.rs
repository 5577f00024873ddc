//! Owning pointers to tasks, and what a worker does with one.

#[cfg(all(feature = "fiber", unix, not(loom)))]
use super::header::PLACE_SHIFT;
use super::header::{HOSTS, Header, MOST_HOSTS, NO_HOME, header, trailer};
use super::list::OwnedTasks;
use super::state::{Complete, Idle, Seize, Start, State, Undeliver};
use super::{Id, waker};
use crate::context;
#[cfg(all(feature = "fiber", unix, not(loom)))]
use crate::fiber::{Inside, Resumed};
use crate::queue::{Link, Linked};
use crate::scheduler::multi;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, Waker};

/// Where tasks go when they are woken.
///
/// A task names its scheduler by a plain pointer, so that spawning touches no shared count. This is
/// sound because the runtime completes all its tasks before it gives up its own `Arc`. For each
/// task that has a wake in flight at that moment, it leaves the waker a count (see
/// `task/README.md`).
pub(crate) trait Schedule: Send + Sync + Sized + 'static {
    /// A delivery calls no foreign code, and may wait for others of a burst (`multi::Burst`).
    const JOINS_BURSTS: bool = false;

    /// Brings a task to a queue.
    ///
    /// # Errors
    /// The queue is closed for good; the entry is returned.
    ///
    /// # Safety
    /// `this` came from `Arc::as_ptr`, and is live until `task` is queued. It need not be live any
    /// longer.
    unsafe fn deliver(this: *const Self, task: Runnable) -> Result<(), Runnable>;
}

/// A queue entry: the obligation to run (or cancel) a task, together with the
/// runtime's reference to it.
#[derive(Debug)]
#[must_use = "a queue entry that is dropped is a task that never runs again"]
#[repr(transparent)]
pub(crate) struct Runnable(NonNull<Header>);

// SAFETY: only the consumers of the queues run, cancel or drop the future of an entry. Whether they
// may be on other threads is decided where tasks are made: see `raw::allocate`.
unsafe impl Send for Runnable {}

// SAFETY: the link is the first field of the `repr(C)` header, so the pointer to one is the pointer
// to the other, and leads back to the same entry (3). The entry carries a reference that keeps the
// header live (1). A task has one entry at most (4), and only a queue accesses the link (2).
unsafe impl Linked for Runnable {
    #[inline(always)]
    fn into_link(self) -> NonNull<Link> {
        self.0.cast()
    }

    #[inline(always)]
    unsafe fn from_link(link: NonNull<Link>) -> Self {
        Self(link.cast())
    }
}

/// A task that completed on another worker than its home, together with the runtime's reference to
/// it. It is sent to its home, which reaps it.
#[derive(Debug)]
#[must_use = "a completed task that is dropped stays on its list, and leaks"]
#[repr(transparent)]
pub(crate) struct CompletedTask(NonNull<Header>);

// SAFETY: two things are left to do with the task. Only the owner of its list unlinks it (`reap`),
// and any thread may give up a reference.
unsafe impl Send for CompletedTask {}

// SAFETY: the link is the first field of the `repr(C)` header, so the pointer to
// one is the pointer to the other, and leads back to the same task (3). The
// reference that comes along keeps the header live (1). A task completes once,
// and is in no other queue from then on (2, 4).
unsafe impl Linked for CompletedTask {
    #[inline(always)]
    fn into_link(self) -> NonNull<Link> {
        self.0.cast()
    }

    #[inline(always)]
    unsafe fn from_link(link: NonNull<Link>) -> Self {
        Self(link.cast())
    }
}

impl CompletedTask {
    /// Takes the task off the list, and gives up its reference.
    ///
    /// # Safety
    /// The task was passed to [`Home::send_home`] for the worker that owns `tasks`.
    pub(crate) unsafe fn reap(self, tasks: &OwnedTasks) {
        // SAFETY: the caller's promise; what `finish` sends is complete, on the
        // list of its home, and comes with the runtime's reference.
        unsafe { tasks.reap(self.0) };
    }
}

/// A counted reference to a task.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct TaskRef(NonNull<Header>);

// SAFETY: a reference gives access only to the state word, the id and, for the join handle, the
// output, which the handle's own bounds guard.
unsafe impl Send for TaskRef {}
// SAFETY: the state word is atomic, the id never changes, and the join handle's
// bounds guard the output.
unsafe impl Sync for TaskRef {}

/// The state of a task after a worker has run it.
#[derive(Debug)]
#[must_use]
pub(crate) enum Ran {
    /// It is complete or at rest.
    Off,
    /// It was woken while it ran, and is to be queued.
    Woken(Runnable),
    /// It has yielded, and is to be queued behind all others.
    Yielded(Runnable),
}

/// What a task asks of the worker that runs it.
pub(crate) trait Home {
    /// The index of this worker, unique in its scheduler.
    fn index(&self) -> u32;
    /// The list of tasks at rest whose home is this worker.
    fn tasks(&self) -> &OwnedTasks;
    /// The list that a task is to be put on which is pinned to that worker or host, if any; and
    /// that list's home.
    #[inline(always)]
    fn home_of(&self, _pinned: u32) -> (&OwnedTasks, u32) {
        (self.tasks(), self.index())
    }
    /// The list of that home, if it is here.
    #[inline(always)]
    fn list_of(&self, home: u32) -> Option<&OwnedTasks> {
        (home == self.index()).then(|| self.tasks())
    }
    /// Sends a completed task to its home.
    fn send_home(&self, home: u32, task: CompletedTask);
    /// Counts a task that ends on this worker.
    fn count_end(&self) {}
    /// Wakes whoever waits for a task that has just completed.
    fn wake_joiner(&self, joiner: Waker) {
        wake_guarded(joiner);
    }
}

impl Runnable {
    /// # Safety
    /// 1. The task is live, and the caller owes it a queue entry.
    /// 2. The runtime's reference to it comes along.
    #[inline(always)]
    pub(super) unsafe fn new(task: NonNull<Header>) -> Self {
        Self(task)
    }

    #[inline(always)]
    fn state(&self) -> &State {
        // SAFETY: the entry's reference keeps the task live.
        &unsafe { header(self.0) }.state
    }

    pub(super) fn undeliver(self) -> Undeliver {
        self.state().undeliver()
    }

    pub(crate) fn id(&self) -> Id {
        // SAFETY: the entry's reference keeps the task live.
        unsafe { trailer(self.0) }.id
    }

    /// The worker to which the task is pinned, or the host to which it is bound, if it is.
    #[inline]
    pub(crate) fn pinned_to(&self) -> Option<u32> {
        let pinned = pinned(self.0);
        (pinned != NO_HOME).then_some(pinned)
    }

    /// Polls the task once, and completes it or puts it to rest.
    #[inline]
    pub(crate) fn run(self, worker: &impl Home) -> Ran {
        match self.start(worker) {
            Some(started) => started.run_started(worker),
            None => Ran::Off,
        }
    }

    /// Takes the right to the future. `None` if the task was cancelled, which it is then.
    #[inline(always)]
    fn start(self, worker: &impl Home) -> Option<Self> {
        match self.state().start() {
            Start::Poll => Some(self),
            Start::Cancel => {
                self.cancel_started(worker);
                None
            }
        }
    }

    /// The caller has the right to the future, by `start`.
    #[inline(always)]
    fn run_started(self, worker: &impl Home) -> Ran {
        let task = self.0;
        // SAFETY: the entry's reference keeps the task live.
        let header = unsafe { header(task) };
        // SAFETY: the task stays live until `finish` or `idle`, below.
        let waker = unsafe { waker::borrowed(task) };
        let scope = context::enter_task(task);
        // SAFETY: `start` gave us the right to the future. The future was not dropped yet, because
        // the task would be complete then, and in no queue.
        let polled = unsafe { (header.vtable.poll)(task, &mut Context::from_waker(&waker)) };
        let yielded = scope.leave();
        if polled.is_ready() {
            finish(task, worker);
            return Ran::Off;
        }
        if yielded {
            // The entry takes the right to the future along: no transition. It does not rest, and
            // needs no home yet.
            return Ran::Yielded(self);
        }
        settle(task, worker);
        match header.state.idle() {
            Idle::Parked => Ran::Off,
            Idle::Rescheduled => Ran::Woken(self),
        }
    }

    /// The fiber of a bound task, if nobody is to see its polls: what [`resume`](Self::resume)
    /// takes.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[inline(always)]
    pub(crate) fn fiber(&self) -> Option<NonNull<Inside>> {
        let pinned = raw_pinned(self.0);
        if pinned < HOSTS || pinned == NO_HOME {
            return None;
        }
        let place = (pinned & !HOSTS) >> PLACE_SHIFT;
        if place == 0 {
            return None;
        }
        // SAFETY: `bind` has found the place inside of the task, of which the pointer is.
        let place = unsafe { self.0.byte_add(place as usize * PLACE_UNIT) };
        // SAFETY: the promise of `bind`'s caller. The task is bound and not complete, and only its
        // host, which is this thread, writes there, in polls.
        Some(unsafe { place.cast::<NonNull<Inside>>().read() })
    }

    /// As [`run`](Self::run), for a task with such a fiber: all that a poll of it comes to, and no
    /// more than that.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[inline(always)]
    pub(crate) fn resume(self, fiber: NonNull<Inside>, worker: &impl Home) -> Ran {
        let Some(started) = self.start(worker) else { return Ran::Off };
        // SAFETY: it is this task's, and lives at least as long as the future, the right to which
        // is ours.
        match unsafe { fiber.as_ref() }.resume_in_task() {
            Resumed::Yielded => Ran::Yielded(started),
            Resumed::Waits => {
                settle(started.0, worker);
                match started.state().idle() {
                    Idle::Parked => Ran::Off,
                    Idle::Rescheduled => Ran::Woken(started),
                }
            }
            // The poll finds the fiber ended, and completes the task.
            Resumed::Ended => started.run_started(worker),
        }
    }

    /// Drops the future instead of polling it.
    pub(crate) fn cancel(self, worker: &impl Home) {
        // Whatever `start` returns, the right to the future is ours now.
        let (Start::Poll | Start::Cancel) = self.state().start();
        self.cancel_started(worker);
    }

    /// At the runtime's end: cancels the task. Returns it if it has to be run instead, since it is
    /// shielded, and ends by itself.
    pub(crate) fn cancel_unless_shielded(self, worker: &impl Home) -> Option<Self> {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        if self.state().is_shielded() {
            // The entry is this one.
            let _ = self.state().cancel();
            return Some(self);
        }
        self.cancel(worker);
        None
    }

    fn cancel_started(self, worker: &impl Home) {
        let task = self.0;
        // SAFETY: the entry's reference keeps the task live.
        let vtable = unsafe { header(task) }.vtable;
        // A destructor may ask which task it is in.
        let scope = context::enter_task(task);
        // SAFETY: `start` gave us the right to the future.
        unsafe { (vtable.cancel)(task) };
        scope.leave();
        finish(task, worker);
    }
}

/// Puts the task that this thread is polling, or has just polled, on the list of its home, if it is
/// on none: it rests, or its poll may go on without the worker's state.
#[inline]
pub(crate) fn settle(task: NonNull<Header>, worker: &impl Home) {
    if home_of(task) == NO_HOME {
        settle_first(task, worker);
    }
}

/// Once for each task that rests. A call of its own, so that other polls are the shorter.
#[inline(never)]
fn settle_first(task: NonNull<Header>, worker: &impl Home) {
    let (tasks, home) = worker.home_of(pinned(task));
    // SAFETY: the caller of `settle` holds the right to the future, so the task is live. It is on
    // no list, and stays live until `finish`, which takes it off.
    unsafe { tasks.insert(task, home) };
}

/// The unit of the place of a fiber, which every pointer's address is a multiple of.
#[cfg(all(feature = "fiber", unix, not(loom)))]
const PLACE_UNIT: usize = align_of::<NonNull<Inside>>();

/// Binds the task that this thread is polling for the first time to a host, which alone runs it
/// from here on.
///
/// The task remembers where in its memory the pointer to its fiber is, so that the host finds that
/// without knowing the future's type: the number of units from the header, in the bits between the
/// host's and that of [`HOSTS`]. It is 0 if the place is further away than they can say, or if the
/// task has notes: such a task is always polled.
///
/// # Safety
/// 1. The caller is inside of the task's poll. The task is of a scheduler that has this host, it
///    was not pinned, and it is on no list.
/// 2. `fiber` is a place in the task's own future, and stays where it is, with the pointer to the
///    task's fiber in it, until the task is complete.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) unsafe fn bind(task: NonNull<Header>, host: u32, fiber: *const NonNull<Inside>) {
    debug_assert!((HOSTS..HOSTS + MOST_HOSTS).contains(&host));
    debug_assert_eq!(home_of(task), NO_HOME);
    // Not all of the bits, which would make a `NO_HOME` of some host.
    const MOST: usize = (HOSTS >> PLACE_SHIFT) as usize - 2;
    // SAFETY: being polled keeps a task live.
    let has_notes = unsafe { header(task) }.vtable.has_notes;
    let place = (fiber.addr() - task.addr().get()) / PLACE_UNIT;
    let place = if has_notes || place > MOST { 0 } else { place as u32 };
    let host = host | place << PLACE_SHIFT;
    // SAFETY: being polled keeps a task live.
    let trailer = unsafe { trailer(task) };
    trailer.pinned.with_mut(|pinned| {
        // SAFETY: the right to the future is this thread's, and there is no queue entry: whoever
        // makes one takes note of the end of this poll first (`State::idle`).
        unsafe { *pinned = host }
    });
}

/// The state of a task whose poll this thread is in: what a fiber may do with its own.
///
/// # Safety
/// The caller is inside of the task's poll, or of the drop of its future.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) unsafe fn own_state<'a>(task: NonNull<Header>) -> &'a State {
    // SAFETY: being polled or dropped keeps a task live.
    &unsafe { header(task) }.state
}

/// The worker to which the task is pinned, the host to which it is bound, or `NO_HOME`.
///
/// Only for the holder of the right to the future, or of the queue entry.
#[inline(always)]
fn pinned(task: NonNull<Header>) -> u32 {
    let pinned = raw_pinned(task);
    if pinned < HOSTS || pinned == NO_HOME {
        return pinned;
    }
    pinned & (HOSTS | (MOST_HOSTS - 1))
}

/// The same, with the place of the task's fiber.
#[inline(always)]
fn raw_pinned(task: NonNull<Header>) -> u32 {
    // SAFETY: either keeps the task live.
    let trailer = unsafe { trailer(task) };
    trailer.pinned.with(|pinned| {
        // SAFETY: it is only written by `bind`, by the holder of the right to the future, while
        // there is no entry.
        unsafe { *pinned }
    })
}

/// Whether the task that this thread is inside of belongs to `scheduler` and has not ended yet. If
/// it has ended, only the destructor of its output is running.
pub(crate) fn is_under_way<S: Schedule>(task: NonNull<Header>, scheduler: *const S) -> bool {
    // SAFETY: being polled or dropped keeps a task live.
    let header = unsafe { header(task) };
    ptr::eq(header.scheduler, scheduler.cast()) && !header.state.is_complete()
}

fn home_of(task: NonNull<Header>) -> u32 {
    // SAFETY: only called with the right to the future, which keeps it live.
    let trailer = unsafe { trailer(task) };
    trailer.home.with(|home| {
        // SAFETY: the holder of the right to the future may read it.
        unsafe { *home }
    })
}

/// Completes a task whose output was just stored.
fn finish(task: NonNull<Header>, worker: &impl Home) {
    // SAFETY: the runtime's reference, which the caller got with the entry,
    // keeps the task live until it is given up below.
    let header = unsafe { header(task) };
    let home = home_of(task);
    let here = worker.list_of(home);
    let elsewhere = home != NO_HOME && here.is_none();
    if let Some(tasks) = here {
        // SAFETY: its home is here, so it is on this list.
        unsafe { tasks.remove(task) };
    }
    worker.count_end();
    match header.state.complete(elsewhere) {
        Complete::Released => {}
        outcome => finish_kept(task, worker, home, elsewhere, outcome),
    }
}

/// What is left to do for a task that is complete, and whose reference was not given up.
#[inline(never)]
fn finish_kept(
    task: NonNull<Header>,
    worker: &impl Home,
    home: u32,
    elsewhere: bool,
    outcome: Complete,
) {
    // SAFETY: the runtime's reference keeps the task live until it is given up below.
    let header = unsafe { header(task) };
    match outcome {
        Complete::Released | Complete::Keep => {}
        Complete::WakeJoiner => {
            // SAFETY: live as above.
            let trailer = unsafe { trailer(task) };
            let joiner = trailer.join_waker.with_mut(|cell| {
                // SAFETY: `JOIN_WAKER` was set, so the cell belongs to us, the completing side.
                unsafe { Option::take(&mut *cell) }
            });
            if let Some(joiner) = joiner {
                worker.wake_joiner(joiner);
            }
        }
        Complete::DropOutput => {
            let scope = context::enter_task(task);
            // SAFETY: nobody will join, so the output belongs to the completing side.
            unsafe { (header.vtable.drop_output)(task) };
            scope.leave();
        }
    }
    if elsewhere {
        // The runtime's reference goes with it.
        worker.send_home(home, CompletedTask(task));
    } else {
        // SAFETY: the runtime's reference, given up exactly here.
        drop(unsafe { TaskRef::from_raw(task) });
    }
}

/// Aborts all tasks on a worker's list. Some of them may be queued or be running elsewhere.
pub(crate) fn abort_all(worker: &impl Home) {
    // All references are taken first, because aborting may run foreign code.
    worker.tasks().all().iter().for_each(TaskRef::abort);
}

/// Cancels all tasks on a worker's list. The scheduler has closed and emptied its queues, and no
/// thread polls its tasks any more.
pub(crate) fn cancel_all<S: Schedule>(scheduler: &Arc<S>, worker: &impl Home) {
    while let Some(task) = worker.tasks().first() {
        // SAFETY: what is on the list is live.
        let header = unsafe { header(task) };
        // A count for the waker, in case the task has a wake in flight. It has to be there before
        // the waker can see `SEIZED`.
        std::mem::forget(Arc::clone(scheduler));
        let is_with_waker = match header.state.seize() {
            Seize::Taken => false,
            Seize::TakenFromWaker => true,
            Seize::Busy => unreachable!("a task ran on after its runtime's end"),
        };
        if !is_with_waker {
            // SAFETY: the count that was added above.
            unsafe { Arc::decrement_strong_count(Arc::as_ptr(scheduler)) };
        }
        let scope = context::enter_task(task);
        // SAFETY: `seize` gave us the right to the future.
        unsafe { (header.vtable.cancel)(task) };
        scope.leave();
        finish(task, worker);
    }
}

impl TaskRef {
    /// # Safety
    /// The task is live.
    pub(super) unsafe fn share(task: NonNull<Header>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { header(task) }.state.add_ref();
        Self(task)
    }

    /// # Safety
    /// The caller owns one reference to the live task, and gives it up.
    #[inline(always)]
    pub(super) unsafe fn from_raw(task: NonNull<Header>) -> Self {
        Self(task)
    }

    #[inline(always)]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: the reference keeps the task live.
        unsafe { header(self.0) }
    }

    pub(super) fn as_ptr(&self) -> NonNull<Header> {
        self.0
    }

    pub(super) fn id(&self) -> Id {
        // SAFETY: the reference keeps the task live.
        unsafe { trailer(self.0) }.id
    }

    /// Asks the task to stop; see `AbortHandle::abort`.
    pub(super) fn abort(&self) {
        let header = self.header();
        match header.state.cancel() {
            super::state::Wake::Schedule => {
                // SAFETY: the transition made us owe this queue entry.
                unsafe { (header.vtable.schedule)(self.0) }
            }
            super::state::Wake::Nothing => {}
        }
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        // SAFETY: our own reference keeps the task live.
        unsafe { Self::share(self.0) }
    }
}

impl Drop for TaskRef {
    #[inline]
    fn drop(&mut self) {
        let header = self.header();
        let vtable = header.vtable;
        if header.state.unref() {
            // SAFETY: that was the last reference.
            unsafe { (vtable.dealloc)(self.0) };
        }
    }
}

/// Wakes, and stops a panic of the waker, which is foreign code.
pub(crate) fn wake_guarded(waker: Waker) {
    try_wake(waker, discard);
}

/// As `wake_guarded`, for a waker that is used by reference.
pub(crate) fn wake_by_ref_guarded(waker: &Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake_by_ref())) {
        discard(payload);
    }
}

/// As `wake_guarded`, for one that passes a panic on.
pub(crate) fn try_wake(waker: Waker, on_panic: impl FnOnce(Box<dyn Any + Send>)) {
    // No state of ours is inconsistent after a panic, and its message was printed.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        on_panic(payload);
    }
}

/// Wakes all, in their order, and stops their panics; `on_panic` must not panic. Called on a thread
/// that is no worker, tasks come to their queue together, as a burst. Wakers that are not of tasks
/// are foreign code, which may wait for what was woken before: no burst is open then.
pub(crate) fn wake_all(
    wakers: impl Iterator<Item = Waker>,
    mut on_panic: impl FnMut(Box<dyn Any + Send>),
) {
    let burst = multi::Burst::default();
    let _opened = context::open_burst(&burst);
    for waker in wakers {
        if waker::joins_bursts(&waker) {
            try_wake(waker, &mut on_panic);
        } else {
            burst.end();
            context::without_burst(|| try_wake(waker, &mut on_panic));
        }
    }
}

/// Drops a panic's payload, whose destructor may panic in turn.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // The payload of that panic could panic in turn, and so on.
        std::mem::forget(another);
    }
}

/// The id of a task that this thread is inside of.
pub(crate) fn id_of(task: NonNull<Header>) -> Id {
    // SAFETY: being polled or dropped keeps a task live.
    unsafe { trailer(task) }.id
}
