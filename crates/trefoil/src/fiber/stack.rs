//! The stacks of fibers: how they are made. `stack/pool.rs` keeps them for later fibers.
//!
//! A stack is a mapping of its own. The system gives it memory page by page, as it is touched.
//! Its lowest page is a guard: whoever runs over the end touches it, and `overflow.rs` ends the
//! process.
//!
//! A guard by `mprotect` splits a mapping into two, and a process may have some 65,000 of them
//! (`vm.max_map_count`). From Linux 6.13 on, `MADV_GUARD_INSTALL` makes one that does not
//! (`stack/guard.rs`), so that stacks beside each other are one mapping, and memory alone bounds
//! their number.

#[cfg(target_os = "linux")]
mod guard;
mod held;
mod pool;

pub(crate) use held::Held;
pub(crate) use pool::{Quiet, is_to_rest, trim_after_end, trim_free};

use super::limits;
use crate::primitives::atomic::{AtomicUsize, Relaxed};
use corosensei::stack::StackPointer;
use pool::FREE;
use std::io;
use std::ptr::NonNull;

/// The size of a stack, unless [`Builder::stack_size`](super::Builder::stack_size) says otherwise.
pub(super) const DEFAULT_SIZE: usize = 256 * 1024;

/// The least size, which a panic and its message fit into.
pub(super) const MIN_SIZE: usize = 16 * 1024;

/// The largest size: there should be room for more than one stack in the 47 bits of an address, or
/// in the 3 GiB or so that a program has where an address is 32 bits.
pub(super) const MAX_SIZE: usize = 1 << if usize::BITS < 64 { 30 } else { 36 };

/// How much of its memory a free stack keeps when it gives back the rest, in whole pages: most
/// fibers touch no more.
const BYTES_KEPT: usize = 8 * 1024;

/// A mapping for one stack.
#[derive(Debug)]
pub(super) struct Stack {
    /// The lowest address, which is that of the guard.
    start: NonNull<u8>,
    /// With the guard.
    len: usize,
}

// SAFETY: a mapping may be used by any thread, and a `Stack` is its only owner.
unsafe impl Send for Stack {}

impl Stack {
    /// A stack with room for `size` bytes, which are rounded up to whole pages.
    ///
    /// # Errors
    /// The size is not between [`MIN_SIZE`] and [`MAX_SIZE`]; or the system gives no memory.
    pub(super) fn new(size: usize) -> io::Result<Self> {
        if !(MIN_SIZE..=MAX_SIZE).contains(&size) {
            let text = format!(
                "the stack of a fiber has from {MIN_SIZE} to {MAX_SIZE} bytes, and not {size}"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if size == DEFAULT_SIZE
            && let Some(stack) = held::take().or_else(|| FREE.take())
        {
            return Ok(stack);
        }
        Self::map(size)
    }

    pub(super) fn map(size: usize) -> io::Result<Self> {
        let page = page_size();
        let len = size.next_multiple_of(page) + page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: no address is asked for, so nothing that exists is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(refused(size, &io::Error::last_os_error()));
        }
        let Some(start) = NonNull::new(start.cast()) else {
            return Err(io::Error::other("the system has mapped a stack at address 0"));
        };
        let stack = Self { start, len };
        stack.install_guard(page).map_err(|error| refused(size, &error))?;
        Ok(stack)
    }

    fn install_guard(&self, page: usize) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if guard::INSTALLED.make(self.start, page) {
            return Ok(());
        }
        // SAFETY: the page is the first of this mapping, and nothing is there yet.
        let made = unsafe { libc::mprotect(self.start.as_ptr().cast(), page, libc::PROT_NONE) };
        if made == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The addresses of the guard.
    pub(super) fn guard(&self) -> std::ops::Range<usize> {
        let start = self.start.addr().get();
        start..start + page_size()
    }

    /// The lowest address that may be used.
    pub(super) fn above_guard(&self) -> *mut libc::c_void {
        // SAFETY: the guard is the first page of the mapping, and there are more.
        unsafe { self.start.byte_add(page_size()) }.as_ptr().cast()
    }

    /// The size without the guard.
    pub(super) fn size(&self) -> usize {
        self.len - page_size()
    }

    /// Keeps the stack for a later fiber, or unmaps it.
    pub(super) fn release(self) {
        if self.size() == DEFAULT_SIZE
            && let Some(stack) = held::put(self)
        {
            FREE.put(stack);
        }
    }

    /// Gives the memory of a free stack back to the system, except for what is touched first.
    fn trim(&self) {
        let Some((offset, len)) = surplus(self.len, page_size()) else { return };
        // SAFETY: `surplus` says a part of the mapping.
        let start = unsafe { self.start.byte_add(offset) };
        // Where the system refuses this, because the memory is locked, it is kept.
        // SAFETY: the range is a part of this mapping. The stack is free: there is nothing on it.
        unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_DONTNEED) };
    }
}

/// What a free stack gives back, in a mapping of so many bytes with a guard of one page: the offset
/// and the length. `None` if all of it is kept, as may be where pages are large: on aarch64, they
/// have 4, 16 or 64 KiB.
fn surplus(mapped: usize, page: usize) -> Option<(usize, usize)> {
    let kept = page + BYTES_KEPT.next_multiple_of(page);
    mapped.checked_sub(kept).filter(|&len| len > 0).map(|len| (page, len))
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: this is the mapping's only owner, and nothing runs on it: a coroutine keeps its
        // stack until it has ended.
        let unmapped = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
        if unmapped != 0 {
            // To unmap a stack between two others splits a mapping, which the system refuses when
            // there are as many as it allows. Then the addresses are lost, but not the memory.
            // SAFETY: as above. What is left there is never used again.
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.len, libc::MADV_DONTNEED) };
        }
    }
}

// SAFETY: the lowest page is a guard, and there are `MIN_SIZE` bytes or more above it. The base is
// page-aligned.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.start.addr().checked_add(self.len).expect("a mapping ends below the last address")
    }

    fn limit(&self) -> StackPointer {
        self.start.addr()
    }
}

fn refused(size: usize, error: &io::Error) -> io::Error {
    let hint = limits::hint(error);
    let text = format!("no memory for a fiber's stack of {size} bytes: {error}{hint}");
    io::Error::new(error.kind(), text)
}

fn page_size() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: whoever does not see it asks the system, which always says the same.
    let known = KNOWN.load(Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: it has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let size = usize::try_from(size).expect("the system knows its page size");
    KNOWN.store(size, Relaxed);
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever pages the system has: neither the guard nor what is kept is given back.
    #[test]
    fn what_is_given_back_lies_between_the_guard_and_what_is_kept() {
        const KIB: usize = 1024;
        for page in [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB] {
            for size in [MIN_SIZE, DEFAULT_SIZE] {
                let stack = size.next_multiple_of(page);
                let kept = BYTES_KEPT.next_multiple_of(page);
                let expected = (stack > kept).then(|| (page, stack - kept));
                assert_eq!(surplus(page + stack, page), expected, "{size} {page}");
            }
        }
        assert_eq!(surplus(260 * KIB, 4 * KIB), Some((4 * KIB, 248 * KIB)));
        assert_eq!(surplus(320 * KIB, 64 * KIB), Some((64 * KIB, 192 * KIB)));
    }
}
