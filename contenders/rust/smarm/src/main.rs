//! smarm: green threads that it calls actors, with stacks of their own, on a number of schedulers.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use crate::actors::Actors;

mod actors;

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "smarm",
        threads_max: usize::MAX,
        workloads: &blocking_workloads::rows::<Actors>(),
    }
}
