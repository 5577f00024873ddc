//! The queues that schedulers are made of.
//!
//! | queue | who pushes | who pops |
//! |---|---|---|
//! | [`Fifo`] | its owner | its owner |
//! | [`Ring`] | its owner | its owner; thieves, half of it at a time |
//! | [`Inbox`] | any thread | its owner, everything at once |
//! | [`Injector`] | any thread | any thread, a batch at a time |
//!
//! Each queue holds values of one type. All of them except the ring use a [`Link`] inside of each
//! value, so a push never allocates. No queue has a destructor: its owner empties it first.

mod fifo;
mod inbox;
mod injector;
mod link;
mod ring;

#[cfg(all(test, loom))]
mod loom_tests;

pub(crate) use fifo::Fifo;
pub(crate) use inbox::Inbox;
pub(crate) use injector::Injector;
pub(crate) use link::{Link, Linked};
pub(crate) use ring::Ring;
