//! `WrittenOnce`: the place of a value that is written once and read by all from then on.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{Acquire, AtomicBool, Release};
use std::mem::{ManuallyDrop, MaybeUninit};

/// A value, or its place as long as there is none.
#[derive(Debug)]
pub(super) struct WrittenOnce<T> {
    /// Set after the value was written. Whoever sees it may read the value.
    is_written: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value moves with its place.
unsafe impl<T: Send> Send for WrittenOnce<T> {}
// SAFETY: readers share the value between threads, which needs `Sync`, and one thread may write
// what another drops, which needs `Send`.
unsafe impl<T: Send + Sync> Sync for WrittenOnce<T> {}

impl<T> WrittenOnce<T> {
    #[cfg(not(loom))]
    pub(super) const fn empty() -> Self {
        Self { is_written: AtomicBool::new(false), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    #[cfg(loom)]
    pub(super) fn empty() -> Self {
        Self { is_written: AtomicBool::new(false), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    #[cfg(not(loom))]
    pub(super) const fn full(value: T) -> Self {
        Self { is_written: AtomicBool::new(true), value: UnsafeCell::new(MaybeUninit::new(value)) }
    }

    #[cfg(loom)]
    pub(super) fn full(value: T) -> Self {
        Self { is_written: AtomicBool::new(true), value: UnsafeCell::new(MaybeUninit::new(value)) }
    }

    #[inline]
    pub(super) fn is_written(&self) -> bool {
        // Acquire: pairs with the Release in `write`, whose value it makes visible.
        self.is_written.load(Acquire)
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        if !self.is_written() {
            return None;
        }
        self.value.with(|value| {
            // SAFETY: nobody writes any more while it is shared.
            let value = unsafe { &*value };
            // SAFETY: it was written before `is_written` was set.
            Some(unsafe { value.assume_init_ref() })
        })
    }

    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.is_written() {
            return None;
        }
        self.value.with_mut(|value| {
            // SAFETY: `&mut self` says that nobody else reaches it.
            let value = unsafe { &mut *value };
            // SAFETY: it was written before `is_written` was set.
            Some(unsafe { value.assume_init_mut() })
        })
    }

    /// # Safety
    /// Nothing was written, and nobody else writes meanwhile.
    pub(super) unsafe fn write(&self, value: T) -> &T {
        self.value.with_mut(|place| {
            // SAFETY: nobody reads before `is_written` is set, and the caller promises that nobody
            // else writes.
            unsafe { place.write(MaybeUninit::new(value)) };
        });
        // Release: pairs with the Acquire in `is_written`.
        self.is_written.store(true, Release);
        self.get().expect("it was just written")
    }

    pub(super) fn into_inner(self) -> Option<T> {
        let is_written = self.is_written();
        let this = ManuallyDrop::new(self);
        this.value.with(|value| {
            // SAFETY: `this` is not dropped, so the value is moved and not copied. Nobody else
            // reaches it, since `self` was owned.
            let value = unsafe { value.read() };
            // SAFETY: it was written before `is_written` was set.
            is_written.then(|| unsafe { value.assume_init() })
        })
    }
}

impl<T> Drop for WrittenOnce<T> {
    fn drop(&mut self) {
        if let Some(value) = self.get_mut() {
            // SAFETY: it is not used after this.
            unsafe { std::ptr::drop_in_place(value) };
        }
    }
}
