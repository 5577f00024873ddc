//! smol: its `Executor`, run by N threads.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use async_workloads::{native_rows_on_channels, native_rows_on_semaphores, tcp_rows};
use palio_protocol::harness::Prepare;

mod channel;
mod net;
mod runtime;
mod tcp;

use channel::SmolSync;
use runtime::Smol;

fn rows() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows_with_net::<Smol, SmolSync>();
    rows.extend(native_rows_on_channels::<Smol, SmolSync, SmolSync>());
    rows.extend(native_rows_on_semaphores::<Smol, SmolSync>());
    rows.extend(tcp_rows::<Smol>());
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "smol",
        threads_max: usize::MAX,
        workloads: &rows(),
    }
}
