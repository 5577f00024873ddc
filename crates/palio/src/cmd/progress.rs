//! What a person sees while contenders race: a bar on a terminal, a line for each block elsewhere,
//! and on both a line for each race that is over.

use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::note;
use crate::record::{CellRecord, ContenderRecord, RaceRecord, RunRecord};
use crate::report::{listing, live};
use crate::runner::race::{Progress, Step};

/// Widest and narrowest bar; below the latter there is none.
const BAR: (usize, usize) = (24, 6);
/// A contender that was ready sooner was not built, or not worth telling of.
const TOLD: Duration = Duration::from_secs(1);

/// Watches a run on standard error.
#[derive(Debug)]
pub(super) struct Watcher {
    /// `None` if progress is not to be shown.
    bar: Option<ProgressBar>,
    /// The last line printed where there is no terminal.
    last_line: String,
    /// How long it took to get the last contender ready.
    took: Duration,
    /// The place of that contender, such as `3/7`.
    place: String,
    /// Contenders have to be built, and nobody has shown a time so far.
    awaits_first: bool,
}

impl Watcher {
    pub(super) fn new(quiet: bool) -> Self {
        // Nothing ticks between two invocations: a thread that redraws would disturb what is being
        // timed.
        let bar = (!quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
            let style = ProgressStyle::with_template("{msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self {
            bar,
            last_line: String::new(),
            took: Duration::ZERO,
            place: String::new(),
            awaits_first: false,
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Lines that stay.
    fn tell(&self, line: &str) {
        match &self.bar {
            Some(bar) if bar.is_hidden() => note(line),
            Some(bar) => {
                let lines = line.lines().map(|line| {
                    let fits = line.chars().count() <= width();
                    if fits { line.to_owned() } else { listing::wrapped(line, width()) }
                });
                // The bar's own `println` fills lines with spaces and ends none, so that several of
                // them are one for whoever copies them.
                let text = lines.collect::<Vec<_>>().join("\n");
                bar.suspend(|| note(&text));
            }
            None => {}
        }
    }
}

/// Columns of standard error.
fn width() -> usize {
    Term::stderr().size_checked().map_or(100, |(_, columns)| usize::from(columns))
}

/// `text` behind a bar in `width` columns: the bar gives way first, then the end of the text.
fn line(done: f64, text: &str, width: usize) -> String {
    let (widest, narrowest) = BAR;
    let length = text.chars().count();
    let bar = width.saturating_sub(length + 1).min(widest);
    if bar >= narrowest {
        let full = ((bar as f64 * done) as usize).min(bar);
        return format!("{}{} {text}", "█".repeat(full), "░".repeat(bar - full));
    }
    if length <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end_matches([' ', '·']))
}

impl Progress for Watcher {
    fn planned(&mut self, run: &RunRecord, order: &[usize]) {
        if run.contenders.iter().any(|contender| !contender.is_asked()) {
            self.awaits_first = true;
            self.tell(live::order_of_work(run, order, width()).trim_end());
        }
    }

    fn readying(&mut self, contender: &ContenderRecord, (number, of): (usize, usize)) {
        let Some(bar) = &self.bar else { return };
        self.place = format!("{number}/{of}");
        if bar.is_hidden() {
            note(&format!("building {}: {}", self.place, contender.id));
        } else {
            let text = format!("{} · getting {} ready", self.place, contender.id);
            bar.set_message(line(0.0, &text, width()));
            bar.tick();
        }
    }

    fn readied(&mut self, contender: &ContenderRecord, took: Duration) {
        self.took = took;
        if let Some(reason) = &contender.absent {
            self.tell(&format!("{} will not race: {reason}", contender.id));
        } else if self.bar.as_ref().is_some_and(ProgressBar::is_hidden) {
            note(&format!("ready {}: {}", self.place, contender.id));
        }
    }

    fn piloted(&mut self, race: &RaceRecord, cell: &CellRecord) {
        // Where nothing has to be built the race itself is told soon enough.
        let took = std::mem::take(&mut self.took);
        let is_first = std::mem::take(&mut self.awaits_first);
        let built = (took >= TOLD).then(|| format!("ready after {}", live::duration(took)));
        if built.is_none() && !is_first {
            return;
        }
        let line = match (live::preliminary(race, cell), built) {
            (Some(seen), Some(built)) => format!("{seen}, {built}"),
            (Some(seen), None) => seen,
            (None, Some(built)) => format!("{}: {built}", cell.label()),
            // Others show the first time.
            (None, None) => {
                self.awaits_first = is_first;
                return;
            }
        };
        self.tell(&line);
    }

    fn starting(&mut self, step: &Step<'_>) {
        let Some(bar) = &self.bar else { return };
        let stage = match step.block {
            None => "pilot".to_owned(),
            Some((block, of)) => format!("block {block}/{of}"),
        };
        let left = step.remaining.map(live::duration);
        let name = live::race_name(step.race);
        if bar.is_hidden() {
            // One line for the pilots and one for each block of a race: enough to follow in a log.
            let (race, races) = step.race_number;
            let line = format!("race {race}/{races} {name}, {stage}");
            if line != self.last_line {
                let left = left.map(|left| format!(", {left} left")).unwrap_or_default();
                note(&format!("{line}{left}"));
                self.last_line = line;
            }
        } else {
            let (done, all) = step.done;
            let left = left.map(|left| format!("{left} · ")).unwrap_or_default();
            let text = format!("{done}/{all} · {left}{} · {name} · {stage}", step.cell.label());
            bar.set_message(line(done as f64 / all.max(1) as f64, &text, width()));
            bar.tick();
        }
    }

    fn failed(&mut self, race: &RaceRecord, cell: &CellRecord) {
        let detail = cell.detail.as_deref().unwrap_or("it failed");
        self.tell(&format!("{} is out of {}: {detail}", cell.label(), live::race_name(race)));
    }

    fn stuck(&mut self, race: &RaceRecord, blocks: u32) {
        let text = format!(
            "{}: the run was interrupted in its last {blocks} blocks, one after the other. A block that is interrupted \
             counts for nobody, and all race in another one: so a run that is interrupted more often than a block \
             lasts never gets on. A new run has shorter blocks with a smaller --budget or --warm-up, or with fewer \
             contenders; with fewer rows or --blocks it is over sooner",
            live::race_name(race)
        );
        // No progress, but the lack of it.
        if self.bar.is_some() { self.tell(&text) } else { note(&text) }
    }

    fn warned(&mut self, warning: &str) {
        let text = format!("palio: {warning}");
        if self.bar.is_some() { self.tell(&text) } else { note(&text) }
    }

    fn ended(&mut self, run: &RunRecord, race: usize, (number, of): (usize, usize)) {
        if self.bar.is_some() {
            self.tell(&format!("{number}/{of} · {}", live::result(run, race)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_gives_way_first_and_then_the_end_of_the_text() {
        let text = "19/65 · 8 s · rayon · fib n=27, 2 threads · block 4/5";
        assert_eq!(line(0.5, text, 120), format!("{}{} {text}", "█".repeat(12), "░".repeat(12)));
        assert_eq!(line(0.0, text, 62), format!("{} {text}", "░".repeat(8)));
        assert_eq!(line(0.5, text, 58), text);
        assert_eq!(line(0.5, text, 20), "19/65 · 8 s · rayon…");
        for width in 1..130 {
            assert!(line(0.3, text, width).chars().count() <= width);
        }
    }
}
