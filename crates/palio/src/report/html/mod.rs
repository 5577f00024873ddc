//! The report as one HTML file that opens from disk and asks nothing of any network.
//!
//! Everything is there before any script runs: tables are tables, charts are SVG drawn here,
//! details are `<details>`. The script adds sorting, filters, the arrow keys in the heat map and a
//! panel for its cells. Style and script stand in files of their own beside this one.
//!
//! What the page leaves out of a distribution it leaves out in the open: samples are drawn one by
//! one only where they are few, otherwise by block and by quantile, and the caption says which.

mod cell;
mod cost;
mod head;
mod heat;
mod latency;
pub(super) mod markup;
mod races;
mod ranking;
mod scaling;
mod sheets;
mod speed_up;
pub(super) mod svg;
mod sweep;
mod tail;

use super::model::Report;
use super::sections::sections;
use super::view::View;
use markup::{esc, put};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Bytes that the file shall not exceed: what opens at once on a phone and may be attached to a
/// message.
pub const SIZE_LIMIT: usize = 1_500_000;

/// How much of each cell is told, from all to little.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// Resources, how to run it by hand, and a drawing of its samples.
    Drawn,
    /// The same with a simpler drawing: of a block only its median.
    Sketched,
    /// The same without a drawing.
    Told,
    /// Only its line in the race's table: nothing is drawn.
    Listed,
}

/// The whole page. Where a run is so large that the page would exceed [`SIZE_LIMIT`], it tells less
/// of each cell, and says so.
#[must_use]
pub fn render(report: &Report) -> String {
    let view = View::new(report);
    let depths = [Depth::Drawn, Depth::Sketched, Depth::Told, Depth::Listed];
    let mut pages = depths.into_iter().map(|depth| page(&view, depth));
    // Listed stands whatever its size: there is nothing more to leave out.
    pages.find(|page| page.len() <= SIZE_LIMIT).unwrap_or_else(|| page(&view, Depth::Listed))
}

fn page(view: &View<'_>, depth: Depth) -> String {
    let mut out = String::with_capacity(1 << 18);
    let run = &view.report.run;
    // The policy turns "no request leaves" from a habit into a rule that the browser enforces.
    put!(
        out,
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta name=color-scheme content=\"light dark\">\n<meta name=referrer content=no-referrer>\n\
         <link rel=icon href=\"data:,\">\n<title>Palio: {} · {}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n",
        esc(&run.suite),
        esc(&run.id),
        heat::stacked()
    );
    head::write(&mut out, view);
    out.push_str("<main>\n");
    sweep::write(&mut out, view);
    ranking::write(&mut out, view);
    heat::write(&mut out, view, depth);
    scaling::write(&mut out, view);
    sheets::write(&mut out, view, &sections(view.report));
    cost::write(&mut out, view, depth);
    tail::predictions(&mut out, view.report);
    tail::failures(&mut out, view);
    races::write(&mut out, view, depth);
    tail::contenders(&mut out, view);
    tail::machine(&mut out, view.report);
    tail::reproduce(&mut out, view.report);
    tail::reading(&mut out);
    out.push_str("</main>\n");
    tail::foot(&mut out, view.report);
    out.push_str(
        "<dialog id=panel aria-labelledby=panel-title></dialog>\n<div id=tip role=tooltip hidden></div>\n",
    );
    put!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}
