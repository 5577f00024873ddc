//! What the formats say where a number of the distribution of events is ranked, instead of the time
//! of an iteration.

use super::model::{Entry, Race};
use super::units::{self, NONE};
use crate::stats::Statistic;

impl Race {
    /// Head of the column with the number that is ranked: `median`, or `p99`, or `max`.
    pub(super) fn value_head(&self) -> &'static str {
        self.statistic.map_or("median", Statistic::name)
    }

    /// The same with a capital where it is a word.
    pub(super) fn value_title(&self) -> String {
        match self.value_head() {
            "median" => "Median".into(),
            "max" => "Max".into(),
            "max polls" => "Max polls".into(),
            percentile => percentile.into(),
        }
    }

    /// Head of the column beside it: what a unit takes, or the whole distribution.
    pub(super) fn detail_head(&self) -> String {
        match self.statistic {
            None => format!("per {}", self.unit),
            Some(_) => "p50 · p99 · p99.9 · max".to_owned(),
        }
    }

    /// What is in that column for `entry`.
    pub(super) fn detail_text(&self, entry: &Entry) -> String {
        match self.statistic {
            None => entry.ns_per_op(self).map_or(NONE.into(), units::time),
            Some(_) => self.distribution_text(entry),
        }
    }

    /// That column where there is no head: `94.3 µs a fork`, or the distribution with its names.
    pub(super) fn detail_phrase(&self, text: &str) -> String {
        match self.statistic {
            None => {
                let article = if self.unit.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
                format!("{text} {article} {}", self.unit)
            }
            Some(_) => format!("{} {text}", self.detail_head()),
        }
    }

    /// `ranked is the p99 of 1,000 wake-ups a sample: the median over the samples`; nothing where a
    /// time is ranked.
    pub(super) fn statistic_text(&self) -> Option<String> {
        let statistic = self.statistic?;
        let events = units::plural(self.ops as usize, &self.unit);
        Some(if statistic.grows_with_events() {
            format!(
                "ranked is the {statistic} of {events} a sample: the largest of each process, and of those \
                 the median is shown"
            )
        } else {
            format!("ranked is the {statistic} of {events} a sample: the median over the samples")
        })
    }

    /// What is ranked, for people: a time, or a count.
    pub(super) fn number_text(&self, value: f64) -> String {
        if self.statistic.is_none_or(Statistic::is_time) {
            return units::time(value);
        }
        units::count(value.round() as u64)
    }

    /// `40.1 µs · 52.0 µs · – · 1.20 ms`: a dash is a percentile for which a sample has too few
    /// events.
    fn distribution_text(&self, entry: &Entry) -> String {
        let Some(all) = entry.distribution else { return NONE.into() };
        let numbers = [all.p50_ns, all.p99_ns, all.p999_ns, Some(all.max_ns)];
        numbers.map(|ns| ns.map_or(NONE.into(), |ns| self.number_text(ns))).join(" · ")
    }
}
