//! One contender against the best of all others, race by race: what a headline may say of it.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde::Serialize;

use super::markdown::markup::text as plain;
use super::model::{Contender, Entry, Race, Report, Run};
use super::view::printable;
use super::{pair, selection, units};
use crate::contender::{Kind, Track};
use crate::record::Outcome;
use crate::stats::{HEADLINE_FLOOR_MAX, RatioInterval, Verdict, quantile};

/// How many of the worst rows are named.
const WORST: usize = 5;

/// What a contender did over a whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    pub contender: String,
    /// Of which run it speaks.
    pub run: String,
    /// How many blocks a race had.
    #[serde(skip)]
    blocks: String,
    pub is_tuned: bool,
    /// Others that did not complete all of the rows that count: each with how many it did.
    pub gaps: Vec<(String, usize)>,
    /// Those of them that were not built, and would have raced in rows that count: nobody knows how
    /// fast they are.
    pub not_built: Vec<String>,
    /// Its version and the flags of its build, which name the allocator where it is not the
    /// system's.
    pub build: String,
    /// Which allocator everybody had; `None` where nobody says.
    pub allocators: Option<String>,
    /// Contenders of the run that were asked to be left out of "all others".
    pub without: Vec<String>,
    /// Rows that count, the worst first.
    pub rows: Vec<Row>,
    /// Rows that do not, each with its reason.
    pub left_out: Vec<Remark>,
    /// Times in rows that count and should not be believed without a look: each row, and what its
    /// report says of the contender or of the best of the others. Work and forks that nobody
    /// counted are among it.
    pub doubtful: Vec<Remark>,
}

/// What is to be said of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    pub race: String,
    pub text: String,
}

/// One race that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub race: String,
    /// The best of the others, by its estimate.
    pub best_other: String,
    pub is_best_tuned: bool,
    /// Time ÷ time of the best of the others.
    pub ratio: f64,
    pub place: Place,
    /// The noise floor of the race: at least 1.
    pub floor: f64,
}

/// Where the contender stands among all of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Faster than every other one.
    First,
    /// Equivalent to those that it is not faster than.
    Tied,
    /// Slower than nobody; whether others are as fast, the data do not decide.
    NotDecided,
    /// Slower than another one.
    Behind,
}

impl Headline {
    /// Judges `contender` over all races of `report`.
    ///
    /// A race counts if the contender and another one completed it, and if its noise floor is known
    /// and no larger than [`HEADLINE_FLOOR_MAX`]; what does not count is listed. Baselines are no
    /// others: they are compared and never ranked.
    ///
    /// # Errors
    /// The contender, or one to be left out, is not in the run; or it is a baseline, which is never
    /// ranked.
    pub fn of(report: &Report, contender: &str, without: &[String]) -> Result<Self> {
        let find = |id: &str| report.contenders.iter().find(|known| known.id == id);
        for id in without.iter().map(String::as_str).chain([contender]) {
            if find(id).is_none() {
                let known = report.contenders.iter().map(|known| known.id.as_str());
                bail!(
                    "{id} is not in the run {}; {}",
                    report.run.id,
                    selection::instead(id, known)
                );
            }
        }
        let known = find(contender);
        if known.is_some_and(|known| known.kind == Kind::Baseline) {
            bail!("{contender} is a baseline: it is compared, and never ranked");
        }
        let build = [known.and_then(|c| c.version.clone()), known.and_then(|c| c.flags.clone())];
        let mut headline = Self {
            contender: contender.to_owned(),
            run: of_run(report),
            blocks: report.blocks_text(),
            is_tuned: known.is_some_and(|known| known.track == Track::Tuned),
            gaps: Vec::new(),
            not_built: Vec::new(),
            build: match build.into_iter().flatten().collect::<Vec<_>>() {
                facts if facts.is_empty() => "not built".to_owned(),
                facts => printable(&facts.join(", ")),
            },
            allocators: report.allocators(),
            without: without.to_vec(),
            rows: Vec::new(),
            left_out: Vec::new(),
            doubtful: Vec::new(),
        };
        let mut counted = Vec::new();
        for race in &report.races {
            match row(race, contender, without) {
                Ok(row) => {
                    counted.push(race);
                    headline.doubtful.extend(doubts(race, [contender, &row.best_other]));
                    headline.rows.push(row);
                }
                Err(text) => headline.left_out.push(Remark { race: race.label(), text }),
            }
        }
        headline.gaps = gaps(report, &headline, &counted);
        headline.not_built = not_built(report, &headline, &counted);
        headline.rows.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        Ok(headline)
    }

    /// Geometric mean of the ratios; `None` without a row.
    #[must_use]
    pub fn geometric_mean(&self) -> Option<f64> {
        let sum: f64 = self.rows.iter().map(|row| row.ratio.ln()).sum();
        (!self.rows.is_empty()).then(|| (sum / self.rows.len() as f64).exp())
    }

    /// Number of rows with this place.
    #[must_use]
    pub fn count(&self, place: Place) -> usize {
        self.rows.iter().filter(|row| row.place == place).count()
    }

    /// The least, the median and the largest noise floor of the rows that count.
    #[must_use]
    pub fn floors(&self) -> Option<[f64; 3]> {
        let mut floors: Vec<f64> = self.rows.iter().map(|row| row.floor).collect();
        floors.sort_by(f64::total_cmp);
        (!floors.is_empty()).then(|| [0.0, 0.5, 1.0].map(|p| quantile(&floors, p)))
    }

    /// As Markdown, which a terminal shows well enough; `run` is that of the report.
    #[must_use]
    pub fn text(&self, run: &Run) -> String {
        let mut out = String::new();
        let mean = self.geometric_mean().map_or(units::NONE.into(), units::ratio);
        let without = match &self.without[..] {
            [] => String::new(),
            without => format!(" (left out of these: {})", plain(&without.join(", "))),
        };
        let _ = writeln!(
            out,
            "{} ({}) ÷ the best of all others in each row{without}: {mean}, the geometric mean of {}. First in {}, tied \
             with the first in {}, not decided in {}, behind in {}.",
            plain(&marked(&self.contender, self.is_tuned)),
            plain(&self.build),
            units::plural(self.rows.len(), "row"),
            self.count(Place::First),
            self.count(Place::Tied),
            self.count(Place::NotDecided),
            self.count(Place::Behind),
        );
        let _ = writeln!(out, "\n{}", plain(&self.run));
        if let Some(interruptions) = &run.interruptions {
            let _ = writeln!(out, "\nThe run was {}.", plain(interruptions));
        }
        if !self.gaps.is_empty() {
            let each: Vec<String> = self
                .gaps
                .iter()
                .map(|(id, count)| format!("{id} {count} of {}", self.rows.len()))
                .collect();
            let _ = writeln!(
                out,
                "\nNot every other one completed all of these rows: {}.",
                plain(&each.join(", "))
            );
        }
        if !self.not_built.is_empty() {
            let _ = writeln!(
                out,
                "\nNot built, so that nothing is said about them: {}.",
                plain(&self.not_built.join(", "))
            );
        }
        if let Some(thinned) = &run.thinned {
            let _ = writeln!(out, "\n{}", plain(&thinned.text()));
        }
        if let Some(selection) = &run.selection {
            let races = self.rows.len() + self.left_out.len();
            let _ = writeln!(out, "\n{}", plain(&selection.text(races)));
        }
        if !self.rows.is_empty() {
            out.push_str("\nThe worst rows:\n\n");
        }
        for row in self.rows.iter().take(WORST) {
            let _ = writeln!(
                out,
                "- {}: {} of {}'s time, {}",
                plain(&row.race),
                units::ratio(row.ratio),
                plain(&marked(&row.best_other, row.is_best_tuned)),
                row.place.words()
            );
        }
        remarks(&mut out, "Doubtful times in rows that count", &self.doubtful);
        let left_out = format!("{} left out", units::plural(self.left_out.len(), "row"));
        remarks(&mut out, &left_out, &self.left_out);
        self.setting(&mut out, run);
        out
    }

    /// Where and how the rows were raced.
    fn setting(&self, out: &mut String, run: &Run) {
        let machine = &run.machine;
        let cpu = machine.cpu_model.as_deref().unwrap_or("an unknown CPU");
        let processors = machine.cores.map(|n| units::plural(n as usize, "processor"));
        let virtualised = machine.virtualisation.as_deref().filter(|name| *name != "none");
        let place: Vec<String> = [Some(cpu.to_owned()), processors, virtualised.map(str::to_owned)]
            .into_iter()
            .flatten()
            .collect();
        let floors = self.floors().map_or(String::new(), |floors| {
            let [least, median, largest] = floors.map(units::factor);
            format!(" Noise floors of the rows that count: {least} to {largest}, median {median}.")
        });
        let allocators = self
            .allocators
            .as_ref()
            .map_or(String::new(), |allocators| format!(" Allocator: {}.", plain(allocators)));
        let _ = writeln!(
            out,
            "\nRaced on {} with {}; suite {}, preset {}, {} a race.{floors}{allocators}\n\n```sh\n{}\n```",
            run.started_at.get(..10).unwrap_or(&run.started_at),
            plain(&place.join(", ")),
            plain(&run.suite),
            run.preset,
            self.blocks,
            printable(&run.command)
        );
    }
}

fn remarks(out: &mut String, head: &str, remarks: &[Remark]) {
    if !remarks.is_empty() {
        let _ = writeln!(out, "\n{head}:\n");
    }
    for Remark { race, text } in remarks {
        let _ = writeln!(out, "- {}: {}", plain(race), plain(text));
    }
}

impl Place {
    fn words(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Tied => "tied with the first",
            Self::NotDecided => "not decided",
            Self::Behind => "behind",
        }
    }
}

fn marked(id: &str, is_tuned: bool) -> String {
    if is_tuned { format!("{id} (tuned)") } else { id.to_owned() }
}

/// `Run 2025….`, and whether it came to its end.
fn of_run(report: &Report) -> String {
    let Run { id, state, .. } = &report.run;
    let state = if state == "finished" { String::new() } else { format!(", {state}") };
    printable(&format!("Run {id}{state}."))
}

/// Who of the others is missing in the races that count, and in how many of these it is there.
fn gaps(report: &Report, headline: &Headline, counted: &[&Race]) -> Vec<(String, usize)> {
    let completed = |id: &str| {
        let ok = |entry: &Entry| entry.contender == id && entry.outcome == Outcome::Ok;
        counted.iter().filter(|race| race.entries.iter().any(ok)).count()
    };
    let all = others(report, headline)
        .map(|known| (marked(&known.id, known.track == Track::Tuned), completed(&known.id)));
    all.filter(|(_, count)| *count < counted.len()).collect()
}

fn not_built(report: &Report, headline: &Headline, counted: &[&Race]) -> Vec<String> {
    let is_missing = |known: &&Contender| {
        let is = |entry: &Entry| entry.contender == known.id && entry.outcome == Outcome::NotBuilt;
        counted.iter().any(|race| race.entries.iter().any(is))
    };
    others(report, headline).filter(is_missing).map(|known| known.id.clone()).collect()
}

/// All that the headline is about beside its contender.
fn others<'a>(report: &'a Report, headline: &'a Headline) -> impl Iterator<Item = &'a Contender> {
    report.contenders.iter().filter(|known| {
        known.kind != Kind::Baseline
            && known.id != headline.contender
            && !headline.without.contains(&known.id)
    })
}

/// The row of a race, or why it does not count.
fn row(race: &Race, contender: &str, without: &[String]) -> Result<Row, String> {
    let Some(own) = race.entries.iter().find(|entry| entry.contender == contender) else {
        return Err("it was not entered".to_owned());
    };
    if own.outcome != Outcome::Ok {
        return Err(own.outcome.words());
    }
    if race.cpu_budget.is_some() {
        return Err("it has a CPU budget: a track of its own".to_owned());
    }
    let floor = pair::race_floor(race);
    if floor.a_a().is_none() {
        return Err("its noise floor is unknown".to_owned());
    }
    if floor.ratio() > HEADLINE_FLOOR_MAX {
        // Its own noise then takes a row out that it may have lost.
        let own = race.reference.as_deref() == Some(contender);
        let whose = if own { ", and that is its own: it was the reference" } else { "" };
        return Err(format!("its noise floor is {}{whose}", units::factor(floor.ratio())));
    }
    let is_other = |entry: &&Entry| {
        entry.contender != contender
            && entry.outcome == Outcome::Ok
            && entry.kind != Kind::Baseline
            && !without.contains(&entry.contender)
    };
    let mut best: Option<(&Entry, RatioInterval)> = None;
    let (mut slower, mut undecided, mut equivalent) = (false, false, false);
    for other in race.entries.iter().filter(is_other) {
        let Some((ratio, verdict)) = pair::between(race, own, other) else { continue };
        slower |= verdict == Verdict::Slower;
        undecided |= verdict == Verdict::Inconclusive;
        equivalent |= verdict == Verdict::Equivalent;
        if best.is_none_or(|(_, least)| ratio.point > least.point) {
            best = Some((other, ratio));
        }
    }
    let Some((other, ratio)) = best else { return Err("nobody else completed it".to_owned()) };
    Ok(Row {
        race: race.label(),
        best_other: other.contender.clone(),
        is_best_tuned: other.is_tuned(),
        ratio: ratio.point,
        place: match (slower, undecided, equivalent) {
            (true, ..) => Place::Behind,
            (_, true, _) => Place::NotDecided,
            (.., true) => Place::Tied,
            _ => Place::First,
        },
        floor: floor.ratio(),
    })
}

/// What makes the times of these contenders doubtful in a race, each with its label.
fn doubts(race: &Race, contenders: [&str; 2]) -> Vec<Remark> {
    let entries = race.entries.iter().filter(|entry| contenders.contains(&&*entry.contender));
    let of = |entry: &Entry| -> Vec<_> {
        let doubt = |doubt: String| Remark {
            race: race.label(),
            text: printable(&format!("{} {doubt}", entry.contender)),
        };
        entry.doubts.iter().cloned().chain(entry.uncounted()).map(doubt).collect()
    };
    entries.flat_map(of).collect()
}
