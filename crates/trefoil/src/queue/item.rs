//! What a run queue holds, and the plain list that several queues are made of.

use crate::primitives::UnsafeCell;
use std::ptr::NonNull;

/// The intrusive link at the start of everything that can be queued.
///
/// It belongs to whoever owns the [`Item`]: at most one queue at a time.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Link {
    next: UnsafeCell<Option<NonNull<Link>>>,
}

impl Link {
    pub(crate) const UNALIGNED_BITS: usize = align_of::<Link>() - 1;

    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self { next: UnsafeCell::new(None) }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self { next: UnsafeCell::new(None) }
    }
}

/// One entry of a run queue: one pointer, owned.
///
/// Today every item is a task. The alignment of [`Link`] leaves three low bits
/// for the kinds to come (fiber, closure); queues never look inside.
#[derive(Debug)]
#[must_use = "an item that is dropped is a task that never runs again"]
#[repr(transparent)]
pub(crate) struct Item(NonNull<Link>);

// SAFETY: an item stands for the exclusive right to what it points to, and
// `from_link`'s caller promises that this right may move between threads.
unsafe impl Send for Item {}

impl Item {
    const TAGS_FIT: () = assert!(Link::UNALIGNED_BITS >= 0b111);

    /// # Safety
    /// 1. `link` points to a live `Link` that is in no queue, and stays live
    ///    until the item is taken apart again by `into_link`.
    /// 2. No other item for it exists.
    /// 3. Where items travel to other threads (ring, injector, inbox), what
    ///    `link` is part of may be used by those threads.
    #[inline(always)]
    pub(crate) unsafe fn from_link(link: NonNull<Link>) -> Self {
        let () = Self::TAGS_FIT;
        Self(link)
    }

    #[inline(always)]
    pub(crate) fn into_link(self) -> NonNull<Link> {
        self.0
    }

    #[inline(always)]
    fn set_next(&self, next: Option<NonNull<Link>>) {
        // SAFETY: the link is live (`from_link`, 1).
        let link = unsafe { self.0.as_ref() };
        link.next.with_mut(|cell| {
            // SAFETY: whoever has the item owns the link's cell (`from_link`, 2).
            unsafe { *cell = next }
        });
    }

    #[inline(always)]
    fn next(&self) -> Option<NonNull<Link>> {
        // SAFETY: the link is live (`from_link`, 1).
        let link = unsafe { self.0.as_ref() };
        link.next.with(|cell| {
            // SAFETY: whoever has the item owns the link's cell (`from_link`, 2).
            unsafe { *cell }
        })
    }

    /// Makes `next` follow this item in a chain, for queues that publish
    /// chains themselves.
    #[inline(always)]
    pub(super) fn chain(self, next: Option<NonNull<Link>>) -> NonNull<Link> {
        self.set_next(next);
        self.0
    }

    /// Takes the first item off a chain.
    ///
    /// # Safety
    /// `link` came from `chain` and the caller owns the whole chain.
    #[inline(always)]
    pub(super) unsafe fn unchain(link: NonNull<Link>) -> (Self, Option<NonNull<Link>>) {
        let item = Self(link);
        let next = item.next();
        (item, next)
    }
}

/// First in, first out, linked through the items; owned by one thread or
/// guarded by a lock.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    head: Option<NonNull<Link>>,
    tail: Option<NonNull<Link>>,
    len: usize,
}

// SAFETY: a `Fifo` is a sequence of owned items, and those are `Send`.
unsafe impl Send for Fifo {}

impl Fifo {
    pub(crate) const fn new() -> Self {
        Self { head: None, tail: None, len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push_back(&mut self, item: Item) {
        let link = item.chain(None);
        match self.tail {
            // The tail is ours: taking it as an item for a moment is what
            // every method here does with its links.
            Some(tail) => drop(Item(tail).chain(Some(link))),
            None => self.head = Some(link),
        }
        self.tail = Some(link);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn push_front(&mut self, item: Item) {
        let link = item.chain(self.head);
        self.head = Some(link);
        self.tail.get_or_insert(link);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<Item> {
        let item = Item(self.head?);
        self.head = item.next();
        if self.head.is_none() {
            self.tail = None;
        }
        self.len -= 1;
        Some(item)
    }

    /// Moves all of `other` to the back of `self`.
    pub(crate) fn append(&mut self, other: &mut Fifo) {
        let other = std::mem::take(other);
        let Some(first) = other.head else { return };
        match self.tail {
            Some(tail) => drop(Item(tail).chain(Some(first))),
            None => self.head = Some(first),
        }
        self.tail = other.tail;
        self.len += other.len;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fifo_keeps_order_through_both_ends_and_append() {
        let links: Vec<Link> = (0..5).map(|_| Link::new()).collect();
        // SAFETY: the links outlive the queue, and each makes one item.
        let item = |index: usize| unsafe { Item::from_link(NonNull::from(&links[index])) };
        let (mut a, mut b) = (Fifo::new(), Fifo::new());
        a.push_back(item(1));
        a.push_front(item(0));
        a.push_back(item(2));
        b.push_back(item(3));
        b.push_back(item(4));
        a.append(&mut b);
        assert_eq!((a.len(), b.len()), (5, 0));
        for link in &links {
            assert_eq!(a.pop_front().map(Item::into_link), Some(NonNull::from(link)));
        }
        assert!(a.pop_front().is_none());
        b.append(&mut a);
        assert!(b.pop_front().is_none());
    }
}
