//! What the Trefoil contenders share: everything but the scheduler.
#![forbid(unsafe_code)]

mod fork_join;
mod mpmc;
mod turned;

use std::sync::OnceLock;

use async_workloads::{
    TokioSync, adapt_tokio_api, adapt_tokio_sync, adapt_tokio_tcp, native_rows, needs_net,
    prepare_defer_one, tcp_rows,
};
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use trefoil::runtime::{Builder, Runtime};

use crate::mpmc::MpmcChannels;

pub use fork_join::{KNOBS_WITH_FORKS, rows_that_fork};

/// What `--set` accepts beside the parameters.
pub const KNOBS: &[(&str, &str)] = &[IO, channel_crates::KNOB, turned::EVENTS, turned::SHARED];

const IO: (&str, &str) = ("io", "on");
const BLOCK_ON: (&str, &str) = ("block_on", "waits");

/// Whether the I/O driver is on.
static HAS_IO: OnceLock<bool> = OnceLock::new();

/// Whether a thread in `block_on` serves tasks in the place of a sleeping worker.
static BLOCK_ON_SERVES: OnceLock<bool> = OnceLock::new();

adapt_tokio_api!(trefoil as Trefoil, local: TrefoilLocal, start: start);
adapt_tokio_sync!(trefoil as TrefoilSync);
adapt_tokio_tcp!(trefoil as Trefoil);

fn start(mut builder: Builder) -> Runtime {
    builder.enable_time();
    // All drivers, as for tokio.
    if HAS_IO.get() != Some(&false) {
        builder.enable_all();
    }
    builder.serve_in_block_on(BLOCK_ON_SERVES.get() == Some(&true));
    turned::apply(&mut builder);
    builder.build().expect("the runtime starts")
}

/// All rows as tasks, on Trefoil with the scheduler `S`.
pub fn rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    let mut rows = usual_rows::<S>();
    for (_, prepare) in &mut rows {
        *prepare = prepare_any::<S>;
    }
    rows
}

/// All rows with the knobs where they usually are.
fn usual_rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows_with_net::<Trefoil<S>, TrefoilSync>();
    rows.extend(native_rows::<Trefoil<S>, TrefoilSync>());
    rows.extend(tcp_rows::<Trefoil<S>>());
    // Tasks of a `LocalSet` need its thread, which on the other scheduler is no worker.
    if S::DRIVEN_BY_BLOCK_ON {
        rows.push(("defer_one", prepare_defer_one::<TrefoilLocal>));
    }
    rows
}

/// Any row as tasks, after its knobs were read.
fn prepare_any<S: Scheduler>(request: &mut Request) -> Result<Work, Refusal> {
    read_io(request)?;
    turned::read(request, !S::DRIVEN_BY_BLOCK_ON)?;
    if !S::DRIVEN_BY_BLOCK_ON {
        let serves = request.is_turned(BLOCK_ON.0, [BLOCK_ON.1, "serves"])?;
        BLOCK_ON_SERVES.set(serves).expect("a process prepares one row");
    }
    let turned = channel_crates::read_knob::<Trefoil<S>, TrefoilSync>(
        request,
        &[
            ("mpmc", channel_crates::rows_on::<Trefoil<S>, MpmcChannels, TrefoilSync>),
            ("tokio", channel_crates::rows_on::<Trefoil<S>, TokioSync, TokioSync>),
        ],
    )?;
    prepare_one_of(&turned.unwrap_or_else(usual_rows::<S>), request)
}

fn read_io(request: &mut Request) -> Result<(), Refusal> {
    let has_io = !request.is_turned(IO.0, [IO.1, "off"])?;
    if !has_io && needs_net(&request.workload) {
        return Err(Refusal::Unsupported("sockets need the I/O driver: turn io on".into()));
    }
    HAS_IO.set(has_io).expect("a process prepares one row");
    Ok(())
}

fn prepare_one_of(
    rows: &[(&'static str, Prepare)],
    request: &mut Request,
) -> Result<Work, Refusal> {
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}
