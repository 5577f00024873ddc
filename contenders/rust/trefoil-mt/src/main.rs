//! Trefoil's multi-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::OnceLock;

use async_workloads::TokioChannels;
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use trefoil_adapter::{Builder, Scheduler, Trefoil};

/// What `--set` accepts beside the parameters, in the rows that fork.
const KNOBS: &[(&str, &str)] = &[("async", "on"), ("caller", "works")];

/// Whether the workers that fork also serve tasks. Not a second `Scheduler`: that would compile the rows twice, and
/// two copies of the same loop differ by where they lie.
static SERVES_TASKS: OnceLock<bool> = OnceLock::new();

/// Whether the sampling thread takes a worker's place. Not a second `Scheduler`, for the same reason.
static CALLER_WORKS: OnceLock<bool> = OnceLock::new();

struct MultiThread;

impl Scheduler for MultiThread {
    const DRIVEN_BY_BLOCK_ON: bool = false;

    fn builder(threads: usize) -> Builder {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder
    }

    fn fork_builder(threads: usize) -> Builder {
        let mut builder = Self::builder(threads);
        if SERVES_TASKS.get() == Some(&false) {
            builder.lend_workers(false).event_interval(u32::MAX).global_queue_interval(u32::MAX);
        } else {
            builder.enable_all();
        }
        builder
    }

    fn caller_works() -> bool {
        CALLER_WORKS.get() != Some(&false)
    }
}

fn fork_rows() -> [(&'static str, Prepare); 4] {
    fork_join_workloads::rows::<Trefoil<MultiThread>>()
}

/// Any row that forks, after its knob was read.
fn prepare_forks(request: &mut Request) -> Result<Work, Refusal> {
    let serves_tasks = !request.is_turned("async", ["on", "off"])?;
    let caller_works = !request.is_turned("caller", ["works", "waits"])?;
    SERVES_TASKS.set(serves_tasks).expect("a process prepares one row");
    CALLER_WORKS.set(caller_works).expect("a process prepares one row");
    let rows = fork_rows();
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}

/// The fork-join rows race on `join`, all others on tasks: each model in its own idiom, on the same workers.
fn rows() -> Vec<(&'static str, Prepare)> {
    let forks = fork_rows();
    let mut rows = async_workloads::rows::<Trefoil<MultiThread>, TokioChannels>();
    for (name, prepare) in &mut rows {
        if forks.iter().any(|(fork, _)| fork == name) {
            *prepare = prepare_forks;
        }
    }
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "trefoil",
        threads_max: usize::MAX,
        workloads: &rows(),
        knobs: KNOBS,
    }
}
