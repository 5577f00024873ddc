//! The part of a `block_on` that its future may reach, and the timers that a thread fires.

use super::{Context, Restore, enter_deque};
use crate::primitives::parker::Parker;
use crate::scheduler::{Handle, Id};
use crate::task::wake_guarded;
use crate::time::TimerQueue;
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use std::task::Waker;

/// The part of a `block_on` on a foreign thread that its future may reach.
#[derive(Debug)]
pub(crate) struct BlockOn {
    /// The parker of this `block_on` alone.
    parker: Arc<Parker>,
    /// The timers, which are made when the first timer is registered, and the runtime that knows
    /// them.
    timers: OnceCell<(Arc<TimerQueue>, Handle)>,
    pub(crate) deferred: RefCell<Vec<Waker>>,
}

impl BlockOn {
    pub(crate) fn new(parker: Arc<Parker>) -> Self {
        Self { parker, timers: OnceCell::new(), deferred: RefCell::default() }
    }

    /// For a thread that is about to block in place, and cannot serve these meanwhile. The timers
    /// and deferred wakers of a `block_on` may be waited for by others: the future may share a part
    /// of it with tasks.
    pub(crate) fn release(&self) {
        if let Some(timers) = self.made_timers() {
            timers.release();
        }
        self.deferred.take().into_iter().for_each(wake_guarded);
    }

    /// The timers, if any were ever registered.
    pub(crate) fn made_timers(&self) -> Option<&Arc<TimerQueue>> {
        self.timers.get().map(|(timers, _)| timers)
    }

    /// This `block_on` ends, and fires timers no more.
    pub(crate) fn close_timers(&self) {
        if let Some((timers, handle)) = self.timers.get() {
            handle.common().block_on_timers.leave(timers);
            timers.close();
        }
    }
}

impl Context {
    /// The timers that this thread fires, if there are any.
    #[inline]
    pub(crate) fn timers(&self) -> Option<&Arc<TimerQueue>> {
        if let Some(worker) = self.worker() {
            return worker.timers();
        }
        if let Some(driver) = self.current() {
            return Some(driver.timers());
        }
        self.block_on()?.made_timers()
    }

    /// The timers that this thread fires, if they are that runtime's.
    #[inline]
    pub(crate) fn timers_of(&self, runtime: Id) -> Option<&Arc<TimerQueue>> {
        let own = self.timers().or_else(|| self.make_timers())?;
        // Time that is stopped jumps to the next timer of the thread that drives. It would neither
        // see nor wait for one in a queue of this `block_on`.
        let is_seen = !own.is_virtual() || self.current().is_some();
        (own.runtime() == runtime && is_seen).then_some(own)
    }

    /// The timers of the `block_on` that this thread is in, for the innermost runtime.
    #[cold]
    fn make_timers(&self) -> Option<&Arc<TimerQueue>> {
        if self.worker().is_some() {
            return None;
        }
        let (frame, handle) = (self.block_on()?, self.handle()?);
        if frame.made_timers().is_none() {
            let parker = Arc::clone(&frame.parker);
            let timers = Arc::new(TimerQueue::new_private(handle.clock(), parker, handle.id()));
            handle.common().block_on_timers.enter(&timers);
            let made = frame.timers.set((timers, handle.clone()));
            debug_assert!(made.is_ok(), "nothing else makes them meanwhile");
        }
        frame.made_timers()
    }

    pub(crate) fn block_on(&self) -> Option<&BlockOn> {
        // SAFETY: set by `enter_block_on` for as long as the frame lives.
        unsafe { self.block_on.get().as_ref() }
    }
}

/// Runs `f` inside of a `block_on` on a thread that is no worker.
pub(crate) fn enter_block_on<R>(frame: &BlockOn, f: impl FnOnce() -> R) -> R {
    let _current = Restore::set(|context| &context.current, std::ptr::null());
    let _worker = Restore::set(|context| &context.worker, std::ptr::null());
    let _fork = enter_deque(std::ptr::null());
    let _frame = Restore::set(|context| &context.block_on, &raw const *frame);
    f()
}

/// Runs `f` inside of a `block_on` on a thread that is a worker meanwhile.
pub(crate) fn enter_root<R>(frame: &BlockOn, f: impl FnOnce() -> R) -> R {
    let _frame = Restore::set(|context| &context.block_on, &raw const *frame);
    f()
}
