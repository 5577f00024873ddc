//! The workloads that async runtimes race, written once.
//!
//! A contender implements [`AsyncRuntime`] in a page of code, names its [`Channels`] and takes
//! [`rows`] as its table: what it runs is then the same code as every other contender's, and the
//! runtime is all that differs.
//!
//! Rows take care that the work happens on the workers: the thread that takes the sample spawns a
//! root task and waits. More is done there only in the rows that are about spawning or notifying
//! from outside, and where the root is asked to run outside.
#![forbid(unsafe_code)]

mod background;
mod catch_unwind_panics;
mod chained_spawn;
mod channels;
mod deep_recursion;
mod defer_one;
mod fairness;
mod fan_in;
mod fan_out;
mod fan_out_compute;
mod fib;
mod held_out;
mod matmul;
mod native_sync;
mod net;
mod nqueens;
mod one_thread;
mod own_channel;
mod ping_pong;
mod ping_pong_oneshot;
mod primitives;
mod request_reply;
mod row;
mod runtime;
mod self_wake;
mod skynet;
mod spawn;
mod spawn_blocking;
mod spawn_many;
mod spawn_many_from_outside;
mod spawn_many_local;
mod spawn_many_remote;
mod spawn_one;
mod spawn_storm_busy;
mod sync_broadcast;
mod sync_mpsc;
mod sync_notify;
mod sync_semaphore;
mod sync_watch;
mod tcp_ping_pong;
mod tcp_server;
#[cfg(test)]
mod test_runtime;
mod timers;
mod tokio_api;
mod tokio_sync;
mod yield_many;

use palio_protocol::harness::Prepare;

pub use channels::Channels;
pub use defer_one::{Deferring, prepare_defer_one};
pub use native_sync::{native_rows, native_rows_on_channels, native_rows_on_semaphores};
pub use net::AsyncNet;
pub use one_thread::rows_on_one_thread;
pub use primitives::{Broadcasts, Notifies, Oneshots, Semaphores, Watches};
pub use runtime::AsyncRuntime;
pub use self_wake::wake_and_yield;
pub use tcp_server::{TcpServer, tcp_rows};
pub use timers::TimedTask;
pub use tokio_sync::TokioSync;

/// In these an outside thread waits in another way than in `block_on`.
fn rows_beside_running_workers<R: AsyncRuntime>() -> [(&'static str, Prepare); 6] {
    [
        ("rt_multi_threaded/spawn_many_local", spawn_many_local::prepare::<R>),
        ("rt_multi_threaded/ping_pong", ping_pong::prepare::<R>),
        ("rt_multi_threaded/yield_many", yield_many::prepare_steady::<R>),
        ("rt_multi_threaded/chained_spawn", chained_spawn::prepare_steady::<R>),
        ("sync_notify/notify_one", sync_notify::prepare_one::<R, TokioSync>),
        ("sync_notify/notify_waiters", sync_notify::prepare_waiters::<R, TokioSync>),
    ]
}

/// The rows of the documents that leave the channel to the contender.
#[must_use]
pub fn rows_on_channels<R: AsyncRuntime, C: Channels>() -> [(&'static str, Prepare); 3] {
    [
        ("fan_in", fan_in::prepare::<R, C>),
        ("mpsc_contention", own_channel::prepare_contention::<R, C>),
        ("uncontended_channel", own_channel::prepare_uncontended::<R, C>),
    ]
}

/// Every workload of the documents that `R` can run, raced on `R` with the channels `C`.
pub fn rows<R: AsyncRuntime, C: Channels>() -> Vec<(&'static str, Prepare)> {
    let mut rows: Vec<(&'static str, Prepare)> = vec![
        ("fib", fib::prepare::<R>),
        ("skynet", skynet::prepare::<R>),
        ("nqueens", nqueens::prepare::<R>),
        ("matmul", matmul::prepare::<R>),
        ("rt_current_thread/spawn_many_local", spawn_many::prepare_local::<R>),
        ("rt_current_thread/spawn_many_remote_busy", spawn_many::prepare_remote_busy::<R>),
        ("rt_multi_threaded/spawn_many_remote", spawn_many_remote::prepare::<R>),
        ("rt_multi_threaded/spawn_many_remote_idle", spawn_many_from_outside::prepare_idle::<R>),
        ("rt_multi_threaded/spawn_many_remote_busy1", spawn_many::prepare_remote_busy1::<R>),
        ("rt_multi_threaded/spawn_many_remote_busy2", spawn_many_from_outside::prepare_busy2::<R>),
        ("spawn_blocking/concurrency", spawn_blocking::prepare::<R>),
        ("spawn/basic_scheduler_spawn", spawn::prepare_basic::<R>),
        ("spawn/threaded_scheduler_spawn", spawn::prepare_threaded::<R>),
        ("sync_broadcast/contention", sync_broadcast::prepare::<R, TokioSync>),
        ("sync_mpsc/contention", sync_mpsc::prepare_contention::<R>),
        ("sync_mpsc/uncontended", sync_mpsc::prepare_uncontended::<R>),
        ("sync_mpsc_oneshot/request_reply", request_reply::prepare::<R>),
        ("sync_semaphore/uncontended", sync_semaphore::prepare::<R, TokioSync>),
        ("sync_semaphore/contention", sync_semaphore::prepare::<R, TokioSync>),
        ("sync_watch/contention_resubscribe", sync_watch::prepare::<R, TokioSync>),
        ("timer/timeout", timers::prepare_timeout::<R>),
        ("timer/sleep_armed", timers::prepare_sleep_armed::<R>),
        ("chained_spawn", chained_spawn::prepare_cold::<R>),
        ("yield_many", yield_many::prepare_cold::<R>),
        ("fan_out_compute", fan_out_compute::prepare::<R>),
        ("ping_pong_oneshot", ping_pong_oneshot::prepare::<R>),
        ("spawn_storm_busy", spawn_storm_busy::prepare::<R>),
        ("many_timers", timers::prepare_many_timers::<R>),
        ("multi_thread_scaling", fan_out_compute::prepare::<R>),
        ("deep_recursion", deep_recursion::prepare::<R>),
        ("yield_in_hot_loop", yield_many::prepare_hot_loop::<R>),
        ("catch_unwind_panics", catch_unwind_panics::prepare::<R>),
        ("spawn_one", spawn_one::prepare::<R>),
    ];
    rows.extend(rows_on_channels::<R, C>());
    if R::MAKES_SLEEPS_AT_ONCE {
        rows.push(("timer/sleep", timers::prepare_sleep::<R>));
    }
    rows.extend(fairness::rows::<R>());
    rows.extend(held_out::rows::<R, C>());
    if !R::DRIVEN_BY_BLOCK_ON {
        rows.extend(rows_beside_running_workers::<R>());
    }
    rows
}

/// As [`rows`], and those about sockets.
pub fn rows_with_net<R: AsyncNet, C: Channels>() -> Vec<(&'static str, Prepare)> {
    let mut rows = rows::<R, C>();
    rows.extend(tcp_ping_pong::rows::<R>());
    rows
}

/// Whether a workload uses sockets, so that nothing of it goes with a runtime's I/O driver off.
pub fn needs_net(workload: &str) -> bool {
    workload.starts_with("tcp_")
}
