//! What a person sees while contenders race: a bar on a terminal, a line for each block elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::note;
use crate::record::{CellRecord, RaceRecord};
use crate::runner::race::{Progress, Step};
use crate::workload::settings_text;

/// Watches a run on standard error.
#[derive(Debug)]
pub(super) struct Watcher {
    /// `None` if progress is not to be shown.
    bar: Option<ProgressBar>,
    /// The last line printed where there is no terminal.
    last_line: String,
}

impl Watcher {
    pub(super) fn new(quiet: bool) -> Self {
        // Nothing ticks between two invocations: a thread that redraws would disturb what is being
        // timed.
        let bar = (!quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, last_line: String::new() }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn remaining_text(remaining: Duration) -> String {
    let seconds = remaining.as_secs_f64().round() as u64;
    if seconds < 60 {
        format!("{seconds} s left")
    } else {
        format!("{} min {:02} s left", seconds / 60, seconds % 60)
    }
}

fn race_text(race: &RaceRecord) -> String {
    format!("{} {} on {} thread(s)", race.workload, settings_text(&race.params), race.threads)
}

impl Progress for Watcher {
    fn starting(&mut self, step: &Step<'_>) {
        let Some(bar) = &self.bar else { return };
        let stage = match step.block {
            None => "pilot".to_owned(),
            Some((block, of)) => format!("block {block}/{of}"),
        };
        let (race, races) = step.race_number;
        let left = remaining_text(step.remaining);
        if bar.is_hidden() {
            // One line for the pilots and one for each block of a race: enough to follow in a log.
            let line = format!("race {race}/{races} {} {stage}", race_text(step.race));
            if line != self.last_line {
                note(&format!("{line}, {left}"));
                self.last_line = line;
            }
        } else {
            bar.set_length(step.done.1);
            bar.set_position(step.done.0);
            bar.set_message(format!(
                "{left} · {race}/{races} {} · {stage} · {}",
                race_text(step.race),
                step.cell.label()
            ));
        }
    }

    fn failed(&mut self, race: &RaceRecord, cell: &CellRecord) {
        let Some(bar) = &self.bar else { return };
        let detail = cell.detail.as_deref().unwrap_or("it failed");
        let line = format!("{} is out of {}: {detail}", cell.label(), race_text(race));
        if bar.is_hidden() { note(&line) } else { bar.println(line) }
    }
}
