//! Two runs side by side: what changed from one to the other.

use anyhow::{Result, bail};
use serde::Serialize;

use crate::record::{ContenderRecord, Limits, Outcome, RunRecord};
use crate::report::model::{Entry, Interval, NoiseFloor, Race, Report};
use crate::report::pair::blocks;
use crate::report::{needed, summary, units};
use crate::stats::{EquivalenceMargin, RatioInterval, Statistic};

/// What changed between two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub a: String,
    pub b: String,
    /// The contender by which times are divided, if any.
    pub anchor: Option<String>,
    /// The run, where A and B are contenders of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// What makes the two runs hard to compare.
    pub warnings: Vec<String>,
    pub changes: Vec<Change>,
    /// What has changed of the anchor, if anything: then it is none.
    #[serde(skip)]
    pub anchor_changed: Option<String>,
}

/// One cell in both runs.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    pub workload: String,
    pub threads: u32,
    pub contender: String,
    /// `fib n=27 · 2 threads`.
    #[serde(skip)]
    pub race: String,
    /// What is ranked of it in A and in B, in ns: the median, or the race's statistic. `None` where
    /// it did not complete.
    pub a_ns: Option<f64>,
    pub b_ns: Option<f64>,
    /// Whether these are times, and not counts.
    #[serde(skip)]
    pub is_time: bool,
    /// Time in B ÷ time in A, each divided by the anchor's time in its run if there is an anchor;
    /// `None` if it did not complete in both.
    pub ratio: Option<Interval>,
    /// The largest noise floor of the two races, and of the contender in them where it has one.
    pub noise_floor: Option<f64>,
    /// The verdict in a word, or why there is none.
    pub note: String,
    /// About how many blocks of both runs would give a verdict, where there is none and some number
    /// would.
    pub blocks_needed: Option<usize>,
    /// It completed A and failed in B.
    #[serde(skip)]
    pub fails_now: bool,
}

/// The note where times differ, or do not, and nothing tells whether the machine did it.
pub const UNKNOWN: &str = "cannot tell machine from contender";

/// What begins the note of a contender that has a name of its own.
pub const RACED_AS: &str = "Raced as ";

/// The note where nobody knows how much of a difference is noise.
pub(super) const UNKNOWN_FLOOR: &str = "inconclusive: the noise floor is unknown";

impl Comparison {
    /// `1 equivalent; 2 slower, 3 faster, 4 inconclusive`, the last of which are all others.
    pub fn tally(&self) -> String {
        let count = |note: &str| self.changes.iter().filter(|change| change.note == note).count();
        let [equivalent, slower, faster] = ["equivalent", "slower", "faster"].map(count);
        let unfinished = self.changes.iter().filter(|change| change.ratio.is_none()).count();
        let inconclusive = self.changes.len() - equivalent - slower - faster - unfinished;
        format!(
            "{equivalent} equivalent, {unfinished} not completed in both; \
             {slower} slower, {faster} faster, {inconclusive} inconclusive"
        )
    }
}

/// What a comparison comes to under a threshold.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// The least factor that is too much.
    pub limit: f64,
    pub has_passed: bool,
    /// What became slower by more than that, beyond the noise, or fails now: the cell and what is
    /// known of it, each a sentence without its full stop.
    pub regressions: Vec<String>,
    /// Of these, how many fail now. They come last.
    pub failing: usize,
    /// What may have become slower by more than that, as far as the noise lets one see.
    pub not_excluded: Vec<String>,
    /// How many changes were not judged because their noise floor is unknown.
    pub without_floor: usize,
    /// How many completed in both and were not judged because the anchor did not race beside them
    /// in both.
    pub without_anchor: usize,
    /// How many changes were judged.
    pub judged: usize,
}

impl Comparison {
    /// Whether anything became slower by more than the factor `limit`, and beyond the noise.
    ///
    /// # Errors
    /// The anchor is none, or nothing could be judged: that no cell is slower would then say
    /// nothing.
    pub fn judge(&self, limit: f64) -> Result<Judgement> {
        if let Some(changed) = &self.anchor_changed {
            bail!("{changed}; nothing can be judged by it: choose another one");
        }
        let (failing, slower): (Vec<&Change>, Vec<&Change>) = self
            .changes
            .iter()
            .filter(|change| change.regressed(limit))
            .partition(|change| change.fails_now);
        let regressions: Vec<String> =
            slower.iter().chain(&failing).map(|change| change.told()).collect();
        // Without a floor, no difference is ever one.
        let is_judged = |change: &&Change| {
            change.noise_floor.is_some() && change.ratio.is_some_and(|ratio| ratio.lo.is_some())
        };
        let judged = self.changes.iter().filter(is_judged).count();
        if judged == 0 && regressions.is_empty() {
            let why =
                self.changes.first().map_or("no contender raced in both", |c| c.note.as_str());
            bail!(
                "nothing can be judged between {} and {}: {why}; each needs {} blocks or more of the same \
                 contenders in the same rows",
                self.a,
                self.b,
                crate::stats::MIN_BLOCKS
            );
        }
        let without_floor =
            self.changes.iter().filter(|change| change.note == UNKNOWN_FLOOR).count();
        let is_ok = |change: &&Change| change.a_ns.is_some() && change.b_ns.is_some();
        let without_anchor =
            self.changes.iter().filter(is_ok).filter(|change| change.ratio.is_none()).count();
        let may_be_slower = |change: &&Change| {
            change.ratio.is_some_and(|ratio| ratio.hi.is_none_or(|hi| hi > limit))
                && !change.regressed(limit)
        };
        let not_excluded = self.changes.iter().filter(may_be_slower).map(Change::told).collect();
        Ok(Judgement {
            limit,
            has_passed: regressions.is_empty(),
            regressions,
            failing: failing.len(),
            not_excluded,
            without_floor,
            without_anchor,
            judged,
        })
    }
}

impl Change {
    /// `fib n=27 · 2 threads: go takes 1.31 [1.25, 1.38] times as long`.
    fn told(&self) -> String {
        let (race, contender) = (&self.race, &self.contender);
        match self.ratio {
            Some(ratio) => format!(
                "{race}: {contender} takes {} {} times as long ({})",
                units::fine(ratio.point),
                units::fine_limits(ratio.lo, ratio.hi),
                self.note
            ),
            None => format!("{race}: {contender}: {}", self.note),
        }
    }

    /// Whether it became slower beyond noise and by more than the factor `limit`, or fails now.
    pub fn regressed(&self, limit: f64) -> bool {
        let slower = self.note == "slower" && self.ratio.is_some_and(|ratio| ratio.point > limit);
        slower || self.fails_now
    }
}

/// Compares every cell that stands in both runs.
///
/// Each time is divided by that of `anchor` in the same block of its own run: a contender that has
/// not changed from A to B, so that what remains is no change of the machine. Without an anchor
/// the ratio of times is shown, and nothing is concluded.
///
/// # Errors
/// No race stands in both, or the anchor did not race in both.
pub fn compare(a: &RunRecord, b: &RunRecord, anchor: Option<&str>) -> Result<Comparison> {
    let (report_a, report_b) = (summary::report(a), summary::report(b));
    let same = |x: &Race, y: &Race| {
        x.workload == y.workload
            && (x.threads, x.cpu_budget) == (y.threads, y.cpu_budget)
            && x.params == y.params
            && x.statistic == y.statistic
            && (x.ops, x.scope, &x.unit) == (y.ops, y.scope, &y.unit)
            // Of a salted race it is the answer under the salt 0: another one is of other work.
            && (x.salted, &x.answer) == (y.salted, &y.answer)
    };
    let pairs: Vec<[&Race; 2]> = report_a
        .races
        .iter()
        .filter_map(|race| Some([race, report_b.races.iter().find(|other| same(race, other))?]))
        .collect();
    if pairs.is_empty() {
        bail!("the runs {} and {} have no race in common", a.header.id, b.header.id);
    }
    let mut warnings = Vec::new();
    let mut anchor_changed = None;
    if let Some(anchor) = anchor {
        for run in [a, b] {
            if run.contender(anchor).is_none() {
                bail!("the anchor {anchor} did not race in the run {}", run.header.id);
            }
        }
        anchor_changed = changed(a, b, anchor);
        warnings.extend(anchor_changed.clone());
        let program = |run: &RunRecord| run.contender(anchor).and_then(|c| c.program.clone());
        if anchor_changed.is_none() && program(a) != program(b) {
            warnings.push(format!(
                "the program of the anchor {anchor} is not the same file in both runs, although it says the same version"
            ));
        }
    }
    warnings.extend(plans(a, b));
    for (name, run) in [("A", a), ("B", b)] {
        if run.header.finished_at.is_none() {
            warnings.push(format!("{name} is not finished: what is missing is not compared"));
        }
    }
    for (run, all, others) in [("A", &report_a, &report_b), ("B", &report_b, &report_a)] {
        let alone = |race: &&Race| !others.races.iter().any(|other| same(race, other));
        let alone: Vec<String> = all.races.iter().filter(alone).map(Race::label).collect();
        if !alone.is_empty() {
            warnings.push(format!("only in {run}: {}", alone.join(", ")));
        }
        // Of the races that both have. A check that passes says nothing about them.
        let shared = |race: &&Race| others.races.iter().any(|other| same(race, other));
        let has_raced = |report: &Report, id: &str| {
            let mut entries = report.races.iter().filter(shared).flat_map(|race| &race.entries);
            entries.any(|entry| entry.contender == id)
        };
        let ids = all.contenders.iter().map(|contender| contender.id.as_str());
        let gone = ids.filter(|id| has_raced(all, id));
        let gone: Vec<&str> =
            gone.filter(|id| !others.contenders.iter().any(|other| other.id == *id)).collect();
        if !gone.is_empty() {
            warnings.push(format!("only {run} has these contenders: {}", gone.join(", ")));
        }
    }
    if a.header.machine.fingerprint != b.header.machine.fingerprint {
        warnings.push(
            "the runs come from different machines; only ratios within each run mean anything"
                .to_owned(),
        );
    }
    let mut others = Vec::new();
    for (name, report) in [("A", &report_a), ("B", &report_b)] {
        warnings.extend(report.run.thinned.map(|thinned| format!("{name}: {}", thinned.text())));
        let interruptions = report.run.interruptions.as_ref();
        warnings.extend(interruptions.map(|text| format!("{name} was {text}")));
    }
    warnings.extend(of_the_runs(&a.header.warnings, &b.header.warnings));
    for contender in &b.contenders {
        let Some(before) = a.contender(&contender.id) else { continue };
        if before.base != contender.base {
            warnings.push(format!(
                "{} is not the same contender: {} in A, {} in B",
                contender.id, before.base, contender.base
            ));
            others.push(contender.id.clone());
            continue;
        }
        let known_as = raced_as(before).zip(raced_as(contender)).filter(|(was, is)| was != is);
        warnings.extend(
            known_as.map(|(was, is)| format!("{} is {was} in A and {is} in B", contender.id)),
        );
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let built = [(&before.toolchain, &contender.toolchain), (&before.flags, &contender.flags)];
        for (was, is) in built.into_iter().filter(|(was, is)| was != is) {
            let (id, was, is) = (&contender.id, text(was), text(is));
            warnings.push(format!("{id} was built with {was} in A and with {is} in B"));
        }
    }
    warnings.extend(pairs.iter().flat_map(|[x, y]| work(x, y)));
    // A time that should not be believed is no faster one.
    warnings.extend(pairs.iter().flat_map(|races| ["A", "B"].into_iter().zip(races)).flat_map(
        |(name, race)| {
            let doubts = race.entries.iter().flat_map(Entry::doubts_text);
            doubts.map(move |doubt| format!("{name}, {}: {doubt}", race.label()))
        },
    ));
    let is_other = |entry: &Entry| others.contains(&entry.contender);
    let is_anchored = anchor_changed.is_none();
    let changes = pairs
        .iter()
        .flat_map(|&[x, y]| {
            let entries = y.entries.iter().filter(|entry| !is_other(entry));
            entries.filter_map(move |entry| {
                let before = x.entries.iter().find(|other| other.contender == entry.contender)?;
                (Some(entry.contender.as_str()) != anchor)
                    .then(|| change([x, y], [before, entry], anchor, is_anchored))
            })
        })
        .collect();
    Ok(Comparison {
        a: a.header.id.clone(),
        b: b.header.id.clone(),
        anchor: anchor.map(str::to_owned),
        within: None,
        warnings,
        changes,
        anchor_changed,
    })
}

/// What each of two runs warns of, such as others that raced at the same time: what both warn of
/// alike, once.
fn of_the_runs(a: &[String], b: &[String]) -> Vec<String> {
    let of_a = a.iter().map(|warning| match b.contains(warning) {
        true => format!("A and B: {warning}"),
        false => format!("A: {warning}"),
    });
    let alone = b.iter().filter(|warning| !a.contains(warning));
    of_a.chain(alone.map(|warning| format!("B: {warning}"))).collect()
}

/// How the contender `id` differs between two runs in what it says of itself.
fn changed(a: &RunRecord, b: &RunRecord, id: &str) -> Option<String> {
    let said = |run: &RunRecord| {
        let known = run.contender(id)?;
        let all = [&known.runtime, &known.version, &known.toolchain, &known.flags];
        let raced_as = raced_as(known).unwrap_or_default().to_owned();
        let track = known.track.to_string();
        let all = all.map(|text| text.clone().unwrap_or_default());
        Some([known.base.clone(), track, raced_as].into_iter().chain(all))
    };
    let (a, b) = said(a).zip(said(b))?;
    let (was, is) = a.zip(b).find(|(was, is)| was != is)?;
    Some(format!("the anchor {id} is not the same in both runs: {was} in A, {is} in B"))
}

/// What a contender with a name of its own was raced as, with the knobs that were turned: without
/// such a name, these are in its id.
fn raced_as(known: &ContenderRecord) -> Option<&str> {
    let (_, notes) = known.notes.as_deref()?.split_once(RACED_AS)?;
    let (_, known_as) = notes.split_once(": ")?;
    let end = known_as.find(". ").unwrap_or_else(|| known_as.trim_end_matches('.').len());
    Some(&known_as[..end])
}

/// What differs between two races of one name: what the catalogue says of their work, and by which
/// variant a contender was fastest.
fn work(x: &Race, y: &Race) -> Vec<String> {
    let told = x.origin.is_some() && y.origin.is_some() && x.origin != y.origin;
    let told = told.then(|| {
        format!("{}: what the catalogue says of its work differs; it may have changed", y.label())
    });
    let variants = y.entries.iter().filter_map(|entry| {
        let before = x.entries.iter().find(|other| other.contender == entry.contender)?;
        let (was, is) = before.variant.as_ref().zip(entry.variant.as_ref())?;
        (was != is).then(|| {
            format!(
                "{}: {} was fastest with {was} in A, with {is} in B",
                y.label(),
                entry.contender
            )
        })
    });
    told.into_iter().chain(variants).collect()
}

fn warm_up(limits: &Limits) -> String {
    if limits.cold { "none".to_owned() } else { format!("{} ms", limits.warm_up_ms) }
}

fn budget(limits: &Limits) -> String {
    match limits.samples {
        Some(samples) => format!("{samples} sample(s) of one iteration"),
        None => format!("{} ms", limits.budget_ms),
    }
}

/// What was planned differently.
fn plans(a: &RunRecord, b: &RunRecord) -> Option<String> {
    let plan = |run: &RunRecord| {
        let header = &run.header;
        [
            ("preset", header.preset.to_string()),
            ("warm-up", warm_up(&header.limits)),
            ("budget", budget(&header.limits)),
            ("palio", header.palio_version.clone()),
        ]
    };
    let pairs = plan(a).into_iter().zip(plan(b)).filter(|(a, b)| a != b);
    let differ: Vec<String> =
        pairs.map(|((what, a), (_, b))| format!("{what} {a} in A, {b} in B")).collect();
    (!differ.is_empty()).then(|| format!("the runs were not made alike: {}", differ.join("; ")))
}

fn change(
    races: [&Race; 2],
    entries: [&Entry; 2],
    anchor: Option<&str>,
    is_anchored: bool,
) -> Change {
    let ([x, y], [before, after]) = (races, entries);
    let own = [before, after].map(|entry| entry.noise_floor).into_iter().filter(Option::is_some);
    let noise_floor = widest([x.noise_floor, y.noise_floor].into_iter().chain(own));
    let mut change = Change {
        workload: y.workload.clone(),
        threads: y.threads,
        contender: after.contender.clone(),
        race: y.label(),
        a_ns: before.value_ns.filter(|_| before.outcome == Outcome::Ok),
        b_ns: after.value_ns.filter(|_| after.outcome == Outcome::Ok),
        is_time: y.statistic.is_none_or(Statistic::is_time),
        ratio: None,
        noise_floor,
        note: String::new(),
        blocks_needed: None,
        fails_now: is_failure(before.outcome, after.outcome),
    };
    if before.outcome != Outcome::Ok || after.outcome != Outcome::Ok {
        change.note = if before.outcome == after.outcome {
            after.outcome.to_string()
        } else {
            format!("{} → {}", before.outcome, after.outcome)
        };
        return change;
    }
    // Blocks of two runs were not raced together, so a pair shares no drift; the interval is as
    // wide as that makes it.
    let anchored = |race: &Race, entry: &Entry| {
        let times = blocks(race, entry)?;
        let Some(anchor) = anchor else { return Some(times.in_order()) };
        let anchor = race.entries.iter().find(|other| other.contender == anchor)?;
        let anchor = blocks(race, anchor).filter(|_| anchor.outcome == Outcome::Ok)?;
        Some(times.relative_to(&anchor).in_order())
    };
    let ratio = anchored(y, after)
        .zip(anchored(x, before))
        .and_then(|(after, before)| RatioInterval::between(&after, &before));
    let Some(ratio) = ratio else {
        change.note = match anchor {
            Some(anchor) => format!("no block in common with {anchor} in both runs"),
            None => "no block in common".to_owned(),
        };
        return change;
    };
    let bounded = ratio.is_bounded();
    change.ratio = Some(Interval {
        point: ratio.point,
        lo: bounded.then_some(ratio.lo),
        hi: bounded.then_some(ratio.hi),
    });
    if (anchor.is_none() || !is_anchored) && bounded {
        change.note = UNKNOWN.to_owned();
        return change;
    }
    change.note = word(&ratio, noise_floor).to_owned();
    if change.note == "inconclusive" {
        let floors = [x.noise_floor, y.noise_floor, before.noise_floor, after.noise_floor];
        change.blocks_needed = change
            .ratio
            .and_then(|seen| needed::blocks(seen, ratio.blocks, floors.into_iter().flatten()));
    }
    change
}

/// The floor of both runs, which is unknown if that of one is.
fn widest(floors: impl Iterator<Item = Option<NoiseFloor>>) -> Option<f64> {
    floors
        .map(|floor| floor.and_then(|floor| floor.ratio))
        .reduce(|a, b| Some(a?.max(b?)))
        .flatten()
}

/// Whether a contender fails that did not. Who refuses, or has not raced to the end, has not
/// failed.
fn is_failure(before: Outcome, after: Outcome) -> bool {
    before == Outcome::Ok && !matches!(after, Outcome::Ok | Outcome::Unsupported | Outcome::Pending)
}

/// What the data say of a contender's time in B ÷ its time in A, both in units of the anchor's.
fn word(ratio: &RatioInterval, noise_floor: Option<f64>) -> &'static str {
    let margin = EquivalenceMargin::default().ratio();
    let beyond = |floor: f64| ratio.point > floor || ratio.point < 1.0 / floor;
    let bounded = ratio.is_bounded();
    let clear = bounded && (ratio.lo > 1.0 || ratio.hi < 1.0);
    match noise_floor {
        Some(floor) if clear && beyond(floor) && ratio.point > 1.0 => "slower",
        Some(floor) if clear && beyond(floor) => "faster",
        Some(floor) if floor <= margin && ratio.lo >= 1.0 / margin && ratio.hi <= margin => {
            "equivalent"
        }
        None if bounded => UNKNOWN_FLOOR,
        _ => "inconclusive",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(lo: f64, point: f64, hi: f64) -> RatioInterval {
        RatioInterval { point, lo, hi, blocks: 6 }
    }

    #[test]
    fn a_change_is_clear_of_one_and_beyond_the_floor() {
        let slower = ratio(1.1, 1.2, 1.3);
        assert_eq!(word(&slower, Some(1.1)), "slower");
        assert_eq!(word(&slower.inverse(), Some(1.1)), "faster");
        assert_eq!(word(&slower, Some(1.25)), "inconclusive", "as noise is");
        assert_eq!(word(&ratio(0.9, 1.2, 1.5), Some(1.1)), "inconclusive", "it may be none");
        assert_eq!(word(&slower, None), UNKNOWN_FLOOR);
        assert_eq!(word(&ratio(0.0, 1.2, f64::INFINITY), None), "inconclusive");
    }

    #[test]
    fn equivalence_needs_a_floor_within_the_margin() {
        let even = ratio(0.97, 1.0, 1.03);
        assert_eq!(word(&even, Some(1.04)), "equivalent");
        assert_eq!(word(&even, Some(1.06)), "inconclusive");
        assert_eq!(word(&ratio(0.94, 1.0, 1.03), Some(1.04)), "inconclusive");
        assert_eq!(word(&ratio(0.97, 1.0, 1.06), Some(1.04)), "inconclusive");
    }

    #[test]
    fn the_floor_is_the_widest_and_unknown_if_one_is() {
        let shadow = Interval { point: 1.0, lo: None, hi: None };
        let floor = |ratio: f64| Some(NoiseFloor { ratio: Some(ratio), shadow });
        assert_eq!(widest([floor(1.3), floor(1.1)].into_iter()), Some(1.3));
        assert_eq!(widest([floor(1.1), floor(1.3)].into_iter()), Some(1.3));
        assert_eq!(widest([floor(1.1), None].into_iter()), None);
        assert_eq!(widest([None, floor(1.1)].into_iter()), None);
    }

    #[test]
    fn who_refuses_or_has_not_raced_to_the_end_does_not_fail() {
        use Outcome::{Crashed, Ok, Pending, TimedOut, Unsupported, WrongAnswer};
        for after in [Crashed, TimedOut, WrongAnswer] {
            assert!(is_failure(Ok, after), "{after}");
            assert!(!is_failure(Crashed, after), "{after}: it failed before");
        }
        for after in [Ok, Pending, Unsupported] {
            assert!(!is_failure(Ok, after), "{after}");
        }
    }

    #[test]
    fn what_may_be_slower_than_the_limit_is_told_also_where_nothing_bounds_it() {
        let change = |contender: &str, hi: Option<f64>| Change {
            workload: "echo".to_owned(),
            threads: 1,
            contender: contender.to_owned(),
            race: "echo".to_owned(),
            a_ns: Some(1.0),
            b_ns: Some(1.0),
            is_time: true,
            ratio: Some(Interval { point: 1.0, lo: hi.map(|hi| 1.0 / hi), hi }),
            noise_floor: Some(1.01),
            note: "inconclusive".to_owned(),
            blocks_needed: None,
            fails_now: false,
        };
        let changes =
            vec![change("sure", Some(1.04)), change("wide", Some(1.06)), change("few", None)];
        let comparison = Comparison {
            a: "a".to_owned(),
            b: "b".to_owned(),
            anchor: Some("anchor".to_owned()),
            within: None,
            warnings: Vec::new(),
            changes,
            anchor_changed: None,
        };
        let judgement = comparison.judge(1.05).unwrap();
        assert!(judgement.has_passed);
        let names = ["wide", "few"];
        assert_eq!(judgement.not_excluded.len(), names.len());
        for (text, name) in judgement.not_excluded.iter().zip(names) {
            assert!(text.starts_with(&format!("echo: {name} takes ")), "{text}");
        }
    }
}
