//! The heat map: a race a row, a contender a column, the ratio to the best in each cell.

use super::Depth;
use super::markup::{esc, key, put, section, workload};
use crate::record::Outcome;
use crate::report::model::Entry;
use crate::report::units::{self, NONE};
use crate::report::view::View;

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
    out.push_str(
        "<div class=\"scroll map\" tabindex=0 role=region aria-label=\"Heat map\">\n<table class=\"sortable heat\" id=heat>\n<thead><tr>\
         <th scope=col>Workload<th scope=col class=n>Threads<th scope=col class=n>Noise",
    );
    let columns = view.entered();
    for &column in &columns {
        put!(out, "<th scope=col data-c={column}>{}", esc(view.contenders[column]));
    }
    out.push_str("\n<tbody>\n");
    for (i, race) in view.report.races.iter().enumerate() {
        put!(
            out,
            "<tr data-r={i}><th scope=row><a href=#r{i}>{}</a> <small>{}</small><td class=n>{}",
            workload(&race.workload),
            esc(&race.params_text()),
            race.threads
        );
        let floor = race.noise_floor.and_then(|floor| floor.ratio);
        put!(out, "<td class=\"n noise\">{}", floor.map_or(NONE.into(), units::factor));
        for &column in &columns {
            cell(out, i, column, view.grid[i][column], depth);
        }
        out.push('\n');
    }
    out.push_str("</table>\n</div>\n</section>\n");
}

fn cell(out: &mut String, race: usize, column: usize, entry: Option<&Entry>, depth: Depth) {
    let Some(entry) = entry else {
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
            "<td class=\"h{}{first}\" data-c={column}><a href=#{target}{race}-{column}>{}</a>",
            class(best.point),
            units::ratio(best.point)
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
         <li><span class=hatch>unsupported</span> not raced\n</ul>\n",
    );
}

/// Hidden until the script is there to make it work.
fn filters(out: &mut String, view: &View<'_>) {
    out.push_str(
        "<form id=filter role=search aria-label=\"Filter the report\" hidden>\n<label>Workloads <input type=search id=filter-text \
         autocomplete=off spellcheck=false placeholder=\"such as fib\"></label>\n<fieldset><legend>Contenders</legend>",
    );
    for column in view.entered() {
        put!(out, "<button type=button aria-pressed=true data-k={column}>");
        key(out, view.hue(column));
        put!(out, "{}</button>\n", esc(view.contenders[column]));
    }
    out.push_str("</fieldset>\n<button type=reset>Show all</button> <output id=filter-count></output>\n</form>\n");
}

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
