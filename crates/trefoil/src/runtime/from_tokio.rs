//! Coming from tokio: what is the same, and all that is different.
//!
//! Names, signatures and documented semantics are tokio's, so most programs are
//! ported by changing the name of the crate. The list of
//! [differences](self#differences) is meant to be complete; it is of tokio 1.54.
//! Most of it is asked of both in `tests/beside_tokio.rs`.
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
//! - `spawn` starts a task at once; dropping its handle lets it run on; a panic
//!   stays in it, and is in its `JoinError`.
//! - `abort` drops the task where it waits. One whose output is there keeps it.
//! - Tasks that are spawned into a runtime that is over, or a `LocalSet` that was
//!   dropped, are cancelled.
//! - `block_in_place` only calls its closure outside of a runtime and on blocking
//!   threads. It panics in a current-thread runtime.
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
//! **What there is not**
//!
//! - I/O: `net`, `io`, `fs`, `process` and `signal`; so no `enable_io`.
//! - Of `sync`, all but `oneshot` and `Notify`. tokio's own work here, for they
//!   need wakers only; but see *Budget*.
//! - Of `runtime::Builder`: `unhandled_panic`, `disable_lifo_slot`, `rng_seed`,
//!   `enable_alt_timer`, `enable_eager_driver_handoff`,
//!   `enable_sharded_blocking_queue`, and the hooks `on_task_spawn`,
//!   `on_task_terminate`, `on_before_task_poll` and `on_after_task_poll`. Of
//!   hooks, there are those of threads.
//! - `task::Builder`, and so names of tasks; `tracing`; dumps of tasks. A
//!   [`Handle::dump`](super::Handle::dump) is of the scheduler.
//! - Of metrics: `worker_mean_poll_time`, `worker_noop_count`,
//!   `worker_local_schedule_count`, `worker_thread_id`, `remote_schedule_count`,
//!   `budget_forced_yield_count`, and those of I/O. The others need no
//!   `tokio_unstable`.
//!
//! **Context**
//!
//! - `EnterGuard`s in the wrong order are a panic in both. Here the runtime is
//!   left all the same, and the current one is that of the newest guard that is
//!   left; with tokio, the thread stays in a runtime for good.
//! - An `EnterGuard` that outlives the `block_on` it was made in, or is leaked
//!   there, makes tokio's `block_on` panic. Here it stays in force.
//! - `LocalEnterGuard`s may be dropped in any order: again, the newest that is left
//!   counts. tokio's put back what they found, which may be a set that was left.
//! - A `block_on` within a `block_on`, by `block_in_place`, leaves the outer one
//!   its wake-ups. With tokio the outer one may wait forever.
//!
//! **Tasks**
//!
//! - A future that has panicked is dropped when the panic was caught, so
//!   [`thread::panicking`](std::thread::panicking) is false in its destructor;
//!   true with tokio. What an `async` block holds is dropped by the panic, in
//!   both.
//! - [`spawn_pinned`](crate::task::spawn_pinned) keeps a task on one worker.
//!
//! **Budget**
//!
//! - tokio's channels and locks spend no budget here. A task that receives from
//!   one that is never empty keeps its worker, unless it calls
//!   [`consume_budget`](crate::task::consume_budget), or wraps the future in
//!   [`cooperative`](crate::task::coop::cooperative()).
//!
//! **Scheduling**
//!
//! - Every policy has a bound: see the module `progress`.
//!
//! **Timers**
//!
//! - Every policy has a bound here, too: see the module `progress`.
//!
//! **Threads and names**
//!
//! - Threads are called `trefoil-worker`, not `tokio-rt-worker`.
//! - `TREFOIL_WORKER_THREADS` takes the place of `TOKIO_WORKER_THREADS`. Where
//!   tokio panics because it is no number or 0, it is ignored here.
//! - A runtime may have an empty name; tokio panics.
//! - The `global_queue_depth` of a current-thread runtime is 0: what other threads
//!   have sent is not counted.
//!
//! **More than tokio has**
//!
//! - Fork-join on the same workers: [`mod@crate::fork_join`]. With it comes a
//!   process-wide runtime for forks outside of any, [`global`](super::global()),
//!   which is no context: `spawn` outside of a runtime panics in both.
//! - Workers that are [pinned](super::Builder::worker_affinity) to CPUs.
