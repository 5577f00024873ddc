//! The frameworks over which the workloads are generic.

use std::ops::Range;

use palio_protocol::forks::Forks;

use crate::Tally;

/// A fork-join framework whose idiom is a binary join.
///
/// Every method is generic over the closures, so that after monomorphisation nothing of this trait
/// is left: a contender calls its framework's `join` with the workload's own closures.
///
/// A contender says [`Forks::handed`] of `C` where it calls its framework, and nowhere else. Then
/// what it does by a plain call is missing from the count; timed rows do not count at all.
pub trait ForkJoin: Sized + 'static {
    /// What every frame hands to the frames that it forks: chili's `Scope`.
    ///
    /// Frameworks that find their worker by themselves say `()`, and make a new one for each
    /// closure: then nobody reads what is handed over, and the compiler leaves it out.
    type Frame<'f>;

    /// Starts exactly `threads` workers.
    fn start(threads: usize) -> Self;

    /// Runs `work` on the workers, of which the calling thread may be one.
    fn install<R: Send>(&self, work: impl FnOnce(&mut Self::Frame<'_>) -> R + Send) -> R;

    /// Runs both, in parallel if a worker is idle.
    fn join<C: Forks, RA: Send, RB: Send>(
        frame: &mut Self::Frame<'_>,
        a: impl FnOnce(&mut Self::Frame<'_>) -> RA + Send,
        b: impl FnOnce(&mut Self::Frame<'_>) -> RB + Send,
    ) -> (RA, RB);

    /// Forks `child(i)` for every `i`, each of them a job of its own, joins them all and adds up
    /// what they return.
    ///
    /// With a binary join that is halving down to one child: k children are k leaves of k - 1
    /// joins.
    fn fork_each<C: Forks>(
        frame: &mut Self::Frame<'_>,
        children: Range<usize>,
        child: &(impl Fn(&mut Self::Frame<'_>, usize) -> Tally + Sync),
    ) -> Tally {
        let Range { start, end } = children;
        match end - start {
            0 => Tally::default(),
            1 => child(frame, start),
            count => {
                let middle = start + count / 2;
                let (left, right) = Self::join::<C, _, _>(
                    frame,
                    move |frame| Self::fork_each::<C>(frame, start..middle, child),
                    move |frame| Self::fork_each::<C>(frame, middle..end, child),
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
    type Frame<'f> = ();

    fn start(_threads: usize) -> Self {
        Self
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut ()) -> R + Send) -> R {
        work(&mut ())
    }

    fn join<C: Forks, RA: Send, RB: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> RA + Send,
        b: impl FnOnce(&mut ()) -> RB + Send,
    ) -> (RA, RB) {
        (a(&mut ()), b(&mut ()))
    }
}

#[cfg(test)]
mod tests {
    use palio_protocol::forks::Uncounted;

    use super::*;

    #[test]
    fn every_child_runs_once() {
        for count in 0..20_u32 {
            let child = |_: &mut (), i: usize| Tally { answer: 1 << i, work: 1 };
            let tally = PlainCalls::fork_each::<Uncounted>(&mut (), 0..count as usize, &child);
            assert_eq!(tally, Tally { answer: (1 << count) - 1, work: count.into() });
        }
    }
}
