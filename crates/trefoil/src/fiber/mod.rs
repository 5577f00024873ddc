//! Fibers: functions that block without blocking their thread.
//!
//! A fiber is a task with a stack of its own. It runs on the same workers as asynchronous tasks and
//! forks, by the same rules. Where it waits (for a channel, a lock, a timer, a socket, any future),
//! the thread leaves the fiber's stack and does something else, until the fiber can go on. So code
//! that is written as for threads costs a stack, and no thread.
//!
//! ```
//! use trefoil::{fiber, sync::mpsc};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = trefoil::runtime::Runtime::new()?;
//! # let _guard = runtime.enter();
//! let (sender, mut receiver) = mpsc::channel(16);
//! for number in 0..10 {
//!     let sender = sender.clone();
//!     fiber::spawn(move || sender.blocking_send(number).unwrap());
//! }
//! drop(sender);
//! let sum = fiber::spawn(move || {
//!     let mut sum = 0;
//!     while let Some(number) = receiver.blocking_recv() {
//!         sum += number;
//!     }
//!     sum
//! });
//! assert_eq!(sum.join()?, 45);
//! # Ok(())
//! # }
//! ```
//!
//! # What waits, and what blocks
//!
//! Inside of a fiber, [`wait`](fn@wait) waits for any future, and so do [`sleep`], [`yield_now`],
//! [`JoinHandle::join`](crate::task::JoinHandle::join) and all functions of [`sync`](crate::sync)
//! whose names begin with `blocking_`. What blocks by the system's means (`std::thread::sleep`, a
//! lock of `std`, a read of a file) blocks the worker, as in an asynchronous task: use
//! [`block_in_place`](crate::task::block_in_place) there.
//!
//! # Threads
//!
//! Until a fiber begins, any worker may take it. From then on it stays on its thread: its stack may
//! hold what is not `Send`, and references to the thread's locals, whose addresses never change
//! under it. While its thread is in a long poll, it waits, whatever the other workers do. If the
//! thread has lost its place to another meanwhile, because it blocked, it goes on to serve its
//! fibers alone.
//!
//! A fiber of a current-thread runtime waits while another thread than its own drives that runtime.
//!
//! # Aborts and panics
//!
//! [`abort`](crate::task::JoinHandle::abort) unwinds a fiber where it waits, so that destructors
//! run, on its own thread. `std::thread::panicking()` is true in them. A fiber that catches the
//! unwinding goes on, and its later waits block its thread. A panic ends the fiber alone, and
//! reaches whoever joins it.
//!
//! If a current-thread runtime is dropped by another thread than that on which a fiber began,
//! nobody may unwind that fiber: its stack, and what is on it, are leaked.
//!
//! # Stacks
//!
//! A stack has a guard at its end. Whoever runs over it ends the process, with a message that names
//! the fiber and the size of its stack.

mod blocking;
mod builder;
mod future;
mod overflow;
mod running;
mod stack;
mod stranded;
mod wait;

pub use blocking::Blocking;
pub use builder::{Builder, spawn};
pub(crate) use running::Inside;
pub(crate) use stack::trim_free;
pub(crate) use stranded::drives;
pub use wait::{Current, current, sleep, wait, yield_now};
pub(crate) use wait::{is_inside, wait_inside};
