//! The frameworks over which the workloads are generic.

use std::ops::Range;

use crate::Tally;

/// A fork-join framework whose idiom is a binary join.
///
/// Every method is generic over the closures, so that after monomorphisation nothing of this trait is left: a
/// contender calls its framework's `join` with the workload's own closures.
/// A framework that hands its worker from frame to frame (chili's `Scope`) needs one more parameter here.
pub trait ForkJoin: Sized + 'static {
    /// Starts exactly `threads` workers.
    fn start(threads: usize) -> Self;

    /// Runs `work` on the workers; the calling thread only waits.
    fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R;

    /// Runs both, in parallel if a worker is idle.
    fn join<RA: Send, RB: Send>(
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB);

    /// Forks `child(i)` for every `i`, each of them a job of its own, joins them all and adds up what they return.
    ///
    /// With a binary join that is halving down to one child: k children are k leaves of k - 1 joins.
    fn fork_each(children: Range<usize>, child: &(impl Fn(usize) -> Tally + Sync)) -> Tally {
        match children.len() {
            0 => Tally::default(),
            1 => child(children.start),
            count => {
                let middle = children.start + count / 2;
                let (left, right) = Self::join(
                    || Self::fork_each(children.start..middle, child),
                    || Self::fork_each(middle..children.end, child),
                );
                left + right
            }
        }
    }
}

/// No framework, for the tests of the workloads.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct PlainCalls;

#[cfg(test)]
impl ForkJoin for PlainCalls {
    fn start(_threads: usize) -> Self {
        Self
    }

    fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    fn join<RA: Send, RB: Send>(
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        (a(), b())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_child_runs_once() {
        for count in 0..20_u32 {
            let child = |i: usize| Tally { answer: 1 << i, work: 1 };
            let tally = PlainCalls::fork_each(0..count as usize, &child);
            assert_eq!(tally, Tally { answer: (1 << count) - 1, work: count.into() });
        }
    }
}
