//! Sections of a report that are plain tables: what each says stands in its own module, and every
//! format writes them alike.

use super::model::Report;
use super::{budget, latency, replication_text};

/// Some tables under one title.
pub(super) struct Section {
    /// For links.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What is to be known of the numbers.
    pub(super) lead: &'static str,
    pub(super) sheets: Vec<Sheet>,
}

/// A table with names in its first column and numbers in the others.
pub(super) struct Sheet {
    pub(super) caption: String,
    pub(super) heads: Vec<&'static str>,
    /// Each as long as the heads.
    pub(super) rows: Vec<Vec<String>>,
    /// Sentences below the table, without their full stops.
    pub(super) notes: Vec<String>,
}

/// Those that have something to say of a report.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let all =
        [latency::section(report), budget::section(report), replication_text::section(report)];
    all.into_iter().filter(|section| !section.sheets.is_empty()).collect()
}
