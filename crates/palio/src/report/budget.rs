//! What a CPU budget costs: for each race in that track, user, system and total CPU time, the time
//! itself, and how often contenders had to stand still, beside the same without a budget where the
//! run has it.

use super::model::{Entry, Race, Report};
use super::sheet::{Section, Sheet};
use super::units::{self, NONE};
use crate::record::Outcome;

const HEADS: [&str; 7] = ["Contender", "User", "System", "Total", "Time", "CPU", "Throttled"];
const LEAD: &str = "CPU time and time of an iteration, in the track with a CPU budget and, where the run has \
    it, without one. Throttled: in how many periods of its quota a contender had used it up, of those in which it \
    wanted to run, and how long it then stood still, summed over processors; of whole processes, their starts and \
    warm-ups included.";

/// Every race of the track with a CPU budget that somebody completed, two rows for each contender
/// where it also raced without a budget.
pub(super) fn section(report: &Report) -> Section {
    let each = report.races.iter().filter_map(|race| {
        let budget = race.cpu_budget?;
        let free = report.races.iter().find(|other| {
            other.cpu_budget.is_none() && race.is_same_work(other) && other.threads == race.threads
        });
        let mut rows = Vec::new();
        for entry in race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok) {
            let twin = free.and_then(|free| {
                let of = |other: &&Entry| other.contender == entry.contender;
                free.entries.iter().filter(of).find(|other| other.outcome == Outcome::Ok)
            });
            rows.extend(twin.map(|twin| row(race, twin, twin.contender.clone())));
            rows.push(row(race, entry, format!("{}, in {}", entry.contender, budget.text())));
        }
        let sheet = Sheet { caption: race.label(), heads: HEADS.to_vec(), rows, notes: Vec::new() };
        (!sheet.rows.is_empty()).then_some(sheet)
    });
    let sheets = each.collect();
    Section { id: "budget", title: "CPU budget", lead: LEAD, sheets }
}

fn row(race: &Race, entry: &Entry, name: String) -> Vec<String> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.into());
    let [user, system, total] = entry.cpu_texts();
    vec![
        name,
        or_none(user),
        or_none(system),
        or_none(total),
        or_none(entry.value_ns.map(|value| race.number_text(value))),
        or_none(entry.cpu_percent.map(|percent| format!("{percent:.0} %"))),
        or_none(entry.throttled_text()),
    ]
}

impl Entry {
    /// `25 % of 480 periods, 3.1 ms each`.
    pub(super) fn throttled_text(&self) -> Option<String> {
        let throttled = self.throttled?;
        let Some(percent) = throttled.percent() else { return Some("in no period".to_owned()) };
        let each = throttled.throttled_us.saturating_mul(1_000).checked_div(throttled.throttled);
        // A standstill that had not ended has no length yet.
        let each = each.filter(|ns| *ns > 0);
        let each = each.map_or(String::new(), |ns| format!(", {} each", units::time(ns as f64)));
        Some(format!("{percent:.0} % of {} periods{each}", units::count(throttled.periods)))
    }
}
