//! Lists as text: one element a row, in columns. Pure.

use super::paper::{Ink, Paper, wrap};
use super::units;
use crate::store::RunSummary;

/// Names that are listed; of more, the number is told.
const NAMED_MAX: usize = 4;

/// Lays rows out in columns.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    let widths = widths(rows);
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.chars().count() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|t| t.chars().count()).max()
    };
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

/// Names in the first column and texts beside them, which are wrapped in their own column; on a
/// narrow terminal below the names.
#[must_use]
pub fn aligned(rows: &[(String, String)], width: usize) -> String {
    let longest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let is_narrow = width < longest + 4 + 30;
    let paper = Paper { width: width.max(20), color: false };
    let mut out = String::new();
    for (name, text) in rows {
        if is_narrow {
            paper.hanging(&mut out, "  ", Ink::Plain, name);
            paper.hanging(&mut out, "    ", Ink::Plain, text);
        } else {
            paper.hanging(&mut out, &format!("  {name:<longest$}  "), Ink::Plain, text);
        }
    }
    out
}

/// Points of a list, one below the other.
#[must_use]
pub fn points(texts: &[String], width: usize) -> String {
    let paper = Paper { width: width.max(20), color: false };
    let mut out = String::new();
    texts.iter().for_each(|text| paper.hanging(&mut out, "  -  ", Ink::Plain, text));
    out
}

/// A text in lines, without the end of the last one.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> String {
    wrap(text, width.max(20)).join("\n")
}

/// Every run: when, what, by whom, whole or partial. Two lines each where one does not fit.
#[must_use]
pub fn runs(runs: &[RunSummary], width: usize) -> String {
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let state = if run.finished_at.is_some() {
                "whole".to_owned()
            } else {
                format!("partial, {}/{} races", run.races_done, run.races)
            };
            let when = run.started_at.replace('T', " ");
            let when = when.get(..16).unwrap_or(&when).to_owned();
            vec![run.id.clone(), when, state, what(run), named(&run.contenders, "contender")]
        })
        .collect();
    let whole: usize = widths(&rows).iter().map(|width| width + 2).sum::<usize>().saturating_sub(2);
    if whole <= width {
        return table(&rows);
    }
    let heads: Vec<Vec<String>> = rows.iter().map(|row| row[..3].to_vec()).collect();
    let paper = Paper { width: width.max(20), color: false };
    let mut out = String::new();
    for (head, row) in table(&heads).lines().zip(&rows) {
        out.push_str(head);
        out.push('\n');
        paper.hanging(&mut out, "    ", Ink::Plain, &format!("{} · {}", row[3], row[4]));
    }
    out
}

/// `quick: 19 races of 5 blocks`, or the workloads of a run that is no suite.
fn what(run: &RunSummary) -> String {
    let suite = match run.suite.as_str() {
        "custom" => format!("{} ({})", named(&run.workloads, "workload"), run.preset),
        suite => suite.to_owned(),
    };
    let races = units::plural(run.races as usize, "race");
    format!("{suite}: {races} of {}", units::plural(run.blocks as usize, "block"))
}

fn named(names: &[String], noun: &str) -> String {
    match names.len() {
        0 => format!("no {noun}"),
        1..=NAMED_MAX => names.join(", "),
        count => units::plural(count, noun),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Preset;

    fn run(id: &str, suite: &str, contenders: usize) -> RunSummary {
        RunSummary {
            id: id.to_owned(),
            suite: suite.to_owned(),
            preset: Preset::Quick,
            blocks: 5,
            started_at: "2026-11-22T20:14:55Z".to_owned(),
            finished_at: (suite != "custom").then(|| "later".to_owned()),
            workloads: vec!["fib".to_owned(), "skynet".to_owned()],
            contenders: (0..contenders).map(|number| format!("c{number}")).collect(),
            races: 2,
            races_done: 1,
            samples: 9,
        }
    }

    #[test]
    fn a_run_says_what_was_raced_by_whom_and_whether_it_is_whole() {
        let all = [run("1-a", "quick", 16), run("2-b", "custom", 2)];
        assert_eq!(
            runs(&all, 120),
            "1-a  2026-11-22 20:14  whole               quick: 2 races of 5 blocks                \
             16 contenders\n\
             2-b  2026-11-22 20:14  partial, 1/2 races  fib, skynet (quick): 2 races of 5 blocks  \
             c0, c1\n"
        );
        assert_eq!(
            runs(&all[1..], 60),
            "2-b  2026-11-22 20:14  partial, 1/2 races\n    \
             fib, skynet (quick): 2 races of 5 blocks · c0, c1\n"
        );
    }

    #[test]
    fn texts_stay_in_their_column() {
        let rows = [("a".to_owned(), "one two three four".to_owned())];
        let rows = [&rows[..], &[("long-name".to_owned(), "five".to_owned())]].concat();
        assert_eq!(aligned(&rows, 80), "  a          one two three four\n  long-name  five\n");
        assert_eq!(aligned(&rows, 20), "  a\n    one two three\n    four\n  long-name\n    five\n");
    }
}
