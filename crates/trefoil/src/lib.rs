//! Trefoil is a concurrency runtime: asynchronous tasks and fork-join on one
//! set of worker threads, with timers and a pool for calls that block.
//!
//! Names and signatures follow tokio's and rayon's, so most programs are ported
//! by changing the name of a crate. This page is a tour; each stop is a program
//! that runs.
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
//! [`main`](macro@main) makes a runtime with one worker per core and runs the
//! function in it. Without the macro, that is
//!
//! ```
//! use trefoil::runtime::Builder;
//!
//! fn main() -> std::io::Result<()> {
//!     let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
//!     let answer = runtime.block_on(async { 6 * 7 });
//!     assert_eq!(answer, 42);
//!     Ok(())
//! } // Dropping the runtime ends its tasks and waits for its threads.
//! ```
//!
//! [`Builder`](runtime::Builder) lists what else can be chosen:
//! [`new_current_thread`](runtime::Builder::new_current_thread) for a runtime
//! that runs everything on the calling thread and pays for no synchronisation,
//! names and stacks of threads, the CPUs that they are pinned to.
//!
//! # Tasks
//!
//! A task is a future that the runtime runs by itself, at once, on whichever
//! worker is free. It costs one allocation. Its [`JoinHandle`](task::JoinHandle)
//! is a future for its output, or for a [`JoinError`](task::JoinError) if it has
//! panicked or was aborted; dropping the handle lets the task run on.
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::task::{self, JoinSet};
//!
//! // Many tasks, in the order in which they end.
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
//! // An aborted task is dropped where it waits.
//! let endless = trefoil::spawn(std::future::pending::<()>());
//! endless.abort();
//! assert!(endless.await.unwrap_err().is_cancelled());
//!
//! // A task may stay on one worker, and so in its caches.
//! task::spawn_pinned(0, async {}).await.unwrap();
//! # }
//! ```
//!
//! A task must not keep its worker for long without an `.await`: what has to be
//! computed goes to [`mod@fork_join`], what blocks to
//! [`spawn_blocking`](task::spawn_blocking). Futures of this crate yield by
//! themselves now and then even if they are always ready; see [`task::coop`].
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
//! // Not for longer than so:
//! let late = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
//! assert!(late.is_err());
//! # }
//! ```
//!
//! Futures that are not waited for any more are dropped, which may lose what
//! they were about to do. So the documentation of each asynchronous function
//! has a section on cancellation safety.
//!
//! # Talking to each other
//!
//! [`sync`] has a channel for one value and a signal. Channels, locks and
//! semaphores of other crates work here just as well, those of `tokio::sync`
//! and `async-channel` for example: they need nothing of the runtime but wakers.
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
//! [`mod@fork_join`] splits work over the same workers that run the tasks, so there
//! is no second pool, and no crossing between two. It borrows from the stack,
//! since it returns only when all parts are done.
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
//! // In a task, right where it is:
//! assert_eq!(trefoil::spawn(async { fib(20) }).await.unwrap(), 6765);
//!
//! let mut pixels = vec![7u8; 10_000];
//! for_each(chunks_mut(&mut pixels, 256), |chunk| chunk.fill(0));
//! assert!(pixels.iter().all(|&pixel| pixel == 0));
//! # }
//! ```
//!
//! Synchronous code gets to the workers by
//! [`Runtime::install`](runtime::Runtime::install). Whoever comes from rayon finds
//! a guide in [`fork_join::from_rayon`].
//!
//! # Blocking
//!
//! Closures that block go to a pool of threads, which grows as needed. Code that
//! cannot be moved may block in place: another thread takes over the worker.
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
//! Tasks may move between threads whenever they wait, and so have to be `Send`.
//! Those of a [`LocalSet`](task::LocalSet) or a
//! [`LocalRuntime`](runtime::LocalRuntime) stay on their thread, and need not.
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
//! [`RuntimeMetrics`](runtime::RuntimeMetrics) counts tasks, polls, parks and
//! steals; runtimes that are asked to also keep histograms of how long polls
//! take, and how long tasks wait for them. When a program hangs,
//! [`Handle::dump`](runtime::Handle::dump) says what each worker has.
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
//! [`test`](macro@test) runs an asynchronous test. With the feature `test-util`,
//! time can be paused: it then jumps to the next timer whenever nothing is left
//! to do, so an hour passes at once, and in the right order.
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
//! | `test-util` | no | paused time |

mod context;
pub mod design;
pub mod fork_join;
mod idle;
#[doc(hidden)]
pub mod macros;
mod primitives;
#[doc = include_str!("progress.md")]
pub mod progress {}
mod queue;
pub mod runtime;
mod scheduler;
pub mod sync;
pub mod task;
pub mod time;

pub use task::spawn;

#[cfg(feature = "macros")]
pub use trefoil_macros::{main, test};

/// Has the README's programs compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
