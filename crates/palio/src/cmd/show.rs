//! `palio show`: one cell, to the last sample.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::project::open_store;
use super::{Places, say};
use crate::record::{CellRecord, RaceRecord};
use crate::stats::{Statistic, Summary};
use crate::suggest::nearest;
use crate::workload::settings_text;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The workload
    workload: String,
    /// The contender
    contender: String,
    /// The race on this number of threads, where there are several
    #[arg(short, long, value_name = "N")]
    threads: Option<u32>,
    /// The run: its id, the beginning of it, or `latest`
    #[arg(long, default_value = "latest")]
    run: String,
    /// As JSON, as it is stored
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let store = open_store(places)?;
    let run = store.load(&store.resolve(&options.run)?)?;
    let races: Vec<&RaceRecord> = run
        .races
        .iter()
        .filter(|race| race.workload == options.workload)
        .filter(|race| options.threads.is_none_or(|threads| race.threads == threads))
        .collect();
    if races.is_empty() {
        let near = nearest(&options.workload, run.races.iter().map(|race| race.workload.as_str()));
        let hint = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        bail!(
            "the run {} has no race of {:?} on that number of threads{hint}",
            run.header.id,
            options.workload
        );
    }
    let cells: Vec<(&RaceRecord, &CellRecord)> = races
        .iter()
        .flat_map(|race| race.cells.iter().map(move |cell| (*race, cell)))
        .filter(|(_, cell)| cell.contender == options.contender)
        .collect();
    if cells.is_empty() {
        let near = nearest(
            &options.contender,
            run.contenders.iter().map(|contender| contender.id.as_str()),
        );
        let hint = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        bail!("the run {} has no contender {:?}{hint}", run.header.id, options.contender);
    }
    if options.json {
        let cells: Vec<&CellRecord> = cells.iter().map(|(_, cell)| *cell).collect();
        say(&serde_json::to_string_pretty(&cells)?)?;
    } else {
        for (race, cell) in cells {
            say(&text(race, cell))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(race: &RaceRecord, cell: &CellRecord) -> String {
    let mut lines = vec![format!(
        "{} on {} {} threads={}",
        cell.label(),
        race.workload,
        settings_text(&race.params),
        race.threads
    )];
    if let Some(detail) = &cell.detail {
        lines.push(format!("  {}: {detail}", cell.outcome));
    }
    if let Some(stderr) = &cell.stderr {
        lines.push("  its standard error:".to_owned());
        lines.extend(stderr.lines().map(|line| format!("    {line}")));
    }
    let unit = if race.statistic.is_none_or(Statistic::is_time) { " ns" } else { "" };
    for invocation in &cell.invocations {
        let stage = invocation
            .block
            .map_or_else(|| "pilot".to_owned(), |block| format!("block {}", block + 1));
        let measured: Vec<f64> = invocation
            .samples
            .iter()
            .filter(|sample| !sample.warm_up)
            .filter_map(|sample| sample.value_ns(race.statistic))
            .collect();
        let summary = match Summary::of(&measured) {
            Ok(summary) => format!(
                "median {:.0}{unit}, min {:.0}, max {:.0}",
                summary.median_ns, summary.min_ns, summary.max_ns
            ),
            Err(_) => "no measured sample".to_owned(),
        };
        lines.push(format!(
            "  {stage} at {} ({}){}: {summary}",
            invocation.started_at,
            invocation.outcome,
            invocation.salt.map_or_else(String::new, |salt| format!(" --salt {salt}"))
        ));
        let each: Vec<String> = invocation
            .samples
            .iter()
            .map(|sample| {
                let mark = if sample.warm_up { "~" } else { "" };
                let value = sample.value_ns(race.statistic);
                value.map_or_else(|| format!("{mark}?"), |ns| format!("{mark}{ns:.0}"))
            })
            .collect();
        let what = race.statistic.map_or_else(
            || "ns per iteration".to_owned(),
            |name| format!("{name} of each sample{unit}"),
        );
        lines.push(format!("    {what} (~ warm-up): {}", each.join(" ")));
        if let Some(dropped) = invocation.dropped {
            lines.push(format!(
                "    not in this thinned run: {} warm-up and {} measured sample(s), {} ns in all",
                dropped.warm_ups, dropped.samples, dropped.elapsed_ns
            ));
        }
        for span in &invocation.spans {
            let mark = if span.warm_up { "~" } else { "" };
            let cpu = span.cpu_ns.map(|ns| format!(" and {ns} ns of CPU time"));
            let apart =
                span.line_ns.map(|ns| format!(", three lines in four {ns} ns apart or more"));
            lines.push(format!(
                "    outside: {mark}{} sample(s) in {} ns{}{}",
                span.samples,
                span.wall_ns,
                cpu.unwrap_or_default(),
                apart.unwrap_or_default()
            ));
        }
    }
    if let Some(schedule) = cell.schedule {
        let salt = cell.invocations.last().and_then(|invocation| invocation.salt);
        let command = crate::report::summary::shell_line(&cell.command_with(salt));
        let input = format!("printf 'run {} {}\\nquit\\n'", schedule.samples, schedule.batch);
        lines.push(format!("  by hand:    {input} | {command}"));
        lines.push(format!("  under perf: {input} | perf record -g -- {command}"));
    }
    lines.join("\n") + "\n"
}
