//! What the Trefoil contenders share: everything but the scheduler.
#![forbid(unsafe_code)]

mod channels;
mod fork_join;

use std::sync::OnceLock;

use async_workloads::adapt_tokio_api;
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use trefoil::runtime::{Builder, Runtime};

pub use channels::OwnChannels;
pub use fork_join::{KNOBS_WITH_FORKS, rows_that_fork};

/// What `--set` accepts beside the parameters.
pub const KNOBS: &[(&str, &str)] = &[IO];

const IO: (&str, &str) = ("io", "on");

/// Whether the I/O driver is on.
static HAS_IO: OnceLock<bool> = OnceLock::new();

adapt_tokio_api!(trefoil as Trefoil, start: start);

fn start(mut builder: Builder) -> Runtime {
    builder.enable_time();
    // All drivers, as for tokio.
    if HAS_IO.get() != Some(&false) {
        builder.enable_all();
    }
    builder.build().expect("the runtime starts")
}

/// All rows as tasks, on Trefoil with the scheduler `S`.
pub fn rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows::<Trefoil<S>, OwnChannels>();
    for (_, prepare) in &mut rows {
        *prepare = prepare_any::<S>;
    }
    rows
}

/// Any row as tasks, after its knob was read.
fn prepare_any<S: Scheduler>(request: &mut Request) -> Result<Work, Refusal> {
    read_io(request)?;
    prepare_one_of(&async_workloads::rows::<Trefoil<S>, OwnChannels>(), request)
}

fn read_io(request: &mut Request) -> Result<(), Refusal> {
    let has_io = !request.is_turned(IO.0, [IO.1, "off"])?;
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
