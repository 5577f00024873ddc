//! The report as comma-separated values (RFC 4180), for spreadsheets and data frames.
//!
//! Numbers are written in full, in the unit that the column's name ends with. What is not known is
//! empty. A text that a spreadsheet would take for a formula begins with a single quote; numbers
//! never do.

use super::model::{Entry, Race, Report};
use super::view::printable;
use crate::stats::Statistic;

const ENTRIES: &[&str] = &[
    "run",
    "workload",
    "params",
    "threads",
    "model",
    "scope",
    "unit",
    "ops",
    "contender",
    "version",
    "track",
    "variant",
    "outcome",
    "rank_lo",
    "rank_hi",
    "median_ns",
    "min_ns",
    "max_ns",
    "ns_per_op",
    "ratio_to_best",
    "ratio_to_best_lo",
    "ratio_to_best_hi",
    "reference",
    "ratio_to_reference",
    "ratio_to_reference_lo",
    "ratio_to_reference_hi",
    "verdict",
    "noise_floor_ratio",
    "user_us",
    "sys_us",
    "cpu_percent",
    "max_rss_kib",
    "voluntary_switches",
    "involuntary_switches",
    "samples",
    "batch",
    "detail",
    "statistic",
    "value_ns",
    "events",
    "event_p50_ns",
    "event_p99_ns",
    "event_p999_ns",
    "event_max_ns",
    "accounted_percent",
    "accounted_cpu_percent",
    "certified",
    "doubts",
    "salted",
    "samples_kept",
    "own_noise_floor_ratio",
    "forks",
    "forks_due",
    "cpu_budget",
    "throttle_periods",
    "throttled_periods",
    "throttled_us",
    "offered_per_s",
    "achieved_per_s",
    "latency_p50_ns",
    "latency_p90_ns",
    "latency_p99_ns",
    "latency_p999_ns",
    "latency_p9999_ns",
    "latency_max_ns",
    "cpu_us_per_request",
    "late_p50_ns",
    "late_p99_ns",
];

const SAMPLES: &[&str] = &[
    "run",
    "workload",
    "params",
    "threads",
    "contender",
    "version",
    "variant",
    "block",
    "sample",
    "elapsed_ns",
    "statistic",
    "value_ns",
    "cpu_budget",
    "outcome",
];

/// One line for each contender of each race, failures too, after a line of names.
#[must_use]
pub fn entries(report: &Report) -> String {
    let mut out = Lines::new(ENTRIES);
    for race in &report.races {
        for entry in &race.entries {
            entry_line(&mut out, report, race, entry);
        }
    }
    out.text
}

/// One line for each sample in the order of execution, after a line of names.
#[must_use]
pub fn samples(report: &Report) -> String {
    let mut out = Lines::new(SAMPLES);
    for race in &report.races {
        for entry in &race.entries {
            for (i, (ns, block)) in entry.sample_ns.iter().zip(&entry.sample_block).enumerate() {
                out.text(&report.run.id);
                race_fields(&mut out, race);
                out.text(&entry.contender);
                out.text(&entry.version);
                out.text(entry.variant.as_deref().unwrap_or_default());
                out.number(Some(*block));
                out.number(Some(i));
                out.number(Some(*ns).filter(|_| race.statistic.is_none()));
                out.text(race.statistic.map_or("", Statistic::name));
                out.number(Some(*ns));
                out.number(race.cpu_budget.map(|budget| budget.cpus));
                out.text(&entry.outcome.to_string());
                out.end();
            }
        }
    }
    out.text
}

fn entry_line(out: &mut Lines, report: &Report, race: &Race, entry: &Entry) {
    let best = entry.ratio_to_best;
    let reference = entry.ratio_to_reference;
    out.text(&report.run.id);
    race_fields(out, race);
    out.text(race.model.name());
    out.text(race.scope.name());
    out.text(&race.unit);
    out.number(Some(race.ops));
    out.text(&entry.contender);
    out.text(&entry.version);
    out.text(entry.track.name());
    out.text(entry.variant.as_deref().unwrap_or_default());
    out.text(entry.outcome.name());
    out.number(entry.rank.map(|[lo, _]| lo));
    out.number(entry.rank.map(|[_, hi]| hi));
    out.number(entry.median_ns);
    out.number(entry.min_ns);
    out.number(entry.max_ns);
    out.number(entry.ns_per_op(race));
    out.number(best.map(|i| i.point));
    out.number(best.and_then(|i| i.lo));
    out.number(best.and_then(|i| i.hi));
    out.text(race.reference.as_deref().unwrap_or_default());
    out.number(reference.map(|v| v.point));
    out.number(reference.and_then(|v| v.lo));
    out.number(reference.and_then(|v| v.hi));
    out.text(reference.map(|v| v.verdict.word()).unwrap_or_default());
    out.number(race.noise_floor.and_then(|floor| floor.ratio));
    out.number(entry.user_us);
    out.number(entry.sys_us);
    out.number(entry.cpu_percent);
    out.number(entry.max_rss_kib);
    out.number(entry.voluntary_switches);
    out.number(entry.involuntary_switches);
    out.number(Some(entry.samples));
    out.number(Some(entry.batch));
    out.text(entry.detail.as_deref().unwrap_or_default());
    out.text(race.statistic.map_or("", Statistic::name));
    out.number(entry.value_ns);
    let events = entry.distribution;
    out.number(events.map(|d| d.events));
    out.number(events.and_then(|d| d.p50_ns));
    out.number(events.and_then(|d| d.p99_ns));
    out.number(events.and_then(|d| d.p999_ns));
    out.number(events.map(|d| d.max_ns));
    out.number(entry.accounted_percent);
    out.number(entry.accounted_cpu_percent);
    out.number(entry.certified);
    out.text(&entry.doubts.join("; "));
    out.number(Some(race.salted));
    out.number(Some(entry.sample_ns.len()));
    out.number(entry.noise_floor.and_then(|floor| floor.ratio));
    out.number(entry.forks.as_ref().and_then(|forks| forks.handed));
    out.number(entry.forks.as_ref().map(|forks| forks.at_least));
    out.number(race.cpu_budget.map(|budget| budget.cpus));
    out.number(entry.throttled.map(|throttled| throttled.periods));
    out.number(entry.throttled.map(|throttled| throttled.throttled));
    out.number(entry.throttled.map(|throttled| throttled.throttled_us));
    let latency = entry.latency.as_ref();
    out.number(latency.map(|l| l.offered_per_s));
    out.number(latency.map(|l| l.achieved_per_s));
    out.number(latency.and_then(|l| l.p50_ns));
    out.number(latency.and_then(|l| l.p90_ns));
    out.number(latency.and_then(|l| l.p99_ns));
    out.number(latency.and_then(|l| l.p999_ns));
    out.number(latency.and_then(|l| l.p9999_ns));
    out.number(latency.map(|l| l.max_ns));
    out.number(latency.and_then(|l| l.cpu_us));
    out.number(latency.map(|l| l.late_p50_ns));
    out.number(latency.map(|l| l.late_p99_ns));
    out.end();
}

pub(super) fn race_fields(out: &mut Lines, race: &Race) {
    out.text(&race.workload);
    out.text(&race.params_text());
    out.number(Some(race.threads));
}

pub(super) struct Lines {
    pub(super) text: String,
    at_start: bool,
}

impl Lines {
    pub(super) fn new(names: &[&str]) -> Self {
        let mut lines = Self { text: String::new(), at_start: true };
        for name in names {
            lines.text(name);
        }
        lines.end();
        lines
    }

    fn separate(&mut self) {
        if !self.at_start {
            self.text.push(',');
        }
        self.at_start = false;
    }

    pub(super) fn text(&mut self, field: &str) {
        self.separate();
        let mut field = printable(field);
        if is_formula(&field) {
            field.insert(0, '\'');
        }
        if field.contains([',', '"', '\n', '\r']) {
            self.text.push('"');
            self.text.push_str(&field.replace('"', "\"\""));
            self.text.push('"');
        } else {
            self.text.push_str(&field);
        }
    }

    pub(super) fn number<N: std::fmt::Display>(&mut self, field: Option<N>) {
        use std::fmt::Write as _;
        self.separate();
        if let Some(number) = field {
            write!(self.text, "{number}").expect("writing to a String cannot fail");
        }
    }

    pub(super) fn end(&mut self) {
        self.text.push('\n');
        self.at_start = true;
    }
}

/// Whether a spreadsheet would compute a text instead of showing it. A number is shown as it is.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n'])
        && !text.parse().is_ok_and(|number: f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula_and_numbers_stay_as_they_are() {
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\n=1\""),
            ("-2.5", "-2.5"),
            ("-inf", "'-inf"),
            ("n=27", "n=27"),
        ] {
            let mut lines = Lines::new(&[]);
            lines.text(text);
            assert_eq!(lines.text.trim_start_matches('\n'), written, "{text:?}");
        }
        let mut lines = Lines::new(&[]);
        lines.number(Some(-1.5));
        assert_eq!(lines.text.trim(), "-1.5");
    }

    #[test]
    fn fields_that_would_break_a_line_are_quoted() {
        let mut lines = Lines::new(&["a", "b", "c"]);
        lines.text("1,2");
        lines.text("say \"no\"\nand go");
        lines.number(None::<f64>);
        lines.end();
        assert_eq!(lines.text, "a,b,c\n\"1,2\",\"say \"\"no\"\"\nand go\",\n");
    }
}
