//! Speed-up against threads, with the law that was fitted to it.

use super::markup::{colour, esc, key, put};
use super::svg::{Log, mark, px, spread_out};
use crate::report::scaling::{Scaling, ScalingCurve, parameter};
use crate::report::units::{self, NONE};
use crate::report::view::View;

const WIDTH: f64 = 356.0;
const HEIGHT: f64 = 236.0;
const LEFT: f64 = 42.0;
/// Right of it stand the names.
const RIGHT: f64 = 258.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 206.0;
/// Between so many places the curve of a law is drawn as straight lines.
const STEPS: u32 = 24;

/// All workloads that were raced on several numbers of threads: panels, and the numbers in a table.
pub(super) fn write(out: &mut String, view: &View<'_>) {
    let drawn: Vec<&Scaling> =
        view.report.scaling.iter().filter(|scaling| !scaling.curves.is_empty()).collect();
    if drawn.is_empty() {
        return;
    }
    out.push_str(
        "<h3>Speed-up</h3>\n<p class=lead>How many times as fast as the baseline, on more and more threads; both scales \
         are logarithmic, higher is better. The dashed line is a speed-up of one for each thread, and a thin curve the \
         Universal Scalability Law where there are points enough to fit it.</p>\n<div class=panels>\n",
    );
    for scaling in &drawn {
        put!(
            out,
            "<figure>\n<figcaption><b>{}</b> <small>{}</small></figcaption>\n",
            esc(&scaling.label()),
            esc(&scaling.against())
        );
        if scaling.threads.len() > 1 {
            draw(out, view, scaling);
        }
        out.push_str("</figure>\n");
    }
    out.push_str("</div>\n");
    table(out, view, &drawn);
}

fn speed_ups(curve: &ScalingCurve) -> impl Iterator<Item = (f64, f64)> {
    curve.points.iter().filter_map(|p| Some((f64::from(p.threads), p.speed_up?.point)))
}

fn draw(out: &mut String, view: &View<'_>, scaling: &Scaling) {
    let all = || scaling.curves.iter().flat_map(speed_ups).map(|(_, y)| y);
    let most = f64::from(*scaling.threads.last().unwrap_or(&1));
    let fewest = f64::from(scaling.threads[0]);
    let (lo, hi) = (all().fold(1.0, f64::min), all().fold(most.min(2.0), f64::max));
    let x = Log::new(fewest, most, LEFT + 8.0, RIGHT - 8.0);
    let y = Log::new(lo / 1.1, hi * 1.1, BOTTOM, TOP);
    let told: Vec<String> = scaling.curves.iter().map(told).collect();
    put!(
        out,
        "<svg class=lines viewBox=\"0 0 {WIDTH} {HEIGHT}\" width={WIDTH} role=img aria-label=\"{}\">",
        esc(&told.join("; "))
    );
    for tick in y.ticks(6) {
        let at = px(y.at(tick));
        put!(
            out,
            "<path class=grid d=\"M{LEFT} {at}H{RIGHT}\"/><text class=e x={} y={at}>{tick}×</text>",
            LEFT - 6.0
        );
    }
    for &n in &scaling.threads {
        put!(out, "<text x={} y={}>{n}</text>", px(x.at(f64::from(n))), BOTTOM + 16.0);
    }
    put!(out, "<text x={} y={HEIGHT}>threads</text>", px((LEFT + RIGHT) / 2.0));
    // One for each thread, as far as the panel reaches.
    let end = most.min(hi * 1.1);
    if end > fewest {
        put!(
            out,
            "<path class=ideal d=\"M{} {}L{} {}\"/>",
            px(x.at(fewest)),
            px(y.at(fewest)),
            px(x.at(end)),
            px(y.at(end))
        );
    }
    let last = |curve: &ScalingCurve| speed_ups(curve).last();
    let drawn: Vec<&ScalingCurve> = scaling.curves.iter().filter(|c| last(c).is_some()).collect();
    let ends: Vec<f64> = drawn.iter().filter_map(|c| last(c)).map(|(_, s)| y.at(s)).collect();
    let labels = spread_out(&ends, 13.0, TOP, BOTTOM + 6.0);
    for ((curve, end), label) in drawn.iter().zip(ends).zip(labels) {
        let column = view.column(&curve.contender);
        put!(out, "<g class=s{} data-c={column}>", colour(view.hue(column)));
        let path: Vec<String> =
            speed_ups(curve).map(|(n, s)| format!("{} {}", px(x.at(n)), px(y.at(s)))).collect();
        let law = curve.law.map(|law| {
            let at = |step: u32| {
                let n = fewest * (most / fewest).powf(f64::from(step) / f64::from(STEPS));
                format!("{} {}", px(x.at(n)), px(y.clamped(law.speed_up(n))))
            };
            (0..=STEPS).map(at).collect::<Vec<_>>()
        });
        match law {
            Some(law) => put!(out, "<path class=law d=\"M{}\"/>", law.join("L")),
            None if path.len() > 1 => put!(out, "<path class=line d=\"M{}\"/>", path.join("L")),
            None => {}
        }
        for point in &curve.points {
            let Some(speed_up) = point.speed_up else { continue };
            let at = x.at(f64::from(point.threads));
            if let (Some(lo), Some(hi)) = (speed_up.lo, speed_up.hi) {
                let [lo, hi] = [lo, hi].map(|s| px(y.clamped(s)));
                put!(out, "<path class=rng d=\"M{} {lo}V{hi}\"/>", px(at));
            }
            mark(out, view.hue(column), at, y.at(speed_up.point), 3.0);
        }
        let from = last(curve).map_or(RIGHT, |(n, _)| x.at(n));
        put!(
            out,
            "<path class=tie d=\"M{} {}L{} {}\"/><text class=name x={} y={}>{}</text></g>",
            px(from + 5.0),
            px(end),
            px(RIGHT),
            px(label),
            px(RIGHT + 3.0),
            px(label),
            esc(&curve.contender)
        );
    }
    out.push_str("</svg>");
}

fn told(curve: &ScalingCurve) -> String {
    let points: Vec<String> =
        speed_ups(curve).map(|(n, s)| format!("{n}: {}", units::ratio(s))).collect();
    format!("{} {}", curve.contender, points.join(", "))
}

/// A row for each contender and workload: the speed-up on the most threads, and the law.
fn table(out: &mut String, view: &View<'_>, drawn: &[&Scaling]) {
    out.push_str(
        "<div class=scroll tabindex=0 role=region aria-label=\"Speed-up and the law\">\n<table class=\"sortable laws\">\n<thead><tr>\
         <th scope=col>Workload<th scope=col>Contender<th scope=col class=n>Threads<th scope=col class=n>Speed-up\
         <th scope=col>95 %<th scope=col class=n>Efficiency<th scope=col>σ, contention<th scope=col>κ, coherency\
         <th scope=col>Peak<th scope=col class=n>Off by\n<tbody>\n",
    );
    for scaling in drawn {
        for curve in &scaling.curves {
            let Some(point) = curve.points.last() else { continue };
            let none = || NONE.to_owned();
            put!(out, "<tr><td>{}<th scope=row>", esc(&scaling.label()));
            key(out, view.hue(view.column(&curve.contender)));
            put!(
                out,
                "{}<td class=n>{}<td class=n>{}<td class=lim>{}<td class=n>{}",
                esc(&curve.contender),
                point.threads,
                point.speed_up.map_or_else(none, |i| units::ratio(i.point)),
                point.speed_up.map_or_else(none, |i| units::limits(i.lo, i.hi)),
                point.efficiency.map_or_else(none, |share| units::percent(share * 100.0))
            );
            match &curve.law {
                Some(law) => put!(
                    out,
                    "<td>{}<td>{}<td>{}<td class=n>{}\n",
                    parameter(&law.sigma),
                    parameter(&law.kappa),
                    law.peak_text(),
                    units::factor(law.misfit)
                ),
                None => put!(
                    out,
                    "<td colspan=4 class=quiet>no law: {}\n",
                    esc(curve.no_law.as_deref().unwrap_or("unknown"))
                ),
            }
        }
    }
    out.push_str("</table>\n</div>\n");
}
