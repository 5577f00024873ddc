//! What the tasks of the async rows compute, whatever kind of task they are: futures and coroutines
//! share it.
#![forbid(unsafe_code)]

mod mix;
mod planned_panic;
mod primes;
mod spin;
mod stall;

pub use mix::{sleeper_ms, splitmix64};
pub use planned_panic::{planned_panic, silence_planned_panics};
pub use primes::primes_of;
pub use spin::spin;
pub use stall::stall;
