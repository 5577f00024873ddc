//! From a stored run to a report: where samples become medians, ratios, ranks and verdicts.

mod by_hand;
mod cautions;
mod outside;

use std::collections::BTreeMap;

use crate::budget::Throttled;
use crate::clock::Accounted;
use crate::contender::{Kind, Track};
use crate::disturbance;
use crate::record::{Outcome, RaceRecord, RunRecord};
use crate::report::cpu_sums::CpuSums;
use crate::report::measured::MeasuredCell;
use crate::report::model::{
    CheckedPrediction, Contender, Entry, Interval, NoiseFloor, Race, Report, Run, Thinned, Verdict,
    VerdictWord,
};
use crate::report::sweep::Sweep;
use crate::report::{forks, holm, latency, scaling, thinned, totals, units};
use crate::stats::{self, BlockTimes, EquivalenceMargin, Ranking, RatioInterval};
use crate::workload::{Prediction, Relation, settings_text};
use by_hand::by_hand;
pub use by_hand::shell_line;

/// Makes the report of a run; of an unfinished one too, with what there is.
pub fn report(run: &RunRecord) -> Report {
    selected(run, &|_| true, &mut |_| true)
}

/// The same of the contenders that `shows` admits, and of the races of these that `keeps` does.
pub(super) fn selected(
    run: &RunRecord,
    shows: &dyn Fn(&str) -> bool,
    keeps: &mut dyn FnMut(&Race) -> bool,
) -> Report {
    let (mut races, mut predictions, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
    for record in &run.races {
        let mut measured = MeasuredRace::of(record);
        let is_shown = |index: &usize| shows(&measured.cells[*index].cell.contender);
        let (shown, others) = measured.chosen.iter().partition::<Vec<_>, _>(|i| is_shown(i));
        let compared = |verdict: Verdict| Some((verdict.p?, verdict.blocks));
        let of = |index: &usize| measured.against_reference(*index).and_then(compared);
        hidden.extend(others.iter().filter_map(of));
        measured.chosen = shown;
        let race = measured.race(run);
        if keeps(&race) {
            races.push(race);
            predictions.extend(measured.predictions(shows));
        } else {
            hidden.extend(race.entries.iter().filter_map(|e| compared(e.ratio_to_reference?)));
        }
    }
    let mut report = Report {
        run: header(run),
        totals: totals::of(&races),
        told_apart: None,
        predictions,
        contenders: contenders(run).into_iter().filter(|known| shows(&known.id)).collect(),
        races,
        sweep: None,
        scaling: Vec::new(),
        replication: None,
    };
    holm::adjust(&mut report, &hidden);
    report.sweep = Sweep::of(&report);
    report.scaling = scaling::of(&report);
    report
}

fn header(run: &RunRecord) -> Run {
    let header = &run.header;
    Run {
        id: header.id.clone(),
        suite: header.suite.clone(),
        preset: header.preset,
        blocks: header.blocks,
        disturbance: disturbance::sentence(run),
        interruptions: disturbance::interruptions(run),
        seed: header.seed,
        state: header.state().to_owned(),
        started_at: header.started_at.clone(),
        finished_at: header.finished_at.clone(),
        palio_version: header.palio_version.clone(),
        command: header.command.clone(),
        design: header.design.clone(),
        machine: header.machine.clone(),
        warnings: header.warnings.clone(),
        thinned: Thinned::of(run),
        selection: None,
    }
}

fn contenders(run: &RunRecord) -> Vec<Contender> {
    let each = run.contenders.iter().map(|contender| Contender {
        id: contender.id.clone(),
        name: contender.name.clone(),
        language: contender.language.clone(),
        kind: contender.kind,
        track: contender.track,
        homepage: contender.homepage.clone(),
        licence: contender.licence.clone(),
        runtime: contender.runtime.clone(),
        version: contender.version.clone(),
        toolchain: contender.toolchain.clone(),
        flags: contender.flags.clone(),
        absent: contender.absent.clone(),
        notes: contender.notes.clone(),
    });
    each.collect()
}

/// A race with one cell chosen for each contender.
struct MeasuredRace<'a> {
    race: &'a RaceRecord,
    cells: Vec<MeasuredCell<'a>>,
    /// The cell shown for each contender: the fastest variant that completed, or the first.
    chosen: Vec<usize>,
    /// Of the reference.
    floor: stats::NoiseFloor,
    /// Of the contender of each cell, if it has a shadow.
    floors: Vec<Option<stats::NoiseFloor>>,
    reference: Option<usize>,
}

impl<'a> MeasuredRace<'a> {
    fn of(race: &'a RaceRecord) -> Self {
        let cells: Vec<_> =
            race.cells.iter().map(|cell| MeasuredCell::of(cell, race.statistic)).collect();
        let mut chosen: Vec<usize> = Vec::new();
        for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.cell.shadow) {
            match chosen
                .iter_mut()
                .find(|other| cells[**other].cell.contender == cell.cell.contender)
            {
                None => chosen.push(index),
                Some(other) => {
                    let better = (cell.is_ok(), -cell.order())
                        > (cells[*other].is_ok(), -cells[*other].order());
                    if better {
                        *other = index;
                    }
                }
            }
        }
        let is_reference =
            |cell: &MeasuredCell<'_>| Some(&cell.cell.contender) == race.reference.as_ref();
        let reference = chosen
            .iter()
            .copied()
            .find(|&index| is_reference(&cells[index]) && cells[index].is_ok());
        let floors: Vec<_> =
            cells.iter().map(|cell| own_floor(&cells, &cell.cell.contender)).collect();
        let referred = cells.iter().position(is_reference).and_then(|index| floors[index]);
        let floor = referred.unwrap_or_else(stats::NoiseFloor::unknown);
        Self { race, cells, chosen, floor, floors, reference }
    }

    /// The floor of a comparison between two cells. A contender without a shadow has that of the
    /// reference.
    fn pair_floor(&self, a: usize, b: usize) -> stats::NoiseFloor {
        let [a, b] = [a, b].map(|index| self.floors[index].unwrap_or(self.floor));
        a.with(&b)
    }

    fn race(&self, run: &RunRecord) -> Race {
        let is_baseline = |index: usize| {
            run.contender(&self.cells[index].cell.contender)
                .is_some_and(|c| c.kind == Kind::Baseline)
        };
        let (baselines, ok): (Vec<usize>, Vec<usize>) = self
            .chosen
            .iter()
            .copied()
            .filter(|&index| self.cells[index].is_ok())
            .partition(|&i| is_baseline(i));
        let blocks: Vec<BlockTimes> =
            ok.iter().filter_map(|&index| self.cells[index].blocks.clone()).collect();
        let floors: Vec<_> = ok
            .iter()
            .filter(|&&index| self.cells[index].blocks.is_some())
            .map(|&index| self.pair_floor(index, index))
            .collect();
        let ranking = Ranking::with_floors(&blocks, &floors);
        let mut entries: Vec<Entry> =
            self.chosen.iter().map(|&index| self.entry(run, index)).collect();
        for (&index, standing) in ok.iter().zip(&ranking.standings) {
            let entry = entries
                .iter_mut()
                .find(|entry| entry.contender == self.cells[index].cell.contender);
            if let Some(entry) = entry {
                let rank = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
                entry.rank = Some([rank(standing.lo), rank(standing.hi)]);
                entry.ratio_to_best = standing.ratio_to_best.as_ref().map(interval);
            }
        }
        if let Some(best) = ranking.best.map(|best| &blocks[best]) {
            for &index in &baselines {
                let cell = &self.cells[index];
                if let Some(entry) =
                    entries.iter_mut().find(|entry| entry.contender == cell.cell.contender)
                {
                    let ratio = cell
                        .blocks
                        .as_ref()
                        .and_then(|blocks| RatioInterval::between(blocks, best));
                    entry.ratio_to_best = ratio.as_ref().map(interval);
                }
            }
        }
        let order = |entry: &Entry| {
            let ratio = entry.ratio_to_best.map_or(f64::INFINITY, |ratio| ratio.point);
            (entry.outcome != Outcome::Ok, ratio)
        };
        entries.sort_by(|a, b| {
            let (a_key, b_key) = (order(a), order(b));
            a_key
                .0
                .cmp(&b_key.0)
                .then(a_key.1.total_cmp(&b_key.1))
                .then_with(|| a.outcome.cmp(&b.outcome))
        });
        let race = self.race;
        let mut report = Race {
            workload: race.workload.clone(),
            title: race.title.clone(),
            model: race.model,
            params: race.params.clone(),
            threads: race.threads,
            unit: race.unit.clone(),
            scope: race.scope,
            answer: race.answer.clone(),
            salted: race.salt.is_some(),
            ops: race.ops,
            statistic: race.statistic,
            cpu_budget: race.cpu_budget,
            reference: self.reference.map(|index| self.cells[index].cell.contender.clone()),
            noise_floor: noise_floor(&self.floor),
            origin: race.origin.clone(),
            cautions: self.cautions(run),
            others: self.others(run),
            entries,
        };
        self.tell_so_far(&mut report);
        report
    }

    /// The variants that were not chosen.
    fn others(&self, run: &RunRecord) -> Vec<Entry> {
        let is_other =
            |&index: &usize| !self.cells[index].cell.shadow && !self.chosen.contains(&index);
        (0..self.cells.len()).filter(is_other).map(|index| self.entry(run, index)).collect()
    }

    /// Says of those that are still to race what whole blocks show of them. It stands beside the
    /// outcome and not where results stand: whoever stops a run chooses when.
    fn tell_so_far(&self, report: &mut Race) {
        let blocks = self.race.whole_blocks();
        for &index in &self.chosen {
            let cell = &self.cells[index];
            let Some(value) = cell.within(&blocks).value_ns() else { continue };
            let (value, head) = (report.number_text(value), report.value_head());
            let said = format!(
                "{head} {value} in {} so far, incomplete and not ranked",
                units::plural(blocks.len(), "whole block")
            );
            let is_it = |entry: &&mut Entry| {
                entry.contender == cell.cell.contender && entry.outcome == Outcome::Pending
            };
            if let Some(entry) = report.entries.iter_mut().find(is_it) {
                entry.detail.get_or_insert(said);
            }
        }
    }

    fn entry(&self, run: &RunRecord, index: usize) -> Entry {
        let measured = &self.cells[index];
        let cell = measured.cell;
        let contender = run.contender(&cell.contender);
        let summary = measured.summary.as_ref();
        let other_variants: BTreeMap<String, f64> = self
            .cells
            .iter()
            .filter(|other| {
                other.cell.contender == cell.contender
                    && other.cell.variant != cell.variant
                    && other.is_ok()
            })
            .map(|other| (settings_text(&other.cell.variant), other.order()))
            .collect();
        let cpu = CpuSums::of(cell);
        let accounted = Accounted::of(cell).filter(|_| measured.is_ok());
        let raced = |of: fn(&crate::record::Resources) -> Option<u64>| {
            let values: Option<Vec<u64>> = cell
                .invocations
                .iter()
                .filter(|i| i.block.is_some() && !i.disturbed)
                .map(|i| of(&i.resources))
                .collect();
            values.filter(|values| !values.is_empty())
        };
        let mean = |values: Vec<u64>| {
            values.iter().map(|&value| value as f64).sum::<f64>() / values.len() as f64
        };
        Entry {
            contender: cell.contender.clone(),
            version: contender
                .and_then(|c| c.version.clone())
                .unwrap_or_else(|| "unknown".to_owned()),
            kind: contender.map_or(Kind::Async, |c| c.kind),
            track: contender.map_or(Track::Stock, |c| c.track),
            variant: (!cell.variant.is_empty() && measured.is_ok())
                .then(|| settings_text(&cell.variant)),
            other_variants,
            outcome: cell.outcome,
            detail: cell.detail.clone(),
            stderr: cell.stderr.clone(),
            rank: None,
            value_ns: measured.value_ns(),
            median_ns: summary.filter(|_| measured.statistic.is_none()).map(|s| s.median_ns),
            min_ns: summary.map(|s| s.min_ns),
            max_ns: summary.map(|s| s.max_ns),
            distribution: measured.distribution(),
            ratio_to_best: None,
            ratio_to_reference: self.against_reference(index),
            noise_floor: self.floors[index]
                .filter(|_| measured.is_ok())
                .and_then(|f| noise_floor(&f)),
            drift: measured.drift().map(|drift| interval(&drift.ratio())),
            user_us: cpu.map(|sums| sums.user_us / sums.iterations),
            sys_us: cpu.map(|sums| sums.sys_us / sums.iterations),
            latency: latency::of(cell).filter(|_| measured.is_ok()),
            throttled: cell
                .invocations
                .iter()
                .filter(|i| i.block.is_some() && !i.disturbed)
                .filter_map(|i| i.throttled)
                .reduce(Throttled::with),
            cpu_percent: cpu.map(|sums| 100.0 * (sums.user_us + sums.sys_us) / sums.elapsed_us),
            accounted_percent: accounted.map(|a| a.all.time_percent),
            accounted_cpu_percent: accounted.and_then(|a| a.all.cpu_percent),
            certified: (self.race.work.is_some() && measured.is_ok()).then(|| {
                cell.measured().all(|(_, sample)| sample.work.is_some())
                    && cell.dropped().all(|dropped| dropped.uncounted == 0)
            }),
            forks: forks::of(
                self.race,
                cell,
                measured.is_ok() && contender.is_none_or(|c| c.kind != Kind::Baseline),
            ),
            doubts: self.doubts(index, accounted),
            max_rss_kib: cell.invocations.iter().filter_map(|i| i.resources.max_rss_kib).max(),
            voluntary_switches: raced(|r| r.voluntary_switches).map(mean),
            involuntary_switches: raced(|r| r.involuntary_switches).map(mean),
            samples: u32::try_from(thinned::dropped(cell))
                .unwrap_or(u32::MAX)
                .saturating_add(u32::try_from(measured.samples.len()).unwrap_or(u32::MAX)),
            batch: cell.schedule.map_or(1, |schedule| schedule.batch),
            sample_ns: measured.samples.iter().map(|(_, ns)| *ns).collect(),
            sample_block: measured.samples.iter().map(|(block, _)| *block).collect(),
            threads_used: cell.threads_used().filter(|&used| used != self.race.threads),
            by_hand: cell.schedule.map(|schedule| by_hand(self.race, cell, schedule)),
        }
    }

    fn against_reference(&self, index: usize) -> Option<Verdict> {
        let reference = self.reference?;
        let (cell, twin) = (&self.cells[index], &self.cells[reference]);
        if !cell.is_ok() {
            return None;
        }
        let count = |blocks: usize| u32::try_from(blocks).unwrap_or(u32::MAX);
        let times = cell.blocks.as_ref()?;
        if index == reference {
            return Some(Verdict {
                point: 1.0,
                lo: Some(1.0),
                hi: Some(1.0),
                verdict: VerdictWord::Reference,
                p: None,
                holm: None,
                blocks: count(times.measured()),
            });
        }
        let reference = twin.blocks.as_ref()?;
        let ratio = RatioInterval::between(times, reference)?;
        let Interval { point, lo, hi } = interval(&ratio);
        let p = stats::p_value(times, reference);
        let floor = self.pair_floor(index, self.reference?);
        let (verdict, blocks) = (word(judge(&ratio, &floor)), count(ratio.blocks));
        Some(Verdict { point, lo, hi, verdict, p, holm: None, blocks })
    }

    /// Those of two contenders that are both shown.
    fn predictions(&self, shows: &dyn Fn(&str) -> bool) -> Vec<CheckedPrediction> {
        let find = |name: &str| {
            let index =
                self.chosen.iter().copied().find(|&i| self.cells[i].cell.contender == name)?;
            self.cells[index].is_ok().then_some(index)
        };
        let check = |prediction: &Prediction| {
            let (left, right) = (&prediction.order.left, &prediction.order.right);
            let ratio = find(left).zip(find(right)).and_then(|(a, b)| {
                let [x, y] = [a, b].map(|index| self.cells[index].blocks.as_ref());
                Some((RatioInterval::between(x?, y?)?, self.pair_floor(a, b)))
            });
            let (seen, held) = match &ratio {
                None => (format!("{left} and {right} did not both complete"), None),
                Some((ratio, floor)) => {
                    let bound = |value: f64| {
                        if value.is_finite() { format!("{value:.2}") } else { "∞".to_owned() }
                    };
                    let seen = format!(
                        "{left} ÷ {right} = {:.2} [{}, {}]",
                        ratio.point,
                        bound(ratio.lo),
                        bound(ratio.hi)
                    );
                    (seen, holds(prediction, ratio, floor))
                }
            };
            CheckedPrediction {
                workload: self.race.workload.clone(),
                threads: self.race.threads,
                expected: match prediction.order.relation {
                    Relation::Faster => prediction.order.to_string(),
                    Relation::Close => {
                        format!("{} (within {})", prediction.order, prediction.within)
                    }
                },
                note: None,
                because: prediction.because.clone(),
                seen,
                held,
            }
        };
        let is_shown = |p: &&Prediction| shows(&p.order.left) && shows(&p.order.right);
        self.race.predictions.iter().filter(is_shown).map(check).collect()
    }
}

/// The floor of `contender`, from its shadow and the cell that this repeats.
fn own_floor(cells: &[MeasuredCell<'_>], contender: &str) -> Option<stats::NoiseFloor> {
    let mut ok = cells.iter().filter(|cell| cell.cell.contender == contender && cell.is_ok());
    let shadow = ok.clone().find(|cell| cell.cell.shadow)?;
    let twin = ok.find(|cell| !cell.cell.shadow && cell.cell.variant == shadow.cell.variant)?;
    Some(stats::NoiseFloor::measure(twin.blocks.as_ref()?, shadow.blocks.as_ref()?))
}

fn noise_floor(floor: &stats::NoiseFloor) -> Option<NoiseFloor> {
    let ratio = Some(floor.ratio()).filter(|ratio| ratio.is_finite());
    Some(NoiseFloor { ratio, shadow: interval(&floor.a_a()?) })
}

fn judge(ratio: &RatioInterval, floor: &stats::NoiseFloor) -> stats::Verdict {
    stats::Verdict::of(ratio, floor, EquivalenceMargin::default())
}

/// `None` where the data do not decide.
fn holds(
    prediction: &Prediction,
    ratio: &RatioInterval,
    floor: &stats::NoiseFloor,
) -> Option<bool> {
    match prediction.order.relation {
        Relation::Faster => match judge(ratio, floor) {
            stats::Verdict::Faster => Some(true),
            stats::Verdict::Slower | stats::Verdict::Equivalent => Some(false),
            stats::Verdict::Inconclusive => None,
        },
        Relation::Close => {
            let (low, high) = (1.0 / prediction.within, prediction.within);
            if ratio.lo >= low && ratio.hi <= high {
                Some(true)
            } else if ratio.hi < low || ratio.lo > high {
                Some(false)
            } else {
                None
            }
        }
    }
}

fn word(verdict: stats::Verdict) -> VerdictWord {
    match verdict {
        stats::Verdict::Faster => VerdictWord::Faster,
        stats::Verdict::Slower => VerdictWord::Slower,
        stats::Verdict::Equivalent => VerdictWord::Equivalent,
        stats::Verdict::Inconclusive => VerdictWord::Inconclusive,
    }
}

/// An interval as JSON can say it: a side that the data do not bound is `None`.
fn interval(ratio: &RatioInterval) -> Interval {
    let bounded = ratio.is_bounded();
    Interval {
        point: ratio.point,
        lo: bounded.then_some(ratio.lo),
        hi: bounded.then_some(ratio.hi),
    }
}
