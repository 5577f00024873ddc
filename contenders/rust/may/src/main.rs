//! may: stackful coroutines, which block where a future would be awaited.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use palio_protocol::harness::Prepare;

mod background;
mod channel;
mod compute;
mod scheduler;
mod spawn;
mod tcp;
mod tcp_server;

const ROWS: &[(&str, Prepare)] = &[
    ("rt_current_thread/spawn_many_local", spawn::many_local),
    ("rt_current_thread/spawn_many_remote_busy", spawn::many_remote_busy),
    ("rt_multi_threaded/spawn_many_local", spawn::many_detached),
    ("rt_multi_threaded/spawn_many_remote", spawn::many_remote),
    ("rt_multi_threaded/spawn_many_remote_idle", spawn::many_remote_idle),
    ("rt_multi_threaded/spawn_many_remote_busy2", spawn::many_remote_busy2),
    ("rt_multi_threaded/ping_pong", channel::ping_pong),
    ("rt_multi_threaded/yield_many", spawn::yield_many_steady),
    ("rt_multi_threaded/chained_spawn", spawn::chained_spawn_steady),
    ("spawn/basic_scheduler_spawn", spawn::yield_once_on_one),
    ("spawn/threaded_scheduler_spawn", spawn::yield_once),
    ("sync_mpsc/contention", channel::contention_steady),
    ("sync_mpsc/uncontended", channel::uncontended_steady),
    ("sync_semaphore/uncontended", channel::semaphore),
    ("sync_semaphore/contention", channel::semaphore),
    ("native_sync/mpsc_contention", channel::contention_in_one),
    ("native_sync/mpsc_uncontended", channel::uncontended_in_one),
    ("native_sync/semaphore_uncontended", channel::semaphore_in_one),
    ("native_sync/semaphore_contention", channel::semaphore_in_one),
    ("chained_spawn", spawn::chained_spawn_cold),
    ("yield_many", spawn::yield_many_cold),
    ("fan_out_compute", compute::primes),
    ("ping_pong_oneshot", channel::ping_pong_oneshot),
    ("mpsc_contention", channel::contention_cold),
    ("many_timers", compute::many_timers),
    ("multi_thread_scaling", compute::primes),
    ("deep_recursion", compute::deep_recursion),
    ("yield_in_hot_loop", spawn::yield_in_hot_loop),
    ("uncontended_channel", channel::uncontended_cold),
    ("catch_unwind_panics", compute::catch_unwind_panics),
    ("tcp_echo_latency", tcp_server::echoing),
    ("tcp_compute_latency", tcp_server::computing),
    ("spawn_one", blocking_workloads::spawn_one::<scheduler::Scheduler>),
    ("tcp_ping_pong", tcp::ping_pong),
];

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "may",
        threads_max: usize::MAX,
        workloads: ROWS,
        knobs: scheduler::KNOBS,
    }
}
