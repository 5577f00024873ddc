//! Trefoil is a concurrency runtime: asynchronous tasks on a work-stealing or
//! a single-threaded scheduler, with timers and a pool for blocking calls.
//!
//! Names and signatures follow tokio's, so a program is ported by changing the
//! crate's name.
//!
//! ```
//! use std::time::Duration;
//!
//! fn main() -> std::io::Result<()> {
//!     let runtime = trefoil::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
//!     let sum = runtime.block_on(async {
//!         // Tasks run at once, on whichever worker is free.
//!         let tasks: Vec<_> = (0..10u64).map(|n| trefoil::spawn(async move { n * n })).collect();
//!         let mut sum = 0;
//!         for task in tasks {
//!             sum += task.await.expect("it neither panics nor is aborted");
//!         }
//!         trefoil::time::sleep(Duration::from_millis(1)).await;
//!         sum
//!     });
//!     assert_eq!(sum, 285);
//!     Ok(())
//! }
//! ```
//!
//! A tour: [`runtime`] makes and configures runtimes; [`task`] spawns, joins
//! and aborts tasks, on any worker, on one ([`task::spawn_pinned`]), on the
//! current thread ([`task::LocalSet`]) or on a thread that may block
//! ([`task::spawn_blocking`]); [`time`] sleeps and sets deadlines; [`sync`]
//! has channels and signals; [`mod@fork_join`] divides computations among the same
//! workers, and has a guide for those who come from rayon
//! ([`fork_join::from_rayon`]); [`select!`], [`join!`] and [`try_join!`] combine
//! futures within a task.

pub mod fork_join;
mod idle;
#[doc(hidden)]
pub mod macros;
pub mod runtime;
pub mod sync;
pub mod task;
pub mod time;

pub use task::spawn;

#[cfg(feature = "macros")]
pub use trefoil_macros::{main, test};
