//! The rules for one invocation and its samples. That for a sample is the one by which the runner
//! checks it as it comes in.

use palio_protocol::distribution::Distribution;

use super::{Checked, Fault, check, range};
use crate::budget::Throttled;
use crate::clock;
use crate::load::Load;
use crate::record::{
    CellRecord, Header, InvocationRecord, Outcome, RaceRecord, Resources, SampleRecord, Schedule,
    SpanRecord,
};
use crate::runner::excerpt::shown;
use crate::runner::schedule::{self, BATCH_MAX};
use crate::stats::Statistic;

/// What is wrong with a sample: in which field, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub field: &'static str,
    pub reason: String,
}

/// What is wrong with a sample of this race, if anything, where `expected` is the right answer.
pub fn wrong(race: &RaceRecord, sample: &SampleRecord, expected: &str) -> Option<Wrong> {
    let times = u64::from(sample.batch);
    let wrong = |field, reason| Some(Wrong { field, reason });
    if let Some(answer) = &sample.answer {
        return wrong("answer", format!("it answered {}, and {expected} is right", shown(answer)));
    }
    // A contender counts in 64 bits too, so what does not fit can only be wrong.
    let ops = race.ops.saturating_mul(times);
    if sample.ops != ops {
        return wrong("ops", format!("it did {} {}s, not {ops}", sample.ops, race.unit));
    }
    let work = race.work.map(|work| work.saturating_mul(times));
    if let (Some(done), Some(work)) = (sample.work, work)
        && done != work
    {
        return wrong("work", format!("it certified {done} units of work, not {work}"));
    }
    if let Some(min) = race.elapsed_ns_min
        && sample.elapsed_ns < min.saturating_mul(times)
    {
        let reason = format!(
            "it took {} ns, and the work cannot be done in under {min} ns",
            sample.elapsed_ns
        );
        return wrong("elapsed_ns", reason);
    }
    let reason = missing_events(race.statistic?, &race.unit, sample)?;
    wrong("distribution", reason)
}

/// Where a number of their distribution is ranked, all events must be there: `ops` counts them.
fn missing_events(statistic: Statistic, unit: &str, sample: &SampleRecord) -> Option<String> {
    match sample.distribution {
        None => Some(format!("it reported no distribution, and the {statistic} is ranked")),
        Some(distribution) if distribution.events != sample.ops => Some(format!(
            "it reported {} events, and did {} {unit}s",
            distribution.events, sample.ops
        )),
        Some(_) => None,
    }
}

/// Holds the samples of one invocation against the rules, one after the other.
#[derive(Debug)]
pub struct InvocationAudit<'a> {
    header: &'a Header,
    race: &'a RaceRecord,
    schedule: Option<Schedule>,
    invocation: &'a InvocationRecord,
    warm_ups: u64,
    measured: u64,
    claimed_ns: u64,
    /// Whether a sample is a summary of events.
    is_summarised: bool,
    /// The sample that is wrong: the last one, or the process would have been ended before.
    wrong: Option<(usize, Wrong)>,
    spans: Spans<'a>,
    /// Whether it is the process that counted its forks, and too few of them: its samples are
    /// right.
    miscounts: bool,
    /// What an iteration took in the last two samples, in ns.
    last_two: [Option<f64>; 2],
}

/// The commands that the samples answer, in order.
#[derive(Debug)]
struct Spans<'a> {
    all: &'a [SpanRecord],
    at: usize,
    samples: u32,
    claimed_ns: u64,
}

impl<'a> InvocationAudit<'a> {
    pub(super) fn new(
        header: &'a Header,
        race: &'a RaceRecord,
        cell: &CellRecord,
        invocation: &'a InvocationRecord,
    ) -> Self {
        let schedule = cell.schedule;
        let handed = cell.forks.as_ref().and_then(|forks| forks.handed);
        let refused = race.forks().zip(handed).and_then(|(demand, handed)| demand.refuses(handed));
        let miscounts = refused.is_some() && invocation.block.is_none();
        let spans = Spans { all: &invocation.spans, at: 0, samples: 0, claimed_ns: 0 };
        let (warm_ups, measured, claimed_ns) = (0, 0, 0);
        let wrong = None;
        Self {
            header,
            race,
            schedule,
            invocation,
            warm_ups,
            measured,
            claimed_ns,
            is_summarised: false,
            wrong,
            spans,
            miscounts,
            last_two: [None; 2],
        }
    }

    /// Goes on with sample number `index`.
    ///
    /// # Errors
    /// It cannot be true.
    pub fn sample(&mut self, index: usize, sample: &SampleRecord) -> Checked {
        self.check_sample(index, sample).map_err(|fault| fault.within(format!("samples[{index}]")))
    }

    fn check_sample(&mut self, index: usize, sample: &SampleRecord) -> Checked {
        range("batch", sample.batch, (1, BATCH_MAX))?;
        check(sample.elapsed_ns > 0, "elapsed_ns", || "0: no work takes no time".to_owned())?;
        if let Some(d) = sample.distribution {
            self.is_summarised = true;
            let numbers = [d.events, d.p50_ns, d.p99_ns, d.p999_ns, d.max_ns];
            Distribution::from_numbers(numbers)
                .map_err(|reason| Fault::new("distribution", reason))?;
        }
        let ok = self.invocation.outcome == Outcome::Ok;
        check(!ok || sample.load.is_some() == self.race.served, "load", || {
            "it is told of what serves, and of nothing else".to_owned()
        })?;
        let wrong_load = sample.load.as_ref().and_then(|told| {
            let asked = Load::of(&self.race.params).ok();
            let contradicts = || told.contradicts(asked.as_ref()?, sample.distribution.as_ref()?);
            told.wrong(sample.ops).or_else(contradicts)
        });
        wrong_load.map_or(Ok(()), |reason| Err(Fault::new("load", reason)))?;
        check(self.wrong.is_none(), "answer", || {
            "the sample before it is wrong, and a process that is wrong once is ended".to_owned()
        })?;
        // Which answer is right under its salt may take long to compute.
        let expected =
            if self.race.salt.is_some() { "another one" } else { self.race.answer.as_str() };
        if let Some(wrong) = wrong(self.race, sample, expected) {
            let outcome = self.invocation.outcome;
            check(outcome == Outcome::WrongAnswer, wrong.field, || {
                format!("{}, and the outcome is {outcome}", wrong.reason)
            })?;
            self.wrong = Some((index, wrong));
        }
        self.last_two = [Some(sample.iteration_ns()), self.last_two[0]];
        if sample.warm_up {
            check(self.measured == 0, "warm_up", || {
                "a warm-up follows a measured sample".to_owned()
            })?;
            self.warm_ups += 1;
        } else {
            self.measured += 1;
            self.claimed_ns = self.claimed_ns.saturating_add(sample.elapsed_ns);
            if let Some(schedule) = self.schedule.filter(|_| self.invocation.block.is_some()) {
                check(sample.batch == schedule.batch, "batch", || {
                    format!("{}, and the schedule says {}", sample.batch, schedule.batch)
                })?;
            }
        }
        // Without its warm-ups, a thinned invocation has not the samples of its commands.
        if self.invocation.dropped.is_none() && self.invocation.outcome != Outcome::FalseTime {
            self.spans.take(sample)?;
        }
        Ok(())
    }

    /// What the samples show together: the pace of a pilot that came through and has all of them.
    ///
    /// # Errors
    /// It cannot be true.
    pub fn end(self) -> Result<Option<f64>, Fault> {
        let InvocationRecord { block, outcome, dropped, .. } = self.invocation;
        let is_pilot = block.is_none() && *outcome == Outcome::Ok && dropped.is_none();
        let pace_ns = schedule::pace_of(self.last_two).filter(|_| is_pilot);
        self.check_end().map(|()| pace_ns)
    }

    fn check_end(self) -> Checked {
        let outcome = self.invocation.outcome;
        let is_wrong = self.wrong.is_some() || self.miscounts;
        check(outcome != Outcome::WrongAnswer || is_wrong, "outcome", || {
            "wrong-answer, and no sample is wrong".to_owned()
        })?;
        if outcome != Outcome::Ok {
            return Ok(());
        }
        self.check_budget()?;
        self.check_thinned()?;
        let dropped = self.invocation.dropped;
        let measured = self.measured + dropped.map_or(0, |dropped| dropped.samples);
        let warm_ups = self.warm_ups + dropped.map_or(0, |dropped| dropped.warm_ups);
        if self.invocation.block.is_some() {
            let Some(schedule) = self.schedule else {
                return Err(Fault::new("block", "it was raced, and the cell has no schedule"));
            };
            check(measured == u64::from(schedule.samples), "samples", || {
                format!("{measured} are measured, and the schedule says {}", schedule.samples)
            })?;
            // What ends a warm-up is the clock, and where it has no time, nothing is added.
            let limits = self.header.limits;
            let (least, is_all) =
                (u64::from(schedule.warm_ups), limits.cold || limits.warm_up_ms == 0);
            check(warm_ups == least || warm_ups > least && !is_all, "samples", || {
                format!("{warm_ups} are warm-ups, and the schedule says {least}")
            })?;
            let iterations = dropped.map(|dropped| (dropped.samples, dropped.iterations));
            check(
                iterations.is_none_or(|(n, sum)| sum == n.saturating_mul(schedule.batch.into())),
                "dropped.iterations",
                || format!("not {} for each sample", schedule.batch),
            )?;
        } else {
            check(measured + warm_ups > 0, "samples", || "it is ok, and has none".to_owned())?;
        }
        let spans = &self.invocation.spans;
        // The clock that times a process starts before and stops after those of its commands; it
        // is stored in µs.
        let wall_us = self.invocation.resources.wall_us;
        let seen_ns = spans.iter().map(|span| span.wall_ns).fold(0, u64::saturating_add);
        check(seen_ns / 1_000 <= wall_us, "spans", || {
            format!("{seen_ns} ns together, and the process lived for {wall_us} µs")
        })?;
        if spans.is_empty() {
            // An older Palio had no clock of its own.
            return Ok(());
        }
        let of = |warm_up: bool| spans.iter().filter(move |span| span.warm_up == warm_up);
        let count = |warm_up: bool| of(warm_up).map(|span| u64::from(span.samples)).sum::<u64>();
        check((count(true), count(false)) == (warm_ups, measured), "spans", || {
            format!(
                "{} warm-up(s) and {} measured sample(s) by the clock outside, {warm_ups} and {measured} by themselves",
                count(true),
                count(false)
            )
        })?;
        let claimed_ns =
            self.claimed_ns.saturating_add(dropped.map_or(0, |dropped| dropped.elapsed_ns));
        let most_ns = of(false)
            .map(|span| clock::most_ns(span.samples, span.wall_ns))
            .fold(0, u64::saturating_add);
        check(claimed_ns <= most_ns, "spans", || too_much(claimed_ns, most_ns))
    }

    /// That a thinned run has as many samples of a process as its header says, and not those that
    /// somebody likes.
    fn check_thinned(&self) -> Checked {
        let Some(most) = self.header.thinned else { return Ok(()) };
        let all = self.measured + self.invocation.dropped.map_or(0, |dropped| dropped.samples);
        let due = if self.is_summarised { all } else { all.min(most.into()) };
        check((self.warm_ups, self.measured) == (0, due), "samples", || {
            format!(
                "{} measured ones of {all} and {} warm-up(s), and a run that was thinned to {most} keeps {due} and no \
                 warm-up",
                self.measured, self.warm_ups
            )
        })
    }

    /// That what raced in a track kept its rules.
    fn check_budget(&self) -> Checked {
        let invocation = self.invocation;
        let told = invocation.throttled.is_some();
        check(told == self.race.cpu_budget.is_some(), "throttled", || {
            "it is told of what has a CPU budget, and of nothing else".to_owned()
        })?;
        let Resources { wall_us, user_us, sys_us, .. } = invocation.resources;
        if let Some((budget, count)) = self.race.cpu_budget.zip(invocation.throttled) {
            let Throttled { periods, throttled, .. } = count;
            check(throttled <= periods, "throttled", || {
                format!("it stood still in {throttled} period(s), and there were {periods}")
            })?;
            // The group lives longer than its process, and a late timer catches up.
            let most = (wall_us / budget.period_us).saturating_mul(2).saturating_add(100);
            check(periods <= most, "throttled", || {
                format!("{periods} periods of {} µs in {wall_us} µs", budget.period_us)
            })?;
        }
        let cpu_us = user_us.unwrap_or(0).saturating_add(sys_us.unwrap_or(0));
        let broken = self.race.cpu_budget.and_then(|budget| budget.broken_by(cpu_us, wall_us));
        broken.map_or(Ok(()), |reason| Err(Fault::new("resources", reason)))
    }
}

fn too_much(claimed_ns: u64, most_ns: u64) -> String {
    format!(
        "its samples claim more time than passed: {claimed_ns} ns by the contender's clock, and by Palio's clock at most {most_ns} \
         ns passed"
    )
}

impl Spans<'_> {
    /// Counts a sample to its command, and checks what the command claims up to it.
    fn take(&mut self, sample: &SampleRecord) -> Checked {
        while self.all.get(self.at).is_some_and(|span| self.samples >= span.samples) {
            (self.at, self.samples, self.claimed_ns) = (self.at + 1, 0, 0);
        }
        // Samples of a command that was not answered to its end have none.
        let Some(span) = self.all.get(self.at) else { return Ok(()) };
        check(span.warm_up == sample.warm_up, "warm_up", || {
            format!("{}, and the clock outside says {}", sample.warm_up, span.warm_up)
        })?;
        self.samples += 1;
        self.claimed_ns = self.claimed_ns.saturating_add(sample.elapsed_ns);
        let most_ns = clock::most_ns(span.samples, span.wall_ns);
        check(self.claimed_ns <= most_ns, "elapsed_ns", || too_much(self.claimed_ns, most_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::DistributionRecord;

    #[test]
    fn whoever_leaves_out_an_event_is_wrong() {
        let missing = |events: Option<u64>| {
            let distribution = events.map(|events| DistributionRecord {
                events,
                p50_ns: 1,
                p99_ns: 1,
                p999_ns: 1,
                max_ns: 1,
            });
            let sample = SampleRecord {
                warm_up: false,
                batch: 1,
                elapsed_ns: 9,
                ops: 3,
                answer: None,
                work: None,
                user_us: None,
                sys_us: None,
                distribution,
                load: None,
            };
            missing_events(Statistic::P99, "wake-up", &sample)
        };
        assert_eq!(missing(Some(3)), None);
        let fewer = missing(Some(2)).unwrap();
        assert_eq!(fewer, "it reported 2 events, and did 3 wake-ups");
        assert!(missing(None).unwrap().contains("the p99 is ranked"));
    }
}
