//! How many forks a contender hands to its runtime.
//!
//! A row that forks is generic over a [`Forks`], and says [`handed`](Forks::handed) beside each
//! call of its runtime. What is timed is the row over [`Uncounted`], in which nothing of that is
//! left; the row over [`Counted`] runs in a process of its own, which Palio starts with
//! `--count-forks` and whose times nobody looks at.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Whether forks are counted; a type and not a value, so that not counting them costs nothing.
pub trait Forks: Send + Sync + 'static {
    /// That so many calls are about to be handed to the runtime, for any of its workers to take.
    /// The one of several that its caller keeps for itself is not among them.
    fn handed(forks: u64);
}

/// Nobody counts.
#[derive(Clone, Copy, Debug)]
pub struct Uncounted;

/// Every fork of the process is counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted;

impl Forks for Uncounted {
    #[inline(always)]
    fn handed(_forks: u64) {}
}

impl Forks for Counted {
    fn handed(forks: u64) {
        // Relaxed: it is read when whatever forked has been joined.
        SLOT.with(|&slot| SLOTS[slot].0.fetch_add(forks, Ordering::Relaxed));
    }
}

/// Threads that count at the same time should not wait for each other: a hundred million forks of a
/// counter that they share would take longer than the time-out.
const SLOT_COUNT: usize = 64;

#[repr(align(128))]
struct Slot(AtomicU64);

static SLOTS: [Slot; SLOT_COUNT] = [const { Slot(AtomicU64::new(0)) }; SLOT_COUNT];

thread_local! {
    static SLOT: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % SLOT_COUNT
    };
}

/// All forks of this process so far.
pub(crate) fn counted() -> u64 {
    let slots = SLOTS.iter().map(|slot| slot.0.load(Ordering::Relaxed));
    slots.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_of_all_threads_are_counted() {
        let before = counted();
        Uncounted::handed(1000);
        std::thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| (0..10).for_each(|_| Counted::handed(2)));
            }
        });
        // Another test counts one million at a time.
        assert_eq!((counted() - before) % 1_000_000, 2000);
    }
}
