//! Readers and writers that are made of others.

mod chain;
mod take;

pub use chain::Chain;
pub use take::Take;
