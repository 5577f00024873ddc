//! Tasks that stay on one thread, and so need not be `Send`.

use super::hooks::End;
use super::{CompletedTask, Home, JoinHandle, NO_HOME, Notes, Origin, OwnedTasks, Ran, Runnable};
use super::{Schedule, TaskHooks, allocate, cancel_all, wake_guarded};
use crate::context;
use crate::primitives::{Mutex, thread};
use crate::queue::{Fifo, Inbox};
use crate::runtime::UnhandledPanic;
use crate::scheduler::{Handle, Id as SetId, Scheduler, TaskCounters, current};
use crate::task::Id;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// How many tasks are polled before other tasks of the thread get their turn.
const PER_POLL: u32 = 61;

/// A set of tasks that run on the thread that polls the set.
///
/// The tasks are polled while the set is awaited, or while [`run_until`](LocalSet::run_until) is.
/// Dropping the set drops its tasks.
pub struct LocalSet {
    shared: Arc<LocalShared>,
    /// Keeps the set on its thread: it is not `Send`.
    _thread: PhantomData<Rc<()>>,
}

/// The state of a set, and the inbox that wakers on other threads fill.
pub(crate) struct LocalShared {
    id: SetId,
    inbox: Inbox<Runnable>,
    /// Those who poll the set, and are to be woken when it has something to do: all of them,
    /// because any of them may poll it never again.
    listeners: Mutex<Vec<Listener>>,
    /// Counted on the set's thread.
    counters: TaskCounters,
    /// For the set's thread only.
    own: Own,
}

/// Who polls a set.
struct Listener {
    key: u64,
    waker: Waker,
}

/// The key of whoever awaits the set itself, which only one can do at a time.
const AWAITS_SET: u64 = 0;

struct Own {
    queue: RefCell<Fifo<Runnable>>,
    tasks: OwnedTasks,
    is_polling: Cell<bool>,
    /// The set was dropped. Guards may still refer to it.
    is_gone: Cell<bool>,
    /// That of the `LocalRuntime` whose set this is, if it is one's: the hooks are the runtime's,
    /// and are called in its context. The runtime keeps the set, and so the set does not keep it.
    runtime: Weak<current::Shared>,
    /// The runtime keeps histograms.
    is_measured: bool,
    /// The functions that are called for tasks, if there are any.
    hooks: RefCell<Option<Arc<TaskHooks>>>,
    /// Whether the panic of a task has ended the set, whatever hooks it had when the task was
    /// spawned.
    end: End,
    /// The last key that was given to a listener.
    last_key: Cell<u64>,
}

/// The set of a `LocalRuntime`, for the handles to that, which any thread may have.
pub(crate) struct RuntimeSet {
    set: Arc<LocalShared>,
    /// That of the set.
    thread: thread::ThreadId,
}

impl RuntimeSet {
    pub(crate) fn counters(&self) -> &TaskCounters {
        &self.set.counters
    }
}

// SAFETY: `own` is accessed through `LocalSet`, which is not `Send`, or through the thread's
// context, which only refers to sets of that thread: the guards that refer to them are not `Send`
// either, and `RuntimeSet` makes them on that thread alone. The last owner may be a waker or a
// handle on another thread, which then finds `own` empty: a dropped set takes no more tasks.
unsafe impl Send for LocalShared {}
// SAFETY: only the set's thread accesses `own`, for the reasons given for `Send`. The other fields
// are `Sync`.
unsafe impl Sync for LocalShared {}

/// Spawns a task into the current set of local tasks. If that set is being dropped, or was dropped
/// and only a guard of it is left, the task is cancelled at once.
///
/// The destructors of a set's tasks are code of that set, as their polls are.
///
/// # Panics
/// Outside of a [`LocalSet`] and of a [`LocalRuntime`](crate::runtime::LocalRuntime).
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    spawn_local_from(future, Origin::here(None))
}

/// As [`spawn_local`], for a task that comes from there.
///
/// # Panics
/// As that one.
#[track_caller]
pub(super) fn spawn_local_from<F>(future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let spawned = context::with(|context| {
        // Wakers, and the destructor of the future, may drop the set and its guards.
        let _pin = context.pin_locals();
        let local = context.local();
        // SAFETY: pinned.
        unsafe { local.as_ref() }.map(|shared| shared.spawn(local, future, origin))
    });
    match spawned {
        Some(join) => join,
        None if context::with(|context| context.handle().is_some_and(Handle::is_local)) => panic!(
            "Local tasks can only be spawned on a LocalRuntime from the thread the runtime was \
             created on: elsewhere, `spawn` takes futures that are `Send`"
        ),
        None => panic!(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
        ),
    }
}

/// While this guard exists, a set of local tasks is the current one: see [`LocalSet::enter`].
///
/// The guard stays on its thread:
///
/// ```compile_fail,E0277
/// fn is_send(_: impl Send) {}
/// is_send(trefoil::task::LocalSet::new().enter());
/// ```
#[derive(Debug)]
#[must_use = "the set is left again when the guard is dropped"]
pub struct LocalEnterGuard {
    _guard: context::LocalGuard,
}

impl LocalSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::with(None)
    }

    /// The set of a runtime: all its tasks are looked at as those of the runtime are, wherever they
    /// are spawned. A panic that ends one of them ends both.
    pub(crate) fn for_runtime(runtime: &Handle) -> Self {
        Self::with(Some(runtime))
    }

    fn with(runtime: Option<&Handle>) -> Self {
        let hooks = runtime.and_then(|runtime| runtime.common().task_hooks.clone());
        Self {
            shared: Arc::new(LocalShared {
                id: SetId::next(),
                inbox: Inbox::new(),
                listeners: Mutex::new(Vec::new()),
                counters: TaskCounters::default(),
                own: Own {
                    queue: RefCell::default(),
                    tasks: OwnedTasks::default(),
                    is_polling: Cell::new(false),
                    is_gone: Cell::new(false),
                    runtime: runtime.map_or_else(Weak::new, Handle::downgrade),
                    is_measured: runtime.is_some_and(Handle::is_measured),
                    end: hooks.as_ref().map(|hooks| hooks.end.clone()).unwrap_or_default(),
                    hooks: RefCell::new(hooks),
                    last_key: Cell::new(AWAITS_SET),
                },
            }),
            _thread: PhantomData,
        }
    }

    /// Drops all tasks, and cancels further ones, as the panic of a task does that ends the set.
    pub(crate) fn end(&self) {
        // Otherwise the end has begun, and this may be called by a destructor in it.
        if !self.shared.own.is_gone.get() {
            self.shared.cancel_tasks();
        }
    }

    /// This set, for the handles to the runtime whose it is.
    pub(crate) fn of_runtime(&self) -> RuntimeSet {
        RuntimeSet { set: Arc::clone(&self.shared), thread: thread::own_id() }
    }

    /// What happens when a task of the set panics: nothing, by default, beside that its handle says
    /// so.
    ///
    /// With [`UnhandledPanic::ShutdownRuntime`], the set drops all its tasks, whoever polls it
    /// panics, and further tasks are cancelled. What is said here holds for the panics of tasks
    /// that are spawned from now on; for those of earlier tasks, what was said before.
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        let ends = behavior == UnhandledPanic::ShutdownRuntime;
        let end = &self.shared.own.end;
        let hooks = ends.then(|| Arc::new(TaskHooks::for_panics(end.clone())));
        self.shared.own.hooks.replace(hooks);
        self
    }

    /// The set's id. It differs from those of all runtimes and all other sets.
    pub fn id(&self) -> SetId {
        self.shared.id
    }

    /// Makes this the current set, which [`spawn_local`] spawns into, until the guard is dropped.
    ///
    /// Guards may be dropped in any order: the current set is that of the newest guard that is
    /// left. A set that is being polled counts like a guard that was made when the poll began. So a
    /// guard that is held across an `.await` in another set has an effect between the polls, and
    /// none during them. A guard that is leaked has an effect for as long as its thread lives. A
    /// guard does not keep the set's tasks: they are dropped with the set.
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard { _guard: context::enter_local(Arc::clone(&self.shared)) }
    }

    /// Spawns a task into the set. It starts when the set is next polled.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.spawn_from(future, Origin::here(None))
    }

    /// As [`spawn_local`](Self::spawn_local), for a task that comes from there.
    pub(super) fn spawn_from<F>(&self, future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.shared.spawn(Arc::as_ptr(&self.shared), future, origin)
    }

    /// Runs `future` and the set's tasks, until `future` is done. The tasks that are left wait
    /// until the set is polled again.
    ///
    /// # Cancellation safety
    /// As that of `future`. The set's tasks stay in the set.
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let polls = Polls::begin(&self.shared);
        poll_fn(|cx| {
            self.shared.listen(polls.key, cx.waker());
            self.shared.with(|| {
                self.shared.end_after_panic();
                if let Poll::Ready(output) = future.as_mut().poll(cx) {
                    return Poll::Ready(output);
                }
                if self.shared.poll_tasks() {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            })
        })
        .await
    }
}

impl Default for LocalSet {
    fn default() -> Self {
        Self::new()
    }
}

/// Resolves when all tasks of the set are done.
impl Future for LocalSet {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.listen(AWAITS_SET, cx.waker());
        self.shared.with(|| {
            if self.shared.poll_tasks() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if self.shared.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        self.shared.cancel_tasks();
    }
}

impl RuntimeSet {
    /// As [`LocalSet::enter`], if this is the set's thread.
    pub(crate) fn enter(&self) -> Option<LocalEnterGuard> {
        (thread::own_id() == self.thread)
            .then(|| LocalEnterGuard { _guard: context::enter_local(Arc::clone(&self.set)) })
    }
}

fn take_out(listeners: &mut Vec<Listener>, key: u64) -> Option<Listener> {
    let index = listeners.iter().position(|listener| listener.key == key)?;
    Some(listeners.swap_remove(index))
}

/// Somebody who polls a set beside others. It listens until this is dropped.
struct Polls<'a> {
    shared: &'a LocalShared,
    key: u64,
}

impl<'a> Polls<'a> {
    fn begin(shared: &'a LocalShared) -> Self {
        let key = shared.own.last_key.get() + 1;
        shared.own.last_key.set(key);
        Self { shared, key }
    }
}

impl Drop for Polls<'_> {
    fn drop(&mut self) {
        let listener = take_out(&mut self.shared.listeners.lock(), self.key);
        // Foreign code, and so after the lock.
        drop(listener);
    }
}

impl LocalShared {
    /// Calls `f` as code of this set, which the calling thread polls or drops.
    fn with<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        // SAFETY: this thread polls or drops the set, so the set is this thread's. The caller has a
        // reference.
        unsafe { context::with_local(Arc::as_ptr(self), f) }
    }

    /// Cancels all tasks, and refuses further ones.
    fn cancel_tasks(self: &Arc<Self>) {
        self.own.is_gone.set(true);
        // Destructors are code of this set, as the polls were. Tasks that they wake find the inbox
        // closed, and those that they spawn are cancelled.
        self.with(|| {
            let mut queued = self.inbox.close();
            queued.append(&mut self.own.queue.borrow_mut());
            queued.drain(|task| task.cancel(&**self));
            cancel_all(self, &**self);
        });
    }

    /// # Panics
    /// If a task has panicked whose panic ends the set.
    fn end_after_panic(self: &Arc<Self>) {
        if self.own.end.has_begun() {
            // Inside of one of the set's own tasks, the others are cancelled by whoever polls that
            // one, which this panic reaches by way of it.
            if !self.own.is_polling.get() {
                self.cancel_tasks();
            }
            panic!(
                "a spawned task panicked and the LocalSet is configured to shutdown on unhandled \
                 panic"
            );
        }
    }

    /// `this` is `self`, from `Arc::as_ptr`.
    fn spawn<F>(&self, this: *const Self, future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let is_measured = self.own.is_measured
            || context::with(|context| context.handle().is_some_and(Handle::is_measured));
        // A hook, which is called for the new task, may use the set.
        let hooks = self.own.hooks.borrow().clone();
        let is_observed = is_measured || hooks.is_some();
        let notes = is_observed.then(|| Notes::new(origin, is_measured, hooks.as_ref()));
        let _context = notes.as_ref().and_then(|notes| {
            let scheduler = Scheduler::Current(self.own.runtime.upgrade()?);
            notes.enter_for_hooks(&Handle { scheduler })
        });
        let (task, join) = allocate(future, this, Id::next(), NO_HOME, notes, None);
        self.counters.spawned.add(1);
        if self.own.is_gone.get() {
            task.cancel(self);
        } else {
            self.push(task);
        }
        join
    }

    /// Queues a task. Called on the set's own thread, while the set exists.
    fn push(&self, task: Runnable) {
        self.own.queue.borrow_mut().push_back(task);
        if !self.own.is_polling.get() {
            self.wake();
        }
    }

    /// Queues a task. Called on any thread.
    fn send(&self, task: Runnable) -> Result<(), Runnable> {
        let was_empty = self.inbox.push(task)?;
        if was_empty {
            self.wake();
        }
        Ok(())
    }

    /// Has the set polled.
    fn wake(&self) {
        let mut listeners = self.listeners.lock();
        let newest = listeners.pop();
        // There is hardly ever another one, so the memory stays for the next.
        let others =
            if listeners.is_empty() { Vec::new() } else { std::mem::take(&mut *listeners) };
        drop(listeners);
        // A panic of one must not keep the others from being woken.
        newest.into_iter().chain(others).for_each(|listener| wake_guarded(listener.waker));
    }

    /// Has `waker` woken for tasks that are sent from now on. The caller checks afterwards for
    /// tasks that were sent before.
    fn listen(&self, key: u64, waker: &Waker) {
        let is_same = self
            .listeners
            .lock()
            .iter()
            .any(|listener| listener.key == key && listener.waker.will_wake(waker));
        if !is_same {
            // Cloning and dropping a waker is foreign code, so it happens outside of the lock.
            let new = Listener { key, waker: waker.clone() };
            let mut listeners = self.listeners.lock();
            let old = take_out(&mut listeners, key);
            listeners.push(new);
            drop(listeners);
            drop(old);
        }
    }

    fn is_empty(&self) -> bool {
        self.own.tasks.len() == 0 && self.own.queue.borrow().len() == 0 && self.inbox.is_empty()
    }

    /// Runs tasks for a while; true if there are more.
    fn poll_tasks(self: &Arc<Self>) -> bool {
        // For one that was awaited before, and is again.
        self.end_after_panic();
        let was_polling = self.own.is_polling.replace(true);
        let mut any_left = true;
        let mut polls = 0;
        for _ in 0..PER_POLL {
            if !self.inbox.is_empty() {
                self.own.queue.borrow_mut().append(&mut self.inbox.take());
            }
            let task = self.own.queue.borrow_mut().pop_front();
            let Some(task) = task else {
                any_left = false;
                break;
            };
            polls += 1;
            match task.run(&**self) {
                // After such a panic, no other task is polled.
                Ran::Off if self.own.end.has_begun() => break,
                Ran::Off => {}
                Ran::Woken(task) | Ran::Yielded(task) => {
                    self.own.queue.borrow_mut().push_back(task);
                }
            }
        }
        self.own.is_polling.set(was_polling);
        context::with(|context| match context.current() {
            Some(driver) => driver.count_local_polls(polls),
            None => {
                if let Some(counters) = context.counters() {
                    counters.polls.add(u64::from(polls));
                }
            }
        });
        self.end_after_panic();
        any_left
    }
}

impl Home for LocalShared {
    fn index(&self) -> u32 {
        0
    }

    fn tasks(&self) -> &OwnedTasks {
        &self.own.tasks
    }

    fn count_end(&self) {
        self.counters.ended.add(1);
    }

    fn send_home(&self, _home: u32, _task: CompletedTask) {
        unreachable!("there is only one home")
    }
}

impl Schedule for LocalShared {
    unsafe fn deliver(this: *const Self, task: Runnable) -> Result<(), Runnable> {
        let sent = context::with(|context| {
            // The waker of whoever polls the set may drop the set and its guards.
            let _pin = context.pin_locals();
            if context.local() != this {
                return Some(task);
            }
            // SAFETY: the context's set is pinned, and is this thread's.
            let shared = unsafe { &*this };
            if shared.own.is_gone.get() {
                return Some(task);
            }
            shared.push(task);
            None
        });
        let Some(task) = sent else { return Ok(()) };
        // Once the task is in the inbox, the set may complete it, and be dropped, before this
        // thread has woken the set.
        // SAFETY: `this` is from `as_ptr`, and live up to here by the caller's promise.
        unsafe { Arc::increment_strong_count(this) };
        // SAFETY: the count that was just added.
        let shared = unsafe { Arc::from_raw(this) };
        shared.send(task)
    }
}

impl fmt::Debug for LocalShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalShared").finish_non_exhaustive()
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").finish_non_exhaustive()
    }
}
