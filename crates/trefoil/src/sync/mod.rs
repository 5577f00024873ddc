//! Synchronisation between tasks.

mod notify;
pub mod oneshot;

pub use notify::{Notified, Notify, OwnedNotified};
