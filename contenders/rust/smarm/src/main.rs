//! smarm: green threads that it calls actors, with stacks of their own, on a number of schedulers.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use palio_protocol::harness::Prepare;

mod actors;
mod rows;

const ROWS: &[(&str, Prepare)] = &[
    ("chained_spawn", rows::chained_spawn),
    ("yield_many", rows::yield_many),
    ("fan_out_compute", rows::primes),
    ("ping_pong_oneshot", rows::ping_pong_oneshot),
    ("spawn_storm_busy", rows::spawn_storm_busy),
    ("mpsc_contention", rows::mpsc_contention),
    ("many_timers", rows::many_timers),
    ("multi_thread_scaling", rows::primes),
    ("deep_recursion", rows::deep_recursion),
    ("yield_in_hot_loop", rows::yield_in_hot_loop),
    ("uncontended_channel", rows::uncontended_channel),
    ("catch_unwind_panics", rows::catch_unwind_panics),
];

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "smarm",
        threads_max: usize::MAX,
        workloads: ROWS,
    }
}
