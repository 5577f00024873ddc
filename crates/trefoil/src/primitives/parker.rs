//! The parker: how a thread waits, and how another thread wakes it.

use crate::primitives::atomic::{AcqRel, Acquire, AtomicU32, Relaxed};
use crate::primitives::{Mutex, thread};
use std::cell::RefCell;
use std::sync::Arc;
use std::task::Wake;
use std::time::{Duration, Instant};

mod seat;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;
/// The thread waits elsewhere, where only the [`Interrupt`] reaches it.
const POLLING: u32 = 3;

/// Ends a wait that is not in the parker, such as that for the system's events.
pub(crate) trait Interrupt: std::fmt::Debug + Send + Sync {
    /// The next wait of whoever is there ends at once, or the present one does.
    fn interrupt(&self);
}

/// A token for one waiting thread at a time, and for one of its waits. If two nested waits shared a
/// parker, they would lose each other's wake-ups.
///
/// If no thread is parked, `unpark` costs one exchange. It calls the system only for a thread that
/// really sleeps. A thread sleeps in `std`'s `park`, which is one futex on Linux. Foreign code may
/// take `std`'s own token; this does no harm, because only the word in here counts.
#[derive(Debug)]
pub(crate) struct Parker {
    word: AtomicU32,
    /// The thread that waits here. It changes when another thread becomes the worker.
    thread: Mutex<Option<thread::Thread>>,
    /// Reaches a thread that waits elsewhere.
    interrupt: Option<Arc<dyn Interrupt>>,
}

impl Parker {
    /// A parker for the calling thread.
    pub(crate) fn new() -> Self {
        Self::with_interrupt(None)
    }

    /// A parker for a thread that also waits where `interrupt` reaches it.
    pub(crate) fn with_interrupt(interrupt: Option<Arc<dyn Interrupt>>) -> Self {
        Self { word: AtomicU32::new(EMPTY), thread: Mutex::new(None), interrupt }
    }

    /// Makes the calling thread the one that waits here.
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

    /// Waits for a token, for at most the given time. Returns whether it has taken one.
    pub(crate) fn park_timeout(&self, timeout: Duration) -> bool {
        if timeout.is_zero() {
            // Acquire: pairs with `unpark`.
            return self.word.swap(EMPTY, AcqRel) == NOTIFIED;
        }
        if !self.prepare() {
            return true;
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
        // Acquire: pairs with `unpark`, whose token this may still take.
        self.word.swap(EMPTY, AcqRel) == NOTIFIED
    }

    /// As [`park_timeout`](Self::park_timeout), or without an end.
    pub(crate) fn park_at_most(&self, timeout: Option<Duration>) -> bool {
        match timeout {
            None => {
                self.park();
                true
            }
            Some(timeout) => self.park_timeout(timeout),
        }
    }

    /// Announces a wait elsewhere, until [`end_poll`](Self::end_poll). If there is a token, takes
    /// it, and returns false: there must be no wait.
    #[cfg(feature = "net")]
    pub(crate) fn begin_poll(&self) -> bool {
        debug_assert!(self.interrupt.is_some(), "nothing would end the wait");
        self.announce(POLLING)
    }

    /// The wait elsewhere has ended, by the interrupt or by itself. Takes the token, if there is
    /// one, and returns whether there was.
    #[cfg(feature = "net")]
    pub(crate) fn end_poll(&self) -> bool {
        // Acquire: pairs with `unpark`.
        self.word.swap(EMPTY, AcqRel) == NOTIFIED
    }

    fn prepare(&self) -> bool {
        self.announce(PARKED)
    }

    /// Announces the sleep. If there is a token, takes it, and returns false.
    fn announce(&self, wait: u32) -> bool {
        // Acquire: pairs with `unpark` on failure. Release is not needed, but an RMW costs the same
        // with it here.
        match self.word.compare_exchange(EMPTY, wait, AcqRel, Acquire) {
            Ok(_) => true,
            Err(_) => {
                // Acquire: pairs with `unpark`. There may be a newer token.
                self.word.swap(EMPTY, AcqRel);
                false
            }
        }
    }

    /// Gives a token, and wakes the thread if it waits. Returns whether it did.
    pub(crate) fn unpark(&self) -> bool {
        // Release: what came before is visible to the thread that is woken. Acquire: this exchange
        // may be the last access before a shutdown.
        match self.word.swap(NOTIFIED, AcqRel) {
            PARKED => {}
            POLLING => {
                // It may come late, and end the wait of another thread: that one looks around and
                // waits again.
                if let Some(interrupt) = &self.interrupt {
                    interrupt.interrupt();
                }
                return true;
            }
            _ => return false,
        }
        let thread = self.thread.lock().clone();
        if let Some(thread) = thread {
            thread.unpark();
        }
        true
    }

    /// Whether the thread waits at the moment. It is for debug output and for hints.
    pub(crate) fn is_parked(&self) -> bool {
        // Relaxed: a snapshot.
        matches!(self.word.load(Relaxed), PARKED | POLLING)
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

/// A parker for one wait of the calling thread. An inner wait gets another parker, because it must
/// not take the tokens of the outer one.
///
/// An earlier wait may have used the parker, and its wakers may still give tokens, which then are
/// spurious.
#[derive(Debug)]
pub(crate) struct ParkerGuard {
    parker: Arc<Parker>,
}

impl ParkerGuard {
    /// Takes the thread's free parker, or makes a new one.
    pub(crate) fn new() -> Self {
        // There is none if the thread is ending and its locals are destroyed.
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
        // If there are several, one of them is kept. A parker has no destructor that could get back
        // to here.
        let _ = FREE.try_with(|free| free.borrow_mut().replace(Arc::clone(&self.parker)));
    }
}
