//! The report as Markdown, to be pasted into a README.
//!
//! The first tables have the shape in which runtimes publish their numbers, a workload a row and a
//! contender a column; the tables after them have what such a table leaves out.

pub(super) mod markup;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use self::markup::{Table, text};
use super::sections::sections;
use super::sheet::Section;
use super::units::{self, NONE};
use super::view::{self, Family, View, machine_facts, printable, short_version};
use super::{scaling_text, sweep_text};
use crate::grid::Design;
use crate::record::Outcome;
use crate::report::model::{Entry, Race, Report};

/// The whole report.
#[must_use]
pub fn render(report: &Report) -> String {
    let view = View::new(report);
    let mut out = String::new();
    title(&mut out, report);
    match report.run.design {
        Some(Design::Sweep(_)) => out.push_str(&sweep_text::markdown(report)),
        Some(Design::Scale) => out.push_str(&scaling_text::markdown(report)),
        None => {}
    }
    totals(&mut out, report);
    summary(&mut out, &view);
    sheets(&mut out, report);
    for i in 0..report.races.len() {
        details(&mut out, &view, i);
    }
    if view.has_unbounded() {
        out.push_str("A dash in an interval: too few blocks to bound that side.\n\n");
    }
    predictions(&mut out, report);
    setting(&mut out, report);
    out
}

/// Only the summary tables: a workload a row, a contender a column.
#[must_use]
pub fn render_summary(report: &Report) -> String {
    let mut out = String::new();
    summary(&mut out, &View::new(report));
    out
}

fn title(out: &mut String, report: &Report) {
    let run = &report.run;
    let _ = writeln!(out, "# Palio: {}\n", text(&run.suite));
    if let Some(allocators) = report.allocators() {
        let _ = writeln!(out, "Allocator: {}.\n", text(&allocators));
    }
    if run.state != "finished" {
        let _ = writeln!(
            out,
            "This run is **{}**: what is pending has not been raced yet.\n",
            text(&run.state)
        );
    }
    if let Some(thinned) = &run.thinned {
        let _ = writeln!(out, "{}\n", text(&thinned.text()));
    }
    if let Some(selection) = &run.selection {
        let _ = writeln!(out, "{}\n", text(&selection.text(report.races.len())));
    }
}

fn totals(out: &mut String, report: &Report) {
    if let Some(told_apart) = &report.told_apart {
        let _ = writeln!(out, "{}\n", text(&told_apart.text()));
    }
    for group in report.total_groups() {
        let _ = writeln!(
            out,
            "## Overall, {}\n\nMeans of the ratio to best (lower is better) over the {} that all who have a mean \
             completed. Failures are never imputed.\n",
            group[0].field(),
            units::plural(group[0].common as usize, "race")
        );
        let mut table =
            Table::new(&["Contender", "Geometric mean", "Arithmetic mean", "Completed"]);
        for total in group {
            let mean = |x: Option<f64>| x.map_or(NONE.into(), |x| format!("{}x", units::ratio(x)));
            table.row([
                text(&report.marked(&total.contender)),
                mean(total.geomean_ratio),
                mean(total.mean_ratio),
                format!("{}/{}", total.completed, total.of),
            ]);
        }
        table.write(out);
    }
}

/// The sections that are plain tables.
fn sheets(out: &mut String, report: &Report) {
    for part in sections(report) {
        section(out, part);
    }
}

/// A section by itself.
pub(super) fn one_section(part: Section) -> String {
    let mut out = String::new();
    section(&mut out, part);
    out
}

fn section(out: &mut String, part: Section) {
    let Section { title, lead, sheets, .. } = part;
    let _ = writeln!(out, "## {title}\n\n{}\n", text(lead));
    for sheet in sheets {
        let _ = writeln!(out, "### {}\n", text(&sheet.caption));
        let mut table = Table::new(&sheet.heads);
        let each = sheet.rows.iter().map(|row| row.iter().map(|cell| text(cell)).collect());
        table.rows = each.collect();
        table.write(out);
        for note in &sheet.notes {
            let _ = writeln!(out, "{}.\n", text(note));
        }
    }
}

/// A table for each family of workloads.
fn summary(out: &mut String, view: &View<'_>) {
    let mut marked = false;
    for Family { name, races, columns } in view.families() {
        if columns.is_empty() {
            continue;
        }
        let _ = writeln!(out, "## {}\n", text(&name));
        if let Some(threads) = two_thread_counts(view.report, &races) {
            by_threads(out, view, &races, threads);
        } else {
            by_row(out, view, &races, &columns);
        }
        let cells = races.iter().flat_map(|&i| columns.iter().map(move |&c| (i, c)));
        marked |= cells.into_iter().any(|(i, c)| !view.shape(i, c).mark().is_empty());
    }
    if !view.report.races.is_empty() {
        out.push_str(
            "Median time of an iteration; **bold** is first, or not told apart from the first.\n\n",
        );
        if marked {
            out.push_str(
                "A median does not say all where \\* stands beside it (outliers) or ‡ (samples in two groups): the race below says more.\n\n",
            );
        }
        if view.report.races.iter().any(|race| race.statistic.is_some()) {
            out.push_str(
                "A row with `p50`, `p99`, `p99.9`, `max` or `max polls` after its name shows that number of its events instead.\n\n",
            );
        }
    }
}

/// A row for each race. A contender that raced none of them gets no column.
fn by_row(out: &mut String, view: &View<'_>, races: &[usize], columns: &[usize]) {
    let mut heads = vec!["Workload".to_string(), "Threads".to_string()];
    heads.extend(columns.iter().map(|&c| text(view.contenders[c])));
    let mut table = Table { heads, rows: Vec::new(), left: 1 };
    for &i in races {
        let race = &view.report.races[i];
        let mut row = vec![short_name(race), race.threads.to_string()];
        row.extend(columns.iter().map(|&c| summary_cell(view, i, c)));
        table.rows.push(row);
    }
    table.write(out);
}

/// A row for each workload and two columns for each contender, on few threads and on many.
fn by_threads(out: &mut String, view: &View<'_>, races: &[usize], threads: [u32; 2]) {
    let on = |n: u32| races.iter().copied().filter(move |&i| view.report.races[i].threads == n);
    let mut heads = vec!["Workload".to_string()];
    let mut cells = Vec::new();
    for c in view.raced(races) {
        for n in threads {
            if view.raced(&on(n).collect::<Vec<_>>()).contains(&c) {
                heads.push(format!("{} {n}t", text(view.contenders[c])));
                cells.push((c, n));
            }
        }
    }
    let mut table = Table { heads, rows: Vec::new(), left: 1 };
    for first in on(threads[0]) {
        let race = &view.report.races[first];
        let twin = |n: u32| on(n).find(|&i| race.is_same_work(&view.report.races[i]));
        let mut row = vec![short_name(race)];
        row.extend(
            cells.iter().map(|&(c, n)| twin(n).map_or(String::new(), |i| summary_cell(view, i, c))),
        );
        table.rows.push(row);
    }
    table.write(out);
}

/// The two thread counts on which each of these races was run, if there are exactly two.
fn two_thread_counts(report: &Report, races: &[usize]) -> Option<[u32; 2]> {
    let threads: BTreeSet<u32> = races.iter().map(|&i| report.races[i].threads).collect();
    let [few, many] = threads.into_iter().collect::<Vec<_>>().try_into().ok()?;
    let has_twin = |&i: &usize| {
        let race = &report.races[i];
        races.iter().filter(|&&j| race.is_same_work(&report.races[j])).count() == 2
    };
    races.iter().all(has_twin).then_some([few, many])
}

/// The workload without its family, which stands in the heading.
fn short_name(race: &Race) -> String {
    let name = race.workload.split_once('/').map_or(race.workload.as_str(), |(_, name)| name);
    let params = race.params_text();
    let gap = if params.is_empty() { "" } else { " " };
    let statistic = race.statistic.map_or(String::new(), |name| format!(" · {name}"));
    text(&format!("{name}{gap}{params}{statistic}"))
}

fn summary_cell(view: &View<'_>, i: usize, column: usize) -> String {
    let race = &view.report.races[i];
    match view.grid[i][column] {
        None => String::new(),
        Some(entry) if entry.outcome != Outcome::Ok => format!("*{}*", entry.outcome.words()),
        Some(entry) => {
            let time = entry.value_ns.map_or(NONE.into(), |value| race.number_text(value));
            let time = if entry.is_first() { format!("**{time}**") } else { time };
            let time = format!("{time}{}", text(view.shape(i, column).mark()));
            if entry.doubts.is_empty() { time } else { format!("{time} (doubtful)") }
        }
    }
}

fn details(out: &mut String, view: &View<'_>, i: usize) {
    let (report, race) = (view.report, &view.report.races[i]);
    let _ =
        writeln!(out, "### {}\n\n{}.", text(&race.label()), text(race.title.trim_end_matches('.')));
    let _ = writeln!(out, "Noise floor {}.", race.noise_text());
    if let Some(statistic) = race.statistic_text() {
        let _ = writeln!(out, "Not a time of an iteration: {}.", text(&statistic));
    }
    if let Some(reference) = &race.reference {
        let _ = writeln!(out, "Verdicts are against {}.", text(reference));
    }
    if let Some(certificate) = race.certificate() {
        let _ = writeln!(out, "Checked: {}.", text(&certificate));
    }
    for caveat in race.caveats(report) {
        let _ = writeln!(out, "Caution: {}.", text(&caveat));
    }
    for doubt in race.doubts() {
        let _ = writeln!(out, "**Doubtful:** {}.", text(&doubt));
    }
    out.push('\n');
    let value = race.value_title();
    let detail = match race.statistic {
        None => format!("Per {}", text(&race.unit)),
        Some(_) => race.detail_head(),
    };
    let heads = [
        "Rank",
        "Contender",
        "Ratio to best",
        "95 %",
        "Verdict",
        &value,
        "Min–max",
        &detail,
        "User",
        "System",
        "Total",
        "CPU",
        "Memory",
    ];
    let mut table = Table::new(&heads);
    table.left = 2;
    for entry in race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok) {
        table.row(detail_row(race, entry));
    }
    if !table.rows.is_empty() {
        table.write(out);
    }
    for entry in race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok) {
        let shape = view.shape(i, view.column(&entry.contender));
        if let Some(told) = shape.text(race, entry.sample_ns.len()) {
            let _ = writeln!(out, "- {}: {}", text(&view::marked(entry)), text(&told));
        }
    }
    failures(out, race);
    left_aside(out, race);
    out.push('\n');
}

fn detail_row(race: &Race, entry: &Entry) -> [String; 13] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.into());
    let best = entry.ratio_to_best;
    let variant =
        entry.variant.as_ref().map_or(String::new(), |variant| format!(" {}", text(variant)));
    let range = entry.min_ns.zip(entry.max_ns);
    let [user, system, total] = entry.cpu_texts();
    [
        entry.rank_text(),
        format!("{} {}{variant}", text(&view::marked(entry)), text(short_version(&entry.version))),
        or_none(best.map(|i| units::ratio(i.point))),
        or_none(best.map(|i| units::limits(i.lo, i.hi))),
        or_none(entry.ratio_to_reference.map(|v| v.verdict.word().into())),
        or_none(entry.value_ns.map(|value| race.number_text(value))),
        or_none(
            range.map(|(min, max)| format!("{}–{}", race.number_text(min), race.number_text(max))),
        ),
        text(&race.detail_text(entry)),
        or_none(user),
        or_none(system),
        or_none(total),
        or_none(entry.cpu_percent.map(|x| format!("{x:.0} %"))),
        or_none(entry.max_rss_kib.map(units::kibibytes)),
    ]
}

fn failures(out: &mut String, race: &Race) {
    let failed = |entry: &&Entry| entry.outcome != Outcome::Ok && !entry.outcome.is_left_aside();
    for entry in race.entries.iter().filter(failed) {
        let detail = printable(entry.detail.as_deref().unwrap_or_default());
        let colon = if detail.is_empty() { "" } else { ": " };
        let _ = writeln!(
            out,
            "- {}: *{}*{colon}{}",
            text(&view::marked(entry)),
            entry.outcome.words(),
            text(&detail)
        );
        if let Some(stderr) = entry.stderr.as_deref().filter(|stderr| !stderr.trim().is_empty()) {
            // Indented code cannot be closed by anything that it contains.
            out.push('\n');
            for line in printable(stderr).lines() {
                let _ = writeln!(out, "      {line}");
            }
            out.push('\n');
        }
    }
}

/// Who was not there to be raced: each reason once, and why somebody was not built under "Setting".
fn left_aside(out: &mut String, race: &Race) {
    let mut reasons: Vec<(&Entry, Vec<String>)> = Vec::new();
    for entry in race.entries.iter().filter(|entry| entry.outcome.is_left_aside()) {
        let name = text(&view::marked(entry));
        let same = |(other, _): &&mut (&Entry, Vec<String>)| {
            other.outcome == entry.outcome
                && (entry.outcome == Outcome::NotBuilt || other.detail == entry.detail)
        };
        match reasons.iter_mut().find(same) {
            Some((_, names)) => names.push(name),
            None => reasons.push((entry, vec![name])),
        }
    }
    for (entry, names) in reasons {
        let detail = printable(entry.detail.as_deref().unwrap_or_default());
        let _ = match entry.outcome {
            Outcome::NotBuilt => {
                writeln!(out, "- *not built*, see [Setting](#setting): {}", names.join(", "))
            }
            outcome if detail.is_empty() => {
                writeln!(out, "- *{}*: {}", outcome.words(), names.join(", "))
            }
            outcome => {
                writeln!(out, "- *{}* ({}): {}", outcome.words(), text(&detail), names.join(", "))
            }
        };
    }
}

fn predictions(out: &mut String, report: &Report) {
    if report.predictions.is_empty() {
        return;
    }
    out.push_str("## Predictions\n\n");
    let mut table = Table::new(&["", "Workload", "Threads", "Expected", "Seen", "Because"]);
    table.left = 6;
    let order = [(Some(false), "**missed**"), (None, "undecided"), (Some(true), "held")];
    for (held, word) in order {
        for p in report.predictions.iter().filter(|p| p.held == held) {
            table.row([
                word.into(),
                text(&p.workload),
                p.threads.to_string(),
                text(&p.expected),
                text(&p.seen),
                text(&p.because_text()),
            ]);
        }
    }
    table.write(out);
}

fn setting(out: &mut String, report: &Report) {
    let run = &report.run;
    out.push_str("## Setting\n\n");
    for (name, fact) in machine_facts(&run.machine) {
        let _ = writeln!(out, "- {name}: {}", text(&fact));
    }
    let mut names = BTreeSet::new();
    for contender in &report.contenders {
        let told = match (&contender.version, &contender.absent) {
            (Some(version), _) => {
                let runtime = contender.runtime.as_deref().unwrap_or(&contender.name);
                let parts = [contender.toolchain.as_deref(), contender.flags.as_deref()];
                let parts: Vec<&str> = parts.into_iter().flatten().collect();
                let by = if parts.is_empty() {
                    String::new()
                } else {
                    format!(", {}", parts.join(", "))
                };
                let notes = contender.notes.as_ref().map_or(String::new(), |n| format!("; {n}"));
                format!("{runtime} {version}{by}{notes}")
            }
            (None, Some(absent)) => format!("did not race: {absent}"),
            (None, None) => continue,
        };
        if names.insert(&contender.id) {
            let _ = writeln!(out, "- {}: {}", text(&contender.id), text(&told));
        }
    }
    for warning in &run.warnings {
        let _ = writeln!(out, "- **Warning:** {}", text(warning));
    }
    let _ = writeln!(
        out,
        "- Run {} of {}, preset {}, {}, seed {}, palio {}",
        text(&run.id),
        text(&run.started_at),
        run.preset,
        report.blocks_text(),
        run.seed,
        text(&run.palio_version)
    );
    if let Some(disturbance) = &run.disturbance {
        let _ = writeln!(out, "- Disturbed blocks: {}", text(disturbance));
    }
    if let Some(interruptions) = &run.interruptions {
        let _ = writeln!(out, "- Interruptions: {}", text(interruptions));
    }
    let _ = writeln!(out, "\n```sh\n{}\n```", printable(&run.command));
}
