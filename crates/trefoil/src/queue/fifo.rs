//! First in, first out, for one thread at a time.

use super::link::{self, Link, Linked};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A linked list of values, which one thread owns or a lock guards.
///
/// It has no destructor: values that are left in it are leaked.
pub(crate) struct Fifo<T> {
    /// The links of the list came from `T::into_link`, and belong to the list.
    head: Option<NonNull<Link>>,
    tail: Option<NonNull<Link>>,
    len: usize,
    _values: PhantomData<T>,
}

// SAFETY: a `Fifo` is a sequence of values that it owns.
unsafe impl<T: Send> Send for Fifo<T> {}

impl<T> Fifo<T> {
    pub(crate) const fn new() -> Self {
        Self { head: None, tail: None, len: 0, _values: PhantomData }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl<T: Linked> Fifo<T> {
    #[inline]
    pub(crate) fn push_back(&mut self, value: T) {
        let link = value.into_link();
        // SAFETY: it came from the value, which this list owns now.
        unsafe { link::set_next(link, None) };
        match self.tail {
            // SAFETY: the tail is on this list.
            Some(tail) => unsafe { link::set_next(tail, Some(link)) },
            None => self.head = Some(link),
        }
        self.tail = Some(link);
        self.len += 1;
    }

    pub(crate) fn push_front(&mut self, value: T) {
        let link = value.into_link();
        // SAFETY: it came from the value, which this list owns now.
        unsafe { link::set_next(link, self.head) };
        self.head = Some(link);
        self.tail.get_or_insert(link);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let link = self.head?;
        // SAFETY: the head is on this list.
        self.head = unsafe { link::next(link) };
        if self.head.is_none() {
            self.tail = None;
        }
        self.len -= 1;
        // SAFETY: it came from a value, and was just taken off the list.
        Some(unsafe { T::from_link(link) })
    }

    /// Moves all of `other` to the back of `self`.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        let Some(first) = other.head else { return };
        match self.tail {
            // SAFETY: the tail is on this list.
            Some(tail) => unsafe { link::set_next(tail, Some(first)) },
            None => self.head = Some(first),
        }
        self.tail = other.tail;
        self.len += other.len;
    }

    /// Calls `f` with each value, in order.
    pub(crate) fn drain(mut self, f: impl FnMut(T)) {
        std::iter::from_fn(|| self.pop_front()).for_each(f);
    }

    /// The values of a chain of links, in reverse order.
    ///
    /// # Safety
    /// The links of the chain came from `T::into_link`, and the caller gives them up.
    pub(super) unsafe fn from_reversed(chain: Option<NonNull<Link>>) -> Self {
        let mut values = Self { tail: chain, ..Self::new() };
        let mut next = chain;
        while let Some(link) = next {
            // SAFETY: the caller's promise.
            next = unsafe { link::next(link) };
            // SAFETY: the caller's promise.
            unsafe { link::set_next(link, values.head) };
            values.head = Some(link);
            values.len += 1;
        }
        values
    }
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Fifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::queue::link::testing::Numbered;

    fn numbers(fifo: Fifo<Numbered>) -> Vec<usize> {
        let mut numbers = Vec::new();
        fifo.drain(|value| numbers.push(value.number()));
        numbers
    }

    #[test]
    fn order_is_kept_through_append() {
        let (mut a, mut b) = (Fifo::new(), Fifo::new());
        for number in 0..3 {
            a.push_back(Numbered::new(number));
        }
        assert_eq!(a.pop_front().map(Numbered::number), Some(0));
        b.push_back(Numbered::new(3));
        b.push_back(Numbered::new(4));
        a.append(&mut b);
        assert_eq!((a.len(), b.len()), (4, 0));
        b.append(&mut a);
        assert!(a.pop_front().is_none());
        b.push_back(Numbered::new(5));
        assert_eq!(numbers(b), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_chain_is_reversed() {
        let mut chain = None;
        for number in 0..3 {
            let link = Numbered::new(number).into_link();
            // SAFETY: it came from the value, which is in no queue.
            unsafe { link::set_next(link, chain) };
            chain = Some(link);
        }
        // SAFETY: made just now, of `Numbered`s.
        let mut fifo = unsafe { Fifo::<Numbered>::from_reversed(chain) };
        fifo.push_back(Numbered::new(3));
        assert_eq!(fifo.len(), 4);
        assert_eq!(numbers(fifo), [0, 1, 2, 3]);
        // SAFETY: there is no link.
        assert!(numbers(unsafe { Fifo::from_reversed(None) }).is_empty());
    }
}
