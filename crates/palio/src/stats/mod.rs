//! Statistics of a race: from samples to summaries, ratios, verdicts, ranks and totals.
//!
//! Everything here is a function of data: no input or output, no clock, no random numbers.
//! The same samples therefore give the same report on every machine.
//!
//! The path of a number:
//!
//! 1. [`Summary`] describes the samples of one invocation or of one cell.
//! 2. [`BlockTimes`] keeps one location (the median, or what a [`Statistic`] says) per invocation,
//!    in block order.
//! 3. [`RatioInterval`] compares two contenders block by block, with a 95 % interval.
//! 4. [`NoiseFloor`] is the same comparison of the reference with its own shadow.
//! 5. [`Verdict`] and [`Ranking`] say what the intervals allow, and nothing below the floor.
//! 6. [`Drift`] tells whose time changes while its process lives.
//! 7. [`Persistence`] tells whether neighbouring blocks are alike.
//! 8. [`Shape`] describes what a median hides: outliers, and samples in two groups.
//! 9. [`Totals`] averages ratios to the best over the races that everybody completed.
//! 10. [`FittedLaw`] says by which law times fall and rise with the threads.
//!
//! **Unit of evidence.** Samples of one invocation share a process, an address-space layout and a
//! moment, so they are not independent; blocks are the unit of inference everywhere.
//! More samples per invocation sharpen its median, never the count of observations
//! (Georges, Buytaert and Eeckhout 2007; Kalibera and Jones 2013).
//!
//! `docs/methodology.md` gives the reasons, the error rates and the power of all this.

mod blocks;
mod drift;
mod estimate;
mod floor;
mod goal;
mod law;
mod persistence;
mod rank;
mod ratio;
mod shape;
mod sign;
mod signed_rank;
mod significance;
mod statistic;
mod summary;
mod totals;
mod verdict;

pub use blocks::BlockTimes;
pub use drift::{DRIFT_MIN, Drift};
pub use estimate::Estimate;
pub use floor::{HEADLINE_FLOOR_MAX, MIN_FLOOR, NoiseFloor};
pub use goal::FloorGoal;
pub use law::{FittedLaw, LAW_POINTS_MIN, ScalabilityLaw};
pub use persistence::{PERSISTENCE_BLOCKS_MIN, Persistence};
pub use rank::{Ranking, Standing};
pub use ratio::{MIN_BLOCKS, RatioInterval};
pub use shape::{Groups, Shape};
pub use significance::{holm, holm_blocks_min, least_p_value, p_value};
pub use statistic::Statistic;
pub use summary::{InvalidSamples, Summary, location_ns, quantile};
pub use totals::{InvalidRatios, Total, Totals};
pub use verdict::{EquivalenceMargin, Verdict};
