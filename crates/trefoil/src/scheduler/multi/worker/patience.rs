//! How long to search before sleeping, learnt from earlier searches.
//!
//! A search that waits for work by spinning pays when the next post comes from
//! another CPU, and only delays it when whoever would post waits for this one.

use std::cell::Cell;

/// The rounds of a search that are made even if none has found anything lately.
const ROUNDS_MIN: u32 = 3;

/// One search in so many is as long as allowed, to see whether that pays again.
const PROBE_EVERY: u32 = 256;

#[derive(Debug)]
pub(super) struct SearchPatience {
    rounds: Cell<u32>,
    searches: Cell<u32>,
}

impl SearchPatience {
    /// It begins with few rounds: a runtime that is new has nothing to be found, and whoever makes
    /// it may wait for this CPU. Where searches pay, they are as long as allowed after a few.
    pub(super) fn new() -> Self {
        Self { rounds: Cell::new(0), searches: Cell::new(0) }
    }

    fn clamped(&self, most: u32) -> u32 {
        self.rounds.get().clamp(ROUNDS_MIN.min(most), most)
    }

    /// For how many rounds the next search may go on after the first, of `most`
    /// that are allowed.
    ///
    /// `delays_events` says that no other worker is awake, and nobody waits for the system's
    /// events. Then these are what is to come, unless searches have paid lately.
    pub(super) fn next_search(&self, most: u32, delays_events: bool) -> u32 {
        let searches = self.searches.get().wrapping_add(1);
        self.searches.set(searches);
        let rounds = self.clamped(most);
        match () {
            () if searches.is_multiple_of(PROBE_EVERY) => most,
            () if delays_events && rounds <= ROUNDS_MIN => 0,
            () => rounds,
        }
    }

    /// A later round than the first has found something.
    pub(super) fn paid(&self, most: u32) {
        self.rounds.set(self.clamped(most).saturating_mul(2));
    }

    /// As `paid`, for mail: whoever sends it may wait for an answer, and so sleep when this thread
    /// is woken. Both have to wait awake for either to gain by it. So one that has found that the
    /// other does goes all the way.
    pub(super) fn mail_came(&self, most: u32) {
        self.rounds.set(most);
    }

    /// None has.
    pub(super) fn did_not_pay(&self, most: u32) {
        self.rounds.set(self.clamped(most) * 3 / 4);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_learns_within_its_limits() {
        let patience = SearchPatience::new();
        assert_eq!(patience.next_search(24, false), ROUNDS_MIN);
        assert_eq!(patience.next_search(24, true), 0);
        for _ in 0..3 {
            patience.paid(24);
        }
        assert_eq!(patience.next_search(24, false), 24);
        assert_eq!(patience.next_search(24, true), 24);
        for _ in 0..100 {
            patience.did_not_pay(24);
        }
        assert_eq!(patience.next_search(24, false), ROUNDS_MIN);
        assert_eq!(patience.next_search(24, true), 0);
        assert_eq!(patience.next_search(2, false), 2);
        patience.paid(24);
        assert_eq!(patience.next_search(24, false), 2 * ROUNDS_MIN);
        patience.mail_came(24);
        assert_eq!(patience.next_search(24, true), 24);
        let searches = (0..100).take_while(|_| {
            patience.did_not_pay(24);
            patience.next_search(24, false) > ROUNDS_MIN
        });
        assert!(searches.count() < 10, "a few that are in vain end it");
        for delays_events in [false, true] {
            let longest = (0..PROBE_EVERY).map(|_| patience.next_search(24, delays_events)).max();
            assert_eq!(longest, Some(24), "one in {PROBE_EVERY} makes all its rounds");
        }
    }
}
