//! Palio races concurrency runtimes: any language, the same work, answers checked, honest
//! statistics.
#![forbid(unsafe_code)]

pub mod allocator;
pub mod audit;
pub mod bisect;
pub mod budget;
pub mod clock;
pub mod cmd;
pub mod contender;
pub mod disturbance;
mod draft;
pub mod forks;
pub mod grid;
pub mod load;
pub mod machine;
mod manifest;
pub mod neighbours;
pub mod plan;
mod prediction;
mod printable;
pub mod published;
pub mod record;
pub mod release;
pub mod report;
pub mod runner;
pub mod salt;
mod settings;
pub mod stats;
pub mod store;
pub mod suggest;
pub mod thin;
mod words;
pub mod workload;
