//! Actors: tasks and fibers with a mailbox, which are told of each other's end.
//!
//! An actor is a function that owns its state, and receives messages of one type. Nobody else
//! touches the state; a panic ends that actor alone, and reaches whoever is linked to it, monitors
//! or joins it. So a failure is a thing that others see and answer, as in Erlang. The guide [for
//! those who come from Erlang, smarm and may](from_erlang) lists what is different.
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::actor::{self, Address, Context};
//! use trefoil::sync::oneshot;
//!
//! enum Request {
//!     Add(u64),
//!     Sum(oneshot::Sender<u64>),
//! }
//!
//! async fn counter(mut own: Context<Request>) {
//!     let mut sum = 0;
//!     while let Ok(request) = own.receive().await {
//!         match request {
//!             Request::Add(n) => sum += n,
//!             // Whoever asked may have gone.
//!             Request::Sum(answer) => drop(answer.send(sum)),
//!         }
//!     }
//! }
//!
//! let counter: Address<Request> = actor::spawn(counter);
//! for n in 1..=4 {
//!     counter.send(Request::Add(n)).await.unwrap();
//! }
//! let (answer, answered) = oneshot::channel();
//! counter.send(Request::Sum(answer)).await.unwrap();
//! assert_eq!(answered.await, Ok(10));
//! counter.abort();
//! # }
//! ```
//!
//! An actor is a task ([`spawn`](fn@spawn)) or, with the feature `fiber`, a fiber (`spawn_fiber`),
//! whose code may block without blocking its thread. To all others the two are alike.
//!
//! # Who is it?
//!
//! A [`Pid`] is a number that names one actor in the process, for ever: nobody else ever has it. An
//! [`Address`] is where messages of one type are sent; neither keeps the actor alive. A
//! [`Registry`] finds actors by names, and takes a name back when its actor ends.
//!
//! # The end
//!
//! An actor ends when its function returns, panics, or is aborted, and by its [`ExitReason`] others
//! know which. Then, in this order: its names are free, its mailbox is closed (whoever sends gets
//! the message back, and what is in the mailbox is dropped), linked actors get an exit signal,
//! those who monitor it an event, and [`join`](Address::join) returns.
//!
//! An exit signal ends its receiver with the same reason, so that actors that need each other go
//! together, unless the reason is [`Normal`](ExitReason::Normal). An actor that
//! [traps](Context::trap_exit) exit signals receives them instead, as [`Event::Exit`].
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use trefoil::actor::{self, Context, Event};
//!
//! let watcher = actor::spawn(async |mut own: Context<()>| {
//!     own.trap_exit(true);
//!     let child = own.spawn_link(async |_: Context<()>| assert_eq!(1 + 1, 3, "sums differ"));
//!     match own.next().await {
//!         Ok(Event::Exit { from, reason }) => {
//!             assert_eq!(from, Some(child.pid()));
//!             assert!(reason.as_panic().unwrap().message().unwrap().contains("sums differ"));
//!         }
//!         other => unreachable!("{other:?}"),
//!     }
//! });
//! assert!(watcher.join().await.is_normal());
//! # }
//! ```
//!
//! The first of these decides an actor's reason: its function returns or panics; somebody aborts
//! it; an exit signal comes that it does not trap. An actor whose end is decided while it runs goes
//! on to its next wait. An exit signal decides nothing on the last way of an actor that has trapped
//! exits, from the drop of its [`Context`] to its return.
//!
//! # Supervisors
//!
//! A [`supervisor`] starts actors, and starts them again when they fail.
//!
//! # What is not promised
//!
//! - That a message is received: its actor may end before.
//! - Any order between the signals of different actors.
//! - That an actor that never waits can be ended, or one that waits in a fork for a closure which
//!   never does. Nobody can end such code.
//! - That an actor which nobody can reach any more ends: it waits for ever, as in Erlang.
//!
//! [`design::actor`](crate::design::actor) has the protocol, and why it is right.

mod address;
mod cell;
mod context;
pub mod error;
mod exit;
pub mod from_erlang;
mod mailbox;
mod pid;
mod registry;
mod spawn;
pub mod supervisor;

pub use address::Address;
pub use context::{Context, MonitorRef};
pub use exit::{ExitReason, Outcome, Panic};
pub use mailbox::Event;
pub use pid::Pid;
pub use registry::Registry;
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub use spawn::spawn_fiber;
pub use spawn::{Builder, spawn};
