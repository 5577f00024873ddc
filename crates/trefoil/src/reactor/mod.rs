//! The reactor: how tasks wait for the system's events.
//!
//! The protocols, with their arguments, are in `README.md` beside this file, and at the top of
//! `slot.rs`.

#[cfg(not(feature = "net"))]
mod absent;
#[cfg(feature = "net")]
mod driver;
#[cfg(feature = "net")]
mod interest;
#[cfg(feature = "net")]
mod lease;
#[cfg(all(test, loom, feature = "net"))]
mod loom_tests;
#[cfg(feature = "net")]
mod ready;
#[cfg(feature = "net")]
mod registration;
#[cfg(feature = "net")]
mod slot;
#[cfg(feature = "net")]
mod slots;
#[cfg(feature = "net")]
mod source;
#[cfg(feature = "net")]
mod wakes;

#[cfg(not(feature = "net"))]
pub(crate) use absent::{Reactor, Wakes};
#[cfg(feature = "net")]
pub(crate) use {
    driver::Reactor,
    registration::Registration,
    slot::{Direction, Event},
    source::Source,
    wakes::Wakes,
};
#[cfg(feature = "net")]
pub use {interest::Interest, ready::Ready};

use std::error::Error;
use std::fmt;
use std::io;

/// What all operations on sources of a runtime that has shut down return, and only they.
#[derive(Debug)]
struct ShutDown;

impl fmt::Display for ShutDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the runtime of this operation is shutting down")
    }
}

impl Error for ShutDown {}

/// The error of an operation whose runtime has shut down.
pub(crate) fn shut_down_error() -> io::Error {
    io::Error::other(ShutDown)
}

/// Whether an error is that of [`shut_down_error`].
pub(crate) fn is_shut_down_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<ShutDown>())
}
