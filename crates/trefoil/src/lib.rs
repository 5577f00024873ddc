//! Trefoil is a concurrency runtime: asynchronous tasks and fork-join on one set of worker threads,
//! with timers and a pool of threads for calls that block.
//!
//! **What it cannot do yet.** There is no I/O: no network, no files, no processes and no signals.
//! Of channels and locks there are only [`oneshot`](sync::oneshot) and [`Notify`](sync::Notify);
//! those of other crates [work here](self#talking-to-each-other).
//!
//! Names and signatures follow tokio's and rayon's, so most programs that need no I/O are ported by
//! changing the name of a crate. The guides [for users of tokio](runtime::from_tokio) and [for
//! users of rayon](fork_join::from_rayon) list all differences. This page is a tour; each stop is a
//! program that runs.
//!
//! # A first program
//!
//! ```
//! #[trefoil::main]
//! async fn main() {
//!     let task = trefoil::spawn(async { 6 * 7 });
//!     assert_eq!(task.await.unwrap(), 42);
//! }
//! ```
//!
//! [`main`](macro@main) makes a runtime with one worker per CPU that the process may use, and runs
//! the function in it. Without the macro, that is
//!
//! ```
//! use trefoil::runtime::Builder;
//!
//! fn main() -> std::io::Result<()> {
//!     let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
//!     let answer = runtime.block_on(async { 6 * 7 });
//!     assert_eq!(answer, 42);
//!     Ok(())
//! } // The drop of the runtime cancels its tasks and waits for its threads.
//! ```
//!
//! [`Builder`](runtime::Builder) lists what else can be chosen: the names and stacks of threads,
//! the CPUs that they are pinned to, and, with
//! [`new_current_thread`](runtime::Builder::new_current_thread), a runtime that runs all tasks on
//! the calling thread and pays for no synchronisation.
//!
//! # Tasks
//!
//! A task is a future that the runtime drives on its own, on any worker that is free. A task starts
//! when it is spawned and costs one allocation. Its [`JoinHandle`](task::JoinHandle) is a future
//! that returns the task's output, or a [`JoinError`](task::JoinError) if the task panicked or was
//! aborted. A task whose handle is dropped runs on.
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::task::{self, JoinSet};
//!
//! // Many tasks, joined in the order in which they end.
//! let mut squares = JoinSet::new();
//! for n in 1..=10u64 {
//!     squares.spawn(async move { n * n });
//! }
//! let mut sum = 0;
//! while let Some(square) = squares.join_next().await {
//!     sum += square.unwrap();
//! }
//! assert_eq!(sum, 385);
//!
//! // A panic stays in its task.
//! let error = trefoil::spawn(async { panic!("oh") }).await.unwrap_err();
//! assert!(error.is_panic());
//!
//! // An aborted task is dropped at the `.await` where it waits.
//! let endless = trefoil::spawn(std::future::pending::<()>());
//! endless.abort();
//! assert!(endless.await.unwrap_err().is_cancelled());
//!
//! // A pinned task stays on one worker, and so in that worker's caches.
//! task::spawn_pinned(0, async {}).await.unwrap();
//! # }
//! ```
//!
//! A task must not keep its worker for long without an `.await`. Long computations belong into
//! [`mod@fork_join`], and calls that block belong into [`spawn_blocking`](task::spawn_blocking).
//! Futures of this crate yield now and then even if they are always ready; see [`task::coop`].
//!
//! # Several things within one task
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use std::time::Duration;
//! use trefoil::time::{sleep, timeout};
//!
//! // All of them:
//! let (a, b) = trefoil::join!(async { 1 }, async { 2 });
//! assert_eq!(a + b, 3);
//!
//! // The first of them:
//! let winner = trefoil::select! {
//!     () = sleep(Duration::from_millis(1)) => "hare",
//!     () = sleep(Duration::from_secs(3600)) => "tortoise",
//! };
//! assert_eq!(winner, "hare");
//!
//! // With a limit of time:
//! let late = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
//! assert!(late.is_err());
//! # }
//! ```
//!
//! `select!` and `timeout` drop the futures that have not finished. A dropped future may lose what
//! it was about to do, so the documentation of each asynchronous function has a section on
//! cancellation safety.
//!
//! # Talking to each other
//!
//! [`sync`] has a channel for one value, [`oneshot`](sync::oneshot), and a signal,
//! [`Notify`](sync::Notify). Channels, locks and semaphores of other crates work here, such as
//! those of `tokio::sync` and `async-channel`: all they need of a runtime is wakers.
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::sync::oneshot;
//!
//! let (sender, receiver) = oneshot::channel();
//! trefoil::spawn(async move { sender.send("hello") });
//! assert_eq!(receiver.await.unwrap(), "hello");
//!
//! let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
//! trefoil::spawn(async move {
//!     for n in 0..100 {
//!         sender.send(n).await.unwrap();
//!     }
//! });
//! let mut sum = 0;
//! while let Some(n) = receiver.recv().await {
//!     sum += n;
//! }
//! assert_eq!(sum, 4950);
//! # }
//! ```
//!
//! # Computing
//!
//! [`mod@fork_join`] divides a computation among the workers that also run the tasks. There is no
//! second pool, and no hand-over between two pools. The closures may borrow from the stack, because
//! the call returns only when all of them have ended.
//!
//! ```
//! use trefoil::fork_join::{chunks_mut, for_each, join};
//!
//! fn fib(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//!
//! # #[trefoil::main]
//! # async fn main() {
//! // Inside of a task:
//! assert_eq!(trefoil::spawn(async { fib(20) }).await.unwrap(), 6765);
//!
//! let mut pixels = vec![7u8; 10_000];
//! for_each(chunks_mut(&mut pixels, 256), |chunk| chunk.fill(0));
//! assert!(pixels.iter().all(|&pixel| pixel == 0));
//! # }
//! ```
//!
//! Synchronous code reaches the workers with [`Runtime::install`](runtime::Runtime::install).
//!
//! # Blocking
//!
//! Closures that block run on a pool of threads that grows as needed. Code that cannot be moved to
//! another thread may block in place: another thread then becomes the worker.
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::task;
//!
//! let text = task::spawn_blocking(|| std::fs::read_to_string("/dev/null")).await.unwrap();
//! assert_eq!(text.unwrap(), "");
//!
//! let here = String::from("borrowed");
//! trefoil::spawn(async move {
//!     let length = task::block_in_place(|| here.len());
//!     assert_eq!(length, 8);
//! })
//! .await
//! .unwrap();
//! # }
//! ```
//!
//! # Without `Send`
//!
//! A task may move to another thread at each `.await`, so it has to be `Send`. The tasks of a
//! [`LocalSet`](task::LocalSet) or a [`LocalRuntime`](runtime::LocalRuntime) stay on their thread
//! and need not be `Send`.
//!
//! ```
//! use std::cell::Cell;
//! use std::rc::Rc;
//!
//! #[trefoil::main(flavor = "local")]
//! async fn main() {
//!     let count = Rc::new(Cell::new(0));
//!     let its = Rc::clone(&count);
//!     trefoil::task::spawn_local(async move { its.set(its.get() + 1) }).await.unwrap();
//!     assert_eq!(count.get(), 1);
//! }
//! ```
//!
//! # Looking inside
//!
//! [`RuntimeMetrics`](runtime::RuntimeMetrics) counts tasks, polls, parks and steals. On request, a
//! runtime also keeps histograms of how long polls take and how long tasks wait for a poll. When a
//! program hangs, [`Handle::dump`](runtime::Handle::dump) shows the state of each worker.
//!
//! ```
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() {
//! use trefoil::runtime::Handle;
//!
//! let resting = trefoil::spawn(std::future::pending::<()>());
//! let metrics = Handle::current().metrics();
//! assert_eq!((metrics.num_workers(), metrics.num_alive_tasks()), (1, 1));
//! # drop(resting);
//! # }
//! ```
//!
//! # Testing
//!
//! [`test`](macro@test) runs an asynchronous test. With the feature `test-util`, time can be
//! paused. Paused time jumps to the next timer when nothing else is left to do, so an hour passes
//! at once, and timers still fire in order.
//!
//! ```
//! # #[cfg(feature = "test-util")]
//! #[trefoil::main(flavor = "current_thread", start_paused = true)]
//! async fn main() {
//!     use trefoil::time::{Duration, Instant, sleep};
//!
//!     let start = Instant::now();
//!     sleep(Duration::from_secs(3600)).await;
//!     assert!(start.elapsed() >= Duration::from_secs(3600));
//! }
//! # #[cfg(not(feature = "test-util"))]
//! # fn main() {}
//! ```
//!
//! # Features
//!
//! | feature | on by default | what |
//! |---|---|---|
//! | `macros` | yes | [`main`](macro@main), [`test`](macro@test), [`select!`] and its like |
//! | `test-util` | no | paused time: `time::pause` and the like |

#[cfg(any(feature = "tokio", feature = "futures-io", feature = "hyper"))]
pub mod compat;
mod context;
pub mod design;
pub mod fork_join;
pub mod fs;
mod idle;
pub mod io;
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "net")]
pub mod net;
mod primitives;
#[cfg(all(feature = "process", unix, not(loom)))]
pub mod process;
#[doc = include_str!("progress.md")]
pub mod progress {}
mod queue;
mod reactor;
pub mod runtime;
mod scheduler;
#[cfg(feature = "signal")]
pub mod signal;
pub mod sync;
pub mod task;
pub mod time;

pub use task::spawn;

#[cfg(feature = "macros")]
pub use trefoil_macros::{main, test};

/// Makes `cargo test` compile and run the programs in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
