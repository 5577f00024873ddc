//! `Builder::serve_in_block_on`: a thread in `block_on` serves tasks in the place of a worker. Its
//! future is the *root*.

mod crowds;
mod ends;
#[cfg(feature = "net")]
mod events;
mod hostile;
mod rig;
#[path = "../support/mod.rs"]
mod support;
mod surroundings;
mod work;
