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
/// Dropping the handle detaches the task: the task runs on, and its output is dropped. As a future,
/// the handle resolves to the task's output, or to a [`JoinError`] if the task panicked or was
/// cancelled.
///
/// # Cancellation safety
/// If `&mut handle` is awaited in a `select!` that takes another branch, nothing is lost: the next
/// poll can take the output.
///
/// # Panics
/// If it is polled again after it has returned the output.
pub struct JoinHandle<T> {
    /// Dropped by hand, because one of the transitions gives the reference up by itself.
    task: ManuallyDrop<TaskRef>,
    _output: PhantomData<T>,
}

// SAFETY: the handle moves the output to the thread that polls it, for which `T: Send` suffices.
// Everything else is in the task's atomics.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no access to a `T`.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

/// A handle that can abort a task, and has no access to its output.
///
/// Dropping the handle does nothing to the task.
pub struct AbortHandle {
    task: TaskRef,
}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl<T> JoinHandle<T> {
    /// Waits for the task's output in code that is not asynchronous: a
    /// [fiber](crate::fiber) leaves its stack meanwhile, and any other thread blocks.
    ///
    /// # Errors
    /// The task has panicked or was cancelled.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn join(self) -> Result<T, JoinError> {
        crate::scheduler::block_on::blocking(self)
    }

    pub(super) fn new(task: TaskRef) -> Self {
        Self { task: ManuallyDrop::new(task), _output: PhantomData }
    }

    /// Cancels the task.
    ///
    /// Instead of its next poll, the task's future is dropped. A poll that is running goes on to
    /// its end. If that poll returns the output, the task has not been cancelled; awaiting the
    /// handle tells. A blocking task can only be cancelled before it starts.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended. A task that was cancelled has ended once its future is dropped.
    pub fn is_finished(&self) -> bool {
        self.task.header().state.is_complete()
    }

    /// Makes a handle that can abort the task and can be given to others.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { task: TaskRef::clone(&self.task) }
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.task.id()
    }

    /// Ready if the output is stored. Otherwise `waker` is woken when it is.
    #[inline(always)]
    pub(super) fn poll_complete(&self, waker: &Waker) -> Poll<()> {
        if self.task.header().state.is_complete() {
            return Poll::Ready(());
        }
        self.poll_incomplete(waker)
    }

    /// As `poll_complete`, for a unit of the budget.
    #[inline(never)]
    fn poll_slow(&self, cx: &mut Context<'_>) -> Poll<()> {
        let budget = ready!(coop::poll_proceed(cx));
        ready!(self.poll_complete(cx.waker()));
        budget.made_progress();
        Poll::Ready(())
    }

    fn poll_incomplete(&self, waker: &Waker) -> Poll<()> {
        let state = &self.task.header().state;
        if state.has_join_waker() && state.unset_join_waker() == Err(Completed) {
            return Poll::Ready(());
        }
        // Without a waker in it while foreign code runs: should that panic, nothing is left there.
        // SAFETY: `JOIN_WAKER` is clear, so the cell is the handle's.
        let old = unsafe { self.swap_join_waker(None) };
        let new = match old {
            Some(old) if old.will_wake(waker) => old,
            old => {
                drop(old);
                waker.clone()
            }
        };
        // SAFETY: `JOIN_WAKER` is still clear.
        unsafe { self.swap_join_waker(Some(new)) };
        match state.set_join_waker() {
            Ok(()) => Poll::Pending,
            Err(Completed) => {
                // Nobody will wake it. In the cell, it would be kept for as long as anybody has a
                // reference to the task, and dropped by whoever gives up the last one. That may be
                // a worker in the midst of its own code.
                // SAFETY: `JOIN_WAKER` is still clear.
                drop(unsafe { self.swap_join_waker(None) });
                Poll::Ready(())
            }
        }
    }

    /// Exchanges what is in the join waker's cell.
    ///
    /// # Safety
    /// The cell is the handle's. The caller has exclusive access to the handle, so no other thread
    /// uses the cell.
    unsafe fn swap_join_waker(&self, new: Option<Waker>) -> Option<Waker> {
        // SAFETY: the handle's reference keeps the task live.
        let trailer = unsafe { trailer(self.task.as_ptr()) };
        trailer.join_waker.with_mut(|cell| {
            // SAFETY: the caller's promise.
            std::mem::replace(unsafe { &mut *cell }, new)
        })
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.task.header().state.is_complete() || !coop::spend() {
            ready!(self.poll_slow(cx));
        }
        let mut output = MaybeUninit::<Self::Output>::uninit();
        let task = self.task.as_ptr();
        // SAFETY: 1: the task is live and was made with this `T`. 2: it is complete, and its only
        // join handle owns the output. 3: `output` has room for it.
        unsafe { (self.task.header().vtable.take_output)(task, output.as_mut_ptr().cast()) };
        // SAFETY: `take_output` has written it.
        Poll::Ready(unsafe { output.assume_init() })
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        let header = self.task.header();
        if header.state.is_join_last() {
            // SAFETY: the task is complete, and this is the last reference to it. `self` is being
            // dropped, and does not use it again.
            unsafe { (header.vtable.end_joined)(self.task.as_ptr()) };
            return;
        }
        self.detach();
    }
}

impl<T> JoinHandle<T> {
    /// The handle is dropped, and others have references to the task.
    #[inline(never)]
    fn detach(&mut self) {
        let task = self.task.as_ptr();
        let header = self.task.header();
        let waker = match header.state.drop_join() {
            DropJoin::Released => return,
            // SAFETY: the transition took the cell back.
            DropJoin::TakeWaker => unsafe { self.swap_join_waker(None) },
            DropJoin::DropOutput => {
                // The output's destructor may ask for the id of its task.
                let scope = context::enter_task(task);
                // SAFETY: the task is complete and the handle owns the output. If the output was
                // taken, this drops nothing.
                unsafe { (header.vtable.drop_output)(task) };
                scope.leave();
                None
            }
        };
        // SAFETY: `self` is being dropped, so this happens once. If the transition has given the
        // reference up by itself, the function has returned above.
        unsafe { ManuallyDrop::drop(&mut self.task) };
        // Last, because this is foreign code, which may panic.
        drop(waker);
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
