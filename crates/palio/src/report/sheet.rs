//! A section of a report that is plain tables; every format writes such sections alike.

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
