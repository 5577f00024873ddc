//! Published beside measured, as a section of the report and as comma-separated values.

use super::csv::Lines;
use super::model::Report;
use super::replication::{Direction, ReplicatedPair, ReplicatedRow, Replication};
use super::sheet::{Section, Sheet};
use super::units::{self, NONE};

const HEADS: [&str; 8] = [
    "Row",
    "Pair",
    "Published",
    "Measured",
    "Published ratio",
    "Measured ratio",
    "95 %",
    "Direction",
];

const LEAD: &str = "Each pair is two systems of the document, the first over the second: their times there and here, and \
                    the ratio of both. The direction agrees where the one that is ahead in the document is ahead here \
                    beyond interval and noise floor; it is undecided where these do not tell who is. Two that are \
                    equivalent here (within 5 %) agree where the document has them within 5 %, too, and disagree \
                    otherwise.";

/// Nothing, if the report was not asked to stand beside a document.
pub(super) fn section(report: &Report) -> Section {
    let sheets = report.replication.as_ref().map(sheets).unwrap_or_default();
    Section { id: "replication", title: "Published beside measured", lead: LEAD, sheets }
}

fn sheets(of: &Replication) -> Vec<Sheet> {
    let counts = of.counts();
    let number = |direction: Direction| counts.get(&direction).copied().unwrap_or(0).to_string();
    let directions = Sheet {
        caption: format!("{}, on {}", of.document, of.machine),
        heads: vec!["Direction", "Pairs"],
        rows: Direction::ALL
            .map(|direction| vec![direction.word().to_owned(), number(direction)])
            .to_vec(),
        notes: Vec::new(),
    };
    let tables = of.tables.iter().map(|table| Sheet {
        caption: table.title.clone(),
        heads: HEADS.to_vec(),
        rows: table.rows.iter().flat_map(lines).collect(),
        notes: notes(&table.rows),
    });
    std::iter::once(directions).chain(tables).collect()
}

fn lines(row: &ReplicatedRow) -> Vec<Vec<String>> {
    let name = match row.fidelity {
        Some(fidelity) => format!("{} ({fidelity})", row.name),
        None => row.name.clone(),
    };
    let reference = row.reference.as_deref().unwrap_or_default();
    let mut lines: Vec<Vec<String>> = row
        .pairs
        .iter()
        .map(|pair| {
            let mut line = vec![name.clone(), names(pair, reference)];
            line.extend(numbers(pair));
            line.push(pair.direction.word().to_owned());
            line
        })
        .collect();
    if lines.is_empty() {
        let mut line = vec![NONE.to_owned(); HEADS.len()];
        line[0] = name;
        line[HEADS.len() - 1] = "no pair in the document".to_owned();
        lines.push(line);
    }
    lines
}

/// The two systems, each with the variant that was measured.
fn names(pair: &ReplicatedPair, reference: &str) -> String {
    let named = |system: &str, variant: &Option<String>| match variant {
        Some(variant) => format!("{system} {variant}"),
        None => system.to_owned(),
    };
    let of = named(&pair.system, &pair.variant);
    format!("{of} / {}", named(reference, &pair.reference_variant))
}

fn numbers(pair: &ReplicatedPair) -> [String; 5] {
    let times = |a: Option<f64>, b: Option<f64>| {
        let text = |ns: Option<f64>| ns.map_or_else(|| NONE.to_owned(), units::time);
        format!("{} / {}", text(a), text(b))
    };
    let ratio = pair.measured_ratio;
    [
        times(Some(pair.published_ns), Some(pair.published_reference_ns)),
        times(pair.measured_ns, pair.measured_reference_ns),
        units::ratio(pair.published_ratio),
        ratio.map_or_else(|| NONE.to_owned(), |i| units::ratio(i.point)),
        ratio.map_or_else(|| NONE.to_owned(), |i| units::limits(i.lo, i.hi)),
    ]
}

/// What differs from the document, what is doubtful and why something was not measured, each once
/// with all of its rows.
fn notes(rows: &[ReplicatedRow]) -> Vec<String> {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows {
        let reasons = row.pairs.iter().filter_map(|pair| pair.reason.as_ref());
        let reasons = reasons.map(|reason| format!("not measured: {reason}"));
        let others = row.doubts.iter().cloned().chain(reasons);
        for text in row.differences.iter().cloned().chain(others) {
            match notes.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) if names.contains(&row.name.as_str()) => {}
                Some((_, names)) => names.push(&row.name),
                None => notes.push((text, vec![&row.name])),
            }
        }
    }
    let all = |names: &[&str]| {
        if names.len() == rows.len() && rows.len() > 1 {
            "all rows".to_owned()
        } else {
            names.join(", ")
        }
    };
    notes.into_iter().map(|(text, names)| format!("{}: {text}", all(&names))).collect()
}

const COLUMNS: &[&str] = &[
    "run",
    "table",
    "row",
    "workload",
    "fidelity",
    "system",
    "reference",
    "contender",
    "variant",
    "reference_contender",
    "reference_variant",
    "published_ns",
    "published_reference_ns",
    "published_ratio",
    "measured_ns",
    "measured_reference_ns",
    "measured_ratio",
    "measured_lo",
    "measured_hi",
    "direction",
    "reason",
    "doubts",
    "differences",
];

/// A line for each pair, after a line of names.
pub(super) fn csv(report: &Report) -> String {
    let mut out = Lines::new(COLUMNS);
    for table in report.replication.iter().flat_map(|of| &of.tables) {
        for row in &table.rows {
            for pair in &row.pairs {
                out.text(&report.run.id);
                out.text(&table.title);
                out.text(&row.name);
                out.text(&row.workload);
                out.text(&row.fidelity.map(|fidelity| fidelity.to_string()).unwrap_or_default());
                out.text(&pair.system);
                out.text(row.reference.as_deref().unwrap_or_default());
                out.text(&pair.contender);
                out.text(pair.variant.as_deref().unwrap_or_default());
                out.text(&pair.reference_contender);
                out.text(pair.reference_variant.as_deref().unwrap_or_default());
                out.number(Some(pair.published_ns));
                out.number(Some(pair.published_reference_ns));
                out.number(Some(pair.published_ratio));
                out.number(pair.measured_ns);
                out.number(pair.measured_reference_ns);
                out.number(pair.measured_ratio.map(|i| i.point));
                out.number(pair.measured_ratio.and_then(|i| i.lo));
                out.number(pair.measured_ratio.and_then(|i| i.hi));
                out.text(pair.direction.word());
                out.text(pair.reason.as_deref().unwrap_or_default());
                out.text(&row.doubts.join("; "));
                out.text(&row.differences.join("; "));
                out.end();
            }
        }
    }
    out.text
}
