//! One function for each way in which a document prints a table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::numbers::{NONE, criterion, go_ns, libtest_ns};
use super::{Cell, Sheet};
use crate::published::{Row, Table};
use crate::report::markdown::markup::text;
use crate::report::model::Race;
use crate::report::pair;
use crate::stats::Verdict;

/// To the right of the number of iterations, and of a time, in the lines of Go's benchmarks.
const GO_ITERATIONS_END: usize = 56;
const GO_TIME: usize = 20;
/// Where the time stands in criterion's lines.
const CRITERION_TIME: usize = 49;
const CPU_NAME: usize = 35;
const CPU_NUMBER: usize = 10;

/// How the cells of a column stand in Markdown's source.
#[derive(Clone, Copy, PartialEq)]
enum Align {
    Left,
    Centre,
}

fn padded(cell: &str, width: usize, align: Align) -> String {
    let space = width.saturating_sub(cell.chars().count());
    let left = if align == Align::Centre { space / 2 } else { 0 };
    format!("{}{cell}{}", " ".repeat(left), " ".repeat(space - left))
}

/// A table of Markdown whose columns are as wide as their widest cell; the first line is its head.
fn aligned(lines: &[Vec<String>], align: impl Fn(usize) -> Align) -> String {
    let columns = lines[0].len();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0).max(3)).collect();
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells: Vec<String> =
            (0..columns).map(|i| padded(&line[i], widths[i], align(i))).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
        if number == 0 {
            let rule = |i: usize| match align(i) {
                Align::Left => "-".repeat(widths[i]),
                Align::Centre => format!(":{}:", "-".repeat(widths[i] - 2)),
            };
            let _ = writeln!(out, "| {} |", (0..columns).map(rule).collect::<Vec<_>>().join(" | "));
        }
    }
    out
}

fn us(cell: Option<Cell<'_>>) -> Option<String> {
    let ns = cell?.ns()?;
    Some(format!("{:.0}", ns / 1e3))
}

fn or_none(number: Option<String>) -> String {
    number.unwrap_or_else(|| NONE.to_owned())
}

impl<'a> Sheet<'a> {
    pub(super) fn units(&self, table: &'a Table) -> String {
        let systems = self.of.ordered(table);
        let head = ["Test Name"].iter().chain(&systems);
        let mut lines = vec![head.map(|name| text(name)).collect()];
        for row in &table.rows {
            let mut line = vec![text(&self.name(table, row))];
            line.extend(systems.iter().map(|system| {
                let ns = self.cell(table, row, system).and_then(|cell| cell.ns());
                or_none(ns.map(|ns| criterion(ns, "µs")))
            }));
            lines.push(line);
        }
        let align = |i: usize| if i == 0 { Align::Left } else { Align::Centre };
        format!("## {}\n\n{}", text(&table.title), aligned(&lines, align))
    }

    /// The name of a row, with the parameters of the race where they are a part of it.
    fn name(&self, table: &Table, row: &Row) -> String {
        let first = self.of.ordered(table).into_iter().next();
        let race = first.and_then(|system| self.race(table, row, system));
        let (Some(label), Some(race)) = (&row.label, race) else { return row.name.clone() };
        let fill = |label: String, (key, value): (&String, &String)| {
            label.replace(&format!("{{{key}}}"), value)
        };
        race.params.iter().fold(label.clone(), fill)
    }

    /// A system that did not complete all rows has no mean: failures are never imputed.
    pub(super) fn mean_ratio(&self, table: &'a Table) -> String {
        let systems = self.of.ordered(table);
        let head = |system: &&str| {
            let id = table.rows.first().and_then(|row| self.contender(table, row, system));
            let known = self.report.contenders.iter().find(|known| Some(&*known.id) == id);
            match known.map(|known| known.homepage.as_str()) {
                Some(page) if page.starts_with("http") => format!("[{}]({page})", text(system)),
                _ => text(system),
            }
        };
        let mut lines = vec!["Runtime".to_owned()];
        lines.extend(systems.iter().map(head));
        let times = |row: &'a Row| {
            let time = |system: &&str| self.cell(table, row, system).and_then(|cell| cell.ns());
            systems.iter().map(time).collect::<Vec<Option<f64>>>()
        };
        let all: Vec<Vec<Option<f64>>> = table.rows.iter().map(times).collect();
        let mean = |system: usize| -> Option<f64> {
            let ratio = |times: &Vec<Option<f64>>| {
                let best = times.iter().flatten().copied().reduce(f64::min)?;
                Some(times[system]? / best)
            };
            let ratios: Option<Vec<f64>> = all.iter().map(ratio).collect();
            ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64)
        };
        let mut out = format!("| {} |\n|{}\n", lines.join(" | "), " --- |".repeat(lines.len()));
        let line = |out: &mut String, name: String, cells: Vec<String>| {
            let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
        };
        let means = (0..systems.len()).map(|i| or_none(mean(i).map(|mean| format!("{mean:.2}x"))));
        line(&mut out, format!("{}<br>(lower is better)", text(&table.title)), means.collect());
        for (row, times) in table.rows.iter().zip(&all) {
            let cells = times.iter().map(|ns| or_none(ns.map(|ns| format!("{:.0} us", ns / 1e3))));
            line(&mut out, text(&self.name(table, row)), cells.collect());
        }
        out
    }

    pub(super) fn microseconds(&self, table: &'a Table) -> String {
        let systems = self.of.ordered(table);
        let mut head = vec!["Bench".to_owned()];
        head.extend(systems.iter().map(|system| text(system)));
        head.push("Notes".to_owned());
        let mut lines = vec![head];
        for row in &table.rows {
            let mut line = vec![text(&self.name(table, row))];
            let numbers = systems.iter().map(|system| {
                let printed = row.values.get(*system).is_some_and(|value| !value.unprinted);
                or_none(printed.then(|| us(self.cell(table, row, system))).flatten())
            });
            line.extend(numbers);
            // The document has the row, and its numbers in the table below.
            line.push(if row.values.is_empty() {
                "see thread-count sweep below".to_owned()
            } else {
                self.note(table, row)
            });
            lines.push(line);
        }
        format!("## {}\n\n{}", text(&table.title), aligned(&lines, |_| Align::Left))
    }

    /// The first system against the one that the document compares with, in its words.
    fn note(&self, table: &'a Table, row: &'a Row) -> String {
        let first = self.of.ordered(table).into_iter().next();
        let Some((system, reference)) = first.zip(self.of.reference_of(table)) else {
            return NONE.to_owned();
        };
        let cells = self.cell(table, row, system).zip(self.cell(table, row, reference));
        let Some((ours, theirs)) = cells else { return NONE.to_owned() };
        let Some((ratio, verdict)) = pair::between(ours.race, ours.entry, theirs.entry) else {
            return NONE.to_owned();
        };
        let name = system.split(' ').next().unwrap_or(system);
        match verdict {
            Verdict::Slower => format!("{} ~{:.1}x slower", text(name), ratio.point),
            Verdict::Faster => format!("{} wins; ~{:.2}x", text(name), 1.0 / ratio.point),
            Verdict::Equivalent => "even".to_owned(),
            Verdict::Inconclusive => "not told apart".to_owned(),
        }
    }

    pub(super) fn threads(&self, table: &'a Table) -> String {
        let systems = self.of.ordered(table);
        let mut head = vec!["Threads".to_owned()];
        head.extend(systems.iter().map(|system| text(system)));
        let mut lines = vec![head];
        let line = |name: String, row: &'a Row, threads: Option<u32>| {
            let mut races = self.report.races.iter();
            let race = races.find(|race| {
                race.workload == row.workload
                    && Some(race.threads) == threads
                    && race.cpu_budget.is_none()
            });
            let number = |system: &&str| {
                let entry = self.entry(race?, table, row, system)?;
                us(Some(Cell { race: race?, entry, per: table.per }))
            };
            let mut line = vec![name];
            line.extend(systems.iter().map(|system| or_none(number(system))));
            line
        };
        lines.extend(table.rows.iter().map(|row| line(text(&row.name), row, row.threads)));
        if let Some(row) = table.rows.first() {
            let races = self.report.races.iter().filter(|race| race.workload == row.workload);
            let most =
                races.filter(|race| race.cpu_budget.is_none()).map(|race| race.threads).max();
            // The document's N is what its machine has.
            let is_all = |most| self.report.run.machine.cores == Some(most);
            let name = most.map_or_else(
                || "N".to_owned(),
                |most| format!("N ({}={most})", if is_all(most) { "avail" } else { "raced" }),
            );
            lines.push(line(name, row, most));
        }
        format!("### {}\n\n{}", text(&table.title), aligned(&lines, |_| Align::Left))
    }

    /// Go's median stands where the document has a mean, and criterion's interval is that of the
    /// median over the blocks.
    pub(super) fn benchmarks(&self, table: &'a Table) -> String {
        let mut out = String::new();
        for system in self.of.ordered(table) {
            let is_go = system == "Go";
            let head = if is_go { "Go:".to_owned() } else { format!("Rust (`{system}`):") };
            let _ = writeln!(out, "{head}\n```");
            for row in &table.rows {
                let Some(value) = row.values.get(system) else { continue };
                let name = value.name.clone().unwrap_or_else(|| format!("{system} {}", row.name));
                let cell = self.cell(table, row, system);
                let line = if is_go { go_line(&name, cell) } else { criterion_line(&name, cell) };
                let _ = writeln!(out, "{line}");
            }
            out.push_str("```\n");
        }
        out
    }

    pub(super) fn libtest(&self, table: &'a Table) -> String {
        let mut out = format!("### {}\n", text(&table.title));
        for system in self.of.ordered(table) {
            let named = |row: &'a Row| {
                let value = row.values.get(system).filter(|value| !value.unprinted)?;
                Some((value.name.clone().unwrap_or_else(|| row.name.clone()), row))
            };
            let rows: Vec<(String, &Row)> = table.rows.iter().filter_map(named).collect();
            let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
            let _ = writeln!(out, "\n`{system}`:\n```text");
            for (name, row) in rows {
                let cell = self.cell(table, row, system);
                let ns = or_none(cell.and_then(|cell| cell.ns()).map(libtest_ns));
                let spread = or_none(cell.and_then(|cell| cell.spread_ns()).map(libtest_ns));
                let _ =
                    writeln!(out, "test {name:width$} ... bench: {ns:>11} ns/iter (+/- {spread})");
            }
            out.push_str("```\n");
        }
        out
    }

    /// The lines are those of the run's numbers of threads: the document's own were those of its
    /// machine.
    pub(super) fn cpu_times(&self, table: &'a Table) -> String {
        let mut out = format!("### {}\n\n```text\n", text(&table.title));
        let heads = ["User Time", "Sys Time", "Total Time", "CPU%"];
        cpu_line(&mut out, "", heads.map(str::to_owned));
        cpu_line(&mut out, "", heads.map(|_| "=".repeat(CPU_NUMBER)));
        let of_table = |race: &&Race| table.rows.iter().any(|row| row.workload == race.workload);
        let races: Vec<&Race> = self.report.races.iter().filter(of_table).collect();
        let threads: BTreeSet<u32> = races.iter().map(|race| race.threads).collect();
        for (group, threads) in threads.into_iter().enumerate() {
            if group > 0 {
                out.push('\n');
            }
            for capped in [false, true] {
                let row = table.rows.iter().find(|row| row.cpu_budget == capped);
                let mut known = races.iter();
                let race = known
                    .find(|race| race.threads == threads && race.cpu_budget.is_some() == capped);
                let Some((row, race)) = row.zip(race) else { continue };
                let limit = if capped { " (cgroup limit)" } else { "" };
                for system in self.of.ordered(table) {
                    if row.values.get(system).is_none_or(|value| value.unprinted) {
                        continue;
                    }
                    let name = format!("{system} {threads} threads{limit}");
                    cpu_line(&mut out, &name, self.cpu_numbers(table, row, race, system));
                }
            }
        }
        out.push_str("```\n");
        out
    }

    /// Seconds, and percents of a CPU.
    fn cpu_numbers(
        &self,
        table: &'a Table,
        row: &'a Row,
        race: &Race,
        system: &str,
    ) -> [String; 4] {
        let entry = self.entry(race, table, row, system);
        let seconds = |us: Option<f64>| or_none(us.map(|us| format!("{:.3}", us / 1e6)));
        [
            seconds(entry.and_then(|entry| entry.user_us)),
            seconds(entry.and_then(|entry| entry.sys_us)),
            seconds(entry.and_then(|entry| entry.value_ns).map(|ns| ns / 1e3)),
            or_none(entry.and_then(|entry| entry.cpu_percent).map(|cpu| format!("{cpu:.1}"))),
        ]
    }
}

fn cpu_line(out: &mut String, name: &str, [user, system, total, cpu]: [String; 4]) {
    let _ = writeln!(
        out,
        "{name:<CPU_NAME$}{user:>CPU_NUMBER$}  {system:>CPU_NUMBER$}  {total:>CPU_NUMBER$}  {cpu:>CPU_NUMBER$}"
    );
}

fn go_line(name: &str, cell: Option<Cell<'_>>) -> String {
    // Go writes its number of processors behind the name.
    let name = cell.map_or_else(|| name.to_owned(), |c| format!("{name}-{}", c.race.threads));
    let iterations = or_none(cell.map(|cell| cell.iterations().to_string()));
    let ns = or_none(cell.and_then(|cell| cell.ns()).map(go_ns));
    let width = GO_ITERATIONS_END.saturating_sub(name.chars().count());
    format!("{name}{iterations:>width$}{ns:>GO_TIME$} ns/op")
}

fn criterion_line(name: &str, cell: Option<Cell<'_>>) -> String {
    let time = |ns: Option<f64>| or_none(ns.map(|ns| criterion(ns, "us")));
    let limits = cell.and_then(|cell| cell.interval_ns());
    let [lo, hi] = [0, 1].map(|end| time(limits.map(|limits| limits[end])));
    let middle = time(cell.and_then(|cell| cell.ns()));
    format!("{name:<CRITERION_TIME$}time:   [{lo} {middle} {hi}]")
}
