//! A panel for each race: its contenders below each other, the fastest at the top.

use super::{WIDTH, grid, is_undecided, name, px, scale};
use crate::record::Outcome;
use crate::report::html::markup::esc;
use crate::report::html::svg::Log;
use crate::report::model::{Entry, Race};
use crate::report::picture::put;
use crate::report::units;
use crate::report::view::View;

/// Two panels stand beside each other.
const PANEL: f64 = (WIDTH - 48.0 - GAP) / 2.0;
const GAP: f64 = 32.0;
const NAMES: f64 = 118.0;
const NUMBERS: f64 = 52.0;
const HEAD: f64 = 62.0;
const ROW: f64 = 21.0;

/// Returns where the panels end.
pub(super) fn write(out: &mut String, view: &View<'_>, top: f64) -> f64 {
    let mut y = top;
    // The same scale for all, so that panels can be compared.
    let scale = scale(view, NAMES + 8.0, PANEL - NUMBERS, 1.0);
    for pair in view.report.races.chunks(2) {
        let mut end = y;
        for (i, race) in pair.iter().enumerate() {
            let x = 24.0 + (PANEL + GAP) * i as f64;
            put!(out, "<g transform=\"translate({} {})\">\n", px(x), px(y));
            end = end.max(y + panel(out, race, &scale));
            out.push_str("</g>\n");
        }
        y = end + 14.0;
    }
    y - 14.0
}

fn panel(out: &mut String, race: &Race, scale: &Log) -> f64 {
    put!(
        out,
        "<text class=\"b\" x=\"0\" y=\"14\">{}</text>\n<text class=\"m s\" x=\"0\" y=\"31\">{}</text>\n",
        esc(&race.label()),
        esc(&race.title)
    );
    let rows: Vec<&Entry> =
        race.entries.iter().filter(|entry| !entry.outcome.is_left_aside()).collect();
    let (top, bottom) = (HEAD, HEAD + ROW * rows.len() as f64);
    if let Some(floor) =
        race.noise_floor.and_then(|floor| floor.ratio).filter(|floor| floor.is_finite())
    {
        let (from, to) = (scale.clamped(1.0 / floor), scale.clamped(floor));
        put!(
            out,
            "<rect class=\"f\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
            px(from),
            px(top),
            px((to - from).max(1.0)),
            px(bottom - top)
        );
    }
    grid(out, scale, top, bottom);
    for (i, entry) in rows.into_iter().enumerate() {
        row(out, entry, scale, top + ROW * (i as f64 + 0.5));
    }
    bottom
}

fn row(out: &mut String, entry: &Entry, scale: &Log, y: f64) {
    let bold = if entry.is_first() { " b" } else { "" };
    // A baseline is compared, and never ranked.
    let muted = if entry.outcome == Outcome::Ok && entry.rank.is_none() { " m" } else { "" };
    put!(
        out,
        "<text class=\"e{bold}{muted}\" x=\"{NAMES}\" y=\"{}\">{}</text>",
        px(y + 4.5),
        name(&entry.contender)
    );
    let Some(ratio) = entry.ratio_to_best.filter(|_| entry.outcome == Outcome::Ok) else {
        let text = if entry.outcome == Outcome::Ok {
            "no ratio".to_owned()
        } else {
            entry.outcome.words()
        };
        put!(
            out,
            "<text class=\"x s\" x=\"{}\" y=\"{}\">{text}</text>\n",
            px(scale.at(1.0) + 6.0),
            px(y + 4.0)
        );
        return;
    };
    let [lo, hi] = [ratio.lo, ratio.hi]
        .map(|side| side.map_or_else(|| px(scale.at(ratio.point)), |side| px(scale.clamped(side))));
    put!(out, "<path class=\"i\" d=\"M{lo} {}H{hi}\"/>", px(y));
    let class = if is_undecided(entry) { "o" } else { "d" };
    put!(
        out,
        "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"3.7\"/>",
        px(scale.clamped(ratio.point)),
        px(y)
    );
    put!(
        out,
        "<text class=\"e{bold}{muted}\" x=\"{}\" y=\"{}\">{}×</text>\n",
        px(PANEL),
        px(y + 4.5),
        units::ratio(ratio.point)
    );
}
