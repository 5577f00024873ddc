//! Trefoil's current-thread runtime.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "trefoil",
        threads_max: 1,
        workloads: &trefoil_adapter::rows::<trefoil_adapter::CurrentThread>(),
        knobs: trefoil_adapter::KNOBS,
    }
}
