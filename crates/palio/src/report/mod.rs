//! Reports: pure functions from data to text.
//!
//! [`model`] is the data; every other module turns a [`Report`] into one format and neither reads
//! nor prints anything. What the formats share stands in two private modules: `units` writes
//! numbers the same way everywhere, `view` answers the questions that all formats ask (who is shown
//! in which order, what a race is called, what failed).

mod allocators;
pub mod cell;
pub mod comparison;
pub mod comparison_text;
pub mod csv;
pub mod document;
pub mod headline;
pub mod holm;
pub mod html;
pub mod json;
pub mod listing;
pub mod live;
pub mod markdown;
pub mod model;
pub mod picture;
pub mod replication;
pub mod scaling;
pub mod selection;
pub mod summary;
pub mod sweep;
pub mod table;
pub mod terminal;

mod budget;
mod cpu_sums;
mod forks;
mod latency;
mod measured;
mod needed;
pub(crate) mod pair;
mod paper;
mod replication_text;
mod scaling_text;
mod sections;
mod sheet;
mod statistic;
mod sweep_text;
mod thinned;
mod totals;
mod units;
mod view;
pub mod within;

pub use model::Report;
