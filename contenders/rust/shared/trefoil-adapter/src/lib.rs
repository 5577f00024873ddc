//! What the Trefoil contenders share: everything but the scheduler.
#![forbid(unsafe_code)]

mod fork_join;

use std::sync::OnceLock;

use async_workloads::{TokioChannels, adapt_tokio_api};
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use trefoil::runtime::{Builder, Runtime};

pub use fork_join::rows_that_fork;

/// What `--set` accepts beside the parameters: the first two in the rows that fork, the last one in
/// all others.
pub const KNOBS: &[(&str, &str)] = &[("async", "on"), ("caller", "works"), ("serve", "off")];

/// Whether the thread in `block_on` serves tasks. Not a second `Scheduler`: that would compile the
/// rows twice, and two copies of the same loop differ by where they lie.
static SERVES: OnceLock<bool> = OnceLock::new();

adapt_tokio_api!(trefoil as Trefoil, start: start);

fn start(mut builder: Builder) -> Runtime {
    if SERVES.get() == Some(&true) {
        builder.serve_in_block_on(true);
    }
    builder.enable_all().build().expect("the runtime starts")
}

/// All rows as tasks, on the multi-thread scheduler, each of which reads its knob.
pub fn rows_of_tasks() -> Vec<(&'static str, Prepare)> {
    let mut rows = rows::<MultiThread>();
    for (_, prepare) in &mut rows {
        *prepare = prepare_tasks;
    }
    rows
}

/// Any row of tasks, after its knob was read.
fn prepare_tasks(request: &mut Request) -> Result<Work, Refusal> {
    let serves = request.is_turned("serve", ["off", "on"])?;
    SERVES.set(serves).expect("a process prepares one row");
    let rows = rows::<MultiThread>();
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}

/// All rows as tasks, on Trefoil with the scheduler `S`.
pub fn rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    async_workloads::rows::<Trefoil<S>, TokioChannels>()
}
