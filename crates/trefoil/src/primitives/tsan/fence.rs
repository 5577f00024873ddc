//! Fences, which ThreadSanitizer does not support.
//!
//! An `Arc` drops a reference with `fetch_sub(1, Release)`, and whoever drops the last one makes a
//! `fence(Acquire)` before it frees. The fence is compiled into this crate and all that use it, but
//! ThreadSanitizer ignores fences. So it reports every `Arc` whose last reference is dropped by
//! another thread than an earlier one. A standard library that is built for ThreadSanitizer loads
//! the count with Acquire instead of the fence.
//!
//! The same is done here where it was not (`cfg(trefoil_tsan_fences)`). The linker puts this file's
//! functions in the place of two entry points of ThreadSanitizer (`--wrap`, which `cargo xtask
//! tsan` passes). A thread remembers the count that it brought to zero with Release, and its next
//! acquiring fence acquires that count. Nothing else is strengthened: a count without a fence is
//! still a race, and so is a fence without a count.
//!
//! In the language's model, an acquiring fence synchronises with the release sequences of *all*
//! values that its thread has read before. This is a part of them, so it hides no race.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

// The sanitizer's names of memory orders are those of C, in C's order.
const ACQUIRE: c_int = 2;
const RELEASE: c_int = 3;
const ACQ_REL: c_int = 4;
const SEQ_CST: c_int = 5;

thread_local! {
    /// The count that this thread has last brought to zero. Null if the thread has made an
    /// acquiring fence since. The address is compared and passed to the sanitizer, and never
    /// followed.
    static ZEROED: Cell<*mut u64> = const { Cell::new(ptr::null_mut()) };
}

unsafe extern "C" {
    fn __tsan_acquire(address: *mut c_void);
    fn __real___tsan_atomic64_fetch_sub(word: *mut u64, value: u64, order: c_int) -> u64;
    fn __real___tsan_atomic_thread_fence(order: c_int);
}

/// What code compiled for ThreadSanitizer calls for a subtraction from a
/// 64-bit atomic.
///
/// # Safety
/// `word` is a live atomic.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap___tsan_atomic64_fetch_sub(
    word: *mut u64,
    value: u64,
    order: c_int,
) -> u64 {
    // SAFETY: the caller promises that `word` is a live atomic.
    let before = unsafe { __real___tsan_atomic64_fetch_sub(word, value, order) };
    if before == value && order == RELEASE {
        ZEROED.set(word);
    }
    before
}

/// What code compiled for ThreadSanitizer calls for a fence.
#[unsafe(no_mangle)]
extern "C" fn __wrap___tsan_atomic_thread_fence(order: c_int) {
    // SAFETY: the function takes any order, and does no more than a fence.
    unsafe { __real___tsan_atomic_thread_fence(order) };
    if matches!(order, ACQUIRE | ACQ_REL | SEQ_CST) {
        let word = ZEROED.replace(ptr::null_mut());
        if !word.is_null() {
            // SAFETY: the sanitizer only uses the address, to look up its own data.
            unsafe { __tsan_acquire(word.cast()) };
        }
    }
}
