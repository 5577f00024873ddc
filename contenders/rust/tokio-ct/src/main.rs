//! tokio's current-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use tokio_adapter::{Builder, Scheduler};

struct CurrentThread;

impl Scheduler for CurrentThread {
    const DRIVEN_BY_BLOCK_ON: bool = true;

    fn builder(_threads: usize) -> Builder {
        // The harness has refused more than one thread: the worker is the thread inside `block_on`.
        Builder::new_current_thread()
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "tokio",
        threads_max: 1,
        workloads: &tokio_adapter::rows::<CurrentThread>(),
        knobs: tokio_adapter::KNOBS,
    }
}
