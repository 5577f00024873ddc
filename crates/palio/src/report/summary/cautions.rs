//! What a reader must know of a race and of its cells before believing their times.

use std::collections::BTreeSet;

use super::{MeasuredRace, outside};
use crate::budget::SAMPLE_PERIODS;
use crate::clock::Accounted;
use crate::record::{CellRecord, RunRecord, Schedule};
use crate::report::measured::MeasuredCell;
use crate::report::units;
use crate::stats::{Drift, HEADLINE_FLOOR_MAX, Persistence, Statistic};
use crate::workload::{Model, settings_text};

/// A sample shorter than this contains more than a little of the clock's own cost and resolution.
const SAMPLE_NS_MIN: u64 = 10_000;
/// Fewest samples of which a median says what is typical.
const SAMPLES_MIN: u32 = 5;

impl MeasuredRace<'_> {
    /// What else a reader must know: samples that are too short, too few or not alike, and who
    /// drifts.
    pub(super) fn cautions(&self, run: &RunRecord) -> Vec<String> {
        let ok: Vec<&MeasuredCell<'_>> =
            self.chosen.iter().map(|&index| &self.cells[index]).filter(|c| c.is_ok()).collect();
        let mut cautions = Vec::new();
        let floor = self.floor.ratio();
        if floor.is_finite() && floor > HEADLINE_FLOOR_MAX {
            cautions.push(format!(
                "too noisy for a headline: a noise floor above {}",
                units::factor(HEADLINE_FLOOR_MAX)
            ));
        }
        let missed = run.header.until_floor.filter(|goal| floor > goal.ratio);
        if let Some((goal, a_a)) = missed.zip(self.floor.a_a()) {
            cautions.push(format!(
                "{} did not bring the noise floor down to {}",
                units::plural(a_a.blocks, "block"),
                units::factor(goal.ratio)
            ));
        }
        let schedules: Vec<Schedule> = ok.iter().filter_map(|cell| cell.cell.schedule).collect();
        if schedules.windows(2).any(|pair| pair[0] != pair[1]) {
            cautions.push(
                "contenders were asked for unequal batches or numbers of samples, so that their medians are not alike"
                    .to_owned(),
            );
        }
        let few = schedules.iter().map(|schedule| schedule.samples).min().unwrap_or(u32::MAX);
        let is_maximum = self.race.statistic.is_some_and(Statistic::grows_with_events);
        if few < SAMPLES_MIN && !is_maximum {
            cautions
                .push(format!("an invocation has only {}", units::plural(few as usize, "sample")));
        }
        if schedules.iter().any(|schedule| schedule.warm_ups == 0) {
            let which = match few {
                1 => "the only sample".to_owned(),
                _ => format!("one of the {few} samples"),
            };
            cautions.push(format!("no warm-up: {which} of each process is its first"));
        }
        let shortest = |cell: &MeasuredCell<'_>| {
            let sample_ns = cell.cell.measured().map(|(_, sample)| sample.elapsed_ns).min()?;
            (sample_ns < SAMPLE_NS_MIN)
                .then(|| format!("{} ({})", cell.cell.contender, units::time(sample_ns as f64)))
        };
        let short: Vec<String> = ok.iter().filter_map(|cell| shortest(cell)).collect();
        if !short.is_empty() {
            cautions.push(format!(
                "samples so short that the clock weighs in them: {}",
                short.join(", ")
            ));
        }
        let least_ns = self.race.cpu_budget.map_or(0, |budget| budget.sample_ns_min());
        // A batch is a power of two below it, and the pace of a pilot is no promise.
        let is_short = |cell: &&&MeasuredCell<'_>| {
            let mut samples = cell.cell.measured();
            samples.any(|(_, sample)| sample.elapsed_ns < least_ns / 4)
        };
        let short: Vec<&str> =
            ok.iter().filter(is_short).map(|cell| cell.cell.contender.as_str()).collect();
        if !short.is_empty() {
            cautions.push(format!(
                "samples so short beside the {SAMPLE_PERIODS} periods of a quota that should be in each, that \
                 their median may not show what the CPU budget costs: {}",
                short.join(", ")
            ));
        }
        let drifting = |cell: &MeasuredCell<'_>| {
            let drift = cell.drift().filter(Drift::is_clear)?;
            Some(format!("{} ×{:.2}", cell.cell.contender, drift.ratio().point))
        };
        let drifting: Vec<String> = ok.iter().filter_map(|cell| drifting(cell)).collect();
        if !drifting.is_empty() {
            cautions.push(format!(
                "time changes while a process lives (last third of its samples ÷ first third): {}",
                drifting.join(", ")
            ));
        }
        cautions.extend(self.lasting_noise());
        cautions
    }

    /// Names the comparisons with the reference in which neighbouring blocks are alike. All cells
    /// are tested together, those that are not shown too, so that it says the same of a part of
    /// a run.
    ///
    /// The verdicts stay: to take them back would also take those of contenders that are twice as
    /// slow, in which noise of a few per cent decides nothing: `docs/methodology.md` has how often.
    fn lasting_noise(&self) -> Option<String> {
        let reference = self.reference?;
        let own = self.cells[reference].blocks.as_ref()?;
        let tested = |index: usize| {
            let is_other = index != reference && self.cells[index].is_ok();
            let blocks = self.cells[index].blocks.as_ref().filter(|_| is_other)?;
            Persistence::between(blocks, own)
        };
        let all: Vec<Option<Persistence>> = (0..self.cells.len()).map(tested).collect();
        let alarms = Persistence::alarms(&all);
        let is_shadow = |index: usize| {
            let (cell, twin) = (self.cells[index].cell, self.cells[reference].cell);
            cell.shadow && cell.contender == twin.contender && cell.variant == twin.variant
        };
        let named = |index: usize| {
            let contender = &self.cells[index].cell.contender;
            let name = match is_shadow(index) {
                true => format!("{contender} beside its own shadow"),
                false if self.chosen.contains(&index) => contender.clone(),
                false => return None,
            };
            let known = all[index].filter(|_| alarms[index])?;
            Some(format!("{name} ({:.2} in {} blocks)", known.correlation, known.blocks))
        };
        let named: Vec<String> = (0..all.len()).filter_map(named).collect();
        let reference = &self.cells[reference].cell.contender;
        (!named.is_empty()).then(|| {
            format!(
                "noise lasts from block to block (correlation of neighbours, relative to {reference}), so that \
                 intervals are too narrow and a small difference may be none: {}. More blocks do not cure it; a \
                 larger --budget puts more time between them, and another run, later or on another machine, shows \
                 whether the difference returns",
                named.join(", ")
            )
        })
    }

    /// Whether it takes long to start or to stop, beside all others of the race.
    fn doubt_outside(&self, index: usize) -> Option<String> {
        let measured = &self.cells[index];
        let own_s = outside::outside_s(measured.cell).filter(|_| measured.is_ok())?;
        let others = self
            .cells
            .iter()
            .filter(|other| other.is_ok() && other.cell.contender != measured.cell.contender);
        let others_s = others.filter_map(|other| outside::outside_s(other.cell)).collect();
        outside::doubt(own_s, others_s)
    }

    /// What a reader must know before believing the times of a cell, each the end of a sentence.
    pub(super) fn doubts(&self, index: usize, accounted: Option<Accounted>) -> Vec<String> {
        let cell = self.cells[index].cell;
        // Where the definition itself leaves a part outside the clock, that part is no secret.
        let claims = accounted.filter(|_| self.race.untimed.is_none());
        let mut doubts = claims.map_or_else(Vec::new, |accounted| accounted.doubts());
        // Of asynchronous work others may do a part: the thread that starts it, or those for
        // blocking calls.
        if self.race.model == Model::ForkJoin {
            doubts.extend(accounted.and_then(|accounted| accounted.crowd(self.race.threads)));
        }
        doubts.extend(self.doubt_outside(index));
        // What a process that ended well left behind. Its shadow is the same program.
        let is_same = |other: &&CellRecord| {
            other.contender == cell.contender && other.variant == cell.variant
        };
        let same = self.cells.iter().map(|other| other.cell).filter(is_same);
        let remarks: BTreeSet<&String> =
            same.flat_map(CellRecord::raced).filter_map(|i| i.detail.as_ref()).collect();
        doubts.extend(remarks.into_iter().cloned());
        // The fastest way to do the work is shown, which must not hide that another one failed.
        let failed = self.cells.iter().map(|other| other.cell).filter(|other| {
            self.cells[index].is_ok()
                && !other.shadow
                && other.contender == cell.contender
                && other.outcome.is_fault()
        });
        doubts.extend(failed.map(|other| {
            format!(
                "failed with {}: {}: {}",
                settings_text(&other.variant),
                other.outcome.words(),
                other.detail.as_deref().unwrap_or("for no reason that is known")
            )
        }));
        doubts
    }
}
