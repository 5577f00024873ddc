//! How often one poll wakes other workers.
//!
//! The first push of a poll wakes a worker at once. That worker may have run the
//! task, and sleep again, before the next push. Where both share a CPU, that could
//! happen for each of the hundreds of tasks that a broadcast wakes. So after each
//! wake-up that a poll has made, its next one needs twice as much in the ring. At
//! the end of the poll, a worker is woken for what is left. If that takes long, the
//! monitor wakes one.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// With so much in the ring, every push may wake.
const ENOUGH_MAX: usize = 32;

/// So long after the last wake-up, every push may as well.
const ENOUGH_FOR: Duration = Duration::from_micros(100);

#[derive(Debug)]
pub(super) struct WakeThrottle {
    /// How much the ring must hold for a push to wake.
    enough: Cell<usize>,
    /// The poll that this is about, by its tick.
    poll: Cell<u32>,
    woke_at: Cell<Instant>,
}

impl WakeThrottle {
    pub(super) fn new() -> Self {
        Self { enough: Cell::new(1), poll: Cell::new(0), woke_at: Cell::new(Instant::now()) }
    }

    /// Whether a push wakes somebody, in the poll with this tick, if the ring
    /// holds so much now.
    pub(super) fn admits(&self, poll: u32, queued: usize) -> bool {
        let now = Instant::now();
        let is_new_poll = self.poll.replace(poll) != poll;
        if is_new_poll || now.duration_since(self.woke_at.get()) > ENOUGH_FOR {
            self.enough.set(1);
        }
        let enough = self.enough.get();
        if queued < enough {
            return false;
        }
        self.enough.set((2 * enough).min(ENOUGH_MAX));
        self.woke_at.set(now);
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_push_of_a_poll_wakes_and_later_ones_need_more() {
        let throttle = WakeThrottle::new();
        for poll in 1..4 {
            assert!(throttle.admits(poll, 1));
            // A time that has not passed: 100 us from now.
            throttle.woke_at.set(Instant::now() + Duration::from_secs(1));
            assert!(!throttle.admits(poll, 1));
            assert!(throttle.admits(poll, 2));
        }
        let long_ago = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        throttle.woke_at.set(long_ago);
        assert!(throttle.admits(3, 1), "the last wake-up was long ago");
    }
}
