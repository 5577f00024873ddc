//! The split deque: a worker's stack of jobs, whose oldest part others may
//! take from.
//!
//! After Lace (T. van Dijk, J. van de Pol, 2014). The protocol stands in
//! `README.md` beside this file.

use super::job::Header;
use super::latch::Latch;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::atomic::{
    AcqRel, AtomicU32, AtomicU64, Relaxed, SeqCst, fence, fence_after_rmw,
};
use crate::primitives::parker::Parker;
use crate::primitives::{CachePadded, UnsafeCell};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

/// Jobs of one worker that can be public or stolen at once. With the latches:
/// 24 KiB.
#[cfg(not(loom))]
pub(crate) const CAPACITY: usize = 2048;
#[cfg(loom)]
pub(crate) const CAPACITY: usize = 4;

const _: () = assert!(CAPACITY < u32::MAX as usize);

/// One job less to be had, because a thief took the oldest.
const STEAL: u64 = (1 << 32) - 1;

#[derive(Debug)]
pub(crate) struct Deque {
    own: CachePadded<Own>,
    /// The first job that is not stolen, in the high half, and how many from
    /// there on may be, in the low one. Thieves claim by CAS, the owner
    /// publishes and reclaims by RMW; it stores only when there is nothing to
    /// be had, which keeps thieves from writing.
    public: CachePadded<AtomicU64>,
    asides: CachePadded<Asides>,
    /// Filled below `split`. Written by the owner; read by the thief that has
    /// claimed the slot.
    jobs: [UnsafeCell<Option<NonNull<Header>>>; CAPACITY],
    /// Of the stolen jobs; 0 from the first that is not stolen on.
    latches: [Latch; CAPACITY],
}

/// Only touched by the owner.
#[derive(Debug)]
struct Own {
    /// The youngest private job, from where each leads to the next older one;
    /// `END` if there are none.
    head: Cell<NonNull<Header>>,
    /// How many slots are taken, by public and by stolen jobs.
    split: Cell<usize>,
}

/// What the oldest private job leads to. Compared, and never followed; not
/// null, because null in a job says that it is public.
const END: NonNull<Header> = NonNull::dangling();

/// What is seldom looked at.
#[derive(Debug)]
struct Asides {
    id: u32,
    /// There are no thieves.
    is_solo: bool,
    /// Where the owner waits for stolen jobs.
    parker: Parker,
    /// The id plus one of a worker that sleeps until this deque's owner
    /// finishes a job of its, and would rather help; 0 for none.
    helper: AtomicU32,
}

// SAFETY: `own` is only reached through `Owner`, which exists on one thread at
// a time. The slots of `jobs` pass from the owner to a thief and back with the
// claims and latches of the protocol. All else is atomic, or a lock.
unsafe impl Sync for Deque {}
// SAFETY: as above; the jobs pointed to are kept for thieves of any thread.
unsafe impl Send for Deque {}

/// The owner's end: evidence that this thread is the owner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    deque: &'a Deque,
    _thread: PhantomData<*const ()>,
}

/// Which of the private jobs are published.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Share {
    /// The older half.
    Half,
    All,
}

/// Whose a job is that was public.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reclaimed {
    Ours,
    /// Its slot is this one.
    Stolen(usize),
}

/// A job in the hands of its thief.
#[derive(Debug)]
#[must_use = "its owner waits for it"]
pub(crate) struct Stolen<'a> {
    victim: &'a Deque,
    index: usize,
}

fn pack(oldest: usize, available: usize) -> u64 {
    (oldest as u64) << 32 | available as u64
}

fn unpack(public: u64) -> (usize, usize) {
    ((public >> 32) as usize, public as u32 as usize)
}

impl Deque {
    /// An empty one. Without thieves (`is_solo`), nothing is ever published.
    pub(crate) fn new(id: u32, is_solo: bool) -> Self {
        Self {
            own: CachePadded(Own { head: Cell::new(END), split: Cell::new(0) }),
            // A solo deque pretends to have a public job, so that its owner
            // never feels obliged to publish one.
            public: CachePadded(AtomicU64::new(pack(0, usize::from(is_solo)))),
            asides: CachePadded(Asides {
                id,
                is_solo,
                parker: Parker::new(),
                helper: AtomicU32::new(0),
            }),
            jobs: std::array::from_fn(|_| UnsafeCell::new(None)),
            latches: std::array::from_fn(|_| Latch::new()),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.asides.id
    }

    pub(crate) fn parker(&self) -> &Parker {
        &self.asides.parker
    }

    /// Whether there is something to steal.
    #[inline]
    pub(crate) fn has_public(&self) -> bool {
        // Relaxed: a hint. Where a missed job would be missed for good, the
        // idle protocol's fences come in between.
        let (_, available) = unpack(self.public.load(Relaxed));
        available != 0 && !self.asides.is_solo
    }

    /// Takes the oldest job, in the name of the thief's own deque.
    #[inline]
    pub(crate) fn steal(&self, thief: u32) -> Option<Stolen<'_>> {
        if !self.has_public() {
            return None;
        }
        // Relaxed: confirmed by the exchange.
        let mut public = self.public.load(Relaxed);
        loop {
            let (oldest, available) = unpack(public);
            if available == 0 {
                return None;
            }
            // Acquire: pairs with `publish`, whose fetch-and-add heads a chain
            // of RMWs that this one reads from; makes slot and job visible.
            // Release: none is needed, but later claims read through this one.
            match self.public.compare_exchange_weak(
                public,
                public.wrapping_add(STEAL),
                AcqRel,
                Relaxed,
            ) {
                Ok(_) => {
                    self.latches[oldest].begin(thief);
                    return Some(Stolen { victim: self, index: oldest });
                }
                Err(now) => public = now,
            }
        }
    }

    /// Asks the owner to wake the worker `helper` when it next publishes. One
    /// asks at a time: of several, the last.
    ///
    /// The caller looks for public jobs once more after this, and before it
    /// sleeps.
    pub(crate) fn offer_help(&self, helper: u32) {
        // SeqCst fence: the sleeper's half of the Dekker duel with
        // `take_helper`; see the README.
        self.asides.helper.store(helper + 1, Relaxed);
        fence(SeqCst);
    }

    /// Takes an offer back, if it still stands.
    pub(crate) fn withdraw_help(&self, helper: u32) {
        // Relaxed: an offer that stands too long wakes its maker for nothing.
        let _ = self.asides.helper.compare_exchange(helper + 1, 0, Relaxed, Relaxed);
    }
}

impl<'a> Owner<'a> {
    /// # Safety
    /// There is one owner at a time, and it stays on the thread where this is
    /// called.
    #[inline(always)]
    pub(crate) unsafe fn new(deque: &'a Deque) -> Self {
        Self { deque, _thread: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn deque(self) -> &'a Deque {
        self.deque
    }

    #[inline(always)]
    fn own(self) -> &'a Own {
        &self.deque.own.0
    }

    /// Whether no job is outstanding.
    pub(crate) fn is_empty(self) -> bool {
        let own = self.own();
        own.head.get() == END && own.split.get() == 0
    }

    /// Pushes a job into the private part.
    ///
    /// # Safety
    /// 1. The job stays live, in its place, and its closure untouched, until
    ///    `pop` or `reclaim` says that it is the caller's, or its latch is
    ///    settled.
    /// 2. It may be executed on another thread.
    /// 3. It is not in a deque.
    #[inline(always)]
    pub(crate) unsafe fn push(self, job: NonNull<Header>) {
        let own = self.own();
        // SAFETY: live by 1.
        unsafe { job.as_ref() }.set_older(Some(own.head.get()));
        own.head.set(job);
    }

    /// As `push` for every job, the oldest first.
    ///
    /// # Safety
    /// 1 to 3: as for `push`.
    /// 4. `jobs` does nothing with this deque, and does not panic.
    #[inline(always)]
    pub(crate) unsafe fn push_all(self, jobs: impl Iterator<Item = NonNull<Header>>) {
        let own = self.own();
        let mut head = own.head.get();
        for job in jobs {
            // SAFETY: live by 1.
            unsafe { job.as_ref() }.set_older(Some(head));
            head = job;
        }
        own.head.set(head);
    }

    /// Whether thieves find nothing here, so that the owner should publish.
    ///
    /// This is how thieves ask: by having taken the last public job.
    #[inline(always)]
    pub(crate) fn is_starved(self) -> bool {
        // Relaxed: a hint; only the owner can make it true to its loss, and
        // what thieves do to it is seen sooner or later.
        self.deque.public.load(Relaxed) as u32 == 0
    }

    /// Publishes private jobs, at least one; false if there are none, or no
    /// slots for them, or no thieves. It is a full fence, so that the caller
    /// may then look whether somebody sleeps.
    pub(crate) fn publish(self, share: Share) -> bool {
        let own = self.own();
        let split = own.split.get();
        if self.deque.asides.is_solo || split == CAPACITY {
            return false;
        }
        let private = self.count_private();
        if private == 0 {
            return false;
        }
        let count = match share {
            Share::Half => private.div_ceil(2),
            Share::All => private,
        };
        let count = count.min(CAPACITY - split);
        let (mut job, mut last_kept) = (own.head.get(), None);
        for _ in count..private {
            // SAFETY: of the `private` jobs that there are, not the last.
            let header = unsafe { job.as_ref() };
            last_kept = Some(header);
            job = header.older().expect("a job on the list is private");
        }
        match last_kept {
            Some(header) => header.set_older(Some(END)),
            None => own.head.set(END),
        }
        for index in (split..split + count).rev() {
            self.deque.jobs[index].with_mut(|slot| {
                // SAFETY: thieves read below the split only, after the
                // publication of what they read; this slot is above it.
                unsafe { *slot = Some(job) };
            });
            // SAFETY: of the `private` jobs that there are, live until they
            // are popped by 1 of `push`.
            let header = unsafe { job.as_ref() };
            job = header.older().expect("a job on the list is private");
            header.set_older(None);
        }
        debug_assert_eq!(job, END);
        own.split.set(split + count);
        // Release: pairs with `steal`; publishes slots and jobs. Acquire: for
        // the fence.
        self.deque.public.fetch_add(pack(0, count), AcqRel);
        fence_after_rmw();
        true
    }

    fn count_private(self) -> usize {
        let (mut count, mut job) = (0, self.own().head.get());
        while job != END {
            // SAFETY: on the list, so live by 1 of `push`.
            let header = unsafe { job.as_ref() };
            job = header.older().expect("a job on the list is private");
            count += 1;
        }
        count
    }

    /// Who asked to be woken for a publication; the caller has just made one.
    pub(crate) fn take_helper(self) -> Option<u32> {
        let helper = &self.deque.asides.helper;
        // Relaxed: after the publisher's full fence; see `offer_help`.
        if helper.load(Relaxed) == 0 {
            return None;
        }
        // AcqRel: whoever asked did so before we act on it.
        helper.swap(0, AcqRel).checked_sub(1)
    }

    /// Takes a job back, if it is private: no thief ever looks there, so this
    /// is two plain accesses. Otherwise (false), `reclaim` must follow.
    ///
    /// # Safety
    /// `job` is the youngest that was pushed here and is not popped yet.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn pop(self, job: &Header) -> bool {
        let own = self.own();
        match job.older() {
            Some(older) => {
                debug_assert_eq!(own.head.get(), job.into(), "jobs are popped in reverse order");
                own.head.set(older);
                true
            }
            None => {
                debug_assert_eq!(own.head.get(), END, "jobs are popped in reverse order");
                false
            }
        }
    }

    /// Takes a public job back, and half of the other public ones with it.
    ///
    /// # Safety
    /// `pop` has just returned false for this job: the youngest that is public.
    pub(crate) unsafe fn reclaim(self) -> Reclaimed {
        let own = self.own();
        let index = own.split.get() - 1;
        // Relaxed: confirmed by the exchange, or by the latch.
        let mut public = self.deque.public.load(Relaxed);
        loop {
            let (oldest, available) = unpack(public);
            debug_assert_eq!(oldest + available, own.split.get());
            if available == 0 {
                // The slot stays taken: what the owner publishes while it waits
                // comes above it.
                return Reclaimed::Stolen(index);
            }
            let keep = (available - 1) / 2;
            // Release and Acquire: nothing is passed on, but claims of what is
            // kept read through this, so it must not break the chain; an RMW
            // does not.
            match self.deque.public.compare_exchange_weak(
                public,
                pack(oldest, keep),
                AcqRel,
                Relaxed,
            ) {
                Ok(_) => {
                    self.make_private(oldest + keep..index);
                    own.split.set(oldest + keep);
                    return Reclaimed::Ours;
                }
                Err(now) => public = now,
            }
        }
    }

    /// Puts reclaimed jobs on the list, which is empty, as it is whenever a
    /// public job is the youngest.
    fn make_private(self, indices: Range<usize>) {
        let mut head = END;
        for index in indices {
            let job = self.deque.jobs[index].with(|slot| {
                // SAFETY: only the owner writes slots.
                unsafe { *slot }
            });
            let job = job.expect("a public slot is filled");
            // SAFETY: neither stolen nor popped, so live by 1 of `push`.
            unsafe { job.as_ref() }.set_older(Some(head));
            head = job;
        }
        self.own().head.set(head);
    }

    /// The latch of a job that `reclaim` said is stolen.
    pub(crate) fn latch(self, index: usize) -> &'a Latch {
        &self.deque.latches[index]
    }

    /// Gives the slot of a stolen job free, once its latch is settled.
    ///
    /// # Safety
    /// `reclaim` has said that the job with this index is stolen, and its latch
    /// is settled; nothing was pushed since that was not popped.
    pub(crate) unsafe fn release(self, index: usize) {
        self.deque.latches[index].reset();
        let own = self.own();
        debug_assert_eq!((own.head.get(), own.split.get()), (END, index + 1));
        own.split.set(index);
        // Relaxed: it says, as before, that nothing is to be had; the next
        // publication heads a new chain.
        self.deque.public.store(pack(index, 0), Relaxed);
    }
}

impl Stolen<'_> {
    /// Runs the job on this thread, and tells its owner.
    pub(crate) fn run(self) {
        let job = self.job();
        let guard = AbortOnUnwind("in the delivery of a stolen job's outcome");
        // SAFETY: 1: the owner keeps the job until the latch is settled, below.
        // 2: the claim made it ours, and `self` is consumed.
        unsafe { Header::execute(job) };
        // From here on the job may be gone.
        if self.victim.latches[self.index].finish() {
            self.victim.parker().unpark();
        }
        std::mem::forget(guard);
    }

    /// Leaves the job to its owner, which will run it when it comes to it.
    pub(crate) fn give_back(self) {
        if self.victim.latches[self.index].give_back() {
            self.victim.parker().unpark();
        }
    }

    fn job(&self) -> NonNull<Header> {
        self.victim.jobs[self.index].with(|slot| {
            // SAFETY: the claim's Acquire made the owner's write visible, and
            // the owner leaves the slot alone until the latch is settled.
            let job = unsafe { *slot };
            job.expect("a public slot is filled")
        })
    }
}
