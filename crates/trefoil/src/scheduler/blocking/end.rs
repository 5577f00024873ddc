//! The end of the pool, and of the runtime, which waits for it.

use super::*;
#[cfg(not(loom))]
use std::{cell::Cell, ptr};

/// How often the thread that waits for the end asks for threads that the system had not.
const RETRY_EVERY: Duration = crate::scheduler::multi::PERIOD;

#[cfg(not(loom))]
thread_local! {
    /// The pool that this thread belongs to. It is only compared.
    static BELONGS_TO: Cell<*const Pool> = const { Cell::new(ptr::null()) };
}

impl Pool {
    /// The life of one of its threads, from the first of its callers' code to the last.
    #[cfg(not(loom))]
    pub(super) fn as_its_thread(&self, life: impl FnOnce()) {
        BELONGS_TO.set(self);
        life();
        BELONGS_TO.set(ptr::null());
    }

    /// All threads of a loom model run on one thread of the system.
    #[cfg(loom)]
    pub(super) fn as_its_thread(&self, life: impl FnOnce()) {
        life();
    }

    /// Whether this thread is one of those for whose end `wait_over` waits.
    #[cfg(not(loom))]
    pub(crate) fn is_this_thread_its_own(&self) -> bool {
        ptr::eq(BELONGS_TO.get(), self)
    }

    #[cfg(loom)]
    pub(crate) fn is_this_thread_its_own(&self) -> bool {
        false
    }

    /// Refuses further closures, and tells the threads to end when nothing waits any more.
    /// Closures that wait still run; they are cancelled only if there is no thread to be had.
    pub(crate) fn shut_down(self: &Arc<Self>, handle: &Handle) {
        let mut state = self.state.lock();
        state.is_shut_down = true;
        let need = state.need_one(&self.config);
        let is_any_idle = state.idle > 0;
        drop(state);
        if is_any_idle {
            self.work.notify_all();
        }
        if self.meet(handle, need).is_ok() {
            return;
        }
        let mut state = self.state.lock();
        // Any thread that there is, a worker's as well, looks at the queue before it ends.
        if state.threads > 0 {
            return;
        }
        let queued = std::mem::take(&mut state.queue);
        state.outstanding -= queued.len();
        drop(state);
        queued.drain(|task| task.cancel(&Nowhere));
    }

    /// Waits until the scheduler has no tasks and all threads have ended, for at most the given
    /// time.
    pub(crate) fn wait_over(self: &Arc<Self>, handle: &Handle, timeout: Option<Duration>) {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.state.lock();
        while !state.is_over() {
            let mut left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return;
            }
            // A worker may still lack a thread, and the monitor has left. (A wait that ends by
            // itself costs more than one that does not.)
            if state.lacks_thread() {
                left = Some(left.map_or(RETRY_EVERY, |left| left.min(RETRY_EVERY)));
            }
            state.waits += 1;
            state = match left {
                None => self.gone.wait(state),
                Some(left) => self.gone.wait_timeout(state, left).0,
            };
            state.waits -= 1;
            if state.lacks_thread() {
                drop(state);
                self.retry(handle);
                state = self.state.lock();
            }
        }
    }

    /// Has the thread that waits for the end look, if that has come.
    pub(super) fn unlock_and_notify(&self, state: MutexGuard<'_, State>) {
        let is_awaited = state.waits > 0 && state.is_over();
        // Whoever is woken needs the lock.
        drop(state);
        if is_awaited {
            self.gone.notify_all();
        }
    }

    /// The scheduler has none left, and gets no more.
    pub(crate) fn tasks_are_gone(&self) {
        let mut state = self.state.lock();
        state.has_tasks = false;
        self.unlock_and_notify(state);
    }
}
