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
#[cfg(all(test, not(loom), feature = "net"))]
mod slot_model;
#[cfg(feature = "net")]
mod slots;
#[cfg(feature = "net")]
mod source;
#[cfg(feature = "net")]
mod wait;
#[cfg(feature = "net")]
mod wakes;

#[cfg(not(feature = "net"))]
pub(crate) use absent::{Reactor, Wakes};
#[cfg(feature = "net")]
pub(crate) use {
    driver::{EventLimits, Reactor},
    registration::Registration,
    slot::{Direction, Event},
    source::Source,
    wakes::Wakes,
};
#[cfg(feature = "net")]
pub use {interest::Interest, ready::Ready};
