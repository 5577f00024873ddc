//! The stacks of fibers: how they are made, and kept for later fibers.
//!
//! A stack is a mapping of its own. The system gives it memory page by page, as it is touched.
//! Its lowest page is a guard: whoever runs over the end touches it, and `overflow.rs` ends the
//! process.
//!
//! A guard by `mprotect` splits a mapping into two, and a process may have some 65,000 of them
//! (`vm.max_map_count`). From Linux 6.13 on, `MADV_GUARD_INSTALL` makes one that does not, so that
//! stacks beside each other are one mapping, and their number is bounded by memory alone.
//!
//! # Free stacks
//!
//! A stack that has become free is kept by the process, up to [`KEPT`]; what exceeds that is
//! unmapped. The one that came last goes first, so those at the bottom of the pile are the ones
//! that are not needed. They give the pages that they have touched back to the system, except for
//! the first two, which most fibers touch:
//!
//! - After every [`TURN`] stacks that came back, those that were not taken since the turn before.
//!   So this costs a fiber no more than a count, and a fiber in `TURN` a few system calls.
//! - All of them, when the monitor of a multi-thread runtime goes to rest, because all its workers
//!   sleep.

use super::limits;
use crate::primitives::Mutex;
#[cfg(target_os = "linux")]
use crate::primitives::atomic::{AtomicBool, Relaxed};
use corosensei::stack::StackPointer;
use std::collections::VecDeque;
use std::io;
use std::ptr::NonNull;

/// The size of a stack, unless [`Builder::stack_size`](super::Builder::stack_size) says otherwise.
pub(super) const DEFAULT_SIZE: usize = 256 * 1024;

/// The least size, which a panic and its message fit into.
pub(super) const MIN_SIZE: usize = 16 * 1024;

/// The largest size: an address is 47 bits, and there should be room for more than one stack.
pub(super) const MAX_SIZE: usize = 1 << 36;

/// How many free stacks of the default size the process keeps.
const KEPT: usize = 256;

/// After so many stacks that came back, those that nobody has taken meanwhile give memory back.
const TURN: u32 = 64;

/// How many pages a stack keeps then.
const PAGES_KEPT: usize = 2;

/// `MADV_GUARD_INSTALL` of Linux 6.13.
#[cfg(target_os = "linux")]
const MADV_GUARD_INSTALL: libc::c_int = 102;

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

/// The free stacks of the process.
static FREE: Pool = Pool::new();

#[derive(Debug)]
struct Pool(Mutex<Pile>);

#[derive(Debug)]
struct Pile {
    /// Those that have given their memory back, which are beneath `whole`.
    trimmed: VecDeque<Stack>,
    /// The others; the back is the top of the pile.
    whole: VecDeque<Stack>,
    /// How many stacks have come back since the last turn.
    came: u32,
    /// The fewest of `whole` that there were since then.
    fewest: usize,
}

impl Pool {
    const fn new() -> Self {
        Self(Mutex::new(Pile {
            trimmed: VecDeque::new(),
            whole: VecDeque::new(),
            came: 0,
            fewest: 0,
        }))
    }

    fn take(&self) -> Option<Stack> {
        let mut pile = self.0.lock();
        let taken = pile.whole.pop_back();
        pile.fewest = pile.fewest.min(pile.whole.len());
        taken.or_else(|| pile.trimmed.pop_back())
    }

    /// Keeps a stack, or unmaps it.
    fn put(&self, stack: Stack) {
        let mut pile = self.0.lock();
        if pile.trimmed.len() + pile.whole.len() >= KEPT {
            // The system's call is not made under the lock.
            drop(pile);
            drop(stack);
            return;
        }
        pile.whole.push_back(stack);
        pile.came += 1;
        if pile.came >= TURN {
            let unused = pile.fewest;
            pile.came = 0;
            pile.fewest = pile.whole.len() - unused;
            let unused: Vec<_> = pile.whole.drain(..unused).collect();
            drop(pile);
            self.trim(unused);
        }
    }

    fn trim_all(&self) {
        let mut pile = self.0.lock();
        pile.fewest = 0;
        let whole: Vec<_> = pile.whole.drain(..).collect();
        drop(pile);
        self.trim(whole);
    }

    /// These are in the pool no more, and come back to it, if there is room still.
    fn trim(&self, stacks: Vec<Stack>) {
        stacks.iter().for_each(Stack::trim);
        let mut stacks = stacks.into_iter();
        let mut pile = self.0.lock();
        let room = KEPT.saturating_sub(pile.trimmed.len() + pile.whole.len());
        pile.trimmed.extend(stacks.by_ref().take(room));
        drop(pile);
        // What is left is unmapped here, outside of the lock.
        drop(stacks);
    }
}

/// Nobody runs: the free stacks of the process give their memory back.
pub(crate) fn trim_free() {
    FREE.trim_all();
}

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
            && let Some(stack) = FREE.take()
        {
            return Ok(stack);
        }
        Self::map(size)
    }

    fn map(size: usize) -> io::Result<Self> {
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
        {
            static IS_UNKNOWN: AtomicBool = AtomicBool::new(false);
            // Relaxed: if two threads find out, both do.
            if !IS_UNKNOWN.load(Relaxed) {
                // SAFETY: the page is the first of this mapping, and nothing is there yet.
                let made =
                    unsafe { libc::madvise(self.start.as_ptr().cast(), page, MADV_GUARD_INSTALL) };
                if made == 0 {
                    return Ok(());
                }
                IS_UNKNOWN.store(true, Relaxed);
            }
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

    /// The size without the guard.
    pub(super) fn size(&self) -> usize {
        self.len - page_size()
    }

    /// Keeps the stack for a later fiber, or unmaps it.
    pub(super) fn release(self) {
        if self.size() == DEFAULT_SIZE {
            FREE.put(self);
        }
    }

    /// Gives the memory of a free stack back to the system, except for its first pages.
    fn trim(&self) {
        let page = page_size();
        let end = self.len - PAGES_KEPT * page;
        // SAFETY: the guard is one page, and a stack has at least three more.
        let start = unsafe { self.start.byte_add(page) };
        // Where the system refuses this, because the memory is locked, it is kept.
        // SAFETY: the range is a part of this mapping. The stack is free: there is nothing on it.
        unsafe { libc::madvise(start.as_ptr().cast(), end - page, libc::MADV_DONTNEED) };
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: this is the mapping's only owner, and nothing runs on it: a coroutine keeps its
        // stack until it has ended.
        let unmapped = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
        debug_assert_eq!(unmapped, 0);
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
    // SAFETY: it has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("the system knows its page size")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(number: usize) -> Vec<Stack> {
        let stacks: Vec<_> = (0..number).map(|_| Stack::map(DEFAULT_SIZE).unwrap()).collect();
        for stack in &stacks {
            for at in (page_size()..stack.len).step_by(page_size()) {
                // SAFETY: it is in the mapping, and not in its guard.
                let place = unsafe { stack.start.byte_add(at) };
                // SAFETY: as above, and nobody else uses it.
                unsafe { place.write(1) };
            }
        }
        stacks
    }

    /// How many pages of a stack the system backs.
    #[cfg(target_os = "linux")]
    fn resident(stack: &Stack) -> usize {
        let page = page_size();
        let mut pages = vec![0_u8; stack.size() / page];
        // SAFETY: as in `touched`.
        let start = unsafe { stack.start.byte_add(page) };
        // SAFETY: the range is mapped, and there is a byte for each of its pages.
        let result = unsafe {
            libc::mincore(start.as_ptr().cast(), stack.size(), pages.as_mut_ptr().cast())
        };
        assert_eq!(result, 0);
        pages.iter().filter(|&page| page & 1 != 0).count()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn stacks_that_nobody_takes_give_their_memory_back() {
        let pool = Pool::new();
        touched(4).into_iter().for_each(|stack| pool.put(stack));
        // One fiber after the other, each on the stack of the one before.
        let begin_and_end = |count: u32| {
            for _ in 0..count {
                let stack = pool.take().unwrap();
                assert_eq!(resident(&stack), DEFAULT_SIZE / page_size());
                pool.put(stack);
            }
        };
        begin_and_end(TURN - 5);
        assert_eq!(pool.0.lock().trimmed.len(), 0);
        begin_and_end(1 + TURN);
        let pile = pool.0.lock();
        assert_eq!((pile.trimmed.len(), pile.whole.len()), (3, 1));
        for stack in &pile.trimmed {
            assert_eq!(resident(stack), PAGES_KEPT);
        }
        drop(pile);
        pool.trim_all();
        let all: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
        assert!(all.iter().all(|stack| resident(stack) == PAGES_KEPT));
        assert!(pool.take().is_none());
    }

    #[test]
    fn a_pool_is_bounded() {
        let pool = Pool::new();
        for _ in 0..KEPT + 10 {
            pool.put(Stack::map(DEFAULT_SIZE).unwrap());
        }
        let kept = || {
            let pile = pool.0.lock();
            pile.trimmed.len() + pile.whole.len()
        };
        assert_eq!(kept(), KEPT);
        pool.trim_all();
        assert_eq!(kept(), KEPT);
    }
}
