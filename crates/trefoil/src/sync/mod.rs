//! Synchronisation between tasks: a channel for one value, a signal, locks, a semaphore, a barrier
//! and cells that are written once.
//!
//! There are no other channels yet. Those of other crates work in tasks, because all they need of a
//! runtime is wakers.

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
pub use notify::{Notified, Notify, OwnedNotified};
pub use once_cell::{OnceCell, SetError};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use set_once::{SetOnce, SetOnceError};
