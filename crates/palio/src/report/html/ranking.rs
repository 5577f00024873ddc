//! The overall ranking: one line a contender, with what its one number leaves out.

use super::markup::{esc, key, put, section};
use super::svg::{Log, px};
use crate::contender::Track;
use crate::record::Outcome;
use crate::report::model::{Entry, Total};
use crate::report::units::{self, NONE};
use crate::report::view::{View, short_version};

const PLOT: f64 = 230.0;
/// Width of the bars that say which ranks were held, where these are many.
const PLACES: f64 = 180.0;

pub(super) fn write(out: &mut String, view: &View<'_>) {
    let lead = if view.report.totals.is_empty() {
        "No contender has completed a race yet."
    } else {
        "By the geometric mean of the ratio to the best of each race (1 is the best; less only where noise lets three beat each other in a circle), for async and \
         fork-join workloads apart, since few contenders run both. A failure is never replaced by a number: it takes its \
         race out of everybody’s mean."
    };
    section(out, "ranking", "Ranking", lead);
    if let Some(told_apart) = &view.report.told_apart {
        put!(out, "<p class=note>{}</p>\n", esc(&told_apart.text()));
    }
    for group in view.report.total_groups() {
        table(out, view, group);
    }
    if !view.report.totals.is_empty() {
        out.push_str(
            "<p class=note>Each tick is one race that the contender completed, the dot its geometric mean; the scale is \
             logarithmic. The arithmetic mean of the same ratios is what many published tables print; it depends on who \
             is divided by whom, so it ranks nobody here. <b>First</b>: races won alone against others, plus those in which the data \
             cannot tell it from the first. <b>Ranks held</b>: how often each place was possible, from the first on the \
             left.</p>\n",
        );
    }
    out.push_str("</section>\n");
}

/// The ranking of one model.
fn table(out: &mut String, view: &View<'_>, group: &[Total]) {
    let field = group[0].field();
    let mean_over = match group[0].common {
        0 => "no race that all contenders completed, so no mean".to_owned(),
        n => format!("means over {}", units::plural(n as usize, "race")),
    };
    put!(out, "<h3>{} <small>{mean_over}</small></h3>\n", field);
    let most = view
        .ranked()
        .filter(|(race, _)| race.field() == field)
        .filter_map(|(_, entry)| Some(entry.ratio_to_best?.point))
        .fold(1.5, f64::max);
    let scale = Log::new(1.0, most, 6.0, PLOT - 6.0);
    let ranked = view.ranked().filter(|(race, _)| race.field() == field);
    let places =
        ranked.filter_map(|(_, entry)| entry.rank).map(|[_, last]| last).max().unwrap_or(1);
    put!(
        out,
        "<div class=scroll tabindex=0 role=region aria-label=\"Overall ranking, {}\">\n\
         <table class=\"sortable ranking\">\n\
         <thead><tr><th scope=col>Contender<th scope=col class=n>Geometric mean<th scope=col data-nosort>",
        field
    );
    axis(out, &scale);
    out.push_str(
        "<th scope=col class=n>Arithmetic mean<th scope=col class=n>Completed<th scope=col class=n>First\
         <th scope=col data-nosort>Ranks held\n<tbody>\n",
    );
    for total in group {
        let column = view.column(&total.contender);
        let rows = view.report.races.iter().zip(&view.grid);
        let entries: Vec<&Entry> = rows
            .filter(|(race, _)| race.field() == field)
            .filter_map(|(_, row)| row[column])
            .collect();
        // Where nobody else was ranked, nobody was beaten.
        let contested: Vec<&Entry> = view
            .report
            .races
            .iter()
            .zip(&view.grid)
            .filter(|(race, _)| race.field() == field && race.is_contested())
            .filter_map(|(_, row)| row[column])
            .collect();
        put!(out, "<tr data-c={column}><th scope=row>");
        key(out, view.hue(column));
        let about = view.contender(&total.contender);
        let version = about.and_then(|c| c.version.as_deref()).unwrap_or_default();
        put!(out, "{} <small>{}</small>", esc(&total.contender), esc(short_version(version)));
        if about.is_some_and(|c| c.track == Track::Tuned) {
            out.push_str(" <span class=tuned>tuned</span>");
        }
        let mean = |x: Option<f64>| x.map_or(NONE.into(), units::ratio);
        put!(out, "<td class=\"n big\">{}<td class=plot>", mean(total.geomean_ratio));
        ratios(out, &scale, view.hue(column), &entries, total.geomean_ratio);
        put!(out, "<td class=n>{}", mean(total.mean_ratio));
        let share = f64::from(total.completed) / f64::from(total.of.max(1));
        put!(
            out,
            "<td class=n data-v={}><span class=share style=\"--share:{:.0}%\">{}/{}</span>",
            total.completed,
            share * 100.0,
            total.completed,
            total.of
        );
        firsts(out, &contested);
        out.push_str("<td class=plot>");
        ranks(out, &entries, places);
        out.push('\n');
    }
    out.push_str("</table>\n</div>\n");
}

fn axis(out: &mut String, scale: &Log) {
    put!(
        out,
        "<svg class=axis width={PLOT} height=16 role=img aria-label=\"Ratio to best, logarithmic scale\">"
    );
    // More, and those of a wide range touch each other.
    for tick in scale.ticks(5) {
        put!(out, "<text x={} y=12>{}</text>", px(scale.at(tick)), short(tick));
    }
    out.push_str("</svg>");
}

/// A tick's value without decimals that say nothing: `1`, `1.5`, `20`.
pub(super) fn short(x: f64) -> String {
    format!("{}", (x * 1000.0).round() / 1000.0)
}

fn ratios(out: &mut String, scale: &Log, hue: usize, entries: &[&Entry], mean: Option<f64>) {
    put!(
        out,
        "<svg width={PLOT} height=20 class=\"s{}\" aria-hidden=true>",
        super::markup::colour(hue)
    );
    put!(out, "<path class=base d=\"M{} 10H{}\"/>", px(scale.at(1.0)), px(PLOT - 6.0));
    let ticks: String = entries
        .iter()
        .filter_map(|entry| Some(entry.ratio_to_best?.point))
        .map(|ratio| format!("M{} 5v10", px(scale.clamped(ratio))))
        .collect();
    put!(out, "<path class=ticks d=\"{ticks}\"/>");
    if let Some(mean) = mean {
        put!(out, "<circle class=dot cx={} cy=10 r=5 />", px(scale.clamped(mean)));
    }
    out.push_str("</svg>");
}

fn firsts(out: &mut String, entries: &[&Entry]) {
    let alone = entries.iter().filter(|entry| entry.rank == Some([1, 1])).count();
    let tied = entries.iter().filter(|entry| entry.is_first()).count() - alone;
    let text = match (alone, tied) {
        (0, 0) => NONE.to_string(),
        (_, 0) => alone.to_string(),
        (0, _) => format!("<small>{tied} tied</small>"),
        _ => format!("{alone} <small>+ {tied} tied</small>"),
    };
    put!(out, "<td class=n data-v={}>{text}", alone as f64 + tied as f64 / 1000.0);
}

/// A small bar for each place. A tie for places 1 to 3 counts a third at each of them.
fn ranks(out: &mut String, entries: &[&Entry], places: u32) {
    let places = places as usize;
    let mut weights = vec![0.0; places];
    for [lo, hi] in
        entries.iter().filter(|entry| entry.outcome == Outcome::Ok).filter_map(|entry| entry.rank)
    {
        let (lo, hi) = (lo.max(1) as usize, (hi as usize).min(places));
        for place in lo..=hi {
            weights[place - 1] += 1.0 / (hi + 1 - lo) as f64;
        }
    }
    let most = weights.iter().copied().fold(1.0, f64::max);
    let pitch = (PLACES / places as f64).min(9.0);
    let width = px(pitch * places as f64);
    let told: Vec<String> = weights
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(i, weight)| format!("place {}: {}", i + 1, short((weight * 10.0).round() / 10.0)))
        .collect();
    put!(
        out,
        "<svg class=ranks width={width} height=20 role=img aria-label=\"{}\">",
        told.join(", ")
    );
    let bars: String = weights
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(i, weight)| {
            let at = px((i as f64 + 0.5) * pitch);
            format!("M{at} 18v-{}", px((weight / most * 16.0).max(1.0)))
        })
        .collect();
    put!(
        out,
        "<path class=base d=\"M0 18.5H{width}\"/><path class=bars stroke-width={} d=\"{bars}\"/></svg>",
        px(pitch * 2.0 / 3.0)
    );
}
