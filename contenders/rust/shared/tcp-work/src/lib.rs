//! What the rows on sockets have in common, whatever kind of runtime serves them: how much is to be
//! done, the listener, and what the two sides of a connection count. Nothing here waits.
#![forbid(unsafe_code)]

mod exchange;
mod listen;
mod plan;

pub use exchange::{Accepted, Connected, Totals};
pub use listen::listen;
pub use plan::Plan;

use std::io;

/// An error of a socket, with what was attempted: whoever reads it sees no stack.
pub fn while_doing(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
