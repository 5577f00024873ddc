//! The report as JSON, as `docs/report.schema.json` describes it.

use serde::Serialize;

use super::headline::{Headline, Place};
use super::model::{Report, Run};
use crate::printable;

/// One document on one line, with a newline at the end.
///
/// # Panics
///
/// Never: the model holds nothing that JSON cannot.
#[must_use]
pub fn render(report: &Report) -> String {
    let text = serde_json::to_string(report).expect("the model has only keys that are strings");
    printable::json(&text) + "\n"
}

/// A part of a report and the run that it is of, as one document on one line with a newline at the
/// end.
pub(super) fn part(run: &Run, name: &str, part: &impl Serialize) -> String {
    let text =
        |value: serde_json::Result<String>| value.expect("it has only keys that are strings");
    let (run, part) = (text(serde_json::to_string(run)), text(serde_json::to_string(part)));
    printable::json(&format!("{{\"run\":{run},\"{name}\":{part}}}\n"))
}

/// What `palio report --headline … --format json` prints.
#[derive(Serialize)]
struct Headlines<'a> {
    run: &'a Run,
    /// Ids of all contenders of the run.
    contenders: Vec<&'a str>,
    headlines: Vec<Summed<'a>>,
}

/// A headline with the numbers that follow from its rows.
#[derive(Serialize)]
struct Summed<'a> {
    #[serde(flatten)]
    headline: &'a Headline,
    geometric_mean: Option<f64>,
    first: usize,
    tied: usize,
    not_decided: usize,
    behind: usize,
    /// Least, median and largest.
    floors: Option<[f64; 3]>,
    /// As Markdown.
    text: String,
}

/// Headlines of a report, as one document on one line with a newline at the end.
///
/// # Panics
///
/// Never: they hold nothing that JSON cannot.
#[must_use]
pub fn headlines(report: &Report, headlines: &[Headline]) -> String {
    let summed = headlines.iter().map(|headline| Summed {
        headline,
        geometric_mean: headline.geometric_mean(),
        first: headline.count(Place::First),
        tied: headline.count(Place::Tied),
        not_decided: headline.count(Place::NotDecided),
        behind: headline.count(Place::Behind),
        floors: headline.floors(),
        text: headline.text(&report.run),
    });
    let document = Headlines {
        run: &report.run,
        contenders: report.contenders.iter().map(|contender| contender.id.as_str()).collect(),
        headlines: summed.collect(),
    };
    let text = serde_json::to_string(&document).expect("it has only keys that are strings");
    printable::json(&text) + "\n"
}
