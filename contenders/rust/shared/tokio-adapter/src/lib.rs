//! What the tokio contenders share: everything but the scheduler.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use async_workloads::{TokioChannels, adapt_tokio_api};
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use tokio::runtime::{Builder, Runtime};

/// What `--set` accepts beside the parameters.
pub const KNOBS: &[(&str, &str)] = &[("io", "on")];

/// Whether the I/O driver is on.
static HAS_IO: OnceLock<bool> = OnceLock::new();

adapt_tokio_api!(tokio as Tokio, start: start);

fn start(mut builder: Builder) -> Runtime {
    builder.enable_time();
    // All drivers, as `#[tokio::main]` has them: with the I/O driver, idle workers park in epoll.
    if HAS_IO.get() != Some(&false) {
        builder.enable_all();
    }
    builder.build().expect("the runtime starts")
}

/// All rows, on tokio with the scheduler `S`.
pub fn rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows::<Tokio<S>, TokioChannels>();
    for (_, prepare) in &mut rows {
        *prepare = prepare_any::<S>;
    }
    rows
}

/// Any row, after its knob was read.
fn prepare_any<S: Scheduler>(request: &mut Request) -> Result<Work, Refusal> {
    let has_io = !request.is_turned("io", ["on", "off"])?;
    HAS_IO.set(has_io).expect("a process prepares one row");
    let rows = async_workloads::rows::<Tokio<S>, TokioChannels>();
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}
