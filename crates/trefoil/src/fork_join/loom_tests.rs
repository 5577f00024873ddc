//! The deque, its latches and the sleep of waiting workers, in all interleavings.

use super::deque::{CAPACITY, Deque, Owner, Reclaimed, Share, Stolen};
use super::job::Header;
use super::latch::Progress;
use crate::context;
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{AtomicU32, Relaxed};
use crate::primitives::parker::Parker;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::task::Wake;

/// A job that counts its executions. Only the protocol guards its input and its output.
#[repr(C)]
struct Job {
    header: Header,
    input: UnsafeCell<u32>,
    output: UnsafeCell<u32>,
    runs: AtomicU32,
}

// SAFETY: the models test that no two threads access a cell at the same time, and loom reports it
// if they do.
unsafe impl Sync for Job {}
// SAFETY: the fields belong to no thread: a job may be accessed wherever the protocol allows it.
unsafe impl Send for Job {}

impl Job {
    fn new(input: u32) -> Self {
        Self {
            header: Header::new(Self::execute),
            input: UnsafeCell::new(input),
            output: UnsafeCell::new(0),
            runs: AtomicU32::new(0),
        }
    }

    fn header(&self) -> NonNull<Header> {
        NonNull::from(self).cast()
    }

    /// # Safety
    /// `header` is the first field of a live job.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the caller promises that the header is the first field of a live job.
        let this = unsafe { header.cast::<Self>().as_ref() };
        this.run();
    }

    fn run(&self) {
        let input = self.input.with(|input| {
            // SAFETY: loom checks it.
            unsafe { *input }
        });
        self.output.with_mut(|output| {
            // SAFETY: loom checks it.
            unsafe { *output = input + 1 }
        });
        assert_eq!(self.runs.fetch_add(1, Relaxed), 0, "a job ran twice");
    }

    fn output(&self) -> u32 {
        self.output.with(|output| {
            // SAFETY: loom checks it.
            unsafe { *output }
        })
    }
}

/// Joins a job, as `fork_join::join` does after its first closure. While it waits, it only sleeps.
fn join(owner: Owner<'_>, job: &Job) {
    // SAFETY: the tests join in reverse order, so this is the youngest job.
    if unsafe { owner.pop(&job.header) } {
        return job.run();
    }
    // SAFETY: `pop` has just returned false for this job.
    match unsafe { owner.reclaim() } {
        Reclaimed::Ours => job.run(),
        Reclaimed::Stolen(index) => {
            let latch = owner.latch(index);
            let progress = loop {
                let progress = latch.progress();
                if progress.is_settled() {
                    break progress;
                }
                if !latch.fall_asleep().is_settled() {
                    owner.deque().parker().park();
                }
            };
            // SAFETY: the job was stolen, and its latch is settled.
            unsafe { owner.release(index) };
            if progress == Progress::Returned {
                job.run();
            }
        }
    }
}

/// # Safety
/// The job outlives its stay in the deque.
unsafe fn push(owner: Owner<'_>, job: &Job) {
    // SAFETY: the caller's promise; jobs are `Sync`.
    unsafe { owner.push(job.header()) };
    if owner.is_starved() {
        owner.publish(Share::Half);
    }
}

fn deque() -> Arc<Deque> {
    let deque = Deque::new(0, false);
    deque.parker().adopt();
    Arc::new(deque)
}

/// Two nested forks, twice, so that slots are used again. The thieves run the jobs that they steal,
/// or give them back.
fn two_forks(thieves: usize, give_back: bool) {
    loom::model(move || {
        let deque = deque();
        let others: Vec<_> = (0..thieves)
            .map(|_| {
                let deque = Arc::clone(&deque);
                thread::spawn(move || {
                    for _ in 0..2 {
                        if let Some(stolen) = deque.steal(1) {
                            if give_back { stolen.give_back() } else { stolen.run() }
                        }
                    }
                })
            })
            .collect();
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&deque) };
        for round in 0..2 {
            let (outer, inner) = (Job::new(round), Job::new(10 + round));
            // SAFETY: `outer` is joined below, before it is dropped.
            unsafe { push(owner, &outer) };
            // SAFETY: `inner` is joined below, before it is dropped.
            unsafe { push(owner, &inner) };
            join(owner, &inner);
            join(owner, &outer);
            assert_eq!((outer.output(), inner.output()), (round + 1, round + 11));
        }
        assert!(owner.is_empty());
        for other in others {
            other.join().unwrap();
        }
        assert!(!deque.has_public());
    });
}

#[test]
fn two_forks_against_a_thief() {
    two_forks(1, false);
}

#[test]
fn two_forks_against_a_thief_that_gives_back() {
    two_forks(1, true);
}

/// A job that waits for its owner to know that it waits.
#[repr(C)]
struct Waits {
    header: Header,
    is_known: Parker,
}

impl Waits {
    /// # Safety
    /// `header` is the first field of a live job of this type.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the caller's promise. All that is used of it may be used by any thread.
        let this = unsafe { header.cast::<Self>().as_ref() };
        this.is_known.adopt();
        context::taken_closure_waits();
        this.is_known.park();
    }
}

/// What the job waits for is what the owner does when it has learnt of that, as `wait.rs` has a
/// fiber leave its stack: neither the word of the wait nor that of the end is missed.
#[test]
fn an_owner_learns_that_a_job_waits() {
    loom::model(|| {
        let deque = deque();
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || deque.steal(1).into_iter().for_each(Stolen::run))
        };
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&deque) };
        let job = Waits { header: Header::new(Waits::execute), is_known: Parker::new() };
        // SAFETY: it is joined below, before it is dropped, and what is used of it may be used by
        // any thread.
        unsafe { owner.push(NonNull::from(&job).cast()) };
        owner.publish(Share::All);
        // SAFETY: this is the only job.
        let is_private = unsafe { owner.pop(&job.header) };
        assert!(!is_private);
        // SAFETY: `pop` has just returned false for this job.
        if let Reclaimed::Stolen(index) = unsafe { owner.reclaim() } {
            let latch = owner.latch(index);
            while !latch.progress().is_settled() {
                if latch.fall_asleep().is_settled() {
                    break;
                }
                if latch.does_job_wait() {
                    job.is_known.unpark();
                }
                owner.deque().parker().park();
            }
            // SAFETY: the job was stolen, and its latch is settled.
            unsafe { owner.release(index) };
        }
        thief.join().unwrap();
    });
}

/// Wakes a thread that waits in a job.
struct Bell(Parker);

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// A job that waits until it is unwound.
#[repr(C)]
struct WaitsForAbort {
    header: Header,
    has_ended: AtomicU32,
}

impl WaitsForAbort {
    /// # Safety
    /// `header` is the first field of a live job of this type.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the caller's promise. All that is used of it may be used by any thread.
        let this = unsafe { header.cast::<Self>().as_ref() };
        let bell = std::sync::Arc::new(Bell(Parker::new()));
        bell.0.adopt();
        {
            let _waiter = context::Waiter::new(&bell.clone().into());
            while !context::is_taken_aborted() {
                bell.0.park();
            }
        }
        this.has_ended.store(1, Relaxed);
    }
}

/// A job in the slot of one that was unwound. Nobody unwinds it.
unsafe fn is_not_aborted(_header: NonNull<Header>) {
    assert!(!context::is_taken_aborted(), "the mark of the job before");
}

/// The owner aborts a job before, while or after it begins to wait: it ends. The mark goes with it.
#[test]
fn an_abort_reaches_a_job_that_waits() {
    loom::model(|| {
        let deque = deque();
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || {
                deque.steal(1).into_iter().for_each(Stolen::run);
                // For the owner's second job, at the cost of no preemption.
                thread::yield_now();
                deque.steal(1).into_iter().for_each(Stolen::run);
            })
        };
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&deque) };
        let first =
            WaitsForAbort { header: Header::new(WaitsForAbort::execute), has_ended: 0.into() };
        let second = Header::new(is_not_aborted);
        for (header, is_first) in [(&first.header, true), (&second, false)] {
            let job = if is_first { NonNull::from(&first).cast() } else { NonNull::from(&second) };
            // SAFETY: it is joined below, before it is dropped, and what is used of it may be used
            // by any thread.
            unsafe { owner.push(job) };
            owner.publish(Share::All);
            // SAFETY: this is the only job.
            let is_private = unsafe { owner.pop(header) };
            assert!(!is_private);
            // SAFETY: `pop` has just returned false for this job.
            let Reclaimed::Stolen(index) = (unsafe { owner.reclaim() }) else { continue };
            let latch = owner.latch(index);
            if is_first {
                owner.deque().abort(latch);
            }
            while !latch.progress().is_settled() {
                if !latch.fall_asleep().is_settled() {
                    owner.deque().parker().park();
                }
            }
            // SAFETY: the job was stolen, and its latch is settled.
            unsafe { owner.release(index) };
            assert!(!is_first || first.has_ended.load(Relaxed) == 1);
        }
        thief.join().unwrap();
    });
}

/// Three jobs against two thieves. There are enough jobs to publish and to reclaim only half of
/// them.
fn two_thieves(at_once: bool) {
    let mut model = loom::model::Builder::new();
    // With a higher bound, loom's own `join` panics on an `unpark` that comes after the wait that
    // it was meant for.
    model.preemption_bound = Some(model.preemption_bound.map_or(3, |bound| bound.min(3)));
    model.check(move || {
        let deque = deque();
        let others: Vec<_> = (1..3)
            .map(|name| {
                let deque = Arc::clone(&deque);
                thread::spawn(move || {
                    if let Some(stolen) = deque.steal(name) {
                        stolen.run();
                    }
                })
            })
            .collect();
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&deque) };
        let jobs = [Job::new(0), Job::new(10), Job::new(20)];
        if at_once {
            // SAFETY: all jobs are joined below, before they are dropped.
            unsafe { owner.push_all(jobs.iter().map(Job::header)) };
            if owner.is_starved() {
                owner.publish(Share::All);
            }
        } else {
            // SAFETY: all are joined below, before they are dropped.
            jobs.iter().for_each(|job| unsafe { push(owner, job) });
        }
        for job in jobs.iter().rev() {
            join(owner, job);
        }
        assert_eq!(jobs.each_ref().map(Job::output), [1, 11, 21]);
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn two_thieves_of_three_jobs() {
    two_thieves(false);
}

#[test]
fn two_thieves_of_three_jobs_pushed_at_once() {
    two_thieves(true);
}

/// Jobs that the owner publishes while it waits get slots above the one that it waits for.
#[test]
fn a_waiting_owner_forks_again() {
    loom::model(|| {
        let deque = deque();
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(stolen) = deque.steal(1) {
                        stolen.run();
                    }
                }
            })
        };
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&deque) };
        let (outer, inner) = (Job::new(0), Job::new(10));
        // SAFETY: the job is joined below, before it is dropped.
        unsafe { push(owner, &outer) };
        // SAFETY: `outer` is the youngest job.
        let is_private = unsafe { owner.pop(&outer.header) };
        assert!(!is_private, "the first job is public");
        // SAFETY: `pop` has just returned false for this job.
        match unsafe { owner.reclaim() } {
            Reclaimed::Ours => outer.run(),
            Reclaimed::Stolen(first) => {
                // SAFETY: the job is joined in the next line.
                unsafe { push(owner, &inner) };
                join(owner, &inner);
                assert_eq!(inner.output(), 11);
                let latch = owner.latch(first);
                while !latch.progress().is_settled() {
                    if !latch.fall_asleep().is_settled() {
                        owner.deque().parker().park();
                    }
                }
                // SAFETY: the job was stolen, and its latch is settled.
                unsafe { owner.release(first) };
            }
        }
        assert_eq!(outer.output(), 1);
        thief.join().unwrap();
    });
}

/// A waiting worker goes to sleep while its thief publishes a job: either the worker sees the job,
/// or the thief sees that it has to wake the worker.
#[test]
fn an_offer_of_help_is_not_missed() {
    loom::model(|| {
        let deque = deque();
        let helper = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || {
                deque.offer_help(6);
                if let Some(stolen) = deque.steal(6) {
                    stolen.run();
                    return true;
                }
                false
            })
        };
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&deque) };
        let job = Job::new(0);
        // SAFETY: the job is joined below, before it is dropped.
        unsafe { owner.push(job.header()) };
        assert!(owner.publish(Share::Half));
        let is_woken = owner.take_helper() == Some(6);
        let has_stolen = helper.join().unwrap();
        assert!(is_woken || has_stolen, "it sleeps beside a public job");
        join(owner, &job);
    });
}

/// A worker that steals back notices if its thief has gone on to unrelated jobs.
#[test]
fn what_is_taken_from_a_thief_is_known_to_be_related() {
    loom::model(|| {
        let (mine, its) = (deque(), Arc::new(Deque::new(1, false)));
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&mine) };
        let job = Job::new(0);
        // SAFETY: the job is joined below, before it is dropped.
        unsafe { push(owner, &job) };
        let thief = {
            let (mine, its) = (Arc::clone(&mine), Arc::clone(&its));
            thread::spawn(move || {
                its.parker().adopt();
                // SAFETY: this thread alone owns the deque.
                let owner = unsafe { Owner::new(&its) };
                let Some(stolen) = mine.steal(1) else { return };
                stolen.run();
                // The thief's next job has nothing to do with the stolen one.
                let unrelated = Job::new(5);
                // SAFETY: the job is joined in the next line.
                unsafe { push(owner, &unrelated) };
                join(owner, &unrelated);
                assert_eq!(unrelated.output(), 6);
            })
        };
        if let Some(stolen) = its.steal(0) {
            // The first slot is that of the stolen job.
            assert!(owner.latch(0).progress().is_settled(), "taken for a part of our job");
            stolen.give_back();
        }
        join(owner, &job);
        assert_eq!(job.output(), 1);
        thief.join().unwrap();
    });
}

/// While stolen jobs occupy all slots, younger jobs stay private.
#[test]
fn a_full_deque_publishes_no_more() {
    loom::model(|| {
        let deque = deque();
        // SAFETY: this thread made the deque.
        let owner = unsafe { Owner::new(&deque) };
        let jobs: Vec<_> = (0..CAPACITY as u32 + 2).map(Job::new).collect();
        // SAFETY: all jobs are joined before they are dropped.
        unsafe { owner.push_all(jobs.iter().map(Job::header)) };
        let mut stolen = Vec::new();
        assert!(owner.publish(Share::All));
        while let Some(job) = deque.steal(1) {
            stolen.push(job);
        }
        assert_eq!(stolen.len(), CAPACITY);
        assert!(owner.is_starved() && !owner.publish(Share::Half));
        for job in stolen {
            job.run();
        }
        for job in jobs.iter().rev() {
            join(owner, job);
        }
        assert!(owner.is_empty());
        assert!(jobs.iter().enumerate().all(|(i, job)| job.output() == i as u32 + 1));
    });
}
