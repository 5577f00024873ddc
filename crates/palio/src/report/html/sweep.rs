//! A tuning sweep as heat maps: the values of one knob across, those of another one down.

use super::markup::{esc, put, section, workload};
use crate::grid::Axis;
use crate::record::Outcome;
use crate::report::model::{Entry, Race, VerdictWord};
use crate::report::sweep::{Sweep, SweepPoint, SweepRow};
use crate::report::units::{self, NONE};
use crate::report::view::View;

/// A knob and one of its values.
type Setting<'a> = (&'a String, &'a String);

/// Upper ends of the classes of colour, as factors; what is above the last has a class of its own.
const CLASSES: [f64; 2] = [1.05, 1.25];

pub(super) fn write(out: &mut String, view: &View<'_>) {
    let Some(sweep) = &view.report.sweep else { return };
    section(
        out,
        "sweep",
        "Sweep",
        "Time relative to the baseline, which has every knob as it is by default: below 1 is faster. A cell has a colour \
         only where it is told apart from the baseline, beyond the noise; a frame is around a point that is faster than \
         the baseline and than all other points of its row.",
    );
    legend(out);
    for (i, (race, row)) in view.report.races.iter().zip(&sweep.rows).enumerate() {
        put!(
            out,
            "<figure class=grid-of data-r={i}>\n<figcaption><b>{}</b> <small>{} · noise floor {}</small></figcaption>\n",
            workload(&race.workload),
            esc(&format!("{} · {}", race.params_text(), race.threads_text())),
            race.noise_floor.and_then(|floor| floor.ratio).map_or(NONE.into(), units::factor)
        );
        maps(out, sweep, race, row);
        put!(out, "<p class=note>{}.</p>\n</figure>\n", esc(&row.conclusion));
    }
    if sweep.rows.len() > 1 {
        over_all(out, sweep);
    }
    put!(
        out,
        "<p class=note>{}</p>\n</section>\n",
        "Whoever picks the lowest of many numbers flatters it: race the choice again, by itself, beside the baseline. \
         What a knob is by default is the contender's own word: the baseline has none of them turned."
    );
}

fn legend(out: &mut String) {
    out.push_str(
        "<ul class=legend aria-label=Legend>\n<li><span class=f3>25 % and more faster</span>\n<li><span class=f2>5–25 % \
         faster</span>\n<li><span class=f1>faster</span>\n<li><span>not told apart</span>\n<li><span class=t1>slower</span>\n\
         <li><span class=t2>5–25 % slower</span>\n<li><span class=t3>25 % and more slower</span>\n\
         <li><span class=first>best</span>\n</ul>\n",
    );
}

/// A table for each combination of the values of all knobs but the last two.
fn maps(out: &mut String, sweep: &Sweep, race: &Race, row: &SweepRow) {
    let (outer, inner) = sweep.knobs.split_at(sweep.knobs.len().saturating_sub(2));
    let (down, across) = match inner {
        [down, across] => (Some(down), across),
        [across] => (None, across),
        _ => return,
    };
    for fixed in combinations(outer) {
        put!(
            out,
            "<div class=scroll tabindex=0 role=region aria-label=\"{}\">\n<table class=grid-map>\n",
            esc(&caption(&fixed, race))
        );
        if !fixed.is_empty() {
            put!(out, "<caption>{}</caption>\n", esc(&text(&fixed)));
        }
        // With one knob, there is nothing to say at the left of its row.
        let corner = down.map_or("<td rowspan=2>".to_owned(), |down| {
            format!("<th scope=col rowspan=2>{}", esc(&down.name))
        });
        put!(
            out,
            "<thead><tr>{corner}<th scope=colgroup colspan={}>{}\n<tr>",
            across.values.len(),
            esc(&across.name)
        );
        for value in &across.values {
            put!(out, "<th scope=col class=n>{}", esc(&named(across, value)));
        }
        out.push_str("\n<tbody>\n");
        let rows: Vec<Option<&String>> =
            down.map_or_else(|| vec![None], |down| down.values.iter().map(Some).collect());
        for value in rows {
            let head = down.zip(value).map_or("<td>".to_owned(), |(down, value)| {
                format!("<th scope=row>{}", esc(&named(down, value)))
            });
            put!(out, "<tr>{head}");
            for at in &across.values {
                let mut wanted = fixed.clone();
                wanted.extend(down.zip(value).map(|(down, value)| (&down.name, value)));
                wanted.push((&across.name, at));
                cell(out, sweep, race, row, &wanted);
            }
            out.push('\n');
        }
        out.push_str("</table>\n</div>\n");
    }
    let baseline = race.entries.iter().find(|entry| entry.contender == sweep.baseline);
    if let Some(value) = baseline.and_then(|entry| entry.value_ns) {
        let defaults: Vec<String> =
            sweep.knobs.iter().map(|axis| format!("{}={}", axis.name, axis.default)).collect();
        put!(
            out,
            "<p class=note>Baseline, {}: {}.</p>\n",
            esc(&defaults.join(", ")),
            esc(&race.number_text(value))
        );
    }
}

fn caption(fixed: &[Setting<'_>], race: &Race) -> String {
    format!("Grid of {} {}", race.label(), text(fixed))
}

fn text(settings: &[Setting<'_>]) -> String {
    settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

/// A value, and whether it is the default.
fn named(axis: &Axis, value: &str) -> String {
    if value == axis.default { format!("{value} (default)") } else { value.to_owned() }
}

/// Every combination of the values of these knobs; one that is empty, of none.
fn combinations(knobs: &[Axis]) -> Vec<Vec<Setting<'_>>> {
    let mut all = vec![Vec::new()];
    for axis in knobs {
        let mut longer = Vec::new();
        for so_far in &all {
            for value in &axis.values {
                let mut one: Vec<Setting<'_>> = so_far.clone();
                one.push((&axis.name, value));
                longer.push(one);
            }
        }
        all = longer;
    }
    all
}

fn cell(out: &mut String, sweep: &Sweep, race: &Race, row: &SweepRow, wanted: &[Setting<'_>]) {
    let is_here = |point: &&SweepPoint| {
        wanted.iter().all(|(key, value)| point.settings.get(*key) == Some(value))
    };
    let Some(point) = sweep.points.iter().find(is_here) else {
        out.push_str("<td>");
        return;
    };
    let Some(entry) = race.entries.iter().find(|entry| entry.contender == point.contender) else {
        out.push_str("<td>");
        return;
    };
    if entry.outcome != Outcome::Ok {
        let fault = if entry.outcome.is_fault() { " fault" } else { "" };
        put!(out, "<td class=\"hatch{fault}\">{}", entry.outcome.words());
        return;
    }
    let Some(verdict) = entry.ratio_to_reference else {
        put!(out, "<td>{NONE}");
        return;
    };
    let best = row.best.as_ref() == Some(&point.contender);
    let (word, limits) = if point.is_baseline {
        ("baseline", String::new())
    } else {
        (
            if best { "best" } else { verdict.verdict.word() },
            units::fine_limits(verdict.lo, verdict.hi),
        )
    };
    put!(
        out,
        "<td class=\"{}{}\"><b>{}</b> <small>{limits}<br>{word}</small>",
        class(entry),
        if best { " first" } else { "" },
        units::fine(verdict.point)
    );
}

/// The class of colour of a point: none unless it is told apart.
fn class(entry: &Entry) -> String {
    let Some(verdict) = entry.ratio_to_reference else { return "same".to_owned() };
    let step = |factor: f64| 1 + CLASSES.iter().filter(|end| factor >= **end).count();
    match verdict.verdict {
        VerdictWord::Faster => format!("f{}", step(1.0 / verdict.point)),
        VerdictWord::Slower => format!("t{}", step(verdict.point)),
        _ => "same".to_owned(),
    }
}

/// Every point over all rows, the lowest mean first.
fn over_all(out: &mut String, sweep: &Sweep) {
    out.push_str("<h3>Over all rows</h3>\n<div class=scroll tabindex=0 role=region aria-label=\"Points over all rows\">\n<table class=sortable>\n<thead><tr>");
    for axis in &sweep.knobs {
        put!(out, "<th scope=col>{}", esc(&axis.name));
    }
    for head in
        ["Mean ÷ baseline", "Faster", "Slower", "Equivalent", "Inconclusive", "Failed", "Best"]
    {
        put!(out, "<th scope=col class=n>{head}");
    }
    out.push_str("\n<tbody>\n");
    let mean = |point: &SweepPoint| point.geomean_ratio.unwrap_or(f64::INFINITY);
    let mut points: Vec<&SweepPoint> = sweep.points.iter().collect();
    points.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    for point in points {
        out.push_str("<tr>");
        for axis in &sweep.knobs {
            let value = point.settings.get(&axis.name).map_or("", String::as_str);
            let mark = if point.is_baseline { " (baseline)" } else { "" };
            put!(out, "<td>{}{mark}", esc(value));
        }
        put!(out, "<td class=n>{}", point.geomean_ratio.map_or(NONE.into(), units::fine));
        for count in
            [point.faster, point.slower, point.equivalent, point.inconclusive, point.failed]
        {
            put!(out, "<td class=n>{count}");
        }
        put!(out, "<td class=n>{}\n", sweep.best_in(&point.contender));
    }
    put!(out, "</table>\n</div>\n<p class=note>{}.</p>\n", esc(&sweep.mean_text()));
}
