//! Time against threads, for the workloads that were raced on several thread counts.

use super::markup::{colour, esc, put, section, workload};
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

/// One contender's times: by threads, in ns.
struct Curve<'a> {
    column: usize,
    hue: usize,
    name: &'a str,
    points: Vec<(u32, f64)>,
}

impl Curve<'_> {
    fn last(&self) -> (u32, f64) {
        self.points[self.points.len() - 1]
    }
}

pub(super) fn write(out: &mut String, view: &View<'_>) {
    let sweeps = view.thread_sweeps();
    if sweeps.is_empty() {
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
        draw(
            out,
            &curves,
            &sweep.iter().map(|&i| view.report.races[i].threads).collect::<Vec<_>>(),
        );
        out.push_str("</figure>\n");
    }
    out.push_str("</div>\n</section>\n");
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

fn draw(out: &mut String, curves: &[Curve<'_>], threads: &[u32]) {
    let times = || curves.iter().flat_map(|curve| curve.points.iter().map(|(_, ns)| *ns));
    let (lo, hi) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let (fewest, most) = (threads[0], threads[threads.len() - 1]);
    let x = Log::new(f64::from(fewest), f64::from(most), LEFT + 8.0, RIGHT - 8.0);
    let y = Log::new(lo / 1.1, hi * 1.1, BOTTOM, TOP);
    put!(
        out,
        "<svg class=lines width={WIDTH} height={HEIGHT} role=img aria-label=\"{}\">",
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
    for &n in threads {
        put!(out, "<text x={} y={}>{n}</text>", px(x.at(f64::from(n))), BOTTOM + 16.0);
    }
    put!(out, "<text x={} y={HEIGHT}>threads</text>", px((LEFT + RIGHT) / 2.0));
    ideal(out, curves, x, y, lo / 1.1, fewest, most);
    // Names of those that were there to the end stand at the right; the others' beside their last
    // point.
    let is_long = |curve: &&Curve<'_>| curve.last().0 == most;
    let ends: Vec<f64> = curves.iter().filter(is_long).map(|curve| y.at(curve.last().1)).collect();
    let mut labels = spread_out(&ends, 13.0, TOP, BOTTOM + 6.0).into_iter();
    for curve in curves {
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
        match is_long(&curve).then(|| labels.next()).flatten() {
            Some(label) => {
                put!(
                    out,
                    "<path class=tie d=\"M{} {}L{} {}\"/>",
                    px(last + 5.0),
                    px(end),
                    px(RIGHT),
                    px(label)
                );
                put!(
                    out,
                    "<text class=name x={} y={}>{}</text></g>",
                    px(RIGHT + 3.0),
                    px(label),
                    esc(curve.name)
                );
            }
            None => put!(
                out,
                "<text class=\"name in\" x={} y={}>{}</text></g>",
                px(last + 7.0),
                px(end),
                esc(curve.name)
            ),
        }
    }
    out.push_str("</svg>");
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
