//! For runtimes whose tasks never leave the thread in `block_on`: the rows that such a thread can
//! run alone, with tasks that only tasks spawn.

use palio_protocol::harness::{Prepare, Refusal, Request, Work};

use crate::{AsyncRuntime, Channels, rows};

/// No thread but the one in `block_on` acts in these, nor is a panic of a task caught.
const ON_ONE_THREAD: &[&str] = &[
    "fib",
    "skynet",
    "nqueens",
    "matmul",
    "rt_current_thread/spawn_many_local",
    "spawn/basic_scheduler_spawn",
    "timer/timeout",
    "timer/sleep",
    "timer/sleep_armed",
    "fan_in",
    "chained_spawn",
    "yield_many",
    "fan_out_compute",
    "ping_pong_oneshot",
    "mpsc_contention",
    "many_timers",
    "multi_thread_scaling",
    "deep_recursion",
    "yield_in_hot_loop",
    "uncontended_channel",
    "spawn_one",
    "held_out/unbalanced_tree",
    "held_out/phases",
    "held_out/pipeline",
    "held_out/broadcast",
    "held_out/deadlines",
    "held_out/requests",
];

/// Those of [`rows`](crate::rows), each refused on more than one thread.
pub fn rows_on_one_thread<R: AsyncRuntime, C: Channels>() -> Vec<(&'static str, Prepare)> {
    let all = rows::<R, C>().into_iter().filter(|(name, _)| ON_ONE_THREAD.contains(name));
    all.map(|(name, _)| (name, prepare::<R, C> as Prepare)).collect()
}

fn prepare<R: AsyncRuntime, C: Channels>(request: &mut Request) -> Result<Work, Refusal> {
    if request.threads != 1 {
        let reason = "its tasks stay with their thread: this row runs on one thread here";
        return Err(Refusal::Unsupported(reason.into()));
    }
    let rows = rows::<R, C>();
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}
