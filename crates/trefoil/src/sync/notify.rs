//! Wakes tasks that wait for something to have happened.

use crate::primitives::atomic::{Acquire, AtomicU32, AtomicUsize, Relaxed, Release, SeqCst};
use crate::primitives::{Mutex, MutexGuard, UnsafeCell};
use crate::task::coop;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

#[cfg(all(test, loom))]
mod loom_tests;

/// Nobody waits, and no permit is stored.
const EMPTY: usize = 0;
/// Somebody waits: the list is not empty. Entered and left under the lock.
const WAITING: usize = 1;
/// A permit is stored.
const PERMIT: usize = 2;
const STATE: usize = 0b11;
/// Above the state: how often `notify_waiters` was called.
const CALL: usize = 0b100;

/// Tells one task, or all that wait, that something has happened.
///
/// It works like a semaphore with at most one permit: [`notify_one`] hands the
/// permit to the task that has waited the longest, or stores it if nobody
/// waits; [`notified`] takes it or waits for it. [`notify_waiters`] wakes
/// everyone who waits, and stores nothing.
///
/// [`notify_one`]: Notify::notify_one
/// [`notify_waiters`]: Notify::notify_waiters
/// [`notified`]: Notify::notified
pub struct Notify {
    /// The state and the number of calls of `notify_waiters`. Both only change
    /// under the lock while somebody waits.
    word: AtomicUsize,
    waiters: Mutex<Waiters>,
}

/// Those who wait, the longest-waiting at the tail.
#[derive(Debug, Default)]
struct Waiters {
    head: Option<NonNull<Waiter>>,
    tail: Option<NonNull<Waiter>>,
}

// SAFETY: the pointers are to waiters that take themselves off, under the
// lock, before they go; and a waiter's waker is `Send`.
unsafe impl Send for Waiters {}

struct Waiter {
    /// Guarded by the lock.
    node: UnsafeCell<Node>,
    /// What it was woken by. Written under the lock, once.
    notification: AtomicU32,
    _pinned: PhantomPinned,
}

#[derive(Debug, Default)]
struct Node {
    prev: Option<NonNull<Waiter>>,
    next: Option<NonNull<Waiter>>,
    waker: Option<Waker>,
}

const NONE: u32 = 0;
const ONE_OLDEST: u32 = 1;
const ONE_NEWEST: u32 = 2;
const ALL: u32 = 3;

impl UnwindSafe for Notify {}
impl RefUnwindSafe for Notify {}

impl Notify {
    /// Without a permit.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            word: AtomicUsize::new(EMPTY),
            waiters: Mutex::new(Waiters { head: None, tail: None }),
        }
    }

    /// Without a permit.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { word: AtomicUsize::new(EMPTY), waiters: Mutex::default() }
    }

    /// As [`Notify::new`], for statics.
    #[cfg(not(loom))]
    pub const fn const_new() -> Self {
        Self::new()
    }

    /// Waits for a notification.
    ///
    /// Calls of [`notify_waiters`](Notify::notify_waiters) count from the
    /// creation of the future, those of [`notify_one`](Notify::notify_one) from
    /// its first poll, or [`enable`](Notified::enable).
    ///
    /// # Cancellation safety
    /// Dropping the future gives up the place in the queue. A permit that it
    /// was given already goes to the next.
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, wait: Wait::new(self) }
    }

    /// As [`Notify::notified`], without borrowing.
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let wait = Wait::new(&self);
        OwnedNotified { notify: self, wait }
    }

    /// Wakes the task that has waited the longest, or stores a permit.
    pub fn notify_one(&self) {
        self.notify(ONE_OLDEST);
    }

    /// Wakes the task that has waited the shortest, or stores a permit.
    pub fn notify_last(&self) {
        self.notify(ONE_NEWEST);
    }

    fn notify(&self, which: u32) {
        // SeqCst, here and in all of this file's changes of `word`: one order
        // for permits and waiters; see `Wait::poll` for who relies on it.
        let mut seen = self.word.load(SeqCst);
        while seen & STATE != WAITING {
            let next = (seen & !STATE) | PERMIT;
            match self.word.compare_exchange(seen, next, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        let waker = self.notify_locked(self.waiters.lock(), which);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn notify_locked(&self, mut waiters: MutexGuard<'_, Waiters>, which: u32) -> Option<Waker> {
        let popped = if which == ONE_NEWEST { waiters.head } else { waiters.tail };
        let Some(waiter) = popped else {
            // The last one has gone in the meantime. Without the lock nobody
            // begins to wait, but permits may come and go.
            let mut seen = self.word.load(SeqCst);
            loop {
                let next = (seen & !STATE) | PERMIT;
                match self.word.compare_exchange(seen, next, SeqCst, SeqCst) {
                    Ok(_) => return None,
                    Err(now) => seen = now,
                }
            }
        };
        // SAFETY: it is on the list, whose lock is held.
        let waker = unsafe { waiters.remove(waiter) };
        // The last touch: its owner may free it from here on.
        // SAFETY: it was on the list, and cannot go without the lock or this.
        unsafe { waiter.as_ref() }.set(which);
        if waiters.head.is_none() {
            self.leave_waiting();
        }
        waker
    }

    /// The list has become empty. Called under the lock.
    fn leave_waiting(&self) {
        // Only the lock's holder changes the word while it says `WAITING`.
        let seen = self.word.load(SeqCst);
        if seen & STATE == WAITING {
            self.word.store((seen & !STATE) | EMPTY, SeqCst);
        }
    }

    /// Wakes all tasks that wait. Stores no permit.
    pub fn notify_waiters(&self) {
        let mut waiters = self.waiters.lock();
        // Those who were created before this call, and wait after it, find the
        // number changed.
        let seen = self.word.fetch_add(CALL, SeqCst);
        if seen & STATE != WAITING {
            return;
        }
        let mut wakers = Vec::new();
        while let Some(waiter) = waiters.tail {
            // SAFETY: it is on the list, whose lock is held.
            wakers.extend(unsafe { waiters.remove(waiter) });
            // SAFETY: as in `notify_locked`.
            unsafe { waiter.as_ref() }.set(ALL);
        }
        self.leave_waiting();
        drop(waiters);
        for waker in wakers {
            waker.wake();
        }
    }
}

impl Waiter {
    fn set(&self, notification: u32) {
        // Release: pairs with `get`.
        self.notification.store(notification, Release);
    }

    fn get(&self) -> u32 {
        // Acquire: what came before the notification is visible, and the
        // notifier does not touch the waiter any more.
        self.notification.load(Acquire)
    }
}

/// # Safety
/// `waiter` is live, the lock of its list is held, and `f` reaches no other
/// reference to the node.
unsafe fn with_node<R>(waiter: NonNull<Waiter>, f: impl FnOnce(&mut Node) -> R) -> R {
    // SAFETY: the caller's promise.
    let waiter = unsafe { waiter.as_ref() };
    waiter.node.with_mut(|node| {
        // SAFETY: the caller's promise.
        f(unsafe { &mut *node })
    })
}

impl Waiters {
    /// # Safety
    /// `waiter` is live, on no list, and takes itself off before it goes.
    unsafe fn push(&mut self, waiter: NonNull<Waiter>, waker: Waker) {
        let head = self.head.replace(waiter);
        // SAFETY: the caller's promise; `&mut self` is the lock.
        unsafe {
            with_node(waiter, |node| {
                *node = Node { prev: None, next: head, waker: Some(waker) };
            });
        }
        match head {
            // SAFETY: what is on the list is live.
            Some(head) => unsafe { with_node(head, |node| node.prev = Some(waiter)) },
            None => self.tail = Some(waiter),
        }
    }

    /// # Safety
    /// `waiter` is on this list.
    unsafe fn remove(&mut self, waiter: NonNull<Waiter>) -> Option<Waker> {
        // SAFETY: the caller's promise; `&mut self` is the lock.
        let node = unsafe { with_node(waiter, std::mem::take) };
        match node.prev {
            // SAFETY: what is on the list is live.
            Some(prev) => unsafe { with_node(prev, |prev| prev.next = node.next) },
            None => self.head = node.next,
        }
        match node.next {
            // SAFETY: what is on the list is live.
            Some(next) => unsafe { with_node(next, |next| next.prev = node.prev) },
            None => self.tail = node.prev,
        }
        node.waker
    }
}

/// One wait, of a borrowing or an owning future.
struct Wait {
    phase: Phase,
    /// Calls of `notify_waiters` when the future was made.
    calls: usize,
    waiter: Waiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    /// The waiter is on the list, or was notified.
    Waiting,
    Done,
}

impl Wait {
    fn new(notify: &Notify) -> Self {
        Self {
            phase: Phase::New,
            calls: notify.word.load(SeqCst) & !STATE,
            waiter: Waiter {
                node: UnsafeCell::new(Node::default()),
                notification: AtomicU32::new(NONE),
                _pinned: PhantomPinned,
            },
        }
    }

    /// Without a waker, only takes the place in the queue.
    ///
    /// # Safety
    /// `self` is pinned, and `end` is called before it goes.
    unsafe fn poll(&mut self, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        match self.phase {
            Phase::Done => Poll::Ready(()),
            Phase::New => {
                // SAFETY: the caller's promise.
                unsafe { self.begin(notify, waker) }
            }
            Phase::Waiting => {
                // SAFETY: the waiter was put on this list.
                unsafe { self.go_on(notify, waker) }
            }
        }
    }

    /// # Safety
    /// As for `poll`.
    unsafe fn begin(&mut self, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        // The fast way, for a permit.
        let seen = notify.word.load(SeqCst);
        if seen & STATE == PERMIT && self.calls == seen & !STATE {
            let next = (seen & !STATE) | EMPTY;
            if notify.word.compare_exchange(seen, next, SeqCst, SeqCst).is_ok() {
                self.phase = Phase::Done;
                return Poll::Ready(());
            }
        }
        // Cloned before the lock is taken: it may run anything. With no waker
        // yet, any will do to hold the place.
        let waker = waker.map_or_else(|| Waker::noop().clone(), Waker::clone);
        let mut waiters = notify.waiters.lock();
        let mut seen = notify.word.load(SeqCst);
        loop {
            if seen & !STATE != self.calls {
                self.phase = Phase::Done;
                return Poll::Ready(());
            }
            // With the lock held, only permits can change the word: either ours
            // is seen here, or its giver sees `WAITING`, and waits for the lock.
            let next = match seen & STATE {
                WAITING => break,
                PERMIT => EMPTY,
                _ => WAITING,
            };
            match notify.word.compare_exchange(seen, (seen & !STATE) | next, SeqCst, SeqCst) {
                Ok(_) if next == WAITING => break,
                Ok(_) => {
                    self.phase = Phase::Done;
                    return Poll::Ready(());
                }
                Err(now) => seen = now,
            }
        }
        // SAFETY: the caller's promise; it is on no list yet.
        unsafe { waiters.push(NonNull::from(&self.waiter), waker) };
        self.phase = Phase::Waiting;
        Poll::Pending
    }

    /// # Safety
    /// The waiter was put on the list of `notify`.
    unsafe fn go_on(&mut self, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        if self.waiter.get() == NONE {
            let Some(waker) = waker else { return Poll::Pending };
            let new = waker.clone();
            let _waiters = notify.waiters.lock();
            if self.waiter.get() == NONE {
                // SAFETY: it is on the list, whose lock is held.
                let old = unsafe {
                    with_node(NonNull::from(&self.waiter), |node| node.waker.replace(new))
                };
                drop(_waiters);
                drop(old);
                return Poll::Pending;
            }
        }
        self.phase = Phase::Done;
        Poll::Ready(())
    }

    /// The future goes.
    fn end(&mut self, notify: &Notify) {
        if std::mem::replace(&mut self.phase, Phase::Done) != Phase::Waiting {
            return;
        }
        let mut waiters = notify.waiters.lock();
        match self.waiter.get() {
            NONE => {
                // SAFETY: it is on the list, whose lock is held.
                let waker = unsafe { waiters.remove(NonNull::from(&self.waiter)) };
                if waiters.head.is_none() {
                    notify.leave_waiting();
                }
                drop(waiters);
                drop(waker);
            }
            ALL => {}
            one => {
                // It was given a permit and did not use it: on to the next.
                if let Some(waker) = notify.notify_locked(waiters, one) {
                    waker.wake();
                }
            }
        }
    }
}

/// The future of [`Notify::notified`].
#[must_use = "futures do nothing unless polled"]
pub struct Notified<'a> {
    notify: &'a Notify,
    wait: Wait,
}

/// The future of [`Notify::notified_owned`].
#[must_use = "futures do nothing unless polled"]
pub struct OwnedNotified {
    notify: Arc<Notify>,
    wait: Wait,
}

// The same for both; a trait would have to be public.
macro_rules! notified {
    ($type:ty) => {
        // SAFETY: the waiter's node is guarded by the lock of its list, and
        // holds a `Waker`, which is `Send`.
        unsafe impl Send for $type {}
        // SAFETY: through a shared reference nothing can be reached.
        unsafe impl Sync for $type {}

        impl $type {
            /// Takes a place in the queue before the first poll. True if there
            /// is a notification already, which the next poll returns.
            pub fn enable(self: Pin<&mut Self>) -> bool {
                // SAFETY: nothing is moved out of the pinned value.
                let this = unsafe { self.get_unchecked_mut() };
                // SAFETY: it is pinned, and `drop` calls `end`.
                unsafe { this.wait.poll(&this.notify, None) }.is_ready()
            }
        }

        impl Future for $type {
            type Output = ();

            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                let budget = ready!(coop::poll_proceed(cx));
                // SAFETY: nothing is moved out of the pinned value.
                let this = unsafe { self.get_unchecked_mut() };
                // SAFETY: it is pinned, and `drop` calls `end`.
                ready!(unsafe { this.wait.poll(&this.notify, Some(cx.waker())) });
                budget.made_progress();
                Poll::Ready(())
            }
        }

        impl Drop for $type {
            fn drop(&mut self) {
                self.wait.end(&self.notify);
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).field("phase", &self.wait.phase).finish()
            }
        }
    };
}

notified!(Notified<'_>);
notified!(OwnedNotified);

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a snapshot for people.
        let state = match self.word.load(Relaxed) & STATE {
            WAITING => "waiting",
            PERMIT => "permit",
            _ => "empty",
        };
        f.debug_struct("Notify").field("state", &state).finish()
    }
}
