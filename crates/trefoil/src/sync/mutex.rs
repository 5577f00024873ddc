//! `Mutex`: a value that one has at a time.

use super::guard::show_as_value;
use super::permits::Permits;
use crate::primitives::UnsafeCell;
use crate::scheduler::block_on;
use std::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

mod mapped;

pub use mapped::{MappedMutexGuard, OwnedMappedMutexGuard};

/// A lock that is held across `.await`.
///
/// A lock of the standard library is faster, and right for a value that is only looked at or
/// changed for a moment. This one is for those that must keep it while they wait for something
/// else, such as a connection. Waiting for it blocks the task, and not its thread.
///
/// The lock is fair: it is given in the order of the first polls, and nobody who asks later, not
/// even by [`try_lock`](Self::try_lock), overtakes one who waits. A future that was given the lock
/// and is neither polled nor dropped keeps it.
///
/// There is no poisoning. A panic of one who has the lock unlocks it, and the value stays as it was
/// left.
///
/// ```
/// use std::sync::Arc;
/// use trefoil::sync::Mutex;
///
/// # #[trefoil::main]
/// # async fn main() {
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let tasks = Vec::from_iter((0..10).map(|n| {
///     let log = Arc::clone(&log);
///     trefoil::spawn(async move {
///         let mut log = log.lock().await;
///         log.push(n);
///         // The others wait meanwhile.
///         trefoil::task::yield_now().await;
///         assert_eq!(log.last(), Some(&n));
///     })
/// }));
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(log.lock().await.len(), 10);
/// # }
/// ```
pub struct Mutex<T: ?Sized> {
    /// One, which is never closed.
    permit: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves with the lock, and whoever drops the lock drops it.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: one thread at a time reaches the value, and passes it on by the permit. The value is not
// shared, so `T: Send` is enough.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// Somebody else has the lock, or waits for it.
#[derive(Debug)]
pub struct TryLockError(pub(super) ());

const NEVER_CLOSED: &str = "nobody closes the permit of a mutex";

/// What a lock is reached by: a guard keeps it, and gives the permit back by it.
trait HasPermit {
    fn permit(&self) -> &Permits;
}

impl<T: ?Sized> HasPermit for &Mutex<T> {
    fn permit(&self) -> &Permits {
        &self.permit
    }
}

impl<T: ?Sized> HasPermit for Arc<Mutex<T>> {
    fn permit(&self) -> &Permits {
        &self.permit
    }
}

impl HasPermit for &Permits {
    fn permit(&self) -> &Permits {
        self
    }
}

/// The right to the value of a mutex.
///
/// **Invariant:** it stands for the mutex's permit, of which there is one.
struct Locked<L: HasPermit> {
    lock: L,
}

impl<L: HasPermit> Drop for Locked<L> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permit().release(1);
    }
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self { permit: Permits::new(1), value: UnsafeCell::new(value) }
    }

    /// An unlocked mutex.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self { permit: Permits::new(1), value: UnsafeCell::new(value) }
    }

    /// An unlocked mutex, as [`Mutex::new`], for statics.
    #[cfg(not(loom))]
    pub const fn const_new(value: T) -> Self {
        Self::new(value)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    ///
    /// # Cancellation safety
    /// A future that is dropped loses its place in the queue, and nothing else: the lock goes to
    /// the next one.
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        self.permit.acquire(1).await.expect(NEVER_CLOSED);
        MutexGuard { locked: Locked { lock: self } }
    }

    /// Waits for the lock. The guard owns the mutex instead of borrowing it.
    ///
    /// # Cancellation safety
    /// That of [`Mutex::lock`].
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        self.permit.acquire(1).await.expect(NEVER_CLOSED);
        OwnedMutexGuard { locked: Locked { lock: self } }
    }

    /// Blocks the thread until it has the lock. It queues with those that wait asynchronously.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trefoil::sync::Mutex;
    ///
    /// # #[trefoil::main]
    /// # async fn main() {
    /// let count = Arc::new(Mutex::new(0));
    /// let guard = count.lock().await;
    /// let its = Arc::clone(&count);
    /// let thread = std::thread::spawn(move || *its.blocking_lock() += 1);
    /// assert_eq!(*guard, 0);
    /// drop(guard);
    /// thread.join().unwrap();
    /// assert_eq!(*count.lock().await, 1);
    /// # }
    /// ```
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    #[doc(alias = "lock_blocking")]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        block_on::blocking(self.lock())
    }

    /// Blocks the thread until it has the lock. The guard owns the mutex instead of borrowing it.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        block_on::blocking(self.lock_owned())
    }

    /// Takes the lock if nobody has it or waits for it.
    ///
    /// # Errors
    /// It would have to wait.
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.permit.try_acquire(1).map_err(|_| TryLockError(()))?;
        Ok(MutexGuard { locked: Locked { lock: self } })
    }

    /// Takes the lock if nobody has it or waits for it. The guard owns the mutex instead of
    /// borrowing it.
    ///
    /// # Errors
    /// It would have to wait.
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        self.permit.try_acquire(1).map_err(|_| TryLockError(()))?;
        Ok(OwnedMutexGuard { locked: Locked { lock: self } })
    }

    /// The value. Nobody else has it, as the mutable borrow shows.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: `&mut self` says that there are no guards.
        self.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => f.field("data", &&*guard),
            Err(_) => f.field("data", &format_args!("<locked>")),
        };
        f.finish()
    }
}

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("somebody else has the lock or waits for it")
    }
}

impl Error for TryLockError {}

/// The value of a locked [`Mutex`]. The drop unlocks it.
#[must_use = "the drop of the guard unlocks the mutex"]
pub struct MutexGuard<'a, T: ?Sized> {
    locked: Locked<&'a Mutex<T>>,
}

/// The value of a locked [`Mutex`], which the guard owns together with others. The drop unlocks it.
///
/// ```
/// use std::sync::Arc;
/// use trefoil::sync::Mutex;
///
/// # #[trefoil::main]
/// # async fn main() {
/// let names = Arc::new(Mutex::new(vec!["Ada"]));
/// let mut guard = Arc::clone(&names).lock_owned().await;
/// // The task has the lock until it ends.
/// trefoil::spawn(async move { guard.push("Grace") }).await.unwrap();
/// assert_eq!(*names.lock().await, ["Ada", "Grace"]);
/// # }
/// ```
#[must_use = "the drop of the guard unlocks the mutex"]
pub struct OwnedMutexGuard<T: ?Sized> {
    locked: Locked<Arc<Mutex<T>>>,
}

// SAFETY: a shared guard gives shared access to the value, and to the mutex.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the value, and to the mutex.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// A guard of a part of the value. It is no method, so that it hides none of the value's.
    ///
    /// ```
    /// use trefoil::sync::{Mutex, MutexGuard};
    ///
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let pair = Mutex::new((1, 'a'));
    /// let mut first = MutexGuard::map(pair.lock().await, |pair| &mut pair.0);
    /// *first = 2;
    /// drop(first);
    /// assert_eq!(*pair.lock().await, (2, 'a'));
    /// # }
    /// ```
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        // SAFETY: a part of the value, which was borrowed from the guard of `this.locked`.
        unsafe { MappedMutexGuard::new(this.locked.untyped(), part) }
    }

    /// A guard of a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of the value, which was borrowed from the guard of `this.locked`.
        Ok(unsafe { MappedMutexGuard::new(this.locked.untyped(), part) })
    }

    /// The mutex that is locked.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.locked.lock
    }
}

impl<'a, T: ?Sized> Locked<&'a Mutex<T>> {
    fn untyped(self) -> Locked<&'a Permits> {
        let lock = &self.lock.permit;
        // Its permit is now the new one's.
        std::mem::forget(self);
        Locked { lock }
    }
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// A guard of a part of the value. It is no method, so that it hides none of the value's.
    pub fn map<U, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        // SAFETY: a part of the value, which was borrowed from the guard of `this.locked`.
        unsafe { OwnedMappedMutexGuard::new(this.locked, part) }
    }

    /// A guard of a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of the value, which was borrowed from the guard of `this.locked`.
        Ok(unsafe { OwnedMappedMutexGuard::new(this.locked, part) })
    }

    /// The mutex that is locked.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.locked.lock
    }
}

// Both guards reach the value by the mutex.
macro_rules! access {
    ($($guard:ty),*) => {$(
        impl<T: ?Sized> Deref for $guard {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the guard has the permit, so nobody else reaches the value. Others get it
                // from this guard only, whose borrow they then are.
                self.locked.lock.value.with(|value| unsafe { &*value })
            }
        }

        impl<T: ?Sized> DerefMut for $guard {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: the guard has the permit, so nobody else reaches the value, and it is
                // borrowed mutably.
                self.locked.lock.value.with_mut(|value| unsafe { &mut *value })
            }
        }
    )*};
}

access!(MutexGuard<'_, T>, OwnedMutexGuard<T>);
show_as_value! {
    [T: ?Sized] MutexGuard<'_, T> => T;
    [T: ?Sized] OwnedMutexGuard<T> => T;
}
