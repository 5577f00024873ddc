//! Asynchronous tasks: futures that the runtime polls until they are done.
//!
//! A task is one heap allocation. It holds the future, and later its output, and a few words for
//! the scheduler. `README.md` beside this module's code describes the protocol between the threads
//! that poll, wake, join, abort and free it.

mod builder;
pub mod coop;
mod core;
mod error;
mod header;
pub(crate) mod hooks;
mod id;
mod join;
pub mod join_set;
mod list;
mod local;
mod local_key;
mod memory;
mod notes;
mod raw;
mod spawn;
mod state;
mod waker;
mod yield_now;

#[cfg(all(test, loom))]
mod loom_tests;

pub use self::coop::{Unconstrained, consume_budget, unconstrained};
pub use builder::Builder;
pub use error::JoinError;
pub(crate) use hooks::TaskHooks;
pub use id::{Id, id, try_id};
pub use join::{AbortHandle, JoinHandle};
pub use join_set::JoinSet;
pub use local::{LocalEnterGuard, LocalSet, spawn_local};
pub(crate) use local::{LocalShared, RuntimeSet};
pub use local_key::LocalKey;
#[doc(hidden)]
pub use local_key::LocalSlot;
pub(crate) use spawn::Blocking;
pub use spawn::{block_in_place, spawn, spawn_blocking, spawn_pinned};
pub use yield_now::yield_now;

pub(crate) use self::core::{
    CompletedTask, Home, Ran, Runnable, Schedule, TaskRef, abort_all, cancel_all, discard, id_of,
    is_under_way, settle, try_wake, wake_all, wake_by_ref_guarded, wake_guarded,
};
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) use self::core::{bind, own_state};
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) use self::state::State;
pub(crate) use header::{HOSTS, Header, MOST_HOSTS, NO_HOME};
pub(crate) use list::OwnedTasks;
pub(crate) use memory::{Depot, Memory};
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) use memory::{acquire as acquire_memory, release as release_memory};
pub(crate) use notes::{Notes, Origin};
pub(crate) use raw::{allocate, take_back};
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) use waker::borrowed as borrowed_waker;
pub(crate) use waker::task_of;
pub(crate) use yield_now::wake_in_turn;

pub mod futures {
    //! Futures that functions of [`task`](super) return.
    pub use super::local_key::TaskLocalFuture;
}
