//! The run queue of one worker: a bounded ring that others may steal from.
//!
//! The owner pushes at the tail and pops at the head; a thief takes half from
//! the head. `head` packs two positions: `real`, where the next pop happens,
//! and `steal`, which lags behind `real` while a thief copies what it claimed.
//! Slots between them must not be overwritten. One thief at a time.
//!
//! The algorithm is that of Go's `runq` (D. Vyukov), with the second head by
//! which tokio lets the thief copy after its claim instead of before.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{
    AcqRel, Acquire, AtomicU32, AtomicU64, Relaxed, Release, fence_after_rmw,
};
use std::mem::MaybeUninit;

#[cfg(not(loom))]
const CAPACITY: usize = 256;
#[cfg(loom)]
const CAPACITY: usize = 4;

const MASK: u32 = CAPACITY as u32 - 1;
const _: () = assert!(CAPACITY.is_power_of_two());

#[derive(Debug)]
pub(crate) struct Ring<T> {
    /// `steal` in the high half, `real` in the low one. Written by the owner
    /// and by thieves; RMW only, save with a single worker.
    head: AtomicU64,
    /// Written by the owner only.
    tail: AtomicU32,
    slots: Box<[UnsafeCell<MaybeUninit<T>>; CAPACITY]>,
    /// There is no thief, so the owner needs no RMW.
    solo: bool,
}

// SAFETY: slots pass from thread to thread by `head` and `tail` as described
// above. A value is moved through its slot, and never accessed inside of it.
unsafe impl<T: Send> Sync for Ring<T> {}

fn pack(steal: u32, real: u32) -> u64 {
    u64::from(steal) << 32 | u64::from(real)
}

fn unpack(head: u64) -> (u32, u32) {
    ((head >> 32) as u32, head as u32)
}

impl<T> Ring<T> {
    pub(crate) fn new(solo: bool) -> Self {
        Self {
            head: AtomicU64::new(0),
            tail: AtomicU32::new(0),
            slots: Box::new(std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit()))),
            solo,
        }
    }

    /// How many values can be popped now; a guess for all but the owner.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Acquire, in this order: `tail` is then no older than `head`.
        let (_, real) = unpack(self.head.load(Acquire));
        let tail = self.tail.load(Acquire);
        tail.wrapping_sub(real) as usize
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values may be pushed without overflow.
    ///
    /// # Safety
    /// The caller is the owner.
    pub(crate) unsafe fn room(&self) -> usize {
        let (steal, _) = unpack(self.head.load(Acquire));
        // Relaxed: our own.
        CAPACITY - self.tail.load(Relaxed).wrapping_sub(steal) as usize
    }

    /// Pushes without making sure that sleepers are told.
    ///
    /// # Errors
    /// There is no room. (Go and tokio move the older half of a full ring to
    /// the shared queue. Where one task spawns without end, a task may be moved
    /// like that again and again, and never come to its turn.)
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn push(&self, value: T) -> Result<(), T> {
        // Relaxed: our own.
        let tail = self.tail.load(Relaxed);
        // SAFETY: the caller's promise.
        unsafe { self.fill(tail, value) }?;
        // Release: pairs with the Acquire in `len` and `steal_into`; publishes
        // the slot.
        self.tail.store(tail.wrapping_add(1), Release);
        Ok(())
    }

    /// Pushes, and is a full fence, so that the caller may then look whether
    /// somebody sleeps (see `idle/README.md`).
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn push_fenced(&self, value: T) -> Result<(), T> {
        // Relaxed: our own.
        let tail = self.tail.load(Relaxed);
        // SAFETY: the caller's promise.
        unsafe { self.fill(tail, value) }?;
        // As in `push`; an exchange, because that is the cheapest full fence.
        self.tail.swap(tail.wrapping_add(1), AcqRel);
        fence_after_rmw();
        Ok(())
    }

    /// # Safety
    /// The caller is the owner.
    #[inline]
    unsafe fn fill(&self, tail: u32, value: T) -> Result<(), T> {
        // Acquire: pairs with the Release by which a thief gives slots back.
        let head = self.head.load(Acquire);
        let (steal, _) = unpack(head);
        if tail.wrapping_sub(steal) >= CAPACITY as u32 {
            return Err(value);
        }
        self.slots[(tail & MASK) as usize].with_mut(|slot| {
            // SAFETY: only the owner fills slots, and this one is outside of
            // `steal..tail`, so nobody reads it.
            unsafe { (*slot).write(value) };
        });
        Ok(())
    }

    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Option<T> {
        // Acquire: as in `fill`.
        let mut head = self.head.load(Acquire);
        // Relaxed: our own.
        let tail = self.tail.load(Relaxed);
        loop {
            let (steal, real) = unpack(head);
            if real == tail {
                return None;
            }
            let after = real.wrapping_add(1);
            let next = if steal == real { pack(after, after) } else { pack(steal, after) };
            if self.solo {
                // Relaxed: nobody else looks.
                self.head.store(next, Relaxed);
            } else if let Err(now) = self.head.compare_exchange_weak(head, next, AcqRel, Acquire) {
                // Acquire and Release: the slot was ours all along, but keep
                // the chain between thieves and owner unbroken.
                head = now;
                continue;
            }
            // SAFETY: the exchange took this slot for us.
            return Some(unsafe { self.take(real) });
        }
    }

    /// Moves half of this ring into `to`; the oldest value is returned instead.
    ///
    /// # Safety
    /// The caller is the owner of `to`, which is another ring.
    pub(crate) unsafe fn steal_into(&self, to: &Self) -> Option<T> {
        // SAFETY: the caller's promise.
        if unsafe { to.room() } < CAPACITY / 2 {
            return None;
        }
        // Acquire: pairs with the Release of the owner's and thieves' RMWs.
        let mut head = self.head.load(Acquire);
        let (first, count) = loop {
            let (steal, real) = unpack(head);
            if steal != real {
                return None;
            }
            // Acquire: pairs with `push`, makes the slots visible.
            let available = self.tail.load(Acquire).wrapping_sub(real);
            let count = available - available / 2;
            // An outdated head can make this too large; then the exchange
            // would fail.
            if count == 0 || count > CAPACITY as u32 / 2 {
                if count == 0 {
                    return None;
                }
                let now = self.head.load(Acquire);
                if now == head {
                    return None;
                }
                head = now;
                continue;
            }
            // AcqRel: the claim. Acquire: as above.
            match self.head.compare_exchange_weak(
                head,
                pack(steal, real.wrapping_add(count)),
                AcqRel,
                Acquire,
            ) {
                Ok(_) => break (real, count),
                Err(now) => head = now,
            }
        };
        // SAFETY: the claim made `first..first + count` ours to read, and keeps
        // the owner from overwriting it while `steal` stays behind.
        let oldest = unsafe { self.take(first) };
        // Relaxed: the caller owns it.
        let tail = to.tail.load(Relaxed);
        for offset in 1..count {
            // SAFETY: the claim made `first..first + count` ours to read.
            let value = unsafe { self.take(first.wrapping_add(offset)) };
            let position = tail.wrapping_add(offset - 1);
            to.slots[(position & MASK) as usize].with_mut(|slot| {
                // SAFETY: `room` said so, only the owner fills slots, and a
                // thief at `to` only ever makes more room.
                unsafe { (*slot).write(value) };
            });
        }
        // Release: gives the slots back to the owner (`fill`). Acquire: keeps
        // the chain. The owner may have popped in the meantime, so `real` is
        // where it is now.
        let mut head = self.head.load(Acquire);
        loop {
            let (_, real) = unpack(head);
            match self.head.compare_exchange_weak(head, pack(real, real), AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        // Release: publishes the slots to thieves of `to`.
        to.tail.store(tail.wrapping_add(count - 1), Release);
        Some(oldest)
    }

    /// # Safety
    /// The slot is filled, and the caller has claimed it.
    #[inline]
    unsafe fn take(&self, position: u32) -> T {
        self.slots[(position & MASK) as usize].with(|slot| {
            // SAFETY: the claim excludes writers.
            let value = unsafe { slot.read() };
            // SAFETY: it was filled, and the position moves on, so that the
            // value is read once.
            unsafe { value.assume_init() }
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_refuses_and_keeps_what_it_has_in_order() {
        for solo in [true, false] {
            let ring = Ring::new(solo);
            for number in 0..=CAPACITY {
                // SAFETY: this thread owns the ring.
                let pushed = unsafe { ring.push(number) };
                assert_eq!(pushed.is_err(), number == CAPACITY);
            }
            for expected in 0..CAPACITY {
                // SAFETY: this thread owns the ring.
                assert_eq!(unsafe { ring.pop() }, Some(expected));
            }
            // SAFETY: this thread owns the ring.
            assert!(unsafe { ring.pop() }.is_none());
        }
    }

    #[test]
    fn a_thief_takes_the_older_half() {
        let (ring, mine) = (Ring::new(false), Ring::new(false));
        for number in 0..5 {
            // SAFETY: this thread owns the ring.
            unsafe { ring.push(number) }.expect("there is room");
        }
        // SAFETY: this thread owns both.
        assert_eq!(unsafe { ring.steal_into(&mine) }, Some(0));
        assert_eq!((mine.len(), ring.len()), (2, 2));
        for expected in [1, 2] {
            // SAFETY: this thread owns the ring.
            assert_eq!(unsafe { mine.pop() }, Some(expected));
        }
    }
}
