//! The run queue of one worker: a ring that others may steal from.
//!
//! The owner pushes at the tail and pops at the head; a thief takes half from
//! the head. `head` packs two positions: `real`, where the next pop happens,
//! and `steal`, which lags behind `real` while a thief copies what it claimed.
//! Slots between them must not be overwritten. One thief at a time.
//!
//! The algorithm is that of Go's `runq` (D. Vyukov), with the second head by
//! which tokio lets the thief copy after its claim instead of before.
//!
//! Where those two move the older half of a full ring to the shared queue, this
//! ring grows, up to a limit: the owner copies what is left into an array of twice
//! the size (as in the deque of Chase and Lev, 2005). So tasks stay in their
//! order, a lock is taken by nobody, and nothing is moved again and again where
//! one task spawns without end. The smaller arrays stay allocated until the ring
//! is dropped, because a thief may still read them; together they are no larger
//! than the last.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{
    AcqRel, Acquire, AtomicPtr, AtomicU32, AtomicU64, Relaxed, Release, fence_after_rmw,
};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// How many values a new ring holds. A power of two.
#[cfg(not(loom))]
const SMALLEST: usize = 256;
#[cfg(loom)]
const SMALLEST: usize = 4;

/// How many values a ring can grow to hold. A power of two.
#[cfg(not(any(loom, miri)))]
const LARGEST: usize = 1 << 16;
/// Miri needs minutes to fill the above.
#[cfg(all(miri, not(loom)))]
const LARGEST: usize = 4 * SMALLEST;
#[cfg(loom)]
const LARGEST: usize = 8;

/// How many values a thief takes at most.
const STEAL_AT_MOST: u32 = SMALLEST as u32 / 2;

const _: () = assert!(SMALLEST.is_power_of_two() && LARGEST.is_power_of_two());

pub(crate) struct Ring<T> {
    /// `steal` in the high half, `real` in the low one. Written by the owner
    /// and by thieves; RMW only, save with a single worker.
    head: AtomicU64,
    /// Written by the owner only.
    tail: AtomicU32,
    /// There is no thief, so the owner needs no RMW.
    solo: bool,
    /// The owner's alone.
    own: UnsafeCell<Own<T>>,
    /// The last array of `own`, for thieves. Written by the owner only.
    array: AtomicPtr<Array<T>>,
}

/// The slots. A position is that of `position & mask`.
struct Array<T> {
    mask: u32,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

/// All arrays that the ring has had; the last is the one in use. They came from
/// `Box::into_raw`.
struct Own<T> {
    arrays: Vec<NonNull<Array<T>>>,
    /// Of the array in use, with one indirection less.
    slots: NonNull<UnsafeCell<MaybeUninit<T>>>,
    mask: u32,
}

// SAFETY: slots pass from thread to thread by `head` and `tail` as described
// above. A value is moved through its slot, and never accessed inside of it. `own`
// is touched by the owner only, and what it points at is owned by the ring.
unsafe impl<T: Send> Sync for Ring<T> {}

// SAFETY: the ring owns its arrays, and the values in them are `Send`.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Array<T> {
    fn new(capacity: usize) -> NonNull<Self> {
        let slots = (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
        let array = Box::new(Self { mask: capacity as u32 - 1, slots });
        NonNull::from(Box::leak(array))
    }

    fn slot(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[(position & self.mask) as usize]
    }
}

impl<T> Own<T> {
    fn new(array: NonNull<Array<T>>) -> Self {
        let mut own = Self { arrays: Vec::new(), slots: NonNull::dangling(), mask: 0 };
        own.set(array);
        own
    }

    fn set(&mut self, array: NonNull<Array<T>>) {
        self.arrays.push(array);
        // SAFETY: it was just made, and is freed with the ring.
        let array = unsafe { array.as_ref() };
        self.slots = NonNull::from(&*array.slots).cast();
        self.mask = array.mask;
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        // SAFETY: the array has `mask + 1` slots.
        let slot = unsafe { self.slots.add((position & self.mask) as usize) };
        // SAFETY: it lives as long as the ring.
        unsafe { slot.as_ref() }
    }
}

fn pack(steal: u32, real: u32) -> u64 {
    u64::from(steal) << 32 | u64::from(real)
}

fn unpack(head: u64) -> (u32, u32) {
    ((head >> 32) as u32, head as u32)
}

impl<T> Ring<T> {
    pub(crate) fn new(solo: bool) -> Self {
        let array = Array::new(SMALLEST);
        Self {
            head: AtomicU64::new(0),
            tail: AtomicU32::new(0),
            solo,
            own: UnsafeCell::new(Own::new(array)),
            array: AtomicPtr::new(array.as_ptr()),
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

    /// How many values can be pushed at least. Beside a thief that has claimed some and is
    /// given no time, this may be little, although few can be popped: the slots between
    /// `steal` and the tail are in use.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn room(&self) -> usize {
        // Acquire: as in `fill`. Thieves only ever make more room.
        let (steal, _) = unpack(self.head.load(Acquire));
        // Relaxed: our own.
        LARGEST - self.tail.load(Relaxed).wrapping_sub(steal) as usize
    }

    /// Pushes without making sure that sleepers are told.
    ///
    /// # Errors
    /// There is no room, and the ring is as large as it gets.
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
        // the slot, and the array that it is in.
        self.tail.store(tail.wrapping_add(1), Release);
        Ok(())
    }

    /// Pushes, and is a full fence, so that the caller may then look whether
    /// somebody sleeps (see `idle/README.md`).
    ///
    /// # Errors
    /// There is no room, and the ring is as large as it gets.
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
        let (steal, _) = unpack(self.head.load(Acquire));
        let is_full = self.own.with(|own| {
            // SAFETY: the owner's alone.
            let own = unsafe { &*own };
            tail.wrapping_sub(steal) > own.mask
        });
        // SAFETY: the caller's promise.
        if is_full && !unsafe { self.grow(steal, tail) } {
            return Err(value);
        }
        self.own.with(|own| {
            // SAFETY: the owner's alone.
            let own = unsafe { &*own };
            own.slot(tail).with_mut(|slot| {
                // SAFETY: only the owner fills slots, and this one is outside of
                // `steal..tail`, so nobody reads it.
                unsafe { (*slot).write(value) };
            });
        });
        Ok(())
    }

    /// Goes on in a larger array; false if there is none.
    ///
    /// A thief finds the array after it has read `tail`, and after its claim. All
    /// slots up to that `tail` were filled in the array it finds, or copied into it:
    /// the array is published before any position beyond the copied ones is. What
    /// it has claimed is copied as well (`steal` lags behind until it is done), and
    /// stays in the array before, to which nothing is written any more. So it may
    /// read from either, and does so once; the other copy is forgotten.
    ///
    /// # Safety
    /// The caller is the owner; `steal` is not newer than its last look at `head`,
    /// and `tail` is its own.
    #[cold]
    unsafe fn grow(&self, steal: u32, tail: u32) -> bool {
        let array = self.own.with_mut(|own| {
            // SAFETY: the owner's alone.
            let own = unsafe { &mut *own };
            let capacity = own.mask as usize + 1;
            if capacity == LARGEST {
                return None;
            }
            let array = Array::new(2 * capacity);
            // SAFETY: it was just made.
            let new = unsafe { array.as_ref() };
            let mut position = steal;
            while position != tail {
                own.slot(position).with(|old| {
                    new.slot(position).with_mut(|slot| {
                        // SAFETY: nobody else knows the new array; in the old one,
                        // others only read `steal..tail`. A copy of a value that a
                        // thief takes meanwhile is never read.
                        unsafe { old.copy_to_nonoverlapping(slot, 1) };
                    });
                });
                position = position.wrapping_add(1);
            }
            own.set(array);
            Some(array)
        });
        // Release: publishes the slots. A thief that reads it too early still finds
        // all that it may claim, see above.
        array.inspect(|array| self.array.store(array.as_ptr(), Release)).is_some()
    }

    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        unsafe { self.pop_and_look() }.map(|(value, _)| value)
    }

    /// Pops, and says whether there were more values.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    pub(crate) unsafe fn pop_and_look(&self) -> Option<(T, bool)> {
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
            if self.solo {
                // Relaxed: nobody else looks.
                self.head.store(pack(after, after), Relaxed);
            } else {
                let next = if steal == real { pack(after, after) } else { pack(steal, after) };
                // Acquire and Release: the slot was ours all along, but keep
                // the chain between thieves and owner unbroken.
                if let Err(now) = self.head.compare_exchange_weak(head, next, AcqRel, Acquire) {
                    head = now;
                    continue;
                }
            }
            let value = self.own.with(|own| {
                // SAFETY: the owner's alone.
                let own = unsafe { &*own };
                // SAFETY: the exchange took this slot for us.
                unsafe { take(own.slot(real)) }
            });
            return Some((value, after != tail));
        }
    }

    /// Moves half of this ring into `to`, but no more than `STEAL_AT_MOST` values;
    /// the oldest value is returned instead.
    ///
    /// # Safety
    /// The caller is the owner of `to`, which is another ring.
    pub(crate) unsafe fn steal_into(&self, to: &Self) -> Option<T> {
        // Relaxed: the caller owns it.
        let tail = to.tail.load(Relaxed);
        // Acquire: pairs with the Release by which a thief gives slots back.
        let (steal, _) = unpack(to.head.load(Acquire));
        to.own.with(|own| {
            // SAFETY: the caller owns `to`.
            let own = unsafe { &*own };
            let room = own.mask + 1 - tail.wrapping_sub(steal);
            if room < STEAL_AT_MOST {
                return None;
            }
            let (first, count) = self.claim()?;
            // Acquire: pairs with `grow`. After the claim, and so after `tail` was
            // read: see there.
            let array = self.array.load(Acquire);
            // SAFETY: it is freed with the ring.
            let array = unsafe { &*array };
            for offset in 1..count {
                // SAFETY: the claim made `first..first + count` ours to read, and
                // keeps the owner from overwriting it while `steal` stays behind.
                let value = unsafe { take(array.slot(first.wrapping_add(offset))) };
                own.slot(tail.wrapping_add(offset - 1)).with_mut(|slot| {
                    // SAFETY: there is room, only the owner fills slots, and a
                    // thief at `to` only ever makes more room.
                    unsafe { (*slot).write(value) };
                });
            }
            // SAFETY: `first` is a part of the claim, too.
            let oldest = unsafe { take(array.slot(first)) };
            self.give_back();
            // Release: publishes the slots to thieves of `to`.
            to.tail.store(tail.wrapping_add(count - 1), Release);
            Some(oldest)
        })
    }

    /// Takes half of this ring out of it, in its order, but no more than `STEAL_AT_MOST` values.
    /// Returns how many these were: none as well while there is another thief. `keep` must not
    /// panic.
    pub(crate) fn steal_each(&self, mut keep: impl FnMut(T)) -> usize {
        let Some((first, count)) = self.claim() else { return 0 };
        // Acquire: as in `steal_into`, after the claim.
        let array = self.array.load(Acquire);
        // SAFETY: it is freed with the ring.
        let array = unsafe { &*array };
        for offset in 0..count {
            // SAFETY: the claim made `first..first + count` ours to read, and keeps the owner from
            // overwriting it while `steal` stays behind.
            keep(unsafe { take(array.slot(first.wrapping_add(offset))) });
        }
        self.give_back();
        count as usize
    }

    /// Claims the older half, for a thief: the first position and how many.
    fn claim(&self) -> Option<(u32, u32)> {
        // Acquire: pairs with the Release of the owner's and thieves' RMWs.
        let mut head = self.head.load(Acquire);
        loop {
            let (steal, real) = unpack(head);
            if steal != real {
                return None;
            }
            // Acquire: pairs with `push`, makes the slots visible.
            let available = self.tail.load(Acquire).wrapping_sub(real);
            if available == 0 {
                return None;
            }
            // An outdated head can make `available` too large; then the exchange
            // fails.
            let count = (available - available / 2).min(STEAL_AT_MOST);
            let claimed = pack(steal, real.wrapping_add(count));
            // AcqRel: the claim. Acquire: as above.
            match self.head.compare_exchange_weak(head, claimed, AcqRel, Acquire) {
                Ok(_) => return Some((real, count)),
                Err(now) => head = now,
            }
        }
    }

    /// Ends a claim, when its slots were read.
    fn give_back(&self) {
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
    }
}

#[cfg(all(test, not(loom)))]
impl<T> Ring<T> {
    /// Claims as a thief that is given no time until it is told to [go on](LaggingThief::go_on).
    pub(crate) fn begin_to_steal(&self) -> Option<LaggingThief> {
        self.claim().map(|(first, count)| LaggingThief { first, count })
    }
}

/// What a thief has claimed.
#[cfg(all(test, not(loom)))]
pub(crate) struct LaggingThief {
    first: u32,
    pub(crate) count: u32,
}

#[cfg(all(test, not(loom)))]
impl LaggingThief {
    /// Takes what was claimed of this ring, which is the one that it was claimed of.
    pub(crate) fn go_on<T>(self, ring: &Ring<T>) -> Vec<T> {
        // Acquire: as in `steal_into`.
        let array = ring.array.load(Acquire);
        // SAFETY: it is freed with the ring.
        let array = unsafe { &*array };
        let taken = (0..self.count).map(|offset| {
            // SAFETY: as in `steal_into`.
            unsafe { take(array.slot(self.first.wrapping_add(offset))) }
        });
        let taken = taken.collect();
        ring.give_back();
        taken
    }
}

impl<T> Drop for Ring<T> {
    /// Values that are left are leaked.
    fn drop(&mut self) {
        self.own.with_mut(|own| {
            // SAFETY: nobody else has the ring.
            let own = unsafe { &mut *own };
            for array in own.arrays.drain(..) {
                // SAFETY: it came from a box, and nobody has the ring any more.
                drop(unsafe { Box::from_raw(array.as_ptr()) });
            }
        });
    }
}

impl<T> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// # Safety
/// The slot is filled, and the caller has claimed it.
#[inline]
unsafe fn take<T>(slot: &UnsafeCell<MaybeUninit<T>>) -> T {
    slot.with(|slot| {
        // SAFETY: the claim excludes writers.
        let value = unsafe { slot.read() };
        // SAFETY: it was filled, and the position moves on, so that the
        // value is read once.
        unsafe { value.assume_init() }
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_ring_grows_in_order_and_refuses_when_it_is_full() {
        for solo in [true, false] {
            let ring = Ring::new(solo);
            // So that the values begin in the middle of the array.
            for number in 0..SMALLEST / 3 {
                // SAFETY: this thread owns the ring.
                assert!(unsafe { ring.push(number) }.is_ok());
                // SAFETY: this thread owns the ring.
                assert_eq!(unsafe { ring.pop() }, Some(number));
            }
            for number in 0..=LARGEST {
                // SAFETY: this thread owns the ring.
                let pushed = unsafe { ring.push(number) };
                assert_eq!(pushed.is_err(), number == LARGEST);
            }
            for expected in 0..LARGEST {
                // SAFETY: this thread owns the ring.
                assert_eq!(unsafe { ring.pop() }, Some(expected));
            }
            // SAFETY: this thread owns the ring.
            assert!(unsafe { ring.pop() }.is_none());
        }
    }

    #[test]
    fn a_thief_takes_no_more_than_it_has_room_for() {
        let (ring, mine) = (Ring::new(false), Ring::new(false));
        for number in 0..4 * SMALLEST {
            // SAFETY: this thread owns the ring.
            unsafe { ring.push(number) }.expect("there is room");
        }
        // SAFETY: this thread owns both.
        assert_eq!(unsafe { ring.steal_into(&mine) }, Some(0));
        assert_eq!(mine.len(), STEAL_AT_MOST as usize - 1);
        assert_eq!(ring.len(), 4 * SMALLEST - STEAL_AT_MOST as usize);
        // SAFETY: this thread owns the ring.
        assert_eq!(unsafe { ring.pop() }, Some(STEAL_AT_MOST as usize));
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
