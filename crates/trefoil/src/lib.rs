//! Trefoil is a concurrency runtime: asynchronous tasks and fork-join on one set of worker threads,
//! with timers, sockets, files, channels and locks, and a pool of threads for calls that block.
//!
//! Names and signatures follow tokio's and rayon's, so most programs are ported by changing the
//! name of a crate, or, coming from tokio, a line of `Cargo.toml`. The guides
//! [for users of tokio](runtime::from_tokio) and [for users of rayon](fork_join::from_rayon) list
//! all differences.
//!
//! This page is a tour; each stop is a program that runs.
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
//! [`sync`] has channels, locks, a semaphore, a barrier and cells that are written once.
//!
//! | channel | from | to | keeps |
//! |---|---|---|---|
//! | [`oneshot`](sync::oneshot) | one | one | a single value |
//! | [`mpsc`](sync::mpsc) | many | one | what was not received, up to a bound or without |
//! | [`mpmc`](sync::mpmc) | many | one of many | the same, or nothing at all: both sides meet |
//! | [`broadcast`](sync::broadcast) | many | all of many | the latest values, up to a bound |
//! | [`watch`](sync::watch) | many | all of many | the latest value |
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::sync::{mpsc, oneshot};
//!
//! // A task that owns the state of a service, and answers those who ask for it.
//! let (requests, mut inbox) = mpsc::channel::<(u64, oneshot::Sender<u64>)>(8);
//! trefoil::spawn(async move {
//!     let mut sum = 0;
//!     while let Some((n, answer)) = inbox.recv().await {
//!         sum += n;
//!         // Whoever asked may have gone.
//!         let _ = answer.send(sum);
//!     }
//! });
//!
//! for (n, expected) in [(1, 1), (2, 3), (3, 6)] {
//!     let (answer, answered) = oneshot::channel();
//!     requests.send((n, answer)).await.unwrap();
//!     assert_eq!(answered.await, Ok(expected));
//! }
//! # }
//! ```
//!
//! [`mpmc::select!`](sync::mpmc::select!) waits at several channels at once, to send and to
//! receive, and does exactly one of the operations. Nothing that was sent is lost with the others.
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::sync::mpmc;
//!
//! let (numbers, some) = mpmc::bounded(4);
//! let (stop, stopped) = mpmc::bounded::<()>(0);
//! let summing = trefoil::spawn(async move {
//!     let mut sum = 0;
//!     loop {
//!         mpmc::select! {
//!             recv(some) -> n => sum += n.unwrap(),
//!             recv(stopped) -> _ => return sum,
//!         }
//!     }
//! });
//! for n in 1..=100 {
//!     numbers.send(n).await.unwrap();
//! }
//! while !numbers.is_empty() {
//!     trefoil::task::yield_now().await;
//! }
//! stop.send(()).await.unwrap();
//! assert_eq!(summing.await.unwrap(), 5050);
//! # }
//! ```
//!
//! With the feature `actor`, [`actor`] has actors: tasks and fibers with a mailbox, links, monitors
//! and supervisors.
//!
//! Channels and locks of other crates work here as well: all they need of a runtime is wakers. Ours
//! spend the budget of their task (see [`task::coop`]), so that a channel that is never empty does
//! not keep other tasks from running.
//!
//! # Talking to others
//!
//! [`net`] has the sockets of TCP, UDP and Unix, and [`io`] the traits and methods to read and
//! write them: buffers, lines, copies, pipes in memory. They need the feature `net`.
//!
//! ```
//! use trefoil::io::{self, AsyncReadExt, AsyncWriteExt};
//! use trefoil::net::{TcpListener, TcpStream};
//!
//! async fn echo(listener: TcpListener) -> io::Result<()> {
//!     loop {
//!         let (mut stream, _peer) = listener.accept().await?;
//!         trefoil::spawn(async move {
//!             let (mut reader, mut writer) = stream.split();
//!             io::copy(&mut reader, &mut writer).await
//!         });
//!     }
//! }
//!
//! #[trefoil::main]
//! async fn main() -> io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let server = trefoil::spawn(echo(listener));
//!
//!     let mut stream = TcpStream::connect(address).await?;
//!     stream.write_all(b"hello").await?;
//!     stream.shutdown().await?;
//!     let mut text = String::new();
//!     stream.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello");
//!
//!     server.abort();
//!     Ok(())
//! }
//! ```
//!
//! Traits of other crates, such as those of `hyper`, are in [`compat`]. With the feature `signal`,
//! [`signal`] waits for Ctrl-C and other signals of Unix.
//!
//! # Files
//!
//! The calls of [`fs`] run on the pool of threads that block, because the system has no other way
//! for files that works everywhere.
//!
//! ```
//! use trefoil::fs::{self, File};
//! use trefoil::io::{self, AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! # #[trefoil::main]
//! # async fn main() -> io::Result<()> {
//! # let path = std::env::temp_dir().join(format!("trefoil-tour-{}", std::process::id()));
//! let mut file = File::create(&path).await?;
//! file.write_all(b"one\ntwo\n").await?;
//! // Returns when the system has all of it.
//! file.flush().await?;
//!
//! let mut lines = BufReader::new(File::open(&path).await?).lines();
//! assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
//! assert_eq!(lines.next_line().await?.as_deref(), Some("two"));
//! assert_eq!(lines.next_line().await?, None);
//! fs::remove_file(&path).await?;
//! # Ok(())
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
//! | `actor` | no | [`actor`]: mailboxes, links, monitors, supervisors |
//! | `fiber` | no | [`fiber`] and [`alloc`], on Unix |
//! | `macros` | yes | [`main`](macro@main), [`test`](macro@test), [`select!`] and its like |
//! | `net` | no | [`net`], `io::unix::AsyncFd`, and what waits for the system's events |
//! | `process` | no | [`process`], on Unix; turns on `net` and `signal` |
//! | `signal` | no | [`signal`], on Unix; turns on `net` |
//! | `full` | no | all of the above |
//! | `tokio` | no | [`compat`]: adapters to tokio's traits |
//! | `futures-io` | no | [`compat`]: adapters to those of `futures::io` |
//! | `hyper` | no | [`compat`]: adapters to those of `hyper::rt` |
//! | `test-util` | no | paused time: `time::pause` and the like |
//!
//! All the rest is always there: tasks, fork-join, timers, [`sync`], [`io`], [`fs`]. The features
//! that tokio has for it (`rt`, `rt-multi-thread`, `time`, `sync`, `fs`, `io-util`, `io-std`,
//! `parking_lot`) are known, and change nothing.

#![cfg_attr(
    not(all(feature = "signal", feature = "tokio")),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "some links lead to what a feature brings; they are checked with all of them"
    )
)]

#[cfg(feature = "actor")]
pub mod actor;
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub mod alloc;
#[cfg(any(feature = "tokio", feature = "futures-io", feature = "hyper"))]
pub mod compat;
mod context;
pub mod design;
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub mod fiber;
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
#[cfg(all(feature = "signal", not(loom)))]
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
