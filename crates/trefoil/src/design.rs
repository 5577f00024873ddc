//! How Trefoil works inside: the architecture, and the protocols with their proofs.
//!
//! Nothing in these pages is a promise to programs; [`progress`](crate::progress) is one. They name
//! files and types that are not public, by their paths in the repository.
#![doc = "\n\n---\n\n"]
#![doc = include_str!("../ARCHITECTURE.md")]

#[doc = include_str!("idle/README.md")]
pub mod idle {}

#[doc = include_str!("task/README.md")]
pub mod task {}

#[doc = include_str!("reactor/README.md")]
pub mod reactor {}

#[doc = include_str!("time/README.md")]
pub mod time {}

#[doc = include_str!("fork_join/README.md")]
pub mod fork_join {}

#[doc = include_str!("fiber/README.md")]
pub mod fiber {}

#[doc = include_str!("actor/README.md")]
pub mod actor {}

#[doc = include_str!("sync/README.md")]
pub mod sync {
    #[doc = include_str!("sync/mpsc/README.md")]
    pub mod mpsc {}

    #[doc = include_str!("sync/permits/README.md")]
    pub mod permits {}
}
