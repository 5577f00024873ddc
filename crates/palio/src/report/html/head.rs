//! The top of the page: what was raced, where, and what to make of it at a glance.

use super::markup::{esc, put};
use crate::record::Outcome;
use crate::report::model::Report;
use crate::report::sections::sections;
use crate::report::units;
use crate::report::view::{View, sorted};
use crate::stats::quantile;

pub(super) fn write(out: &mut String, view: &View<'_>) {
    let report = view.report;
    let run = &report.run;
    let machine =
        run.machine.cpu_model.as_deref().unwrap_or("a machine that would not say what it is");
    let processors = run
        .machine
        .cores
        .map_or(String::new(), |n| format!(", {}", units::plural(n as usize, "processor")));
    put!(
        out,
        "<a class=skip href=#ranking>Skip to the ranking</a>\n<header>\n<p class=brand>Palio<span> · concurrency runtimes \
         on the same work</span></p>\n<h1>The <em>{}</em> suite</h1>\n<p class=where>{} on {}{processors}</p>\n",
        esc(&run.suite),
        date(&run.started_at),
        esc(machine)
    );
    if let Some(allocators) = report.allocators() {
        put!(out, "<p class=where>Allocator: {}</p>\n", esc(&allocators));
    }
    if run.state != "finished" {
        put!(
            out,
            "<p class=notice><b>This run is {}.</b> What is marked pending has not been raced yet, and the totals are \
             over what has.</p>\n",
            esc(&run.state)
        );
    }
    if let Some(thinned) = &run.thinned {
        put!(out, "<p class=notice>{}", esc(&thinned.text()));
        let shown = samples(report);
        if shown < thinned.measured {
            put!(
                out,
                " The tables tell of {}; the others are those of shadows, from which the noise floors come, and of \
                 variants that are not the fastest.",
                units::count(shown)
            );
        }
        out.push_str("</p>\n");
    }
    if let Some(selection) = &run.selection {
        put!(out, "<p class=notice>{}</p>\n", esc(&selection.text(report.races.len())));
    }
    figures(out, view);
    if !run.warnings.is_empty() {
        let n = units::plural(run.warnings.len(), "thing");
        put!(
            out,
            "<aside class=warnings aria-label=Warnings>\n<p><b>{n} made timing here less reliable</b></p>\n<ul>\n"
        );
        for warning in &run.warnings {
            put!(out, "<li>{}\n", esc(warning));
        }
        out.push_str("</ul>\n</aside>\n");
    }
    navigation(out, view);
    out.push_str("</header>\n");
}

/// `2026-03-01T09:12:44Z` as `2026-03-01 09:12 UTC`; anything else as it is.
fn date(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16), rfc3339.ends_with('Z')) {
        (Some(day), Some(minute), true) => format!("{} {} UTC", esc(day), esc(minute)),
        _ => esc(rfc3339),
    }
}

/// Measured samples of what the tables show.
fn samples(report: &Report) -> u64 {
    let entries = report.races.iter().flat_map(|race| &race.entries);
    entries.map(|entry| u64::from(entry.samples)).sum()
}

fn figures(out: &mut String, view: &View<'_>) {
    let report = view.report;
    // Not those that were ready, and support none of it.
    let raced = view.raced(&(0..report.races.len()).collect::<Vec<_>>()).len();
    let entries = || report.races.iter().flat_map(|race| &race.entries);
    let faults = entries().filter(|entry| entry.outcome.is_fault()).count();
    let ok = entries().filter(|entry| entry.outcome == Outcome::Ok).count();
    let held = |held| report.predictions.iter().filter(|p| p.held == Some(held)).count();
    out.push_str("<dl class=figures>\n");
    let mut figure = |name: &str, value: &str, note: &str| {
        put!(out, "<div><dt>{name}<dd>{value}<small>{note}</small></div>\n");
    };
    figure(
        "Races",
        &units::count(report.races.len() as u64),
        &format!("in {}", report.blocks_text()),
    );
    figure(
        "Contenders",
        &units::count(raced as u64),
        &format!("{} cells ranked", units::count(ok as u64)),
    );
    figure("Samples", &units::count(samples(report)), "in the tables, every answer checked");
    let (floor, range) = noise(report);
    figure("Noise floor", &floor, &range);
    let faults_note = if faults == 0 { "nothing went wrong" } else { "shown, not ranked" };
    figure("Failures", &units::count(faults as u64), faults_note);
    if !report.predictions.is_empty() {
        let n = report.predictions.len();
        figure(
            "Predictions",
            &format!("{} of {n}", held(true)),
            &format!("held; {} missed", held(false)),
        );
    }
    out.push_str("</dl>\n");
}

/// The median of the races' noise floors, and their range.
fn noise(report: &Report) -> (String, String) {
    let floors = report.races.iter().filter_map(|race| race.noise_floor?.ratio);
    let floors = sorted(floors.filter(|x| x.is_finite()).collect());
    match (floors.first(), floors.last()) {
        (Some(&lo), Some(&hi)) => {
            let (lo, hi) = (units::factor(lo), units::factor(hi));
            let range =
                if lo == hi { "in every race".into() } else { format!("median; {lo} to {hi}") };
            (units::factor(quantile(&floors, 0.5)), range)
        }
        _ => ("unknown".into(), "too few blocks".into()),
    }
}

fn navigation(out: &mut String, view: &View<'_>) {
    out.push_str("<nav aria-label=Sections>\n<ul>\n");
    let mut link = |id: &str, name: &str| put!(out, "<li><a href=#{id}>{name}</a>\n");
    if view.report.sweep.is_some() {
        link("sweep", "Sweep");
    }
    link("ranking", "Ranking");
    link("map", "Heat map");
    if !view.thread_sweeps().is_empty() || !view.report.scaling.is_empty() {
        link("scaling", "Scaling");
    }
    for section in sections(view.report) {
        link(section.id, section.title);
    }
    link("cost", "CPU cost");
    if !view.report.predictions.is_empty() {
        link("predictions", "Predictions");
    }
    link("failures", "Failures");
    if !view.report.races.is_empty() {
        link("races", "Races");
    }
    if !view.report.contenders.is_empty() {
        link("contenders", "Contenders");
    }
    link("machine", "Machine");
    link("reproduce", "Reproduce");
    link("reading", "How to read");
    out.push_str("</ul>\n</nav>\n");
}
