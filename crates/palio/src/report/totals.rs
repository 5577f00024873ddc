//! Means over the races of a run.

use std::fmt;

use super::model::{Race, Total};
use crate::contender::Kind;
use crate::record::Outcome;
use crate::stats::Totals;
use crate::workload::Model;

/// Races that are averaged and ranked together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    model: Model,
    capped: bool,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.model, if self.capped { ", with a CPU budget" } else { "" })
    }
}

impl Race {
    pub(super) fn field(&self) -> Field {
        Field { model: self.model, capped: self.cpu_budget.is_some() }
    }
}

impl Total {
    pub(super) fn field(&self) -> Field {
        Field { model: self.model, capped: self.capped }
    }
}

/// The fields of these races, in the order of their first ones.
pub(super) fn fields(races: &[Race]) -> Vec<Field> {
    let mut fields = Vec::new();
    for field in races.iter().map(Race::field) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// The means over the races of each model, since few contenders run both, and of each track.
///
/// Listed are the contenders that completed at least half of the model's races; the means go over
/// the races that all of them completed. A contender that completed fewer is shown with its
/// coverage and without means.
pub(super) fn of(races: &[Race]) -> Vec<Total> {
    let mut all = Vec::new();
    for field in fields(races) {
        let Field { model, capped } = field;
        let races: Vec<&Race> = races.iter().filter(|race| race.field() == field).collect();
        let mut names: Vec<&str> = Vec::new();
        for entry in races.iter().flat_map(|race| &race.entries) {
            let ranked = entry.outcome == Outcome::Ok && entry.kind != Kind::Baseline;
            if ranked && !names.contains(&entry.contender.as_str()) {
                names.push(&entry.contender);
            }
        }
        let ratio = |race: &Race, name: &str| {
            let entry = race
                .entries
                .iter()
                .find(|entry| entry.contender == name && entry.outcome == Outcome::Ok);
            entry.and_then(|entry| entry.ratio_to_best).map(|ratio| ratio.point)
        };
        let completed =
            |name: &str| races.iter().filter(|race| ratio(race, name).is_some()).count();
        let (listed, others): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| completed(name) * 2 >= races.len());
        let table: Vec<Vec<Option<f64>>> = races
            .iter()
            .map(|race| listed.iter().map(|name| ratio(race, name)).collect())
            .collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let means = Totals::of(listed.len(), &table).ok();
        let mut group: Vec<Total> = Vec::new();
        for (index, name) in listed.iter().enumerate() {
            let mean = means.as_ref().map(|means| &means.totals[index]);
            group.push(Total {
                contender: (*name).to_owned(),
                model,
                capped,
                geomean_ratio: mean.and_then(|mean| mean.geometric_mean),
                mean_ratio: mean.and_then(|mean| mean.arithmetic_mean),
                completed: count(completed(name)),
                of: count(races.len()),
                common: count(means.as_ref().map_or(0, |means| means.common)),
            });
        }
        let key = |total: &Total| total.geomean_ratio.unwrap_or(f64::INFINITY);
        group.sort_by(|a, b| key(a).total_cmp(&key(b)));
        group.extend(others.iter().map(|name| Total {
            contender: (*name).to_owned(),
            model,
            capped,
            geomean_ratio: None,
            mean_ratio: None,
            completed: count(completed(name)),
            of: count(races.len()),
            common: count(means.as_ref().map_or(0, |means| means.common)),
        }));
        all.extend(group);
    }
    all
}
