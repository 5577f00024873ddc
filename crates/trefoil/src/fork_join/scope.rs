//! `scope`: closures that are spawned one by one and borrow from outside.
//!
//! A scope keeps its jobs in a list of its own and not in a deque. A deque is emptied in the order
//! of its owner's frames, so a `join` whose closure spawned a job would have to run that job first.
//! But the job may need a lock, say, that the frames around the `join` hold. So a scope's jobs are
//! only run by the scope's own frame, after its closure has returned, and by workers whose stacks
//! are empty.

use super::deque::Share;
use super::install::{foreign_pool, install};
use super::job::Payload;
use super::join::{as_in_fibers, thrown};
use super::{Fork, is_in_fiber};
use crate::context::{self, Taken};
use crate::primitives::atomic::{AtomicBool, Relaxed};
use crate::primitives::parker::Parker;
use crate::primitives::{Mutex, MutexGuard, thread};
use crate::scheduler::Handle;
use crate::scheduler::multi::WorkerThread;
use crate::task::{Origin, discard, wake_guarded};
use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Spawns closures that may borrow from outside of the [`scope`].
pub struct Scope<'scope> {
    state: Arc<State>,
    /// Makes the type invariant in `'scope`: closures take `&Scope<'scope>` and are `'scope`
    /// themselves.
    _scope: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// A spawned closure. Its borrows last for `'scope`, although the type says otherwise.
type Job = Box<dyn FnOnce(&Scope<'static>) + Send>;

/// Shared with helpers, which may outlive the scope. It has no jobs by then.
struct State {
    list: Mutex<List>,
    /// The parker of the scope's own thread.
    parker: Arc<Parker>,
    /// The runtime in which helpers are spawned, and how many of them there are at most.
    pool: Option<(Handle, usize)>,
    /// Where helpers come from, for those who look at tasks: the call of the scope, since a helper
    /// runs any of its jobs.
    origin: Origin<'static>,
    /// It was called in a fiber, or in a closure of the fork of a fiber.
    is_in_fiber: bool,
    /// It was called in a panic, by a destructor.
    is_in_panic: bool,
    /// The scope's fiber was aborted, so that jobs which others have taken are to be unwound where
    /// they wait. Set under the list's lock.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    is_aborted: AtomicBool,
}

#[derive(Default)]
struct List {
    jobs: VecDeque<Job>,
    /// Jobs that were taken out and have not ended.
    running: usize,
    /// Tasks that take jobs.
    helpers: usize,
    /// The scope's thread waits, and has to be woken for new jobs and for the end.
    owner_waits: bool,
    /// The fiber that is to be woken instead.
    owner: Option<Waker>,
    /// A job that another thread has taken waits for something, or has waited. So its scope may
    /// wait for as long: see `fork_join/wait.rs`.
    job_waits: bool,
    /// Those that wait in jobs which others have taken, with the addresses of their `Helping`.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    waiters: Vec<(usize, Waker)>,
    payload: Option<Payload>,
}

/// Calls a closure that may spawn others, and returns when all of them have ended. The closures may
/// borrow everything that outlives the scope.
///
/// A spawned closure starts when a worker has time for it. When the scope's own closure has
/// returned, the scope runs those that have not started. The order is not specified. Each spawn
/// costs an allocation: [`join`](fn@super::join) and [`fork_all`](fn@super::fork_all) are cheaper
/// if the closures are known beforehand.
///
/// Where the closures run, and whether in parallel, is as with [`join`](fn@super::join). While the
/// scope waits, it runs closures of its own and nothing else.
///
/// # Panics
/// If a closure panics, the scope's own or a spawned one, `scope` panics when all closures have
/// ended. The payload is that of the scope's own closure, or else that of the spawned closure that
/// panicked first.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// let sum = AtomicU64::new(0);
/// trefoil::fork_join::scope(|scope| {
///     for n in 0..10 {
///         let sum = &sum;
///         scope.spawn(move |_| {
///             sum.fetch_add(n, Relaxed);
///         });
///     }
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
#[track_caller]
pub fn scope<'scope, F, R>(f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    // A runtime that has shut down calls the closure on this thread.
    let origin = Origin::here(None);
    match foreign_pool() {
        Some(handle) => install(&handle, || scope_here(f, origin)),
        None => scope_here(f, origin),
    }
}

fn scope_here<'scope, F, R>(f: F, origin: Origin<'static>) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    let parker = Parker::new();
    parker.adopt();
    let pool = context::with(|context| {
        context.worker()?.enter_scope();
        let handle = context.handle()?;
        Some((handle.clone(), handle.workers() - 1))
    });
    let scope = Scope {
        state: Arc::new(State {
            list: Mutex::default(),
            parker: Arc::new(parker),
            pool,
            origin,
            is_in_fiber: is_in_fiber(),
            is_in_panic: thread::panicking(),
            #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
            is_aborted: false.into(),
        }),
        _scope: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let payload = scope.state.finish().map(thrown);
    leave();
    match result {
        Err(own) => {
            // Before the panic: its destructor may panic in turn, which an unwinding does not
            // survive.
            if let Some(payload) = payload {
                discard(payload);
            }
            resume_unwind(own)
        }
        Ok(result) => match payload {
            // The panic drops the result.
            Some(payload) => resume_unwind(payload),
            None => result,
        },
    }
}

/// Ends what the worker's `enter_scope` began.
fn leave() {
    context::with(|context| {
        if let Some(worker) = context.worker() {
            worker.leave_scope();
        }
    });
}

impl<'scope> Scope<'scope> {
    /// Spawns a closure into the scope. The closure gets the scope, so that it can spawn others.
    ///
    /// A panic of the closure is rethrown by [`scope`].
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job: Box<dyn FnOnce(&Scope<'scope>) + Send + 'scope> = Box::new(f);
        // SAFETY: the two types differ in lifetimes only. The borrows are valid for as long as the
        // job exists: `scope` does not return or unwind before every job has run and was dropped
        // (`State::finish`).
        let job: Job = unsafe { mem::transmute(job) };
        self.state.push(job);
    }
}

impl State {
    fn push(self: &Arc<Self>, job: Job) {
        let mut list = self.list.lock();
        list.jobs.push_back(job);
        let wakes_owner = mem::take(&mut list.owner_waits);
        let helper = self.wanted_helper(&mut list);
        if wakes_owner {
            self.wake_owner(list);
        } else {
            drop(list);
        }
        self.spawn_helper(helper);
    }

    /// The runtime in which one more helper is to be spawned, which is counted already.
    fn wanted_helper(&self, list: &mut List) -> Option<&Handle> {
        let (handle, most) = self.pool.as_ref()?;
        if list.helpers >= (*most).min(list.jobs.len()) {
            return None;
        }
        list.helpers += 1;
        Some(handle)
    }

    fn spawn_helper(self: &Arc<Self>, handle: Option<&Handle>) {
        if let Some(handle) = handle {
            drop(handle.spawn_with(Helper { state: Arc::clone(self) }, None, self.origin));
        }
    }

    /// Runs a job. It was counted as running when it was taken out of the list.
    fn run(self: &Arc<Self>, job: Job) {
        let scope = Scope { state: Arc::clone(self), _scope: PhantomData };
        // The scope's thread rethrows the payload.
        let result = catch_unwind(AssertUnwindSafe(|| job(&scope)));
        let mut list = self.list.lock();
        list.running -= 1;
        let mut late = None;
        if let Err(payload) = result {
            match list.payload {
                None => list.payload = Some(payload),
                Some(_) => late = Some(payload),
            }
        }
        if list.is_over() && mem::take(&mut list.owner_waits) {
            self.wake_owner(list);
        } else {
            drop(list);
        }
        // The drop runs foreign code, so it comes after the release of the lock, and its panic is
        // caught: the scope's thread must not leave before all jobs have ended.
        if let Some(payload) = late {
            discard(payload);
        }
    }

    /// Wakes the scope's thread, or its fiber.
    fn wake_owner(&self, mut list: MutexGuard<'_, List>) {
        let owner = list.owner.take();
        drop(list);
        match owner {
            Some(owner) => wake_guarded(owner),
            None => _ = self.parker.unpark(),
        }
    }

    /// A job that another thread has taken waits for something.
    fn job_waits(&self) {
        let mut list = self.list.lock();
        if !mem::replace(&mut list.job_waits, true) && mem::take(&mut list.owner_waits) {
            self.wake_owner(list);
        }
    }

    /// The scope's fiber was aborted: has the jobs that others have taken, or take from now on,
    /// unwound where they wait.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    fn abort(&self) {
        let list = self.list.lock();
        // Relaxed: who waits in a job adds its waker under the lock, and looks afterwards.
        self.is_aborted.store(true, Relaxed);
        let waiters = Vec::from_iter(list.waiters.iter().map(|(_, waker)| waker.clone()));
        drop(list);
        waiters.into_iter().for_each(wake_guarded);
    }

    /// Runs the jobs that are left, and waits for those that others run.
    fn finish(self: &Arc<Self>) -> Option<Box<dyn Any + Send>> {
        loop {
            let mut list = self.list.lock();
            // The newest job: its data is most likely still in the cache.
            if let Some(job) = list.jobs.pop_back() {
                list.running += 1;
                drop(list);
                self.run(job);
            } else if list.is_over() {
                return list.payload.take();
            } else {
                list.owner_waits = true;
                let job_waits = list.job_waits;
                drop(list);
                // Other workers may run the jobs of the frames below meanwhile.
                // SAFETY: the fork is dropped at the end of the block.
                if let Some(fork) = unsafe { Fork::current() } {
                    fork.publish(Share::All);
                }
                if job_waits {
                    context::taken_closure_waits();
                    if self.wait_for_jobs() {
                        continue;
                    }
                }
                self.parker.park();
            }
        }
    }

    /// Waits for what `finish` waits for, without the thread in a fiber, and so that an abort wakes
    /// who waits. False if the calling code is no fiber's that can, nor a closure that this thread
    /// has taken.
    fn wait_for_jobs(&self) -> bool {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        {
            let poll = |waker: &Waker| {
                let mut list = self.list.lock();
                if !list.jobs.is_empty() || list.is_over() {
                    return Poll::Ready(());
                }
                list.owner_waits = true;
                let before = list.owner.replace(waker.clone());
                drop(list);
                drop(before);
                Poll::Pending
            };
            let has_waited = crate::fiber::wait_in_fork(poll, || self.abort());
            drop(self.list.lock().owner.take());
            has_waited
        }
        #[cfg(not(all(feature = "fiber", unix, not(loom))))]
        false
    }
}

impl List {
    fn is_over(&self) -> bool {
        self.jobs.is_empty() && self.running == 0
    }
}

/// A task that runs a scope's jobs on a worker whose stack is empty.
struct Helper {
    state: Arc<State>,
}

impl Future for Helper {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut list = self.state.list.lock();
        // The oldest job: it most likely spawns the most.
        let Some(job) = list.jobs.pop_front() else { return Poll::Ready(()) };
        list.running += 1;
        drop(list);
        run_taken(Arc::clone(&self.state), job);
        // One job per poll, so that other tasks run in between.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Runs a job of a scope on a worker that has taken it. Its fiber may wait when this returns.
fn run_taken(state: Arc<State>, job: Job) {
    let helping = Helping { state, is_in_poll: true.into(), is_counted: true.into() };
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    if context::with(|context| context.worker().is_some_and(WorkerThread::has_bound_tasks)) {
        let helping = Arc::new(helping);
        let run = |(helping, job): (Arc<Helping>, Job)| helping.run(job);
        let ran = context::with(|context| match context.worker() {
            Some(worker) => worker.run_in_fiber((Arc::clone(&helping), job), run),
            None => Err((Arc::clone(&helping), job)),
        });
        if let Err((_, job)) = ran {
            helping.run_in_poll(job);
        }
        return helping.leave_poll();
    }
    helping.run_in_poll(job);
    helping.leave_poll();
}

/// A helper and the job that it has taken.
///
/// Only one thread uses this: the job's fiber stays on that of the helper's poll.
struct Helping {
    state: Arc<State>,
    /// The job, or its fiber, runs in the poll of the helper, and has not left it.
    is_in_poll: AtomicBool,
    /// The helper counts as one that takes jobs.
    is_counted: AtomicBool,
}

impl Helping {
    fn run(&self, job: Job) {
        let State { is_in_fiber, is_in_panic, .. } = *self.state;
        let run = || self.state.run(job);
        context::in_taken(
            self,
            || {
                if is_in_fiber { as_in_fibers(is_in_panic, run) } else { run() }
            },
        );
    }

    fn run_in_poll(&self, job: Job) {
        let with_worker = |f: fn(&WorkerThread)| context::with(|context| context.worker().map(f));
        with_worker(WorkerThread::enter_scope);
        context::in_helper(|| self.run(job));
        with_worker(WorkerThread::leave_scope);
    }

    /// The helper goes on, and takes further jobs.
    fn leave_poll(&self) {
        // Relaxed, as below: there is only one thread.
        self.is_in_poll.store(false, Relaxed);
        if !self.is_counted.load(Relaxed) {
            self.state.list.lock().helpers += 1;
        }
    }
}

impl Taken for Helping {
    fn shares_deque(&self) -> bool {
        false
    }

    fn waits(&self) {
        self.state.job_waits();
        // Its helper takes no other job meanwhile. Another one does, or else nobody might. (Where
        // the job's fiber leaves its stack, the helper goes on, and there is one too many for a
        // while.)
        if self.is_in_poll.load(Relaxed) && self.is_counted.swap(false, Relaxed) {
            let mut list = self.state.list.lock();
            list.helpers -= 1;
            let helper = self.state.wanted_helper(&mut list);
            drop(list);
            self.state.spawn_helper(helper);
        }
    }

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn is_aborted(&self) -> bool {
        // Relaxed: as in `State::abort`.
        self.state.is_aborted.load(Relaxed)
    }

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn add_waiter(&self, waker: &Waker) {
        let waker = waker.clone();
        self.state.list.lock().waiters.push((ptr::from_ref(self).addr(), waker));
    }

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn remove_waiter(&self) {
        let own = ptr::from_ref(self).addr();
        let mut list = self.state.list.lock();
        let last = list.waiters.iter().rposition(|(address, _)| *address == own);
        let removed = last.map(|last| list.waiters.remove(last));
        drop(list);
        drop(removed);
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.state.list.lock().helpers -= 1;
    }
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
