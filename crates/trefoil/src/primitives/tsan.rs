//! Locks and parked threads whose hand-overs ThreadSanitizer can see.
//!
//! It follows only what was compiled with it. The standard library that comes
//! with a toolchain was not: the slow path of its mutex, its condition variable
//! and its `park` are blank spots, and whatever they order looks like a race.
//! Here `std` blocks and wakes as ever, and a word that this crate accesses
//! repeats the order that `std` guarantees: the end of one critical section
//! releases it, and the start of the next one acquires it. That is all that a
//! mutex promises, so no race hides behind it that a mutex would not order.

mod fence;

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

/// `std`'s mutex, without poisoning, and the word that stands for its order.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    std: std::sync::Mutex<T>,
    /// Written by whoever holds the lock.
    order: AtomicU32,
}

/// A critical section.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    std: ManuallyDrop<std::sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { std: std::sync::Mutex::new(value), order: AtomicU32::new(0) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard::start(self, self.std.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<'a, T> MutexGuard<'a, T> {
    /// The lock has just been taken.
    fn start(mutex: &'a Mutex<T>, std: std::sync::MutexGuard<'a, T>) -> Self {
        // Acquire: pairs with the last `end`, whose value this is: the lock
        // lies between the two.
        mutex.order.load(Acquire);
        Self { std: ManuallyDrop::new(std), mutex }
    }

    /// The lock is about to be given back.
    fn end(&self) {
        // Release: pairs with the next `start`. A store is enough, since this
        // section has acquired what all earlier ones released.
        self.mutex.order.store(0, Release);
    }

    /// Says that the section ends, and leaves the lock to the caller.
    fn into_std(self) -> (&'a Mutex<T>, std::sync::MutexGuard<'a, T>) {
        self.end();
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped and not used again.
        let std = unsafe { ManuallyDrop::take(&mut this.std) };
        (this.mutex, std)
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.end();
        // SAFETY: once, at the end of the guard's life.
        unsafe { ManuallyDrop::drop(&mut self.std) };
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.std
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.std
    }
}

/// `std`'s condition variable. It orders nothing by itself: what a waiter sees
/// is what the lock orders, which the guard knows.
#[derive(Debug, Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let (mutex, std) = guard.into_std();
        MutexGuard::start(mutex, self.0.wait(std).unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the guard and whether the time ran out.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let (mutex, std) = guard.into_std();
        let (std, result) =
            self.0.wait_timeout(std, timeout).unwrap_or_else(PoisonError::into_inner);
        (MutexGuard::start(mutex, std), result.timed_out())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

pub(crate) mod thread {
    use super::{Condvar, Mutex};
    pub(crate) use crate::primitives::spawn_detached as spawn;
    pub(crate) use std::thread::panicking;

    use std::sync::Arc;
    use std::time::Duration;

    /// A thread that can be unparked. Not `std`'s, whose reference count is
    /// also changed by code that ThreadSanitizer does not see.
    #[derive(Clone, Debug)]
    pub(crate) struct Thread(Arc<ParkToken>);

    #[derive(Debug)]
    struct ParkToken {
        has_token: Mutex<bool>,
        came: Condvar,
    }

    thread_local! {
        static CURRENT: Thread =
            Thread(Arc::new(ParkToken { has_token: Mutex::new(false), came: Condvar::new() }));
    }

    /// The calling thread, for whoever is to unpark it. A thread whose locals
    /// are gone gets a handle that cannot unpark it; like `std`'s `park`,
    /// `park` then returns at once.
    pub(crate) fn current() -> Thread {
        CURRENT.try_with(Thread::clone).unwrap_or_else(|_| {
            Thread(Arc::new(ParkToken { has_token: Mutex::new(true), came: Condvar::new() }))
        })
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            *self.0.has_token.lock() = true;
            self.0.came.notify_one();
        }
    }

    /// Waits until it is unparked, or returns for no reason.
    pub(crate) fn park() {
        let token = current().0;
        let mut has_token = token.has_token.lock();
        if !*has_token {
            has_token = token.came.wait(has_token);
        }
        *has_token = false;
    }

    /// As `park`, for so long at most.
    pub(crate) fn park_timeout(timeout: Duration) {
        let token = current().0;
        let mut has_token = token.has_token.lock();
        if !*has_token {
            has_token = token.came.wait_timeout(has_token, timeout).0;
        }
        *has_token = false;
    }
}
