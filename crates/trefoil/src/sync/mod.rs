//! Synchronisation between tasks: channels, and a signal.
//!
//! There are no other channels, locks or semaphores yet. Those of other crates work in tasks,
//! because all they need of a runtime is wakers.

pub mod broadcast;
pub mod mpmc;
mod notify;
pub mod oneshot;
mod sleeper;
mod wait_list;
mod wakers;
pub mod watch;

pub use notify::{Notified, Notify, OwnedNotified};
