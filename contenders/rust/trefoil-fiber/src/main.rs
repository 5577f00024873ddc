//! Trefoil's fibers: functions that block, on the workers of its multi-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use contender_main::{INNER, Inner};
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use trefoil::alloc::Preempting;

use crate::fibers::{Fibers, Lasts};

mod fibers;
mod knobs;
mod rows;
mod tcp;

/// Each allocation counts against the budget of the fiber that makes it.
#[global_allocator]
static ALLOCATOR: Preempting<Inner> = Preempting::with(INNER);

/// All rows with the knobs where they usually are.
fn usual_rows() -> Vec<(&'static str, Prepare)> {
    let mut all = blocking_workloads::rows::<Fibers>().to_vec();
    all.extend([
        ("fan_in", rows::fan_in as Prepare),
        ("rt_multi_threaded/spawn_many_local", rows::many_local),
        ("rt_multi_threaded/spawn_many_remote", rows::many_remote),
        ("rt_multi_threaded/yield_many", rows::yield_many),
        ("spawn/basic_scheduler_spawn", rows::basic_scheduler_spawn),
        ("spawn/threaded_scheduler_spawn", rows::threaded_scheduler_spawn),
        ("spawn_one", blocking_workloads::spawn_one::<Lasts>),
        ("tcp_ping_pong", tcp::ping_pong),
    ]);
    all
}

/// Reads the knobs, before whatever starts the runtime.
fn prepare_any(request: &mut Request) -> Result<Work, Refusal> {
    knobs::read(request)?;
    let usual = usual_rows().into_iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = usual.expect("all rows have a usual form");
    prepare(request)
}

fn all_rows() -> Vec<(&'static str, Prepare)> {
    usual_rows().into_iter().map(|(name, _)| (name, prepare_any as Prepare)).collect()
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "trefoil",
        threads_max: usize::MAX,
        workloads: &all_rows(),
        knobs: knobs::KNOBS,
    }
}
