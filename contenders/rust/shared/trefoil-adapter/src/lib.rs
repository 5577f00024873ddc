//! What the Trefoil contenders share: everything but the scheduler.
#![forbid(unsafe_code)]

mod channels;
mod fork_join;

use async_workloads::adapt_tokio_api;
use palio_protocol::harness::Prepare;
use trefoil::runtime::{Builder, Runtime};

pub use channels::OwnChannels;
pub use fork_join::{KNOBS, rows_that_fork};

adapt_tokio_api!(trefoil as Trefoil, start: start);

fn start(mut builder: Builder) -> Runtime {
    builder.enable_all().build().expect("the runtime starts")
}

/// All rows as tasks, on Trefoil with the scheduler `S`.
pub fn rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    async_workloads::rows::<Trefoil<S>, OwnChannels>()
}
