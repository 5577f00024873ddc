//! tokio's multi-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use tokio_adapter::{Builder, Scheduler};

struct MultiThread;

impl Scheduler for MultiThread {
    const DRIVEN_BY_BLOCK_ON: bool = false;

    fn builder(threads: usize) -> Builder {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "tokio",
        threads_max: usize::MAX,
        workloads: &tokio_adapter::rows::<MultiThread>(),
        knobs: tokio_adapter::KNOBS,
    }
}
