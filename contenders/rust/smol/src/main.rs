//! smol: its `Executor`, run by N threads.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod channel;
mod runtime;

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "smol",
        threads_max: usize::MAX,
        workloads: &async_workloads::rows::<runtime::Smol, channel::SmolChannels>(),
    }
}
