//! Time against threads, for the workloads that were raced on several thread counts.

use std::collections::BTreeMap;

use super::markup::{colour, esc, put, section, workload};
use super::speed_up;
use super::svg::{Log, mark, px, spread_out};
use crate::report::units;
use crate::report::view::View;

const WIDTH: f64 = 356.0;
const HEIGHT: f64 = 236.0;
const LEFT: f64 = 50.0;
/// Right of it stand the names.
const RIGHT: f64 = 258.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 206.0;

/// One contender's times: by threads (or by what else the axis has), in ns.
pub(super) struct Curve<'a> {
    pub(super) column: usize,
    pub(super) hue: usize,
    pub(super) name: &'a str,
    pub(super) points: Vec<(u32, f64)>,
}

/// What the times are drawn against.
pub(super) struct Axis<'a> {
    /// Ascending.
    pub(super) at: &'a [u32],
    pub(super) name: &'a str,
    pub(super) text: fn(u32) -> String,
    /// Whether more of it should take proportionally less time.
    pub(super) ideal: bool,
}

impl Curve<'_> {
    fn last(&self) -> (u32, f64) {
        self.points[self.points.len() - 1]
    }
}

pub(super) fn write(out: &mut String, view: &View<'_>) {
    let sweeps = view.thread_sweeps();
    if sweeps.is_empty() && view.report.scaling.is_empty() {
        return;
    }
    section(
        out,
        "scaling",
        "Scaling",
        "Median time of an iteration on more and more threads; both scales are logarithmic, lower is better. A curve \
         parallel to the dashed line halves its time whenever the threads double.",
    );
    out.push_str("<div class=panels>\n");
    for sweep in &sweeps {
        let first = &view.report.races[sweep[0]];
        let curves = curves(view, sweep);
        put!(out, "<figure data-r={}>", list(sweep));
        put!(
            out,
            "<figcaption><b>{}</b> <small>{}</small></figcaption>",
            workload(&first.workload),
            esc(&first.params_text())
        );
        if curves.is_empty() {
            out.push_str("<p>Nobody completed it.</p></figure>\n");
            continue;
        }
        let threads: Vec<u32> = sweep.iter().map(|&i| view.report.races[i].threads).collect();
        let text = |n: u32| n.to_string();
        draw(out, &curves, &Axis { at: &threads, name: "threads", text, ideal: true });
        out.push_str("</figure>\n");
    }
    out.push_str("</div>\n");
    speed_up::write(out, view);
    out.push_str("</section>\n");
}

fn list(races: &[usize]) -> String {
    let races: Vec<String> = races.iter().map(ToString::to_string).collect();
    format!("\"{}\"", races.join(" "))
}

fn curves<'a>(view: &View<'a>, sweep: &[usize]) -> Vec<Curve<'a>> {
    let all = view.contenders.iter().enumerate().map(|(column, name)| {
        let point =
            |&i: &usize| Some((view.report.races[i].threads, view.grid[i][column]?.value_ns?));
        Curve {
            column,
            hue: view.hue(column),
            name,
            points: sweep.iter().filter_map(point).collect(),
        }
    });
    all.filter(|curve| !curve.points.is_empty()).collect()
}

pub(super) fn draw(out: &mut String, curves: &[Curve<'_>], axis: &Axis<'_>) {
    let times = || curves.iter().flat_map(|curve| curve.points.iter().map(|(_, ns)| *ns));
    let (lo, hi) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let (fewest, most) = (axis.at[0], axis.at[axis.at.len() - 1]);
    let x = Log::new(f64::from(fewest), f64::from(most), LEFT + 8.0, RIGHT - 8.0);
    let y = Log::new(lo / 1.1, hi * 1.1, BOTTOM, TOP);
    put!(
        out,
        "<svg class=lines viewBox=\"0 0 {WIDTH} {HEIGHT}\" width={WIDTH} role=img aria-label=\"{}\">",
        told(curves)
    );
    for tick in y.ticks(5) {
        let at = px(y.at(tick));
        put!(
            out,
            "<path class=grid d=\"M{LEFT} {at}H{RIGHT}\"/><text class=e x={} y={at}>{}</text>",
            LEFT - 6.0,
            tick_time(tick)
        );
    }
    for &n in axis.at {
        let text = (axis.text)(n);
        put!(out, "<text x={} y={}>{text}</text>", px(x.at(f64::from(n))), BOTTOM + 16.0);
    }
    put!(out, "<text x={} y={HEIGHT}>{}</text>", px((LEFT + RIGHT) / 2.0), axis.name);
    if axis.ideal {
        ideal(out, curves, x, y, lo / 1.1, fewest, most);
    }
    let labels = labels(curves, y);
    for (curve, label) in curves.iter().zip(labels) {
        put!(out, "<g class=s{} data-c={}>", colour(curve.hue), curve.column);
        let path: Vec<String> = curve
            .points
            .iter()
            .map(|(n, ns)| format!("{} {}", px(x.at(f64::from(*n))), px(y.at(*ns))))
            .collect();
        if path.len() > 1 {
            put!(out, "<path class=line d=\"M{}\"/>", path.join("L"));
        }
        for (n, ns) in &curve.points {
            mark(out, curve.hue, x.at(f64::from(*n)), y.at(*ns), 3.0);
        }
        let (last, end) = (x.at(f64::from(curve.last().0)), y.at(curve.last().1));
        // Names of those that were there to the end stand at the right; the others' beside their
        // last point, over whatever runs there.
        let (class, name) =
            if curve.last().0 == most { ("name", RIGHT) } else { ("\"name in\"", last + 9.0) };
        let (end, label) = (px(end), px(label));
        if end != label {
            let (from, to) = (px(last + 5.0), px(name));
            put!(out, "<path class=tie d=\"M{from} {end}L{to} {label}\"/>");
        }
        let text = px(name + 3.0);
        put!(out, "<text class={class} x={text} y={label}>{}</text></g>", esc(curve.name));
    }
    out.push_str("</svg>");
}

/// How high each curve's name stands: near its last point, and apart from the names in its column.
fn labels(curves: &[Curve<'_>], y: Log) -> Vec<f64> {
    let mut columns: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, curve) in curves.iter().enumerate() {
        columns.entry(curve.last().0).or_default().push(i);
    }
    let mut labels = vec![0.0; curves.len()];
    for column in columns.values() {
        let ends: Vec<f64> = column.iter().map(|&i| y.at(curves[i].last().1)).collect();
        for (&i, label) in column.iter().zip(spread_out(&ends, 13.0, TOP, BOTTOM + 6.0)) {
            labels[i] = label;
        }
    }
    labels
}

/// From the fastest curve on the fewest threads down with slope −1, as far as the panel reaches.
fn ideal(
    out: &mut String,
    curves: &[Curve<'_>],
    x: Log,
    y: Log,
    floor: f64,
    fewest: u32,
    most: u32,
) {
    let start = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .filter(|(n, _)| *n == fewest)
        .map(|(_, ns)| *ns);
    let start = start.fold(f64::INFINITY, f64::min);
    if !start.is_finite() || most == fewest {
        return;
    }
    let far = f64::from(most).min(f64::from(fewest) * start / floor);
    let end = start * f64::from(fewest) / far;
    put!(
        out,
        "<path class=ideal d=\"M{} {}L{} {}\"/>",
        px(x.at(f64::from(fewest))),
        px(y.at(start)),
        px(x.at(far)),
        px(y.at(end))
    );
}

fn tick_time(ns: f64) -> String {
    let text = units::time(ns);
    // 5.00 ms on an axis is 5 ms.
    text.replace(".00 ", " ").replace(".0 ", " ")
}

fn told(curves: &[Curve<'_>]) -> String {
    let one = |curve: &Curve<'_>| {
        let points: Vec<String> =
            curve.points.iter().map(|(n, ns)| format!("{n}: {}", units::time(*ns))).collect();
        format!("{} {}", esc(curve.name), points.join(", "))
    };
    curves.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_curves_that_end_at_one_place_stand_apart() {
        let curve = |column, name, points| Curve { column, hue: column, name, points };
        let curves = [
            curve(0, "long", vec![(1, 1000.0), (2, 500.0)]),
            curve(1, "one", vec![(1, 1010.0)]),
            curve(2, "two", vec![(1, 1020.0)]),
            curve(3, "far", vec![(1, 9000.0)]),
        ];
        let mut out = String::new();
        let text = |n: u32| n.to_string();
        draw(&mut out, &curves, &Axis { at: &[1, 2], name: "threads", text, ideal: false });
        let height = |name: &str| -> f64 {
            let text =
                out.split("<text ").find(|text| text.contains(&format!(">{name}<"))).unwrap();
            let y = text.split_once("y=").unwrap().1;
            y.split_once('>').unwrap().0.parse().unwrap()
        };
        assert!(height("one") - height("two") >= 13.0, "{out}");
        assert!(height("two") - height("far") >= 13.0, "{out}");
        assert_eq!(out.matches("class=\"name in\"").count(), 3, "{out}");
    }
}
