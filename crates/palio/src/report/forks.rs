//! What a contender handed to its runtime, as a report has it.

use super::model::Forks;
use crate::record::{CellRecord, ForksRecord, RaceRecord};

/// Of a cell. Where nobody asked although the row forks and the cell `is_due` to be asked, that is
/// said: as little is known of it as of one that does not count.
pub(super) fn of(race: &RaceRecord, cell: &CellRecord, is_due: bool) -> Option<Forks> {
    let unasked = || {
        let demand = race.forks().filter(|_| is_due)?;
        Some(ForksRecord::new(demand, Err("it was not asked".to_owned())))
    };
    let record = cell.forks.clone().or_else(unasked)?;
    let ForksRecord { handed, detail, at_least, at_most } = record;
    Some(Forks { handed, detail, at_least, at_most })
}
