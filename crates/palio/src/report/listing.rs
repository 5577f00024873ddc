//! Lists as text: one element a row, in columns. Pure.

use super::paper::{Ink, Paper, wrap};
use super::units;
use super::view::printable;
use crate::store::{Baseline, RunSummary};

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

/// The same in so many columns.
#[must_use]
pub fn table_within(rows: &[Vec<String>], heads: usize, width: usize) -> String {
    elements(rows, heads, width).concat()
}

/// The lines of each row in so many columns: where a row does not fit, its first `heads` cells
/// stand on a line and the others below; where these do not fit either, the first stands alone.
#[must_use]
pub fn elements(rows: &[Vec<String>], heads: usize, width: usize) -> Vec<String> {
    let lines_of = |heads: usize| -> Vec<String> {
        let heads: Vec<Vec<String>> =
            rows.iter().map(|row| row[..heads.min(row.len())].to_vec()).collect();
        table(&heads).lines().map(|line| format!("{line}\n")).collect()
    };
    let fits =
        |lines: &[String]| lines.iter().all(|line| line.chars().count() <= width.saturating_add(1));
    let whole = lines_of(usize::MAX);
    if fits(&whole) {
        return whole;
    }
    let (mut heads, mut lines) = (heads, lines_of(heads));
    if !fits(&lines) {
        (heads, lines) = (1, lines_of(1));
    }
    let paper = Paper { width: width.max(20), color: false };
    for (line, row) in lines.iter_mut().zip(rows) {
        let rest = row.iter().skip(heads).filter(|cell| !cell.is_empty());
        let rest: Vec<&str> = rest.map(String::as_str).collect();
        paper.hanging(line, "    ", Ink::Plain, &rest.join(" · "));
    }
    lines
}

/// What is said of an element, below it.
#[must_use]
pub fn below(notes: &[String], width: usize) -> String {
    let paper = Paper { width: width.max(20), color: false };
    let mut out = String::new();
    notes.iter().for_each(|note| paper.hanging(&mut out, "    ", Ink::Plain, note));
    out
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

/// Every baseline: its name, its run, since when, and by whom times are divided.
#[must_use]
pub fn baselines(baselines: &[Baseline], width: usize) -> String {
    let rows: Vec<Vec<String>> = baselines
        .iter()
        .map(|known| {
            let anchor = known.anchor.as_ref().map_or_else(
                || "no anchor".to_owned(),
                |anchor| format!("anchor {}", printable(anchor)),
            );
            let saved = format!("saved {}", known.saved_at.replace('T', " "));
            vec![known.name.clone(), printable(&known.run), saved, anchor]
        })
        .collect();
    table_within(&rows, 2, width)
}

/// Every run: when, what, by whom, finished or partial.
#[must_use]
pub fn runs(runs: &[RunSummary], width: usize) -> String {
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let state = match &run.finished_at {
                Some(_) => run.state.to_owned(),
                None => format!("{}, {}/{} races", run.state, run.races_done, run.races),
            };
            let when = run.started_at.replace('T', " ");
            let when = when.get(..16).unwrap_or(&when).to_owned();
            vec![run.id.clone(), when, state, what(run), named(&run.contenders, "contender")]
        })
        .collect();
    table_within(&rows, 3, width)
}

/// `20260301-101500-7, quick: 19 races of 5 blocks, 1,234 samples`.
#[must_use]
pub fn run(run: &RunSummary) -> String {
    let samples = units::plural(usize::try_from(run.samples).unwrap_or(usize::MAX), "sample");
    format!("{}, {}, {samples}", printable(&run.id), printable(&what(run)))
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
            state: if suite == "custom" { "partial" } else { "finished" },
            workloads: vec!["fib".to_owned(), "skynet".to_owned()],
            contenders: (0..contenders).map(|number| format!("c{number}")).collect(),
            races: 2,
            races_done: 1,
            samples: 9,
        }
    }

    #[test]
    fn a_run_says_what_was_raced_by_whom_and_whether_it_is_finished() {
        let all = [run("1-a", "quick", 16), run("2-b", "custom", 2)];
        assert_eq!(
            runs(&all, 120),
            "1-a  2026-11-22 20:14  finished            quick: 2 races of 5 blocks                \
             16 contenders\n\
             2-b  2026-11-22 20:14  partial, 1/2 races  fib, skynet (quick): 2 races of 5 blocks  \
             c0, c1\n"
        );
        assert_eq!(super::run(&all[0]), "1-a, quick: 2 races of 5 blocks, 9 samples");
        assert_eq!(
            runs(&all[1..], 60),
            "2-b  2026-11-22 20:14  partial, 1/2 races\n    \
             fib, skynet (quick): 2 races of 5 blocks · c0, c1\n"
        );
    }

    #[test]
    fn a_row_that_does_not_fit_stands_below_its_name() {
        let cells = |row: &[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
        let rows: [Vec<String>; 2] =
            [cells(&["fib", "n=27", "", "forks"]), cells(&["skynet", "size=10", "cold", "actors"])];
        assert_eq!(
            table_within(&rows, 2, 29),
            "fib     n=27           forks\nskynet  size=10  cold  actors\n"
        );
        assert_eq!(
            table_within(&rows, 2, 28),
            "fib     n=27\n    forks\nskynet  size=10\n    cold · actors\n"
        );
        assert_eq!(
            table_within(&rows, 2, 14),
            "fib\n    n=27 · forks\nskynet\n    size=10 · cold ·\n    actors\n"
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
