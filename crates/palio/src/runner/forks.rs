//! Counts what a contender hands to its runtime: one iteration in a process of its own, which
//! nobody times.

use std::sync::atomic::AtomicBool;

use crate::forks::Demand;
use crate::record::{CellRecord, ForksRecord, Limits, Outcome, RaceRecord};
use crate::runner::invocation::{Conversation, Finished};
use crate::runner::schedule;

/// How much longer an iteration may take when its forks are counted.
const SLOWER: f64 = 10.0;

/// What came of a count.
#[derive(Debug)]
pub struct Counted {
    /// What is to be stored of it, also where the count is not what the work demands.
    pub forks: Option<ForksRecord>,
    /// The process failed, or its count is not what the work demands; the outcome is
    /// [`Pending`](Outcome::Pending) if it was interrupted.
    pub failed: Option<Box<Finished>>,
}

/// The count of one cell, which is checked.
pub fn count(
    race: &RaceRecord,
    cell: &CellRecord,
    (demand, salt): (Demand, u64),
    limits: &Limits,
    interrupted: &AtomicBool,
    started: &mut dyn FnMut(u32),
) -> Counted {
    let counted = |handed| Some(ForksRecord::new(demand, handed));
    let uncounted = |why: &str| Counted { forks: counted(Err(why.to_owned())), failed: None };
    let failed = |finished| Counted { forks: None, failed: Some(Box::new(finished)) };
    let pace_ns = schedule::pace_ns(cell).unwrap_or(0.0);
    if pace_ns * SLOWER > limits.timeout_ms as f64 * 1e6 {
        return uncounted("another iteration would take too long");
    }
    let conversation = Conversation::start_counting(race, cell, salt, limits, interrupted, started);
    let mut conversation = match conversation {
        Ok(conversation) => conversation,
        Err(finished) => return failed(*finished),
    };
    conversation.run(1, 1, true);
    let forks = conversation.forks();
    let mut finished = conversation.finish();
    let why = finished.detail.take().unwrap_or_default();
    match finished.outcome {
        Outcome::Ok => {}
        Outcome::Unsupported | Outcome::TimedOut => return uncounted(&why),
        Outcome::Pending => return failed(Finished { detail: Some(why), ..finished }),
        Outcome::WrongAnswer | Outcome::FalseTime | Outcome::Crashed | Outcome::NotBuilt => {
            let detail = Some(format!("when its forks were counted, {why}"));
            return failed(Finished { detail, ..finished });
        }
    }
    let Some(handed) = forks else {
        return uncounted("it knows --count-forks, and printed no count");
    };
    let refused = demand.refuses(handed).map(|reason| {
        Box::new(Finished { outcome: Outcome::WrongAnswer, detail: Some(reason), ..finished })
    });
    Counted { forks: counted(Ok(handed)), failed: refused }
}
