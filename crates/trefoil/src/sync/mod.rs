//! Synchronisation between tasks: channels, locks, a semaphore, a barrier, a signal, and cells that
//! are written once.
//!
//! Names and semantics are tokio's; [`mpmc`] is an addition.
//!
//! | to | there is |
//! |---|---|
//! | pass one value | [`oneshot`] |
//! | pass messages to one task | [`mpsc`] |
//! | pass messages to one of many tasks, or wait at many channels | [`mpmc`] |
//! | tell all tasks every value | [`broadcast`] |
//! | show all tasks the latest value | [`watch`] |
//! | wake tasks without a value | [`Notify`] |
//! | let one task at a time have a value, or many read it | [`Mutex`], [`RwLock`] |
//! | let a number of tasks in | [`Semaphore`] |
//! | let tasks wait for each other | [`Barrier`] |
//! | make a value once | [`OnceCell`], [`SetOnce`] |
//!
//! # Fairness
//! Whoever waits for a permit, a lock, room in a channel or a message is served in the order in
//! which they began to wait, and nobody who comes later overtakes them. What was given to a future
//! that is dropped before it has returned it goes on to the next one.
//!
//! # Budget
//! What is always ready spends a unit of the task's [budget](crate::task::coop) each time.
//!
//! # Outside of a runtime
//! All that these types need of a runtime is wakers, so they work in tasks of any executor, and
//! those of other crates work here. The functions whose names begin with `blocking_` are for code
//! that is not asynchronous. They panic in asynchronous code.
//!
//! # Wakers
//! Wakers are called outside of all locks of these types. One that panics harms nobody else: all
//! others are woken. Its panic is caught where permits are given and in destructors; elsewhere it
//! may go on in whoever wakes.

mod barrier;
pub mod broadcast;
mod guard;
pub mod mpmc;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod permits;
mod rwlock;
mod semaphore;
mod set_once;
mod sleeper;
mod wait_list;
mod wakers;
pub mod watch;
mod written_once;

pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
};
pub use notify::Notify;
pub use once_cell::{OnceCell, SetError};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use set_once::{SetOnce, SetOnceError};

/// The futures that have names.
pub mod futures {
    pub use super::notify::{Notified, OwnedNotified};
}
