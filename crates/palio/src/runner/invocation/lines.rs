//! The lines of samples as Palio reads them, beside its own clock.

use crate::clock;

/// The sample lines of one command, as they come in: what they claim, and when they are read.
#[derive(Default)]
pub(super) struct Lines {
    claimed_ns: u64,
    last_ns: u64,
    gaps_ns: Vec<u64>,
    /// The first of them that claims more than has passed by then.
    too_early: Option<String>,
}

impl Lines {
    pub(super) fn add(&mut self, elapsed_ns: u64, read_ns: u64) {
        self.gaps_ns.push(read_ns - self.last_ns);
        self.last_ns = read_ns;
        self.claimed_ns = self.claimed_ns.saturating_add(elapsed_ns);
        let samples = u32::try_from(self.gaps_ns.len()).unwrap_or(u32::MAX);
        if self.too_early.is_none() && self.claimed_ns > clock::most_ns(samples, read_ns) {
            self.too_early = Some(format!(
                "it claims more time than passed: its first {} took {} ns by its own clock, and by Palio's clock \
                 {read_ns} ns passed between `run` and the last of them",
                samples_text(samples),
                self.claimed_ns
            ));
        }
    }

    /// What is wrong with them, seen by the clock outside when `done` was read.
    ///
    /// This is also what makes `RaceRecord::elapsed_ns_min` a bound: each sample must claim as
    /// much, and their sum must have passed. The samples up to each line are bracketed, and not
    /// only all of them: or one could claim the time of the others, and leave a small median.
    pub(super) fn beyond(&mut self, samples: u32, wall_ns: u64) -> Option<String> {
        if self.claimed_ns > clock::most_ns(samples, wall_ns) {
            return Some(format!(
                "it claims more time than passed: its {} took {} ns by its own clock, and by Palio's clock {wall_ns} ns \
                 passed between `run` and `done`",
                samples_text(samples),
                self.claimed_ns
            ));
        }
        self.too_early.take()
    }

    pub(super) fn quartile_ns(&mut self) -> Option<u64> {
        self.gaps_ns.sort_unstable();
        self.gaps_ns.get(self.gaps_ns.len() / 4).copied()
    }
}

fn samples_text(count: u32) -> String {
    if count == 1 { "sample".to_owned() } else { format!("{count} samples") }
}
