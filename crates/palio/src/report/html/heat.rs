//! The heat map: for each family of workloads a race a row, a contender a column, the ratio to the
//! best in each cell.

use super::Depth;
use super::markup::{css, esc, key, put, section, workload};
use crate::record::Outcome;
use crate::report::units::{self, NONE};
use crate::report::view::{Family, View};

const STACKED: &str = include_str!("stacked.css");
const ALIGNED: &str = include_str!("aligned.css");

/// Upper ends of the classes of colour, in ratio to best; what is above the last has a class of its
/// own.
const CLASSES: [f64; 7] = [1.05, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];

fn class(ratio: f64) -> usize {
    CLASSES.iter().position(|end| ratio < *end).unwrap_or(CLASSES.len())
}

pub(super) fn write(out: &mut String, view: &View<'_>, depth: Depth) {
    section(
        out,
        "map",
        "Every race",
        "Time relative to the best of the race: 1 is the best, 2 takes twice as long. The farther a cell’s colour is from \
         the page’s, the slower. Choose a cell for its samples, its resources and the command that runs it by hand.",
    );
    if view.report.races.is_empty() {
        out.push_str("<p>No race has been planned.</p>\n</section>\n");
        return;
    }
    legend(out);
    filters(out, view);
    out.push_str("<div id=heat>\n");
    for family in view.families() {
        if !family.columns.is_empty() {
            table(out, view, &family, depth);
        }
    }
    out.push_str("</div>\n");
    names(out, view);
    out.push_str("</section>\n");
}

/// A family of workloads, with a column for each contender that raced in it.
fn table(out: &mut String, view: &View<'_>, family: &Family<'_>, depth: Depth) {
    let races: Vec<String> = family.races.iter().map(usize::to_string).collect();
    put!(
        out,
        "<div class=\"scroll map\" tabindex=0 role=region aria-label=\"Heat map, {0}\" data-r=\"{1}\">\n<table class=\"sortable heat{2}\">\n<thead><tr>\
         <th scope=col>{0}<th scope=col class=n>Threads<th scope=col class=n>Noise",
        esc(&family.name),
        races.join(" "),
        breadth(family.columns.len())
    );
    for &column in &family.columns {
        put!(out, "<th scope=col data-c={column}>{}", esc(view.contenders[column]));
    }
    out.push_str("\n<tbody>\n");
    let mut told = "";
    for &i in &family.races {
        let race = &view.report.races[i];
        let name = race.workload.split_once('/').map_or(&*race.workload, |(_, name)| name);
        put!(
            out,
            "<tr data-r={i}><th scope=row><a href=#r{i}>{}</a> <small>{}</small>",
            workload(name),
            esc(&race.params_text())
        );
        // What the catalogue says of a row, once for rows that differ in a parameter only.
        if race.title != told {
            told = &race.title;
            put!(out, "<span class=about>{}</span>", esc(told));
        }
        let floor = race.noise_floor.and_then(|floor| floor.ratio);
        put!(
            out,
            "<td class={}>{}<td class=\"n noise\">{}",
            if race.threads == 1 { "\"n one\"" } else { "n" },
            race.threads,
            floor.map_or(NONE.into(), units::factor)
        );
        for &column in &family.columns {
            cell(out, view, i, column, depth);
        }
        out.push('\n');
    }
    out.push_str("</table>\n</div>\n");
}

/// The class of a map by its columns, which says up to which width of the screen they are stacked.
fn breadth(columns: usize) -> &'static str {
    match columns {
        0..=7 => "",
        8..=12 => " some",
        _ => " many",
    }
}

/// The style of maps whose columns are more than the screen has room for.
pub(super) fn stacked() -> String {
    let mut out = String::new();
    // On paper, too, there is never room for many.
    for (map, stacked, aligned) in [
        (".heat", "screen and (max-width: 860px)", None),
        (
            ".heat.some",
            "screen and (max-width: 1180px)",
            Some("screen and (min-width: 861px) and (max-width: 1180px)"),
        ),
        (".heat.many", "all", Some("print, screen and (min-width: 861px)")),
    ] {
        put!(out, "@media {stacked} {{\n{}}}\n", STACKED.replace(".heat", map));
        if let Some(aligned) = aligned {
            put!(out, "@media {aligned} {{\n{}}}\n", ALIGNED.replace(".heat", map));
        }
    }
    out
}

/// Where a row has no room for columns, each cell says whose it is.
fn names(out: &mut String, view: &View<'_>) {
    out.push_str("<style>\n");
    for (column, name) in view.contenders.iter().enumerate() {
        put!(out, ".heat td[data-c='{column}'] a {{ --name: '{} ' }}\n", css(name));
    }
    out.push_str("</style>\n");
}

fn cell(out: &mut String, view: &View<'_>, race: usize, column: usize, depth: Depth) {
    let Some(entry) = view.grid[race][column] else {
        put!(out, "<td class=no data-c={column}>");
        return;
    };
    let target = if depth == Depth::Listed { 'e' } else { 'c' };
    if entry.outcome != Outcome::Ok {
        let fault = if entry.outcome.is_fault() { " fault" } else { "" };
        let words = entry.outcome.words();
        put!(
            out,
            "<td class=\"hatch{fault}\" data-c={column}><a href=#{target}{race}-{column}>{words}</a>"
        );
        return;
    }
    let first = if entry.is_first() { " first" } else { "" };
    match entry.ratio_to_best {
        Some(best) => put!(
            out,
            "<td class=\"h{}{first}\" data-c={column}><a href=#{target}{race}-{column}>{}{}</a>",
            class(best.point),
            units::ratio(best.point),
            view.shape(race, column).mark()
        ),
        None => put!(out, "<td data-c={column}><a href=#{target}{race}-{column}>{NONE}</a>"),
    }
}

fn legend(out: &mut String) {
    out.push_str("<ul class=legend aria-label=Legend>\n");
    let mut from = "1".to_string();
    for (i, end) in CLASSES.iter().enumerate() {
        put!(out, "<li><span class=h{i}>{from}–{end}</span>\n");
        from = end.to_string();
    }
    put!(out, "<li><span class=h{}>{from} and more</span>\n", CLASSES.len());
    out.push_str(
        "<li><span class=\"h0 first\">1.00</span> first, or not told apart from it\n\
         <li><span class=\"hatch fault\">crashed</span> failed\n\
         <li><span class=hatch>unsupported</span> not raced\n<li>* outliers\n<li>‡ samples in two groups\n</ul>\n",
    );
}

/// Hidden until the script is there to make it work.
fn filters(out: &mut String, view: &View<'_>) {
    out.push_str(
        "<form id=filter role=search aria-label=\"Filter the report\" hidden>\n<label>Workloads <input type=search id=filter-text \
         autocomplete=off spellcheck=false placeholder=\"such as fib\"></label>\n<label>Results <select id=filter-verdict>\
         <option value=\"\">all",
    );
    for (value, text) in VERDICTS {
        put!(out, "<option value={value}>{text}");
    }
    out.push_str("</select></label>\n<fieldset><legend>Only</legend>");
    let all: Vec<usize> = (0..view.report.races.len()).collect();
    for column in view.raced(&all) {
        put!(out, "<button type=button aria-pressed=false data-k={column}>");
        key(out, view.hue(column));
        put!(out, "{}</button>\n", esc(view.contenders[column]));
    }
    out.push_str("</fieldset>\n<button type=reset>Show all</button> <output id=filter-count></output>\n</form>\n");
}

/// What results can be filtered by: the script's word, and a reader's.
const VERDICTS: [(&str, &str); 9] = [
    ("first", "first, or not told apart"),
    ("faster", "faster than the reference"),
    ("slower", "slower than the reference"),
    ("equivalent", "equivalent to the reference"),
    ("inconclusive", "inconclusive"),
    ("failed", "failed"),
    ("doubtful", "doubtful"),
    ("outliers", "with outliers"),
    ("groups", "in two groups"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_begin_where_the_one_before_ends() {
        assert_eq!(class(0.98), 0);
        assert_eq!(class(1.049), 0);
        assert_eq!(class(1.05), 1);
        assert_eq!(class(9.99), 6);
        assert_eq!(class(281.0), 7);
    }
}
