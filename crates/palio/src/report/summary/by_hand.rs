//! Commands as they are typed into a shell.

use crate::record::{CellRecord, RaceRecord, Schedule};

/// The command that runs a cell by hand, for a shell.
pub(super) fn by_hand(race: &RaceRecord, cell: &CellRecord, schedule: Schedule) -> String {
    let salt = cell.invocations.last().and_then(|invocation| invocation.salt);
    let command = shell_line(&cell.command_with(salt));
    let Schedule { samples, batch, .. } = schedule;
    let held = race.cpu_budget.map_or(String::new(), |budget| format!("{} ", budget.by_hand()));
    format!("printf 'run {samples} {batch}\\nquit\\n' | {held}{command}")
}

/// A command as it is typed into a shell.
pub fn shell_line(command: &[String]) -> String {
    command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
