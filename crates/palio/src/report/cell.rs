//! One cell as text: its blocks side by side, and its raw samples on request. Pure.

use super::live::race_name;
use super::paper::{Cell, Ink, Paper, Table, one_line};
use super::summary::shell_line;
use super::thinned;
use super::units::{self, NONE};
use crate::record::{CellRecord, InvocationRecord, Outcome, RaceRecord};
use crate::stats::{Statistic, Summary};

/// Widest and narrowest histogram, in columns; below the latter there is none.
const HISTOGRAM: (usize, usize) = (24, 8);
/// Heights of a histogram's column; the first is for what is not there.
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A block stands out if it differs from the middle of the others by so much, and by so many times
/// what is usual among them.
const STANDS_OUT: (f64, f64) = (1.05, 4.0);

/// How the text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to write ANSI colours.
    pub color: bool,
    /// Whether to write every sample.
    pub samples: bool,
}

/// A process with its measured samples.
struct Measured<'a> {
    invocation: &'a InvocationRecord,
    values: Vec<f64>,
    summary: Option<Summary>,
}

/// The whole cell.
#[must_use]
pub fn render(race: &RaceRecord, cell: &CellRecord, options: Options) -> String {
    let paper = Paper { width: options.width.max(20), color: options.color };
    let mut out = String::new();
    let title = format!("{} · {}", cell.label(), race_name(race));
    paper.heading(&mut out, &title);
    if let Some(detail) = &cell.detail {
        paper.prose(&mut out, "", &format!("{}: {detail}", cell.outcome.words()));
    }
    for line in cell.stderr.iter().flat_map(|stderr| stderr.lines()) {
        let line: String = one_line(line).chars().take(paper.width.saturating_sub(4)).collect();
        out.push_str(&format!("  {} {line}\n", paper.paint(Ink::Faint, "│")));
    }
    let blocks: Vec<Measured<'_>> = cell
        .invocations
        .iter()
        .filter(|invocation| invocation.block.is_some())
        .map(|invocation| Measured::of(race, invocation))
        .collect();
    let dropped = thinned::dropped(cell);
    if dropped > 0 {
        let count = units::count(dropped);
        let text = format!("This run is thinned: {count} more measured samples are not here.");
        paper.prose(&mut out, "", &text);
    }
    overview(&mut out, paper, race, cell, &blocks);
    if options.samples {
        for invocation in &cell.invocations {
            raw(&mut out, race, invocation);
        }
        out.push('\n');
    }
    if let Some(schedule) = cell.schedule {
        let salt = cell.invocations.last().and_then(|invocation| invocation.salt);
        let command = shell_line(&cell.command_with(salt));
        let input = format!("printf 'run {} {}\\nquit\\n'", schedule.samples, schedule.batch);
        let held = race.cpu_budget.map_or(String::new(), |budget| format!("{} ", budget.by_hand()));
        out.push_str(&format!("by hand:    {input} | {held}{command}\n"));
        out.push_str(&format!("under perf: {input} | perf record -g -- {command}\n"));
    }
    if !options.samples && !cell.invocations.is_empty() {
        paper.prose(&mut out, "", "--samples prints every sample, and what Palio's clock saw.");
    }
    out
}

impl<'a> Measured<'a> {
    fn of(race: &RaceRecord, invocation: &'a InvocationRecord) -> Self {
        let samples = invocation.samples.iter().filter(|sample| !sample.warm_up);
        let values: Vec<f64> =
            samples.filter_map(|sample| sample.value_ns(race.statistic)).collect();
        let summary = Summary::of(&values).ok();
        Self { invocation, values, summary }
    }

    fn counts(&self) -> bool {
        self.invocation.outcome == Outcome::Ok && !self.invocation.disturbed
    }
}

/// What is ranked, for people: a time, or a count.
fn number(race: &RaceRecord, value: f64) -> String {
    if race.statistic.is_none_or(Statistic::is_time) {
        units::time(value)
    } else {
        units::count(value.round() as u64)
    }
}

/// All blocks in a table: median, range, and how the samples lie between the least and the greatest
/// of all blocks.
fn overview(
    out: &mut String,
    paper: Paper,
    race: &RaceRecord,
    cell: &CellRecord,
    blocks: &[Measured<'_>],
) {
    let counting: Vec<&Measured<'_>> =
        blocks.iter().filter(|block| block.counts() && block.summary.is_some()).collect();
    let all: Vec<f64> = counting.iter().flat_map(|block| block.values.iter().copied()).collect();
    let Ok(whole) = Summary::of(&all) else {
        paper.prose(out, "", "no measured sample");
        out.push('\n');
        return;
    };
    let time = |ns: f64| number(race, ns);
    let samples = units::plural(all.len(), "sample");
    let count = units::plural(counting.len(), "block");
    let batch = match cell.schedule.map_or(1, |schedule| schedule.batch) {
        1 => String::new(),
        batch => format!(" of {} iterations", units::count(u64::from(batch))),
    };
    let what = race.statistic.map_or("median", Statistic::name);
    let text = format!(
        "median {} · {} to {} · {samples}{batch} in {count}",
        time(whole.median_ns),
        time(whole.min_ns),
        time(whole.max_ns)
    );
    paper.prose(out, "", &text);
    if let Some(statistic) = race.statistic {
        paper.prose(out, "", &format!("each sample is the {statistic} of its events"));
    }
    out.push('\n');

    let medians: Vec<f64> =
        counting.iter().filter_map(|block| Some(block.summary.as_ref()?.median_ns)).collect();
    let mut table = Table::new(&["block", what, "least", "greatest", "samples", "", ""]);
    table.left = vec![5, 6];
    for block in blocks {
        let number = block.invocation.block.map_or(0, |block| u64::from(block) + 1);
        let summary = block.summary.as_ref();
        let text = |of: fn(&Summary) -> f64| summary.map_or(NONE.into(), |s| time(of(s)));
        let place = counting.iter().position(|other| std::ptr::eq(*other, block));
        let remark = match place {
            Some(place) => stands_out(&medians, place).unwrap_or_default(),
            None if block.invocation.disturbed => "repeated: others disturbed it".to_owned(),
            None => block.invocation.outcome.words(),
        };
        table.rows.push(
            [
                units::count(number),
                text(|summary| summary.median_ns),
                text(|summary| summary.min_ns),
                text(|summary| summary.max_ns),
                units::count(block.values.len() as u64),
                String::new(),
                remark,
            ]
            .iter()
            .map(|text| Cell::plain(text))
            .collect(),
        );
    }
    let (widest, narrowest) = HISTOGRAM;
    let columns = paper.width.saturating_sub(table.width()).min(widest);
    if columns >= narrowest {
        for (row, block) in table.rows.iter_mut().zip(blocks) {
            row[5].text = histogram(&block.values, whole.min_ns, whole.max_ns, columns);
        }
    }
    if table.width() > paper.width {
        // What is left out is in `--samples`.
        for column in [4, 3, 2] {
            if table.width() > paper.width {
                table.drop_column(column);
            }
        }
    }
    if table.width() <= paper.width {
        table.write(out, paper);
    } else {
        remarks_below(out, paper, table);
    }
    out.push('\n');
}

/// A table whose last column is words, each below its row.
fn remarks_below(out: &mut String, paper: Paper, mut table: Table<'_>) {
    let last = table.heads.len() - 1;
    let remarks: Vec<String> = table.rows.iter().map(|row| row[last].text.clone()).collect();
    table.drop_column(last);
    let mut rows = String::new();
    table.write(&mut rows, paper);
    let mut lines = rows.lines();
    let head = lines.next().into_iter().map(|line| (line, ""));
    for (line, remark) in head.chain(lines.zip(remarks.iter().map(String::as_str))) {
        out.push_str(line.trim_end());
        out.push('\n');
        if !remark.is_empty() {
            paper.hanging(out, "    ", Ink::Faint, remark);
        }
    }
}

/// How many of `values` lie in each of so many equal parts of the way from `least` to `greatest`,
/// by ratio.
fn histogram(values: &[f64], least: f64, greatest: f64, columns: usize) -> String {
    let mut counts = vec![0_usize; columns];
    let span = (greatest / least).ln();
    for value in values {
        let part = if span > 0.0 { (value / least).ln() / span } else { 0.5 };
        let column = (part * columns as f64) as usize;
        if let Some(count) = counts.get_mut(column.min(columns - 1)) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let height = |count: usize| (count * 8).div_ceil(most);
    counts.iter().map(|&count| HEIGHTS[height(count)]).collect()
}

/// Whether one of the blocks' medians is far from those of the others, and how far.
fn stands_out(medians: &[f64], place: usize) -> Option<String> {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        if values.len().is_multiple_of(2) {
            f64::midpoint(values[half - 1], values[half])
        } else {
            values[half]
        }
    };
    // Of three others one tells what is usual, and nobody what is not.
    if medians.len() < 5 {
        return None;
    }
    let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
    let others: Vec<f64> =
        logs.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, log)| *log).collect();
    let centre = middle(others.clone());
    // Three in four of them are no farther from their middle than this.
    let mut distances: Vec<f64> = others.iter().map(|log| (log - centre).abs()).collect();
    distances.sort_by(f64::total_cmp);
    let usual = distances[(distances.len() * 3).div_ceil(4) - 1];
    let away = logs[place] - centre;
    let (least, times) = STANDS_OUT;
    if !away.is_finite() || away.abs() <= (times * usual).max(least.ln()) {
        return None;
    }
    let factor = units::factor(away.abs().exp());
    let side = if away > 0.0 { "above" } else { "below" };
    Some(format!("stands out: {factor} {side} the others"))
}

/// Every sample of a process, and what was seen of it from outside.
fn raw(out: &mut String, race: &RaceRecord, invocation: &InvocationRecord) {
    let unit = if race.statistic.is_none_or(Statistic::is_time) { " ns" } else { "" };
    let stage =
        invocation.block.map_or_else(|| "pilot".to_owned(), |block| format!("block {}", block + 1));
    let salt = invocation.salt.map_or_else(String::new, |salt| format!(" --salt {salt}"));
    let mut lines =
        vec![format!("{stage} at {} ({}){salt}", invocation.started_at, invocation.outcome)];
    let each: Vec<String> = invocation
        .samples
        .iter()
        .map(|sample| {
            let mark = if sample.warm_up { "~" } else { "" };
            let value = sample.value_ns(race.statistic);
            value.map_or_else(|| format!("{mark}?"), |ns| format!("{mark}{ns:.0}"))
        })
        .collect();
    let what = race.statistic.map_or_else(
        || "ns per iteration".to_owned(),
        |name| format!("{name} of each sample{unit}"),
    );
    lines.push(format!("  {what} (~ warm-up): {}", each.join(" ")));
    if let Some(dropped) = invocation.dropped {
        lines.push(format!(
            "  not in this thinned run: {} warm-up and {} measured sample(s), {} ns in all",
            dropped.warm_ups, dropped.samples, dropped.elapsed_ns
        ));
    }
    for span in &invocation.spans {
        let mark = if span.warm_up { "~" } else { "" };
        let cpu = span.cpu_ns.map(|ns| format!(" and {ns} ns of CPU time"));
        let apart = span.line_ns.map(|ns| format!(", three lines in four {ns} ns apart or more"));
        lines.push(format!(
            "  by Palio's clock: {mark}{} sample(s) in {} ns{}{}",
            span.samples,
            span.wall_ns,
            cpu.unwrap_or_default(),
            apart.unwrap_or_default()
        ));
    }
    let wall_us = invocation.resources.wall_us;
    lines
        .push(format!("  by Palio's clock: {wall_us} µs from the start of the process to its end"));
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_stands_out_by_what_is_usual_among_the_others() {
        let quiet = [100.0, 101.0, 99.0, 100.5, 138.0];
        let text = stands_out(&quiet, 4).unwrap();
        assert_eq!(text, "stands out: 38 % above the others");
        assert_eq!(stands_out(&quiet, 0), None);
        let noisy = [100.0, 130.0, 80.0, 115.0, 138.0];
        assert!((0..5).all(|place| stands_out(&noisy, place).is_none()));
        assert_eq!(stands_out(&[1.0, 1.0, 1.0, 9.0], 3), None, "too few to tell");
        // Within the margin nobody cares, however quiet the others are.
        assert_eq!(stands_out(&[1.0, 1.0, 1.0, 1.0, 1.04], 4), None);
    }

    #[test]
    fn a_histogram_shows_every_sample_and_empty_parts() {
        assert_eq!(histogram(&[1.0, 1.0, 1.0, 1.0, 10.0], 1.0, 10.0, 8), "█      ▂");
        assert_eq!(histogram(&[2.0, 2.0], 2.0, 2.0, 3), " █ ");
        assert_eq!(histogram(&[], 1.0, 2.0, 3), "   ");
    }
}
