//! How another thread comes to wait at a parker while the one that waited there sleeps on.
//!
//! Both wait in the system's own way, and only one of them at a time is the parker's: the one that
//! `unpark` wakes. Which one that is, the caller decides under a lock of its own.

use super::{EMPTY, NOTIFIED, PARKED, Parker};
use crate::primitives::atomic::{AcqRel, Acquire, Relaxed};
use crate::primitives::thread::Thread;

impl Parker {
    /// Makes a thread the one that waits here, which need not be the calling one: it sleeps, or is
    /// about to. False if there is a token. The token stays, and the thread is to look for it.
    #[must_use]
    pub(crate) fn seat(&self, thread: &Thread) -> bool {
        *self.thread.lock() = Some(thread.clone());
        // Release: whoever unparks finds that thread. Acquire: pairs with `unpark` on failure.
        let before = self.word.compare_exchange(EMPTY, PARKED, AcqRel, Acquire);
        debug_assert_ne!(before, Err(PARKED), "two threads wait here");
        before != Err(NOTIFIED)
    }

    /// Makes the calling thread, which is awake, the one that waits here. A token goes: the caller
    /// looks at all that it may be for. Without that, it would look twice.
    pub(crate) fn take_seat(&self) {
        self.adopt();
        self.stand_up();
    }

    /// The thread that waits here, and calls this, waits no more. A token goes, as in `take_seat`.
    pub(crate) fn stand_up(&self) {
        // Acquire: pairs with `unpark`.
        self.word.swap(EMPTY, AcqRel);
    }

    /// As `stand_up`, for a thread that does not wait: there may be a token or not.
    pub(crate) fn drop_token(&self) {
        // Relaxed: a token that is not seen yet stays.
        if self.word.load(Relaxed) == NOTIFIED {
            self.stand_up();
        }
    }
}
