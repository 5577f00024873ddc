//! Trefoil's multi-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use async_workloads::TokioChannels;
use palio_protocol::harness::Prepare;
use trefoil_adapter::{Builder, Scheduler, Trefoil};

struct MultiThread;

impl Scheduler for MultiThread {
    const DRIVEN_BY_BLOCK_ON: bool = false;

    fn builder(threads: usize) -> Builder {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder
    }
}

/// The fork-join rows race on `join`, all others on tasks: each model in its own idiom, on the same workers.
fn rows() -> Vec<(&'static str, Prepare)> {
    let forks = fork_join_workloads::rows::<Trefoil<MultiThread>>();
    let mut rows = async_workloads::rows::<Trefoil<MultiThread>, TokioChannels>();
    for (name, prepare) in &mut rows {
        if let Some((_, fork)) = forks.iter().find(|(fork, _)| fork == name) {
            *prepare = *fork;
        }
    }
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "trefoil",
        threads_max: usize::MAX,
        workloads: &rows(),
    }
}
