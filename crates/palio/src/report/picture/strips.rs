//! A strip for each contender, in which every race has a lane of its own.

use super::{WIDTH, grid, is_undecided, name, px, scale};
use crate::record::Outcome;
use crate::report::html::svg::Log;
use crate::report::model::{Entry, Interval, Race};
use crate::report::picture::put;
use crate::report::totals::{Field, fields};
use crate::report::units;
use crate::report::view::View;

const LEFT: f64 = 150.0;
const RIGHT: f64 = WIDTH - 256.0;
/// Where the mean stands, and how often it was first.
const MEAN: f64 = WIDTH - 132.0;
const FIRST: f64 = WIDTH - 24.0;
const STRIP: f64 = 46.0;
const GAP: f64 = 8.0;
/// Of all ratios, so many are within the axis; the others stand at its end.
const SHOWN: f64 = 0.97;

/// Returns where the strips end.
pub(super) fn write(out: &mut String, view: &View<'_>, top: f64) -> f64 {
    let scale = scale(view, LEFT, RIGHT, SHOWN);
    let mut y = top;
    for field in fields(&view.report.races) {
        y = group(out, view, field, &scale, y) + 16.0;
    }
    y - 16.0
}

/// The contenders that raced workloads of a model, in a track.
fn group(out: &mut String, view: &View<'_>, field: Field, scale: &Log, top: f64) -> f64 {
    let races: Vec<usize> =
        (0..view.report.races.len()).filter(|&i| view.report.races[i].field() == field).collect();
    let columns = view.raced(&races);
    if columns.is_empty() {
        return top;
    }
    let totals = || view.report.totals.iter().filter(|total| total.field() == field);
    let common = totals().map(|total| total.common).max().unwrap_or(0);
    let head = top + 30.0;
    put!(
        out,
        "<text class=\"b\" x=\"24\" y=\"{y}\">{}</text>\
         <text class=\"m s e\" x=\"{MEAN}\" y=\"{above}\">mean of</text>\
         <text class=\"m s e\" x=\"{MEAN}\" y=\"{y}\">{}</text>\
         <text class=\"m s e\" x=\"{FIRST}\" y=\"{above}\">first or not told</text>\
         <text class=\"m s e\" x=\"{FIRST}\" y=\"{y}\">apart from it</text>\n",
        field,
        units::plural(common as usize, "common race"),
        y = px(head - 6.0),
        above = px(head - 20.0)
    );
    let bottom = head + columns.len() as f64 * (STRIP + GAP);
    for i in 0..columns.len() {
        let y = head + GAP / 2.0 + i as f64 * (STRIP + GAP);
        floors(out, view, &races, scale, y);
    }
    grid(out, scale, head, bottom);
    for (i, &column) in columns.iter().enumerate() {
        let y = head + GAP / 2.0 + i as f64 * (STRIP + GAP);
        if i > 0 {
            put!(out, "<path class=\"r\" d=\"M24 {}H{FIRST}\"/>", px(y - GAP / 2.0));
        }
        let mean = totals().find(|total| total.contender == view.contenders[column]);
        strip(out, view, &races, column, mean.and_then(|mean| mean.geomean_ratio), scale, y);
    }
    bottom
}

fn lane(i: usize, of: usize) -> f64 {
    STRIP * (i as f64 + 0.5) / of as f64
}

/// The noise floor of each race in its lane.
fn floors(out: &mut String, view: &View<'_>, races: &[usize], scale: &Log, y: f64) {
    let floor = |race: &Race| race.noise_floor?.ratio.filter(|floor| floor.is_finite());
    let line = |(i, &race): (usize, &usize)| {
        let floor = floor(&view.report.races[race])?;
        Some(format!(
            "M{} {}H{}",
            px(scale.clamped(1.0 / floor)),
            px(y + lane(i, races.len())),
            px(scale.clamped(floor))
        ))
    };
    let lines: String = races.iter().enumerate().filter_map(line).collect();
    let width = px(STRIP / races.len() as f64 + 0.1);
    put!(out, "<path class=\"l\" stroke-width=\"{width}\" d=\"{lines}\"/>\n");
}

fn strip(
    out: &mut String,
    view: &View<'_>,
    races: &[usize],
    column: usize,
    mean: Option<f64>,
    scale: &Log,
    y: f64,
) {
    let of: Vec<(f64, &Entry)> = races
        .iter()
        .enumerate()
        .filter_map(|(i, &race)| Some((y + lane(i, races.len()), view.grid[race][column]?)))
        .collect();
    let ok: Vec<(f64, &Entry, Interval)> = of
        .iter()
        .filter(|(_, entry)| entry.outcome == Outcome::Ok)
        .filter_map(|(y, entry)| Some((*y, *entry, entry.ratio_to_best?)))
        .collect();
    let middle = y + STRIP / 2.0;
    put!(
        out,
        "<text class=\"e b\" x=\"{}\" y=\"{}\">{}</text>",
        px(LEFT - 12.0),
        px(middle + 4.5),
        name(view.contenders[column])
    );
    let line = |(y, _, ratio): &(f64, &Entry, Interval)| {
        let [lo, hi] =
            [ratio.lo, ratio.hi].map(|side| px(scale.clamped(side.unwrap_or(ratio.point))));
        format!("M{lo} {}H{hi}", px(*y))
    };
    put!(out, "<path class=\"t\" d=\"{}\"/>\n", ok.iter().map(line).collect::<String>());
    for (y, entry, ratio) in &ok {
        let class = if is_undecided(entry) { "o" } else { "d" };
        let x = scale.at(ratio.point);
        if x > RIGHT {
            // Beyond the axis: an arrow at its end.
            put!(out, "<path class=\"d\" d=\"M{} {}l6 3l-6 3z\"/>", px(RIGHT), px(y - 3.0));
        } else {
            put!(out, "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"2.6\"/>", px(x), px(*y));
        }
    }
    if let Some(mean) = mean {
        let x = px(scale.clamped(mean));
        put!(out, "<path class=\"k\" d=\"M{x} {}v{}\"/>", px(y), px(STRIP));
        put!(
            out,
            "<text class=\"e b\" x=\"{MEAN}\" y=\"{}\">{}×</text>",
            px(middle + 4.5),
            units::ratio(mean)
        );
    }
    let first = ok.iter().filter(|(_, entry, _)| entry.is_first()).count();
    put!(
        out,
        "<text class=\"e\" x=\"{FIRST}\" y=\"{}\">{first} of {}</text>",
        px(middle + 4.5),
        ok.len()
    );
    let faults = of.iter().filter(|(_, entry)| entry.outcome.is_fault()).count();
    if faults > 0 {
        put!(
            out,
            "<text class=\"e x s\" x=\"{FIRST}\" y=\"{}\">{faults} failed</text>",
            px(middle + 20.0)
        );
    }
    let most = ok.iter().map(|(_, _, ratio)| ratio.point).fold(0.0, f64::max);
    if scale.at(most) > RIGHT {
        put!(
            out,
            "<text class=\"m s\" x=\"{}\" y=\"{}\">to {}×</text>",
            px(RIGHT + 10.0),
            px(y + 10.0),
            units::ratio(most)
        );
    }
    out.push('\n');
}
