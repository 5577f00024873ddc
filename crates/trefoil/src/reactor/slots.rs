//! All slots of a reactor. They are used again, and never freed before the reactor.

use super::slot::{GENERATION_BITS, Slot};
use crate::primitives::CachePadded;
use std::fmt;
use std::sync::Arc;

/// Slots come in pages, so that they have addresses for good.
const PAGE: usize = 32;

/// What is left of a token beside the generation, and one bit for the token of the waker.
const INDEX_BITS: u32 = if usize::BITS >= 64 { 32 } else { 20 };
const MAX_SLOTS: usize = (1_usize << INDEX_BITS) - 1;

type Page = Arc<[CachePadded<Slot>]>;

/// A slot, for as long as somebody has it.
#[derive(Clone)]
pub(super) struct Place {
    page: Page,
    index: u32,
}

impl Place {
    #[inline]
    pub(super) fn slot(&self) -> &Slot {
        &self.page[self.index as usize % PAGE]
    }

    /// What the system says with each event of the source that has the slot now.
    pub(super) fn token(&self) -> usize {
        let generation = self.slot().generation() as usize & ((1 << GENERATION_BITS) - 1);
        self.index as usize | generation << INDEX_BITS
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("index", &self.index).field("slot", self.slot()).finish()
    }
}

/// The slot and the generation that a token names.
pub(super) fn split(token: usize) -> (usize, u64) {
    (token & ((1 << INDEX_BITS) - 1), (token >> INDEX_BITS) as u64)
}

#[derive(Debug, Default)]
pub(super) struct Slots {
    pages: Vec<Page>,
    free: Vec<u32>,
    /// How many slots were ever given out.
    given: usize,
    is_over: bool,
}

/// Why no slot is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The runtime has shut down.
    Over,
    /// There are as many sources as tokens.
    Full,
}

impl Slots {
    pub(super) fn occupy(&mut self) -> Result<Place, Refused> {
        if self.is_over {
            return Err(Refused::Over);
        }
        if let Some(index) = self.free.pop() {
            return Ok(self.place(index));
        }
        if self.given == MAX_SLOTS {
            return Err(Refused::Full);
        }
        if self.given == self.pages.len() * PAGE {
            self.pages.push((0..PAGE).map(|_| CachePadded(Slot::new())).collect());
        }
        self.given += 1;
        Ok(self.place(self.given as u32 - 1))
    }

    fn place(&self, index: u32) -> Place {
        Place { page: Arc::clone(&self.pages[index as usize / PAGE]), index }
    }

    /// The slot is vacant.
    pub(super) fn free(&mut self, place: &Place) {
        self.free.push(place.index);
    }

    /// No slot is given from here on. Returns all pages that there are.
    pub(super) fn close(&mut self) -> Vec<Page> {
        self.is_over = true;
        self.pages.clone()
    }

    pub(super) fn pages(&self) -> &[Page] {
        &self.pages
    }
}

/// The pages that the thread with the lease has seen, so that an event costs it no lock.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<Page>);

impl Known {
    /// The slot with that index. `all` is asked for the pages that are new.
    pub(super) fn slot(&mut self, index: usize, all: impl FnOnce(&mut Vec<Page>)) -> Option<&Slot> {
        let page = index / PAGE;
        if page >= self.0.len() {
            all(&mut self.0);
        }
        self.0.get(page).map(|page| &*page[index % PAGE])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::reactor::{Ready, Wakes};

    #[test]
    fn slots_are_used_again_and_their_tokens_are_not() {
        let mut slots = Slots::default();
        let places: Vec<_> = (0..3 * PAGE).map(|_| slots.occupy().unwrap()).collect();
        let mut tokens: Vec<_> = places.iter().map(Place::token).collect();
        let last = places.last().unwrap();
        last.slot().vacate(&mut Vec::new());
        slots.free(last);
        let again = slots.occupy().unwrap();
        assert_eq!(again.index, last.index);
        tokens.push(again.token());
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), 3 * PAGE + 1);
    }

    #[test]
    fn an_event_for_a_source_that_is_gone_does_not_reach_its_successor() {
        let mut slots = Slots::default();
        let place = slots.occupy().unwrap();
        let (index, old) = split(place.token());
        place.slot().vacate(&mut Vec::new());
        slots.free(&place);
        let place = slots.occupy().unwrap();
        let (same, new) = split(place.token());
        assert_eq!(index, same);
        place.slot().announce(old, Ready::ALL, &mut Wakes::default());
        assert!(place.slot().event(Ready::ALL).is_none());
        place.slot().announce(new, Ready::READABLE, &mut Wakes::default());
        assert!(place.slot().event(Ready::ALL).is_some());
    }

    #[test]
    fn a_reactor_that_is_over_gives_no_slot() {
        let mut slots = Slots::default();
        let _one = slots.occupy().unwrap();
        assert_eq!(slots.close().len(), 1);
        assert_eq!(slots.occupy().unwrap_err(), Refused::Over);
    }
}
