//! Channels of many senders and one receiver.
//!
//! A [`channel()`] has room for a number of messages, and [`send`](Sender::send) waits while it is
//! full. An [`unbounded_channel`] takes any number of messages, and its
//! [`send`](UnboundedSender::send) never waits.
//!
//! The receiver gets the messages in the order in which they were sent: those of one sender in
//! their order, and a message after all those whose sending it follows from.
//!
//! # The end
//! When all senders were dropped, the receiver gets what was sent, and then `None`. When the
//! receiver is dropped, so are the messages in the channel, and the senders get errors. To end a
//! channel from the receiving side without losing a message, call `close` and receive until `None`.
//!
//! # Memory
//! A channel that was not used yet is one allocation of at most 256 bytes. Messages are stored in
//! blocks, the first for 8 messages and later ones for up to 64. Blocks that were read are used
//! again; at most three are kept in store.
//!
//! # Outside of a runtime
//! Only wakers are needed of a runtime, except by `send_timeout`. The methods that begin with
//! `blocking_` are for code that is not asynchronous.

mod block;
mod bounded;
mod channel;
pub mod error;
mod letter;
#[cfg(all(test, loom))]
mod loom_tests;
mod permit;
mod queue;
mod receiver;
mod unbounded;

pub use bounded::{Receiver, Sender, WeakSender, channel};
pub use permit::{OwnedPermit, Permit, PermitIterator};
use receiver::receiver;
pub use unbounded::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};
