//! Guards that borrow their lock.

use super::{Reading, Turns, Writing};
use crate::sync::guard::{deref_part, deref_part_mut, show_as_value};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The value of an [`RwLock`](super::RwLock), or a part of it, to be read. The drop unlocks it.
#[must_use = "the drop of the guard ends the read lock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    /// **Invariant:** it points into the value of the lock that `reading` is of.
    part: NonNull<T>,
    reading: Reading<&'a Turns>,
    _part: PhantomData<&'a T>,
}

/// The value of an [`RwLock`](super::RwLock), to be written. The drop unlocks it.
#[must_use = "the drop of the guard ends the write lock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    /// **Invariant:** it points to the value of the lock that `writing` is of.
    part: NonNull<T>,
    writing: Writing<&'a Turns>,
    _part: PhantomData<&'a mut T>,
}

/// A part of the value of an [`RwLock`](super::RwLock), to be written, from
/// [`RwLockWriteGuard::map`]. The drop unlocks it.
///
/// It cannot be downgraded. `map` may have made a `&mut T` of a `&mut Cell<T>`; readers, who have
/// the cell, would then change what the guard shares as a `&T`.
#[must_use = "the drop of the guard ends the write lock"]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    /// **Invariant:** it points into the value of the lock that `writing` is of, and nothing else
    /// reaches that part.
    part: NonNull<T>,
    writing: Writing<&'a Turns>,
    _part: PhantomData<&'a mut T>,
}

// SAFETY: the guard gives shared access to the value.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: the guard gives access to the value as a mutable reference does, and becomes a read guard
// by `downgrade`, beside which others read.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockWriteGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockWriteGuard<'_, T> {}
// SAFETY: the guard gives access to the part as a mutable reference does.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockMappedWriteGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the part.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockMappedWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// # Safety
    /// `part` is the value of the lock that `reading` is of, or a part of it, valid for as long as
    /// the lock is read.
    pub(super) unsafe fn new(reading: Reading<&'a Turns>, part: NonNull<T>) -> Self {
        Self { part, reading, _part: PhantomData }
    }

    /// A guard of a part of the value. It is no method, so that it hides none of the value's.
    ///
    /// ```
    /// use trefoil::sync::{RwLock, RwLockReadGuard};
    ///
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let pair = RwLock::new((1, 'a'));
    /// let first = RwLockReadGuard::map(pair.read().await, |pair| &pair.0);
    /// assert_eq!(*first, 1);
    /// # }
    /// ```
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part = NonNull::from(f(&*this));
        // SAFETY: a part of what the guard has the right to read.
        unsafe { RwLockReadGuard::new(this.reading, part) }
    }

    /// A guard of a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let Some(part) = f(&*this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of what the guard has the right to read.
        Ok(unsafe { RwLockReadGuard::new(this.reading, part) })
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// # Safety
    /// `part` is the value of the lock that `writing` is of.
    pub(super) unsafe fn new(writing: Writing<&'a Turns>, part: NonNull<T>) -> Self {
        Self { part, writing, _part: PhantomData }
    }

    /// A guard of a part of the value. It is no method, so that it hides none of the value's.
    ///
    /// ```
    /// use trefoil::sync::{RwLock, RwLockWriteGuard};
    ///
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let pair = RwLock::new((1, 'a'));
    /// *RwLockWriteGuard::map(pair.write().await, |pair| &mut pair.0) = 2;
    /// assert_eq!(*pair.read().await, (2, 'a'));
    /// # }
    /// ```
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        RwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData }
    }

    /// A guard of a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        Ok(RwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData })
    }

    /// The guard as one of a part, which is the whole.
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockWriteGuard::map(this, |value| value)
    }

    /// Goes on as a reader. No writer comes in between.
    ///
    /// ```
    /// use trefoil::sync::RwLock;
    ///
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let lock = RwLock::new(1);
    /// let mut guard = lock.write().await;
    /// *guard = 2;
    /// let guard = guard.downgrade();
    /// // Others read as well.
    /// assert_eq!(*guard, *lock.read().await);
    /// # }
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        // SAFETY: the value, to which `writing` was the right and to which `reading` is one.
        unsafe { RwLockReadGuard::new(self.writing.downgrade(), self.part) }
    }

    /// [`downgrade`](Self::downgrade) and [`map`](RwLockReadGuard::map) in one.
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part = NonNull::from(f(&*this));
        // SAFETY: a part of the value.
        unsafe { RwLockReadGuard::new(this.writing.downgrade(), part) }
    }

    /// [`downgrade`](Self::downgrade) and [`try_map`](RwLockReadGuard::try_map) in one.
    ///
    /// # Errors
    /// The guard itself, not downgraded, if `f` returns `None`.
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let Some(part) = f(&*this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of the value.
        Ok(unsafe { RwLockReadGuard::new(this.writing.downgrade(), part) })
    }
}

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    /// A guard of a part of this part.
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        RwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData }
    }

    /// A guard of a part of this part, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        Ok(RwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData })
    }
}

deref_part! {
    [T: ?Sized] RwLockReadGuard<'_, T> => T;
    [T: ?Sized] RwLockWriteGuard<'_, T> => T;
    [T: ?Sized] RwLockMappedWriteGuard<'_, T> => T;
}
deref_part_mut! {
    [T: ?Sized] RwLockWriteGuard<'_, T> => T;
    [T: ?Sized] RwLockMappedWriteGuard<'_, T> => T;
}
show_as_value! {
    [T: ?Sized] RwLockReadGuard<'_, T> => T;
    [T: ?Sized] RwLockWriteGuard<'_, T> => T;
    [T: ?Sized] RwLockMappedWriteGuard<'_, T> => T;
}
