//! Each race in full: its conditions, its table with intervals drawn, and a fold for each
//! contender.

use super::markup::{css, esc, key, put, section, workload};
use super::ranking::short;
use super::svg::{Log, px};
use super::{Depth, cell};
use crate::record::Outcome;
use crate::report::model::{CheckedPrediction, Entry, Race};
use crate::report::units::{self, NONE};
use crate::report::view::{View, short_version, sorted};
use crate::stats::quantile;

const PLOT: f64 = 160.0;

/// With more races than this they begin folded: a page of fifty open tables is no overview.
const OPEN_AT_MOST: usize = 30;

pub(super) fn write(out: &mut String, view: &View<'_>, depth: Depth) {
    let races = &view.report.races;
    if races.is_empty() {
        return;
    }
    const DRAWN: &str = "In each drawing the dot is the ratio to the best and the dark line its 95 % interval; the \
        pale bar is where the middle nine tenths of the samples lie; the shaded band is the noise floor. \
        A median marked * has outliers, and one marked ‡ stands between two groups of samples. \
        User, system and total are CPU time of an iteration, of the whole process.";
    let lead = match depth {
        Depth::Drawn | Depth::Sketched => DRAWN.to_string(),
        Depth::Told => format!(
            "{DRAWN} To keep this file small, the samples of single cells are not drawn; <code>palio show</code> has \
             them."
        ),
        Depth::Listed => "To keep this file small, single cells have no details and no drawings; \
                          <code>palio show</code> has them."
            .to_string(),
    };
    section(out, "races", "Race by race", &lead);
    for (i, race) in races.iter().enumerate() {
        let open = if races.len() <= OPEN_AT_MOST { " open" } else { "" };
        put!(
            out,
            "<details class=race id=r{i} data-r={i}{open}>\n<summary><h3>{}",
            workload(&race.workload)
        );
        put!(
            out,
            " <small>{}</small></h3><span>{}</span>",
            esc(&race.params_text()),
            race.conditions_text()
        );
        put!(out, "<span class=won>{}</span></summary>\n", winners(race));
        conditions(out, view, race);
        predictions(out, view, race);
        table(out, view, i, race, depth);
        unraced(out, view, i, race, depth);
        if depth < Depth::Listed {
            out.push_str("<div class=cells><span>Details</span>\n");
            for entry in &race.entries {
                cell::write(out, view, i, entry, depth);
            }
            out.push_str("</div>\n");
        }
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

/// The contenders that hold or share the first place.
fn winners(race: &Race) -> String {
    let ranked = race.entries.iter().filter_map(|e| Some((esc(&e.contender), e.rank?)));
    first_of(&ranked.collect::<Vec<_>>())
}

fn first_of(ranked: &[(String, [u32; 2])]) -> String {
    let first: Vec<&str> =
        ranked.iter().filter(|(_, rank)| rank[0] == 1).map(|(name, _)| name.as_str()).collect();
    match first.as_slice() {
        [] => "nobody is ranked".into(),
        [one] if ranked.len() == 1 => format!("alone: {one}"),
        // Faster than it is nobody, which is not to say that it is faster than everybody.
        [one] if ranked.iter().any(|(name, rank)| name == one && rank[1] > 1) => {
            format!("perhaps first: {one}")
        }
        [one] => format!("first: {one}"),
        [most @ .., last] => format!("not told apart: {} and {last}", most.join(", ")),
    }
}

fn conditions(out: &mut String, view: &View<'_>, race: &Race) {
    put!(
        out,
        "<p class=terms>{}. {} scope, {} model.",
        esc(race.title.trim_end_matches('.')),
        title_case(race.scope.name()),
        race.model
    );
    if let Some(origin) = &race.origin {
        put!(out, " {}.", esc(&origin.text()));
    }
    put!(out, " <b>Noise floor {}.</b>", esc(&race.noise_text()));
    if let Some(statistic) = race.statistic_text() {
        put!(out, " <b>Not a time of an iteration:</b> {}.", esc(&statistic));
    }
    if let Some(reference) = &race.reference {
        put!(out, " Verdicts are against {}.", esc(reference));
    }
    if let Some(certificate) = race.certificate() {
        put!(out, " Equal work: {}.", esc(&certificate));
    }
    for caveat in race.caveats(view.report) {
        put!(out, " <b>Caution:</b> {}.", esc(&caveat));
    }
    for doubt in race.doubts() {
        put!(out, " <b class=fault>Doubtful:</b> {}.", esc(&doubt));
    }
    out.push_str("</p>\n");
}

/// What the catalogue expects of the race, why, and what was seen.
fn predictions(out: &mut String, view: &View<'_>, race: &Race) {
    let of_race = |p: &&CheckedPrediction| {
        race.cpu_budget.is_none() && p.workload == race.workload && p.threads == race.threads
    };
    for p in view.report.predictions.iter().filter(of_race) {
        let word = p.word();
        put!(
            out,
            "<p class=terms>Expected: {}, because {}. <b class=p-{word}>{word}</b>: {}.\n",
            esc(&p.expected),
            esc(&p.because_text()),
            esc(&p.seen)
        );
    }
}

/// `Per fork`, or what of the distribution stands in the column.
fn detail_title(race: &Race) -> String {
    match race.statistic {
        None => format!("Per {}", esc(&race.unit)),
        Some(_) => esc(&race.detail_head()),
    }
}

fn title_case(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map_or(String::new(), |first| esc(&format!("{}{}", first.to_uppercase(), chars.as_str())))
}

/// What was raced stands in the table, though it failed; what was not there to be raced, or is
/// still to be, stands in a line below.
fn is_in_table(entry: &Entry) -> bool {
    entry.outcome == Outcome::Ok || entry.outcome.is_fault()
}

/// Those that were not raced, each reason once.
fn unraced(out: &mut String, view: &View<'_>, i: usize, race: &Race, depth: Depth) {
    let mut reasons: Vec<(&Entry, Vec<String>)> = Vec::new();
    for entry in race.entries.iter().filter(|entry| !is_in_table(entry)) {
        let column = view.column(&entry.contender);
        let name = esc(&entry.contender);
        let name = if depth < Depth::Listed {
            format!("<a id=e{i}-{column} data-c={column} href=#c{i}-{column}>{name}</a>")
        } else {
            format!("<span id=e{i}-{column} data-c={column}>{name}</span>")
        };
        let same = |(other, _): &&mut (&Entry, Vec<String>)| {
            // Why somebody was not built is the same in every race: it stands under "Contenders".
            let is_told_elsewhere = entry.outcome == Outcome::NotBuilt;
            other.outcome == entry.outcome && (is_told_elsewhere || other.detail == entry.detail)
        };
        match reasons.iter_mut().find(same) {
            Some((_, names)) => names.push(name),
            None => reasons.push((entry, vec![name])),
        }
    }
    for (entry, names) in reasons {
        put!(out, "<p class=unraced><b>{}</b> {}", entry.outcome.words(), names.join(", "));
        match &entry.detail {
            Some(_) if entry.outcome == Outcome::NotBuilt => {
                out.push_str(": <a href=#contenders>why</a>");
            }
            Some(detail) => put!(out, ": {}", esc(detail)),
            None => {}
        }
        out.push('\n');
    }
}

fn table(out: &mut String, view: &View<'_>, i: usize, race: &Race, depth: Depth) {
    if !race.entries.iter().any(is_in_table) {
        return;
    }
    let best =
        race.entries.iter().filter(|entry| entry.rank.is_some()).find_map(|entry| entry.value_ns);
    let scale = scale(race);
    put!(
        out,
        "<div class=scroll tabindex=0 role=region aria-label=\"{}\">\n<table class=\"sortable entries{}\" \
         style=\"--v:'{}';--d:'{}'\">\n<thead><tr>\
         <th scope=col class=n>Rank<th scope=col>Contender<th scope=col data-nosort>",
        esc(&race.label()),
        if race.statistic.is_some() { " events" } else { "" },
        css(&race.value_title()),
        css(&detail_title(race))
    );
    put!(out, "<svg class=axis width={PLOT} height=16 role=img aria-label=\"Ratio to best\">");
    for tick in scale.ticks(5) {
        put!(out, "<text x={} y=12>{}</text>", px(scale.at(tick)), short(tick));
    }
    put!(
        out,
        "</svg><th scope=col class=n>Ratio<th scope=col data-nosort>95 %<th scope=col>Verdict<th scope=col class=n>{}\
         <th scope=col class=n>{}<th scope=col class=n>Spread<th scope=col class=n>User<th scope=col class=n>System\
         <th scope=col class=n>Total<th scope=col class=n>CPU<th scope=col class=n>Memory\n<tbody>\n",
        race.value_title(),
        detail_title(race)
    );
    for entry in race.entries.iter().filter(|entry| is_in_table(entry)) {
        let column = view.column(&entry.contender);
        let class = match (entry.outcome, entry.doubts.is_empty()) {
            (Outcome::Ok, true) => "",
            (Outcome::Ok, false) => " class=doubt",
            _ => " class=out",
        };
        put!(
            out,
            "<tr id=e{i}-{column} data-c={column}{class}><td>{}<th scope=row>",
            entry.rank_text().replace('-', "–")
        );
        key(out, view.hue(column));
        if depth < Depth::Listed {
            put!(out, "<a href=#c{i}-{column}>{}</a>", esc(&entry.contender));
        } else {
            out.push_str(&esc(&entry.contender));
        }
        if entry.version != "unknown" {
            put!(out, " <small>{}</small>", esc(short_version(&entry.version)));
        }
        if let Some(variant) = &entry.variant {
            put!(out, " <small>{}</small>", esc(variant));
        }
        if entry.is_tuned() {
            out.push_str(" <span class=tuned>tuned</span>");
        }
        if entry.outcome == Outcome::Ok {
            numbers(out, view, i, entry, &Drawing { scale: &scale, best, depth });
        } else {
            let fault = if entry.outcome.is_fault() { " class=fault" } else { "" };
            put!(
                out,
                "<td colspan=12><b{fault}>{}</b> {}",
                entry.outcome.words(),
                esc(entry.detail.as_deref().unwrap_or_default())
            );
        }
        out.push('\n');
    }
    out.push_str("</table>\n</div>\n");
}

/// How the entries of a race are drawn.
struct Drawing<'a> {
    scale: &'a Log,
    best: Option<f64>,
    depth: Depth,
}

fn numbers(out: &mut String, view: &View<'_>, i: usize, entry: &Entry, drawing: &Drawing<'_>) {
    let race = &view.report.races[i];
    out.push_str("<td class=plot>");
    if drawing.depth < Depth::Listed {
        interval(out, race, entry, drawing.scale, drawing.best);
    }
    let ratio = entry.ratio_to_best;
    put!(out, "<td>{}", ratio.map_or(NONE.into(), |i| units::ratio(i.point)));
    put!(out, "<td class=lim>{}", ratio.map_or(NONE.into(), |i| units::limits(i.lo, i.hi)));
    match entry.ratio_to_reference {
        Some(v) => put!(out, "<td class=v-{0}>{0}", v.verdict.word()),
        None => put!(out, "<td>{NONE}"),
    }
    let mut number = |text: Option<String>| put!(out, "<td>{}", text.as_deref().unwrap_or(NONE));
    let mark = view.shape(i, view.column(&entry.contender)).mark();
    number(entry.value_ns.map(|value| format!("{}{mark}", race.number_text(value))));
    number(Some(esc(&race.detail_text(entry))));
    number(entry.spread_percent().map(units::percent));
    entry.cpu_texts().into_iter().for_each(&mut number);
    number(entry.cpu_percent.map(|x| format!("{x:.0} %")));
    number(entry.max_rss_kib.map(units::kibibytes));
}

/// Room for every interval and every bulk of samples, and for the noise on both sides of 1.
fn scale(race: &Race) -> Log {
    let ratios = race.entries.iter().filter_map(|entry| entry.ratio_to_best);
    let (mut lo, mut hi) = (0.96, 1.1f64);
    for i in ratios {
        lo = i.lo.unwrap_or(i.point).min(lo);
        hi = i.hi.unwrap_or(i.point).max(hi);
    }
    Log::new(lo.max(0.2), hi * 1.04, 8.0, PLOT - 8.0)
}

fn interval(out: &mut String, race: &Race, entry: &Entry, scale: &Log, best: Option<f64>) {
    let Some(ratio) = entry.ratio_to_best else { return };
    put!(out, "<svg width={PLOT} height=22 aria-hidden=true>");
    if let Some(floor) =
        race.noise_floor.and_then(|floor| floor.ratio).filter(|ratio| ratio.is_finite())
    {
        let (from, to) = (scale.clamped(1.0 / floor), scale.clamped(floor));
        put!(
            out,
            "<path class=floor d=\"M{} 0h{}v22h-{1}z\"/>",
            px(from),
            px((to - from).max(1.0))
        );
    }
    if let (Some(best), false) = (best, entry.sample_ns.is_empty()) {
        let values = sorted(entry.sample_ns.iter().copied().filter(|ns| *ns > 0.0).collect());
        if !values.is_empty() {
            let (from, to) = (
                scale.clamped(quantile(&values, 0.05) / best),
                scale.clamped(quantile(&values, 0.95) / best),
            );
            put!(out, "<path class=bulk d=\"M{} 11H{}\"/>", px(from), px(to));
        }
    }
    // A side that is not bounded ends in a dashed line to the edge.
    let edge =
        |side: Option<f64>, edge: f64| side.map_or((edge, true), |x| (scale.clamped(x), false));
    let ((from, is_open_lo), (to, is_open_hi)) = (edge(ratio.lo, 0.0), edge(ratio.hi, PLOT));
    let at = scale.clamped(ratio.point);
    for (end, is_open) in [(from, is_open_lo), (to, is_open_hi)] {
        let open = if is_open { " open" } else { "" };
        if (end - at).abs() >= 0.5 {
            put!(out, "<path class=\"ci{open}\" d=\"M{} 11H{}\"/>", px(at), px(end));
        }
    }
    put!(out, "<circle class=pt cx={} cy=11 r=3 /></svg>", px(at));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_is_who_is_faster_than_all_others() {
        let first = |ranks: &[(&str, [u32; 2])]| {
            first_of(
                &ranks.iter().map(|(name, rank)| ((*name).to_owned(), *rank)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(first(&[("a", [1, 1]), ("b", [2, 2])]), "first: a");
        // c is slower than a and faster than b, which is not told apart from a.
        assert_eq!(first(&[("a", [1, 2]), ("c", [2, 2]), ("b", [2, 3])]), "perhaps first: a");
        assert_eq!(first(&[("a", [1, 2]), ("b", [1, 2])]), "not told apart: a and b");
        assert_eq!(first(&[("a", [1, 1])]), "alone: a");
        assert_eq!(first(&[]), "nobody is ranked");
    }
}
