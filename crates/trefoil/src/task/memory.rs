//! Memory of tasks that have ended, kept for new tasks.
//!
//! One worker makes a task, and often another one frees it. Many allocators return memory to the
//! thread that allocated it, under a lock, for which both threads then wait at every task. Here
//! memory stays with the worker that freed it, up to two magazines. Full magazines pass through a
//! depot to workers that need one. The depot's lock is taken once for `MAGAZINE_BLOCKS` tasks. (The
//! scheme and its terms are those of Bonwick and Adams 2001, who describe it for kernels.)
//!
//! Only workers and drivers of current-thread runtimes keep memory. Other threads take one block
//! at a time from the depot of the runtime that they spawn on, and so do these where they have
//! none. Every block is an allocation of its
//! own from the global allocator, so any thread may free any block.

use crate::context;
use crate::primitives::atomic::{AtomicBool, AtomicUsize, Relaxed};
use crate::primitives::{CachePadded, Mutex};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::array;
use std::cell::Cell;
use std::fmt;
use std::iter;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;

/// The block size of the first class. An allocator such as glibc's adds a word to each block and
/// rounds up to a multiple of 16 bytes; blocks of 24 bytes and steps of 16 waste nothing there.
const LEAST: usize = 24;
/// From each class to the next.
const STEP: usize = 16;

const CLASSES: usize = 32;

/// Larger tasks are not kept.
const LARGEST: usize = LEAST + (CLASSES - 1) * STEP;

/// Blocks in a full magazine.
const MAGAZINE_BLOCKS: usize = 32;

/// How much memory a depot keeps at most.
const DEPOT_BYTES: usize = 4 << 20;

/// A block that nobody uses. Only its first word is ever written.
struct Free {
    next: Option<NonNull<Free>>,
}

/// Free blocks of one class.
///
/// **Invariant:** it has `len` blocks, each with the layout of the class, and they belong to this
/// magazine alone.
#[derive(Debug, Default)]
struct Magazine {
    first: Option<NonNull<Free>>,
    len: usize,
}

// SAFETY: the blocks belong to the magazine alone, and any thread may use or free them.
unsafe impl Send for Magazine {}

impl Magazine {
    /// # Safety
    /// The block has the layout of the magazine's class, and the caller gives it up.
    #[inline]
    unsafe fn push(&mut self, block: NonNull<u8>) {
        let block = block.cast::<Free>();
        // SAFETY: the caller's promise; every class has room for a word, and is aligned for it.
        unsafe { block.write(Free { next: self.first }) };
        self.first = Some(block);
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<NonNull<u8>> {
        let block = self.first?;
        // SAFETY: the block is in this magazine, so `push` has written the link.
        self.first = unsafe { block.as_ref() }.next;
        self.len -= 1;
        Some(block.cast())
    }

    fn free(mut self, class: usize) {
        while let Some(block) = self.pop() {
            // SAFETY: by the invariant, the block has this layout, and it was just taken out.
            unsafe { dealloc(block.as_ptr(), layout_of(class)) };
        }
    }
}

/// The class of a layout. None if such memory is not kept.
#[inline]
const fn class_of(layout: Layout) -> Option<usize> {
    // Miri and AddressSanitizer only see a use after free if the memory goes back to the allocator,
    // so they see these lists in unit tests alone.
    if cfg!(all(any(miri, trefoil_asan), not(test)))
        || layout.align() > STEP
        || layout.size() > LARGEST
    {
        return None;
    }
    Some(layout.size().saturating_sub(LEAST).div_ceil(STEP))
}

#[inline]
const fn layout_of(class: usize) -> Layout {
    match Layout::from_size_align(LEAST + class * STEP, STEP) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

/// The blocks of one class that a worker keeps. There are two magazines, so that a worker that
/// makes and drops one task at the edge of a magazine does not use the depot each time.
#[derive(Default)]
struct Magazines {
    loaded: Cell<Magazine>,
    /// It is full or empty.
    spare: Cell<Magazine>,
}

/// The memory that a worker's thread keeps, or whoever drives a current-thread runtime.
pub(crate) struct Memory {
    classes: [Magazines; CLASSES],
    depot: Arc<Depot>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    pub(crate) fn new(depot: Arc<Depot>) -> Self {
        Self { classes: array::from_fn(|_| Magazines::default()), depot }
    }

    #[inline]
    fn take(&self, class: usize) -> Option<NonNull<u8>> {
        let kept = &self.classes[class];
        let mut loaded = kept.loaded.take();
        if loaded.first.is_none() {
            loaded = self.refill(class);
        }
        let block = loaded.pop();
        kept.loaded.set(loaded);
        block
    }

    #[cold]
    fn refill(&self, class: usize) -> Magazine {
        let spare = self.classes[class].spare.take();
        if spare.len > 0 { spare } else { self.depot.take(class) }
    }

    /// # Safety
    /// The block has the class's layout, and the caller gives it up.
    #[inline]
    unsafe fn give(&self, class: usize, block: NonNull<u8>) {
        let kept = &self.classes[class];
        let mut loaded = kept.loaded.take();
        if loaded.len >= MAGAZINE_BLOCKS {
            self.unload(class, mem::take(&mut loaded));
        }
        // SAFETY: the caller's promise.
        unsafe { loaded.push(block) };
        kept.loaded.set(loaded);
    }

    #[cold]
    fn unload(&self, class: usize, full: Magazine) {
        let spare = self.classes[class].spare.replace(full);
        self.depot.give(class, spare);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for (class, kept) in self.classes.iter().enumerate() {
            self.depot.give(class, kept.loaded.take());
            self.depot.give(class, kept.spare.take());
        }
    }
}

/// Magazines that no worker has at present.
#[derive(Debug, Default)]
pub(crate) struct Depot {
    classes: [CachePadded<Class>; CLASSES],
    /// The bytes in all magazines together, except those that are being moved. Written by RMW.
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Class {
    stock: Mutex<Stock>,
    /// Whether there are any blocks: a hint, written under the lock.
    is_stocked: AtomicBool,
}

#[derive(Debug, Default)]
struct Stock {
    magazines: Vec<Magazine>,
    /// The magazine from which threads that are no workers take blocks.
    opened: Magazine,
}

impl Depot {
    /// Takes a magazine. It is empty if the depot has none.
    fn take(&self, class: usize) -> Magazine {
        self.with_stock(class, |stock| {
            stock.magazines.pop().unwrap_or_else(|| mem::take(&mut stock.opened))
        })
        .inspect(|magazine| self.count_out(class, magazine.len))
        .unwrap_or_default()
    }

    /// Takes one block, for a thread that is no worker.
    fn take_one(&self, class: usize) -> Option<NonNull<u8>> {
        self.with_stock(class, |stock| {
            if stock.opened.first.is_none() {
                stock.opened = stock.magazines.pop().unwrap_or_default();
            }
            stock.opened.pop()
        })
        .flatten()
        .inspect(|_| self.count_out(class, 1))
    }

    /// Calls `f` with the stock of a class, unless it is known to be empty.
    fn with_stock<R>(&self, class: usize, f: impl FnOnce(&mut Stock) -> R) -> Option<R> {
        let class = &self.classes[class];
        // Relaxed: a hint. A thread that misses a new magazine asks the allocator.
        if !class.is_stocked.load(Relaxed) {
            return None;
        }
        let mut stock = class.stock.lock();
        let result = f(&mut stock);
        if stock.magazines.is_empty() && stock.opened.first.is_none() {
            class.is_stocked.store(false, Relaxed);
        }
        Some(result)
    }

    fn count_out(&self, class: usize, blocks: usize) {
        // Relaxed: it counts, and orders nothing.
        self.bytes.fetch_sub(blocks * layout_of(class).size(), Relaxed);
    }

    /// Frees what is there.
    pub(crate) fn clear(&self) {
        for class in 0..CLASSES {
            let Some(stock) = self.with_stock(class, mem::take) else { continue };
            for magazine in iter::once(stock.opened).chain(stock.magazines) {
                self.count_out(class, magazine.len);
                magazine.free(class);
            }
        }
    }

    fn give(&self, class: usize, magazine: Magazine) {
        if magazine.len == 0 {
            return;
        }
        let bytes = magazine.len * layout_of(class).size();
        // Relaxed: as `count_out`.
        if self.bytes.fetch_add(bytes, Relaxed) + bytes > DEPOT_BYTES {
            self.bytes.fetch_sub(bytes, Relaxed);
            return magazine.free(class);
        }
        let class = &self.classes[class];
        let mut stock = class.stock.lock();
        stock.magazines.push(magazine);
        class.is_stocked.store(true, Relaxed);
    }
}

impl Drop for Depot {
    fn drop(&mut self) {
        // Nobody else has it any more, so that what it knows of its stock is no hint here.
        self.clear();
    }
}

/// Gets memory for a task: from this thread's magazines if it is a worker or drives a runtime, and
/// otherwise from the depot of the runtime that the task is for, if there is one.
#[inline]
pub(crate) fn acquire(layout: Layout, depot: Option<&Depot>) -> NonNull<u8> {
    let Some(class) = class_of(layout) else { return from_system(layout) };
    // A thread that works or drives may spawn on another runtime, whose threads then have the
    // memory of the tasks that have ended.
    let own = context::with(|context| context.task_memory()?.take(class));
    let kept = own.or_else(|| depot?.take_one(class));
    kept.unwrap_or_else(|| from_system(layout_of(class)))
}

#[inline]
fn from_system(layout: Layout) -> NonNull<u8> {
    assert!(layout.size() > 0);
    // SAFETY: as just asserted.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives memory back.
///
/// # Safety
/// It came from [`acquire`] for this layout, and nobody refers to it any more.
#[inline]
pub(crate) unsafe fn release(memory: NonNull<u8>, layout: Layout) {
    let Some(class) = class_of(layout) else {
        // SAFETY: `acquire` got it from the global allocator for this layout.
        return unsafe { dealloc(memory.as_ptr(), layout) };
    };
    context::with(|context| match context.task_memory() {
        // SAFETY: `acquire` got it with the layout of its class, and the caller gives it up.
        Some(kept) => unsafe { kept.give(class, memory) },
        // SAFETY: `acquire` got it with the layout of its class, and the caller gives it up.
        None => unsafe { dealloc(memory.as_ptr(), layout_of(class)) },
    });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn block(class: usize) -> NonNull<u8> {
        from_system(layout_of(class))
    }

    #[test]
    fn classes_hold_what_belongs_to_them() {
        for size in 1..=2 * LARGEST {
            for align in [1, 8, 16, 32] {
                let layout = Layout::from_size_align(size, align).unwrap();
                match class_of(layout) {
                    None => assert!(size > LARGEST || align > STEP),
                    Some(class) => {
                        let room = layout_of(class);
                        assert!(room.size() >= size && room.size() < size.max(LEAST) + STEP);
                        assert!(room.align() >= align && room.size() >= size_of::<Free>());
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_go_round_and_none_is_lost() {
        let depot = Arc::new(Depot::default());
        let (one, other) = (Memory::new(Arc::clone(&depot)), Memory::new(Arc::clone(&depot)));
        let mut blocks: Vec<_> = (0..5 * MAGAZINE_BLOCKS).map(|_| block(3)).collect();
        blocks.sort();
        for &block in &blocks {
            // SAFETY: of this class, and not used otherwise.
            unsafe { one.give(3, block) };
        }
        // Two magazines stay with the worker, and the depot gets the others.
        let mut seen: Vec<_> = std::iter::from_fn(|| depot.take_one(3)).take(5).collect();
        seen.extend(std::iter::from_fn(|| other.take(3)));
        seen.extend(std::iter::from_fn(|| depot.take_one(3)));
        assert_eq!(seen.len(), 3 * MAGAZINE_BLOCKS);
        assert!(other.take(4).is_none(), "another class");
        drop(one);
        seen.extend(std::iter::from_fn(|| other.take(3)));
        seen.sort();
        assert_eq!(seen, blocks);
        for block in seen {
            // SAFETY: of this class, and just taken.
            unsafe { other.give(3, block) };
        }
    }

    #[test]
    fn at_the_edge_of_a_magazine_nobody_goes_to_the_depot() {
        let depot = Arc::new(Depot::default());
        let memory = Memory::new(Arc::clone(&depot));
        for _ in 0..2 * MAGAZINE_BLOCKS {
            // SAFETY: of this class, and new.
            unsafe { memory.give(0, block(0)) };
        }
        let _held = depot.classes[0].stock.lock();
        for _ in 0..3 * MAGAZINE_BLOCKS {
            let block = memory.take(0).unwrap();
            // SAFETY: of this class, and just taken.
            unsafe { memory.give(0, block) };
        }
    }

    #[test]
    fn a_depot_does_not_grow_without_end() {
        let depot = Arc::new(Depot::default());
        let memory = Memory::new(Arc::clone(&depot));
        let class = CLASSES - 1;
        for _ in 0..2 * DEPOT_BYTES / LARGEST {
            // SAFETY: of this class, and new.
            unsafe { memory.give(class, block(class)) };
        }
        let bytes = depot.bytes.load(Relaxed);
        assert!(bytes <= DEPOT_BYTES && bytes > DEPOT_BYTES - (MAGAZINE_BLOCKS + 1) * LARGEST);
        depot.clear();
        assert_eq!(depot.bytes.load(Relaxed), 0);
        assert!(depot.take_one(class).is_none());
    }
}
