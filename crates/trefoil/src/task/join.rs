use super::header::trailer;
use super::state::{Completed, DropJoin};
use super::{Id, JoinError, TaskRef, coop};
use crate::context;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// The right to wait for a task's output.
///
/// Dropping it detaches the task, which then runs on with nobody to join it.
/// As a future it resolves to the task's output, or to a [`JoinError`] if the
/// task panicked or was cancelled.
///
/// # Cancellation safety
/// Awaiting `&mut handle` in a `select!` that takes another branch loses
/// nothing: the output waits for the next poll.
///
/// # Panics
/// When polled again after it has returned the output.
pub struct JoinHandle<T> {
    /// Given up by hand, because one transition does so by itself.
    task: ManuallyDrop<TaskRef>,
    _output: PhantomData<T>,
}

// SAFETY: the handle moves the output to the thread that polls it, for which
// `T: Send` suffices. All else is in the task's atomics.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: through a shared handle no `T` can be reached.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

/// Aborts a task from anywhere, without the right to its output.
///
/// Dropping it does nothing to the task.
pub struct AbortHandle {
    task: TaskRef,
}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl<T> JoinHandle<T> {
    pub(super) fn new(task: TaskRef) -> Self {
        Self { task: ManuallyDrop::new(task), _output: PhantomData }
    }

    /// Asks the task to stop at its next `.await`.
    ///
    /// The task's future is dropped when it would next be polled; a task that
    /// is running finishes its poll first, and one that returns its output in
    /// that poll has won. Awaiting the handle afterwards tells which. A
    /// blocking task can only be stopped before it starts.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended, or was cancelled and has been dropped.
    pub fn is_finished(&self) -> bool {
        self.task.header().state.is_complete()
    }

    /// A handle that can abort the task, and can be given away.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { task: TaskRef::clone(&self.task) }
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.task.id()
    }

    /// Whether the output is there; else `waker` is told when it is.
    pub(super) fn poll_complete(&self, waker: &Waker) -> Poll<()> {
        let state = &self.task.header().state;
        if state.is_complete() {
            return Poll::Ready(());
        }
        // SAFETY: the handle's reference keeps the task live.
        let trailer = unsafe { trailer(self.task.as_ptr()) };
        if state.has_join_waker() && state.unset_join_waker() == Err(Completed) {
            return Poll::Ready(());
        }
        trailer.join_waker.with_mut(|cell| {
            // SAFETY: `JOIN_WAKER` is clear, so the cell is the handle's, and
            // the handle is borrowed by one thread: `poll` has it exclusively.
            let cell = unsafe { &mut *cell };
            match cell {
                Some(old) if old.will_wake(waker) => {}
                _ => *cell = Some(waker.clone()),
            }
        });
        match state.set_join_waker() {
            Ok(()) => Poll::Pending,
            Err(Completed) => Poll::Ready(()),
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let budget = ready!(coop::poll_proceed(cx));
        if self.poll_complete(cx.waker()).is_pending() {
            return Poll::Pending;
        }
        budget.made_progress();
        let mut output = MaybeUninit::<Self::Output>::uninit();
        let task = self.task.as_ptr();
        // SAFETY: 1: the task is live and was made with this `T`. 2: it is
        // complete, and the join handle, of which there is one, owns the
        // output. 3: `output` is room for it.
        unsafe { (self.task.header().vtable.take_output)(task, output.as_mut_ptr().cast()) };
        // SAFETY: `take_output` has written it.
        Poll::Ready(unsafe { output.assume_init() })
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let task = self.task.as_ptr();
        let header = self.task.header();
        match header.state.drop_join() {
            DropJoin::Released => return,
            DropJoin::TakeWaker => {
                // SAFETY: the handle's reference keeps the task live.
                let trailer = unsafe { trailer(task) };
                let waker = trailer.join_waker.with_mut(|cell| {
                    // SAFETY: the transition took the cell back.
                    unsafe { Option::take(&mut *cell) }
                });
                drop(waker);
            }
            DropJoin::DropOutput => {
                // The output's destructor may ask which task it is of.
                let scope = context::enter_task(task);
                // SAFETY: the task is complete and the handle owns the output,
                // which may have been taken; then there is nothing to drop.
                unsafe { (header.vtable.drop_output)(task) };
                scope.leave();
            }
        }
        // SAFETY: `self` is being dropped, so this happens once; the transition
        // that gives the reference up by itself has returned above.
        unsafe { ManuallyDrop::drop(&mut self.task) };
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl AbortHandle {
    /// As [`JoinHandle::abort`].
    pub fn abort(&self) {
        self.task.abort();
    }

    /// As [`JoinHandle::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.task.header().state.is_complete()
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.task.id()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        Self { task: self.task.clone() }
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish()
    }
}
