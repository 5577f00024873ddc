//! Guards of a part of a mutex's value.

use super::{Locked, Mutex};
use crate::sync::guard::{deref_part, deref_part_mut, show_as_value};
use crate::sync::permits::Permits;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// A part of the value of a locked [`Mutex`], from [`MutexGuard::map`](super::MutexGuard::map). The
/// drop unlocks the mutex.
#[must_use = "the drop of the guard unlocks the mutex"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    /// **Invariant:** it points into the value of the mutex whose permit `locked` is, and nothing
    /// else reaches that part.
    part: NonNull<T>,
    locked: Locked<&'a Permits>,
    _part: PhantomData<&'a mut T>,
}

/// A part of the value of a locked [`Mutex`], from
/// [`OwnedMutexGuard::map`](super::OwnedMutexGuard::map). The drop unlocks the mutex, which the
/// guard owns together with others.
///
/// ```
/// use std::sync::Arc;
/// use trefoil::sync::{Mutex, OwnedMutexGuard};
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// let pair = Arc::new(Mutex::new((1, 'a')));
/// let guard = Arc::clone(&pair).lock_owned().await;
/// let mut first = OwnedMutexGuard::map(guard, |pair| &mut pair.0);
/// *first = 2;
/// drop(first);
/// assert_eq!(*pair.lock().await, (2, 'a'));
/// # }
/// ```
#[must_use = "the drop of the guard unlocks the mutex"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    /// **Invariant:** as above.
    part: NonNull<U>,
    locked: Locked<Arc<Mutex<T>>>,
    /// It is invariant in `U`.
    _part: PhantomData<*mut U>,
}

// SAFETY: the guard gives access to the part alone, as a mutable reference does.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the part.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}
// SAFETY: the guard gives access to the part as a mutable reference does, and its drop may drop the
// whole value.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}
// SAFETY: a shared guard gives shared access to the part.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedMappedMutexGuard<T, U> {}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// # Safety
    /// `part` is a part of the value of the mutex whose permit `locked` is, valid for as long as
    /// the mutex is locked, and nothing else reaches it.
    pub(super) unsafe fn new(locked: Locked<&'a Permits>, part: NonNull<T>) -> Self {
        Self { part, locked, _part: PhantomData }
    }

    /// A guard of a part of this part.
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        // SAFETY: a part of the part, which was borrowed from the guard of `locked`.
        unsafe { MappedMutexGuard::new(this.locked, part) }
    }

    /// A guard of a part of this part, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of the part, which was borrowed from the guard of `locked`.
        Ok(unsafe { MappedMutexGuard::new(this.locked, part) })
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// # Safety
    /// As that of [`MappedMutexGuard::new`].
    pub(super) unsafe fn new(locked: Locked<Arc<Mutex<T>>>, part: NonNull<U>) -> Self {
        Self { part, locked, _part: PhantomData }
    }

    /// A guard of a part of this part.
    pub fn map<S, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> &mut S,
    {
        let part = NonNull::from(f(&mut *this));
        // SAFETY: a part of the part, which was borrowed from the guard of `locked`.
        unsafe { OwnedMappedMutexGuard::new(this.locked, part) }
    }

    /// A guard of a part of this part, if there is one.
    ///
    /// # Errors
    /// The guard itself, if `f` returns `None`.
    pub fn try_map<S, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        let Some(part) = f(&mut *this).map(NonNull::from) else { return Err(this) };
        // SAFETY: a part of the part, which was borrowed from the guard of `locked`.
        Ok(unsafe { OwnedMappedMutexGuard::new(this.locked, part) })
    }
}

deref_part! {
    [T: ?Sized] MappedMutexGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => U;
}
deref_part_mut! {
    [T: ?Sized] MappedMutexGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => U;
}
show_as_value! {
    [T: ?Sized] MappedMutexGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => U;
}
