//! Time against CPU time: who is fast, and who is fast because it burns more cores.

use super::Depth;
use super::markup::{colour, esc, key, put, section, workload};
use super::ranking::short;
use super::svg::{Log, mark, px};
use crate::report::units;
use crate::report::view::View;

/// One contender in one race, or its geometric means over several.
#[derive(Clone, Copy)]
struct Point {
    column: usize,
    /// Wall time ÷ the shortest of the race.
    time: f64,
    /// CPU time ÷ the least of the race.
    cpu: f64,
    /// CPU time ÷ wall time.
    cores: f64,
}

/// A plot's points, with what turns the two ratios into cores: `cores = scale × cpu ÷ time`.
struct Cloud {
    points: Vec<Point>,
    scale: f64,
}

pub(super) fn write(out: &mut String, view: &View<'_>, depth: Depth) {
    let clouds: Vec<Option<Cloud>> = (0..view.grid.len()).map(|i| race(view, i)).collect();
    section(
        out,
        "cost",
        "What the time cost",
        "To the left is faster; lower is cheaper in CPU time. Contenders on one diagonal keep the same number of cores busy, \
         so one that lies up and to the left of another bought its speed with cores.",
    );
    if clouds.iter().all(Option::is_none) {
        out.push_str("<p>The CPU time of at most one contender a race could be read, so there is nothing to compare.</p>\n</section>\n");
        return;
    }
    if let Some((cloud, n)) = overall(view, &clouds) {
        out.push_str("<div class=duo>\n<figure>");
        plot(out, view, &cloud, Size::LARGE, limits([&cloud]));
        put!(
            out,
            "<figcaption>Geometric means over the {} that these contenders completed, as ratios to the least. Both scales are \
             logarithmic.</figcaption></figure>\n",
            units::plural(n, "race")
        );
        table(out, view, &cloud);
        out.push_str("</div>\n");
    }
    if depth == Depth::Listed {
        out.push_str("<p class=note>To keep this file small, there is no plot for each race.</p>\n</section>\n");
        return;
    }
    out.push_str("<h3>By race</h3>\n<ul class=keys>\n");
    let all: Vec<usize> = (0..view.report.races.len()).collect();
    for column in view.raced(&all) {
        put!(out, "<li data-c={column}>");
        key(out, view.hue(column));
        put!(out, "{}\n", esc(view.contenders[column]));
    }
    out.push_str("</ul>\n<div class=\"panels small\">\n");
    for (i, cloud) in clouds.iter().enumerate() {
        let Some(cloud) = cloud else { continue };
        let race = &view.report.races[i];
        put!(
            out,
            "<figure data-r={i}><figcaption><a href=#r{i}>{}</a> <small>{}</small></figcaption>",
            workload(&race.workload),
            race.threads_text()
        );
        plot(out, view, cloud, Size::SMALL, limits([cloud]));
        out.push_str("</figure>\n");
    }
    out.push_str("</div>\n<p class=note>Each small plot has its own scales, of a factor of two at least; the small numbers at its edge are busy cores.</p>\n</section>\n");
}

/// Wall and CPU time of those whose CPU time is known; `None` unless there are two to compare.
fn race(view: &View<'_>, i: usize) -> Option<Cloud> {
    let known: Vec<(usize, f64, f64)> = view.grid[i]
        .iter()
        .enumerate()
        .filter_map(|(column, entry)| {
            Some((column, (*entry)?.median_ns?, (*entry)?.cpu_us()? * 1e3))
        })
        .filter(|(_, time, _)| *time > 0.0)
        .collect();
    let least =
        |of: fn(&(usize, f64, f64)) -> f64| known.iter().map(of).fold(f64::INFINITY, f64::min);
    let (time, cpu) = (least(|k| k.1), least(|k| k.2));
    let points = known.iter().map(|k| Point {
        column: k.0,
        time: k.1 / time,
        cpu: k.2 / cpu,
        cores: k.2 / k.1,
    });
    (known.len() > 1).then(|| Cloud { points: points.collect(), scale: cpu / time })
}

/// Geometric means over the races in which all contenders of the ranking are known.
fn overall(view: &View<'_>, clouds: &[Option<Cloud>]) -> Option<(Cloud, usize)> {
    let listed = view.report.totals.iter().filter(|total| total.geomean_ratio.is_some());
    let listed: Vec<usize> = listed.map(|total| view.column(&total.contender)).collect();
    let find = |cloud: &Cloud, column: usize| {
        cloud.points.iter().copied().find(|point| point.column == column)
    };
    let common: Vec<&Cloud> = clouds
        .iter()
        .flatten()
        .filter(|cloud| listed.iter().all(|&column| find(cloud, column).is_some()))
        .collect();
    if listed.len() < 2 || common.is_empty() {
        return None;
    }
    let n = common.len() as f64;
    let mean = |column: usize, of: fn(&Point) -> f64| {
        let logs =
            common.iter().filter_map(|cloud| find(cloud, column)).map(|point| of(&point).ln());
        (logs.sum::<f64>() / n).exp()
    };
    let means: Vec<Point> = listed
        .iter()
        .map(|&column| Point {
            column,
            time: mean(column, |p| p.time),
            cpu: mean(column, |p| p.cpu),
            cores: mean(column, |p| p.cores),
        })
        .collect();
    let scale = (common.iter().map(|cloud| cloud.scale.ln()).sum::<f64>() / n).exp();
    Some((Cloud { points: means, scale }, common.len()))
}

/// The ranges of both ratios, with a margin.
#[derive(Clone, Copy)]
struct Limits {
    time: [f64; 2],
    cpu: [f64; 2],
}

fn limits<'a>(clouds: impl IntoIterator<Item = &'a Cloud>) -> Limits {
    let (mut time, mut cpu) = ([f64::INFINITY, 0.0f64], [f64::INFINITY, 0.0f64]);
    for p in clouds.into_iter().flat_map(|cloud| &cloud.points) {
        time = [time[0].min(p.time), time[1].max(p.time)];
        cpu = [cpu[0].min(p.cpu), cpu[1].max(p.cpu)];
    }
    // At least a factor of two, so that a small difference does not look like a large one.
    let widen = |[lo, hi]: [f64; 2]| {
        let more = (2.0 / (hi / lo)).max(1.0).sqrt() * 1.12;
        [lo / more, hi * more]
    };
    Limits { time: widen(time), cpu: widen(cpu) }
}

#[derive(Clone, Copy)]
struct Size {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    is_large: bool,
}

impl Size {
    const LARGE: Self = Self {
        width: 356.0,
        height: 316.0,
        left: 42.0,
        right: 306.0,
        top: 20.0,
        bottom: 272.0,
        is_large: true,
    };
    const SMALL: Self = Self {
        width: 168.0,
        height: 156.0,
        left: 24.0,
        right: 150.0,
        top: 14.0,
        bottom: 138.0,
        is_large: false,
    };
}

fn plot(out: &mut String, view: &View<'_>, cloud: &Cloud, size: Size, limits: Limits) {
    let Size { width, height, left, right, top, bottom, is_large } = size;
    let x = Log::new(limits.time[0], limits.time[1], left, right);
    let y = Log::new(limits.cpu[0], limits.cpu[1], bottom, top);
    put!(
        out,
        "<svg class=cloud viewBox=\"0 0 {width} {height}\" width={width} role=img aria-label=\"{}\">",
        told(view, cloud)
    );
    put!(out, "<path class=frame d=\"M{left} {top}V{bottom}H{right}\"/>");
    let most = if is_large { 6 } else { 3 };
    for tick in x.ticks(most) {
        put!(out, "<text x={} y={}>{}</text>", px(x.at(tick)), px(bottom + 14.0), short(tick));
    }
    for tick in y.ticks(most) {
        put!(out, "<text class=e x={} y={}>{}</text>", px(left - 5.0), px(y.at(tick)), short(tick));
    }
    diagonals(out, cloud, size, x, y, limits);
    let mut taken: Vec<[f64; 4]> =
        cloud.points.iter().map(|p| around(x.at(p.time), y.at(p.cpu), 6.0)).collect();
    for p in &cloud.points {
        let (at_x, at_y) = (x.at(p.time), y.at(p.cpu));
        put!(out, "<g class=s{} data-c={}>", colour(view.hue(p.column)), p.column);
        put!(out, "<title>{}</title>", about(view, p));
        mark(out, view.hue(p.column), at_x, at_y, if is_large { 4.5 } else { 3.5 });
        if is_large {
            let name = view.contenders[p.column];
            // Where there is no room, the table beside the plot and the title have the name.
            let place = room(&taken, at_x, at_y, name.chars().count() as f64 * 6.6, size);
            if let Some((place, anchor, to_x, to_y)) = place {
                taken.push(place);
                put!(
                    out,
                    "<text class=\"name in {anchor}\" x={} y={}>{}</text>",
                    px(to_x),
                    px(to_y),
                    esc(name)
                );
            }
        }
        out.push_str("</g>");
    }
    if is_large {
        put!(
            out,
            "<text x={} y={}>wall time, ratio to the shortest</text>",
            px((left + right) / 2.0),
            height - 6.0
        );
        put!(
            out,
            "<text transform=\"translate(10 {}) rotate(-90)\">CPU time, ratio to the least</text>",
            px((top + bottom) / 2.0)
        );
    }
    out.push_str("</svg>");
}

/// Lines of 1, 2, 4, … busy cores that cross the plot, named where they leave it.
fn diagonals(out: &mut String, cloud: &Cloud, size: Size, x: Log, y: Log, limits: Limits) {
    let all = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
    // The next below and above what the points reach: more would be a grid of lines that nobody is
    // near.
    let least = cloud.points.iter().map(|p| p.cores).fold(f64::INFINITY, f64::min);
    let most = cloud.points.iter().map(|p| p.cores).fold(0.0, f64::max);
    let mut named: Option<(f64, f64)> = None;
    for cores in all.into_iter().filter(|cores| *cores > least / 2.0 && *cores < most * 2.0) {
        let slope = cores / cloud.scale;
        // cpu = slope × time, from where it enters the plot to where it leaves.
        let from = limits.time[0].max(limits.cpu[0] / slope);
        let to = limits.time[1].min(limits.cpu[1] / slope);
        if from >= to {
            continue;
        }
        let (end_x, end_y) = (x.at(to), y.at(to * slope));
        put!(
            out,
            "<path class=diag d=\"M{} {}L{} {}\"/>",
            px(x.at(from)),
            px(y.at(from * slope)),
            px(end_x),
            px(end_y)
        );
        let noun = match (size.is_large, cores == 1.0) {
            (false, _) => "",
            (true, true) => " core",
            (true, false) => " cores",
        };
        // Lines that leave the plot side by side would write over each other's names.
        let is_near = |(x, y): (f64, f64)| (end_x - x).abs() < 48.0 && (end_y - y).abs() < 12.0;
        if size.is_large && named.is_some_and(is_near) {
            continue;
        }
        named = Some((end_x, end_y));
        if limits.time[1] <= limits.cpu[1] / slope {
            put!(out, "<text class=s x={} y={}>{cores}{noun}</text>", px(end_x + 4.0), px(end_y));
        } else {
            put!(out, "<text x={} y={}>{cores}{noun}</text>", px(end_x), px(end_y - 5.0));
        }
    }
}

fn around(x: f64, y: f64, r: f64) -> [f64; 4] {
    [x - r, y - r, x + r, y + r]
}

/// A place for a name beside its point that covers no point and no name, if there is one.
fn room(
    taken: &[[f64; 4]],
    x: f64,
    y: f64,
    width: f64,
    size: Size,
) -> Option<([f64; 4], &'static str, f64, f64)> {
    let right = ([x + 8.0, y - 6.0, x + 8.0 + width, y + 6.0], "s", x + 8.0, y);
    let left = ([x - 8.0 - width, y - 6.0, x - 8.0, y + 6.0], "e", x - 8.0, y);
    let above = ([x - width / 2.0, y - 20.0, x + width / 2.0, y - 8.0], "m", x, y - 13.0);
    let below = ([x - width / 2.0, y + 8.0, x + width / 2.0, y + 20.0], "m", x, y + 14.0);
    let overlaps =
        |a: &[f64; 4], b: &[f64; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    let is_free = |(place, ..): &([f64; 4], &str, f64, f64)| {
        place[0] >= size.left
            && place[2] <= size.right + 8.0
            && place[1] >= 0.0
            && !taken.iter().any(|other| overlaps(place, other))
    };
    [right, left, above, below].into_iter().find(is_free)
}

fn about(view: &View<'_>, p: &Point) -> String {
    format!(
        "{}: time × {}, CPU × {}, {:.2} cores busy",
        esc(view.contenders[p.column]),
        units::ratio(p.time),
        units::ratio(p.cpu),
        p.cores
    )
}

fn told(view: &View<'_>, cloud: &Cloud) -> String {
    if cloud.points.len() > 6 {
        return format!("{} contenders", cloud.points.len());
    }
    cloud.points.iter().map(|p| about(view, p)).collect::<Vec<_>>().join("; ")
}

fn table(out: &mut String, view: &View<'_>, cloud: &Cloud) {
    out.push_str(
        "<div class=scroll tabindex=0 role=region aria-label=\"Time and CPU time\"><table class=sortable>\n<thead><tr><th scope=col>\
         Contender<th scope=col class=n>Wall time<th scope=col class=n>CPU time<th scope=col class=n>Cores busy\n<tbody>\n",
    );
    for p in &cloud.points {
        put!(out, "<tr data-c={}><th scope=row>", p.column);
        key(out, view.hue(p.column));
        put!(
            out,
            "{}<td class=n>{}<td class=n>{}<td class=n>{:.2}\n",
            esc(view.contenders[p.column]),
            units::ratio(p.time),
            units::ratio(p.cpu),
            p.cores
        );
    }
    out.push_str("</table></div>\n");
}
