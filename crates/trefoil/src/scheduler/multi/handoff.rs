//! The slot in which a worker leaves its state while it does something that may take long, so that
//! another thread can become the worker.
//!
//! A worker that forks or blocks in place is inside of a poll, and other tasks must not run on top
//! of its stack. So it *offers* its state here. When it is done, it *reclaims* the state. If
//! another thread has *retaken* the state meanwhile, that thread is the worker now, and this one
//! continues without a state.
//!
//! | offer | what others see | who retakes it |
//! |---|---|---|
//! | while it forks | a busy worker | the monitor, if something waits for the worker for a period |
//! | while it blocks | a sleeping worker | whoever has work for a sleeper, at once |
//! | while it polls the future of its `block_on` | a busy worker | as from a fork |
//! | while it has no thread yet (`unstarted.rs`) | a sleeping worker | as while it blocks |
//!
//! A worker that forks computes, so one more thread would be one too many. A worker that blocks
//! leaves its CPU to other threads. The last row is about threads that stand in for a worker
//! (`worker/stand_in.rs`).

use super::worker::WorkerState;
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{
    AcqRel, AtomicBool, AtomicU32, AtomicU64, Relaxed, fence_after_rmw,
};
use std::ptr;

/// The slot for one worker's state.
#[derive(Debug)]
pub(super) struct Handoff {
    /// The offer's number above the flags. Written by RMW: by the owner of the state that offers
    /// it, and by whoever takes it.
    ///
    /// By the number, a thread tells its own offer from a later one, which the thread that retook
    /// the state may have made.
    word: AtomicU64,
    /// The state on offer, while it is available.
    state: UnsafeCell<*mut WorkerState>,
    /// How many threads fork after another thread has retaken their state. While there are any, the
    /// state's worker serves only tasks: if it stole jobs, more threads would compute than there
    /// are workers.
    forkers: AtomicU32,
    /// A thread from outside forks in the place of the state's worker, which sleeps: see
    /// `worker/guest.rs`. It counts as one of the `forkers`, too.
    has_guest: AtomicBool,
    /// Odd while a thread that stands in for the state's worker polls the future of its `block_on`.
    /// Each such poll has another number. Written by whoever has the state.
    root_poll: AtomicU64,
    /// The number of the last of these polls that the monitor wants to go on without the state.
    wanted_of: AtomicU64,
}

/// The state can be taken.
const AVAILABLE: u64 = 1;
/// The state has pinned tasks, which other threads cannot see.
const HAS_PINNED: u64 = 2;
/// The thread that offers the state blocks.
const BLOCKS: u64 = 4;
/// The thread polls the future of its `block_on`.
const IN_ROOT: u64 = 8;
/// No thread has ever had the state.
const UNSTARTED: u64 = 16;
const NUMBER: u64 = 32;

// SAFETY: whoever takes the pointer out owns the state, and a state is `Send`.
unsafe impl Send for Handoff {}
// SAFETY: the right to the cell passes from one thread to the other with `AVAILABLE`.
unsafe impl Sync for Handoff {}

/// Why a state is on offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The thread forks.
    Forks,
    /// It blocks.
    Blocks,
    /// It polls the future of its `block_on`.
    InRoot,
    /// There is none yet. In all else, this is as `Blocks`.
    Unstarted,
}

/// One offer, which is needed to take the state out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer(u64);

impl Offer {
    pub(super) fn has_pinned(self) -> bool {
        self.0 & HAS_PINNED != 0
    }

    /// Whether no thread has ever had the state.
    pub(super) fn is_unstarted(self) -> bool {
        self.0 & UNSTARTED != 0
    }

    /// Whether the thread blocks, and does not compute; or there is none yet.
    pub(super) fn blocks(self) -> bool {
        self.0 & BLOCKS != 0
    }

    /// Whether the thread polls the future of its `block_on`.
    pub(super) fn is_in_root(self) -> bool {
        self.0 & IN_ROOT != 0
    }
}

impl Handoff {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            state: UnsafeCell::new(ptr::null_mut()),
            forkers: AtomicU32::new(0),
            has_guest: AtomicBool::new(false),
            root_poll: AtomicU64::new(0),
            wanted_of: AtomicU64::new(0),
        }
    }

    /// A poll of a root begins, on the thread that has the state.
    pub(super) fn begin_root_poll(&self) {
        // Relaxed: policy, which orders nothing. Whoever has the state is the only writer.
        self.root_poll.store(self.root_poll.load(Relaxed) + 1, Relaxed);
    }

    /// It has ended, or goes on without the state, which the caller has. There may have been none.
    pub(super) fn end_root_poll(&self) {
        // Relaxed: as above.
        self.root_poll.store(self.root_poll.load(Relaxed).next_multiple_of(2), Relaxed);
    }

    /// The number of the poll of a root that goes on.
    pub(super) fn root_poll(&self) -> Option<u64> {
        // Relaxed: as above.
        Some(self.root_poll.load(Relaxed)).filter(|poll| !poll.is_multiple_of(2))
    }

    /// That poll is to go on without the state. Its thread offers the state, and now and then takes
    /// it back for a moment: if the state was not there just now, the thread hands it over.
    pub(super) fn want_from_root(&self, poll: u64) {
        // Relaxed: as above.
        self.wanted_of.store(poll, Relaxed);
    }

    /// Whether the poll that goes on is to do so without the state.
    pub(super) fn is_wanted_from_root(&self) -> bool {
        // Relaxed: as above.
        self.root_poll() == Some(self.wanted_of.load(Relaxed))
    }

    /// Offers a state. This is a full fence.
    ///
    /// # Safety
    /// The caller owns the state that this slot is for, and gives it up.
    pub(super) unsafe fn offer(
        &self,
        state: *mut WorkerState,
        has_pinned: bool,
        kind: Kind,
    ) -> Offer {
        self.state.with_mut(|cell| {
            // SAFETY: the caller owns the state, so the slot is empty, and nobody else accesses the
            // cell of an empty slot.
            unsafe { *cell = state }
        });
        // Relaxed: only the state's owner makes offers.
        let number = (self.word.load(Relaxed) & !(NUMBER - 1)).wrapping_add(NUMBER);
        let word = number
            | AVAILABLE
            | if has_pinned { HAS_PINNED } else { 0 }
            | match kind {
                Kind::Forks => 0,
                Kind::Blocks => BLOCKS,
                Kind::InRoot => IN_ROOT,
                Kind::Unstarted => BLOCKS | UNSTARTED,
            };
        // Release: pairs with `take`. Acquire: for the fence.
        self.word.swap(word, AcqRel);
        fence_after_rmw();
        Offer(word)
    }

    /// Takes the state out, if this offer is still in force.
    pub(super) fn take(&self, offer: Offer) -> Option<*mut WorkerState> {
        // Acquire: pairs with `offer`. Release: keeps the chain between owners.
        self.word.compare_exchange(offer.0, offer.0 & !AVAILABLE, AcqRel, Relaxed).ok()?;
        Some(self.state.with(|cell| {
            // SAFETY: the exchange made us the owner of the state, and gave us the right to the
            // cell.
            unsafe { *cell }
        }))
    }

    /// The offer in force, if there is one.
    pub(super) fn available(&self) -> Option<Offer> {
        // Relaxed: a hint, which `take` confirms. Where an offer must not be missed, a full fence
        // comes before (`Shared::unpark_worker`, `Monitor::rest`).
        let word = self.word.load(Relaxed);
        (word & AVAILABLE != 0).then_some(Offer(word))
    }

    /// Whether a state is on offer that a thread has parted with, and may come back for.
    pub(super) fn needs_monitor(&self) -> bool {
        self.available().is_some_and(|offer| !offer.is_unstarted())
    }

    /// Whether the state's worker serves only tasks, and steals no jobs.
    pub(super) fn has_forkers(&self) -> bool {
        // Relaxed: policy, which orders nothing.
        self.forkers.load(Relaxed) != 0
    }

    /// A thread is about to lose the state while it forks.
    pub(super) fn add_forker(&self) {
        // Relaxed: as `has_forkers`.
        self.forkers.fetch_add(1, Relaxed);
    }

    /// That thread has ended its fork, or has kept the state.
    pub(super) fn remove_forker(&self) {
        // Relaxed: as `has_forkers`.
        self.forkers.fetch_sub(1, Relaxed);
    }

    /// A guest takes the place of the state's worker. This is a full fence.
    pub(super) fn guest_enters(&self) {
        self.add_forker();
        // AcqRel: for the fence.
        self.has_guest.swap(true, AcqRel);
        fence_after_rmw();
    }

    /// The guest leaves. Guests enter and leave under the lock of the sleepers.
    pub(super) fn guest_leaves(&self) {
        // Relaxed: policy, as `has_forkers`.
        self.has_guest.store(false, Relaxed);
        self.remove_forker();
    }

    pub(super) fn has_guest(&self) -> bool {
        // Relaxed: as `available`.
        self.has_guest.load(Relaxed)
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use std::sync::Arc;

    /// The first thread comes back while its state is retaken, used, and offered again. It must not
    /// take that later offer, and the state has one owner at a time.
    #[test]
    fn loom_a_thread_reclaims_its_own_offer_or_nothing() {
        loom::model(|| {
            let handoff = Arc::new(Handoff::new());
            let is_used = Arc::new(AtomicBool::new(false));
            let state = WorkerState::new(0, std::ptr::null(), Arc::default(), false, true);
            let state = Box::into_raw(Box::new(state));
            let use_it = |is_used: &AtomicBool| {
                // Relaxed: loom shows a second owner without any ordering.
                assert!(!is_used.swap(true, Relaxed), "two owners");
                is_used.store(false, Relaxed);
            };
            // SAFETY: the state is new, and this is its only owner.
            let first = unsafe { handoff.offer(state, false, Kind::Blocks) };
            let taker = {
                let (handoff, is_used) = (Arc::clone(&handoff), Arc::clone(&is_used));
                loom::thread::spawn(move || {
                    let Some(offer) = handoff.available() else { return false };
                    let Some(state) = handoff.take(offer) else { return false };
                    use_it(&is_used);
                    // SAFETY: the state was just taken, and this is its only owner.
                    let second = unsafe { handoff.offer(state, false, Kind::Forks) };
                    assert_ne!(first, second);
                    let state = handoff.take(second).expect("nobody else knows this offer");
                    use_it(&is_used);
                    // SAFETY: from `Box::into_raw`, and this is its only owner.
                    drop(unsafe { Box::from_raw(state) });
                    true
                })
            };
            let back = handoff.take(first);
            if let Some(state) = back {
                use_it(&is_used);
                // SAFETY: from `Box::into_raw`, and this is its only owner.
                drop(unsafe { Box::from_raw(state) });
            }
            assert_ne!(taker.join().unwrap(), back.is_some());
        });
    }

    /// A pinned task is sent to a worker that begins to block. Either the sender sees the state on
    /// offer, or the worker sees the task.
    #[test]
    fn loom_what_is_sent_to_a_worker_that_blocks_finds_a_thread() {
        loom::model(|| {
            let handoff = Arc::new(Handoff::new());
            let inbox = Arc::new(AtomicBool::new(false));
            let sender = {
                let (handoff, inbox) = (Arc::clone(&handoff), Arc::clone(&inbox));
                loom::thread::spawn(move || {
                    // As in `Shared::send`.
                    inbox.swap(true, AcqRel);
                    fence_after_rmw();
                    handoff.available().is_some_and(|offer| handoff.take(offer).is_some())
                })
            };
            // As in `begin_blocking`.
            // SAFETY: a state that does not exist has no other owner.
            let offer = unsafe { handoff.offer(ptr::null_mut(), false, Kind::Blocks) };
            let is_ours = inbox.load(Relaxed) && handoff.take(offer).is_some();
            let is_theirs = sender.join().unwrap();
            assert!(is_ours != is_theirs, "{is_ours} {is_theirs}");
        });
    }

    /// Work is posted while a worker begins to block and comes back. The state has one owner, and
    /// the idle protocol counts the worker correctly.
    #[test]
    fn loom_a_worker_that_blocks_is_counted_as_one_that_sleeps() {
        use crate::idle::{Asleep, Awake, Idle};
        use crate::primitives::atomic::{SeqCst, fence};

        struct Model {
            idle: Idle,
            handoff: Handoff,
            work: AtomicU32,
        }
        impl Model {
            /// As in `Shared::notify` and `unpark_worker`. True if the caller has the state then.
            fn notify(&self) -> bool {
                fence(SeqCst);
                self.idle.notify().is_some()
                    && self
                        .handoff
                        .available()
                        .is_some_and(|offer| self.handoff.take(offer).is_some())
            }

            /// As in `wake_up`, and then a search to its end.
            fn work_as_owner(&self) {
                if self.idle.wake(0) == Awake::Searching && self.idle.stop_searching() {
                    fence(SeqCst);
                }
                self.work.store(0, Relaxed);
            }
        }
        loom::model(|| {
            let model = Arc::new(Model {
                idle: Idle::new(1),
                handoff: Handoff::new(),
                work: AtomicU32::new(0),
            });
            let poster = {
                let model = Arc::clone(&model);
                loom::thread::spawn(move || {
                    model.work.store(1, Relaxed);
                    let is_owner = model.notify();
                    if is_owner {
                        model.work_as_owner();
                    }
                    is_owner
                })
            };
            let mut offer = None;
            let asleep = model.idle.sleep(0, false, || {
                // SAFETY: a state that does not exist has no other owner.
                offer = Some(unsafe { model.handoff.offer(ptr::null_mut(), false, Kind::Blocks) });
            });
            let mut is_owner = false;
            if asleep == Asleep::LookAgain {
                fence(SeqCst);
                if model.work.load(Relaxed) > 0 {
                    is_owner = model.notify();
                }
            }
            if is_owner || model.handoff.take(offer.unwrap()).is_some() {
                is_owner = true;
                model.work_as_owner();
            }
            assert!(is_owner != poster.join().unwrap());
            assert_eq!(model.idle.counts(), (0, 0));
        });
    }
}
