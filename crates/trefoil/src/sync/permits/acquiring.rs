//! The future that takes permits, and waits for them in the ring if need be.

use super::waiters::{COLLECTED, GRANTED, NONE, Phase, Waiter, with_node};
use super::{CLOSED, Closed, PERMIT, Permits, SHIFT, TryError, WAITING};
use crate::primitives::atomic::{Acquire, Relaxed};
use crate::task::coop;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

/// The future of [`Permits::acquire`].
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquiring<'a> {
    pub(super) permits: &'a Permits,
    pub(super) waiter: Waiter,
}

// SAFETY: the lock of the ring guards the waiter's node, which holds a `Waker`, which is `Send`. A
// parcel may be collected by any thread, and this itself does not access it.
unsafe impl Send for Acquiring<'_> {}
// SAFETY: a shared reference gives access to the phase alone, which only `&mut self` changes.
unsafe impl Sync for Acquiring<'_> {}

impl Acquiring<'_> {
    /// The first poll, up to where the permits are taken or a place in the queue is.
    ///
    /// # Safety
    /// `self` is pinned.
    #[inline]
    unsafe fn ask(&mut self, waker: &Waker) {
        match self.permits.try_acquire(self.waiter.wanted) {
            Ok(()) => self.waiter.phase.set(Phase::Taken),
            Err(TryError::Closed) => self.waiter.phase.set(Phase::Done),
            Err(TryError::TooFew) => {
                // SAFETY: the caller promises it.
                unsafe { self.enqueue(waker) }
            }
        }
    }

    /// # Safety
    /// `self` is pinned and new.
    #[cold]
    unsafe fn enqueue(&mut self, waker: &Waker) {
        // The clone comes before the lock, because it may run any code.
        let waker = waker.clone();
        let wanted = self.waiter.wanted;
        let mut waiters = self.permits.waiters.lock();
        // Acquire, here and below: as in `try_acquire`, for the permits that are taken.
        let mut seen = self.permits.word.load(Acquire);
        let gathered = loop {
            if seen & CLOSED != 0 {
                self.waiter.phase.set(Phase::Done);
                break None;
            }
            if seen & WAITING != 0 {
                break Some(0);
            }
            // Either permits that are given meanwhile make this exchange fail, or the thread that
            // gives them sees `WAITING` and waits for the lock.
            let there = seen >> SHIFT;
            let next = if there < wanted { WAITING } else { seen - wanted * PERMIT };
            match self.permits.word.compare_exchange(seen, next, Acquire, Acquire) {
                Ok(_) if there < wanted => break Some(there),
                Ok(_) => {
                    self.waiter.phase.set(Phase::Taken);
                    break None;
                }
                Err(now) => seen = now,
            }
        };
        let Some(gathered) = gathered else {
            drop(waiters);
            return;
        };
        self.waiter.phase.set(Phase::Queued);
        // SAFETY: the waiter is pinned and so stays live, it is new and so in no ring, and `drop`
        // removes it.
        unsafe { waiters.push(NonNull::from(&self.waiter), waker, gathered) };
    }

    /// Whether the wait in the queue is over; keeps the waker if it is not.
    fn poll_queued(&mut self, waker: &Waker) -> Poll<Phase> {
        let mut new = None;
        loop {
            match self.waiter.outcome() {
                NONE => {}
                GRANTED => return Poll::Ready(Phase::Taken),
                COLLECTED => return Poll::Ready(Phase::Collected),
                _ => return Poll::Ready(Phase::Done),
            }
            let waiters = self.permits.waiters.lock();
            if self.waiter.outcome() != NONE {
                continue;
            }
            let this = NonNull::from(&self.waiter);
            // SAFETY: 1: the waiter is a part of `self`. 2: without an outcome it is in the ring,
            // whose lock is held.
            let done = unsafe {
                with_node(this, |node| match &node.waker {
                    Some(old) if old.will_wake(waker) => Ok(None),
                    _ => new.take().map(|new| node.waker.replace(new)).ok_or(()),
                })
            };
            drop(waiters);
            match done {
                // The old waker is dropped here, and not under the lock.
                Ok(_old) => return Poll::Pending,
                // Another one's clone may run any code, so it is made without the lock.
                Err(()) => new = Some(waker.clone()),
            }
        }
    }
}

impl Future for Acquiring<'_> {
    type Output = Result<(), Closed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        let budget = coop::poll_proceed(cx);
        let is_new = this.waiter.phase.get() == Phase::New;
        if is_new {
            // Without budget too: a task that yields before it has asked would be overtaken, maybe
            // each time, by others that ask while it waits for its turn.
            // SAFETY: the future is pinned.
            unsafe { this.ask(cx.waker()) };
        }
        let budget = ready!(budget);
        if this.waiter.phase.get() == Phase::Queued {
            if is_new {
                return Poll::Pending;
            }
            let phase = ready!(this.poll_queued(cx.waker()));
            this.waiter.phase.set(phase);
        }
        budget.made_progress();
        match this.waiter.phase.replace(Phase::Done) {
            Phase::Taken => {}
            // Whether there are permits now does not matter: they have served.
            Phase::Collected => return Poll::Ready(Ok(())),
            _ => return Poll::Ready(Err(Closed)),
        }
        if !is_new && this.permits.is_closed() {
            // They were granted in time, but nobody is told of permits after the end.
            this.permits.release(this.waiter.wanted);
            return Poll::Ready(Err(Closed));
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Acquiring<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.waiter.phase.get() {
            Phase::New | Phase::Collected | Phase::Done => {}
            Phase::Taken => self.permits.release(self.waiter.wanted),
            Phase::Queued => self.leave(),
        }
    }
}

impl Acquiring<'_> {
    /// Gives up the wait in the queue.
    #[cold]
    fn leave(&mut self) {
        let mut waiters = self.permits.waiters.lock();
        match self.waiter.outcome() {
            NONE => {
                // SAFETY: a waiter without an outcome is in the ring, whose lock is held.
                let (waker, gathered) = unsafe { waiters.remove(NonNull::from(&self.waiter)) };
                // Relaxed: the bit only changes under the lock.
                if self.permits.word.load(Relaxed) & WAITING == 0 {
                    // `close` has taken the ring away, and what its first waiter had gathered.
                    drop(waiters);
                } else {
                    // Also if it has gathered nothing: it may have been the last one.
                    self.permits.hand_out(waiters, gathered);
                }
                drop(waker);
            }
            GRANTED => {
                drop(waiters);
                self.permits.release(self.waiter.wanted);
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Acquiring<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquiring")
            .field("wanted", &self.waiter.wanted)
            .field("phase", &self.waiter.phase.get())
            .finish_non_exhaustive()
    }
}
