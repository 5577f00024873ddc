//! `fork_all` and `fork_reduce`: as many closures as one likes.

use super::Fork;
use super::install::{foreign_pool, install};
use super::job::{StackJob, Where};
use super::join::{Joined, discard, join, join_in_panic, join_public};
use std::mem::{MaybeUninit, forget, replace};
use std::ops::Range;
use std::panic::resume_unwind;

/// How many closures are forked from one frame; more are halved first. Each
/// costs some 50 bytes of stack in the frame, if the results are small.
const MOST: usize = 16;

/// Runs all closures, potentially in parallel, and returns their results in
/// order.
///
/// The calling thread runs the first one and all that nobody takes, in order;
/// others take from the end.
///
/// # Panics
/// As [`join`]: all closures run, and of the payloads, that of the first
/// closure in the array to have panicked is rethrown.
///
/// ```
/// use trefoil::fork_join::fork_all;
/// let texts = ["one", "three", "five"];
/// let lengths = fork_all(texts.map(|text| move || text.len()));
/// assert_eq!(lengths, [3, 5, 4]);
/// ```
#[inline]
pub fn fork_all<F, R, const N: usize>(closures: [F; N]) -> [R; N]
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let mut legs = closures.map(Leg::Closure);
    let shared = Legs(legs.as_mut_ptr());
    // SAFETY: each number below `N` once, as `fork_reduce` promises, while
    // `legs` lives and is not touched otherwise.
    fork_reduce(0..N, |i| unsafe { shared.run(i) }, |(), ()| ());
    legs.map(|leg| match leg {
        Leg::Result(result) => result,
        Leg::Closure(_) | Leg::Running => unreachable!("all have run, or this is a panic"),
    })
}

/// One closure, and then what it has returned.
enum Leg<F, R> {
    Closure(F),
    Running,
    Result(R),
}

/// The first of the legs, each of which is used by one thread.
struct Legs<F, R>(*mut Leg<F, R>);

// SAFETY: `run` hands each leg to one thread, which takes a closure out and
// leaves a result: both may be sent.
unsafe impl<F: Send, R: Send> Sync for Legs<F, R> {}

impl<F: FnOnce() -> R, R> Legs<F, R> {
    /// # Safety
    /// 1. There is a leg `i`. 2. This is called once for it, and nothing else
    ///    is done with the legs before all calls have ended.
    #[inline(always)]
    unsafe fn run(&self, i: usize) {
        // SAFETY: within the array by 1.
        let leg = unsafe { self.0.add(i) };
        // SAFETY: nobody else has this leg by 2.
        let leg = unsafe { &mut *leg };
        if let Leg::Closure(closure) = replace(leg, Leg::Running) {
            *leg = Leg::Result(closure());
        }
    }
}

/// Calls `map` with every number of the range, potentially all in parallel, and
/// reduces the results to one; none if the range is empty.
///
/// Unlike in [`map_reduce`](super::map_reduce), every call is a fork of its own,
/// which somebody else may take, and each is made exactly once. This is for a
/// few calls that are long, or fork on. Results are only ever combined with
/// their neighbours, in order.
///
/// # Panics
/// As [`join`]: `map` is called for every number in any case, and of the
/// payloads, that for the least number is rethrown. If `reduce` panics, so does
/// this, when all calls of `map` have ended.
///
/// ```
/// use trefoil::fork_join::fork_reduce;
/// assert_eq!(fork_reduce(1..5, |n| n * n, |a, b| a + b), Some(30));
/// ```
#[inline]
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
fn reduced<R, M, C>(range: Range<usize>, map: &M, reduce: &C) -> R
where
    R: Send,
    M: Fn(usize) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    // SAFETY: it goes no further than this call.
    match unsafe { Fork::current() } {
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
    // The thief, or nobody, runs these closures: here it is `map` that is
    // called, with a number that need not be read back. They borrow, and have
    // nothing to be dropped.
    let numbered = (first + 1..range.end).zip(jobs.iter_mut());
    let pushed = numbered.rev().map(|(i, job)| job.write(StackJob::new(move |_| map(i))).header());
    // SAFETY: 1: this frame is not left before all are joined: below, or by
    // `pending` in a panic; the closures are not touched. 2: `map` is `Sync`,
    // and its results are `Send`. 3: they are new. 4: it only writes to `jobs`.
    unsafe { fork.push_all(pushed) };
    let mut pending = Pending { fork, jobs };
    let mut result = map(first);
    let mut i = first;
    while let [job, others @ ..] = pending.jobs {
        pending.jobs = others;
        i += 1;
        // SAFETY: written above.
        let job = unsafe { job.assume_init_ref() };
        // SAFETY: the youngest: what `map` forked, it has joined.
        let is_ours = unsafe { fork.owner.pop(job.own_header()) };
        let joined = if is_ours {
            Joined::Ours
        } else {
            // SAFETY: `pop` has just said no.
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

/// Jobs to be joined in case of a panic, the youngest first.
struct Pending<'a, F, R>
where
    F: FnOnce(Where) -> R,
{
    fork: Fork<'a>,
    /// Initialised, and in the deque.
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
        // SAFETY: the invariant of `Pending`.
        let job = unsafe { job.assume_init_ref() };
        // SAFETY: the youngest that is left.
        unsafe { join_in_panic(fork, job) };
    }
}

/// For a range of two at least.
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

/// On a thread without a deque, for a range that is not empty.
#[cold]
#[inline(never)]
fn elsewhere<R, M, C>(range: Range<usize>, map: &M, reduce: &C) -> R
where
    R: Send,
    M: Fn(usize) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    match foreign_pool() {
        // The closure may have to come back here, from a runtime that is over.
        Some(handle) => install(&handle, || {
            // SAFETY: it goes no further than this call.
            match unsafe { Fork::current() } {
                Some(_) => reduced(range, map, reduce),
                None => one_by_one(range, map, reduce),
            }
        }),
        None => one_by_one(range, map, reduce),
    }
}

/// All calls, after one another, and all in any case.
fn one_by_one<R>(
    mut range: Range<usize>,
    map: &impl Fn(usize) -> R,
    reduce: &impl Fn(R, R) -> R,
) -> R {
    struct Others<'a, R, M: Fn(usize) -> R>(&'a mut Range<usize>, &'a M);
    impl<R, M: Fn(usize) -> R> Drop for Others<'_, R, M> {
        fn drop(&mut self) {
            for i in &mut *self.0 {
                discard(|| (self.1)(i));
            }
        }
    }
    let others = Others(&mut range, map);
    let mut result = None;
    for i in others.0.by_ref() {
        let next = map(i);
        result = Some(match result {
            None => next,
            Some(result) => reduce(result, next),
        });
    }
    result.expect("the range is not empty")
}
