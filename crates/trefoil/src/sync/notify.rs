//! `Notify`: a signal for waiting tasks.

use crate::primitives::atomic::{Acquire, AtomicU32, AtomicUsize, Relaxed, Release, SeqCst};
use crate::primitives::{Mutex, MutexGuard, UnsafeCell};
use crate::sync::wakers::Wakers;
use crate::task::{coop, discard, wake_guarded};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

#[cfg(all(test, loom))]
mod loom_tests;

/// No task waits, and no permit is stored.
const EMPTY: usize = 0;
/// Tasks wait: the list is not empty. This state is entered and left while the lock is held.
const WAITING: usize = 1;
/// A permit is stored.
const PERMIT: usize = 2;
const STATE: usize = 0b11;
/// The unit of the counter above the state, which counts calls of `notify_waiters`.
const CALL: usize = 0b100;

/// Tells one waiting task, or all of them, that something has happened.
///
/// It works like a semaphore with at most one permit. [`notify_one`] gives a permit to the task
/// that has waited the longest, or stores the permit if no task waits. [`notified`] takes the
/// stored permit or waits for one. [`notify_waiters`] wakes all waiting tasks and stores nothing.
///
/// [`notify_one`]: Notify::notify_one
/// [`notify_waiters`]: Notify::notify_waiters
/// [`notified`]: Notify::notified
pub struct Notify {
    /// The state and the number of calls of `notify_waiters`. While tasks wait, both only change
    /// under the lock.
    word: AtomicUsize,
    waiters: Mutex<Waiters>,
}

/// The list of waiters. The one that has waited the longest is at the tail.
#[derive(Debug, Default)]
struct Waiters {
    head: Option<NonNull<Waiter>>,
    tail: Option<NonNull<Waiter>>,
}

// SAFETY: the pointers are to waiters that remove themselves under the lock before they are
// dropped, and a waiter's waker is `Send`.
unsafe impl Send for Waiters {}

struct Waiter {
    /// Guarded by the lock.
    node: UnsafeCell<Node>,
    /// What woke the waiter. It is written once, under the lock.
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
    /// A signal without a permit.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            word: AtomicUsize::new(EMPTY),
            waiters: Mutex::new(Waiters { head: None, tail: None }),
        }
    }

    /// A signal without a permit.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { word: AtomicUsize::new(EMPTY), waiters: Mutex::default() }
    }

    /// A signal without a permit, as [`Notify::new`], for statics.
    #[cfg(not(loom))]
    pub const fn const_new() -> Self {
        Self::new()
    }

    /// Waits for a notification.
    ///
    /// The future sees calls of [`notify_waiters`](Notify::notify_waiters) from its creation on. It
    /// has a place in the queue for [`notify_one`](Notify::notify_one) from its first poll or from
    /// [`enable`](Notified::enable) on.
    ///
    /// # Cancellation safety
    /// A future that is dropped loses its place in the queue. If it has been given a permit, the
    /// permit goes to the next waiter.
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, wait: Wait::new(self) }
    }

    /// Waits for a notification, as [`Notify::notified`]. The future owns the signal instead of
    /// borrowing it.
    ///
    /// # Cancellation safety
    /// That of [`Notify::notified`].
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
        // SeqCst, here and in all of this file's changes of `word`: there is one order of permits
        // and waiters, on which `Wait::begin` relies.
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
            // The last waiter has left in the meantime. No other one can begin to wait without the
            // lock, but permits may come and go.
            let mut seen = self.word.load(SeqCst);
            loop {
                let next = (seen & !STATE) | PERMIT;
                match self.word.compare_exchange(seen, next, SeqCst, SeqCst) {
                    Ok(_) => return None,
                    Err(now) => seen = now,
                }
            }
        };
        // SAFETY: the waiter is on the list, whose lock is held.
        let waker = unsafe { waiters.end_wait(waiter, which) };
        if waiters.head.is_none() {
            self.leave_waiting();
        }
        waker
    }

    /// Says that the list is empty. The caller holds the lock.
    fn leave_waiting(&self) {
        // While the word says `WAITING`, only the thread that holds the lock changes it.
        let seen = self.word.load(SeqCst);
        if seen & STATE == WAITING {
            self.word.store((seen & !STATE) | EMPTY, SeqCst);
        }
    }

    /// Wakes all tasks that wait. Stores no permit.
    ///
    /// # Panics
    /// If a waker does: with the first such panic, once all are woken.
    pub fn notify_waiters(&self) {
        // If one of them panics, the others are woken all the same: nobody else would do that.
        let mut panic = None;
        self.wake_waiters(|payload| match &panic {
            Some(_) => discard(payload),
            None => panic = Some(payload),
        });
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// As `notify_waiters`. Panics of wakers are stopped: for destructors, and for those who have
    /// more to do.
    pub(crate) fn notify_waiters_guarded(&self) {
        self.wake_waiters(discard);
    }

    fn wake_waiters(&self, mut on_panic: impl FnMut(Box<dyn Any + Send>)) {
        // While nobody waits, the number is all there is to change, and those who are about to wait
        // need not be kept from the lock.
        let mut seen = self.word.load(SeqCst);
        while seen & STATE != WAITING {
            match self.word.compare_exchange(seen, seen.wrapping_add(CALL), SeqCst, SeqCst) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        let mut waiters = self.waiters.lock();
        // A future that was created before this call and begins to wait after it finds the number
        // changed.
        let seen = self.word.fetch_add(CALL, SeqCst);
        if seen & STATE != WAITING {
            return;
        }
        // A permit that comes from here on is for those who begin to wait from here on.
        self.leave_waiting();
        let guard = pin!(Waiter::new());
        let guard = NonNull::from(&*guard);
        // SAFETY: the guard is pinned, new and on no list. It is the last one on the list that it
        // is put on: the loop ends with that, and nothing in it unwinds.
        unsafe { waiters.move_behind(guard) };
        let mut wakers = Wakers::new();
        loop {
            let is_last = loop {
                // SAFETY: 1: it is a part of this function. 2: the lock is held.
                let oldest = unsafe { with_node(guard, |node| node.prev) };
                let Some(waiter) = oldest.filter(|&oldest| oldest != guard) else { break true };
                if wakers.room() == 0 {
                    break false;
                }
                // SAFETY: the waiter is on the list of the guard, whose lock is held.
                let waker = unsafe { waiters.end_wait(waiter, ALL) };
                waker.into_iter().for_each(|waker| wakers.add(waker));
            };
            drop(waiters);
            wakers.wake_or(&mut on_panic);
            if is_last {
                return;
            }
            waiters = self.waiters.lock();
        }
    }
}

impl Waiter {
    fn new() -> Self {
        Self {
            node: UnsafeCell::new(Node::default()),
            notification: AtomicU32::new(NONE),
            _pinned: PhantomPinned,
        }
    }

    fn set(&self, notification: u32) {
        // Release: pairs with the Acquire in `get`.
        self.notification.store(notification, Release);
    }

    fn get(&self) -> u32 {
        // Acquire: pairs with the Release in `set`. What came before the notification is visible,
        // and the notifier's accesses to the waiter are over.
        self.notification.load(Acquire)
    }
}

/// # Safety
/// 1. `waiter` is live.
/// 2. The lock of its list is held, and `f` makes no other reference to the node.
unsafe fn with_node<R>(waiter: NonNull<Waiter>, f: impl FnOnce(&mut Node) -> R) -> R {
    // SAFETY: the waiter is live by 1.
    let waiter = unsafe { waiter.as_ref() };
    waiter.node.with_mut(|node| {
        // SAFETY: by 2, there is no other reference to the node.
        f(unsafe { &mut *node })
    })
}

impl Waiters {
    /// # Safety
    /// `waiter` is live and on no list, and it removes itself before it is dropped.
    unsafe fn push(&mut self, waiter: NonNull<Waiter>, waker: Waker) {
        let head = self.head.replace(waiter);
        // SAFETY: 1: the caller promises it. 2: `&mut self` comes from the lock.
        unsafe {
            with_node(waiter, |node| {
                *node = Node { prev: None, next: head, waker: Some(waker) };
            });
        }
        match head {
            // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
            Some(head) => unsafe { with_node(head, |node| node.prev = Some(waiter)) },
            None => self.tail = Some(waiter),
        }
    }

    /// Moves all waiters to a list of their own, a ring that `guard` closes. There, a waiter always
    /// has neighbours, so that `remove` takes it from that list and touches nothing of this one.
    /// The oldest waiter is the one before the guard.
    ///
    /// # Safety
    /// `guard` is live and on no list, and it stays live until it is alone on its list.
    unsafe fn move_behind(&mut self, guard: NonNull<Waiter>) {
        let (Some(head), Some(tail)) = (self.head.take(), self.tail.take()) else { return };
        // SAFETY: 1: the caller promises it. 2: `&mut self` comes from the lock.
        unsafe { with_node(guard, |node| (node.prev, node.next) = (Some(tail), Some(head))) };
        // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
        unsafe { with_node(head, |node| node.prev = Some(guard)) };
        // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
        unsafe { with_node(tail, |node| node.next = Some(guard)) };
    }

    /// # Safety
    /// `waiter` is on this list, or on one that was moved away from it.
    unsafe fn remove(&mut self, waiter: NonNull<Waiter>) -> Option<Waker> {
        // SAFETY: 1: the caller promises that it is on the list. 2: `&mut self` comes from the
        // lock.
        let node = unsafe { with_node(waiter, std::mem::take) };
        match node.prev {
            // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
            Some(prev) => unsafe { with_node(prev, |prev| prev.next = node.next) },
            None => self.head = node.next,
        }
        match node.next {
            // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
            Some(next) => unsafe { with_node(next, |next| next.prev = node.prev) },
            None => self.tail = node.prev,
        }
        node.waker
    }

    /// Removes a waiter whose wait is over. Its owner may free it from here on.
    ///
    /// # Safety
    /// As for `remove`.
    unsafe fn end_wait(&mut self, waiter: NonNull<Waiter>, notification: u32) -> Option<Waker> {
        // SAFETY: the caller promises it.
        let waker = unsafe { self.remove(waiter) };
        // SAFETY: its owner does not free it without the lock or this notification.
        unsafe { waiter.as_ref() }.set(notification);
        waker
    }
}

/// One wait, inside of a future that borrows the signal or owns it.
struct Wait {
    phase: Phase,
    /// The number of calls of `notify_waiters` when the future was made.
    calls: usize,
    waiter: Waiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    /// The waiter is on the list, or was notified and has not said so yet.
    Waiting,
    Done,
}

impl Wait {
    fn new(notify: &Notify) -> Self {
        Self { phase: Phase::New, calls: notify.word.load(SeqCst) & !STATE, waiter: Waiter::new() }
    }

    /// Polls for a notification. Without a waker, this only takes a place in the queue.
    ///
    /// # Safety
    /// `self` is pinned, and `end` is called before it is dropped.
    unsafe fn poll(&mut self, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        let is_over = match self.phase {
            Phase::Done => return Poll::Ready(()),
            // SAFETY: the caller promises what `begin` asks for.
            Phase::New => unsafe { self.begin(notify, waker) },
            // SAFETY: in this phase, `begin` has been called.
            Phase::Waiting => unsafe { self.go_on(notify, waker) },
        };
        ready!(is_over);
        self.phase = Phase::Done;
        Poll::Ready(())
    }

    /// The first poll, of a task without budget. It takes a place in the queue all the same: of
    /// several futures that one task polls in turn, each would be without a place otherwise, and
    /// two notifications would become one permit.
    ///
    /// # Safety
    /// As for `poll`.
    unsafe fn take_place(&mut self, notify: &Notify, waker: &Waker) {
        if self.phase == Phase::New {
            // A notification that is there already is kept for a later poll.
            // SAFETY: the caller promises what `begin` asks for.
            let _ = unsafe { self.begin(notify, Some(waker)) };
        }
    }

    /// Begins to wait, which may be over at once.
    ///
    /// # Safety
    /// `self` is pinned and new, and `end` is called before it is dropped.
    unsafe fn begin(&mut self, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        // The fast path takes a permit without the lock. It is guessed to be there: where others
        // change the word all the time, a look at it is as dear as the exchange.
        let (permit, empty) = (self.calls | PERMIT, self.calls | EMPTY);
        if notify.word.compare_exchange(permit, empty, SeqCst, SeqCst).is_ok() {
            self.phase = Phase::Waiting;
            return self.has_been_notified(ONE_OLDEST);
        }
        // The clone comes before the lock, because it may run any code. Without a waker, a waker
        // that does nothing keeps the place.
        let waker = waker.map_or_else(|| Waker::noop().clone(), Waker::clone);
        // Only now, because the clone may panic: `end` takes a waiter for one on the list if the
        // wait has begun and nobody has notified it. From here on, nothing unwinds before either
        // is true.
        self.phase = Phase::Waiting;
        let mut waiters = notify.waiters.lock();
        // A new look: what the exchange above has seen is from before the lock. `WAITING` would be
        // trusted wrongly, and beside a thread that notifies without pause a permit has come since,
        // so that an exchange by the old value fails.
        let mut seen = notify.word.load(SeqCst);
        loop {
            if seen & !STATE != self.calls {
                return self.has_been_notified(ALL);
            }
            // While the lock is held, only permits and calls of `notify_waiters` change the word.
            // Either they are seen here, or the thread that gives the permit or calls sees
            // `WAITING` and waits for the lock.
            let next = match seen & STATE {
                WAITING => break,
                PERMIT => EMPTY,
                _ => WAITING,
            };
            match notify.word.compare_exchange(seen, (seen & !STATE) | next, SeqCst, SeqCst) {
                Ok(_) if next == WAITING => break,
                Ok(_) => return self.has_been_notified(ONE_OLDEST),
                Err(now) => seen = now,
            }
        }
        // SAFETY: the waiter is pinned and so stays live, it is new and so on no list, and `end`
        // removes it.
        unsafe { waiters.push(NonNull::from(&self.waiter), waker) };
        Poll::Pending
    }

    /// The wait was over as it began; the waiter is on no list.
    fn has_been_notified(&self, notification: u32) -> Poll<()> {
        self.waiter.set(notification);
        Poll::Ready(())
    }

    /// A later poll.
    ///
    /// # Safety
    /// `begin` has been called: without a notification, the waiter is on the list of `notify`.
    unsafe fn go_on(&mut self, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        if self.waiter.get() == NONE {
            let Some(waker) = waker else { return Poll::Pending };
            let new = waker.clone();
            let _waiters = notify.waiters.lock();
            if self.waiter.get() == NONE {
                // SAFETY: 1: the waiter is a part of `self`. 2: it is still on the list, whose lock
                // is held.
                let old = unsafe {
                    with_node(NonNull::from(&self.waiter), |node| node.waker.replace(new))
                };
                drop(_waiters);
                drop(old);
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    /// The future is dropped.
    fn end(&mut self, notify: &Notify) {
        if std::mem::replace(&mut self.phase, Phase::Done) != Phase::Waiting {
            return;
        }
        let mut waiters = notify.waiters.lock();
        match self.waiter.get() {
            NONE => {
                // SAFETY: a waiter without a notification is still on the list, whose lock is held.
                let waker = unsafe { waiters.remove(NonNull::from(&self.waiter)) };
                if waiters.head.is_none() {
                    notify.leave_waiting();
                }
                drop(waiters);
                drop(waker);
            }
            ALL => {}
            one => {
                // The waiter was given a permit and did not use it, so the permit goes to the next
                // one.
                // Guarded: this is a drop, maybe one of an unwinding.
                notify.notify_locked(waiters, one).into_iter().for_each(wake_guarded);
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

// A macro implements both futures, because a trait would have to be public.
macro_rules! notified {
    ($type:ty) => {
        // SAFETY: the lock of the list guards the waiter's node, which holds a `Waker`, which is
        // `Send`.
        unsafe impl Send for $type {}
        // SAFETY: a shared reference gives access to nothing but the phase, which only `&mut self`
        // changes.
        unsafe impl Sync for $type {}

        impl $type {
            /// Takes a place in the queue without a poll. True if there is a notification already:
            /// the next poll then returns at once.
            pub fn enable(self: Pin<&mut Self>) -> bool {
                // SAFETY: nothing is moved out of the pinned value.
                let this = unsafe { self.get_unchecked_mut() };
                // SAFETY: the future is pinned, and its `drop` calls `end`.
                unsafe { this.wait.poll(&this.notify, None) }.is_ready()
            }
        }

        impl Future for $type {
            type Output = ();

            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                // SAFETY: nothing is moved out of the pinned value.
                let this = unsafe { self.get_unchecked_mut() };
                let Poll::Ready(budget) = coop::poll_proceed(cx) else {
                    // SAFETY: the future is pinned, and its `drop` calls `end`.
                    unsafe { this.wait.take_place(&this.notify, cx.waker()) };
                    return Poll::Pending;
                };
                // SAFETY: the future is pinned, and its `drop` calls `end`.
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
        // Relaxed: a snapshot for debug output.
        let state = match self.word.load(Relaxed) & STATE {
            WAITING => "waiting",
            PERMIT => "permit",
            _ => "empty",
        };
        f.debug_struct("Notify").field("state", &state).finish()
    }
}
