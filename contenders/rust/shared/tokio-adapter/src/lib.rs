//! What the tokio contenders share: everything but the scheduler.
#![forbid(unsafe_code)]

mod turned;

use std::sync::OnceLock;

use async_workloads::{
    TokioSync, adapt_tokio_api, adapt_tokio_tcp, native_rows, needs_net, prepare_defer_one,
    tcp_rows,
};
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use tokio::runtime::{Builder, Runtime};

/// What `--set` accepts beside the parameters.
pub const KNOBS: &[(&str, &str)] =
    &[("io", "on"), channel_crates::KNOB, turned::EVENTS, turned::SHARED, turned::BLOCKING];

/// Whether the I/O driver is on.
static HAS_IO: OnceLock<bool> = OnceLock::new();

adapt_tokio_api!(tokio as Tokio, local: TokioLocal, start: start);
adapt_tokio_tcp!(tokio as Tokio);

fn start(mut builder: Builder) -> Runtime {
    builder.enable_time();
    // All drivers, as `#[tokio::main]` has them: with the I/O driver, idle workers park in epoll.
    if HAS_IO.get() != Some(&false) {
        builder.enable_all();
    }
    turned::apply(&mut builder);
    builder.build().expect("the runtime starts")
}

/// All rows, on tokio with the scheduler `S`.
pub fn rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    let mut rows = usual_rows::<S>();
    for (_, prepare) in &mut rows {
        *prepare = prepare_any::<S>;
    }
    rows
}

/// All rows with the knobs where they usually are.
fn usual_rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows_with_net::<Tokio<S>, TokioSync>();
    rows.extend(native_rows::<Tokio<S>, TokioSync>());
    rows.extend(tcp_rows::<Tokio<S>>());
    // Tasks of a `LocalSet` need its thread, which on the other scheduler is no worker.
    if S::DRIVEN_BY_BLOCK_ON {
        rows.push(("defer_one", prepare_defer_one::<TokioLocal>));
    }
    rows
}

/// Any row, after its knobs were read.
fn prepare_any<S: Scheduler>(request: &mut Request) -> Result<Work, Refusal> {
    let has_io = !request.is_turned("io", ["on", "off"])?;
    if !has_io && needs_net(&request.workload) {
        return Err(Refusal::Unsupported("sockets need the I/O driver: turn io on".into()));
    }
    HAS_IO.set(has_io).expect("a process prepares one row");
    turned::read(request)?;
    let turned = channel_crates::read_knob::<Tokio<S>, TokioSync>(request, &[])?;
    let rows = turned.unwrap_or_else(usual_rows::<S>);
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}
