//! Coming from tokio: what is the same, and all that is different.
//!
//! Names, signatures and documented semantics are tokio's, so most programs that need no I/O are
//! ported by changing the name of the crate. The list of [differences](self#differences) is meant
//! to be complete; it is of tokio 1.54. `tests/beside_tokio.rs` tries most of it with both crates.
//!
//! ```
//! macro_rules! answer {
//!     ($runtime:ident) => {{
//!         use $runtime::{runtime::Builder, task, time};
//!         let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
//!         runtime.block_on(async {
//!             let mut tasks = task::JoinSet::new();
//!             for n in 1..=4u64 {
//!                 tasks.spawn(async move {
//!                     time::sleep(time::Duration::from_millis(n)).await;
//!                     task::block_in_place(|| n)
//!                 });
//!             }
//!             tasks.join_all().await.into_iter().sum::<u64>()
//!         })
//!     }};
//! }
//! # fn main() -> std::io::Result<()> {
//! assert_eq!((answer!(tokio), answer!(trefoil)), (10, 10));
//! # Ok(())
//! # }
//! ```
//!
//! # The same
//!
//! - `spawn` starts a task even if nobody awaits its handle. A task whose handle is dropped runs
//!   on. A panic stays in its task and is returned in the `JoinError`.
//! - `abort` drops a task at the `.await` where it waits. A task that has ended keeps its output.
//! - A task that is spawned into a runtime that has shut down, or into a `LocalSet` that was
//!   dropped, is cancelled.
//! - Outside of a runtime and on blocking threads, `block_in_place` only calls its closure. It
//!   panics in a current-thread runtime.
//! - `block_on`, and the drop of a runtime, panic in asynchronous code;
//!   `shutdown_background` does not. The drop waits for blocking closures that
//!   have started.
//! - `Handle::block_on` does not drive a current-thread runtime;
//!   `Runtime::block_on` does.
//! - A poll has a budget of 128, and `unconstrained` lifts it.
//! - 512 blocking threads at most, each kept for ten seconds.
//!
//! # Differences
//!
//! **What is missing**
//!
//! - I/O: `net`, `io`, `fs`, `process` and `signal`, and so `enable_io`.
//! - Of `sync`, everything but `oneshot` and `Notify`. The types of `tokio::sync` work here,
//!   because all they need is wakers; but see *Budget*.
//! - Of `runtime::Builder`: `unhandled_panic`, `disable_lifo_slot`, `rng_seed`,
//!   `enable_alt_timer`, `enable_eager_driver_handoff`,
//!   `enable_sharded_blocking_queue`, and the hooks `on_task_spawn`,
//!   `on_task_terminate`, `on_before_task_poll` and `on_after_task_poll`. The hooks of threads are
//!   there.
//! - `task::Builder`, and so names of tasks; `tracing`; dumps of tasks.
//!   [`Handle::dump`](super::Handle::dump) shows the scheduler's state.
//! - Of metrics: `worker_mean_poll_time`, `worker_noop_count`,
//!   `worker_local_schedule_count`, `worker_thread_id`, `remote_schedule_count`,
//!   `budget_forced_yield_count`, and those of I/O. The others need no
//!   `tokio_unstable`.
//!
//! **Context**
//!
//! - Both panic if `EnterGuard`s are dropped in the wrong order. Here the dropped guard has no
//!   effect any more, and the current runtime is that of the newest guard. With tokio, the thread
//!   stays in a runtime for good.
//! - tokio's `block_on` panics if an `EnterGuard` that was made inside of it outlives it or is
//!   leaked. Here the guard keeps its effect.
//! - `LocalEnterGuard`s may be dropped in any order, and the newest one counts. tokio's guards
//!   restore the set that they found, whose own guard may have been dropped meanwhile.
//! - A `block_on` inside of another one, by `block_in_place`, leaves the outer one its wake-ups.
//!   With tokio, the outer one may wait forever.
//!
//! **Tasks**
//!
//! - A future that panics is dropped after the panic was caught, so
//!   [`thread::panicking`](std::thread::panicking) is false in its destructor. With tokio it is
//!   true. In both, the panic itself drops the variables of an `async` block.
//! - [`spawn_pinned`](crate::task::spawn_pinned) keeps a task on one worker.
//!
//! **Budget**
//!
//! - tokio's channels and locks spend no budget here. A task that receives from a channel that is
//!   never empty keeps its worker, unless it calls
//!   [`consume_budget`](crate::task::consume_budget), or wraps the future in
//!   [`cooperative`](crate::task::coop::cooperative()).
//!
//! **Scheduling**
//!
//! - tokio promises that each task runs at some time, if tasks and their polls are bounded. Here
//!   every policy has a bound in polls: see [`progress`](mod@crate::progress).
//! - A task that is woken during its own poll, or has spent its budget, may be polled up to three
//!   times more before others. With tokio, it goes to the back of the queue.
//! - The queue that all workers share is looked at before each poll, and 4 to 128 tasks are taken
//!   at a time. tokio takes one, in an interval that it adapts.
//! - The task in the LIFO slot of a worker that is in a long poll is passed on after 2 to 4 ms.
//! - A worker's own queue grows to 65,536 tasks and stays in order; further tasks go to the shared
//!   one. tokio's queue holds 256 tasks, and its older half goes to the shared one.
//! - [`block_in_place`](crate::task::block_in_place) starts or wakes another thread only if there
//!   is work for it, then or later.
//!
//! **Shutdown**
//!
//! - With tokio, any worker drops the tasks at rest when the runtime ends. Here each worker drops
//!   its own, and others do so only when it blocks in place or forks. So the drop of the runtime
//!   waits for ever for a poll that blocks its thread otherwise until such a task is dropped.
//!
//! **Timers**
//!
//! - Deadlines are rounded up to a quarter of a millisecond; with tokio to one.
//! - The timers of a worker that is in a long poll are fired by a thread that looks after workers,
//!   within 3 ms.
//!
//! **Threads and names**
//!
//! - Threads are called `trefoil-worker`, not `tokio-rt-worker`.
//! - `TREFOIL_WORKER_THREADS` takes the place of `TOKIO_WORKER_THREADS`. A value that is 0 or not a
//!   number is ignored; tokio panics.
//! - A runtime may have an empty name; tokio panics.
//! - The `global_queue_depth` of a current-thread runtime is 0: tasks that other threads have
//!   scheduled do not count.
//! - The texts of panics and errors are not tokio's, except those of `JoinError`.
//!
//! **More than tokio has**
//!
//! - Fork-join on the same workers: [`mod@crate::fork_join`]. Forks outside of any runtime go to a
//!   process-wide one, [`global`](super::global()). `spawn` outside of a runtime still panics, as
//!   with tokio.
//! - Workers that are [pinned](super::Builder::worker_affinity) to CPUs.
