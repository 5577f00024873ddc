//! The bounds of the page, one function for each line: how many polls a worker makes before the one
//! that is measured.

/// "And the turns of pinned tasks among them" adds at most a third.
fn with_pinned(polls: u64) -> u64 {
    polls + polls.div_ceil(3) + 1
}

/// "One injected poll for each look", and a look comes after one other poll at the
/// earliest, but for the end of a streak, which is three turns of the slot.
fn with_injected(polls: u64) -> u64 {
    2 * polls + 1 + polls / 4
}

/// "A task in the LIFO slot: 61 polls of the ring, and the turns of pinned and
/// injected tasks among them."
pub(crate) fn lifo() -> u64 {
    with_pinned(with_injected(61))
}

/// "A task in the ring with *p* tasks before it: *p* + 3·(*p* + 1) polls, and the
/// turns of pinned and injected tasks among them."
pub(crate) fn ring(p: u64) -> u64 {
    with_pinned(with_injected(p + 3 * (p + 1)))
}

/// "A pinned task with *p* pinned tasks before it: 4·(*p* + 1) polls."
pub(crate) fn pinned(p: u64) -> u64 {
    4 * (p + 1)
}

/// "A task in the shared queue with *p* tasks before it: 61·(*p*/4 + 1) polls of
/// any one worker, then as in the ring with 255 before it."
pub(crate) fn shared(p: u64) -> u64 {
    61 * (p / 4 + 1) + ring(255)
}

/// "A timer that is due, with *k* due before it, and *m* moves of timers down
/// the wheel until then: fired within 8 + *k*/64 + *m*/192 + 2 polls." Timers
/// for less than 4 ms are moved twice at most.
pub(crate) fn timer(k: u64) -> u64 {
    timer_among(k, 2 * (k + 64))
}

pub(crate) fn timer_among(k: u64, m: u64) -> u64 {
    8 + k / 64 + m / 192 + 2
}

/// The same for a current-thread runtime. "Timers are looked at as often" as the
/// inbox: every 61 polls.
pub(crate) fn timer_of_current_thread(k: u64) -> u64 {
    let m = k + 64;
    61 * (k / 64 + m / 192 + 1)
}

/// "A deferred waker: woken within 61 polls."
pub(crate) fn deferred() -> u64 {
    61
}

/// "An event of the system, with *k* ready before it: 61·(*k*/1024 + 1) polls of any one worker."
#[cfg(feature = "net")]
pub(crate) fn event(k: u64) -> u64 {
    61 * (k / 1024 + 1)
}

/// "A task in the ring, beside a flood into the shared queue: as in the ring, where
/// the flood brings no more than 255 before it, and one injected poll for each look."
pub(crate) fn beside_injected() -> u64 {
    with_pinned(with_injected(255))
}

/// "The future of `block_on`, in the place of a worker: 3 polls of tasks."
pub(crate) fn root() -> u64 {
    3
}

/// "A task that is always ready is made to yield after 128 operations … Up to
/// four such budgets come in a row."
pub(crate) fn operations() -> u64 {
    4 * 128
}
