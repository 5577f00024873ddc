//! An allocator that notices fibers which run for long.

use crate::context;
use crate::fiber::count_reduction;
use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator that counts the allocations of fibers, and passes them on.
///
/// A fiber that computes for long without a call into the runtime delays all others of its worker.
/// Most code that computes for long also allocates. So each allocation counts as one call of
/// [`fiber::check!`](crate::fiber::check), except that it does not switch: after as many as the
/// fiber's [budget](crate::fiber::Builder::budget), it compares the clock with the fiber's
/// [time](crate::fiber::Builder::timeslice), and if that is up, marks the fiber as over. The fiber
/// lets others run at its next call of `check!`, or at its next call that may wait (see
/// [`fiber::wait`](fn@crate::fiber::wait)), ready or not, save for those in a
/// [fork](crate::fork_join).
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: trefoil::alloc::Preempting = trefoil::alloc::Preempting::new();
/// # fn main() {}
/// ```
///
/// # Targets
///
/// It needs thread-locals that the system's loader makes, as on Linux, macOS, the BSDs other than
/// OpenBSD, and illumos. Where `std` has to make them on a thread's first access, by an allocation
/// (OpenBSD, Android before API 29), the allocator would call itself.
///
/// # Why it does not switch by itself
///
/// An allocation may be made anywhere: with a lock of `std` held that its thread must release,
/// while a thread-local is borrowed or being made, in the midst of another allocator, a formatter,
/// a destructor, or this runtime. Another fiber of the same thread would find all of that as its
/// own. Whoever asked for a switch there would have to promise this for all code of the fiber, and
/// of the crates that it calls, in all their later versions. We know of nobody who could, so there
/// is no such option.
#[derive(Debug, Default)]
pub struct Preempting<A = System> {
    inner: A,
}

impl Preempting {
    /// Counts for the system's allocator.
    pub const fn new() -> Self {
        Self { inner: System }
    }
}

impl<A> Preempting<A> {
    /// Counts for another allocator.
    pub const fn with(inner: A) -> Self {
        Self { inner }
    }
}

/// Neither allocates nor unwinds.
#[inline]
fn count() {
    context::with(|context| {
        count_reduction(context);
    });
}

// SAFETY: all is passed on to an allocator. What is added neither allocates nor unwinds: it changes
// plain cells of the thread, which need no destructor and are never made lazily, and reads the
// clock.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Preempting<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { self.inner.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { self.inner.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { self.inner.realloc(memory, layout, new_size) }
    }
}
