//! No runtime: the same recursion by plain calls, on the thread that takes the sample.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::ops::Range;
use std::process::ExitCode;

use fork_join_workloads::{ForkJoin, Tally};
use palio_protocol::forks::Forks;
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use task_work::primes_of;

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

/// One share of the numbers after the other; there is nothing to start or stop.
fn primes(request: &mut Request) -> Result<Work, Refusal> {
    let (limit, tasks): (u64, u64) = (request.param("limit")?, request.param("tasks")?);
    let salt = request.salt;
    Ok(Work::new(move || {
        let (limit, tasks) = black_box((limit, tasks));
        let share = |task| Tally { answer: primes_of(task, tasks, limit, salt), work: 1 };
        (0..tasks).map(share).sum::<Tally>().into()
    }))
}

fn rows() -> Vec<(&'static str, Prepare)> {
    let mut rows = fork_join_workloads::rows::<Serial>().to_vec();
    rows.push(("fan_out_compute", primes));
    rows.push(("multi_thread_scaling", primes));
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "none",
        threads_max: 1,
        workloads: &rows(),
    }
}
