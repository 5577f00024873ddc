//! The rows about sockets, for runtimes whose tasks and sockets stay with their thread.
//!
//! Each thread has a runtime of its own and its share of the connections: it starts every
//! `threads`th connecting task, and accepts as many connections as it starts, from the one listener
//! that all threads have. Which of them it gets is the system's choice, so that the two ends of a
//! connection may be on two threads.
#![forbid(unsafe_code)]

mod core;
mod ping_pong;
mod threads;

use palio_protocol::harness::Prepare;

pub use crate::core::Core;

/// Every workload of this crate that `C` can run.
pub fn rows<C: Core>() -> [(&'static str, Prepare); 1] {
    [("tcp_ping_pong", ping_pong::prepare::<C>)]
}
