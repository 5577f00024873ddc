//! compio: a runtime on each thread, over io_uring where the system allows it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use async_workloads::{TokioSync, rows_on_one_thread};
use palio_protocol::harness::Prepare;

mod net;
mod runtime;

fn rows() -> Vec<(&'static str, Prepare)> {
    let mut rows = rows_on_one_thread::<runtime::OneThread, TokioSync>();
    rows.extend(thread_per_core::rows::<net::Compio>());
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "compio",
        threads_max: usize::MAX,
        workloads: &rows(),
        driver: runtime::driver(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_sleep_that_is_nothing_before_its_first_poll_is_not_timed() {
        // It is made where there is no runtime, so that it has asked for none.
        drop(compio::time::sleep(Duration::from_secs(1)));
        assert!(rows().iter().all(|(row, _)| *row != "timer/sleep"));
    }
}
