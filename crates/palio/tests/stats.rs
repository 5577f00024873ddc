//! Whether the statistics keep what they promise.
//!
//! One file's tests: `cargo test -p palio --test stats stats_law::`.

mod noise;
mod statistic;
mod stats_golden;
mod stats_law;
mod stats_maxima;
mod stats_persistence;
mod stats_properties;
mod stats_simulation;
mod stats_unequal;
mod stats_variants;
mod verdicts;
