//! Two runs side by side, as text. Pure.

use serde::Serialize;

use super::comparison::{Change, Comparison, Judgement, UNKNOWN_FLOOR};
use super::paper::{Cell, Ink, Paper, Table};
use super::units::{self, NONE};
use crate::printable;
use crate::stats::MIN_BLOCKS;

/// The whole comparison in so many columns.
#[must_use]
pub fn render(comparison: &Comparison, width: usize) -> String {
    let paper = Paper { width: width.max(20), color: false };
    let mut out = String::new();
    for warning in &comparison.warnings {
        // A run from elsewhere may warn of anything.
        paper.hanging(&mut out, "beware  ", Ink::Plain, &printable::printable(warning));
    }
    let ratio = match &comparison.anchor {
        Some(anchor) => format!("B ÷ A, by {anchor}"),
        None => "B ÷ A".to_owned(),
    };
    for race in comparison.changes.chunk_by(|a, b| a.race == b.race) {
        out.push('\n');
        paper.hanging(&mut out, "", Ink::Plain, &format!("{} · {}", race[0].race, floors(race)));
        table(&mut out, paper, &ratio, race);
    }
    out.push('\n');
    if let Some(run) = &comparison.within {
        let (a, b) = (&comparison.a, &comparison.b);
        paper.prose(&mut out, "", &format!("A is {a}, B is {b}, both of the run {run}."));
    } else if comparison.anchor.is_none() {
        let text = "Without --anchor CONTENDER a slower machine looks like a slower contender.";
        paper.prose(&mut out, "", text);
    }
    if comparison.changes.iter().any(|change| change.blocks_needed.is_some()) {
        let text = format!(
            "n blocks: about so many in each run would give a verdict; {MIN_BLOCKS} is the least."
        );
        paper.prose(&mut out, "", &text);
    }
    paper.prose(&mut out, "", &comparison.tally());
    out
}

/// What it comes to under a threshold.
#[must_use]
pub fn judgement(judgement: &Judgement, width: usize) -> String {
    let paper = Paper { width: width.max(20), color: false };
    let mut out = String::new();
    let limit = units::factor(judgement.limit);
    let slower = judgement.regressions.len() - judgement.failing;
    for (i, told) in judgement.regressions.iter().enumerate() {
        let word = if i < slower { "slower  " } else { "fails   " };
        paper.hanging(&mut out, word, Ink::Plain, told);
    }
    for told in &judgement.not_excluded {
        paper.hanging(&mut out, "unsure  ", Ink::Plain, told);
    }
    let judged = units::plural(judgement.judged, "cell");
    let text = if judgement.has_passed {
        format!("Passed: of {judged}, none is slower by more than {limit} beyond the noise.")
    } else {
        let failing = match judgement.failing {
            0 => String::new(),
            failing => format!("; {failing} failing now"),
        };
        format!(
            "Failed: of {judged}, {slower} slower by more than {limit} beyond the noise{failing}."
        )
    };
    paper.prose(&mut out, "", &text);
    if judgement.not_excluded.iter().any(|told| !told.contains(UNKNOWN_FLOOR)) {
        let text = format!(
            "Unsure: the interval reaches beyond {limit}, so that a regression of this size may hide in the noise; more \
             blocks narrow it."
        );
        paper.prose(&mut out, "", &text);
    }
    if judgement.without_floor > 0 {
        let text = format!(
            "Not judged: {}, whose noise floor is unknown; it is known where the reference and its shadow complete.",
            units::plural(judgement.without_floor, "cell")
        );
        paper.prose(&mut out, "", &text);
    }
    if judgement.without_anchor > 0 {
        let text = format!(
            "Not judged: {}, whose times there is nothing to divide by: the anchor did not complete the row beside them \
             in both runs.",
            units::plural(judgement.without_anchor, "cell")
        );
        paper.prose(&mut out, "", &text);
    }
    out
}

/// Both as one JSON document.
///
/// # Errors
/// Never: they have only keys that are strings.
pub fn json(comparison: &Comparison, judgement: Option<&Judgement>) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        #[serde(flatten)]
        comparison: &'a Comparison,
        /// Only under a threshold.
        #[serde(skip_serializing_if = "Option::is_none")]
        judgement: Option<&'a Judgement>,
    }
    let text = serde_json::to_string_pretty(&Document { comparison, judgement })?;
    Ok(printable::json(&text))
}

fn floor(change: &Change) -> String {
    change.noise_floor.map_or_else(|| "unknown".to_owned(), units::factor)
}

/// The noise floors of a race, which are one unless contenders have floors of their own.
fn floors(race: &[Change]) -> String {
    let mut each: Vec<String> = race.iter().map(floor).collect();
    each.dedup();
    match &each[..] {
        [one] => format!("noise floor {one}"),
        _ => {
            let named: Vec<String> = race
                .iter()
                .map(|change| format!("{} {}", change.contender, floor(change)))
                .collect();
            format!("noise floors: {}", named.join(", "))
        }
    }
}

fn table(out: &mut String, paper: Paper, ratio: &str, race: &[Change]) {
    let mut table = Table::new(&["contender", "A", "B", ratio, "95 %", "verdict"]);
    table.left = vec![0, 5];
    for change in race {
        let value = |ns: Option<f64>| match ns {
            Some(ns) if change.is_time => units::time(ns),
            Some(count) => units::count(count.round() as u64),
            None => NONE.to_owned(),
        };
        let verdict = match change.blocks_needed {
            Some(blocks) => format!("{}: {blocks} blocks", change.note),
            None => change.note.clone(),
        };
        let cells = [
            change.contender.clone(),
            value(change.a_ns),
            value(change.b_ns),
            change.ratio.map_or(NONE.into(), |ratio| units::fine(ratio.point)),
            change.ratio.map_or(NONE.into(), |ratio| units::fine_limits(ratio.lo, ratio.hi)),
            verdict,
        ];
        table.rows.push(cells.iter().map(|text| Cell::plain(text)).collect());
    }
    if table.width() <= paper.width {
        table.write(out, paper);
        return;
    }
    // Below each other what does not fit side by side.
    for row in &table.rows {
        let [contender, a, b, ratio, limits, verdict] = &row[..] else { continue };
        paper.hanging(out, "", Ink::Plain, &format!("{}: {}", contender.text, verdict.text));
        let text = format!("{} → {} · {} {}", a.text, b.text, ratio.text, limits.text);
        paper.hanging(out, "  ", Ink::Plain, &text);
    }
}
