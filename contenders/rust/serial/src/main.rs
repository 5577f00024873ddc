//! No runtime: the same recursion by plain calls, on the thread that takes the sample.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::process::ExitCode;

use fork_join_workloads::{ForkJoin, Tally};
use palio_protocol::forks::Forks;

struct Serial;

impl ForkJoin for Serial {
    type Frame<'f> = ();

    fn start(_threads: usize) -> Self {
        Self
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut ()) -> R + Send) -> R {
        work(&mut ())
    }

    /// Nothing is handed to anyone.
    #[inline]
    fn join<C: Forks, RA: Send, RB: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> RA + Send,
        b: impl FnOnce(&mut ()) -> RB + Send,
    ) -> (RA, RB) {
        (a(&mut ()), b(&mut ()))
    }

    /// A loop: without a join there is nothing to halve for.
    fn fork_each<C: Forks>(
        _: &mut (),
        children: Range<usize>,
        child: &(impl Fn(&mut (), usize) -> Tally + Sync),
    ) -> Tally {
        children.map(|i| child(&mut (), i)).sum()
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "none",
        threads_max: 1,
        workloads: &fork_join_workloads::rows::<Serial>(),
    }
}
