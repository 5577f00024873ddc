//! Whether a contender takes the settings of a cell, before anything is raced.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::build::{Spoken, Surroundings, converse};
use super::excerpt::shown;
use super::invocation::STATUS_MISUSE;
use crate::record::CellRecord;

/// What the contender says against the arguments of this cell, if it refuses them as a misuse. It
/// is started with them and told to stop at once. Whatever else goes wrong is found by the race.
pub fn refusal(cell: &CellRecord, interrupted: &AtomicBool) -> Option<String> {
    let command = cell.command_with(Some(0));
    let here = Path::new(".");
    let spoken = converse(&command, Surroundings::Races, here, "quit\n", interrupted).ok()?;
    let Spoken { status, stderr, .. } = spoken;
    let said = stderr.lines().last().unwrap_or_default().trim();
    (status == Some(STATUS_MISUSE)).then(|| shown(said).to_string())
}
