//! `scope`: closures that are spawned one by one and borrow from outside.
//!
//! A scope keeps its jobs in a list of its own and not in deques, because a
//! deque is emptied in the order of its owner's frames: a `join` in whose
//! closure something was spawned would have to run that first, although it may
//! need what the frames around that `join` hold. So only the scope's own
//! frame, when it is done with everything else, and workers with nothing on
//! their stacks run a scope's jobs.

use super::Fork;
use super::deque::Share;
use super::install::{foreign_pool, install};
use super::job::Payload;
use crate::context;
use crate::primitives::Mutex;
use crate::primitives::parker::Parker;
use crate::runtime::Handle;
use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Where closures that borrow from around [`scope`] are spawned.
pub struct Scope<'scope> {
    state: Arc<State>,
    /// Invariant: closures take `&Scope<'scope>` and are themselves `'scope`.
    _scope: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// A spawned closure. Its borrows last for `'scope`, whatever the type says.
type Job = Box<dyn FnOnce(&Scope<'static>) + Send>;

/// Shared with helpers, which may outlive the scope, when it is empty.
struct State {
    list: Mutex<List>,
    /// Of the scope's own thread.
    parker: Arc<Parker>,
    /// Where helpers come from, and how many it has at most.
    pool: Option<(Handle, usize)>,
}

#[derive(Default)]
struct List {
    jobs: VecDeque<Job>,
    /// Jobs that were taken out and have not ended.
    running: usize,
    /// Tasks that take jobs.
    helpers: usize,
    /// The scope's thread waits, and has to be woken for jobs and for the end.
    owner_waits: bool,
    payload: Option<Payload>,
}

/// Lets a closure spawn others that may borrow whatever outlives the scope,
/// and returns when all of them have ended.
///
/// Spawned closures start when a worker has time for them, and no later than
/// when the scope's own closure has returned; in what order is not said. Each
/// costs an allocation: where the closures are known beforehand,
/// [`join`](fn@super::join) and [`fork_all`](fn@super::fork_all) are cheaper.
///
/// Where it runs, and in parallel or not, is as with [`join`](fn@super::join).
/// While it waits, it runs closures of this scope and nothing else.
///
/// # Panics
/// If a closure panics, its own or a spawned one, so does `scope`, when all
/// have ended: with its own closure's payload, or else with the first to come.
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
pub fn scope<'scope, F, R>(f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    // The closure may have to come back here, from a runtime that is over.
    match foreign_pool() {
        Some(handle) => install(&handle, || scope_here(f)),
        None => scope_here(f),
    }
}

fn scope_here<'scope, F, R>(f: F) -> R
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
        state: Arc::new(State { list: Mutex::default(), parker: Arc::new(parker), pool }),
        _scope: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let payload = scope.state.finish();
    leave();
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(result) => match payload {
            // The result is dropped as the panic goes on.
            Some(payload) => resume_unwind(payload),
            None => result,
        },
    }
}

/// The end of what began with the worker's `enter_scope`.
fn leave() {
    context::with(|context| {
        if let Some(worker) = context.worker() {
            worker.leave_scope();
        }
    });
}

impl<'scope> Scope<'scope> {
    /// Spawns a closure into the scope. It gets the scope, to spawn more.
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job: Box<dyn FnOnce(&Scope<'scope>) + Send + 'scope> = Box::new(f);
        // SAFETY: the two types differ in lifetimes only. The borrows are
        // valid for as long as the job exists: `scope` does not return, nor
        // unwind, before every job has been run and dropped (`State::finish`).
        let job: Job = unsafe { mem::transmute(job) };
        self.state.push(job);
    }
}

impl State {
    fn push(self: &Arc<Self>, job: Job) {
        let mut list = self.list.lock();
        list.jobs.push_back(job);
        let wakes_owner = mem::take(&mut list.owner_waits);
        let helper = match &self.pool {
            Some((handle, most)) if list.helpers < (*most).min(list.jobs.len()) => {
                list.helpers += 1;
                Some(handle)
            }
            _ => None,
        };
        drop(list);
        if wakes_owner {
            self.parker.unpark();
        }
        if let Some(handle) = helper {
            drop(handle.spawn(Helper { state: Arc::clone(self) }));
        }
    }

    /// Runs a job that was counted as running when it was taken out.
    fn run(self: &Arc<Self>, job: Job) {
        let scope = Scope { state: Arc::clone(self), _scope: PhantomData };
        // The payload goes to whoever is in `scope`.
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
        let wakes_owner = list.is_over() && mem::take(&mut list.owner_waits);
        drop(list);
        if wakes_owner {
            self.parker.unpark();
        }
        // Foreign code, so not under the lock, and caught: the scope's thread
        // must not leave before all have ended.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(late))) {
            mem::forget(another);
        }
    }

    /// Runs what is left, and waits for what others run.
    fn finish(self: &Arc<Self>) -> Option<Box<dyn Any + Send>> {
        loop {
            let mut list = self.list.lock();
            // The newest: what it needs is most likely still in the cache.
            if let Some(job) = list.jobs.pop_back() {
                list.running += 1;
                drop(list);
                self.run(job);
            } else if list.is_over() {
                return list.payload.take();
            } else {
                list.owner_waits = true;
                drop(list);
                // What waits below this frame may be done by others meanwhile.
                // SAFETY: gone at the end of the block.
                if let Some(fork) = unsafe { Fork::current() } {
                    fork.publish(Share::All);
                }
                self.parker.park();
            }
        }
    }
}

impl List {
    fn is_over(&self) -> bool {
        self.jobs.is_empty() && self.running == 0
    }
}

/// The task that runs a scope's jobs on a worker that has time for tasks.
struct Helper {
    state: Arc<State>,
}

impl Future for Helper {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut list = self.state.list.lock();
        // The oldest: it has most likely the most to spawn.
        let Some(job) = list.jobs.pop_front() else { return Poll::Ready(()) };
        list.running += 1;
        drop(list);
        context::with(|context| {
            if let Some(worker) = context.worker() {
                worker.enter_scope();
            }
        });
        self.state.run(job);
        leave();
        // One job at a time, so that other tasks are served in between.
        cx.waker().wake_by_ref();
        Poll::Pending
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
