//! `fork_all` and `fork_reduce`: any number of closures.

use super::job::{Outcome, StackJob, Where};
use super::join::{Joined, discard, join, join_in_panic, join_public, shielded};
use super::{Fork, install};
use std::mem::{MaybeUninit, forget, replace};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How many closures one frame forks at most. A longer range is halved first. If the results are
/// small, each closure takes some 50 bytes of stack in the frame.
const MOST: usize = 16;

/// Runs all closures, potentially in parallel, and returns their results in
/// order.
///
/// The calling thread runs the first closure, and then, in order, all closures that no other worker
/// has taken. Other workers take from the end. Where the closures run is as with [`join`].
///
/// # Panics
/// If closures panic, `fork_all` panics when all closures have ended: all of them always run. The
/// payload is that of the first closure in the array that panicked.
///
/// ```
/// use trefoil::fork_join::fork_all;
/// let texts = ["one", "three", "five"];
/// let lengths = fork_all(texts.map(|text| move || text.len()));
/// assert_eq!(lengths, [3, 5, 4]);
/// ```
#[inline]
#[track_caller]
pub fn fork_all<F, R, const N: usize>(closures: [F; N]) -> [R; N]
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let mut legs = closures.map(Leg::Closure);
    let shared = Legs(legs.as_mut_ptr());
    // SAFETY: 1: the numbers are below `N`. 2: `fork_reduce` makes one call for each number, and
    // all calls end before it returns or unwinds; only then are `legs` touched again.
    fork_reduce(0..N, |i| unsafe { shared.run(i) }, |(), ()| ());
    legs.map(|leg| match leg {
        Leg::Result(result) => result,
        Leg::Closure(_) | Leg::Running => unreachable!("all have run, or this is a panic"),
    })
}

/// A closure, and later its result.
enum Leg<F, R> {
    Closure(F),
    Running,
    Result(R),
}

/// A pointer to the first of the legs. Each leg is used by one thread.
struct Legs<F, R>(*mut Leg<F, R>);

// SAFETY: `run` gives each leg to one thread, which takes the closure out and puts the result in.
// Both are `Send`.
unsafe impl<F: Send, R: Send> Sync for Legs<F, R> {}

impl<F: FnOnce() -> R, R> Legs<F, R> {
    /// # Safety
    /// 1. There is a leg `i`.
    /// 2. This is called once for each leg, and nothing else touches the legs before all calls have
    ///    ended.
    #[inline(always)]
    unsafe fn run(&self, i: usize) {
        // SAFETY: the offset is within the array by 1.
        let leg = unsafe { self.0.add(i) };
        // SAFETY: no other thread uses this leg by 2.
        let leg = unsafe { &mut *leg };
        if let Leg::Closure(closure) = replace(leg, Leg::Running) {
            *leg = Leg::Result(closure());
        }
    }
}

/// Calls `map` with every number of the range, potentially all in parallel, and reduces the results
/// to one. The result is `None` if the range is empty.
///
/// Every call is a fork of its own, which another worker may take; in
/// [`map_reduce`](super::map_reduce), a fork has many calls. So this is for a few calls that are
/// long or that fork again. Each call is made exactly once. `reduce` combines neighbouring results,
/// in order: it has to be associative, and need not be commutative. Where the calls run is as with
/// [`join`].
///
/// # Panics
/// If `map` panics, `fork_reduce` panics when all calls of `map` have ended: all of them are always
/// made. The payload is that of the least number whose call panicked. If `reduce` panics,
/// `fork_reduce` panics with its payload when all calls of `map` have ended.
///
/// ```
/// use trefoil::fork_join::fork_reduce;
/// assert_eq!(fork_reduce(1..5, |n| n * n, |a, b| a + b), Some(30));
/// ```
#[inline]
#[track_caller]
pub fn fork_reduce<R, M, C>(range: Range<usize>, map: M, reduce: C) -> Option<R>
where
    R: Send,
    M: Fn(usize) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    if range.is_empty() { None } else { Some(reduced(range, &map, &reduce)) }
}

/// For a range that is not empty.
#[inline]
#[track_caller]
fn reduced<R, M, C>(range: Range<usize>, map: &M, reduce: &C) -> R
where
    R: Send,
    M: Fn(usize) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    // SAFETY: the fork is used in this expression only, so it is dropped before the return.
    match unsafe { Fork::outside_of_fibers() } {
        Some(fork) if range.len() <= MOST => fan_out(fork, range, map, reduce),
        Some(_) => halves(range, map, reduce),
        None => elsewhere(range, map, reduce),
    }
}

/// For a range that is not empty.
#[inline]
fn fan_out<R, M, C>(fork: Fork<'_>, range: Range<usize>, map: &M, reduce: &C) -> R
where
    R: Send,
    M: Fn(usize) -> R + Sync,
    C: Fn(R, R) -> R,
{
    let first = range.start;
    let mut space = [const { MaybeUninit::uninit() }; MOST - 1];
    let jobs = &mut space[..range.len() - 1];
    // Only a thief runs these closures. This frame calls `map` itself, and so does not have to read
    // the number back. The closures only borrow, so they need no drop.
    let numbered = (first + 1..range.end).zip(jobs.iter_mut());
    let pushed = numbered.rev().map(|(i, job)| job.write(StackJob::new(move |_| map(i))).header());
    // SAFETY: 1: this frame is not left before all jobs are joined, below or in the drop of
    // `pending`, and the closures are not touched. 2: `map` is `Sync`, and its results are `Send`.
    // 3: the jobs are new. 4: the iterator only writes to `jobs`.
    unsafe { fork.push_all(pushed) };
    let mut pending = Pending { fork, jobs };
    let mut result = map(first);
    let mut i = first;
    while let [job, others @ ..] = pending.jobs {
        pending.jobs = others;
        i += 1;
        // SAFETY: the iterator that was pushed has written all of `jobs`.
        let job = unsafe { job.assume_init_ref() };
        // SAFETY: this job is the youngest that is left: `map` has joined what it forked.
        let is_ours = unsafe { fork.owner.pop(job.own_header()) };
        let joined = if is_ours {
            Joined::Ours
        } else {
            // SAFETY: `pop` has just returned false for this job.
            unsafe { join_public(fork, job) }
        };
        let next = match joined {
            Joined::Ours => map(i),
            Joined::Theirs(Ok(next)) => next,
            Joined::Theirs(Err(payload)) => resume_unwind(payload),
        };
        result = reduce(result, next);
    }
    forget(pending);
    result
}

/// Joins jobs in a panic, the youngest first.
struct Pending<'a, F, R>
where
    F: FnOnce(Where) -> R,
{
    fork: Fork<'a>,
    /// All of them are initialised and in the deque.
    jobs: &'a [MaybeUninit<StackJob<F, R>>],
}

impl<F, R> Drop for Pending<'_, F, R>
where
    F: FnOnce(Where) -> R,
{
    #[inline(always)]
    fn drop(&mut self) {
        join_all_in_panic(self.fork, self.jobs);
    }
}

#[cold]
#[inline(never)]
fn join_all_in_panic<F, R>(fork: Fork<'_>, jobs: &[MaybeUninit<StackJob<F, R>>])
where
    F: FnOnce(Where) -> R,
{
    for job in jobs {
        // SAFETY: all jobs of a `Pending` are initialised.
        let job = unsafe { job.assume_init_ref() };
        // SAFETY: the jobs are joined from the youngest on, so this is the youngest that is left.
        unsafe { join_in_panic(fork, job) };
    }
}

/// For a range of at least two numbers.
#[cold]
fn halves<R, M, C>(range: Range<usize>, map: &M, reduce: &C) -> R
where
    R: Send,
    M: Fn(usize) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    let middle = range.start + range.len() / 2;
    let (left, right) = join(
        || reduced(range.start..middle, map, reduce),
        || reduced(middle..range.end, map, reduce),
    );
    reduce(left, right)
}

/// In a fiber, or on a thread without a deque, for a range that is not empty.
#[cold]
#[inline(never)]
#[track_caller]
fn elsewhere<R, M, C>(range: Range<usize>, map: &M, reduce: &C) -> R
where
    R: Send,
    M: Fn(usize) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    // SAFETY: the fork is dropped at the end of this statement.
    if unsafe { Fork::current() }.is_some() {
        // By `join`, which sees to panics in fibers.
        return if range.len() == 1 { map(range.start) } else { halves(range, map, reduce) };
    }
    install::elsewhere(|| {
        // SAFETY: the fork is used in this expression only, so it is dropped before the return.
        match unsafe { Fork::current() } {
            Some(_) => reduced(range, map, reduce),
            None => one_by_one(range, map, reduce),
        }
    })
}

/// Makes all calls, one after the other, and none in the midst of another's panic. The others are
/// made even if one panics.
fn one_by_one<R>(range: Range<usize>, map: &impl Fn(usize) -> R, reduce: &impl Fn(R, R) -> R) -> R {
    let result = shielded(|| {
        let mut result: Outcome<Option<R>> = Ok(None);
        for i in range {
            let next = catch_unwind(AssertUnwindSafe(|| map(i)));
            result = match (result, next) {
                (Ok(None), Ok(next)) => Ok(Some(next)),
                (Ok(Some(result)), Ok(next)) => {
                    catch_unwind(AssertUnwindSafe(|| Some(reduce(result, next))))
                }
                (Ok(result), Err(payload)) => {
                    discard(|| result);
                    Err(payload)
                }
                (Err(payload), next) => {
                    discard(|| next);
                    Err(payload)
                }
            };
        }
        result
    });
    match result {
        Ok(result) => result.expect("the range is not empty"),
        Err(payload) => resume_unwind(payload),
    }
}
