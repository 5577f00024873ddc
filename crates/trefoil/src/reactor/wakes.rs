//! Wakers that are to be woken once all locks are released.

use crate::task::wake_guarded;
use std::task::Waker;

/// Events come in small batches, whose wakers need no allocation.
const INLINE: usize = 8;

/// Wakers that were taken out of their slots. They are woken on drop at the latest: nobody else
/// would wake them.
#[derive(Debug, Default)]
#[must_use = "the wakers are woken on drop, which may not be the right place"]
pub(crate) struct Wakes {
    inline: [Option<Waker>; INLINE],
    len: usize,
    more: Vec<Waker>,
}

impl Wakes {
    pub(crate) fn push(&mut self, waker: Waker) {
        match self.inline.get_mut(self.len) {
            Some(place) => {
                *place = Some(waker);
                self.len += 1;
            }
            None => self.more.push(waker),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Wakes all of them. A waker that panics harms no other one.
    pub(crate) fn wake(self) {
        drop(self);
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        let len = std::mem::take(&mut self.len);
        self.inline[..len].iter_mut().filter_map(Option::take).for_each(wake_guarded);
        self.more.drain(..).for_each(wake_guarded);
    }
}
