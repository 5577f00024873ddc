//! Serving tasks while their worker is in a fork.
//!
//! A worker that forks does so inside of a task's poll, or inside of a stolen
//! job, and may not come out for seconds; other tasks must not run on top of
//! its stack meanwhile, which may hold anything. So for as long as it forks, it
//! leaves its core (timers, pinned tasks, queues) where it can be taken: *lent*.
//! A thread that does nothing else looks at lent cores every `PERIOD`. Where
//! one has been lent for that long by the same fork, and something waits for
//! it, that thread takes the core and becomes the worker itself. The forking
//! thread finds the core gone when it comes out, and ends.
//!
//! The watching thread exists from the first fork on, and sleeps when there
//! were none for `QUIET_PERIODS`.

use super::worker::{self, Core};
use super::{Remote, Shared, handle};
use crate::runtime::context;
use crate::runtime::parker::Parker;
use crate::sync::atomic::{
    AcqRel, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Relaxed, SeqCst, fence, fence_after_rmw,
};
use crate::sync::{UnsafeCell, thread};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks. A task waits for a worker that forks for twice that, and
/// for the system to run one thread more.
pub(super) const PERIOD: Duration = Duration::from_millis(2);

/// Looks in vain after which the watching thread sleeps.
const QUIET_PERIODS: u32 = 50;

/// There is no watching thread.
const ABSENT: u32 = 0;
/// It looks, or is about to.
const AWAKE: u32 = 1;
/// It waits until it is woken.
const ASLEEP: u32 = 2;

/// The watching thread, seen from those who lend.
#[derive(Debug)]
pub(super) struct Watch {
    /// Written by the watching thread and by whoever wakes or starts it.
    state: AtomicU32,
    parker: Parker,
    /// Forking threads whose cores were taken. No more are taken than there
    /// are workers, so that forks within forks do not make threads without end.
    deputies: AtomicUsize,
}

/// Where a worker leaves its core while it forks.
#[derive(Debug)]
pub(super) struct Loan {
    /// The loan's number above `AVAILABLE` and `HAS_WORK`. Written by RMW: by
    /// whoever has the core when it lends it, and by whoever takes it.
    ///
    /// The number is what tells a lender its own loan from a later one, made by
    /// whoever took the core from it.
    state: AtomicU64,
    /// What is lent, while it is available.
    core: UnsafeCell<*mut Core>,
    /// Threads that have lost this core while they forked, and go on. For as
    /// long as there are any, the core's worker is only there for tasks: it
    /// steals no jobs, or there would be more and more threads that compute.
    forkers: AtomicU32,
    /// A thread from outside forks in the place of the core's worker, which
    /// sleeps: see `worker/guest.rs`. It is one of the `forkers`, too.
    is_relieved: AtomicBool,
}

/// The core can be taken.
const AVAILABLE: u64 = 1;
/// It has work that cannot be seen from outside.
const HAS_WORK: u64 = 2;
const NUMBER: u64 = 4;

// SAFETY: the pointer is owned by whoever takes it out, and a core is `Send`.
unsafe impl Send for Loan {}
// SAFETY: the cell passes from lender to taker with `AVAILABLE`.
unsafe impl Sync for Loan {}

impl Loan {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            core: UnsafeCell::new(ptr::null_mut()),
            forkers: AtomicU32::new(0),
            is_relieved: AtomicBool::new(false),
        }
    }

    /// Lends a core, and returns the state by which to get it back. It is a
    /// full fence.
    ///
    /// # Safety
    /// The caller owns the core that this loan is for, and gives it up.
    pub(super) unsafe fn put(&self, core: *mut Core, has_work: bool) -> u64 {
        self.core.with_mut(|cell| {
            // SAFETY: the core is the caller's and so not available here, and
            // nobody looks into the cell of a loan that is not.
            unsafe { *cell = core }
        });
        // Relaxed: only the core's owner makes loans.
        let number = (self.state.load(Relaxed) & !(NUMBER - 1)).wrapping_add(NUMBER);
        let state = number | AVAILABLE | if has_work { HAS_WORK } else { 0 };
        // Release: pairs with `take`. Acquire: for the fence.
        self.state.swap(state, AcqRel);
        fence_after_rmw();
        state
    }

    /// Takes the core out, if it is still there from that very loan.
    pub(super) fn take(&self, state: u64) -> Option<*mut Core> {
        // Acquire: pairs with `put`. Release: keeps the chain between owners.
        self.state.compare_exchange(state, state & !AVAILABLE, AcqRel, Relaxed).ok()?;
        Some(self.core.with(|cell| {
            // SAFETY: the exchange made the core ours, and with it the right
            // to the cell.
            unsafe { *cell }
        }))
    }

    /// Whether the core's worker is only there for tasks.
    pub(super) fn has_forkers(&self) -> bool {
        // Relaxed: policy, which orders nothing.
        self.forkers.load(Relaxed) != 0
    }

    /// A guest takes the place of the core's worker. It is a full fence.
    pub(super) fn seat_guest(&self) {
        // Relaxed: as `has_forkers`.
        self.forkers.fetch_add(1, Relaxed);
        // AcqRel: for the fence.
        self.is_relieved.swap(true, AcqRel);
        fence_after_rmw();
    }

    /// The guest leaves.
    pub(super) fn unseat_guest(&self) {
        // Relaxed: as `has_forkers`. Guests come and go under the lock of the
        // sleepers.
        self.is_relieved.store(false, Relaxed);
        self.forkers.fetch_sub(1, Relaxed);
    }

    /// Whether there is something to watch.
    fn needs_watch(&self) -> bool {
        // Relaxed: as `available`.
        self.available().is_some() || self.is_relieved.load(Relaxed)
    }

    /// The state of the loan, if there is one.
    fn available(&self) -> Option<u64> {
        // Relaxed: a hint; see `Watch::rest` for where it must not be missed.
        let state = self.state.load(Relaxed);
        (state & AVAILABLE != 0).then_some(state)
    }
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { state: AtomicU32::new(ABSENT), parker: Parker::new(), deputies: AtomicUsize::new(0) }
    }

    /// Sees to it that somebody watches; the caller has lent a core before, or
    /// seated a guest, with a full fence in between.
    #[inline]
    pub(super) fn ensure(&self, shared: &Arc<Shared>) {
        // Relaxed: the lender's half of the Dekker duel with `rest`.
        if self.state.load(Relaxed) != AWAKE {
            self.rouse(shared);
        }
    }

    #[cold]
    fn rouse(&self, shared: &Arc<Shared>) {
        // AcqRel: whoever changes the state is the one to act on it.
        if self.state.compare_exchange(ASLEEP, AWAKE, AcqRel, Relaxed).is_ok() {
            self.parker.unpark();
        } else if self.state.compare_exchange(ABSENT, AWAKE, AcqRel, Relaxed).is_ok() {
            let its = Arc::clone(shared);
            let name = (shared.common.thread_name)();
            let started =
                thread::spawn(name, shared.common.thread_stack_bytes, move || watch(&its));
            if started.is_err() {
                // The next to fork tries again. Until then, tasks wait for
                // forks to end.
                self.state.store(ABSENT, Relaxed);
            }
        }
    }

    /// For the runtime's end, which the caller has announced.
    pub(super) fn shut_down(&self) {
        self.parker.unpark();
    }

    /// A forking thread has found its core gone, and will end.
    pub(super) fn deputised(&self, loan: &Loan) {
        // Relaxed: bounds on threads, which order nothing.
        loan.forkers.fetch_sub(1, Relaxed);
        self.deputies.fetch_sub(1, Relaxed);
    }

    /// Sleeps until somebody lends.
    fn rest(&self, shared: &Shared) {
        self.state.store(ASLEEP, Relaxed);
        // The watch's half of the Dekker duel with `ensure`: either the lender
        // sees that we sleep, or we see what it has lent.
        fence(SeqCst);
        if shared.remotes.iter().any(|remote| remote.loan.needs_watch()) {
            // Relaxed: as `AcqRel` in `rouse`, but it changes nothing for us
            // who was first.
            let _ = self.state.compare_exchange(ASLEEP, AWAKE, Relaxed, Relaxed);
            return;
        }
        self.parker.park();
    }
}

/// The body of the watching thread.
fn watch(shared: &Arc<Shared>) {
    // For destructors, should this be the last thread to leave.
    let _handle = context::enter_handle(handle(shared));
    shared.common.unpin();
    shared.watch.parker.adopt();
    let mut seen = vec![0; shared.workers()];
    let mut seen_guest = vec![false; shared.workers()];
    let mut quiet = 0;
    loop {
        if shared.is_shut_down() {
            return;
        }
        let mut any = false;
        // One more thread a round is enough for what everybody sees.
        let mut is_served = false;
        for (remote, seen) in shared.remotes.iter().zip(&mut seen_guest) {
            // Relaxed: as `available`.
            let is_relieved = remote.loan.is_relieved.load(Relaxed);
            any |= is_relieved;
            if std::mem::replace(seen, is_relieved)
                && is_relieved
                && !is_served
                && are_tasks_left(shared)
            {
                // Its worker sleeps, and has all it needs to serve tasks.
                is_served = remote.parker.unpark();
            }
        }
        for (remote, seen) in shared.remotes.iter().zip(&mut seen) {
            let Some(loan) = remote.loan.available() else { continue };
            any = true;
            if std::mem::replace(seen, loan) == loan
                && is_needed(shared, remote, loan, is_served)
                && let Some(core) = take_over(shared, remote, loan)
            {
                // From here on, this thread is the worker, and another watches.
                shared.watch.state.store(ABSENT, Relaxed);
                fence(SeqCst);
                if shared.remotes.iter().any(|remote| remote.loan.needs_watch()) {
                    shared.watch.ensure(shared);
                }
                return worker::run(Arc::clone(shared), core);
            }
        }
        quiet = if any { 0 } else { quiet + 1 };
        if quiet < QUIET_PERIODS {
            shared.watch.parker.park_timeout(PERIOD);
        } else {
            quiet = 0;
            shared.watch.rest(shared);
        }
    }
}

/// Whether something waits that nobody but the lent core's worker will serve;
/// `is_served` if a worker was just woken for what everybody sees.
fn is_needed(shared: &Shared, remote: &Remote, loan: u64, is_served: bool) -> bool {
    if loan & HAS_WORK != 0 || !remote.inbox.is_empty() || remote.timers.overdue(Duration::ZERO) {
        return true;
    }
    // What everybody sees is the others' business, if there are others.
    !is_served && are_all_busy(shared) && (!remote.ring.is_empty() || !shared.injector.is_empty())
}

/// Whether tasks wait that any worker would run, and none has time.
fn are_tasks_left(shared: &Shared) -> bool {
    are_all_busy(shared) && shared.has_queued_tasks()
}

fn are_all_busy(shared: &Shared) -> bool {
    shared.idle.counts() == (0, 0)
}

/// Takes a lent core, if it is still there and this thread may become its
/// worker.
fn take_over(shared: &Arc<Shared>, remote: &Remote, loan: u64) -> Option<Box<Core>> {
    let watch = &shared.watch;
    // Relaxed: only the watching thread adds.
    if watch.deputies.load(Relaxed) >= shared.workers() {
        return None;
    }
    // First of all become one of the scheduler's threads, so that the lender
    // is not the last to leave. If none is left, the runtime is over.
    // SeqCst: once per take-over, and no weaker one is argued for.
    let join = |threads: usize| (threads > 0).then(|| threads + 1);
    shared.threads.fetch_update(SeqCst, SeqCst, join).ok()?;
    watch.deputies.fetch_add(1, Relaxed);
    remote.loan.forkers.fetch_add(1, Relaxed);
    let Some(core) = remote.loan.take(loan) else {
        watch.deputised(&remote.loan);
        shared.retire(None);
        return None;
    };
    // SAFETY: it was lent by `Loan::put`, and the exchange made it ours.
    Some(unsafe { Box::from_raw(core) })
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    /// The first lender comes back while its core is taken, used, and lent
    /// again: it must not get hold of that later loan, and the core has one
    /// owner at a time.
    #[test]
    fn a_lender_gets_its_own_loan_back_or_nothing() {
        loom::model(|| {
            let loan = Arc::new(Loan::new());
            let is_used = Arc::new(AtomicBool::new(false));
            let core = Box::into_raw(Box::new(Core::new(0, Arc::default())));
            let use_it = |is_used: &AtomicBool| {
                // Relaxed: loom would show a second owner all the same.
                assert!(!is_used.swap(true, Relaxed), "two owners");
                is_used.store(false, Relaxed);
            };
            // SAFETY: nobody else has it.
            let first = unsafe { loan.put(core, false) };
            let taker = {
                let (loan, is_used) = (Arc::clone(&loan), Arc::clone(&is_used));
                loom::thread::spawn(move || {
                    let Some(state) = loan.available() else { return false };
                    let Some(core) = loan.take(state) else { return false };
                    use_it(&is_used);
                    // SAFETY: just taken.
                    let second = unsafe { loan.put(core, true) };
                    assert_ne!(first, second);
                    let core = loan.take(second).expect("nobody else knows this loan");
                    use_it(&is_used);
                    // SAFETY: from `Box::into_raw`, and this is its only owner.
                    drop(unsafe { Box::from_raw(core) });
                    true
                })
            };
            let back = loan.take(first);
            if let Some(core) = back {
                use_it(&is_used);
                // SAFETY: from `Box::into_raw`, and this is its only owner.
                drop(unsafe { Box::from_raw(core) });
            }
            assert_ne!(taker.join().unwrap(), back.is_some());
        });
    }

    /// A guest comes while the watch goes to sleep: one of them sees the other.
    #[test]
    fn a_guest_is_not_slept_through() {
        loom::model(|| {
            let loan = Arc::new(Loan::new());
            let watch = Arc::new(Watch::new());
            watch.state.store(AWAKE, Relaxed);
            let guest = {
                let (loan, watch) = (Arc::clone(&loan), Arc::clone(&watch));
                loom::thread::spawn(move || {
                    loan.seat_guest();
                    // As in `ensure`.
                    watch.state.load(Relaxed) != AWAKE
                })
            };
            // As in `rest`.
            watch.state.store(ASLEEP, Relaxed);
            fence(SeqCst);
            let is_seen = loan.needs_watch();
            let is_woken = guest.join().unwrap();
            assert!(is_seen || is_woken);
        });
    }

    /// A worker lends while the watch goes to sleep: one of them sees the other.
    #[test]
    fn a_loan_is_not_slept_through() {
        loom::model(|| {
            let loan = Arc::new(Loan::new());
            let watch = Arc::new(Watch::new());
            watch.state.store(AWAKE, Relaxed);
            let lender = {
                let (loan, watch) = (Arc::clone(&loan), Arc::clone(&watch));
                loom::thread::spawn(move || {
                    // SAFETY: a core that does not exist has no other owner.
                    unsafe { loan.put(ptr::null_mut(), false) };
                    // As in `ensure`.
                    watch.state.load(Relaxed) != AWAKE
                })
            };
            // As in `rest`.
            watch.state.store(ASLEEP, Relaxed);
            fence(SeqCst);
            let is_seen = loan.available().is_some();
            let is_woken = lender.join().unwrap();
            assert!(is_seen || is_woken);
        });
    }
}
