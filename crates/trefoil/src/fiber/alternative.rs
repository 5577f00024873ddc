//! The stack on which a thread handles signals. A thread without one cannot say that a fiber has
//! overflown its stack: the handler would have to run on that.
//!
//! `std` gives one to each thread that it starts, but only where `main` is Rust's. In a library
//! that a program in another language has loaded, threads get theirs here.

use super::stack::Stack;
use std::cell::Cell;
use std::io;
use std::mem::{self, ManuallyDrop};
use std::ptr;

/// Room for what the processor saves (several KiB with large vectors), and for the handlers.
const SIZE: usize = 64 * 1024;

thread_local! {
    /// Whether this thread was looked at.
    static IS_KNOWN: Cell<bool> = const { Cell::new(false) };
    /// What this thread got here.
    static OWN: Cell<Option<Alternative>> = const { Cell::new(None) };
}

/// Gives the calling thread such a stack if it has none. It is asked once for each thread.
///
/// # Errors
/// The system gives no memory, or refuses the stack.
#[inline]
pub(super) fn ensure() -> io::Result<()> {
    if IS_KNOWN.replace(true) { Ok(()) } else { ensure_anew() }
}

#[cold]
fn ensure_anew() -> io::Result<()> {
    if present()?.ss_flags & libc::SS_DISABLE == 0 {
        return Ok(());
    }
    let own = Alternative::new()?;
    // At the thread's end, which may have come so far that no local of it is there any more.
    OWN.try_with(|place| place.set(Some(own))).map_err(io::Error::other)
}

/// The thread's, whoever has made it.
fn present() -> io::Result<libc::stack_t> {
    // SAFETY: the type is one of C's, and all zeros are a value of it.
    let mut present: libc::stack_t = unsafe { mem::zeroed() };
    // SAFETY: it asks, and changes nothing.
    match unsafe { libc::sigaltstack(ptr::null(), &raw mut present) } {
        0 => Ok(present),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A stack that is the thread's, with a guard below it, until the drop.
#[derive(Debug)]
struct Alternative(ManuallyDrop<Stack>);

impl Alternative {
    fn new() -> io::Result<Self> {
        let stack = Stack::map(SIZE)?;
        set(stack.above_guard(), stack.size(), 0)?;
        Ok(Self(ManuallyDrop::new(stack)))
    }
}

impl Drop for Alternative {
    fn drop(&mut self) {
        let own = self.0.above_guard();
        let is_in_use = present().is_ok_and(|present| {
            present.ss_sp == own && set(ptr::null_mut(), self.0.size(), libc::SS_DISABLE).is_err()
        });
        // If it were, a signal would be handled on memory that is somebody else's.
        if !is_in_use {
            // SAFETY: once, and nobody uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

fn set(start: *mut libc::c_void, size: usize, flags: libc::c_int) -> io::Result<()> {
    let stack = libc::stack_t { ss_sp: start, ss_flags: flags, ss_size: size };
    // SAFETY: the range is that of a mapping which stays until the thread has another stack or
    // none; or, with that flag, is not looked at.
    match unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a program in C starts one: `std` gives it nothing.
    extern "C" fn body(seen: *mut libc::c_void) -> *mut libc::c_void {
        let flags = || present().map(|present| present.ss_flags & libc::SS_DISABLE).ok();
        let before = flags();
        ensure().unwrap();
        // The second one finds it.
        let first = present().unwrap().ss_sp;
        ensure().unwrap();
        assert_eq!(present().unwrap().ss_sp, first);
        // SAFETY: the test's, which waits.
        unsafe { *seen.cast::<[Option<libc::c_int>; 2]>() = [before, flags()] };
        ptr::null_mut()
    }

    #[test]
    fn a_thread_that_has_none_gets_one() {
        let mut seen = [None; 2];
        for _ in 0..10 {
            // SAFETY: the type is one of C's, and all zeros are a value of it.
            let mut thread: libc::pthread_t = unsafe { mem::zeroed() };
            let argument = (&raw mut seen).cast();
            // SAFETY: the function takes such a pointer, which outlives the thread.
            let made =
                unsafe { libc::pthread_create(&raw mut thread, ptr::null(), body, argument) };
            assert_eq!(made, 0);
            // SAFETY: it was just made, and is waited for once.
            assert_eq!(unsafe { libc::pthread_join(thread, ptr::null_mut()) }, 0);
            assert_eq!(seen[1], Some(0));
        }
        // AddressSanitizer gives one to each thread.
        if !cfg!(trefoil_asan) {
            assert_eq!(seen[0], Some(libc::SS_DISABLE));
        }
    }
}
