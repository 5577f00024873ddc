//! Trefoil's current-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use async_workloads::TokioChannels;
use trefoil_adapter::{Builder, Scheduler, Trefoil};

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
        runtime: "trefoil",
        threads_max: 1,
        workloads: &async_workloads::rows::<Trefoil<CurrentThread>, TokioChannels>(),
    }
}
