//! `RwLock`: a value that many read at a time, or one writes.

use super::TryLockError;
use super::permits::{Acquiring, Permits};
use crate::primitives::UnsafeCell;
use crate::scheduler::block_on;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

mod guards;
mod owned;

pub use guards::{RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard};
pub use owned::{OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

/// The most readers at a time, and the default.
const MAX_READERS: u32 = u32::MAX >> 3;

/// A lock that is held across `.await`, by many readers or by one writer.
///
/// The lock is fair: it is given in the order of the first polls, and nobody who asks later
/// overtakes one who waits. So a writer gets its turn however many readers come, because those that
/// come after it wait for it. For the same reason, a task that has a read lock and waits for
/// another one of the same lock hangs if a writer waits in between.
///
/// There is no poisoning. A panic of one who has the lock unlocks it, and the value stays as it was
/// left.
///
/// ```
/// use trefoil::sync::RwLock;
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// let lock = RwLock::new(5);
/// {
///     let (one, another) = (lock.read().await, lock.read().await);
///     assert_eq!(*one + *another, 10);
/// }
/// *lock.write().await += 1;
/// assert_eq!(*lock.read().await, 6);
/// # }
/// ```
pub struct RwLock<T: ?Sized> {
    turns: Turns,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves with the lock, and whoever drops the lock drops it.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: readers share the value between threads, which needs `Sync`. A writer reaches it from
// another thread than the one that made it, which needs `Send`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// Who may read or write.
struct Turns {
    /// One is for a reader, and all are for a writer. They are never closed.
    permits: Permits,
    max_readers: u32,
}

impl Turns {
    fn take(&self, permits: u32) -> Acquiring<'_> {
        self.permits.acquire(permits as usize)
    }

    fn try_take(&self, permits: u32) -> Result<(), TryLockError> {
        self.permits.try_acquire(permits as usize).map_err(|_| TryLockError(()))
    }
}

const NEVER_CLOSED: &str = "nobody closes the permits of a lock";

/// What a lock is reached by: a guard keeps it, and gives its turn back by it.
trait HasTurns {
    fn turns(&self) -> &Turns;
}

impl HasTurns for &Turns {
    fn turns(&self) -> &Turns {
        self
    }
}

impl<T: ?Sized> HasTurns for Arc<RwLock<T>> {
    fn turns(&self) -> &Turns {
        &self.turns
    }
}

/// The right to read.
///
/// **Invariant:** it stands for one permit.
struct Reading<L: HasTurns> {
    lock: L,
}

impl<L: HasTurns> Drop for Reading<L> {
    #[inline]
    fn drop(&mut self) {
        self.lock.turns().permits.release(1);
    }
}

/// The right to read and write.
///
/// **Invariant:** it stands for all permits.
struct Writing<L: HasTurns> {
    lock: L,
}

impl<L: HasTurns> Drop for Writing<L> {
    #[inline]
    fn drop(&mut self) {
        let turns = self.lock.turns();
        turns.permits.release(turns.max_readers as usize);
    }
}

impl<L: HasTurns> Writing<L> {
    /// Keeps one permit: no writer comes in between.
    fn downgrade(self) -> Reading<L> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped and not used any more, so the lock is moved and not copied.
        let lock = unsafe { ptr::read(&raw const this.lock) };
        let reading = Reading { lock };
        let turns = reading.lock.turns();
        turns.permits.release(turns.max_readers as usize - 1);
        reading
    }
}

impl<T> RwLock<T> {
    /// An unlocked lock, for up to `u32::MAX >> 3` readers at a time.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self::const_with_max_readers(value, MAX_READERS)
    }

    /// An unlocked lock, for up to `u32::MAX >> 3` readers at a time.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self::with_max_readers(value, MAX_READERS)
    }

    /// An unlocked lock, for up to `max_readers` readers at a time. More of them wait.
    ///
    /// # Panics
    /// If `max_readers` is 0, or more than `u32::MAX >> 3`.
    #[track_caller]
    pub fn with_max_readers(value: T, max_readers: u32) -> Self {
        Self::check(max_readers);
        let turns = Turns { permits: Permits::new(max_readers as usize), max_readers };
        Self { turns, value: UnsafeCell::new(value) }
    }

    /// An unlocked lock, as [`RwLock::new`], for statics.
    #[cfg(not(loom))]
    pub const fn const_new(value: T) -> Self {
        Self::new(value)
    }

    /// An unlocked lock, as [`RwLock::with_max_readers`], for statics.
    ///
    /// # Panics
    /// If `max_readers` is 0, or more than `u32::MAX >> 3`.
    #[cfg(not(loom))]
    #[track_caller]
    pub const fn const_with_max_readers(value: T, max_readers: u32) -> Self {
        Self::check(max_readers);
        let turns = Turns { permits: Permits::new(max_readers as usize), max_readers };
        Self { turns, value: UnsafeCell::new(value) }
    }

    #[track_caller]
    const fn check(max_readers: u32) {
        assert!(
            max_readers != 0,
            "a RwLock may not be created with 0 readers: nobody could lock it"
        );
        assert!(max_readers <= MAX_READERS, "an `RwLock` is for at most `u32::MAX >> 3` readers");
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until it may read.
    ///
    /// # Cancellation safety
    /// A future that is dropped loses its place in the queue, and nothing else: its turn goes to
    /// the next one.
    pub async fn read(&self) -> RwLockReadGuard<'_, T> {
        self.turns.take(1).await.expect(NEVER_CLOSED);
        self.reader()
    }

    /// Waits until it may read. The guard owns the lock instead of borrowing it.
    ///
    /// # Cancellation safety
    /// That of [`RwLock::read`].
    pub async fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        self.turns.take(1).await.expect(NEVER_CLOSED);
        self.owned_reader()
    }

    /// Waits until it may write.
    ///
    /// # Cancellation safety
    /// A future that is dropped loses its place in the queue, and nothing else: its turn goes to
    /// the next one.
    pub async fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.turns.take(self.turns.max_readers).await.expect(NEVER_CLOSED);
        self.writer()
    }

    /// Waits until it may write. The guard owns the lock instead of borrowing it.
    ///
    /// # Cancellation safety
    /// That of [`RwLock::write`].
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        self.turns.take(self.turns.max_readers).await.expect(NEVER_CLOSED);
        self.owned_writer()
    }

    /// Blocks the thread until it may read. It queues with those that wait asynchronously.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    #[doc(alias = "read_blocking")]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        block_on::blocking(self.read())
    }

    /// Blocks the thread until it may write. It queues with those that wait asynchronously.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    #[doc(alias = "write_blocking")]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        block_on::blocking(self.write())
    }

    /// Takes a read lock if nobody writes or waits, and there are not too many readers.
    ///
    /// # Errors
    /// It would have to wait.
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.turns.try_take(1)?;
        Ok(self.reader())
    }

    /// Takes a read lock if nobody writes or waits, and there are not too many readers. The guard
    /// owns the lock instead of borrowing it.
    ///
    /// # Errors
    /// It would have to wait.
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.turns.try_take(1)?;
        Ok(self.owned_reader())
    }

    /// Takes the write lock if nobody reads, writes or waits.
    ///
    /// # Errors
    /// It would have to wait.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.turns.try_take(self.turns.max_readers)?;
        Ok(self.writer())
    }

    /// Takes the write lock if nobody reads, writes or waits. The guard owns the lock instead of
    /// borrowing it.
    ///
    /// # Errors
    /// It would have to wait.
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.turns.try_take(self.turns.max_readers)?;
        Ok(self.owned_writer())
    }

    /// The value. Nobody else has it, as the mutable borrow shows.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: `&mut self` says that there are no guards.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    // The following are called by whoever has just taken the permits.

    fn reader(&self) -> RwLockReadGuard<'_, T> {
        // SAFETY: the caller has a permit. While it does, nobody writes.
        unsafe { RwLockReadGuard::new(Reading { lock: &self.turns }, self.pointer()) }
    }

    fn owned_reader(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        let part = self.pointer();
        // SAFETY: the caller has a permit. While it does, nobody writes.
        unsafe { OwnedRwLockReadGuard::new(Reading { lock: self }, part) }
    }

    fn writer(&self) -> RwLockWriteGuard<'_, T> {
        // SAFETY: the caller has all permits, so nobody else reaches the value.
        unsafe { RwLockWriteGuard::new(Writing { lock: &self.turns }, self.pointer()) }
    }

    fn owned_writer(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        let part = self.pointer();
        // SAFETY: the caller has all permits, so nobody else reaches the value.
        unsafe { OwnedRwLockWriteGuard::new(Writing { lock: self }, part) }
    }

    fn pointer(&self) -> NonNull<T> {
        // Not `with_mut`: no access is made here, and there may be other readers.
        let value = self.value.with(<*const T>::cast_mut);
        // SAFETY: a field of `self`.
        unsafe { NonNull::new_unchecked(value) }
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => f.field("data", &&*guard),
            Err(_) => f.field("data", &format_args!("<locked>")),
        };
        f.finish()
    }
}
