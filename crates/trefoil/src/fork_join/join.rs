//! `join`: two closures, potentially in parallel.

use super::deque::Reclaimed;
use super::job::{Outcome, StackJob, Where};
use super::wait::{Waited, wait};
use super::{Fork, install};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs two closures, potentially in parallel, and returns both results.
///
/// The calling thread runs `a`; `b` waits in its frame meanwhile, and is taken
/// by a worker that has nothing to do, or else run by the caller afterwards.
/// When nobody takes it, this costs a few nanoseconds more than calling both.
///
/// Where it runs in parallel: on the workers of a multi-thread runtime, in
/// asynchronous tasks as well as in other closures of this module. On other
/// threads that are in the context of such a runtime (`block_on`, a blocking
/// task, [`Handle::enter`](crate::runtime::Handle::enter)), both closures move
/// to a worker, and the thread blocks until they are done. Outside of any
/// runtime, they move to a worker of the process-wide one,
/// [`runtime::global`](crate::runtime::global()), which is started if need be.
///
/// Where it does not: in the context of a current-thread runtime, `a` and then
/// `b` are simply called, on the calling thread; so they are where the
/// process-wide runtime cannot be started.
///
/// While the caller waits for `b`, it runs parts of `b` that the other worker
/// has to offer, and nothing else: no task, and no closure of anyone else. So a
/// lock may be held across a `join`, if neither closure takes it.
///
/// `b` may run on another thread, where thread-locals and task-locals have
/// other values.
///
/// The algorithm is Lace's (van Dijk and van de Pol 2014), with Wool's
/// leapfrogging (Faxén 2008; Wagner and Calder 1993).
///
/// # Panics
/// If a closure panics, so does `join`, with the same payload, but only when
/// both have run to their ends: it is always both that run. If both panic, it
/// is with the payload of `a`.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() < 64 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = trefoil::fork_join::join(|| sum(left), || sum(right));
///     left + right
/// }
///
/// # fn main() -> std::io::Result<()> {
/// let runtime = trefoil::runtime::Runtime::new()?;
/// let numbers: Vec<u64> = (0..10_000).collect();
/// assert_eq!(runtime.install(|| sum(&numbers)), 49_995_000);
/// # Ok(())
/// # }
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_where(a, move |_| b())
}

/// As [`join`], and tells `b` whether it was stolen.
#[inline(always)]
pub(super) fn join_where<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce(Where) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: it goes no further than this call.
    match unsafe { Fork::current() } {
        Some(fork) => fork_and_join(fork, a, b),
        None => join_elsewhere(a, b),
    }
}

#[inline(always)]
fn fork_and_join<A, B, RA, RB>(fork: Fork<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce(Where) -> RB,
{
    let job = StackJob::new(b);
    // SAFETY: 1: this frame is not left, nor the closure touched, before the
    // fork is joined: below, or by `pending` when `a` panics. 2: the bounds of
    // `join` say so.
    // 3: it is new.
    unsafe { fork.push(job.header()) };
    let pending = Pending { fork, job: &job };
    let result_a = a();
    std::mem::forget(pending);
    // SAFETY: the youngest job, since `a` has joined whatever it forked.
    if !unsafe { fork.owner.pop(job.own_header()) } {
        // SAFETY: `pop` has just said no.
        match unsafe { join_public(fork, &job) } {
            Joined::Ours => {}
            Joined::Theirs(Ok(result_b)) => return (result_a, result_b),
            Joined::Theirs(Err(payload)) => resume_unwind(payload),
        }
    }
    // SAFETY: private, reclaimed or given back, so nobody else can reach it;
    // not taken before.
    let b = unsafe { job.take_closure() };
    (result_a, b(Where::Here))
}

/// What came of a job that was public.
#[must_use]
pub(super) enum Joined<R> {
    /// It has to be run here.
    Ours,
    /// It was run elsewhere.
    Theirs(Outcome<R>),
}

/// # Safety
/// `pop` has just returned false for `job`.
#[cold]
#[inline(never)]
pub(super) unsafe fn join_public<F, R>(fork: Fork<'_>, job: &StackJob<F, R>) -> Joined<R>
where
    F: FnOnce(Where) -> R,
{
    // SAFETY: the caller's promise.
    let index = match unsafe { fork.owner.reclaim() } {
        Reclaimed::Ours => return Joined::Ours,
        Reclaimed::Stolen(index) => index,
    };
    let waited = wait(fork, fork.owner.latch(index));
    // SAFETY: stolen, as `reclaim` said, and settled, as `wait` said.
    unsafe { fork.owner.release(index) };
    match waited {
        Waited::Returned => Joined::Ours,
        // SAFETY: the latch was done; taken out once.
        Waited::Done => Joined::Theirs(unsafe { job.take_outcome() }),
    }
}

/// A forked closure, to be joined if the other one panics.
struct Pending<'a, F, R>
where
    F: FnOnce(Where) -> R,
{
    fork: Fork<'a>,
    job: &'a StackJob<F, R>,
}

impl<F, R> Drop for Pending<'_, F, R>
where
    F: FnOnce(Where) -> R,
{
    /// By value, so that the guard never has to be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: of the youngest job: what `a` forked was joined as it unwound.
        unsafe { join_in_panic(self.fork, self.job) }
    }
}

/// Joins a fork whose first closure has panicked.
///
/// # Safety
/// `job` is the youngest.
#[cold]
#[inline(never)]
pub(super) unsafe fn join_in_panic<F, R>(fork: Fork<'_>, job: &StackJob<F, R>)
where
    F: FnOnce(Where) -> R,
{
    // The panic under way came first: what comes of this one is dropped.
    // SAFETY: the caller's promise.
    if unsafe { fork.owner.pop(job.own_header()) } {
        // SAFETY: private, so nobody else can reach it; not taken before.
        let b = unsafe { job.take_closure() };
        return discard(|| b(Where::Here));
    }
    // SAFETY: `pop` has just said no.
    match unsafe { join_public(fork, job) } {
        Joined::Ours => {
            // SAFETY: reclaimed or given back.
            let b = unsafe { job.take_closure() };
            discard(|| b(Where::Here));
        }
        Joined::Theirs(outcome) => discard(|| outcome),
    }
}

/// Calls a closure for its effects only, while a panic is under way.
pub(super) fn discard<R>(closure: impl FnOnce() -> R) {
    // The result is dropped inside as well: its destructor may panic, too. A
    // payload whose destructor panics ends the process, as in any unwinding.
    drop(catch_unwind(AssertUnwindSafe(|| drop(closure()))));
}

/// Both closures, after one another, and both in any case.
pub(super) fn one_by_one<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce(Where) -> RB) -> (RA, RB) {
    struct Second<F: FnOnce(Where) -> R, R>(Option<F>);
    impl<F: FnOnce(Where) -> R, R> Drop for Second<F, R> {
        fn drop(&mut self) {
            if let Some(closure) = self.0.take() {
                discard(|| closure(Where::Here));
            }
        }
    }
    let mut second = Second(Some(b));
    let result_a = a();
    let b = second.0.take().expect("it is taken here or on drop");
    (result_a, b(Where::Here))
}

/// On a thread without a deque.
#[cold]
#[inline(never)]
fn join_elsewhere<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce(Where) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match install::foreign_pool() {
        // The closure may have to come back here, from a runtime that is over.
        Some(handle) => install::install(&handle, move || {
            // SAFETY: it goes no further than this call.
            match unsafe { Fork::current() } {
                Some(fork) => fork_and_join(fork, a, b),
                None => one_by_one(a, b),
            }
        }),
        None => one_by_one(a, b),
    }
}
