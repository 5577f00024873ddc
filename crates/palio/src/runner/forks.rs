//! Counts what a contender hands to its runtime: one iteration in a process of its own, which
//! nobody times.

use std::sync::atomic::AtomicBool;

use crate::forks::Demand;
use crate::record::{CellRecord, ForksRecord, Limits, Outcome, RaceRecord};
use crate::runner::invocation::{Conversation, Finished};
use crate::runner::schedule;

/// How much longer an iteration may take when its forks are counted.
const SLOWER: f64 = 10.0;

/// The count of one cell, which is checked.
///
/// # Errors
/// The process failed, or the count is not what the work demands; the outcome is
/// [`Pending`](Outcome::Pending) if it was interrupted.
pub fn count(
    race: &RaceRecord,
    cell: &CellRecord,
    (demand, salt): (Demand, u64),
    limits: &Limits,
    interrupted: &AtomicBool,
    started: &mut dyn FnMut(u32),
) -> Result<ForksRecord, Box<Finished>> {
    let uncounted = |why: &str| Ok(ForksRecord::new(demand, Err(why.to_owned())));
    let pace_ns = schedule::pace_ns(cell).unwrap_or(0.0);
    if pace_ns * SLOWER > limits.timeout_ms as f64 * 1e6 {
        return uncounted("another iteration would take too long");
    }
    let mut conversation =
        Conversation::start_counting(race, cell, salt, limits, interrupted, started)?;
    conversation.run(1, 1, true);
    let forks = conversation.forks();
    let mut finished = conversation.finish();
    let why = finished.detail.take().unwrap_or_default();
    match finished.outcome {
        Outcome::Ok => {}
        Outcome::Unsupported | Outcome::TimedOut => return uncounted(&why),
        Outcome::Pending => return Err(Box::new(Finished { detail: Some(why), ..finished })),
        Outcome::WrongAnswer | Outcome::FalseTime | Outcome::Crashed | Outcome::NotBuilt => {
            let detail = Some(format!("when its forks were counted, {why}"));
            return Err(Box::new(Finished { detail, ..finished }));
        }
    }
    let Some(handed) = forks else {
        return uncounted("it knows --count-forks, and printed no count");
    };
    match demand.refuses(handed) {
        None => Ok(ForksRecord::new(demand, Ok(handed))),
        reason => {
            Err(Box::new(Finished { outcome: Outcome::WrongAnswer, detail: reason, ..finished }))
        }
    }
}
