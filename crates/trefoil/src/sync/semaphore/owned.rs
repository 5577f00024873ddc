//! Permits that own their semaphore instead of borrowing it.

use super::{AcquireError, Semaphore, TryAcquireError};
use crate::scheduler::block_on;
use std::sync::Arc;

/// Permits of a [`Semaphore`], as [`SemaphorePermit`](super::SemaphorePermit). They keep the
/// semaphore alive, and borrow nothing.
///
/// # Panics
/// The drop panics if the semaphore then had more than [`Semaphore::MAX_PERMITS`] permits, because
/// others were added meanwhile.
#[must_use = "the permits are given back on drop"]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl Semaphore {
    /// Waits for a permit that owns the semaphore.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trefoil::sync::Semaphore;
    ///
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = Arc::clone(&semaphore).acquire_owned().await.unwrap();
    /// // The task has the permit until it ends.
    /// trefoil::spawn(async move { drop(permit) }).await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # }
    /// ```
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Cancellation safety
    /// That of [`Semaphore::acquire`].
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.acquire(1).await.map_err(|_| AcquireError(()))?;
        Ok(OwnedSemaphorePermit { semaphore: self, permits: 1 })
    }

    /// Waits for `n` permits that own the semaphore.
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Cancellation safety
    /// That of [`Semaphore::acquire_many`].
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let n = n as usize;
        self.permits.acquire(n).await.map_err(|_| AcquireError(()))?;
        Ok(OwnedSemaphorePermit { semaphore: self, permits: n })
    }

    /// Takes a permit that owns the semaphore, if there is one and nobody waits.
    ///
    /// # Errors
    /// Those of [`Semaphore::try_acquire`].
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Takes `n` permits that own the semaphore, if they are there and nobody waits.
    ///
    /// # Errors
    /// Those of [`Semaphore::try_acquire_many`].
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let n = n as usize;
        self.permits.try_acquire(n)?;
        Ok(OwnedSemaphorePermit { semaphore: self, permits: n })
    }

    /// Blocks the thread until it has a permit that owns the semaphore.
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.blocking_acquire_many_owned(1)
    }

    /// Blocks the thread until it has `n` permits that own the semaphore.
    ///
    /// # Errors
    /// The semaphore was closed, before or during the wait.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_on::blocking(self.acquire_many_owned(n))
    }
}

impl OwnedSemaphorePermit {
    /// Takes the permits away from the semaphore for good: they are not given back.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Adds the permits of another one to these.
    ///
    /// # Panics
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let is_same = Arc::ptr_eq(&self.semaphore, &other.semaphore);
        assert!(is_same, "permits of different semaphores cannot be merged");
        let sum = self.permits.checked_add(other.permits);
        self.permits = sum.expect("there are not as many permits");
        other.permits = 0;
    }

    /// Splits `n` of the permits off, or returns `None` if they are fewer.
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self { semaphore: Arc::clone(&self.semaphore), permits: n })
    }

    /// The semaphore whose permits they are.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// How many they are.
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.permits.release(self.permits);
    }
}
