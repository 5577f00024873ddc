//! `join`: two closures, potentially in parallel.

use super::deque::Reclaimed;
use super::job::{Outcome, Payload, StackJob, Where};
use super::wait::{Waited, wait};
use super::{Fork, install, is_in_fiber};
use crate::primitives::thread;
use crate::task;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs two closures, potentially in parallel, and returns both results.
///
/// The calling thread runs `a`. Meanwhile `b` waits in the caller's frame, where an idle worker may
/// take it. If none does, the caller runs `b` after `a`. This then costs a few nanoseconds more
/// than calling both.
///
/// The closures may run in parallel on the workers of a multi-thread runtime, in asynchronous tasks
/// and in other closures of this module. On another thread in the context of such a runtime
/// (`block_on`, a blocking task, [`Handle::enter`](crate::runtime::Handle::enter)), both closures
/// move to a worker, and the thread blocks until they have ended. Outside of any runtime, they move
/// to a worker of the process-wide runtime, [`runtime::global`](crate::runtime::global()), which is
/// started if necessary.
///
/// In the context of a current-thread runtime, the calling thread calls `a` and then `b`. It also
/// does so if the process-wide runtime cannot be started.
///
/// While the caller waits for `b`, it runs parts of `b` that the other worker offers, and nothing
/// else: no task, and no unrelated closure. So a lock may be held across a `join` if neither
/// closure takes it. That is so in a [fiber](crate::fiber), too, if neither closure waits: where
/// one [waits](fn@crate::fiber::wait), yields or blocks in place, so may the `join`, and other
/// fibers of its thread run meanwhile. ([`check!`](crate::fiber::check!) does not yield there.)
///
/// `b` may run on another thread, where thread-locals and task-locals have other values.
///
/// The algorithm is Lace's (van Dijk and van de Pol 2014), with Wool's
/// leapfrogging (Faxén 2008; Wagner and Calder 1993).
///
/// # Panics
/// If a closure panics, `join` panics with the same payload when both closures have ended: both
/// always run. If both panic, the payload is that of `a`.
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
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_where(a, move |_| b())
}

/// As [`join`], but tells `b` whether it was stolen.
#[inline(always)]
#[track_caller]
pub(super) fn join_where<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce(Where) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: the fork is used in this expression only, so it is dropped before the return.
    match unsafe { Fork::outside_of_fibers() } {
        Some(fork) => fork_and_join(fork, a, b),
        None => join_elsewhere(a, b),
    }
}

/// The same in a fiber, whose closures may wait, and so may the join. Where a closure has panicked,
/// neither must be in the midst of that panic, because a fiber cannot leave its stack there: the
/// thread would be blocked, and with it those for which they may wait. Nor could an abort unwind
/// them there. So the same goes for what they fork, on whichever thread.
#[inline(never)]
fn join_in_fiber<A, B, RA, RB>(fork: Fork<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce(Where) -> RB,
{
    let is_in_panic = thread::panicking();
    let job = StackJob::new(|place| match place {
        Where::Here => b(place),
        Where::Stolen => as_in_fibers(is_in_panic, || b(place)),
    });
    // SAFETY: 1: before the fork is joined, this frame is not left and the closure is not touched.
    // The join is below, and nothing unwinds in between. 2 and 3: as in `fork_and_join`.
    unsafe { fork.push(job.header()) };
    let result_a = catch_unwind(AssertUnwindSafe(a));
    // SAFETY: this job is the youngest, because `a` has joined everything that it forked.
    let is_private = unsafe { fork.owner.pop(job.own_header()) };
    let joined = if is_private {
        Joined::Ours
    } else {
        // SAFETY: `pop` has just returned false for this job.
        unsafe { join_public(fork, &job) }
    };
    let result_b = match joined {
        Joined::Ours => {
            // SAFETY: 1: the job was private, or was reclaimed or given back, so no other thread
            // can reach it. 2: nothing was taken out before.
            let b = unsafe { job.take_closure() };
            catch_unwind(AssertUnwindSafe(|| b(Where::Here)))
        }
        Joined::Theirs(outcome) => outcome.map_err(thrown),
    };
    both(result_a, result_b)
}

/// The results of two closures, or the panic of the first that has panicked. The other outcome is
/// dropped before that.
fn both<RA, RB>(result_a: Outcome<RA>, result_b: Outcome<RB>) -> (RA, RB) {
    match (result_a, result_b) {
        (Ok(result_a), Ok(result_b)) => (result_a, result_b),
        (Ok(result_a), Err(payload)) => {
            discard(|| result_a);
            resume_unwind(payload)
        }
        (Err(payload), result_b) => {
            discard(|| result_b);
            resume_unwind(payload)
        }
    }
}

#[inline(always)]
fn fork_and_join<A, B, RA, RB>(fork: Fork<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce(Where) -> RB,
{
    let job = StackJob::new(b);
    // SAFETY: 1: before the fork is joined, this frame is not left and the closure is not touched.
    // The join is below, or in the drop of `pending` if `a` panics. 2: the bounds of `join` say so.
    // 3: the job is new.
    unsafe { fork.push(job.header()) };
    let pending = Pending { fork, job: &job };
    let result_a = a();
    std::mem::forget(pending);
    // SAFETY: this job is the youngest, because `a` has joined everything that it forked.
    if !unsafe { fork.owner.pop(job.own_header()) } {
        // SAFETY: `pop` has just returned false for this job.
        match unsafe { join_public(fork, &job) } {
            Joined::Ours => {}
            Joined::Theirs(Ok(result_b)) => return (result_a, result_b),
            Joined::Theirs(Err(payload)) => resume_unwind(payload),
        }
    }
    // SAFETY: 1: the job was private, or was reclaimed or given back, so no other thread can reach
    // it. 2: nothing was taken out before.
    let b = unsafe { job.take_closure() };
    (result_a, b(Where::Here))
}

/// How the join of a public job ended.
#[must_use]
pub(super) enum Joined<R> {
    /// No thief ran it: the caller has to.
    Ours,
    /// A thief ran it.
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
    // SAFETY: the caller promises that `pop` has just returned false for this job.
    let index = match unsafe { fork.owner.reclaim() } {
        Reclaimed::Ours => return Joined::Ours,
        Reclaimed::Stolen(index) => index,
    };
    let waited = wait(fork, fork.owner.latch(index));
    // SAFETY: `reclaim` said that the job is stolen, and `wait` that its latch is settled.
    // Everything that was pushed meanwhile was popped by the jobs that pushed it.
    unsafe { fork.owner.release(index) };
    match waited {
        Waited::Returned => Joined::Ours,
        // SAFETY: 1: the latch said that the job has run. 2: the outcome is taken out here only.
        Waited::Done => Joined::Theirs(unsafe { job.take_outcome() }),
    }
}

/// Joins a forked closure if the other one panics.
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
        // SAFETY: this job is the youngest: what `a` forked was joined when `a` unwound.
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
    // The panic under way came first, so the outcome of this closure is dropped.
    // SAFETY: the caller promises that `job` is the youngest.
    if unsafe { fork.owner.pop(job.own_header()) } {
        // SAFETY: 1: the job was private, so no other thread can reach it. 2: nothing was taken out
        // before.
        let b = unsafe { job.take_closure() };
        return discard(|| b(Where::Here));
    }
    // SAFETY: `pop` has just returned false for this job.
    match unsafe { join_public(fork, job) } {
        Joined::Ours => {
            // SAFETY: 1: the job was reclaimed or given back, so no other thread can reach it.
            // 2: nothing was taken out before.
            let b = unsafe { job.take_closure() };
            discard(|| b(Where::Here));
        }
        Joined::Theirs(outcome) => discard(|| outcome),
    }
}

/// Calls a closure for its effects only, during a panic.
pub(super) fn discard<R>(closure: impl FnOnce() -> R) {
    // The result is dropped inside of `catch_unwind`, because its destructor may panic, too. So may
    // that of the payload.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(closure()))) {
        task::discard(payload);
    }
}

/// Calls both closures, one after the other, and neither in the midst of the other's panic. The
/// second is called even if the first panics.
pub(super) fn one_by_one<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce(Where) -> RB) -> (RA, RB) {
    let (result_a, result_b) = shielded(|| {
        let result_a = catch_unwind(AssertUnwindSafe(a));
        (result_a, catch_unwind(AssertUnwindSafe(|| b(Where::Here))))
    });
    both(result_a, result_b)
}

/// Calls `f`, during which an abort does not drop the stack of the calling fiber: closures that are
/// to be called yet would be in the midst of that.
pub(super) fn shielded<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    return crate::fiber::shielded(f);
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    f()
}

/// Calls `f`, which was taken from a fork in a fiber, and maybe in a panic of that: it forks as
/// there.
pub(super) fn as_in_fibers<R>(is_in_panic: bool, f: impl FnOnce() -> R) -> R {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    {
        if is_in_panic {
            crate::context::taken_closure_stays();
        }
        crate::context::fork_as_in_fibers(f)
    }
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    {
        let _ = is_in_panic;
        f()
    }
}

/// What a fork throws whose closure has ended with this on another thread.
pub(super) fn thrown(payload: Payload) -> Payload {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    return crate::fiber::thrown(payload);
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    payload
}

/// In a fiber, or on a thread without a deque.
#[cold]
#[inline(never)]
#[track_caller]
fn join_elsewhere<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce(Where) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: the fork is used in this expression only, so it is dropped before the return.
    if let Some(fork) = unsafe { Fork::current() } {
        return join_in_fiber(fork, a, b);
    }
    install::elsewhere(move || {
        // SAFETY: the fork is used in this expression only, so it is dropped before the return.
        match unsafe { Fork::current() } {
            Some(fork) if is_in_fiber() => join_in_fiber(fork, a, b),
            Some(fork) => fork_and_join(fork, a, b),
            None => one_by_one(a, b),
        }
    })
}
