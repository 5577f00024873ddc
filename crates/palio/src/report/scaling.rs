//! How times fall with the number of threads: speed-up, efficiency, and the law behind them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{Entry, Interval, Race, Report};
use super::pair::blocks;
use super::units;
use super::view::thread_sweeps;
use crate::contender::Kind;
use crate::grid::Design;
use crate::record::Outcome;
use crate::stats::{BlockTimes, Estimate, FittedLaw, LAW_POINTS_MIN, RatioInterval};

/// One workload on several numbers of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    pub workload: String,
    pub params: BTreeMap<String, String>,
    /// Whether the races had a CPU budget, which has a table of its own.
    #[serde(default)]
    pub has_cpu_budget: bool,
    /// Numbers of threads, ascending, each once.
    pub threads: Vec<u32>,
    /// The contender without a runtime that speed-ups refer to; `None` if none completed all of the
    /// races, and each contender then is compared with itself on one thread.
    pub baseline: Option<String>,
    /// What the baseline takes, beside the contenders on the fewest threads.
    pub baseline_ns: Option<f64>,
    /// In the order of the report.
    pub curves: Vec<ScalingCurve>,
}

/// One contender on several numbers of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingCurve {
    pub contender: String,
    /// Numbers of threads that it completed, ascending.
    pub points: Vec<ScalingPoint>,
    pub law: Option<Law>,
    /// Why there is no law, in a few words.
    pub no_law: Option<String>,
}

/// One contender on one number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingPoint {
    pub threads: u32,
    pub value_ns: f64,
    /// Time of the baseline ÷ its own; without a baseline, its own on one thread ÷ that on these.
    pub speed_up: Option<Interval>,
    /// The speed-up ÷ the number of threads.
    pub efficiency: Option<f64>,
}

/// The Universal Scalability Law of one contender on one workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// What the law says of the speed-up of one thread.
    pub one: f64,
    /// The share of the work that is done by one at a time.
    pub sigma: Interval,
    /// What each pair of threads costs to agree.
    pub kappa: Interval,
    /// The number of threads beyond which more threads do less; `None` unless the interval of
    /// `kappa` lies above 0.
    pub peak: Option<f64>,
    /// How far the farthest point lies from the law, as a ratio of at least 1.
    pub misfit: f64,
}

impl Law {
    /// The speed-up on so many threads.
    pub(super) fn speed_up(&self, n: f64) -> f64 {
        let (sigma, kappa) = (self.sigma.point, self.kappa.point);
        self.one * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
    }

    /// `σ 0.031 [0.028, 0.034] · κ 0.0002 [-0.0001, 0.0005] · no peak · off by 1.2 %`.
    pub(super) fn text(&self) -> String {
        format!(
            "σ {} · κ {} · {} · {}",
            parameter(&self.sigma),
            parameter(&self.kappa),
            self.peak_text(),
            self.misfit_text()
        )
    }

    pub(super) fn peak_text(&self) -> String {
        match self.peak {
            Some(peak) => format!("peak at {} threads", units::ratio(peak)),
            None => "no peak".to_owned(),
        }
    }

    pub(super) fn misfit_text(&self) -> String {
        format!("off by {}", units::factor(self.misfit))
    }
}

/// `0.031 [0.028, 0.034]`.
pub(super) fn parameter(of: &Interval) -> String {
    // Of numbers around 0, so many digits as tell them from it.
    let size = of.point.abs().max(of.hi.unwrap_or(0.0).abs()).max(of.lo.unwrap_or(0.0).abs());
    let digits = if size > 0.0 { (2.0 - size.log10().floor()).clamp(2.0, 7.0) } else { 2.0 };
    let number = |x: f64| {
        let text = format!("{x:.*}", digits as usize);
        if text.trim_start_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
    };
    let side = |x: Option<f64>| x.map_or(units::NONE.to_owned(), number);
    format!("{} [{}, {}]", number(of.point), side(of.lo), side(of.hi))
}

/// Of every workload that was raced on several numbers of threads; in a run that was made for
/// scaling, of every workload. Rows that rank no times have no speed-up.
#[must_use]
pub fn of(report: &Report) -> Vec<Scaling> {
    let fewest = if report.run.design == Some(Design::Scale) { 1 } else { 2 };
    let sweeps = thread_sweeps(&report.races, fewest);
    let timed = |sweep: &Vec<usize>| report.races[sweep[0]].statistic.is_none();
    let processors = report.run.machine.cores;
    sweeps
        .into_iter()
        .filter(timed)
        .map(|sweep| {
            let races: Vec<&Race> = sweep.iter().map(|&i| &report.races[i]).collect();
            Scaling::of(report, &races, processors)
        })
        .collect()
}

impl Scaling {
    fn of(report: &Report, races: &[&Race], processors: Option<u32>) -> Self {
        // One that works on more threads itself is no measure for what these bring.
        let is_serial = |race: &&Race, id: &str| {
            ok(race, id).is_some_and(|entry| entry.threads_used.unwrap_or(race.threads) == 1)
        };
        let is_everywhere =
            |id: &str| races.iter().all(|race| is_serial(race, id) && times(race, id).is_some());
        let of_kind = |kind: Kind| report.contenders.iter().filter(move |known| known.kind == kind);
        let baseline = of_kind(Kind::Baseline).map(|c| c.id.as_str()).find(|id| is_everywhere(id));
        let others = report.contenders.iter().filter(|known| known.kind != Kind::Baseline);
        let curves = others
            .map(|known| ScalingCurve::of(&known.id, races, baseline, processors))
            .filter(|curve| !curve.points.is_empty())
            .collect();
        Self {
            workload: races[0].workload.clone(),
            params: races[0].params.clone(),
            has_cpu_budget: races[0].cpu_budget.is_some(),
            threads: races.iter().map(|race| race.threads).collect(),
            baseline: baseline.map(str::to_owned),
            baseline_ns: baseline.and_then(|id| ok(races[0], id)?.value_ns),
            curves,
        }
    }

    /// What the speed-ups are against, in a sentence without its full stop.
    pub(super) fn against(&self) -> String {
        match (&self.baseline, self.baseline_ns) {
            (Some(baseline), Some(ns)) => {
                format!("speed-up over {baseline}, which takes {}", units::time(ns))
            }
            (Some(baseline), None) => format!("speed-up over {baseline}"),
            (None, _) => {
                "no baseline of one thread completed it: speed-up of each over itself on 1 thread, raced \
                          at another time"
                    .to_owned()
            }
        }
    }
}

impl Scaling {
    /// Those of the report that it is of.
    pub(super) fn races<'a>(&'a self, report: &'a Report) -> impl Iterator<Item = &'a Race> {
        report.races.iter().filter(|race| {
            race.workload == self.workload
                && race.params == self.params
                && race.cpu_budget.is_some() == self.has_cpu_budget
        })
    }

    /// Who failed on which number of threads, and whose times are doubtful: sentences without their
    /// full stops.
    pub(super) fn remarks(&self, report: &Report) -> Vec<String> {
        let mut races: Vec<&Race> = self.races(report).collect();
        races.sort_by_key(|race| race.threads);
        let remarks = races.iter().flat_map(|race| {
            let failed = race.entries.iter().filter_map(Entry::fault_text);
            let ok = race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok);
            let doubts = ok.flat_map(Entry::doubts_text);
            let threads = race.threads_text();
            failed.chain(doubts).map(move |text| format!("on {threads}: {text}"))
        });
        remarks.collect()
    }
}

impl ScalingCurve {
    fn of(id: &str, races: &[&Race], baseline: Option<&str>, processors: Option<u32>) -> Self {
        let single = races.iter().find(|race| race.threads == 1).and_then(|race| times(race, id));
        let mut points = Vec::new();
        let mut curve: Vec<(u32, BlockTimes)> = Vec::new();
        for race in races {
            let Some((entry, own)) = ok(race, id).zip(times(race, id)) else { continue };
            let Some(value_ns) = entry.value_ns else { continue };
            let from = match baseline {
                Some(baseline) => times(race, baseline),
                None => single.as_ref().map(BlockTimes::in_order),
            };
            // That of a baseline is of the same race, and of its blocks.
            let to = if baseline.is_none() { own.in_order() } else { own.clone() };
            let ratio = from.as_ref().and_then(|from| RatioInterval::between(from, &to));
            points.push(ScalingPoint {
                threads: race.threads,
                value_ns,
                speed_up: ratio
                    .map(|ratio| bounded(ratio.point, ratio.lo, ratio.hi, ratio.is_bounded())),
                efficiency: ratio.map(|ratio| ratio.point / f64::from(race.threads)),
            });
            // In units of the baseline what a busier hour did to both is gone.
            let relative = match baseline.and_then(|baseline| times(race, baseline)) {
                Some(baseline) => own.relative_to(&baseline),
                None => own,
            };
            curve.push((race.threads, relative.in_order()));
        }
        let fitted = fit(&curve, processors).map(|law| {
            let unit = match baseline {
                Some(_) => Some(1.0),
                None => single.as_ref().and_then(BlockTimes::typical_ns),
            };
            law_of(&law, unit)
        });
        let (law, no_law) = match fitted {
            Ok(Some(law)) => (Some(law), None),
            Ok(None) => (None, Some("it was not raced on 1 thread".to_owned())),
            Err(why) => (None, Some(why)),
        };
        Self { contender: id.to_owned(), points, law, no_law }
    }
}

/// The law of the points that have a processor for each thread, or why there is none.
fn fit(curve: &[(u32, BlockTimes)], processors: Option<u32>) -> Result<FittedLaw, String> {
    let has_room = |threads: u32| processors.is_none_or(|most| threads <= most);
    let fair: Vec<(u32, BlockTimes)> =
        curve.iter().filter(|(threads, _)| has_room(*threads)).cloned().collect();
    if fair.len() < LAW_POINTS_MIN {
        let machine = processors
            .filter(|_| fair.len() < curve.len())
            .map_or_else(String::new, |most| format!(", on a machine that runs {most} at a time"));
        return Err(format!(
            "{} of threads{machine}: the law needs {LAW_POINTS_MIN}",
            units::plural(fair.len(), "number")
        ));
    }
    FittedLaw::of(&fair).ok_or_else(|| "no law fits the times on all numbers of threads".to_owned())
}

/// In terms of speed-up, where `unit` is the time that a speed-up of 1 takes.
fn law_of(fitted: &FittedLaw, unit: Option<f64>) -> Option<Law> {
    let interval = |of: &Estimate| bounded(of.point, of.lo, of.hi, of.is_bounded());
    let kappa = interval(&fitted.kappa);
    let is_sure = kappa.lo.is_some_and(|lo| lo > 0.0);
    Some(Law {
        one: unit? / fitted.law.one,
        sigma: interval(&fitted.sigma),
        kappa,
        peak: fitted.law.peak().filter(|_| is_sure),
        misfit: fitted.misfit,
    })
}

fn bounded(point: f64, lo: f64, hi: f64, is_bounded: bool) -> Interval {
    Interval { point, lo: is_bounded.then_some(lo), hi: is_bounded.then_some(hi) }
}

fn ok<'a>(race: &'a Race, id: &str) -> Option<&'a Entry> {
    race.entries.iter().find(|entry| entry.contender == id && entry.outcome == Outcome::Ok)
}

fn times(race: &Race, id: &str) -> Option<BlockTimes> {
    blocks(race, ok(race, id)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ScalabilityLaw;

    fn fitted(kappa_lo: f64) -> FittedLaw {
        let around = |point: f64, lo: f64| Estimate { point, lo, hi: 2.0 * point, blocks: 6 };
        FittedLaw {
            law: ScalabilityLaw { one: 8.0, sigma: 0.19, kappa: 0.01 },
            sigma: around(0.19, 0.1),
            kappa: around(0.01, kappa_lo),
            misfit: 1.0,
        }
    }

    #[test]
    fn a_law_has_a_peak_only_where_it_surely_has_one() {
        let law = |kappa_lo| law_of(&fitted(kappa_lo), Some(8.0)).unwrap();
        assert_eq!(law(0.005).peak, Some(9.0));
        assert_eq!(law(0.005).peak_text(), "peak at 9.00 threads");
        for unsure in [0.0, -0.005, f64::NEG_INFINITY] {
            assert_eq!(law(unsure).peak, None, "{unsure}");
            assert_eq!(law(unsure).peak_text(), "no peak");
        }
    }

    /// A baseline that takes half as long as one thread makes that thread's speed-up a half.
    #[test]
    fn a_law_is_in_units_of_what_a_speed_up_of_one_takes() {
        let law = law_of(&fitted(0.005), Some(4.0)).unwrap();
        assert_eq!((law.one, law.speed_up(1.0)), (0.5, 0.5));
        assert_eq!(law_of(&fitted(0.005), None), None);
    }
}
