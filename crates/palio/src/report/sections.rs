//! Which sections of plain tables a report has; what each says stands in its own module.

use super::model::Report;
use super::sheet::Section;
use super::{budget, latency, replication_text};

/// Those that have something to say of a report.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let all =
        [latency::section(report), budget::section(report), replication_text::section(report)];
    all.into_iter().filter(|section| !section.sheets.is_empty()).collect()
}
