//! What is to be raced, and the run that comes of it before anything is built.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

use super::{MEMORY_MIB, Options, TIMEOUT_S};
use crate::cmd::project::{Choice, Project};
use crate::cmd::stable;
use crate::grid::Design;
use crate::machine;
use crate::plan::{Entrant, Plan, Shadows};
use crate::record::{ContenderRecord, Header, Limits, Outcome, RaceRecord, RepeatRule, RunRecord};
use crate::report::summary::shell_line;
use crate::runner::cgroup::{self, quota};
use crate::runner::libc_version;
use crate::runner::race::timestamp;
use crate::stats::FloorGoal;
use crate::workload::{Preset, Workload};

/// Above it, what others take no longer disappears in the noise floor.
const OUTSIDE_MAX_PERCENT: f64 = 5.0;

/// What was asked for, all of it known to exist.
pub(super) struct Selection<'a> {
    suite: String,
    preset: Preset,
    quick_budget_ms: Option<u64>,
    workloads: Vec<&'a Workload>,
    pub(super) choices: Vec<Choice>,
}

impl<'a> Selection<'a> {
    pub(super) fn of(project: &'a Project, options: &Options) -> Result<Self> {
        let catalogue = &project.catalogue;
        let (suite, default_preset, quick_budget_ms, workloads) = if options.workload.is_empty() {
            let suite = catalogue.suite(options.suite.as_deref().unwrap_or("quick"))?;
            let each = suite.workloads.iter().map(|id| catalogue.workload(id));
            let workloads = each.collect::<Result<Vec<_>>>()?;
            (suite.id.clone(), suite.preset, suite.quick_budget_ms, workloads)
        } else {
            let mut chosen: Vec<&Workload> = Vec::new();
            for pattern in &options.workload {
                for workload in catalogue.matching(pattern)? {
                    if !chosen.iter().any(|other| other.id == workload.id) {
                        chosen.push(workload);
                    }
                }
            }
            ("custom".to_owned(), Preset::Quick, None, chosen)
        };
        let selection = Self {
            suite,
            preset: options.preset.unwrap_or(default_preset),
            quick_budget_ms,
            workloads,
            choices: project.choose_with(
                &[&options.contender[..], &options.more_contenders].concat(),
                options.allocator.as_deref(),
            )?,
        };
        selection.check_blocks(options)?;
        // Thread counts and the reference are checked here too, before any contender is ready.
        let entrants = selection.choices.iter().map(Choice::unready).collect();
        check_knobs(&selection.choices, &selection.plan(entrants, options).races()?)?;
        Ok(selection)
    }

    pub(super) fn plan(&self, entrants: Vec<Entrant>, options: &Options) -> Plan<'a> {
        Plan {
            workloads: self.workloads.clone(),
            entrants,
            preset: self.preset,
            threads: (!options.threads.is_empty()).then(|| options.threads.clone()),
            cores: machine::cores(),
            reference: options.reference.clone(),
            shadows: options.shadow,
            budgets: options.cpu_budget,
            no_budget: options.cpu_budget.and_then(|_| quota::refusal()),
        }
    }

    fn is_quick(&self) -> bool {
        self.preset == Preset::Quick
    }

    pub(super) fn blocks(&self, options: &Options) -> u32 {
        options.blocks.unwrap_or(if self.is_quick() { 5 } else { 15 })
    }

    /// Refuses a most of blocks below their least, of which one would be ignored.
    fn check_blocks(&self, options: &Options) -> Result<()> {
        let blocks = self.blocks(options);
        let Some(most) = options.blocks_max.filter(|&most| most < blocks) else { return Ok(()) };
        let whose = match options.blocks {
            Some(_) => format!("--blocks {blocks}"),
            None => format!("the {blocks} blocks of a race here"),
        };
        bail!(
            "--blocks-max {most} is below {whose}: give --blocks-max {blocks} or more, or --blocks {most} or fewer"
        )
    }

    pub(super) fn limits(&self, options: &Options) -> Limits {
        let quick = self.is_quick();
        let unasked = match (options.cold, quick) {
            (true, _) => 0,
            (false, true) => 30,
            (false, false) => 500,
        };
        Limits {
            budget_ms: options
                .budget
                .unwrap_or_else(|| if quick { self.quick_budget_ms.unwrap_or(120) } else { 1000 }),
            warm_up_ms: options.warm_up.unwrap_or(unasked),
            cold: options.cold,
            samples: options.samples,
            timeout_ms: options.timeout * 1000,
            memory_mib: options.memory,
        }
    }

    /// Lays out the run by what the contenders claim; none of them is built yet.
    pub(super) fn lay_out(&self, options: &Options) -> Result<RunRecord> {
        let entrants: Vec<Entrant> = self.choices.iter().map(Choice::unready).collect();
        let mut records: Vec<ContenderRecord> = entrants.iter().map(stable::record).collect();
        let races = self.plan(entrants, options).races()?;
        // Who is needed by no race is not built either.
        for record in &mut records {
            if !races.iter().any(|race| race.needs().any(|name| name == record.id)) {
                record.absent = Some(no_race_for(&record.id, &races));
            }
        }
        if !races.iter().flat_map(|race| &race.cells).any(|cell| cell.outcome == Outcome::Pending) {
            bail!("{}", nobody_can_race(&races));
        }
        let seed = options.seed.unwrap_or_else(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |now| (now.as_nanos() % 1_000_000_007) as u64)
        });
        let started_at = timestamp();
        let machine = machine::inspect(libc_version(), cgroup::description());
        let digits: String = started_at.chars().filter(char::is_ascii_digit).collect();
        let blocks = self.blocks(options);
        let header = Header {
            id: format!(
                "{}-{}-{}",
                &digits[..8],
                &digits[8..],
                SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_micros()
            ),
            suite: self.suite.clone(),
            preset: self.preset,
            blocks,
            seed,
            limits: self.limits(options),
            until_floor: options.until_floor.map(|percent| FloorGoal {
                ratio: 1.0 + percent / 100.0,
                blocks_max: options.blocks_max.unwrap_or(blocks.saturating_mul(4)),
            }),
            repeat: options.outside_max.or((!self.is_quick()).then_some(OUTSIDE_MAX_PERCENT)).map(
                |percent| {
                    let repeats_max = options.repeats_max.unwrap_or(blocks.div_ceil(3));
                    RepeatRule { outside_max: percent / 100.0, repeats_max }
                },
            ),
            started_at,
            finished_at: None,
            resumed_at: Vec::new(),
            palio_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command(options, seed),
            design: options.verb.as_ref().map(|verb| verb.design.clone()),
            warnings: machine::standing_warnings(&machine),
            machine,
            thinned: None,
        };
        Ok(RunRecord { header, contenders: records, races })
    }

    /// The command that repeats this run, in the same order.
    fn command(&self, options: &Options, seed: u64) -> String {
        let verb = options.verb.as_ref();
        let run = || vec!["palio".to_owned(), "run".to_owned()];
        let mut words = verb.map_or_else(run, |verb| verb.words.clone());
        if options.workload.is_empty() {
            // `scale` has its rows where others have a suite.
            let is_scale = verb.is_some_and(|verb| verb.design == Design::Scale);
            words.extend(is_scale.then(|| "--suite".to_owned()));
            words.push(self.suite.clone());
        }
        let is_sweep = verb.is_some_and(|verb| matches!(verb.design, Design::Sweep(_)));
        let threads: Vec<String> = options.threads.iter().map(u32::to_string).collect();
        let threads = (!threads.is_empty()).then(|| threads.join(","));
        let shadow = (options.shadow == Shadows::All).then(|| "all".to_owned());
        let unusual = |value: u64, usual: u64| (value != usual).then(|| value.to_string());
        let settings = [
            ("-w", options.workload.clone()),
            ("-c", if is_sweep { Vec::new() } else { options.contender.clone() }),
            ("--allocator", options.allocator.iter().cloned().collect()),
            ("-t", threads.into_iter().collect()),
            ("--preset", options.preset.iter().map(Preset::to_string).collect()),
            ("--blocks", options.blocks.iter().map(u32::to_string).collect()),
            ("--until-floor", options.until_floor.iter().map(f64::to_string).collect()),
            ("--blocks-max", options.blocks_max.iter().map(u32::to_string).collect()),
            ("--outside-max", options.outside_max.iter().map(f64::to_string).collect()),
            ("--repeats-max", options.repeats_max.iter().map(u32::to_string).collect()),
            ("--budget", options.budget.iter().map(u64::to_string).collect()),
            ("--warm-up", options.warm_up.iter().map(u64::to_string).collect()),
            ("--samples", options.samples.iter().map(u32::to_string).collect()),
            ("--reference", options.reference.iter().filter(|_| !is_sweep).cloned().collect()),
            ("--shadow", shadow.into_iter().collect()),
            ("--timeout", unusual(options.timeout, TIMEOUT_S).into_iter().collect()),
            ("--memory", unusual(options.memory, MEMORY_MIB).into_iter().collect()),
            ("--seed", vec![seed.to_string()]),
        ];
        words.extend(options.cold.then(|| "--cold".to_owned()));
        words.extend(options.cpu_budget.iter().map(|tracks| format!("--cpu-budget={tracks}")));
        for (option, values) in settings {
            words.extend(values.into_iter().flat_map(|value| [option.to_owned(), value]));
        }
        shell_line(&words)
    }
}

/// Refuses a knob by the name of what a row sets itself: it would turn the row, not the runtime.
fn check_knobs(choices: &[Choice], races: &[RaceRecord]) -> Result<()> {
    for (choice, race) in choices.iter().flat_map(|choice| races.iter().map(move |r| (choice, r))) {
        let variants = race.cells.iter().flat_map(|cell| cell.variant.keys());
        let set: Vec<&String> = race.params.keys().chain(variants).collect();
        if let Some(key) = choice.knobs.keys().find(|key| set.contains(key)) {
            bail!(
                "{} cannot have the knob {key} in {}, which sets {key} itself: its work would be another one",
                choice.name(),
                race.workload
            );
        }
    }
    Ok(())
}

/// Why a contender takes part in no race.
fn no_race_for(contender: &str, races: &[RaceRecord]) -> String {
    let mine = races.iter().flat_map(|race| &race.cells).filter(|cell| cell.contender == contender);
    let mut reasons: Vec<&str> = mine.filter_map(|cell| cell.detail.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    match reasons[..] {
        [reason] => reason.to_owned(),
        _ => "takes part in none of these races".to_owned(),
    }
}

/// Why no contender can race, and what would change that.
pub(super) fn nobody_can_race(races: &[RaceRecord]) -> String {
    // Each with all whom it keeps out.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    // What no contender is to blame for stands there once.
    let cells = || races.iter().flat_map(|race| &race.cells);
    let same = cells().next().and_then(|cell| cell.detail.as_deref());
    if let Some(same) = same.filter(|same| same.starts_with(cgroup::NO_BUDGET))
        && cells().all(|cell| cell.detail.as_deref() == Some(same))
    {
        return format!("none of these contenders can race: they {same}");
    }
    for cell in cells() {
        let reason = cell.detail.as_deref().unwrap_or("failed");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) if names.contains(&cell.contender.as_str()) => {}
            Some((_, names)) => names.push(&cell.contender),
            None => reasons.push((reason, vec![&cell.contender])),
        }
    }
    let is_told = reasons.iter().any(|(reason, _)| reason.contains("uses at most"));
    let hint = if is_told { "" } else { "; `palio doctor` says what is missing here" };
    let reasons: Vec<String> =
        reasons.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect();
    format!(
        "none of these contenders can race any of these workloads: {}{hint}",
        reasons.join("; ")
    )
}
