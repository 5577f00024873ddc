//! The lock of many readers or one writer.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

/// `std`'s lock, without poisoning, and the word that repeats its order.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T> {
    std: std::sync::RwLock<T>,
    order: AtomicU32,
}

/// A critical section beside other readers.
#[derive(Debug)]
pub(crate) struct RwLockReadGuard<'a, T> {
    std: ManuallyDrop<std::sync::RwLockReadGuard<'a, T>>,
    order: &'a AtomicU32,
}

/// A critical section of its own.
#[derive(Debug)]
pub(crate) struct RwLockWriteGuard<'a, T> {
    std: ManuallyDrop<std::sync::RwLockWriteGuard<'a, T>>,
    order: &'a AtomicU32,
}

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { std: std::sync::RwLock::new(value), order: AtomicU32::new(0) }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        let std = self.std.read().unwrap_or_else(PoisonError::into_inner);
        // Acquire: pairs with the end of the last writer, whose value or a later one this reads.
        self.order.load(Acquire);
        RwLockReadGuard { std: ManuallyDrop::new(std), order: &self.order }
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        let std = self.std.write().unwrap_or_else(PoisonError::into_inner);
        // Acquire: pairs with the ends of all sections before: of the readers, each RMW continues
        // the release sequences of the others.
        self.order.load(Acquire);
        RwLockWriteGuard { std: ManuallyDrop::new(std), order: &self.order }
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        // Release: pairs with the start of the next writer. An RMW, because other readers end, too.
        self.order.fetch_add(1, Release);
        // SAFETY: this happens once, at the end of the guard's life.
        unsafe { ManuallyDrop::drop(&mut self.std) };
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        // Release: pairs with the start of the next section. A store is enough, because this
        // section has acquired what all earlier ones released.
        self.order.store(0, Release);
        // SAFETY: this happens once, at the end of the guard's life.
        unsafe { ManuallyDrop::drop(&mut self.std) };
    }
}

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.std
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.std
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.std
    }
}
