//! `install` and `install_here`: closures of other threads on a runtime's workers.

use super::job::{Header, StackJob, Where};
use crate::context;
use crate::primitives::atomic::{Acquire, AtomicU32, Release};
use crate::primitives::parker::Parker;
use crate::runtime::global_for_forks;
use crate::scheduler::Handle;
use crate::scheduler::{Scheduler, multi};
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The runtime whose workers run the forks of this thread: its current one, or the process-wide
/// one. None if the thread runs its forks itself.
pub(super) fn foreign_pool() -> Option<Handle> {
    context::with(|context| {
        // A worker without a deque forks here, or calls its closures itself: if it waited for
        // another worker, both might wait for each other. A thread that drives a current-thread
        // runtime does the same.
        if context.worker().is_some() || context.current().is_some() {
            return None;
        }
        let handle = match context.handle() {
            Some(handle) => handle,
            None => global_for_forks()?,
        };
        matches!(handle.scheduler, Scheduler::Multi(_)).then(|| handle.clone())
    })
}

/// Calls a closure that forks, from a thread without a deque: on a worker, or here. It may find
/// itself without a deque all the same.
#[track_caller]
pub(super) fn elsewhere<F, R>(f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    match foreign_pool() {
        // A runtime that has shut down calls the closure on this thread.
        Some(handle) => install(&handle, f),
        None => with_late_deque(f),
    }
}

/// Calls a closure with a deque, if this is a worker that had none and there is one now. So many
/// threads may have blocked in place when it became the worker that all deques were in use; without
/// this, it would fork on its own for as long as it lives.
fn with_late_deque<R>(f: impl FnOnce() -> R) -> R {
    context::with(|context| match context.worker().and_then(|worker| worker.deques().acquire()) {
        Some(deque) => context::enter_fork(Some(deque), f),
        None => f(),
    })
}

/// Runs a closure on a worker of `handle`, and waits for it. The caller is where the task comes
/// from, for those who look at tasks.
#[track_caller]
pub(crate) fn install<F, R>(handle: &Handle, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let Scheduler::Multi(shared) = &handle.scheduler else { return f() };
    let is_at_home = context::with(|context| {
        context.worker().is_some_and(|worker| worker.is_of(Arc::as_ptr(shared)))
    });
    // The workers of a runtime that is the parent's are not in this process.
    if is_at_home || handle.common().is_in_a_fork() {
        return f();
    }
    let parker = Arc::new(Parker::new());
    parker.adopt();
    let job = StackJob::new(move |_| f());
    let call = Arc::new(Call { state: AtomicU32::new(WAITING), parker });
    // This is an ordinary task: it waits in a queue, any worker may take it, and a runtime that
    // shuts down drops it.
    drop(handle.spawn(InstallTask { job: Some(job.header()), call: Arc::clone(&call) }));
    context::taken_closure_waits();
    match call.wait() {
        // SAFETY: 1: the task has settled the call, so it is done with the job, which it has
        // executed. 2: this is the only place that takes the outcome, and it is left at once.
        DONE => match unsafe { job.take_outcome() } {
            Ok(result) => result,
            Err(payload) => resume_unwind(payload),
        },
        // The runtime has shut down.
        _ => {
            // SAFETY: 1: the task has settled the call without executing the job, and it was the
            // only one to know the job. 2: the closure is taken once, here.
            let f = unsafe { job.take_closure() };
            f(Where::Here)
        }
    }
}

/// Runs a closure on the calling thread in the place of a sleeping worker, or else on a worker.
#[track_caller]
pub(crate) fn install_here<F, R>(handle: &Handle, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let Scheduler::Multi(shared) = &handle.scheduler else { return f() };
    // A thread that drives a runtime or a set of local tasks cannot do so from inside of a fork.
    let is_free =
        context::with(|context| context.worker().is_none() && context.current().is_none())
            && !context::is_in_local();
    if !is_free {
        return install(handle, f);
    }
    if handle.common().is_in_a_fork() {
        return f();
    }
    match multi::work_here(shared, f) {
        Ok(Ok(result)) => result,
        Ok(Err(payload)) => resume_unwind(payload),
        Err(f) => install(handle, f),
    }
}

/// How often the caller checks the state before it sleeps. It takes some microseconds to wake a
/// worker, and as many again until the caller is woken. The caller of a short closure should not
/// pay for both.
const SPINS: u32 = 256;

const WAITING: u32 = 0;
const DONE: u32 = 1;
const REFUSED: u32 = 2;

/// What the caller of `install` shares with the task.
struct Call {
    state: AtomicU32,
    parker: Arc<Parker>,
}

impl Call {
    /// Waits until the task is done with the job. Only then is the job the caller's again.
    fn wait(&self) -> u32 {
        for _ in 0..SPINS {
            // Acquire: pairs with the Release in `settle`, as in the loop below.
            let state = self.state.load(Acquire);
            if state != WAITING {
                return state;
            }
            std::hint::spin_loop();
        }
        loop {
            // Acquire: pairs with the Release in `settle`; the task's accesses to the job came
            // before.
            let state = self.state.load(Acquire);
            if state != WAITING {
                return state;
            }
            self.parker.park();
        }
    }

    fn settle(&self, state: u32) {
        // Release: pairs with the Acquire in `wait`; the last access to the job came before.
        self.state.store(state, Release);
        self.parker.unpark();
    }
}

/// The task that runs an installed closure.
struct InstallTask {
    /// None when the job has run.
    job: Option<NonNull<Header>>,
    call: Arc<Call>,
}

// SAFETY: the bounds of `install` make the job's closure and its result `Send`, and the call is
// shared by atomics and a parker.
unsafe impl Send for InstallTask {}

impl Future for InstallTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if let Some(job) = self.job.take() {
            // SAFETY: 1: the job's frame waits until the call is settled, which is after this. If
            // this thread is lost, the frame waits forever. 2: the pointer was taken out of
            // `self.job`, so this is the only execution.
            unsafe { Header::execute(job) };
            self.call.settle(DONE);
        }
        Poll::Ready(())
    }
}

impl Drop for InstallTask {
    fn drop(&mut self) {
        if self.job.is_some() {
            self.call.settle(REFUSED);
        }
    }
}
