//! Readers and writers that are made of others.

mod chain;
mod join;
mod split;
mod take;

pub use chain::Chain;
pub use join::{Join, join};
pub use split::{ReadHalf, WriteHalf, split};
pub use take::Take;
