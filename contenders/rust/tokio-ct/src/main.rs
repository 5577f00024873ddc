//! tokio's current-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "tokio",
        threads_max: 1,
        workloads: &tokio_adapter::rows::<tokio_adapter::CurrentThread>(),
        knobs: tokio_adapter::KNOBS,
    }
}
