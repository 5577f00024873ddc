//! One task waits, another or a thread wakes it and leaves the time.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread::Thread;
use std::time::Instant;

/// Passes a moment to the one task that waits for it. No channel of any runtime, so that nothing
/// but the wake differs, and no budget of any runtime counts it.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    /// Unparked whenever the task was seen asleep.
    ringer: Option<Thread>,
    /// [`AWAKE`], [`ASLEEP`], or the thread on which the task began to wait.
    sleep: AtomicUsize,
}

/// The task does not wait.
const AWAKE: usize = 0;
/// The task waits, and its last poll is over.
const ASLEEP: usize = 1;

/// What names this thread among those that live: where a thread-local lies, which is aligned, and
/// so neither [`AWAKE`] nor [`ASLEEP`].
fn this_thread() -> usize {
    thread_local! { static HERE: u64 = const { 0 } }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

#[derive(Debug, Default)]
struct State {
    rung: Option<Instant>,
    waiting: Option<Waker>,
}

impl Bell {
    /// A bell that unparks `ringer` whenever the task was seen asleep.
    pub(super) fn rung_by(ringer: Thread) -> Self {
        Self { ringer: Some(ringer), ..Self::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the task, with the moment just before.
    pub(super) fn ring(&self) {
        let waker = {
            let mut state = self.state();
            self.sleep.store(AWAKE, Ordering::Relaxed);
            state.rung = Some(Instant::now());
            state.waiting.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the task waits and has not been rung.
    pub(super) fn is_awaited(&self) -> bool {
        self.state().waiting.is_some()
    }

    /// To be called by every other task at the beginning of each of its polls: if the task began to
    /// wait on this thread, then the poll in which it did so is over.
    pub(super) fn look(&self) {
        let here = this_thread();
        // Relaxed: only this thread has stored what is compared with.
        if self.sleep.load(Ordering::Relaxed) != here {
            return;
        }
        // Release: pairs with the Acquire in `is_asleep`, so that the end of the poll comes before
        // what the ringer does. It fails if the task was rung meanwhile.
        let seen = self.sleep.compare_exchange(here, ASLEEP, Ordering::Release, Ordering::Relaxed);
        if seen.is_ok()
            && let Some(ringer) = &self.ringer
        {
            ringer.unpark();
        }
    }

    /// Whether the task waits, and somebody has seen that its last poll is over.
    pub(super) fn is_asleep(&self) -> bool {
        self.sleep.load(Ordering::Acquire) == ASLEEP
    }

    /// Waits to be rung; the moment at which that happened.
    pub(super) async fn heard(&self) -> Instant {
        poll_fn(|cx| {
            let mut state = self.state();
            if let Some(rung) = state.rung.take() {
                return Poll::Ready(rung);
            }
            match &mut state.waiting {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            // In the lock, as the store in `ring` is, so that the last of them counts.
            self.sleep.store(this_thread(), Ordering::Relaxed);
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;
    use std::thread;

    use super::*;

    #[test]
    fn only_a_poll_on_the_same_thread_shows_that_the_task_is_asleep() {
        let bell = Bell::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut heard = pin!(bell.heard());
        assert!(heard.as_mut().poll(&mut cx).is_pending());
        assert!(bell.is_awaited() && !bell.is_asleep());
        thread::scope(|scope| {
            scope.spawn(|| bell.look());
        });
        assert!(!bell.is_asleep(), "another thread may have looked during the poll");
        bell.look();
        assert!(bell.is_asleep());
        bell.ring();
        bell.look();
        assert!(!bell.is_asleep(), "it is about to be polled");
        assert!(heard.as_mut().poll(&mut cx).is_ready());
    }
}
