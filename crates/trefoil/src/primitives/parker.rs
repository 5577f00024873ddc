//! How a thread waits, and how it is told to go on.

use crate::primitives::atomic::{AcqRel, Acquire, AtomicU32, Relaxed};
use crate::primitives::{Mutex, thread};
use std::cell::RefCell;
use std::sync::Arc;
use std::task::Wake;
use std::time::{Duration, Instant};

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// A token for one waiting thread at a time, and for one of its waits: two that
/// are nested and share a parker lose each other's wake-ups.
///
/// An `unpark` that finds nobody parked costs one exchange; the system is only
/// called for a thread that really sleeps. The sleep is `std`'s `park`, which
/// on Linux is one futex; its own token may be spent by foreign code, which is
/// harmless, since only the word here counts.
#[derive(Debug)]
pub(crate) struct Parker {
    word: AtomicU32,
    /// The thread that waits here. It changes when another thread becomes the worker.
    thread: Mutex<Option<thread::Thread>>,
}

impl Parker {
    /// For the calling thread.
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(EMPTY), thread: Mutex::new(None) }
    }

    /// From now on the calling thread is the one that waits here.
    pub(crate) fn adopt(&self) {
        *self.thread.lock() = Some(thread::current());
    }

    /// Waits for a token, and takes it.
    pub(crate) fn park(&self) {
        if self.prepare() {
            // Acquire: pairs with `unpark`.
            while self.word.compare_exchange(NOTIFIED, EMPTY, AcqRel, Acquire).is_err() {
                thread::park();
            }
        }
    }

    /// Waits for a token for so long at most.
    pub(crate) fn park_timeout(&self, timeout: Duration) {
        if timeout.is_zero() {
            // Acquire: pairs with `unpark`.
            self.word.swap(EMPTY, AcqRel);
            return;
        }
        if !self.prepare() {
            return;
        }
        let deadline = Instant::now().checked_add(timeout);
        let mut left = timeout;
        loop {
            thread::park_timeout(left);
            // Acquire: pairs with `unpark`.
            if self.word.load(Acquire) == NOTIFIED {
                break;
            }
            left = match deadline {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
                None => timeout,
            };
            if left.is_zero() {
                break;
            }
        }
        // Acquire: pairs with `unpark`, whose token this may take at last.
        self.word.swap(EMPTY, AcqRel);
    }

    /// False if there was a token, which is gone then.
    fn prepare(&self) -> bool {
        // Acquire: pairs with `unpark` on failure. Release: none is needed, but
        // an RMW on this path costs the same with it.
        match self.word.compare_exchange(EMPTY, PARKED, AcqRel, Acquire) {
            Ok(_) => true,
            Err(_) => {
                // Acquire: as above; there may be a newer token.
                self.word.swap(EMPTY, AcqRel);
                false
            }
        }
    }

    /// Gives a token, and wakes the thread if it waits. Returns whether it did.
    pub(crate) fn unpark(&self) -> bool {
        // Release: what came before is visible to the thread that continues.
        // Acquire: this exchange may be the last thing before a shutdown.
        if self.word.swap(NOTIFIED, AcqRel) != PARKED {
            return false;
        }
        let thread = self.thread.lock().clone();
        if let Some(thread) = thread {
            thread.unpark();
        }
        true
    }

    /// Whether the thread waits at the moment; for people and statistics.
    pub(crate) fn is_parked(&self) -> bool {
        // Relaxed: a snapshot.
        self.word.load(Relaxed) == PARKED
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

thread_local! {
    static FREE: RefCell<Option<Arc<Parker>>> = const { RefCell::new(None) };
}

/// A parker for one wait of the calling thread, and no other one that is under
/// way: a wait within a wait must not take the tokens of the outer one.
///
/// It may have served an earlier wait, whose wakers may still give it tokens
/// that are for nobody.
#[derive(Debug)]
pub(crate) struct ParkerGuard {
    parker: Arc<Parker>,
}

impl ParkerGuard {
    /// The thread's free one, or a new one.
    pub(crate) fn new() -> Self {
        // There is none when the thread is on its way out, its locals gone.
        let free = FREE.try_with(|free| free.borrow_mut().take()).ok().flatten();
        Self { parker: free.unwrap_or_else(Self::make) }
    }

    fn make() -> Arc<Parker> {
        let parker = Parker::new();
        parker.adopt();
        Arc::new(parker)
    }

    pub(crate) fn parker(&self) -> &Arc<Parker> {
        &self.parker
    }
}

impl Drop for ParkerGuard {
    fn drop(&mut self) {
        // Of several, one is kept. A parker has no destructor that could come
        // back here.
        let _ = FREE.try_with(|free| free.borrow_mut().replace(Arc::clone(&self.parker)));
    }
}
