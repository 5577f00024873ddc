//! The fork-join workloads of the catalogue.
//!
//! Two things live here. What is the *work* (packing of fib, legality of a placement, the kernel of
//! matmul, ...) is public, and the async workloads use the very same code. What is the *shape* is
//! written once for every framework whose idiom is a binary join, over the trait [`ForkJoin`];
//! [`rows`] is the whole table of such a contender.

pub mod fib;
mod fork_join;
pub mod matmul;
pub mod nqueens;
mod quicksort;
pub mod skynet;
mod tally;
pub mod unbalanced_tree;

use palio_protocol::harness::Prepare;

pub use fork_join::ForkJoin;
pub use tally::Tally;

/// Every workload of this crate, raced on `J`.
pub fn rows<J: ForkJoin>() -> [(&'static str, Prepare); 6] {
    [
        ("fib", fib::prepare::<J>),
        ("skynet", skynet::prepare::<J>),
        ("nqueens", nqueens::prepare::<J>),
        ("matmul", matmul::prepare::<J>),
        ("held_out/unbalanced_tree", unbalanced_tree::prepare::<J>),
        ("held_out/quicksort", quicksort::prepare::<J>),
    ]
}
