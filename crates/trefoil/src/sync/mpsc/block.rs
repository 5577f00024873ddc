//! A block: consecutive slots of the queue, in one allocation.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{AtomicBool, AtomicPtr, AtomicU64, Relaxed};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// The slots of a channel's first block. Each further block has twice as many, up to a limit, so
/// that a channel of few messages is small.
const SLOTS_MIN: usize = if cfg!(loom) { 1 } else { 8 };
const SLOTS_MAX: usize = if cfg!(loom) { 1 } else { 64 };
/// Small enough for the caches that allocators keep for each thread.
const BYTES: usize = 1000;

/// `retired_at` of a block that senders may still find.
const NEVER: u64 = u64::MAX;

/// What comes before the slots, and after them a flag for each.
pub(super) struct Header<T> {
    /// The position of the first slot. Like `len` and `prev`, it changes only while one thread has
    /// the block.
    start: u64,
    len: usize,
    /// The block before. Dangling as soon as the receiver has taken all of that block's messages.
    prev: *mut Header<T>,
    pub(super) next: AtomicPtr<Header<T>>,
    /// No claim of this position or a later one ever leads a sender to this block.
    pub(super) retired_at: AtomicU64,
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// A pointer to a block.
pub(super) struct Block<T>(NonNull<Header<T>>);

impl<T> Clone for Block<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Block<T> {}

impl<T> PartialEq for Block<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Block<T> {
    pub(super) const SLOTS_MAX: usize = {
        let fit = BYTES.saturating_sub(size_of::<Header<T>>()) / (size_of::<T>() + 1);
        if fit < SLOTS_MIN {
            SLOTS_MIN
        } else if fit > SLOTS_MAX {
            SLOTS_MAX
        } else {
            fit
        }
    };

    /// From the header to the slots.
    const SLOTS_AT: usize = size_of::<Header<T>>().next_multiple_of(align_of::<Slot<T>>());

    /// From the header to the flags.
    fn flags_at(len: usize) -> usize {
        (Self::SLOTS_AT + len * size_of::<Slot<T>>()).next_multiple_of(align_of::<AtomicBool>())
    }

    fn layout(len: usize) -> Layout {
        const TOO_LARGE: &str = "the messages of a block are more than there are addresses";
        // Whoever looks for a place in the block multiplies as well, and does not check.
        let slots = Layout::array::<Slot<T>>(len).expect(TOO_LARGE);
        let bytes = Self::flags_at(len) + len * size_of::<AtomicBool>();
        let align = align_of::<Header<T>>().max(slots.align());
        Layout::from_size_align(bytes, align).expect(TOO_LARGE)
    }

    /// An empty block: the first one, or one to come after the given one.
    pub(super) fn allocate(before: Option<Self>) -> Self {
        let len = match before {
            None => SLOTS_MIN,
            // SAFETY: the caller has found the block in the queue, and it is not freed before the
            // caller's position is consumed.
            Some(before) => (unsafe { before.header() }.len * 2).min(Self::SLOTS_MAX),
        };
        let layout = Self::layout(len);
        // SAFETY: the header's size is not zero.
        let memory = unsafe { alloc(layout) };
        let Some(header) = NonNull::new(memory.cast::<Header<T>>()) else {
            handle_alloc_error(layout)
        };
        let new = Header {
            start: 0,
            len,
            prev: ptr::null_mut(),
            next: AtomicPtr::new(ptr::null_mut()),
            retired_at: AtomicU64::new(NEVER),
        };
        // SAFETY: the memory is new, and its layout has room for a header at its start.
        unsafe { header.write(new) };
        let block = Self(header);
        for offset in 0..len {
            // SAFETY: the block is new, and the offset is less than `len`.
            let (flag, slot) = unsafe { block.slot_parts(offset) };
            // SAFETY: the layout has room for it there.
            unsafe { flag.write(AtomicBool::new(false)) };
            // SAFETY: the layout has room for it there, too.
            unsafe { slot.write(UnsafeCell::new(MaybeUninit::uninit())) };
        }
        block
    }

    /// # Safety
    /// 1. The block is live, and nobody uses it from here on.
    /// 2. Messages in it have been taken: they are not dropped.
    pub(super) unsafe fn free(self) {
        // SAFETY: live by 1.
        let len = unsafe { self.header() }.len;
        // Nothing below needs to be dropped, but loom's models of these types may.
        for offset in 0..len {
            // SAFETY: live by 1, and the offset is less than `len`.
            let (flag, slot) = unsafe { self.slot_parts(offset) };
            // SAFETY: `allocate` has written it, and by 1 nobody uses it.
            unsafe { flag.drop_in_place() };
            // SAFETY: `allocate` has written it, and by 1 nobody uses it.
            unsafe { slot.drop_in_place() };
        }
        // SAFETY: `allocate` has written it, and by 1 nobody uses it.
        unsafe { self.0.drop_in_place() };
        // SAFETY: `allocate` has allocated it with this layout, which depends on `len` alone.
        unsafe { dealloc(self.0.as_ptr().cast(), Self::layout(len)) };
    }

    pub(super) fn from_ptr(ptr: *mut Header<T>) -> Option<Self> {
        NonNull::new(ptr).map(Self)
    }

    pub(super) fn as_ptr(self) -> *mut Header<T> {
        self.0.as_ptr()
    }

    /// # Safety
    /// The block is live for as long as the result is used, and is not given a new place meanwhile.
    #[inline(always)]
    pub(super) unsafe fn header<'a>(self) -> &'a Header<T> {
        // SAFETY: the caller's promise.
        unsafe { self.0.as_ref() }
    }

    /// # Safety
    /// The block is live, and `offset` is less than its `len`.
    #[inline(always)]
    unsafe fn slot_ptr(self, offset: usize) -> NonNull<Slot<T>> {
        let at = Self::SLOTS_AT + offset * size_of::<Slot<T>>();
        // SAFETY: the layout has room for `len` slots there.
        unsafe { self.0.cast::<u8>().add(at) }.cast()
    }

    /// # Safety
    /// As [`Block::slot_ptr`].
    #[inline(always)]
    unsafe fn flag_ptr(self, offset: usize) -> NonNull<AtomicBool> {
        // SAFETY: the caller's promise.
        let len = unsafe { self.header() }.len;
        let at = Self::flags_at(len) + offset * size_of::<AtomicBool>();
        // SAFETY: the layout has room for `len` flags there.
        unsafe { self.0.cast::<u8>().add(at) }.cast()
    }

    /// # Safety
    /// As [`Block::slot_ptr`].
    unsafe fn slot_parts(self, offset: usize) -> (NonNull<AtomicBool>, NonNull<Slot<T>>) {
        // SAFETY: the caller's promise.
        let flag = unsafe { self.flag_ptr(offset) };
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot_ptr(offset) };
        (flag, slot)
    }

    /// Whether the slot's message was sent. A sender sets this once; the receiver clears it when
    /// it recycles the block.
    ///
    /// # Safety
    /// The block is live for as long as the result is used, and `offset` is less than its `len`.
    #[inline(always)]
    pub(super) unsafe fn flag<'a>(self, offset: usize) -> &'a AtomicBool {
        // SAFETY: the caller's promise.
        let flag = unsafe { self.flag_ptr(offset) };
        // SAFETY: `allocate` has written it, and it is only accessed through shared references.
        unsafe { flag.as_ref() }
    }

    /// # Safety
    /// As [`Block::flag`].
    #[inline(always)]
    pub(super) unsafe fn slot<'a>(self, offset: usize) -> &'a Slot<T> {
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot_ptr(offset) };
        // SAFETY: `allocate` has written it, and it is only accessed through shared references.
        unsafe { slot.as_ref() }
    }

    /// Makes a block whose messages were all taken as good as new.
    ///
    /// # Safety
    /// The block is live, and nobody else uses it.
    pub(super) unsafe fn clear(self) {
        // SAFETY: the caller's promise.
        let header = unsafe { self.header() };
        // Relaxed: whoever gives the block to other threads publishes this.
        header.retired_at.store(NEVER, Relaxed);
        for offset in 0..header.len {
            // SAFETY: the caller's promise; the offset is less than `len`.
            unsafe { self.flag(offset) }.store(false, Relaxed);
        }
    }

    /// Gives the block its place: at the given position, after the given block.
    ///
    /// # Safety
    /// The block is live, and nobody else uses it.
    pub(super) unsafe fn place(self, start: u64, prev: *mut Header<T>) {
        let header = self.0.as_ptr();
        // SAFETY: the caller's promise.
        unsafe { (*header).start = start };
        // SAFETY: the caller's promise.
        unsafe { (*header).prev = prev };
    }
}

impl<T> Header<T> {
    /// The offset of a position of this block.
    #[inline(always)]
    pub(super) fn offset(&self, position: u64) -> Option<usize> {
        // A position before the block wraps to a number far above `len`.
        let offset = position.wrapping_sub(self.start);
        (offset < self.len as u64).then_some(offset as usize)
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The position after the last slot.
    pub(super) fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    pub(super) fn prev(&self) -> *mut Header<T> {
        self.prev
    }
}
