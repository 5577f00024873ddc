//! The split deque: a worker's stack of jobs. Other workers may steal from its oldest part.
//!
//! The algorithm is Lace's (T. van Dijk, J. van de Pol, 2014). The protocol is described in
//! `README.md` beside this file.

use super::job::Header;
use super::latch::Latch;
use crate::context::{self, Taken};
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
use crate::primitives::Mutex;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::atomic::{
    AcqRel, AtomicU32, AtomicU64, Relaxed, SeqCst, fence, fence_after_rmw,
};
use crate::primitives::parker::Parker;
use crate::primitives::{CachePadded, UnsafeCell};
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
use crate::task::wake_guarded;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::NonNull;
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
use std::{ptr, task::Waker};

/// How many jobs of one worker can be public or stolen at the same time. Slots and latches take 24
/// KiB.
#[cfg(not(loom))]
pub(crate) const CAPACITY: usize = 2048;
#[cfg(loom)]
pub(crate) const CAPACITY: usize = 4;

const _: () = assert!(CAPACITY < u32::MAX as usize);

/// What a thief adds to `public` when it takes the oldest job: the oldest is the next one, and
/// there is one job less.
const STEAL: u64 = (1 << 32) - 1;

#[derive(Debug)]
pub(crate) struct Deque {
    own: CachePadded<Own>,
    /// High half: the index of the first job that is not stolen. Low half: how many jobs from there
    /// on may be stolen. Thieves claim by CAS, and the owner publishes and reclaims by RMW. The
    /// owner uses a plain store only while nothing may be stolen, because no thief writes then.
    public: CachePadded<AtomicU64>,
    asides: CachePadded<Asides>,
    /// Slots below `split` are filled. The owner writes a slot, and the thief that has claimed it
    /// reads it.
    jobs: [UnsafeCell<MaybeUninit<NonNull<Header>>>; CAPACITY],
    /// The latches of the stolen jobs. All others are 0.
    latches: [Latch; CAPACITY],
}

/// What only the owner touches.
#[derive(Debug)]
struct Own {
    /// The youngest private job, or `END` if there is none. Each job points to the next older one.
    head: Cell<NonNull<Header>>,
    /// How many slots public and stolen jobs occupy.
    split: Cell<usize>,
}

/// What the oldest private job points to. It is only compared and never followed. It is not null,
/// because a null pointer in a job says that the job is public.
const END: NonNull<Header> = NonNull::dangling();

/// What is seldom accessed.
#[derive(Debug)]
struct Asides {
    id: u32,
    /// There is one worker, and so no thief.
    is_solo: bool,
    /// Where the owner waits for stolen jobs.
    parker: Parker,
    /// The owner's fiber, if that waits for a stolen job without its thread.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    fiber: Mutex<Option<Waker>>,
    /// Those that wait in stolen jobs, with the slots of these.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    waiters: Mutex<Vec<(usize, Waker)>>,
    /// The id plus one of a worker that waits for a job which this deque's owner has stolen, and
    /// that wants to help meanwhile; 0 if there is none.
    helper: AtomicU32,
}

// SAFETY: `own` is only reached through `Owner`, which exists on one thread at a time. The slots of
// `jobs` pass from the owner to a thief with the claim, and back with the latch. Everything else is
// atomic or a lock.
unsafe impl Sync for Deque {}
// SAFETY: the deque owns none of the jobs that it points to, and whoever pushes a job promises that
// any thread may execute it (2 of `push`). The cells of `own` are empty while there is no owner.
unsafe impl Send for Deque {}

/// The owner's end of a deque. It is the evidence that this thread is the owner.
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

/// Who has a job that was public.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reclaimed {
    Ours,
    /// A thief has it; this is the index of its slot.
    Stolen(usize),
}

/// A job that a thief has claimed.
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

impl Own {
    fn new() -> CachePadded<Self> {
        CachePadded(Self { head: Cell::new(END), split: Cell::new(0) })
    }
}

impl Asides {
    fn new(id: u32, is_solo: bool) -> CachePadded<Self> {
        CachePadded(Self {
            id,
            is_solo,
            parker: Parker::new(),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            fiber: Mutex::new(None),
            #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
            waiters: Mutex::new(Vec::new()),
            helper: AtomicU32::new(0),
        })
    }
}

impl Deque {
    /// An empty deque. If there are no thieves (`is_solo`), nothing is ever published.
    #[cfg(loom)]
    pub(crate) fn new(id: u32, is_solo: bool) -> Self {
        Self {
            own: Own::new(),
            public: Self::nothing_public(is_solo),
            asides: Asides::new(id, is_solo),
            jobs: std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
            latches: std::array::from_fn(|_| Latch::new()),
        }
    }

    /// The same, in a box. Of its 24 KiB, the slots stay as they are: each worker of a runtime
    /// makes one of these, and most never publish a job.
    #[cfg(not(loom))]
    #[expect(clippy::multiple_unsafe_ops_per_block, reason = "one argument holds for all of them")]
    pub(crate) fn boxed(id: u32, is_solo: bool) -> Box<Self> {
        let mut deque = Box::<Self>::new_uninit();
        let at = deque.as_mut_ptr();
        // SAFETY: `at` points to the box, which nobody else has. All fields are written here but
        // the array of cells of `MaybeUninit`, which needs no value. Latches are atomic integers,
        // for which all zeros are one: that of a new latch.
        unsafe {
            (&raw mut (*at).own).write(Own::new());
            (&raw mut (*at).public).write(Self::nothing_public(is_solo));
            (&raw mut (*at).asides).write(Asides::new(id, is_solo));
            (&raw mut (*at).latches).write_bytes(0, 1);
            deque.assume_init()
        }
    }

    #[cfg(loom)]
    pub(crate) fn boxed(id: u32, is_solo: bool) -> Box<Self> {
        Box::new(Self::new(id, is_solo))
    }

    /// A solo deque pretends to have a public job, so that its owner never publishes one.
    fn nothing_public(is_solo: bool) -> CachePadded<AtomicU64> {
        CachePadded(AtomicU64::new(pack(0, usize::from(is_solo))))
    }

    pub(crate) fn id(&self) -> u32 {
        self.asides.id
    }

    pub(crate) fn parker(&self) -> &Parker {
        &self.asides.parker
    }

    /// Wakes the owner, which waits for a stolen job.
    pub(crate) fn wake_owner(&self) {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        {
            let fiber = self.asides.fiber.lock().take();
            if let Some(fiber) = fiber {
                return wake_guarded(fiber);
            }
        }
        self.asides.parker.unpark();
    }

    /// Has `wake_owner` wake a fiber, once, in place of the thread; or the thread again. Returns
    /// the fiber before.
    ///
    /// The owner calls this, and looks at what it waits for afterwards: either `wake_owner` finds
    /// the fiber, or the look finds what came before `wake_owner`. (Both take the lock.)
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(super) fn wakes(&self, fiber: Option<Waker>) -> Option<Waker> {
        std::mem::replace(&mut *self.asides.fiber.lock(), fiber)
    }

    /// Has a stolen job unwound where it waits, now or later.
    ///
    /// The owner calls this. Who waits in the job adds its waker, and then looks at the latch:
    /// either it is found here, or the look finds what is noted here before. (Both take the lock.)
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    pub(super) fn abort(&self, latch: &Latch) {
        latch.abort();
        let waiters = self.asides.waiters.lock();
        let its_own = waiters.iter().filter(|(index, _)| ptr::eq(&self.latches[*index], latch));
        let its_own = Vec::from_iter(its_own.map(|(_, waker)| waker.clone()));
        drop(waiters);
        its_own.into_iter().for_each(wake_guarded);
    }

    /// Whether there is something to steal.
    #[inline]
    pub(crate) fn has_public(&self) -> bool {
        // Relaxed: a hint. A worker that is about to sleep must not miss a job, and the fences of
        // the idle protocol see to that.
        let (_, available) = unpack(self.public.load(Relaxed));
        available != 0 && !self.asides.is_solo
    }

    /// Takes the oldest job. `thief` is the id of the thief's own deque.
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
            // Acquire: pairs with the Release in `publish`, whose fetch-and-add heads the chain of
            // RMWs that this one reads from; makes the slot and the job visible. Release: nothing
            // is published here, but later claims read through this RMW.
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

    /// Asks the owner to wake the worker `helper` at its next publication. A later request replaces
    /// an earlier one.
    ///
    /// After this, the caller checks for public jobs once more before it sleeps.
    pub(crate) fn offer_help(&self, helper: u32) {
        // SeqCst fence: the sleeper's half of the Dekker protocol with `publish` and `take_helper`;
        // see the README.
        self.asides.helper.store(helper + 1, Relaxed);
        fence(SeqCst);
    }

    /// Withdraws a request, if it is still there.
    pub(crate) fn withdraw_help(&self, helper: u32) {
        // Relaxed: a request that stays too long only wakes the helper in vain.
        let _ = self.asides.helper.compare_exchange(helper + 1, 0, Relaxed, Relaxed);
    }
}

impl<'a> Owner<'a> {
    /// # Safety
    /// There is one owner at a time, and it stays on the thread that calls this.
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

    /// Whether the deque has no job, private, public or stolen.
    pub(crate) fn is_empty(self) -> bool {
        let own = self.own();
        own.head.get() == END && own.split.get() == 0
    }

    /// Pushes a job into the private part.
    ///
    /// # Safety
    /// 1. The job stays live and in its place, and its closure is not touched, until `pop` or
    ///    `reclaim` says that the job is the caller's, or until its latch is settled.
    /// 2. The job may be executed on another thread.
    /// 3. The job is in no deque.
    #[inline(always)]
    pub(crate) unsafe fn push(self, job: NonNull<Header>) {
        let own = self.own();
        // SAFETY: the job is live by 1.
        unsafe { job.as_ref() }.set_older(Some(own.head.get()));
        own.head.set(job);
    }

    /// Pushes every job into the private part, the oldest first.
    ///
    /// # Safety
    /// 1 to 3: as for `push`, for each job.
    /// 4. The iterator does not use this deque and does not panic.
    #[inline(always)]
    pub(crate) unsafe fn push_all(self, jobs: impl Iterator<Item = NonNull<Header>>) {
        let own = self.own();
        let mut head = own.head.get();
        for job in jobs {
            // SAFETY: the job is live by 1.
            unsafe { job.as_ref() }.set_older(Some(head));
            head = job;
        }
        own.head.set(head);
    }

    /// Whether there is no public job, so that the owner should publish. A thief asks for more jobs
    /// by taking the last public one.
    #[inline(always)]
    pub(crate) fn is_starved(self) -> bool {
        // Relaxed: a hint. A claim that is seen late only delays a publication.
        self.deque.public.load(Relaxed) as u32 == 0
    }

    /// Publishes at least one private job. Returns false if there is no private job, no free slot
    /// or no thief. A successful publication is a full fence, so the caller may check for sleepers
    /// after it.
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
            // SAFETY: there are `private` jobs on the list, and the loop visits fewer; each is live
            // by 1 of `push`.
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
                // SAFETY: this slot is not below the split. Thieves read slots below the split
                // only, after the publication of what they read.
                unsafe { (*slot).write(job) };
            });
            // SAFETY: the two loops visit the `private` jobs of the list, once each; a job on the
            // list is live by 1 of `push`.
            let header = unsafe { job.as_ref() };
            job = header.older().expect("a job on the list is private");
            header.set_older(None);
        }
        debug_assert_eq!(job, END);
        own.split.set(split + count);
        // Release: pairs with the Acquire in `steal`; publishes slots and jobs. Acquire: only
        // because `fence_after_rmw` asks for it.
        self.deque.public.fetch_add(pack(0, count), AcqRel);
        fence_after_rmw();
        true
    }

    fn count_private(self) -> usize {
        let (mut count, mut job) = (0, self.own().head.get());
        while job != END {
            // SAFETY: the job is on the list, so it is live by 1 of `push`.
            let header = unsafe { job.as_ref() };
            job = header.older().expect("a job on the list is private");
            count += 1;
        }
        count
    }

    /// Takes the request of a helper to be woken for a publication. The caller has just made one.
    pub(crate) fn take_helper(self) -> Option<u32> {
        let helper = &self.deque.asides.helper;
        // Relaxed: the publisher's full fence comes before; see `offer_help`.
        if helper.load(Relaxed) == 0 {
            return None;
        }
        // AcqRel: the helper's request comes before its wake-up.
        helper.swap(0, AcqRel).checked_sub(1)
    }

    /// Takes a job back if it is private. Thieves do not access private jobs, so this is two plain
    /// accesses. If this returns false, `reclaim` must follow.
    ///
    /// # Safety
    /// `job` is the youngest of the jobs that were pushed here and are not popped.
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

    /// Takes a public job back, and half of the other public jobs with it.
    ///
    /// # Safety
    /// `pop` has just returned false for this job, which is the youngest.
    pub(crate) unsafe fn reclaim(self) -> Reclaimed {
        let own = self.own();
        let index = own.split.get() - 1;
        // Relaxed: confirmed by the exchange, or by the latch.
        let mut public = self.deque.public.load(Relaxed);
        loop {
            let (oldest, available) = unpack(public);
            debug_assert_eq!(oldest + available, own.split.get());
            if available == 0 {
                // The slot stays occupied: what the owner publishes while it waits gets slots above
                // it.
                return Reclaimed::Stolen(index);
            }
            let keep = (available - 1) / 2;
            // AcqRel: nothing is published here. Claims of the jobs that stay public read through
            // this, and an RMW keeps the chain from their publication whole.
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

    /// Puts reclaimed jobs on the list. The list is empty, because the youngest job was public.
    fn make_private(self, indices: Range<usize>) {
        let mut head = END;
        for index in indices {
            let slot = self.deque.jobs[index].with(|slot| {
                // SAFETY: only the owner writes slots, and this thread is the owner.
                unsafe { *slot }
            });
            // SAFETY: the job was public, and `publish` fills the slot of each job that it makes
            // public.
            let job = unsafe { slot.assume_init() };
            // SAFETY: the job is neither stolen nor popped, so it is live by 1 of `push`.
            unsafe { job.as_ref() }.set_older(Some(head));
            head = job;
        }
        self.own().head.set(head);
    }

    /// The latch of a stolen job, whose index `reclaim` has returned.
    pub(crate) fn latch(self, index: usize) -> &'a Latch {
        &self.deque.latches[index]
    }

    /// Frees the slot of a stolen job whose latch is settled.
    ///
    /// # Safety
    /// `reclaim` has returned this index, and the latch is settled. All jobs that were pushed since
    /// are popped.
    pub(crate) unsafe fn release(self, index: usize) {
        self.deque.latches[index].reset();
        let own = self.own();
        debug_assert_eq!((own.head.get(), own.split.get()), (END, index + 1));
        own.split.set(index);
        // Relaxed: there is no public job, as before. The next publication heads a new chain.
        self.deque.public.store(pack(index, 0), Relaxed);
    }
}

impl Stolen<'_> {
    /// Runs the job on this thread, and tells its owner that it has run.
    pub(crate) fn run(self) {
        let job = self.job();
        let guard = AbortOnUnwind("in the delivery of a stolen job's outcome");
        // SAFETY: 1: the owner keeps the job until the latch is settled, which is below. 2: the
        // claim gave the job to this thief alone, and `self` is consumed.
        context::in_taken(&self, || unsafe { Header::execute(job) });
        // From `finish` on, the job may be gone. The latch is not: it is a part of the deque.
        if self.victim.latches[self.index].finish() {
            self.victim.wake_owner();
        }
        std::mem::forget(guard);
    }

    /// Gives the job back to its owner, which runs it when it joins it.
    pub(crate) fn give_back(self) {
        if self.victim.latches[self.index].give_back() {
            self.victim.wake_owner();
        }
    }

    fn job(&self) -> NonNull<Header> {
        let slot = self.victim.jobs[self.index].with(|slot| {
            // SAFETY: the claim's Acquire made the owner's write visible, and the owner does not
            // write the slot again before the latch is settled.
            unsafe { *slot }
        });
        // SAFETY: the job was public when it was claimed, and `publish` fills the slot of each job
        // that it makes public.
        unsafe { slot.assume_init() }
    }
}

impl Taken for Stolen<'_> {
    fn shares_deque(&self) -> bool {
        true
    }

    fn waits(&self) {
        if self.victim.latches[self.index].job_waits() {
            self.victim.wake_owner();
        }
    }

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn is_aborted(&self) -> bool {
        self.victim.latches[self.index].is_aborted()
    }

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn add_waiter(&self, waker: &Waker) {
        let waker = waker.clone();
        self.victim.asides.waiters.lock().push((self.index, waker));
    }

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn remove_waiter(&self) {
        let mut waiters = self.victim.asides.waiters.lock();
        let last = waiters.iter().rposition(|(index, _)| *index == self.index);
        let removed = last.map(|last| waiters.remove(last));
        drop(waiters);
        drop(removed);
    }
}
