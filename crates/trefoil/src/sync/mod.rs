//! Synchronisation between tasks: a channel for one value, and a signal.
//!
//! There are no other channels, locks or semaphores yet. Those of other crates work in tasks,
//! because all they need of a runtime is wakers.

pub mod mpsc;
mod notify;
pub mod oneshot;
mod permits;
mod semaphore;

pub use notify::{Notified, Notify, OwnedNotified};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
