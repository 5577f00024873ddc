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
//! Do not hold the guard of a lock of `std`, or a [`watch::Ref`](crate::sync::watch::Ref), where
//! the fiber may let others run, as it may in each of those functions and in [`check!`](check!).
//! Another fiber of the thread that wants the lock would block the thread, and nobody would ever
//! release it. (In asynchronous code the compiler finds that, since such guards are not `Send`.)
//!
//! Sockets are read and written by the traits of [`std::io`] in [`Blocking`].
//!
//! # Several things at once
//!
//! What a task awaits with `select!`, `join!` or [`timeout`](crate::time::timeout), a fiber waits
//! for as well, and so for whichever of several channels, times and fibers comes first:
//!
//! ```
//! # use trefoil::{fiber, sync::{mpsc, oneshot}, time};
//! # let runtime = trefoil::runtime::Runtime::new().unwrap();
//! # let _guard = runtime.enter();
//! # let (sender, mut orders) = mpsc::channel::<u32>(1);
//! # let (stop, mut stopped) = oneshot::channel::<()>();
//! let fiber = fiber::spawn(move || {
//!     let mut worker = fiber::spawn(|| 40);
//!     let mut sum = 0;
//!     let mut works = true;
//!     loop {
//!         let goes_on = fiber::wait(async {
//!             trefoil::select! {
//!                 Some(order) = orders.recv() => sum += order,
//!                 done = &mut worker, if works => (sum, works) = (sum + done.unwrap(), false),
//!                 () = time::sleep(time::Duration::from_secs(60)) => return false,
//!                 _ = &mut stopped => return false,
//!             }
//!             true
//!         });
//!         if !goes_on {
//!             return sum;
//!         }
//!     }
//! });
//! # sender.blocking_send(2).unwrap();
//! # while sender.capacity() == 0 { std::thread::yield_now() }
//! # stop.send(()).unwrap();
//! # assert!([2, 42].contains(&fiber.join().unwrap()));
//! ```
//!
//! # Computing
//!
//! A fiber that does not wait keeps its thread, as an asynchronous task does. In loops that
//! compute, [`check!`](check!) lets others run when the fiber has had its time; so do calls that
//! may wait, whether they have to or not (in a fork, only if they have to). [`Builder::budget`] and
//! [`Builder::timeslice`] say how much that is, and the allocator
//! [`Preempting`](crate::alloc::Preempting) makes every allocation count.
//!
//! # Threads
//!
//! Until a fiber begins, any worker may take it. From then on it stays on its thread: its stack may
//! hold what is not `Send`, and references to the thread's locals, whose addresses never change
//! under it. While its thread is in a long poll, it waits, whatever the other workers do. If the
//! thread has lost its place to another meanwhile, because it blocked, it goes on to serve its
//! fibers alone, until they have ended, or until a worker needs a thread while none of them is
//! ready: then it may be that worker, and serves its fibers beside the tasks of that.
//!
//! Fibers are for multi-thread runtimes. A current-thread runtime and a `LocalRuntime` refuse them:
//! their thread is the program's, which may end it while a fiber waits, and what the fiber has lent
//! to others may be a local of that thread. A multi-thread runtime keeps a thread until its fibers
//! have ended. One with a single thread for all its tasks and fibers is made by
//! `Builder::new_multi_thread().worker_threads(1)`; for tests, by
//! `#[trefoil::test(flavor = "multi_thread", worker_threads = 1)]`.
//!
//! # Aborts and panics
//!
//! [`abort`](crate::task::JoinHandle::abort) unwinds a fiber where it waits, so that destructors
//! run, on its own thread. `std::thread::panicking()` is true in them. A fiber that catches the
//! unwinding goes on, and is unwound again where it next would let others run: in each wait for
//! what is not ready, in [`yield_now`] and [`scope()`], and in [`check!`](check!) when its time is
//! up. So the thread is never blocked by such a fiber's own waits, and the fiber ends as soon as
//! nobody catches that. A panic ends the fiber alone, and reaches whoever joins it.
//!
//! In a program with `panic = "abort"` nothing unwinds: there, the abort of a fiber that waits, or
//! the end of its runtime, ends the process with a message.
//!
//! Fibers of a [`scope()`] may borrow from outside of it. It waits for all of them; if the fiber
//! that is in it is aborted, they are aborted and have ended before it is unwound.
//!
//! # Stacks
//!
//! A stack has a guard at its end. Whoever runs over it ends the process, with a message that names
//! the fiber and the size of its stack.

mod alternative;
mod baggage;
mod blocking;
mod builder;
mod future;
mod limits;
mod overflow;
mod preempt;
mod running;
mod scope;
mod stack;
mod taken;
mod unwinding;
mod wait;

pub use crate::__fiber_check as check;
pub(crate) use baggage::{may_pack, shielded, wait_in_fork};
pub use blocking::Blocking;
pub use builder::{Builder, spawn};
pub(crate) use future::with_stack;
pub use preempt::check;
pub(crate) use preempt::{MAX_BUDGET, Slice, count as count_reduction};
pub(crate) use running::{Inside, Resumed, Wait, begin_wait};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub(crate) use stack::{Held, Quiet, is_to_rest, trim_after_end, trim_free};
pub(crate) use taken::wait_in_taken;
pub(crate) use unwinding::{is_aborted, thrown};
pub(crate) use wait::wait_in_place;
pub use wait::{Current, current, sleep, wait, yield_now};
