//! Guards that own their lock instead of borrowing it.

use super::{Reading, RwLock, Writing};
use crate::sync::guard::{deref_part, deref_part_mut, show_as_value};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// The value of an [`RwLock`], or a part of it, to be read. The guard owns the lock together with
/// others. The drop unlocks it.
///
/// ```
/// use std::sync::Arc;
/// use trefoil::sync::RwLock;
///
/// # #[trefoil::main]
/// # async fn main() {
/// let lock = Arc::new(RwLock::new(7));
/// let guard = Arc::clone(&lock).read_owned().await;
/// let task = trefoil::spawn(async move { *guard });
/// assert_eq!(task.await.unwrap(), 7);
/// # }
/// ```
#[must_use = "the drop of the guard ends the read lock"]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    /// **Invariant:** it points into the value of the lock that `reading` is of.
    part: NonNull<U>,
    reading: Reading<Arc<RwLock<T>>>,
}

/// The value of an [`RwLock`], to be written. The guard owns the lock together with others. The
/// drop unlocks it.
#[must_use = "the drop of the guard ends the write lock"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    /// **Invariant:** it points to the value of the lock that `writing` is of.
    part: NonNull<T>,
    writing: Writing<Arc<RwLock<T>>>,
}

/// A part of the value of an [`RwLock`], to be written, from [`OwnedRwLockWriteGuard::map`]. The
/// guard owns the lock together with others. The drop unlocks it.
///
/// It cannot be downgraded. `map` may have made a `&mut T` of a `&mut Cell<T>`; readers, who have
/// the cell, would then change what the guard shares as a `&T`.
#[must_use = "the drop of the guard ends the write lock"]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    /// **Invariant:** it points into the value of the lock that `writing` is of, and nothing else
    /// reaches that part.
    part: NonNull<U>,
    writing: Writing<Arc<RwLock<T>>>,
    /// It is invariant in `U`.
    _part: PhantomData<*mut U>,
}

// SAFETY: the guard gives shared access to the part, and its drop may drop the whole value.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedRwLockReadGuard<T, U> {}
// SAFETY: a shared guard gives shared access to the part, and to the lock.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedRwLockReadGuard<T, U> {}
// SAFETY: the guard gives access to the value as a mutable reference does, shares it by
// `downgrade`, and its drop may drop it.
unsafe impl<T: ?Sized + Send + Sync> Send for OwnedRwLockWriteGuard<T> {}
// SAFETY: a shared guard gives shared access to the value, and to the lock.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedRwLockWriteGuard<T> {}
// SAFETY: the guard gives access to the part as a mutable reference does, and its drop may drop the
// whole value.
unsafe impl<T, U> Send for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}
// SAFETY: a shared guard gives shared access to the part, and to the lock.
unsafe impl<T, U> Sync for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// # Safety
    /// `part` is the value of the lock that `reading` is of, or a part of it, valid for as long as
    /// the lock is read.
    pub(super) unsafe fn new(reading: Reading<Arc<RwLock<T>>>, part: NonNull<U>) -> Self {
        Self { part, reading }
    }

    /// A guard of a part of the value. It is no method, so that it hides none of the value's.
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        let part = NonNull::from(f(&*this));
        // SAFETY: a part of what the guard has the right to read.
        unsafe { OwnedRwLockReadGuard::new(this.reading, part) }
    }

    /// A guard of a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        let Some(part) = f(&*this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of what the guard has the right to read.
        Ok(unsafe { OwnedRwLockReadGuard::new(this.reading, part) })
    }

    /// The lock that is read.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.reading.lock
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// # Safety
    /// `part` is the value of the lock that `writing` is of.
    pub(super) unsafe fn new(writing: Writing<Arc<RwLock<T>>>, part: NonNull<T>) -> Self {
        Self { part, writing }
    }

    /// A guard of a part of the value. It is no method, so that it hides none of the value's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trefoil::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let pair = Arc::new(RwLock::new((1, 'a')));
    /// let guard = Arc::clone(&pair).write_owned().await;
    /// *OwnedRwLockWriteGuard::map(guard, |pair| &mut pair.0) = 2;
    /// assert_eq!(*pair.read().await, (2, 'a'));
    /// # }
    /// ```
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        OwnedRwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData }
    }

    /// A guard of a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        Ok(OwnedRwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData })
    }

    /// The guard as one of a part, which is the whole.
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        OwnedRwLockWriteGuard::map(this, |value| value)
    }

    /// Goes on as a reader. No writer comes in between.
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        // SAFETY: the value, to which `writing` was the right and to which `reading` is one.
        unsafe { OwnedRwLockReadGuard::new(self.writing.downgrade(), self.part) }
    }

    /// [`downgrade`](Self::downgrade) and [`map`](OwnedRwLockReadGuard::map) in one.
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part = NonNull::from(f(&*this));
        // SAFETY: a part of the value.
        unsafe { OwnedRwLockReadGuard::new(this.writing.downgrade(), part) }
    }

    /// [`downgrade`](Self::downgrade) and [`try_map`](OwnedRwLockReadGuard::try_map) in one.
    ///
    /// # Errors
    /// The guard itself, not downgraded, if `f` returns `None`.
    pub fn try_downgrade_map<F, U: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockReadGuard<T, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let Some(part) = f(&*this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of the value.
        Ok(unsafe { OwnedRwLockReadGuard::new(this.writing.downgrade(), part) })
    }

    /// The lock that is written.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.writing.lock
    }
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// A guard of a part of this part.
    pub fn map<F, V: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        let part = NonNull::from(f(&mut *this));
        OwnedRwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData }
    }

    /// A guard of a part of this part, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<F, V: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        Ok(OwnedRwLockMappedWriteGuard { part, writing: this.writing, _part: PhantomData })
    }

    /// The lock that is written.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.writing.lock
    }
}

deref_part! {
    [T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => U;
    [T: ?Sized] OwnedRwLockWriteGuard<T> => T;
    [T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => U;
}
deref_part_mut! {
    [T: ?Sized] OwnedRwLockWriteGuard<T> => T;
    [T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => U;
}
show_as_value! {
    [T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => U;
    [T: ?Sized] OwnedRwLockWriteGuard<T> => T;
    [T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => U;
}
