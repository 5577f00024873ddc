//! One contender in one race: its samples drawn, its resources told, and how to run it by hand.

use std::collections::BTreeMap;

use super::Depth;
use super::markup::{esc, put};
use super::svg::{Linear, Log, px};
use crate::record::Outcome;
use crate::report::model::{Entry, Race};
use crate::report::units;
use crate::report::view::{View, sorted};
use crate::stats::{Shape, quantile};

/// Up to so many samples are drawn one by one.
const FEW: usize = 160;
/// Dots in the picture of a distribution.
const DOTS: usize = 40;

const WIDTH: f64 = 348.0;
const HEIGHT: f64 = 176.0;
const LEFT: f64 = 56.0;
/// Where the blocks end and the distribution begins.
const SPLIT: f64 = 270.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 22.0;

/// The id is on what is inside the fold: a browser opens a fold to show what is in it.
pub(super) fn write(out: &mut String, view: &View<'_>, i: usize, entry: &Entry, depth: Depth) {
    let column = view.column(&entry.contender);
    put!(
        out,
        "<details class=cell data-c={column}><summary>{}</summary><div id=c{i}-{column}>",
        esc(&entry.contender)
    );
    if entry.outcome == Outcome::Ok {
        if depth <= Depth::Sketched {
            figure(out, &view.report.races[i], entry, depth);
        }
        let shape = view.shape(i, column);
        facts(out, &view.report.races[i], entry, &shape);
    } else {
        failure(out, entry);
    }
    if let Some(command) = &entry.by_hand {
        put!(out, "<p>By hand<pre><code>{}</code></pre>", esc(command));
    }
    out.push_str("</div></details>\n");
}

/// What went wrong, with the end of standard error.
fn failure(out: &mut String, entry: &Entry) {
    let fault = if entry.outcome.is_fault() { " class=fault" } else { "" };
    put!(
        out,
        "<p><b{fault}>{}</b> {}",
        entry.outcome.words(),
        esc(entry.detail.as_deref().unwrap_or_default())
    );
    stderr(out, entry);
}

pub(super) fn stderr(out: &mut String, entry: &Entry) {
    if let Some(stderr) = entry.stderr.as_deref().filter(|text| !text.trim().is_empty()) {
        let (told, text) = end_of(stderr);
        put!(out, "<p>Standard error{told}<pre>{}</pre>", esc(text));
    }
}

/// The end of a long text, and what to say of it.
fn end_of(text: &str) -> (&'static str, &str) {
    const MOST: usize = 3_000;
    let Some(cut) = text.len().checked_sub(MOST).filter(|cut| *cut > 0) else { return ("", text) };
    let cut = (cut..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    // From the next whole line, if there is one.
    let from = text[cut..].find('\n').map_or(cut, |line| cut + line + 1);
    (" (its end)", &text[from..])
}

/// What the race's table does not tell; the script adds what it does.
fn facts(out: &mut String, race: &Race, entry: &Entry, shape: &Shape) {
    out.push_str("<dl>");
    let mut fact = |name: &str, value: Option<String>| {
        // What could not be read is left out.
        if let Some(value) = value {
            put!(out, "<dt>{name}<dd>{value}");
        }
    };
    fact(
        "To reference",
        entry
            .ratio_to_reference
            .map(|v| format!("{} {}", units::ratio(v.point), units::limits(v.lo, v.hi))),
    );
    let range = entry.min_ns.zip(entry.max_ns);
    fact(
        "Range",
        range.map(|(min, max)| format!("{} to {}", race.number_text(min), race.number_text(max))),
    );
    fact("Shape", shape.text(race, entry.sample_ns.len()));
    let accounted = entry.accounted_percent.map(|percent| match entry.accounted_cpu_percent {
        Some(cpu) => format!("{percent:.0} % of the time outside, {cpu:.0} % of the CPU time"),
        None => format!("{percent:.0} % of the time outside"),
    });
    fact("Accounted", accounted);
    fact(
        "Work",
        entry.certified.map(|yes| if yes { "certified" } else { "not certified" }.to_owned()),
    );
    let forks = entry.forks.as_ref().map(|forks| match forks.handed {
        Some(handed) => {
            let (handed, due) = (units::count(handed), units::count(forks.at_least));
            format!("{handed} handed to the runtime, of {due} due")
        }
        None => format!("not counted: {}", esc(forks.detail.as_deref().unwrap_or_default())),
    });
    fact("Forks", forks);
    let switches = entry.voluntary_switches.zip(entry.involuntary_switches);
    fact("Switches", switches.map(|(own, forced)| format!("{own:.0} own, {forced:.0} forced")));
    fact("Samples", Some(samples(entry)));
    for (variant, ns) in &entry.other_variants {
        fact(&esc(variant), Some(race.number_text(*ns)));
    }
    out.push_str("</dl>");
}

fn samples(entry: &Entry) -> String {
    let count = units::count(u64::from(entry.samples));
    if entry.batch > 1 {
        format!("{count} of {} iterations", units::count(u64::from(entry.batch)))
    } else {
        count
    }
}

/// How times become heights: in proportion, as long as that shows anything; else by their
/// logarithm.
///
/// A few samples far off would flatten all others into a line. The scale then ends before them, and
/// the drawing says how many lie above and how far.
struct Height {
    scale: Scale,
    end: f64,
}

enum Scale {
    Linear(Linear),
    Log(Log),
}

impl Height {
    fn of(all: &[f64]) -> Self {
        let (lo, hi) = (all[0], all[all.len() - 1]);
        let (bulk_lo, bulk_hi) = (quantile(all, 0.05), quantile(all, 0.95));
        let far = bulk_hi + 2.0 * (bulk_hi - bulk_lo);
        let end = if hi > far && far > lo { far } else { hi };
        let scale = if end > 4.0 * lo {
            Scale::Log(Log::new(lo, end, BOTTOM, TOP))
        } else {
            Scale::Linear(Linear::new(lo, end, BOTTOM, TOP))
        };
        Self { scale, end }
    }

    fn at(&self, value: f64) -> f64 {
        match &self.scale {
            Scale::Linear(scale) => scale.at(value.min(self.end)),
            Scale::Log(scale) => scale.at(value.min(self.end)),
        }
    }

    fn ticks(&self) -> Vec<f64> {
        match &self.scale {
            Scale::Linear(scale) => scale.ticks(4),
            Scale::Log(scale) => scale.ticks(4),
        }
    }
}

fn figure(out: &mut String, race: &Race, entry: &Entry, depth: Depth) {
    let blocks: Vec<(u32, Vec<f64>)> = entry.blocks().into_iter().collect();
    let all = sorted(blocks.iter().flat_map(|(_, values)| values.iter().copied()).collect());
    if all.is_empty() {
        return;
    }
    let height = Height::of(&all);
    put!(
        out,
        "<figure><svg width={WIDTH} height={HEIGHT} role=img aria-label=\"Samples by block\">"
    );
    let ticks = height.ticks();
    let lines: String =
        ticks.iter().map(|tick| format!("M{LEFT} {}H{WIDTH}", whole(height.at(*tick)))).collect();
    put!(out, "<path class=grid d=\"{lines}\"/>");
    for tick in ticks {
        put!(
            out,
            "<text class=e x={} y={}>{}</text>",
            LEFT - 6.0,
            whole(height.at(tick)),
            race.number_text(tick)
        );
    }
    put!(out, "<path class=med d=\"M{LEFT} {}H{SPLIT}\"/>", whole(height.at(quantile(&all, 0.5))));
    let blocks_told = if all.len() <= FEW {
        dots(out, &blocks, &height);
        "each sample, in order"
    } else if depth == Depth::Drawn {
        bars(out, &blocks, &height);
        "median, middle half and range of each block"
    } else {
        medians(out, &blocks, &height);
        "median of each block"
    };
    block_axis(out, &blocks);
    distribution(out, &all, &height);
    let above = all.iter().filter(|ns| **ns > height.end).count();
    if above > 0 {
        let (n, most) = (units::count(above as u64), race.number_text(all[all.len() - 1]));
        put!(out, "<text class=s x={LEFT} y=5>{n} above, up to {most}</text>");
    }
    let n = units::count(all.len() as u64);
    let log = if matches!(height.scale, Scale::Log(_)) { " Logarithmic scale." } else { "" };
    let part = 100.0 / DOTS as f64;
    let of = race.statistic.map_or(String::new(), |name| format!(" Of each sample: {name}."));
    put!(
        out,
        "</svg><figcaption>Left: {blocks_told}. Right: {DOTS} dots, each {part} % of {n} samples.{of}{log}</figcaption></figure>"
    );
}

/// Whole pixels: in these drawings, of which a report has hundreds, halves would be bytes that
/// nobody sees.
fn whole(x: f64) -> i64 {
    x.round() as i64
}

/// The middle of a block's column, and the column's width.
fn column(at: usize, of: usize) -> (f64, f64) {
    let width = (SPLIT - LEFT - 12.0) / of as f64;
    (LEFT + 6.0 + width * (at as f64 + 0.5), width)
}

fn dots(out: &mut String, blocks: &[(u32, Vec<f64>)], height: &Height) {
    let (mut marks, mut medians) = (String::new(), String::new());
    for (i, (_, values)) in blocks.iter().enumerate() {
        let (middle, width) = column(i, blocks.len());
        let (from, step) = (middle - width * 0.4, width * 0.8 / values.len() as f64);
        for (j, value) in values.iter().enumerate() {
            put!(marks, "M{} {}h0", px(from + step * (j as f64 + 0.5)), whole(height.at(*value)));
        }
        let median = quantile(&sorted(values.clone()), 0.5);
        put!(medians, "M{} {}h{}", px(from), whole(height.at(median)), px(width * 0.8));
    }
    put!(out, "<path class=smp d=\"{marks}\"/><path class=bm d=\"{medians}\"/>");
}

fn bars(out: &mut String, blocks: &[(u32, Vec<f64>)], height: &Height) {
    let (mut ranges, mut halves) = (String::new(), String::new());
    for (i, (_, values)) in blocks.iter().enumerate() {
        let values = sorted(values.clone());
        let x = whole(column(i, blocks.len()).0);
        let y = |p: f64| whole(height.at(quantile(&values, p)));
        put!(ranges, "M{x} {}V{}", y(0.0), y(1.0));
        put!(halves, "M{x} {}V{}", y(0.25), y(0.75));
    }
    put!(out, "<path class=rng d=\"{ranges}\"/><path class=hlf d=\"{halves}\"/>");
    medians(out, blocks, height);
}

fn medians(out: &mut String, blocks: &[(u32, Vec<f64>)], height: &Height) {
    let mut marks = String::new();
    for (i, (_, values)) in blocks.iter().enumerate() {
        let median = quantile(&sorted(values.clone()), 0.5);
        put!(marks, "M{} {}h0", whole(column(i, blocks.len()).0), whole(height.at(median)));
    }
    put!(out, "<path class=md d=\"{marks}\"/>");
}

fn block_axis(out: &mut String, blocks: &[(u32, Vec<f64>)]) {
    let last = blocks.len() - 1;
    let y = HEIGHT - 6.0;
    let first = column(0, blocks.len()).0.max(LEFT + 18.0);
    put!(out, "<text x={} y={y}>block {}</text>", whole(first), blocks[0].0 + 1);
    if last > 0 {
        put!(
            out,
            "<text x={} y={y}>{}</text>",
            whole(column(last, blocks.len()).0),
            blocks[last].0 + 1
        );
    }
}

/// Quantiles as dots, beside one another where they fall on the same height.
fn distribution(out: &mut String, all: &[f64], height: &Height) {
    const PITCH: i64 = 5;
    let mut rows: BTreeMap<i64, i64> = BTreeMap::new();
    for i in 0..DOTS {
        let y = height.at(quantile(all, (i as f64 + 0.5) / DOTS as f64));
        *rows.entry((y / PITCH as f64).round() as i64).or_default() += 1;
    }
    // A row is one line, which the stylesheet dashes into dots; only in a row that would be too
    // long do they touch.
    let room = whole(WIDTH - SPLIT) - 12;
    let fullest = rows.values().copied().max().unwrap_or(1);
    let squeeze = (fullest * PITCH > room).then(|| room / fullest).map(|pitch| pitch.max(1));
    let pitch = squeeze.unwrap_or(PITCH);
    let row = |(y, n): (&i64, &i64)| format!("M{} {}h{}", SPLIT + 6.0, y * PITCH, (n - 1) * pitch);
    let rows: String = rows.iter().map(row).collect();
    let dashes = squeeze.map_or(String::new(), |pitch| format!(" stroke-dasharray=\"0 {pitch}\""));
    put!(out, "<path class=qd{dashes} d=\"{rows}\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_before_a_whole_line() {
        assert_eq!(end_of("short"), ("", "short"));
        let text = format!("{}\nthe end", "ä".repeat(4_000));
        assert_eq!(end_of(&text), (" (its end)", "the end"));
        let text = "ö".repeat(4_000);
        assert_eq!(end_of(&text).1.len(), 3_000);
    }
}
