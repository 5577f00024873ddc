//! Rows that are asked at a fixed rate: how long requests waited, at which load, and up to which
//! load a contender keeps up.

use super::model::{Entry, Latency, Race, Report};
use super::sheet::{Section, Sheet};
use super::units::{self, NONE};
use super::view::printable;
use crate::load::Latencies;
use crate::record::{CellRecord, Outcome, SampleRecord};
use crate::stats::quantile;

/// Who answers a smaller share of what is due in the time in which it is due does not keep up.
const KEEPS_UP: f64 = 0.99;
const LEAD: &str = "From the moment at which a request was due until its answer was there, whatever became of those \
    before: of all measured requests together, to 1 %. A dash is a percentile that fewer than ten requests exceeded. \
    Achieved: answered in a second, of those that were due; beyond its knee a contender answers less, requests queue \
    up, and their latency says how long the race was. CPU: that of the contender for a request. Late: how late the \
    generator came to send (median and p99), which is in all latencies and is nobody's fault but its own.";
/// Beside whom the generator ran for a larger share of the time, it may have been what was slow.
const BUSY: f64 = 0.8;
/// A contender whose threads ran for a larger share of it had no time left itself.
const FULL: f64 = 0.95;
const HEADS: [&str; 10] =
    ["Contender", "Achieved", "p50", "p90", "p99", "p99.9", "p99.99", "Max", "CPU", "Late"];

/// What the measured samples of a cell met with; `None` if they were not asked for anything.
pub(super) fn of(cell: &CellRecord) -> Option<Latency> {
    let mut latencies = Latencies::new();
    // Of what a contender claims no number of whole µs holds every sum.
    let (mut cpu_us, mut generator_us) = (Some(0.0), Some(0.0));
    let mut loads = Vec::new();
    for (_, SampleRecord { load, user_us, sys_us, .. }) in cell.measured() {
        let load = load.as_ref()?;
        load.histogram.iter().for_each(|&[ns, count]| latencies.add(ns, count));
        let own_us = user_us.zip(*sys_us).map(|(user, sys)| user as f64 + sys as f64);
        cpu_us = cpu_us.zip(own_us).map(|(sum, us): (f64, f64)| sum + us);
        let us = load.generator_us.map(|us| us as f64);
        generator_us = generator_us.zip(us).map(|(sum, us): (f64, f64)| sum + us);
        loads.push(load);
    }
    let first = loads.first()?;
    let median = |of: fn(&crate::load::LoadRecord) -> u64| {
        let mut all: Vec<f64> = loads.iter().map(|load| of(load) as f64).collect();
        all.sort_by(f64::total_cmp);
        quantile(&all, 0.5)
    };
    let percentile = |of_million| latencies.percentile_ns(of_million).map(|ns| ns as f64);
    let a_request = |us: Option<f64>| us.map(|us| us / latencies.count() as f64);
    Some(Latency {
        requests: latencies.count(),
        offered_per_s: first.offered_per_s as f64,
        achieved_per_s: median(|load| load.achieved_per_s),
        p50_ns: percentile(500_000),
        p90_ns: percentile(900_000),
        p99_ns: percentile(990_000),
        p999_ns: percentile(999_000),
        p9999_ns: percentile(999_900),
        max_ns: latencies.max_ns() as f64,
        late_p50_ns: median(|load| load.late_p50_ns),
        late_p99_ns: median(|load| load.late_p99_ns),
        held_back: loads.iter().map(|load| load.held_back).fold(0, u64::saturating_add),
        cpu_us: a_request(cpu_us),
        generator_us: a_request(generator_us),
    })
}

impl Latency {
    pub(super) fn keeps_up(&self) -> bool {
        self.achieved_per_s >= KEEPS_UP * self.offered_per_s
    }

    /// Whether the generator's one thread ran for most of the time, on a processor that the
    /// contender did not have, and with answers in sockets at which it had not looked; while the
    /// contender, on so many threads, still had time itself.
    fn is_generator_limit(&self, threads: u32) -> bool {
        let share = |us: Option<f64>| us.map_or(0.0, |us| us * self.achieved_per_s / 1e6);
        share(self.generator_us) >= BUSY && share(self.cpu_us) < FULL * f64::from(threads)
    }

    /// The percentiles that are drawn, each with its name.
    pub(super) fn drawn(&self) -> [(&'static str, Option<f64>); 4] {
        [
            ("p50", self.p50_ns),
            ("p99", self.p99_ns),
            ("p99.9", self.p999_ns),
            ("p99.99", self.p9999_ns),
        ]
    }
}

/// Races that differ in their load only, by rising load: each with the load.
pub(super) fn sweeps(races: &[Race]) -> Vec<Vec<(u64, usize)>> {
    let mut sweeps: Vec<Vec<(u64, usize)>> = Vec::new();
    for (index, race) in races.iter().enumerate() {
        let offered = race.entries.iter().find_map(|entry| entry.latency.as_ref());
        let Some(offered) = offered.map(|latency| latency.offered_per_s as u64) else { continue };
        let key = |race: &Race| (family(race).to_owned(), race.threads, race.cpu_budget.is_some());
        match sweeps.iter_mut().find(|sweep| key(&races[sweep[0].1]) == key(race)) {
            Some(sweep) => sweep.push((offered, index)),
            None => sweeps.push(vec![(offered, index)]),
        }
    }
    sweeps.iter_mut().for_each(|sweep| sweep.sort_unstable());
    sweeps
}

/// The workload without the name of its case, which says the load.
pub(super) fn family(race: &Race) -> &str {
    race.workload.split_once('/').map_or(&race.workload, |(family, _)| family)
}

pub(super) fn section(report: &Report) -> Section {
    let mut sheets = Vec::new();
    for sweep in sweeps(&report.races) {
        sheets.extend(knees(&report.races, &sweep));
        sheets.extend(sweep.iter().map(|&(_, index)| percentiles(&report.races[index])));
    }
    Section { id: "latency", title: "Latency at a fixed rate", lead: LEAD, sheets }
}

fn ok(race: &Race) -> impl Iterator<Item = (&Entry, &Latency)> {
    let ok = race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok);
    ok.filter_map(|entry| Some((entry, entry.latency.as_ref()?)))
}

fn rate(per_s: f64) -> String {
    format!("{}/s", units::count(per_s.round() as u64))
}

fn or_none(ns: Option<f64>) -> String {
    ns.map_or(NONE.into(), units::time)
}

fn cpu(latency: &Latency) -> String {
    or_none(latency.cpu_us.map(|us| us * 1e3))
}

/// The highest load up to which each contender kept up, with all lower ones.
fn knees(races: &[Race], sweep: &[(u64, usize)]) -> Option<Sheet> {
    let first = &races[sweep.first()?.1];
    let mut names: Vec<&str> = Vec::new();
    for (entry, _) in sweep.iter().flat_map(|&(_, index)| ok(&races[index])) {
        if !names.contains(&entry.contender.as_str()) {
            names.push(&entry.contender);
        }
    }
    let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
    for name in names {
        let at = |&(_, index): &(u64, usize)| ok(&races[index]).find(|(e, _)| e.contender == name);
        let kept = sweep.iter().map_while(|load| at(load).filter(|(_, l)| l.keeps_up())).last();
        let row = match kept {
            Some((_, latency)) => {
                let p99 = or_none(latency.p99_ns);
                let is_most =
                    sweep.last().is_some_and(|most| most.0 as f64 <= latency.offered_per_s);
                let or_more = if is_most { " or more" } else { "" };
                let load = format!("{}{or_more}", rate(latency.offered_per_s));
                vec![name.to_owned(), load, p99, cpu(latency)]
            }
            None => vec![name.to_owned(), "at none of these".to_owned(), NONE.into(), NONE.into()],
        };
        rows.push((kept.map_or(0.0, |(_, latency)| latency.offered_per_s), row));
    }
    // Stable, so that equals stay in the order of the lowest load.
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    (sweep.len() > 1 && !rows.is_empty()).then(|| Sheet {
        caption: printable(&format!("{} · {}", family(first), first.conditions_text())),
        heads: vec!["Contender", "Keeps up to", "p99 there", "CPU there"],
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        notes: vec![format!(
            "Of the loads {}; a contender keeps up if it answers {:.0} % of what is due in the time in which it is due",
            sweep.iter().map(|(load, _)| rate(*load as f64)).collect::<Vec<_>>().join(", "),
            KEEPS_UP * 100.0
        )],
    })
}

fn percentiles(race: &Race) -> Sheet {
    let row = |(entry, latency): (&Entry, &Latency)| {
        let late = [latency.late_p50_ns, latency.late_p99_ns].map(units::time);
        vec![
            entry.contender.clone(),
            rate(latency.achieved_per_s),
            or_none(latency.p50_ns),
            or_none(latency.p90_ns),
            or_none(latency.p99_ns),
            or_none(latency.p999_ns),
            or_none(latency.p9999_ns),
            units::time(latency.max_ns),
            cpu(latency),
            late.join(" · "),
        ]
    };
    fn named(race: &Race, is: impl Fn(&Latency) -> bool) -> Vec<&str> {
        let found = ok(race).filter(|(_, latency)| is(latency));
        found.map(|(entry, _)| entry.contender.as_str()).collect()
    }
    let offered = ok(race).next().map(|(_, latency)| latency.offered_per_s);
    let mut notes = Vec::new();
    let slow = named(race, |latency| !latency.keeps_up());
    if let Some(offered) = offered.filter(|_| !slow.is_empty()) {
        notes.push(format!("Beyond their knee at {}: {}", rate(offered), slow.join(", ")));
    }
    let late =
        named(race, |latency| latency.p99_ns.is_some_and(|p99| latency.late_p99_ns > p99 / 2.0));
    if !late.is_empty() {
        notes.push(format!(
            "The generator could not keep up with its own times: more than half of the p99 may be its lateness, beside {}",
            late.join(", ")
        ));
    }
    let busy = named(race, |latency| latency.is_generator_limit(race.threads));
    if !busy.is_empty() {
        notes.push(format!(
            "The generator ran for {:.0} % of the time or more, and the contender had time left, so that latencies and the \
             load at which somebody no longer keeps up may be the generator's, beside {}",
            BUSY * 100.0,
            busy.join(", ")
        ));
    }
    Sheet { caption: race.label(), heads: HEADS.to_vec(), rows: ok(race).map(row).collect(), notes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_is_busy_by_its_share_of_the_time() {
        let latency = |generator_us, achieved_per_s, cpu_us| Latency {
            requests: 1,
            offered_per_s: 64_000.0,
            achieved_per_s,
            p50_ns: None,
            p90_ns: None,
            p99_ns: None,
            p999_ns: None,
            p9999_ns: None,
            max_ns: 1.0,
            late_p50_ns: 1.0,
            late_p99_ns: 1.0,
            held_back: 0,
            cpu_us,
            generator_us,
        };
        assert!(latency(Some(15.0), 64_000.0, None).is_generator_limit(1));
        assert!(!latency(Some(15.0), 32_000.0, None).is_generator_limit(1));
        assert!(!latency(None, 64_000.0, None).is_generator_limit(1));
        // One thread that has no time left, and one that has.
        assert!(!latency(Some(15.0), 64_000.0, Some(15.0)).is_generator_limit(1));
        assert!(latency(Some(15.0), 64_000.0, Some(14.0)).is_generator_limit(1));
        assert!(latency(Some(15.0), 64_000.0, Some(15.0)).is_generator_limit(2));
    }
}
