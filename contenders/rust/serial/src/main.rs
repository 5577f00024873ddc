//! No runtime: the same recursion by plain calls, on the thread that takes the sample.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::process::ExitCode;

use fork_join_workloads::{ForkJoin, Tally};

struct Serial;

impl ForkJoin for Serial {
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

    /// A loop: without a join there is nothing to halve for.
    fn fork_each(children: Range<usize>, child: &(impl Fn(usize) -> Tally + Sync)) -> Tally {
        children.map(child).sum()
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "none",
        threads_max: 1,
        workloads: &fork_join_workloads::rows::<Serial>(),
    }
}
