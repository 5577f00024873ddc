//! How a queue holds values without allocating: a link inside of each value.

use crate::primitives::UnsafeCell;
use std::ptr::NonNull;

/// The pointer to the next value of a queue, inside of a value.
///
/// It belongs to the owner of the value. A value is in at most one queue at a time.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Link {
    next: UnsafeCell<Option<NonNull<Link>>>,
}

impl Link {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self { next: UnsafeCell::new(None) }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self { next: UnsafeCell::new(None) }
    }
}

/// A value that queues hold by a [`Link`] inside of what it owns.
///
/// # Safety
/// 1. The link that `into_link` returns is live until `from_link` is called
///    with it.
/// 2. Until then, nobody but the caller of `into_link` accesses that link.
/// 3. `from_link` returns the value that `into_link` was called on.
/// 4. No two values have the same link at the same time.
pub(crate) unsafe trait Linked: Sized {
    /// Exchanges the value for its link.
    fn into_link(self) -> NonNull<Link>;

    /// Exchanges a link for its value.
    ///
    /// # Safety
    /// `link` came from `into_link` of the same type, and this is the first call
    /// with it since then.
    unsafe fn from_link(link: NonNull<Link>) -> Self;
}

/// Makes `next` follow `link`.
///
/// # Safety
/// `link` came from [`Linked::into_link`], and belongs to the caller.
#[inline(always)]
pub(super) unsafe fn set_next(link: NonNull<Link>, next: Option<NonNull<Link>>) {
    // SAFETY: the link is live (`Linked`, 1).
    let link = unsafe { link.as_ref() };
    link.next.with_mut(|cell| {
        // SAFETY: the caller's promise: nobody else accesses it (`Linked`, 2).
        unsafe { *cell = next }
    });
}

/// The link that follows `link`.
///
/// # Safety
/// As for [`set_next`].
#[inline(always)]
pub(super) unsafe fn next(link: NonNull<Link>) -> Option<NonNull<Link>> {
    // SAFETY: the link is live (`Linked`, 1).
    let link = unsafe { link.as_ref() };
    link.next.with(|cell| {
        // SAFETY: the caller's promise: nobody else accesses it (`Linked`, 2).
        unsafe { *cell }
    })
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A number that can be queued.
    #[derive(Debug)]
    pub(in crate::queue) struct Numbered(Box<Node>);

    #[derive(Debug)]
    #[repr(C)]
    struct Node {
        link: Link,
        number: usize,
    }

    impl Numbered {
        pub(in crate::queue) fn new(number: usize) -> Self {
            Self(Box::new(Node { link: Link::new(), number }))
        }

        pub(in crate::queue) fn number(self) -> usize {
            self.0.number
        }
    }

    // SAFETY: only the owner of the box accesses the link.
    unsafe impl Send for Numbered {}

    // SAFETY: the link is in the box (1), which nobody else knows (2, 4). It is the first field of
    // a `repr(C)` node, so the pointer to it is the pointer to the node, from which the same box is
    // made again (3).
    unsafe impl Linked for Numbered {
        fn into_link(self) -> NonNull<Link> {
            NonNull::from(Box::leak(self.0)).cast()
        }

        unsafe fn from_link(link: NonNull<Link>) -> Self {
            // SAFETY: by the caller's promise, the pointer came from `Box::leak` in `into_link`.
            Self(unsafe { Box::from_raw(link.cast().as_ptr()) })
        }
    }
}
