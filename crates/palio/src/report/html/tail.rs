//! The sections of words: predictions, failures, contenders, the machine, how to repeat the run and
//! how to read it.

use super::cell;
use super::markup::{esc, key, put, section, workload};
use crate::contender::Track;
use crate::record::Outcome;
use crate::report::model::{CheckedPrediction, Entry, Race, Report};
use crate::report::units::{self, NONE};
use crate::report::view::{View, machine_facts};

pub(super) fn predictions(out: &mut String, report: &Report) {
    if report.predictions.is_empty() {
        return;
    }
    section(
        out,
        "predictions",
        "Predictions",
        "What the catalogue of workloads claims, and what was seen. A miss is as interesting as a hit: either the reasoning \
         is wrong or the measurement is.",
    );
    out.push_str(
        "<div class=scroll tabindex=0 role=region aria-label=Predictions><table class=\"sortable words predicted\">\n<thead><tr><th scope=col>Result\
         <th scope=col>Workload<th scope=col class=n>Threads<th scope=col>Expected<th scope=col>Seen<th scope=col>Because\n<tbody>\n",
    );
    for (held, word) in [(Some(false), "missed"), (None, "undecided"), (Some(true), "held")] {
        let line = |p: &CheckedPrediction| {
            let is_of = |race: &Race| {
                race.cpu_budget.is_none()
                    && race.workload == p.workload
                    && race.threads == p.threads
            };
            let race = report.races.iter().position(is_of);
            format!(
                "<tr{}><td><b class=p-{word}>{word}</b><th scope=row>{}<td class=n>{}<td>{}<td>{}<td>{}\n",
                race.map_or(String::new(), |i| format!(" data-r={i}")),
                workload(&p.workload),
                p.threads,
                esc(&p.expected),
                esc(&p.seen),
                esc(&p.because_text())
            )
        };
        out.extend(report.predictions.iter().filter(|p| p.held == held).map(line));
    }
    out.push_str("</table></div>\n</section>\n");
}

/// Failures that differ only by their race stand together.
struct Failure<'a> {
    entry: &'a Entry,
    races: Vec<(usize, &'a Race)>,
}

/// What went wrong, each with its standard error; then, folded, what was not there to be raced.
pub(super) fn failures(out: &mut String, view: &View<'_>) {
    let mut groups: Vec<Failure<'_>> = Vec::new();
    for (i, race, entry) in view.failures() {
        let same = |group: &&mut Failure<'_>| {
            let other = group.entry;
            other.contender == entry.contender
                && other.outcome == entry.outcome
                && other.detail == entry.detail
                && other.stderr == entry.stderr
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.races.push((i, race)),
            None => groups.push(Failure { entry, races: vec![(i, race)] }),
        }
    }
    groups.sort_by_key(|group| (group.entry.outcome, view.column(&group.entry.contender)));
    let (faults, others): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|group| group.entry.outcome.is_fault());
    let lead = match (faults.is_empty(), others.is_empty()) {
        (true, true) => "Everything that was entered finished, with the right answer.",
        (true, false) => "Nothing that was raced went wrong.",
        _ => {
            "Nobody is ranked on a race that it did not finish with the right answer, and no failure counts as a time."
        }
    };
    section(out, "failures", "Failures", lead);
    list(out, view, &faults);
    if !others.is_empty() {
        let cells = others.iter().map(|group| group.races.len()).sum();
        put!(
            out,
            "<details class=unraced><summary>{} not raced, and why</summary>\n",
            units::plural(cells, "cell")
        );
        list(out, view, &others);
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

fn list(out: &mut String, view: &View<'_>, groups: &[Failure<'_>]) {
    if groups.is_empty() {
        return;
    }
    out.push_str("<ul class=failures>\n");
    for Failure { entry, races } in groups {
        let column = view.column(&entry.contender);
        put!(out, "<li data-c={column}>");
        key(out, view.hue(column));
        let class = if entry.outcome.is_fault() { "fault" } else { "quiet" };
        put!(
            out,
            "<b>{}</b> <b class={class}>{}</b> in ",
            esc(&entry.contender),
            entry.outcome.words()
        );
        places(out, races);
        if let Some(detail) = &entry.detail {
            put!(out, "<br>{}", esc(detail));
        }
        if entry.stderr.as_deref().is_some_and(|text| !text.trim().is_empty()) {
            out.push_str("<details class=stderr><summary>Standard error</summary>");
            cell::stderr(out, entry);
            out.push_str("</details>");
        }
        out.push('\n');
    }
    out.push_str("</ul>\n");
}

/// The workloads, each once with its thread counts, each count a link to its race.
fn places(out: &mut String, races: &[(usize, &Race)]) {
    let mut named: Option<&Race> = None;
    for (i, race) in races {
        match named {
            Some(before) if before.workload == race.workload && before.params == race.params => {
                put!(out, ", <a href=#r{i}>{}</a>", race.threads);
            }
            _ => {
                let gap = if named.is_some() { "; " } else { "" };
                put!(
                    out,
                    "{gap}{} <small>on</small> <a href=#r{i}>{}</a>",
                    workload(&race.workload),
                    race.threads_text()
                );
            }
        }
        named = Some(*race);
    }
}

pub(super) fn contenders(out: &mut String, view: &View<'_>) {
    let contenders = &view.report.contenders;
    if contenders.is_empty() {
        return;
    }
    section(
        out,
        "contenders",
        "Contenders",
        "Versions are those that were linked into the executables that raced, not those of a manifest.",
    );
    out.push_str(
        "<div class=scroll tabindex=0 role=region aria-label=Contenders><table class=\"sortable words about-contenders\">\n<thead><tr><th scope=col>Contender\
         <th scope=col>Runtime<th scope=col>Language<th scope=col>Kind<th scope=col>Track<th scope=col>Toolchain\
         <th scope=col>Flags<th scope=col>Licence<th scope=col>To know\n<tbody>\n",
    );
    for contender in contenders {
        let column = view.column(&contender.id);
        put!(out, "<tr data-c={column}><th scope=row>");
        key(out, view.hue(column));
        // Only an address that a browser opens as a page may become a link.
        let is_page =
            ["https://", "http://"].iter().any(|scheme| contender.homepage.starts_with(scheme));
        if is_page {
            put!(
                out,
                "<a href=\"{}\" rel=\"noopener noreferrer\">{}</a>",
                esc(&contender.homepage),
                esc(&contender.id)
            );
        } else {
            out.push_str(&esc(&contender.id));
        }
        let or_none = |text: &Option<String>| text.as_deref().map_or(NONE.into(), esc);
        let runtime = contender.runtime.as_deref().unwrap_or(&contender.name);
        let version =
            contender.version.as_deref().map_or(String::new(), |v| format!(" {}", esc(v)));
        put!(
            out,
            "<td>{}{version}<td>{}<td>{}",
            esc(runtime),
            esc(&contender.language),
            contender.kind
        );
        if contender.track == Track::Tuned {
            out.push_str("<td><span class=tuned>tuned</span>");
        } else {
            put!(out, "<td>{}", contender.track);
        }
        put!(
            out,
            "<td>{}<td>{}<td>{}<td>",
            or_none(&contender.toolchain),
            or_none(&contender.flags),
            esc(&contender.licence)
        );
        if let Some(absent) = &contender.absent {
            put!(out, "<b>Did not race:</b> {} ", esc(absent));
        }
        out.push_str(&contender.notes.as_deref().map_or(String::new(), esc));
        out.push('\n');
    }
    out.push_str("</table></div>\n</section>\n");
}

pub(super) fn machine(out: &mut String, report: &Report) {
    section(
        out,
        "machine",
        "Machine",
        "What could not be read is not listed; nothing here is a guess.",
    );
    out.push_str("<dl class=facts>\n");
    for (name, fact) in machine_facts(&report.run.machine) {
        put!(out, "<div><dt>{name}<dd>{}</div>\n", esc(&fact));
    }
    put!(
        out,
        "<div><dt>Fingerprint<dd><code>{}</code></div>\n</dl>\n</section>\n",
        esc(&report.run.machine.fingerprint)
    );
}

pub(super) fn reproduce(out: &mut String, report: &Report) {
    let run = &report.run;
    section(
        out,
        "reproduce",
        "Reproduce",
        "The same seed gives the same order of contenders and the same answers; the times are this machine’s.",
    );
    put!(out, "<pre><code>{}</code></pre>\n", esc(&run.command));
    put!(
        out,
        "<p>Every sample that is stored of this run, in the order of execution, those of warm-ups, shadows and blocks \
         that do not count too:</p>\n<pre><code>palio export {} run.json</code></pre>\n",
        esc(&run.id)
    );
    out.push_str("<dl class=facts>\n");
    let mut fact = |name: &str, value: &str| put!(out, "<div><dt>{name}<dd>{}</div>\n", esc(value));
    fact("Run", &run.id);
    fact("Suite and preset", &format!("{}, {}", run.suite, run.preset));
    fact(
        "Blocks",
        report.blocks_text().trim_end_matches("blocks").trim_end_matches("block").trim(),
    );
    if let Some(disturbance) = &run.disturbance {
        fact("Disturbed blocks", disturbance);
    }
    if let Some(interruptions) = &run.interruptions {
        fact("Interruptions", interruptions);
    }
    fact("Seed", &run.seed.to_string());
    fact("Started", &run.started_at);
    fact("Finished", run.finished_at.as_deref().unwrap_or("not yet"));
    fact("Palio", &run.palio_version);
    out.push_str("</dl>\n</section>\n");
}

pub(super) fn reading(out: &mut String) {
    section(out, "reading", "How to read this", "");
    out.push_str(
        "<dl class=terms>\n\
         <dt>Block<dd>Every contender of a race is started once in each block, in an order that is drawn anew and mirrored in the \
         next. They never run at the same time. Blocks, not samples, are the unit of evidence: samples of one process share its \
         luck.\n\
         <dt>Ratio to best<dd>Time divided by the time of the fastest, compared block by block. 1.24 takes 24 % longer.\n\
         <dt>95 % interval<dd>Where the ratio lies, as far as the blocks can tell. A dash is a side that they do not bound.\n\
         <dt>Noise floor<dd>The reference runs twice in each block, as itself and as its own shadow. What differs between the two is \
         noise, and nobody is called faster or slower below it.\n\
         <dt>Rank<dd>An interval where the data allow several places: 1–2 is a tie for first.\n\
         <dt>Verdict<dd>Against the reference: <b class=v-faster>faster</b> or <b class=v-slower>slower</b> beyond the noise; \
         equivalent if any difference is too small to matter; otherwise inconclusive.\n\
         <dt>User, system, total, CPU<dd>CPU time of an iteration, of the whole process: in its own code, in the kernel, and both. CPU is \
         the total divided by wall time: 200 % is two busy cores.\n\
         <dt>Spread<dd>Slowest less fastest sample, divided by the median, or by what is ranked instead.\n\
         <dt>Outliers (*)<dd>More than one sample in a hundred, and two at least, lie more than three interquartile ranges beyond the \
         quartiles, on a logarithmic scale. Medians do not see them.\n\
         <dt>Two groups (‡)<dd>The samples fall into two groups of a fifth or more with nothing between them, a tenth or more apart: \
         the median stands in one of two worlds. Often it is the process that decides which.\n\
         <dt>p50, p99, p99.9, max<dd>Of the events of a race that is about waiting: half, 99 and 99.9 in a hundred were no longer, and \
         the longest. A percentile is the median over the samples, and a dash where a sample has too few events; the max is of \
         all samples. Where max is ranked, each process counts with its longest event.\n</dl>\n</section>\n",
    );
}

pub(super) fn foot(out: &mut String, report: &Report) {
    let pending = report
        .races
        .iter()
        .flat_map(|race| &race.entries)
        .filter(|e| e.outcome == Outcome::Pending)
        .count();
    let pending = if pending > 0 {
        format!(" {} pending.", units::plural(pending, "cell"))
    } else {
        String::new()
    };
    put!(
        out,
        "<footer><p>Written by palio {}, run {}.{pending} This file asks nothing of any network.</p></footer>\n",
        esc(&report.run.palio_version),
        esc(&report.run.id)
    );
}
