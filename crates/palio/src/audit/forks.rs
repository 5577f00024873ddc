//! The rule for the count of forks.

use super::{Checked, Fault, check};
use crate::record::{CellRecord, Outcome, RaceRecord};

/// The forks that a cell handed to its runtime.
pub(super) fn check_forks(race: &RaceRecord, cell: &CellRecord) -> Checked {
    let Some(counted) = &cell.forks else { return Ok(()) };
    let Some(demand) = race.forks() else {
        return Err(Fault::new("forks", "the row has no forks to count"));
    };
    check(
        (counted.at_least, counted.at_most) == (demand.at_least, demand.at_most),
        "forks",
        || {
            let (least, most) = (counted.at_least, counted.at_most);
            format!("{least} to {most}, and the row has {} to {}", demand.at_least, demand.at_most)
        },
    )?;
    let refused = counted.handed.filter(|_| cell.outcome == Outcome::Ok);
    match refused.and_then(|handed| demand.refuses(handed)) {
        Some(reason) => Err(Fault::new("forks.handed", format!("{reason}: the cell cannot be ok"))),
        None => Ok(()),
    }
}
