//! The queues that schedulers are made of: a worker's ring, what many send to
//! one, what everybody takes from, and the list that they have in common.

mod inbox;
mod injector;
mod item;
mod ring;

#[cfg(all(test, loom))]
mod loom_tests;

pub(crate) use inbox::Inbox;
pub(crate) use injector::Injector;
pub(crate) use item::{Fifo, Item, Link};
pub(crate) use ring::Ring;
