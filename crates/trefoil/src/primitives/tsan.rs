//! Locks and parked threads whose synchronisation ThreadSanitizer can see.
//!
//! ThreadSanitizer only follows code that was compiled with it. The standard library that comes
//! with a toolchain was not: ThreadSanitizer does not see the slow path of its mutex, its condition
//! variable and its `park`, so accesses that they order look like a race. Here `std` still blocks
//! and wakes, and a word that this crate accesses repeats the order that `std` guarantees: the end
//! of one critical section releases it, and the start of the next one acquires it. A mutex promises
//! no less, so this hides no race.

#[cfg(trefoil_tsan_fences)]
mod fence;
mod rw_lock;

pub(crate) use rw_lock::{RwLock, RwLockReadGuard};

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

/// `std`'s mutex, without poisoning, and the word that repeats its order.
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

    pub(crate) fn get_mut(&mut self) -> &mut T {
        // Acquire: pairs with the last `end`, as in `start`.
        self.order.load(Acquire);
        self.std.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        // Acquire: pairs with the last `end`, as `start` does.
        self.order.load(Acquire);
        self.std.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a, T> MutexGuard<'a, T> {
    /// Called when the lock has just been taken.
    fn start(mutex: &'a Mutex<T>, std: std::sync::MutexGuard<'a, T>) -> Self {
        // Acquire: pairs with the last `end`. The lock makes sure that this reads its value.
        mutex.order.load(Acquire);
        Self { std: ManuallyDrop::new(std), mutex }
    }

    /// Called when the lock is about to be released.
    fn end(&self) {
        // Release: pairs with the next `start`. A store is enough, because this section has
        // acquired what all earlier ones released.
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
        // SAFETY: this happens once, at the end of the guard's life.
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

/// `std`'s condition variable. It orders nothing by itself. The lock does, and the guard tells
/// ThreadSanitizer so.
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

    /// Returns the guard, and whether the wait has timed out.
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
    pub(crate) use std::thread::{ThreadId, panicking, yield_now};

    use std::sync::Arc;
    use std::time::Duration;

    /// A thread that can be unparked. It is not `std`'s, because code that ThreadSanitizer does not
    /// see changes the reference count of that one.
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

    /// A handle that can unpark the calling thread. If the locals of the thread are destroyed, the
    /// handle cannot unpark it, and `park` returns at once, as `std`'s does.
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

    pub(crate) fn own_id() -> ThreadId {
        std::thread::current().id()
    }

    /// Waits until the thread is unparked. It may also return spuriously.
    pub(crate) fn park() {
        let token = current().0;
        let mut has_token = token.has_token.lock();
        if !*has_token {
            has_token = token.came.wait(has_token);
        }
        *has_token = false;
    }

    /// As `park`, for at most the given time.
    pub(crate) fn park_timeout(timeout: Duration) {
        let token = current().0;
        let mut has_token = token.has_token.lock();
        if !*has_token {
            has_token = token.came.wait_timeout(has_token, timeout).0;
        }
        *has_token = false;
    }
}
