//! A stack of what guards have made current on a thread: runtimes, or sets of local tasks. The
//! newest guard that is left decides.
//!
//! A guard puts a node on top, and later removes the node wherever it is by then. So guards may be
//! dropped in any order, or never. No guard restores what it found: the nodes above a removed one
//! are linked to those below it. The value of a node lives as long as the node. The node of a guard
//! that may move or be leaked is on the heap and owns its value. The node of a frame lies in the
//! frame, which unlinks it before it returns or unwinds.
//!
//! Nothing here has a destructor. A thread that ends with nodes on its stack leaks them. Until
//! then, the destructors of thread-locals still find them.

use std::cell::Cell;
use std::ptr;

#[derive(Debug)]
pub(crate) struct Stack<T> {
    newest: Cell<*const Node<T>>,
    /// How many frames use values that they do not keep alive themselves.
    pins: Cell<usize>,
    /// Nodes that were removed and that a pin keeps, linked by `below`.
    kept: Cell<*const Node<T>>,
}

#[derive(Debug)]
pub(super) struct Node<T> {
    value: T,
    below: Cell<*const Node<T>>,
}

impl<T> Node<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { value, below: Cell::new(ptr::null()) }
    }
}

impl<T> Stack<T> {
    pub(super) const fn new() -> Self {
        Self { newest: Cell::new(ptr::null()), pins: Cell::new(0), kept: Cell::new(ptr::null()) }
    }

    /// The newest value, or null. It is valid until its guard is dropped, which foreign code may
    /// do. Under a pin, it is valid until the end of the pin.
    #[inline(always)]
    pub(super) fn newest(&self) -> *const T {
        let newest = self.newest.get();
        if newest.is_null() {
            return ptr::null();
        }
        // SAFETY: nodes on the stack are live, by the promise of `link`.
        unsafe { &raw const (*newest).value }
    }

    /// Whether the newest value of those that `is_one_of` names fulfils the other condition.
    pub(super) fn newest_is(
        &self,
        is_one_of: impl Fn(&T) -> bool,
        fulfils: impl Fn(&T) -> bool,
    ) -> bool {
        let mut node = self.newest.get();
        // SAFETY: nodes on the stack are live, by the promise of `link`, and the conditions are not
        // foreign code.
        while let Some(this) = unsafe { node.as_ref() } {
            if is_one_of(&this.value) {
                return fulfils(&this.value);
            }
            node = this.below.get();
        }
        false
    }

    /// Keeps all values until the end of the pin, even if their guards are dropped.
    #[inline(always)]
    pub(super) fn pin(&self) -> Pin<'_, T> {
        self.pins.set(self.pins.get() + 1);
        Pin { stack: self }
    }

    /// # Safety
    /// `node` is on no stack, and stays where it is until it was unlinked.
    pub(super) unsafe fn link(&self, node: *const Node<T>) {
        // SAFETY: the caller's promise.
        unsafe { (*node).below.set(self.newest.get()) };
        self.newest.set(node);
    }

    /// Unlinks a node. Returns whether it was the newest.
    ///
    /// # Safety
    /// `node` is live.
    ///
    /// # Panics
    /// If it is not on this stack.
    pub(super) unsafe fn unlink(&self, node: *const Node<T>) -> bool {
        let mut link = &self.newest;
        while link.get() != node {
            // SAFETY: nodes on the stack are live, by the promise of `link`.
            link = match unsafe { link.get().as_ref() } {
                Some(above) => &above.below,
                None => unreachable!("a guard was dropped on another thread"),
            };
        }
        // SAFETY: the caller's promise.
        link.set(unsafe { (*node).below.get() });
        ptr::eq(link, &self.newest)
    }

    /// Frees a node, at once or at the end of the last pin.
    ///
    /// # Safety
    /// It came from `Box::into_raw`, is on no stack, and was not freed before.
    pub(super) unsafe fn free(&self, node: *const Node<T>) {
        if self.pins.get() == 0 {
            // SAFETY: the caller's promise, and nobody uses the value: a frame that uses one has a
            // pin, or calls nothing that could get here.
            drop(unsafe { Box::from_raw(node.cast_mut()) });
        } else {
            // SAFETY: the caller's promise.
            unsafe { (*node).below.set(self.kept.get()) };
            self.kept.set(node);
        }
    }

    #[cold]
    #[inline(never)]
    fn free_kept(&self) {
        let mut next = self.kept.replace(ptr::null());
        while !next.is_null() {
            // SAFETY: the node was kept by `free`, whose caller has given it up, and it is on no
            // list any more.
            let node = unsafe { Box::from_raw(next.cast_mut()) };
            next = node.below.get();
            drop(node);
        }
    }
}

/// See [`Stack::pin`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Pin<'a, T> {
    stack: &'a Stack<T>,
}

impl<T> Drop for Pin<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let left = self.stack.pins.get() - 1;
        self.stack.pins.set(left);
        if left == 0 && !self.stack.kept.get().is_null() {
            self.stack.free_kept();
        }
    }
}

#[cfg(all(feature = "fiber", unix, not(loom)))]
#[derive(Debug)]
pub(super) struct Segment<T> {
    newest: *const Node<T>,
    /// The oldest of them.
    last: *const Node<T>,
}

#[cfg(all(feature = "fiber", unix, not(loom)))]
impl<T> Stack<T> {
    /// The place above which `cut` cuts.
    pub(super) fn top(&self) -> *const Node<T> {
        self.newest.get()
    }

    /// Takes off the nodes above a place, if there are some, and the place is still there.
    ///
    /// A guard whose node is on no stack cannot be dropped: `unlink` panics, and nothing is freed.
    pub(super) fn cut(&self, below: *const Node<T>) -> Option<Segment<T>> {
        let newest = self.newest.get();
        let mut last = newest;
        while last != below {
            // SAFETY: nodes on the stack are live, by the promise of `link`. The loop ends at null,
            // if not before.
            let next = unsafe { last.as_ref() }?.below.get();
            if next == below {
                self.newest.set(below);
                return Some(Segment { newest, last });
            }
            last = next;
        }
        None
    }

    /// Puts back what `cut` has taken off, on top of what is there now.
    pub(super) fn put_back(&self, segment: &Segment<T>) {
        // SAFETY: nodes that are on no stack are not freed: see `cut`.
        let last = unsafe { &*segment.last };
        last.below.set(self.newest.get());
        self.newest.set(segment.newest);
    }
}

#[cfg(all(feature = "fiber", unix, not(loom)))]
impl<T: Copy> Segment<T> {
    /// The values, the newest first.
    pub(super) fn values(&self) -> Vec<T> {
        let mut values = Vec::new();
        let mut node = self.newest;
        loop {
            // SAFETY: nodes that are on no stack are not freed: see `cut`.
            let this = unsafe { &*node };
            values.push(this.value);
            if node == self.last {
                return values;
            }
            node = this.below.get();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn push<T>(stack: &Stack<T>, value: T) -> *const Node<T> {
        let node = Box::into_raw(Box::new(Node::new(value))).cast_const();
        // SAFETY: new, and freed by `remove`, which unlinks it first.
        unsafe { stack.link(node) };
        node
    }

    fn remove<T>(stack: &Stack<T>, node: *const Node<T>) -> bool {
        // SAFETY: each test removes what it has pushed, once.
        let was_newest = unsafe { stack.unlink(node) };
        // SAFETY: from `Box::into_raw` in `push`, unlinked, and removed once.
        unsafe { stack.free(node) };
        was_newest
    }

    fn newest(stack: &Stack<u32>) -> Option<u32> {
        // SAFETY: nothing is removed meanwhile.
        unsafe { stack.newest().as_ref() }.copied()
    }

    #[test]
    fn nodes_go_in_any_order() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let stack = Stack::new();
            let nodes = [0, 1, 2].map(|value| push(&stack, value));
            let mut left = vec![0, 1, 2];
            for index in order {
                assert_eq!(newest(&stack), left.last().copied());
                let was_newest = remove(&stack, nodes[index as usize]);
                assert_eq!(was_newest, left.last() == Some(&index));
                left.retain(|&other| other != index);
            }
            assert_eq!(newest(&stack), None);
        }
    }

    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[test]
    fn a_segment_goes_off_and_comes_back_elsewhere() {
        let stack = Stack::new();
        let below = push(&stack, 1);
        let place = stack.top();
        assert!(stack.cut(place).is_none());
        let nodes = [2, 3].map(|value| push(&stack, value));
        let segment = stack.cut(place).unwrap();
        assert_eq!(segment.values(), [3, 2]);
        assert_eq!(newest(&stack), Some(1));
        assert!(!remove(&stack, below) || newest(&stack).is_none());
        let other = push(&stack, 4);
        stack.put_back(&segment);
        assert_eq!(newest(&stack), Some(3));
        assert!(remove(&stack, nodes[1]));
        assert!(!remove(&stack, other));
        assert_eq!(newest(&stack), Some(2));
        assert!(stack.cut(place).is_none(), "the place is gone");
        assert!(remove(&stack, nodes[0]));
    }

    #[test]
    fn a_pin_keeps_values_and_not_places() {
        let stack = Stack::new();
        let values = [Rc::new(1), Rc::new(2)];
        let nodes = [0, 1].map(|index: usize| push(&stack, Rc::clone(&values[index])));
        let (outer, inner) = (stack.pin(), stack.pin());
        assert!(!remove(&stack, nodes[0]));
        drop(inner);
        assert!(remove(&stack, nodes[1]));
        assert!(stack.newest().is_null());
        assert_eq!(values.each_ref().map(Rc::strong_count), [2, 2]);
        drop(outer);
        assert_eq!(values.each_ref().map(Rc::strong_count), [1, 1]);
    }
}
