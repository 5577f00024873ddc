//! tokio's multi-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "tokio",
        threads_max: usize::MAX,
        workloads: &tokio_adapter::rows::<tokio_adapter::MultiThread>(),
        knobs: tokio_adapter::KNOBS,
    }
}
