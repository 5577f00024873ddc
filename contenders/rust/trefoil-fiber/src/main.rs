//! Trefoil's fibers: functions that block, on the workers of its multi-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use palio_protocol::harness::Prepare;

use crate::fibers::Fibers;

mod fibers;
mod rows;
mod tcp;

fn all_rows() -> Vec<(&'static str, Prepare)> {
    let mut all = blocking_workloads::rows::<Fibers>().to_vec();
    all.extend([
        ("fan_in", rows::fan_in as Prepare),
        ("rt_multi_threaded/spawn_many_local", rows::many_local),
        ("rt_multi_threaded/spawn_many_remote", rows::many_remote),
        ("rt_multi_threaded/yield_many", rows::yield_many),
        ("spawn/basic_scheduler_spawn", rows::basic_scheduler_spawn),
        ("spawn/threaded_scheduler_spawn", rows::threaded_scheduler_spawn),
        ("spawn_one", rows::spawn_one),
        ("tcp_ping_pong", tcp::ping_pong),
    ]);
    all
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "trefoil",
        threads_max: usize::MAX,
        workloads: &all_rows(),
    }
}
