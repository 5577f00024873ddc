//! The report as JSON, as `docs/report.schema.json` describes it.

use super::model::Report;

/// One document on one line, with a newline at the end.
///
/// # Panics
///
/// Never: the model holds nothing that JSON cannot.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = serde_json::to_string(report).expect("the model has only keys that are strings");
    text.push('\n');
    text
}
