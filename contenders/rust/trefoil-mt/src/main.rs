//! Trefoil's multi-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use palio_protocol::harness::Prepare;
use trefoil_adapter::MultiThread;

/// The fork-join rows race on `join`, all others on tasks: each model in its own idiom, on the same
/// workers.
fn rows() -> Vec<(&'static str, Prepare)> {
    let mut rows = trefoil_adapter::rows::<MultiThread>();
    for (fork, prepare) in trefoil_adapter::rows_that_fork() {
        match rows.iter_mut().find(|(name, _)| *name == fork) {
            Some(row) => row.1 = prepare,
            // A task cannot borrow what its parent has, so that some rows have no form with tasks.
            None => rows.push((fork, prepare)),
        }
    }
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "trefoil",
        threads_max: usize::MAX,
        workloads: &rows(),
        knobs: trefoil_adapter::KNOBS_WITH_FORKS,
    }
}
