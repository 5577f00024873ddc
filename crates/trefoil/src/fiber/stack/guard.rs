//! Guards that do not split a mapping: `MADV_GUARD_INSTALL`, from Linux 6.13 on.
//!
//! Older systems refuse this advice. But advice is something that a system may also take and do
//! nothing about: the user-mode emulation of qemu takes all that it does not know. A stack without
//! a guard would run over into the mapping below it. So the first guard of the process is tried
//! out: the system is asked to make the page ready for reads, which it refuses if nobody can read
//! there. That is advice, too: whoever takes all advice and does nothing says that there is no
//! guard. (A system call that reads there by itself would not do. Tools such as Valgrind read its
//! argument before the system does, and die of that.)

use crate::primitives::atomic::{AtomicU32, Relaxed};
use std::io;
use std::ptr::NonNull;

const NOT_TRIED: u32 = 0;
const MAKES: u32 = 1;
const MAKES_NONE: u32 = 2;

/// Guards by one kind of advice, and whether the system makes any.
#[derive(Debug)]
pub(super) struct Guards {
    advice: libc::c_int,
    state: AtomicU32,
}

/// Those by `MADV_GUARD_INSTALL`.
pub(super) static INSTALLED: Guards = Guards::by(102);

impl Guards {
    const fn by(advice: libc::c_int) -> Self {
        Self { advice, state: AtomicU32::new(NOT_TRIED) }
    }

    /// Makes a guard of the first page of a mapping that is new, readable and the caller's. False
    /// if the system does not.
    pub(super) fn make(&self, start: NonNull<u8>, page: usize) -> bool {
        // Relaxed: if two threads find out, both do, each for its own mapping.
        let state = self.state.load(Relaxed);
        if state == MAKES_NONE {
            return false;
        }
        // SAFETY: the page is the caller's, and nothing is there yet.
        let is_taken = unsafe { libc::madvise(start.as_ptr().cast(), page, self.advice) } == 0;
        let is_made = is_taken && (state == MAKES || !is_readable(start, page));
        if !is_made || state == NOT_TRIED {
            self.state.store(if is_made { MAKES } else { MAKES_NONE }, Relaxed);
        }
        is_made
    }
}

/// Whether that page, which is of a mapping of zeros, can be read.
fn is_readable(start: NonNull<u8>, page: usize) -> bool {
    // SAFETY: it reads the page, or says that it cannot, and changes nothing that is there.
    let found = unsafe { libc::madvise(start.as_ptr().cast(), page, libc::MADV_POPULATE_READ) };
    // If it refuses the question itself, the answer is not known, and there may be no guard.
    found == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT)
}

#[cfg(test)]
mod tests {
    use super::super::{MIN_SIZE, Stack};
    use super::*;

    #[test]
    fn a_stack_has_a_guard_and_can_be_used_above_it() {
        let stack = Stack::map(MIN_SIZE).unwrap();
        let page = stack.guard().len();
        assert!(!is_readable(stack.start, page));
        // SAFETY: the first byte above the guard, which is a part of the mapping.
        assert!(is_readable(unsafe { stack.start.byte_add(page) }, page));
    }

    /// `MADV_NORMAL` stands for advice that the system takes and does nothing about.
    #[test]
    fn advice_that_makes_no_guard_is_not_relied_on() {
        let guards = Guards::by(libc::MADV_NORMAL);
        let stack = Stack::map(MIN_SIZE).unwrap();
        let page = stack.guard().len();
        // SAFETY: the first byte above the guard, which is a part of the mapping.
        let readable = unsafe { stack.start.byte_add(page) };
        for _ in 0..2 {
            assert!(!guards.make(readable, page));
            assert_eq!(guards.state.load(Relaxed), MAKES_NONE);
        }
    }

    /// Each guard that the system refuses is known to be none, also after others were made.
    #[test]
    fn a_guard_that_is_refused_is_none() {
        let guards = Guards::by(libc::MADV_NORMAL);
        guards.state.store(MAKES, Relaxed);
        let stack = Stack::map(MIN_SIZE).unwrap();
        // SAFETY: a part of the mapping, but no page begins there.
        let refused = unsafe { stack.start.byte_add(1) };
        assert!(!guards.make(refused, stack.guard().len()));
        assert_eq!(guards.state.load(Relaxed), MAKES_NONE);
    }
}
