//! Coming from tokio: what is the same, and all that is different.
//!
//! Names, signatures and documented semantics are tokio's, so most programs are ported by changing
//! the name of the crate. That can be left to `Cargo.toml`, and the program still says `tokio`, in
//! `#[tokio::main]` as well:
//!
//! ```toml
//! [dependencies]
//! tokio = { package = "trefoil", path = "…", features = ["full"] }
//! ```
//!
//! Other crates that depend on tokio keep their tokio; `compat` has adapters to its traits. Or
//! [something stands in](self#for-other-crates-too) for theirs as well.
//!
//! The list of [differences](self#differences) is meant to be complete; it is of tokio 1.54. Each
//! difference names the test that shows it, by its file and its function; `beside_tokio` asks both
//! crates.
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
//! # For other crates, too
//!
//! A program whose dependencies depend on tokio (axum, reqwest, tonic, sqlx) can give them Trefoil,
//! so that there is only one runtime, and types of both sides fit. It has a package of its own that
//! is called `tokio`, and is nothing but
//!
//! ```ignore
//! pub use trefoil::*;
//! ```
//!
//! with a version that all dependencies accept, and tokio's features:
//!
//! ```toml
//! [package]
//! name = "tokio"
//! version = "1.54.0"
//! edition = "2024"
//!
//! [features]
//! full = ["macros", "net", "process", "signal"]
//! macros = ["trefoil/macros"]
//! net = ["trefoil/net"]
//! process = ["trefoil/process"]
//! signal = ["trefoil/signal"]
//! test-util = ["trefoil/test-util"]
//! # For what is always there.
//! fs = []
//! io-std = []
//! io-util = []
//! parking_lot = []
//! rt = []
//! rt-multi-thread = []
//! sync = []
//! time = []
//! # For what is not there: console-subscriber and tarpc ask for it.
//! tracing = []
//!
//! [dependencies]
//! trefoil = { path = "…", default-features = false }
//! ```
//!
//! The manifest of the program's workspace puts it in the place of tokio:
//!
//! ```toml
//! [patch.crates-io]
//! tokio = { path = "tokio" }
//! ```
//!
//! If `Cargo.lock` has another version of tokio already, it stays until `cargo update tokio`, and
//! Cargo warns that the patch was not used. It also stays, with the same warning, if a dependency
//! asks for a feature that the package does not have. `cargo tree --invert trefoil` shows who has
//! Trefoil. Trefoil itself must not have its feature `tokio` then, or it would depend on itself.
//! Such a program is built and run by `renamed::other_crates_may_be_given_it_for_tokio`.
//!
//! Servers and clients of these were run in this way, on both schedulers: actix-web 4.18, quinn
//! 0.11, reqwest 0.12, sqlx 0.8 (SQLite), tarpc 0.36, tokio-rustls 0.26, tokio-tungstenite 0.27 and
//! warp 0.4. All tests of tokio-util 0.7, tokio-stream 0.1, tokio-test 0.4 and tower 0.5 pass.
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
//!   `shutdown_background` does not. The drop waits for blocking closures, and for those that wait
//!   for a thread.
//! - A timer that is polled in a runtime that has shut down panics.
//! - A future that panics is dropped while the panic unwinds.
//! - `Handle::block_on` does not drive a current-thread runtime;
//!   `Runtime::block_on` does.
//! - A poll has a budget of 128, and `unconstrained` lifts it.
//! - 512 blocking threads at most, each kept for ten seconds.
//! - A task that asks for a permit and has spent its budget takes its place before it yields.
//! - Panics name the line of the program that made the mistake.
//! - Futures of `select!`, `join!` and `try_join!` are no larger.
//!
//! # Differences
//!
//! What is unstable in tokio and is there, such as hooks of tasks, metrics and `unhandled_panic`,
//! needs no `cfg` here.
//!
//! ## Runtimes and tasks
//!
//! **What is missing**
//!
//! - Of `runtime::Builder`: `enable_alt_timer`, `enable_eager_driver_handoff`,
//!   `enable_sharded_blocking_queue` and `enable_io_uring`, which choose among implementations of
//!   tokio's; `track_task_schedule_latency`, and with it `TaskMeta::schedule_latency`.
//! - What tokio has deprecated: `metrics_poll_count_histogram_*` and `HistogramScale`,
//!   `poll_count_histogram_*`, `active_tasks_count`, `injection_queue_depth`.
//! - `tracing`, and dumps of tasks. [`Handle::dump`](super::Handle::dump) shows the scheduler's
//!   state.
//!
//! **Context**
//!
//! - Both panic if `EnterGuard`s are dropped in the wrong order. Here the dropped guard has no
//!   effect any more, and the current runtime is that of the newest guard. With tokio, the thread
//!   stays in a runtime for good. `beside_tokio::what_is_different`
//! - tokio's `block_on` panics if an `EnterGuard` that was made inside of it outlives it or is
//!   leaked. Here the guard keeps its effect. `beside_tokio::what_is_different`
//! - `LocalEnterGuard`s may be dropped in any order, and the newest one counts. tokio's guards
//!   restore the set that they found, whose own guard may have been dropped meanwhile.
//!   `beside_tokio::what_is_different`
//! - [`spawn_local`](crate::task::spawn_local) spawns into the set that was entered last, be it a
//!   `LocalSet` or that of a `LocalRuntime`. With tokio, the current runtime comes before all sets
//!   if it is a `LocalRuntime`. `beside_tokio::what_is_different`
//! - A `block_on` inside of another one, by `block_in_place`, leaves the outer one its wake-ups.
//!   With tokio, the outer one may wait forever.
//!   `task::nested_block_on::the_wakeups_of_the_outer_waits_are_not_lost`
//! - [`worker_index`](super::worker_index()) is `None` inside of `block_in_place`, where another
//!   thread may be the worker. With tokio, it is that of the worker that the thread was.
//!   `task::worker_index::a_pinned_task_knows_its_worker`
//! - The drop of a runtime on a thread of its own, in a blocking closure or in `block_in_place`,
//!   panics. tokio's waits for ever. `task::shutdown::dropping_a_runtime_on_its_own_thread_panics`
//! - In a fork of the process, `block_on` of a multi-thread runtime of the parent panics, and its
//!   drop does not wait. With tokio, both may wait for ever, for threads that only the parent has.
//!   Closures that are forked or installed run on their caller. A current-thread runtime goes on
//!   in the fork, if no other thread was spawning on it, or waking its tasks, when that was made:
//!   locks that such a thread held are never released there (nor are those of tokio's).
//!   `net_faults::a_fork_without_exec_has_no_workers`,
//!   `fork_outside::forks_in_a_fork_of_the_process_run_on_their_caller`
//!
//! **Hooks and panics**
//!
//! - [`on_task_terminate`](super::Builder::on_task_terminate) is called before whoever joins the
//!   task is woken; with tokio, afterwards. `task::hooks::hooks_follow_a_task_through_its_life`
//! - tokio calls `on_task_terminate` for closures of the blocking pool as well, and
//!   `on_task_spawn` not. Here no hook is called for them.
//!   `task::hooks::hooks_see_tasks_of_a_local_runtime_only`
//! - Hooks of tasks run in the context of their runtime, wherever a task is spawned from. With
//!   tokio, that of a spawn runs in the caller's. `task::hooks::hooks_are_called_in_their_runtime`
//! - A hook that panics harms nobody: its panic is caught.
//!   `task::hooks::hooks_may_do_what_tasks_may`
//! - [`TaskMeta`](super::TaskMeta) has the task's name; with tokio, only `tracing` has it.
//!   `task::hooks::hooks_see_names`
//! - After a panic has ended a runtime ([`UnhandledPanic`](super::UnhandledPanic)), the future of
//!   another `block_on` is not polled once more.
//!   `task::unhandled_panic::a_call_that_waits_for_a_task_panics_without_another_poll`
//! - If a future panics and its destructor panics in turn, the task has panicked. With tokio, the
//!   process aborts. `task::abort_and_panic::a_future_that_panics_is_dropped_in_its_panic`
//!
//! **Random numbers**
//!
//! - With [`rng_seed`](super::Builder::rng_seed), the numbers of a worker depend on nothing but the
//!   seed and the worker. With tokio, they depend on the order in which threads start.
//!   `rng_seed::the_same_seed_makes_the_same_choices`
//!
//! **Metrics**
//!
//! - `worker_mean_poll_time` is zero unless the runtime measures polls
//!   ([`enable_metrics_poll_time_histogram`][poll-time]), and is there for current-thread runtimes.
//!   `counters::the_mean_of_poll_times_is_measured_on_request`
//! - `budget_forced_yield_count` counts polls that had to yield; tokio counts polls that have spent
//!   their budget, whether they needed more or not.
//!   `counters::a_poll_that_has_to_yield_counts_once`
//! - `worker_local_queue_depth` of a current-thread runtime is zero for all threads but the one
//!   that drives it, while it does.
//!   `metrics::the_queue_of_a_current_thread_runtime_is_seen_by_its_thread`
//! - Polls of the tasks of a `LocalSet` count in `worker_poll_count`.
//!   `metrics::polls_of_local_tasks_count`
//! - [`max_error`](super::LogHistogramBuilder::max_error) takes the coarsest scale that keeps the
//!   bound; tokio's is never coarser than a quarter.
//!   `histograms::the_coarsest_scale_keeps_the_bound`
//!
//! **Budget**
//!
//! - Channels and locks of tokio's work here, but spend no budget. A task that receives from such
//!   a channel that is never empty keeps its worker, unless it calls
//!   [`consume_budget`](crate::task::consume_budget), or wraps the future in
//!   [`cooperative`](crate::task::coop::cooperative()). `beside_tokio::what_is_different`
//!
//! **Scheduling**
//!
//! - tokio promises that each task runs at some time, if tasks and their polls are bounded. Here
//!   every policy has a bound in polls: see [`progress`](mod@crate::progress).
//!   `progress::queues::a_task_in_the_ring` and others
//! - A task that is woken during its own poll, or has spent its budget, may be polled up to three
//!   times more before others. With tokio, it goes to the back of the queue.
//!   `task::coop::a_task_that_spends_all_its_budgets_leaves_others_their_turn`
//! - The queue that all workers share is looked at before each poll, and 4 to 128 tasks are taken
//!   at a time. tokio takes one, in an interval that it adapts.
//!   `progress::queues::a_task_in_the_shared_queue`
//! - The task in the LIFO slot of a worker that is in a long poll is passed on after 2 to 4 ms.
//!   `progress::busy_worker::the_task_in_its_lifo_slot`
//! - A worker's own queue grows to 65,536 tasks and stays in order; further tasks go to the shared
//!   one. tokio's queue holds 256 tasks, and its older half goes to the shared one.
//!   `metrics::a_queue_grows_and_stays_in_order`
//! - [`block_in_place`](crate::task::block_in_place) starts or wakes another thread only if there
//!   is work for it, then or later.
//!   `progress::blocking::blocking_starts_no_more_threads_than_block`
//!
//! **Shutdown**
//!
//! - With tokio, any worker drops the tasks at rest when the runtime ends. Here each worker drops
//!   its own, and others do so only when it blocks in place or forks. So the drop of the runtime
//!   waits for ever for a poll that blocks its thread otherwise until such a task is dropped.
//!   `beside_tokio::tasks_at_rest_go_with_the_worker_that_polled_them`
//!
//! **Timers**
//!
//! - Deadlines are rounded up to a sixteenth of a millisecond; with tokio to a whole one.
//!   `time::sleep::deadlines_are_rounded_up_to_a_sixteenth_of_a_millisecond`
//! - The timers of a worker that is in a long poll are fired by a thread that looks after workers,
//!   within 3 ms. `progress::busy_worker::timers`
//! - A timer may be polled outside of its runtime, and once that has shut down, in another one.
//!   With tokio, the latter panics. `time::sleep::a_timer_outlives_its_runtime`
//! - Stopped time does not jump to the next timer while there is an event of a socket that has not
//!   been looked at. With tokio, it does. `net::unix::stopped_time_does_not_jump_past_an_event`
//! - The timers of a thread in `Handle::block_on` of a current-thread runtime fire. With tokio,
//!   they wait for a thread that drives the runtime.
//!   `time::of_block_on::a_timer_fires_although_nobody_drives`
//!
//! **Threads and names**
//!
//! - Threads are called `trefoil-worker`, not `tokio-rt-worker`. `beside_tokio::what_is_different`
//! - With three workers or more, `build` starts the first worker's thread alone, and each other one
//!   starts when its worker is first woken: see [`worker_threads`](super::Builder::worker_threads).
//!   With tokio, `build` starts all. `task::unstarted::one_task_needs_one_thread`
//! - The texts of panics and errors are tokio's where a short one says all, and those of
//!   `JoinError` are. Others begin with the words that programs look for, and then name the way
//!   out; some name this crate where tokio's name tokio. Errors of channels and locks have other
//!   words: match on the errors, not on their texts.
//!   `time::after_shutdown::a_timer_panics_in_a_runtime_that_has_shut_down`
//!   `beside_tokio::what_is_different_of_channels`
//! - `TREFOIL_WORKER_THREADS` takes the place of `TOKIO_WORKER_THREADS`. A value that is 0 or not a
//!   number is ignored; tokio panics. `fork_outside::the_number_of_workers_is_the_environments`
//!
//! **More than tokio has**
//!
//! - Fork-join on the same workers: [`mod@crate::fork_join`]. Forks outside of any runtime go to a
//!   process-wide one, [`global`](super::global()). `spawn` outside of a runtime still panics, as
//!   with tokio. `task::blocking::spawning_outside_of_a_runtime_panics`
//! - [`spawn_pinned`](crate::task::spawn_pinned) keeps a task on one worker.
//!   `task::spawn::pinned_tasks_stay_on_their_worker`
//! - Workers that are [pinned](super::Builder::worker_affinity) to CPUs.
//!   `affinity::workers_run_where_they_are_told`
//!
//! [poll-time]: super::Builder::enable_metrics_poll_time_histogram
//!
//! ## Channels and locks
//!
//! **Permits** (of semaphores, and so of locks and bounded channels)
//!
//! - `close` gives back at once what the first waiter had gathered of what it wanted. With tokio,
//!   its future does when it is polled or dropped. `beside_tokio::what_is_different_of_permits`
//! - `add_permits` has changed nothing when it panics because there would be too many. With tokio,
//!   it has. `beside_tokio::what_is_different_of_permits`
//!
//! **Wakers and budget**
//!
//! - The panic of a waker is caught where permits are given and in destructors. With tokio, it goes
//!   on in whoever gives or drops. `beside_tokio::what_is_different_of_permits`
//!   `sync::wakers::panics_of_wakers_stay_in_destructors`
//! - A `OnceCell` or a `SetOnce` that has its value, a `Barrier` that opens at once, a notification
//!   that is there, and `closed` of the senders of a closed `mpsc` or `broadcast` channel spend
//!   budget. With tokio, a task that uses nothing else keeps its worker. A task without budget
//!   takes its place at a `Notify` all the same. `beside_tokio::what_is_different_of_permits`
//!
//! **Channels**
//!
//! - After `close` of an `mpsc` receiver, `recv` returns `None` although a `reserve_many` still
//!   waits that had gathered some of its permits. With tokio, it waits for that future to be polled
//!   or dropped. `beside_tokio::what_is_different_of_channels`
//! - If a permit of an `mpsc` channel is used after the receiver was dropped, the message is
//!   dropped at once. With tokio, it is kept for as long as there is a sender.
//!   `beside_tokio::what_is_different_of_channels`
//! - The receivers of a `watch` channel are woken in the order in which they began to wait; with
//!   tokio, in groups. `sync::watch::receivers_are_woken_in_order`
//!
//! **More than tokio has**
//!
//! - [`mpmc`](crate::sync::mpmc): channels of many senders and many receivers, also without room,
//!   where both sides meet. `sync::mpmc::at_a_rendezvous_both_sides_have_to_be_there`
//! - [`mpmc::select!`](crate::sync::mpmc::select!), which does exactly one of several operations on
//!   channels. `sync::mpmc_select::two_arms_never_both_happen`
//!
//! ## I/O
//!
//! **What is missing**
//!
//! - `signal` and `process` on Windows, and the named pipes of Windows.
//! - `io::bsd`.
//! - `AsSocket`, `AsRawSocket` and their like, and `AsHandle` of standard input and output, on
//!   Windows.
//!
//! **Sockets and signals**
//!
//! - A runtime takes the descriptors of its driver with the first socket, signal or child, which
//!   fails if there are none left. With tokio, the builder takes them, and fails.
//!   `net_faults::no_descriptor_for_the_first_socket`
//! - An event is seen although all workers are in long polls: by the monitor, within 4 ms. With
//!   tokio, it waits for a worker. `progress::events::beside_long_polls_of_all_workers`
//! - `readable`, `writable` and `ready` spend budget, so a loop of `readable` and `try_read` that
//!   never has to wait leaves others their turn. With tokio, it keeps its worker.
//!   `net::yields_and_others::waiting_for_what_is_ready_spends_the_budget`
//! - `lookup_host`, `bind` and `connect` of an address that needs no lookup spend budget, too.
//!   `net::yields_and_others::addresses_that_need_no_lookup_spend_the_budget`
//! - `readable` and `poll_read_ready` of a connection that was just accepted wait for what can be
//!   read. With tokio, they return at once, and the first read may be in vain.
//!   `net::tcp::an_accepted_connection_is_tried_before_any_event`
//! - A socket of std that is in blocking mode is refused with an error: by `from_std`, and by
//!   `connect` and `listen` of a `TcpSocket`. With tokio, `from_std` panics in builds with debug
//!   assertions; else it is a socket that blocks its worker, as it is with both on Windows, which
//!   does not tell. `net::tcp::to_the_standard_library_and_back`,
//!   `net::tcp::a_socket_that_blocks_is_refused_by_connect_and_listen`
//! - An error of a socket ends a wait to receive, which returns it: `recv` of a connected
//!   `UdpSocket` says that nobody listens there. With tokio, it waits until something is received.
//!   `net::datagrams::udp_errors_reach_those_who_receive`
//! - The end of a datagram socket, a pipe or a terminal may pass, and is waited for anew. With
//!   tokio, it is there for good. `net::unix::an_end_that_has_passed_makes_nobody_spin`,
//!   `net::unix_pipe::an_end_that_is_opened_again_makes_nobody_spin`
//! - `readable`, `writable` and `ready` wait on if another task has used up what woke them. With
//!   tokio, they return.
//!   `net::yields_and_others::who_waits_for_what_another_has_read_waits_on`
//! - A read that ends at the mark of urgent data is not taken for the end of what there is. tokio
//!   takes every short read for that, and what is behind the mark waits for the next event.
//!   `net::tcp::urgent_data_hides_nothing_behind_it`
//! - `AsFd` of an `AsyncFd` is there if what is inside of it has one. With tokio, `AsRawFd` is
//!   enough, but then the descriptor may have been closed; so its `new` is deprecated. Here `new`
//!   stays. `net::unix::a_descriptor_is_lent_if_its_owner_lends_it`
//! - A `Signal` belongs to the runtime in which it was made, and `recv` returns `None` when that
//!   has shut down. With tokio, it goes on as long as any runtime listens.
//!   `signal::two_runtimes_listen`
//! - A `Signal` receives nothing that came before its runtime first listened to the kind. With
//!   tokio, it may, if another runtime did and no driver has looked since.
//!   `signal::nothing_comes_from_before_the_first_listener_of_the_runtime`
//! - A `Signal` that is polled receives a signal that the driver has not looked at yet; a `Signal`
//!   made afterwards does not receive that one again. With tokio, all wait for the driver.
//!   `signal::what_comes_between_two_listeners_is_the_next_one_s`
//! - A signal to a forked child is not received by its parent.
//!   `signal::a_signal_of_a_fork_is_not_ours`
//!
//! **Child processes**
//!
//! - A `spawn` outside of a runtime panics before it starts anything.
//!   `process::outside_of_a_runtime_nothing_is_started`
//! - Children that are dropped before they end are reaped by descriptors of their own, and after
//!   the end of their runtime by the next `spawn`. With tokio, a signal handler does it.
//!   `process::the_next_spawn_takes_orphans_over`
//! - A `wait` whose runtime has shut down goes on in the runtime that polls it.
//!   `process::another_runtime_takes_a_wait_over`
//!
//! **Readers and writers**
//!
//! - A `read_line` or `read_to_string` that is dropped leaves the string as it was. With tokio, the
//!   string may be empty afterwards. `beside_tokio::a_dropped_read_leaves_the_string_as_it_was`
//! - `flush` and `shutdown` of any writer spend budget. With tokio, those of sockets and of pipes
//!   in memory spend none. `io::budget::to_flush_and_to_shut_down_spends_the_budget`
//! - Every method notices a reader that exchanges the buffer it was given, and panics; with tokio,
//!   some do. `io::hostile::a_reader_that_exchanges_the_buffer_is_noticed_by_every_caller`
//!
//! **More than tokio has**
//!
//! - Adapters to the traits of other crates, tokio's among them: `compat`.
//!   `io::compat_tokio::a_type_of_this_crate_works_with_the_methods_of_tokio`
