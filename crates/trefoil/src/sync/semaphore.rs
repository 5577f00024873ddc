//! `Semaphore`: limits how many do something at a time.

use super::permits::{Permits, TryError};
use crate::scheduler::block_on;
use std::error::Error;
use std::fmt;

mod owned;

pub use owned::OwnedSemaphorePermit;

/// Permits that are taken by those who do something, and are given back when they are dropped.
///
/// The semaphore is fair: permits are given in the order in which they were asked for, which for an
/// asynchronous operation is the order of the first polls. Whoever waits is overtaken by nobody who
/// asks later, also if the latter wants fewer permits, and also by
/// [`try_acquire`](Self::try_acquire), which fails while somebody waits. A task that has spent its
/// budget (see [`task::coop`](crate::task::coop)) takes its place in the queue before it yields.
///
/// A permit that a waiter was given is kept for it until the waiter is polled or dropped. In the
/// latter case, the next one gets it.
///
/// ```
/// use std::sync::Arc;
/// use trefoil::sync::Semaphore;
///
/// # #[trefoil::main]
/// # async fn main() {
/// // At most three at a time.
/// let semaphore = Arc::new(Semaphore::new(3));
/// let tasks = Vec::from_iter((0..10).map(|n| {
///     let semaphore = Arc::clone(&semaphore);
///     trefoil::spawn(async move {
///         let _permit = semaphore.acquire().await.unwrap();
///         assert!(semaphore.available_permits() < 3);
///         n
///     })
/// }));
/// for (n, task) in tasks.into_iter().enumerate() {
///     assert_eq!(task.await.unwrap(), n);
/// }
/// assert_eq!(semaphore.available_permits(), 3);
/// # }
/// ```
pub struct Semaphore {
    permits: Permits,
}

/// Permits of a [`Semaphore`], which it gets back when this is dropped.
///
/// # Panics
/// The drop panics if the semaphore then had more than [`Semaphore::MAX_PERMITS`] permits, because
/// others were added meanwhile.
#[must_use = "the permits are given back on drop"]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

/// The semaphore was closed.
#[derive(Debug)]
pub struct AcquireError(());

/// Why [`Semaphore::try_acquire`] and its like have failed.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore was closed.
    Closed,
    /// There are too few permits, or others wait for them.
    NoPermits,
}

impl Semaphore {
    /// The largest number of permits: `usize::MAX >> 3`.
    pub const MAX_PERMITS: usize = Permits::MAX;

    /// A semaphore with this number of permits.
    ///
    /// # Panics
    /// If it is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Self { permits: Permits::new(permits) }
    }

    /// A semaphore with this number of permits, for statics.
    ///
    /// # Panics
    /// If it is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[cfg(not(loom))]
    #[track_caller]
    pub const fn const_new(permits: usize) -> Self {
        Self { permits: Permits::new(permits) }
    }

    /// How many permits can be taken at once. While somebody waits, that is none.
    pub fn available_permits(&self) -> usize {
        self.permits.available()
    }

    /// Adds permits, also beyond the number that the semaphore was made with.
    ///
    /// # Panics
    /// If there were more than [`MAX_PERMITS`](Self::MAX_PERMITS). Then none are added.
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        self.permits.release(n);
    }

    /// Takes up to `n` permits away for good. Returns how many: there may be fewer available.
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.forget(n)
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Cancellation safety
    /// A future that is dropped loses its place in the queue, and nothing else: a permit that it
    /// was given goes to the next one.
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.permits.acquire(1).await.map_err(|_| AcquireError(()))?;
        Ok(SemaphorePermit { semaphore: self, permits: 1 })
    }

    /// Waits for `n` permits. They are gathered: others that come later get none meanwhile, however
    /// few they want.
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Cancellation safety
    /// A future that is dropped loses its place in the queue, and nothing else: the permits that it
    /// was given go to the next one.
    pub async fn acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        let n = n as usize;
        self.permits.acquire(n).await.map_err(|_| AcquireError(()))?;
        Ok(SemaphorePermit { semaphore: self, permits: n })
    }

    /// Takes a permit if there is one and nobody waits.
    ///
    /// # Errors
    /// [`NoPermits`](TryAcquireError::NoPermits) if it would have to wait, and
    /// [`Closed`](TryAcquireError::Closed) if the semaphore was closed.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits if they are there and nobody waits.
    ///
    /// # Errors
    /// [`NoPermits`](TryAcquireError::NoPermits) if it would have to wait, and
    /// [`Closed`](TryAcquireError::Closed) if the semaphore was closed.
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let n = n as usize;
        self.permits.try_acquire(n)?;
        Ok(SemaphorePermit { semaphore: self, permits: n })
    }

    /// Blocks the thread until it has a permit. It queues with those that wait asynchronously.
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.blocking_acquire_many(1)
    }

    /// Blocks the thread until it has `n` permits. It queues with those that wait asynchronously.
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_on::blocking(self.acquire_many(n))
    }

    /// Gives no more permits. All that wait, and all that ask later, get an error. Permits that
    /// were taken stay so, and may be given back.
    ///
    /// ```
    /// # use trefoil::sync::Semaphore;
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Semaphore::new(1);
    /// semaphore.close();
    /// assert!(semaphore.is_closed());
    /// assert!(semaphore.acquire().await.is_err());
    /// # }
    /// ```
    pub fn close(&self) {
        self.permits.close();
    }

    /// Whether the semaphore was closed.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }
}

impl<'a> SemaphorePermit<'a> {
    /// Takes the permits away from the semaphore for good: they are not given back.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Adds the permits of another one to these.
    ///
    /// ```
    /// let semaphore = trefoil::sync::Semaphore::new(3);
    /// let mut some = semaphore.try_acquire().unwrap();
    /// some.merge(semaphore.try_acquire_many(2).unwrap());
    /// let one = some.split(1).unwrap();
    /// assert_eq!((some.num_permits(), one.num_permits()), (2, 1));
    /// ```
    ///
    /// # Panics
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let is_same = std::ptr::eq(self.semaphore, other.semaphore);
        assert!(is_same, "permits of different semaphores cannot be merged");
        let sum = self.permits.checked_add(other.permits);
        self.permits = sum.expect("there are not as many permits");
        other.permits = 0;
    }

    /// Splits `n` of the permits off, or returns `None` if they are fewer.
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self { semaphore: self.semaphore, permits: n })
    }

    /// The semaphore whose permits they are.
    pub fn semaphore(&self) -> &Semaphore {
        self.semaphore
    }

    /// How many they are.
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.permits.release(self.permits);
    }
}

impl From<TryError> for TryAcquireError {
    fn from(error: TryError) -> Self {
        match error {
            TryError::Closed => Self::Closed,
            TryError::TooFew => Self::NoPermits,
        }
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl Error for AcquireError {}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the semaphore is closed",
            Self::NoPermits => "the semaphore has too few permits at the moment",
        })
    }
}

impl Error for TryAcquireError {}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.permits).finish()
    }
}
