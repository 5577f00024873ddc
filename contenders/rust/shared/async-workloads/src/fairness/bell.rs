//! One task waits, another or a thread wakes it and leaves the time.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread::Thread;
use std::time::Instant;

/// Passes a moment to the one task that waits for it. No channel of any runtime, so that nothing
/// but the wake differs, and no budget of any runtime counts it.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    /// Unparked whenever the task begins to wait.
    ringer: Option<Thread>,
}

#[derive(Debug, Default)]
struct State {
    rung: Option<Instant>,
    waiting: Option<Waker>,
}

impl Bell {
    /// A bell that unparks `ringer` whenever the task begins to wait.
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

    /// Waits to be rung; the moment at which that happened.
    pub(super) async fn heard(&self) -> Instant {
        poll_fn(|cx| {
            {
                let mut state = self.state();
                if let Some(rung) = state.rung.take() {
                    return Poll::Ready(rung);
                }
                match &mut state.waiting {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
            }
            if let Some(ringer) = &self.ringer {
                ringer.unpark();
            }
            Poll::Pending
        })
        .await
    }
}
