//! The report as text for a terminal or a pipe.
//!
//! There is one text with two heads: a wide table with a column for each number, and where that
//! does not fit, the same numbers in two lines a contender. Colour is never the only carrier of
//! anything.

use std::fmt::Write as _;

use super::needed;
use super::paper::{Cell, Ink, Paper, Table, wrap};
use super::sections::sections;
use super::sheet::Section;
use super::units::{self, NONE};
use super::view::{self, View, machine_facts, printable};
use super::{scaling_text, sweep_text};
use crate::grid::Design;
use crate::record::Outcome;
use crate::report::model::{Entry, Race, Report, VerdictWord};

/// How the text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal; less than 72 is treated as 72.
    pub width: usize,
    /// Whether to write ANSI colours.
    pub color: bool,
}

impl Default for Options {
    /// What a pipe gets.
    fn default() -> Self {
        Self { width: 80, color: false }
    }
}

impl From<Options> for Paper {
    fn from(options: Options) -> Self {
        Self { width: options.width.clamp(20, 240), color: options.color }
    }
}

/// On a narrower terminal what does not fit beside each other stands below each other.
const TABLE_MIN: usize = 72;

/// Lines of a contender's standard error that are shown; the other formats show all that was kept.
const STDERR_LINES: usize = 4;

/// The whole report.
#[must_use]
pub fn render(report: &Report, options: Options) -> String {
    let paper = Paper::from(options);
    let view = View::new(report);
    let mut out = String::new();
    title(&mut out, paper, report);
    practice(&mut out, paper, report);
    for race in &report.races {
        race_table(&mut out, paper, report, race);
    }
    if view.has_unbounded() {
        paper.prose(
            &mut out,
            "",
            "A dash in an interval: too few blocks to bound that side. More blocks narrow it.",
        );
        out.push('\n');
    }
    sheets(&mut out, paper, report);
    totals(&mut out, paper, report);
    predictions(&mut out, paper, report);
    absent(&mut out, paper, report);
    notes(&mut out, paper, report);
    machine(&mut out, paper, report);
    warnings(&mut out, paper, report);
    out
}

fn title(out: &mut String, paper: Paper, report: &Report) {
    let run = &report.run;
    paper.heading(out, &format!("palio {}", run.suite));
    let blocks = report.blocks_text();
    let facts = format!(
        "run {} · preset {} · {blocks} · seed {} · {}",
        run.id, run.preset, run.seed, run.started_at
    );
    paper.prose(out, "", &facts);
    if let Some(allocators) = report.allocators() {
        paper.prose(out, "", &format!("allocator: {allocators}"));
    }
    if let Some(disturbance) = &run.disturbance {
        paper.prose(out, "", disturbance);
    }
    if let Some(interruptions) = &run.interruptions {
        paper.prose(out, "", interruptions);
    }
    if run.state != "finished" {
        let text = format!("This run is {}: what is pending has not been raced yet.", run.state);
        for line in wrap(&text, paper.width) {
            let _ = writeln!(out, "{}", paper.paint(Ink::Bad, &line));
        }
    }
    if let Some(thinned) = &run.thinned {
        paper.prose(out, "", &thinned.text());
    }
    if let Some(selection) = &run.selection {
        paper.prose(out, "", &selection.text(report.races.len()));
    }
    out.push('\n');
}

/// What the run was made for, before its races one by one.
fn practice(out: &mut String, paper: Paper, report: &Report) {
    match report.run.design {
        Some(Design::Sweep(_)) => out.push_str(&sweep_text::terminal(report, paper)),
        Some(Design::Scale) => out.push_str(&scaling_text::terminal(report, paper)),
        None => return,
    }
    out.push('\n');
}

fn race_table(out: &mut String, paper: Paper, report: &Report, race: &Race) {
    paper.heading(out, &race.label());
    paper.prose(out, "", &race.title);
    paper.prose(out, "", &format!("noise floor {}", race.noise_text()));
    if let Some(statistic) = race.statistic_text() {
        paper.prose(out, "", &statistic);
    }
    if let Some(certificate) = race.certificate() {
        paper.prose(out, "", &certificate);
    }
    for caveat in race.caveats(report) {
        paper.prose(out, "caution: ", &caveat);
    }
    for doubt in race.doubts() {
        paper.prose(out, "doubtful: ", &doubt);
    }
    let ranked: Vec<&Entry> =
        race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok).collect();
    if !ranked.is_empty() {
        out.push('\n');
        let rows: Vec<Row> = ranked.iter().map(|entry| Row::new(race, entry)).collect();
        let detail = race.detail_head();
        let verdict = race.verdict_head();
        let wide = wide(race.value_head(), &verdict, &detail, &rows);
        if wide.width() <= paper.width {
            wide.write(out, paper)
        } else {
            stacked(out, paper, race, &rows)
        }
        // Corrected, a verdict depends on all races, and on more blocks than this would say.
        let is_corrected = report.told_apart.as_ref().is_some_and(|apart| apart.corrected);
        if let Some(needed) = needed::text(race).filter(|_| !is_corrected) {
            paper.prose(out, "", &needed);
        }
    }
    failures(out, paper, report, race);
    out.push('\n');
}

/// A ranked entry in text.
struct Row {
    rank: String,
    contender: String,
    version: String,
    variant: String,
    ratio: String,
    limits: String,
    verdict: Option<VerdictWord>,
    median: String,
    per_op: String,
    spread: String,
    /// User and system time of an iteration, where the race shows them.
    split: Option<[String; 2]>,
    cpu: String,
    memory: String,
}

impl Row {
    fn new(race: &Race, entry: &Entry) -> Self {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.into());
        let best = entry.ratio_to_best;
        Self {
            rank: entry.rank_text(),
            contender: view::marked(entry),
            version: view::short_version(&entry.version).to_owned(),
            variant: entry.variant.clone().unwrap_or_default(),
            ratio: or_none(best.map(|i| units::ratio(i.point))),
            limits: or_none(best.map(|i| units::limits(i.lo, i.hi))),
            verdict: entry.ratio_to_reference.map(|v| v.verdict),
            median: or_none(entry.value_ns.map(|value| race.number_text(value))),
            per_op: race.detail_text(entry),
            spread: or_none(entry.spread_percent().map(units::percent)),
            split: race.works_in_the_system().then(|| {
                let [user, system, _] = entry.cpu_texts();
                [user, system].map(or_none)
            }),
            cpu: or_none(entry.cpu_percent.map(|x| format!("{x:.0} %"))),
            memory: or_none(entry.max_rss_kib.map(units::kibibytes)),
        }
    }

    fn verdict(&self) -> (&'static str, Ink) {
        match self.verdict {
            None => (NONE, Ink::Plain),
            Some(word @ VerdictWord::Faster) => (word.word(), Ink::Good),
            Some(word @ VerdictWord::Slower) => (word.word(), Ink::Bad),
            Some(word) => (word.word(), Ink::Faint),
        }
    }
}

/// One line a contender.
fn wide<'a>(value: &'a str, verdict: &'a str, per_op: &'a str, rows: &[Row]) -> Table<'a> {
    let has_variants = rows.iter().any(|row| !row.variant.is_empty());
    let mut heads = vec!["rank", "contender"];
    if has_variants {
        heads.push("variant");
    }
    heads.extend(["ratio", "95 % interval", value, verdict]);
    heads.extend([per_op, "spread"]);
    if rows.iter().any(|row| row.split.is_some()) {
        heads.extend(["user", "system"]);
    }
    heads.extend(["CPU", "memory"]);
    let left = if has_variants { vec![1, 2, 6] } else { vec![1, 5] };
    let mut table = Table { heads, left, rows: Vec::new() };
    for row in rows {
        let (word, ink) = row.verdict();
        let name = format!("{} {}", row.contender, row.version);
        let mut cells = vec![Cell::plain(&row.rank), Cell::plain(&name)];
        if has_variants {
            cells.push(Cell::plain(&row.variant));
        }
        cells.extend([&row.ratio, &row.limits, &row.median].map(|text| Cell::plain(text)));
        cells.push(Cell { text: word.into(), ink });
        cells.extend([&row.per_op, &row.spread].map(|text| Cell::plain(text)));
        cells.extend(row.split.iter().flatten().map(|text| Cell::plain(text)));
        cells.extend([&row.cpu, &row.memory].map(|text| Cell::plain(text)));
        table.rows.push(cells);
    }
    table
}

/// Two lines a contender, for a terminal on which the table does not fit.
fn stacked(out: &mut String, paper: Paper, race: &Race, rows: &[Row]) {
    let verdict = race.verdict_head();
    let mut table =
        Table::new(&["rank", "contender", "ratio", "95 % interval", race.value_head(), &verdict]);
    table.left = vec![1, 5];
    let mut notes = Vec::new();
    for row in rows {
        let (word, ink) = row.verdict();
        let lead = [&row.rank, &row.contender, &row.ratio, &row.limits, &row.median];
        let mut cells: Vec<Cell> = lead.into_iter().map(|text| Cell::plain(text)).collect();
        cells.push(Cell { text: word.into(), ink });
        table.rows.push(cells);
        let variant =
            if row.variant.is_empty() { String::new() } else { format!(" · {}", row.variant) };
        let split = row
            .split
            .as_ref()
            .map_or(String::new(), |[user, system]| format!(" (user {user}, system {system})"));
        notes.push(format!(
            "{}{variant} · {} · spread {} · CPU {}{split} · {}",
            row.version,
            race.detail_phrase(&row.per_op),
            row.spread,
            row.cpu,
            row.memory
        ));
    }
    // What does not fit by a word of its head fits without it; below that, nothing is a table.
    if table.width() > paper.width && paper.width < TABLE_MIN {
        for (row, note) in rows.iter().zip(&notes) {
            let (word, ink) = row.verdict();
            paper.prose(out, "", &format!("{} {}", row.rank.trim(), row.contender));
            let numbers = format!("{} {} · {}", row.ratio, row.limits, row.median);
            paper.hanging(out, "    ", Ink::Plain, &numbers);
            let _ = writeln!(out, "    {}", paper.paint(ink, word));
            paper.hanging(out, "    ", Ink::Plain, note);
        }
        return;
    }
    if table.width() > paper.width {
        *table.heads.last_mut().expect("there are heads") = "verdict";
    }
    let _ = writeln!(
        out,
        "{}",
        paper.paint(Ink::Faint, table.line(&table.head_cells(), Paper::bare()).trim_end())
    );
    for (cells, note) in table.rows.iter().zip(&notes) {
        let _ = writeln!(out, "{}", table.line(cells, paper).trim_end());
        for line in wrap(note, paper.width - 6) {
            let _ = writeln!(out, "      {}", paper.paint(Ink::Faint, &line));
        }
    }
}

fn failures(out: &mut String, paper: Paper, report: &Report, race: &Race) {
    // Who took part in no race at all is named once, below all of them.
    let is_absent = |entry: &Entry| {
        let known = report.contenders.iter().find(|known| known.id == entry.contender);
        known.is_some_and(|known| known.absent.is_some())
    };
    // What failed in the same way for the same reason is one line: six runtimes that cannot fork
    // need no six lines.
    let mut groups: Vec<(Outcome, String, Vec<String>, Option<&str>)> = Vec::new();
    let shown = race.entries.iter().filter(|entry| entry.outcome != Outcome::Ok);
    for entry in shown.filter(|entry| !is_absent(entry)) {
        let detail = printable(entry.detail.as_deref().unwrap_or_default());
        let same =
            |(outcome, text, _, stderr): &&mut (Outcome, String, Vec<String>, Option<&str>)| {
                *outcome == entry.outcome && *text == detail && *stderr == entry.stderr.as_deref()
            };
        match groups.iter_mut().find(same) {
            Some((_, _, names, _)) => names.push(view::marked(entry)),
            None => groups.push((
                entry.outcome,
                detail,
                vec![view::marked(entry)],
                entry.stderr.as_deref(),
            )),
        }
    }
    if !groups.is_empty() {
        out.push('\n');
    }
    for (outcome, detail, names, stderr) in groups {
        let ink = if outcome.is_fault() { Ink::Bad } else { Ink::Faint };
        let colon = if detail.is_empty() { "" } else { ": " };
        let text = format!("{}{colon}{detail}", names.join(", "));
        let indent = if paper.width < TABLE_MIN {
            let _ = writeln!(out, "{}", paper.paint(ink, &outcome.words()));
            paper.hanging(out, "    ", Ink::Plain, &text);
            4
        } else {
            paper.hanging(out, &format!("{:<13} ", outcome.words()), ink, &text);
            14
        };
        let stderr = printable(stderr.unwrap_or_default());
        let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in &lines[lines.len().saturating_sub(STDERR_LINES)..] {
            let line: String = line.chars().take(paper.width - indent - 4).collect();
            let _ = writeln!(
                out,
                "{}{} {}",
                " ".repeat(indent),
                paper.paint(Ink::Faint, "│"),
                line.replace('\t', "    ")
            );
        }
    }
}

/// The sections that are plain tables.
fn sheets(out: &mut String, paper: Paper, report: &Report) {
    for part in sections(report) {
        section(out, paper, part);
    }
}

/// A section by itself.
pub(super) fn one_section(part: Section, options: Options) -> String {
    let mut out = String::new();
    section(&mut out, options.into(), part);
    out
}

fn section(out: &mut String, paper: Paper, part: Section) {
    let Section { title, lead, sheets, .. } = part;
    paper.heading(out, title);
    paper.prose(out, "", lead);
    out.push('\n');
    for sheet in sheets {
        paper.prose(out, "", &sheet.caption);
        let mut table = Table::new(&sheet.heads);
        table.left = vec![0];
        let cells = |row: &Vec<String>| row.iter().map(|text| Cell::plain(text)).collect();
        table.rows = sheet.rows.iter().map(cells).collect();
        any_width(out, paper, &table);
        for note in &sheet.notes {
            paper.prose(out, "", note);
        }
        out.push('\n');
    }
}

/// A table, or where that does not fit, its rows one below the other.
fn any_width(out: &mut String, paper: Paper, table: &Table<'_>) {
    if table.width() <= paper.width {
        table.write(out, paper);
        return;
    }
    for row in &table.rows {
        paper.prose(out, "", &row[0].text);
        for (head, cell) in table.heads.iter().zip(row).skip(1) {
            paper.hanging(out, "    ", Ink::Plain, &format!("{head} {}", cell.text));
        }
    }
}

fn totals(out: &mut String, paper: Paper, report: &Report) {
    if let Some(told_apart) = &report.told_apart {
        paper.prose(out, "", &told_apart.text());
        out.push('\n');
    }
    for group in report.total_groups() {
        let first = &group[0];
        paper.heading(out, &format!("overall, {}", first.field()));
        let over = units::plural(first.common as usize, "race");
        let text = format!(
            "means of the ratio to best over the {over} that all who have a mean completed; \
             failures are never imputed"
        );
        paper.prose(out, "", &text);
        out.push('\n');
        let mut table =
            Table::new(&["contender", "geometric mean", "arithmetic mean", "completed"]);
        table.left = vec![0];
        for total in group {
            let mean = |x: Option<f64>| Cell::plain(&x.map_or(NONE.into(), units::ratio));
            table.rows.push(vec![
                Cell::plain(&report.marked(&total.contender)),
                mean(total.geomean_ratio),
                mean(total.mean_ratio),
                Cell::plain(&format!("{}/{}", total.completed, total.of)),
            ]);
        }
        if paper.width >= TABLE_MIN {
            table.write(out, paper);
        } else {
            any_width(out, paper, &table);
        }
        out.push('\n');
    }
}

fn predictions(out: &mut String, paper: Paper, report: &Report) {
    if report.predictions.is_empty() {
        return;
    }
    let with = |held: Option<bool>| report.predictions.iter().filter(move |p| p.held == held);
    let counts = [(Some(true), "held"), (Some(false), "missed"), (None, "undecided")];
    let counts: Vec<String> =
        counts.map(|(held, word)| format!("{} {word}", with(held).count())).into();
    let head = paper.paint(Ink::Strong, "predictions");
    if paper.width < TABLE_MIN {
        let _ = writeln!(out, "{head}");
        paper.prose(out, "", &counts.join(", "));
    } else {
        let _ = writeln!(out, "{head} {}", counts.join(", "));
    }
    for missed in with(Some(false)) {
        let text = format!(
            "{} · {}: expected {} ({}); seen {}",
            missed.workload,
            units::plural(missed.threads as usize, "thread"),
            missed.expected,
            missed.because_text(),
            missed.seen
        );
        paper.hanging(out, "missed  ", Ink::Bad, &text);
    }
    out.push('\n');
}

/// Who took part in no race, once for all races and for all who have the same reason.
fn absent(out: &mut String, paper: Paper, report: &Report) {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for contender in &report.contenders {
        let Some(why) = contender.absent.as_deref() else { continue };
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(&contender.id),
            None => groups.push((why, vec![&contender.id])),
        }
    }
    for (why, ids) in &groups {
        let text = format!("{}: {}", ids.join(", "), printable(why));
        paper.hanging(out, "absent  ", Ink::Faint, &text);
    }
    if !groups.is_empty() {
        out.push('\n');
    }
}

/// What a reader must know of those that raced, such as a runtime that is never stopped.
fn notes(out: &mut String, paper: Paper, report: &Report) {
    let raced = report.contenders.iter().filter(|contender| contender.absent.is_none());
    let notes: Vec<String> = raced
        .filter_map(|contender| Some(format!("{}: {}", contender.id, contender.notes.as_ref()?)))
        .collect();
    for note in &notes {
        paper.hanging(out, "note  ", Ink::Faint, &printable(note));
    }
    if !notes.is_empty() {
        out.push('\n');
    }
}

fn machine(out: &mut String, paper: Paper, report: &Report) {
    let phrase = |(name, value): (&str, String)| match name {
        "CPU" | "Caches" | "Kernel" | "libc" | "System" => value,
        name => format!("{} {value}", name.to_lowercase()),
    };
    let facts: Vec<String> = machine_facts(&report.run.machine).into_iter().map(phrase).collect();
    let text = if facts.is_empty() { "nothing could be read".into() } else { facts.join(" · ") };
    paper.hanging(out, "machine  ", Ink::Faint, &text);
}

fn warnings(out: &mut String, paper: Paper, report: &Report) {
    for warning in &report.run.warnings {
        paper.hanging(out, "warning  ", Ink::Bad, &printable(warning));
    }
}
