//! `palio bisect`: between which two releases a row changed.

use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Parser};
use serde_json::{Value, json};

use super::project::Project;
use super::{EXIT_CHECK_FAILED, EXIT_INTERRUPTED, Places, run, say, say_json};
use crate::bisect::{self, Compared, Side, Step};
use crate::record::{Outcome, RunRecord};
use crate::report::model::Race;
use crate::report::summary::report;
use crate::runner::race::End;
use crate::stats::Verdict;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The workload that changed, in one size, such as fib or timer/sleep/8
    workload: String,
    /// The contender, without a release: `ID[@KNOB=VALUE]…`
    #[arg(short, long, value_name = "CONTENDER")]
    contender: String,
    /// The releases, oldest first; the first and the last one are those that differ
    #[arg(long, value_name = "VERSION", value_delimiter = ',', required = true)]
    versions: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Options of `palio run` for every step, after `--`: such as -- -t 2 --until-floor 5%
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// The options of `palio run`, by themselves.
#[derive(Debug, Parser)]
#[command(name = "palio bisect … --", no_binary_name = true)]
struct Every {
    #[command(flatten)]
    options: run::Options,
}

/// How the search ended.
enum Found {
    /// Between these two.
    Between(usize, usize),
    /// With a reason.
    Unknown(String),
    Interrupted,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let search = Search::new(options, places)?;
    let (mut lines, mut steps) = (Vec::new(), Vec::new());
    let found = search.go(&mut |line, step| {
        steps.push(step);
        if options.json {
            lines.push(line);
            Ok(())
        } else {
            say(&line)
        }
    })?;
    let versions = &options.versions;
    let (code, between, sentence) = match found {
        Found::Interrupted => return Ok(ExitCode::from(EXIT_INTERRUPTED)),
        Found::Between(lo, hi) => (
            ExitCode::SUCCESS,
            Some([&versions[lo], &versions[hi]]),
            format!("It changed between {} and {}.", versions[lo], versions[hi]),
        ),
        Found::Unknown(why) => {
            (ExitCode::from(EXIT_CHECK_FAILED), None, format!("Cannot tell: {why}."))
        }
    };
    if options.json {
        let all = json!({ "between": between, "conclusion": sentence, "steps": steps });
        say_json(&all)?;
    } else {
        say(&sentence)?;
    }
    Ok(code)
}

struct Search<'a> {
    options: &'a Options,
    places: &'a Places,
    /// The contender with each release, as it is chosen and as it is then called.
    choices: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    fn new(options: &'a Options, places: &'a Places) -> Result<Self> {
        ensure!(options.versions.len() >= 2, "--versions wants two releases at least");
        let (head, knobs) = options.contender.split_once('@').unwrap_or((&options.contender, ""));
        let knobs = if knobs.is_empty() { String::new() } else { format!("@{knobs}") };
        let choices: Vec<String> = options
            .versions
            .iter()
            .map(|version| format!("{head}@version={version}{knobs}"))
            .collect();
        // Whatever cannot be had is refused before anything is built.
        let chosen = Project::load(places)?.choose(&choices)?;
        let names = chosen.iter().map(|choice| choice.unready().name());
        let choices = choices.iter().cloned().zip(names).collect();
        let search = Self { options, places, choices };
        let races = run::races(&search.every(&[0])?, places)?;
        if races.len() != 1 {
            bail!("that is more than one race: choose one of {}", races.join(", "));
        }
        Ok(search)
    }

    /// The options of `palio run` that race these releases.
    fn every(&self, of: &[usize]) -> Result<run::Options> {
        let chosen: Vec<&str> = of.iter().map(|&i| self.choices[i].0.as_str()).collect();
        let mut args = self.options.options.clone();
        args.extend(["-w".to_owned(), self.options.workload.clone()]);
        args.extend(["-c".to_owned(), chosen.join(",")]);
        args.extend(["--reference".to_owned(), self.choices[of[0]].1.clone()]);
        Ok(Every::try_parse_from(args)?.options)
    }

    fn go(&self, told: &mut dyn FnMut(String, Value) -> Result<()>) -> Result<Found> {
        let last = self.choices.len() - 1;
        // Those in the middle that can be raced.
        let mut middle: Vec<usize> = (1..last).collect();
        let (mut lo, mut hi) = (0, last);
        let mut is_whole_known = false;
        let mut change = None;
        loop {
            let between: Vec<usize> =
                middle.iter().copied().filter(|&i| lo < i && i < hi).collect();
            let Some(&at) = between.get(between.len() / 2) else {
                // Each end of what is left was compared with one end of the whole, and with that
                // one alone.
                let is_known = is_whole_known && (lo == 0 || hi == last);
                return if is_known {
                    Ok(Found::Between(lo, hi))
                } else {
                    self.pair(lo, hi, change, told)
                };
            };
            let Some(run) = self.race(&[0, at, last])? else { return Ok(Found::Interrupted) };
            let name = |i: usize| self.choices[i].1.as_str();
            let Some(step) = Step::of(&report(&run).races[0], [name(0), name(at), name(last)])
            else {
                if let Some(why) = failed(&run, name(0)).or_else(|| failed(&run, name(last))) {
                    return Ok(Found::Unknown(why));
                }
                let why = failed(&run, name(at)).context("a race without a failure has times")?;
                told(format!("{why}; it is left out"), json!({ "failed": name(at) }))?;
                middle.retain(|&i| i != at);
                continue;
            };
            let side = step.side();
            told(self.line(&run, at, &step), self.value(&run, at, &step))?;
            is_whole_known = true;
            change = Some(step.whole.verdict);
            match side {
                Side::First => lo = at,
                Side::Last => hi = at,
                Side::Neither => {
                    return Ok(Found::Unknown(format!(
                        "{} is like neither end, so that more than one release changed it; search on both sides of it",
                        name(at)
                    )));
                }
                Side::Unknown => return Ok(Found::Unknown(self.unknown(at, &step))),
            }
        }
    }

    /// There is nothing in the middle: whether these two differ, and in the way of the whole
    /// `change`, if that is known.
    fn pair(
        &self,
        lo: usize,
        hi: usize,
        change: Option<Verdict>,
        told: &mut dyn FnMut(String, Value) -> Result<()>,
    ) -> Result<Found> {
        let Some(run) = self.race(&[lo, hi])? else { return Ok(Found::Interrupted) };
        let [first, end] = [lo, hi].map(|i| self.choices[i].1.as_str());
        let Some(seen) = bisect::compare(&report(&run).races[0], end, first) else {
            let why = failed(&run, first).or_else(|| failed(&run, end));
            return Ok(Found::Unknown(why.context("a race without a failure has times")?));
        };
        let id = &run.header.id;
        let line = format!("{end} ÷ {first} = {} (run {id}){}", text(&seen), doubts_text(&run));
        let pair = [first, end];
        let doubts = doubts(&run);
        told(line, json!({ "run": id, "pair": pair, "seen": value(&seen), "doubts": doubts }))?;
        let is_apart = matches!(seen.verdict, Verdict::Faster | Verdict::Slower);
        Ok(if is_apart && change.is_none_or(|change| change == seen.verdict) {
            Found::Between(lo, hi)
        } else if change.is_some() {
            Found::Unknown(format!(
                "{first} is like the first and {end} like the last, but beside each other they do not show the change, \
                 which may be spread over several releases; more blocks (-- --blocks N) may help"
            ))
        } else {
            Found::Unknown(self.no_change(&seen))
        })
    }

    /// One run of these releases, of which the first is the reference; `None` if the user
    /// interrupted it.
    fn race(&self, of: &[usize]) -> Result<Option<RunRecord>> {
        let (_, run, end) = run::measure(&self.every(of)?, self.places)?;
        Ok((end == End::Finished).then_some(run))
    }

    fn line(&self, run: &RunRecord, at: usize, step: &Step) -> String {
        let [first, middle, last] =
            [0, at, self.choices.len() - 1].map(|i| self.choices[i].1.as_str());
        let belongs = match step.side() {
            Side::First => format!("like {first}"),
            Side::Last => format!("like {last}"),
            Side::Neither => "like neither".to_owned(),
            Side::Unknown => "not told apart".to_owned(),
        };
        format!(
            "{middle}: ÷ {first} = {}, ÷ {last} = {}: {belongs} (run {}){}",
            text(&step.to_first),
            text(&step.to_last),
            run.header.id,
            doubts_text(run)
        )
    }

    fn value(&self, run: &RunRecord, at: usize, step: &Step) -> Value {
        json!({
            "run": run.header.id,
            "version": self.options.versions[at],
            "whole": value(&step.whole),
            "to_first": value(&step.to_first),
            "to_last": value(&step.to_last),
            "doubts": doubts(run),
        })
    }

    fn unknown(&self, at: usize, step: &Step) -> String {
        if matches!(step.whole.verdict, Verdict::Faster | Verdict::Slower) {
            let name = &self.choices[at].1;
            return format!("{name} is told apart from neither end; more blocks may help");
        }
        self.no_change(&step.whole)
    }

    fn no_change(&self, whole: &Compared) -> String {
        let [first, last] = [0, self.choices.len() - 1].map(|i| self.choices[i].1.as_str());
        format!(
            "{last} ÷ {first} = {} is no difference beyond the noise; more blocks (-- --blocks N) may help",
            text(whole)
        )
    }
}

/// Whose times in a run should not be believed without a look: a step may hang on them.
fn doubts(run: &RunRecord) -> Vec<String> {
    report(run).races.iter().flat_map(Race::doubts).collect()
}

/// The same below the line of a step.
fn doubts_text(run: &RunRecord) -> String {
    doubts(run).iter().map(|doubt| format!("\n  doubtful: {doubt}")).collect()
}

/// Why a contender has no times in a run.
fn failed(run: &RunRecord, name: &str) -> Option<String> {
    let cells = run.races.iter().flat_map(|race| &race.cells);
    let cell = cells.filter(|c| c.contender == name).find(|c| c.outcome != Outcome::Ok)?;
    let why = cell.detail.as_deref().unwrap_or("for no reason that is known");
    Some(format!("{name} did not race: {}: {why}", cell.outcome.words()))
}

/// `1.31 [1.25, 1.38]`.
fn text(compared: &Compared) -> String {
    let ratio = compared.ratio;
    if ratio.is_bounded() {
        format!("{:.3} [{:.3}, {:.3}]", ratio.point, ratio.lo, ratio.hi)
    } else {
        format!("{:.3} (too few blocks for an interval)", ratio.point)
    }
}

fn value(compared: &Compared) -> Value {
    let ratio = compared.ratio;
    let bounds = ratio.is_bounded().then_some([ratio.lo, ratio.hi]);
    let verdict = match compared.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    };
    json!({ "ratio": ratio.point, "interval": bounds, "verdict": verdict })
}
