//! How much every invocation of a race is asked for: decided once for all of its cells, from what
//! their pilots took. Pure.

use crate::record::{CellRecord, Limits, Outcome, RaceRecord, SampleRecord, Schedule};
use crate::stats::Statistic;

/// Shortest sample that is worth timing.
const SAMPLE_NS_MIN: f64 = 1_000_000.0;
/// Fewest samples of which a median is a typical one.
const SAMPLES_MIN: f64 = 5.0;
/// How many budgets the slowest contender of a race may take for its samples.
const SLOWEST_BUDGETS: f64 = 4.0;
/// How many times as many iterations a sample may have where they are in one root: the first ones
/// after the way into a runtime, when its other threads still sleep, are not like those of a root
/// that goes on, and a slow contender would leave the fast ones nothing else.
const ONE_ROOT_ROOM: f64 = 4.0;
/// Most iterations in one sample.
pub(crate) const BATCH_MAX: u32 = 1 << 24;
/// Samples of a maximum, which grows with the number of events: they must be the same in every run.
const EQUAL_EVENTS: u32 = 3;

/// Iterations or batches before the first sample: one, if it lasts as long as the limits want, and
/// none if that is to be cold.
fn warm_ups(limits: &Limits) -> u32 {
    u32::from(!limits.cold)
}

/// The pace of a cell, in ns per iteration, from its pilot: the faster of the pilot's last two
/// samples, since the first iterations of a process are slow. `None` if no pilot came through.
pub fn pace_ns(cell: &CellRecord) -> Option<f64> {
    let pilot = cell
        .invocations
        .iter()
        .rev()
        .find(|invocation| invocation.block.is_none() && invocation.outcome == Outcome::Ok)?;
    let mut last_two = pilot.samples.iter().rev().take(2).map(SampleRecord::iteration_ns);
    pace_of([last_two.next(), last_two.next()])
}

/// The pace that the last two samples of a pilot show, in ns per iteration.
pub(crate) fn pace_of(last_two: [Option<f64>; 2]) -> Option<f64> {
    last_two.into_iter().flatten().reduce(f64::min).map(|pace| pace.max(1.0))
}

/// The shortest sample of a race that is worth timing.
pub(super) fn sample_ns_min(race: &RaceRecord) -> f64 {
    race.cpu_budget.map_or(SAMPLE_NS_MIN, |budget| budget.sample_ns_min() as f64)
}

/// The one schedule of a race, from the paces of all cells that take part; `None` if nobody does.
///
/// - All cells together may take as many budgets as there are cells, and the slowest of them four.
///   That gives the number of iterations.
/// - A sample is the smallest power of two of iterations that lasts 1 ms with the fastest, or fewer
///   where that would leave less than 5 samples; than 5 quarters of one, where its iterations are
///   in one root.
/// - Under a CPU budget these are 100 ms, and where 5 such samples do not fit into the time budget,
///   that gives way.
/// - There are at least 5 samples, however long they take; fewer only where the slowest could not
///   end 5 of them in half of the time-out. Whoever could not end a warm-up and one sample (of
///   a maximum, three) in all of it takes no part.
/// - Before them there is a warm-up, unless the limits want the first sample cold.
///
/// Where the limits say how many samples there are, of one iteration each, that is the schedule,
/// and there are no pilots.
///
/// The rule looks at times alone and treats all cells alike, so that the location of an invocation
/// is the same function of the same number of draws for everybody.
pub fn of_race(race: &RaceRecord, limits: &Limits) -> Option<Schedule> {
    let takes_part = |cell: &&CellRecord| !cell.shadow && cell.outcome == Outcome::Pending;
    if let Some(fixed) = fixed(race, limits) {
        return race.cells.iter().any(|cell| takes_part(&cell)).then_some(fixed);
    }
    let paces: Vec<f64> = race.cells.iter().filter(takes_part).filter_map(pace_ns).collect();
    of_pilots(race, &paces, limits)
}

/// The schedule of a race whose limits say it.
pub(crate) fn fixed(race: &RaceRecord, limits: &Limits) -> Option<Schedule> {
    let asked = limits.samples?;
    let grows = race.statistic.is_some_and(Statistic::grows_with_events);
    let samples = if grows { EQUAL_EVENTS } else { asked };
    Some(Schedule { warm_ups: warm_ups(limits), samples, batch: 1 })
}

/// The same from the paces of all cells that took part.
pub(crate) fn of_pilots(race: &RaceRecord, paces: &[f64], limits: &Limits) -> Option<Schedule> {
    let shortest_ns = sample_ns_min(race);
    let batches = match (race.statistic, race.one_root) {
        (Some(_), _) => Batches::Single,
        (None, false) => Batches::Apart,
        (None, true) => Batches::InOneRoot,
    };
    let schedule = of_paces(paces, batches, shortest_ns, limits)?;
    match race.statistic {
        Some(statistic) if statistic.grows_with_events() => {
            Some(Schedule { samples: EQUAL_EVENTS, batch: 1, ..schedule })
        }
        _ => Some(schedule),
    }
}

/// Why a cell whose pilot came through could end no invocation of a block before the time-out, if
/// so: what every one does at least would take longer at the pace of the pilot.
pub(super) fn too_slow(race: &RaceRecord, cell: usize, limits: &Limits) -> Option<String> {
    let record = &race.cells[cell];
    let is_new = record.outcome == Outcome::Pending && record.schedule.is_none();
    let pace_ns = pace_ns(record).filter(|_| is_new)?;
    is_too_slow(race, pace_ns, limits).then(|| {
        format!(
            "an iteration took {:.1} s in its pilot, so that {}{} sample(s) do not fit into {} s; \
             --timeout allows more",
            pace_ns / 1e9,
            if limits.cold { "" } else { "a warm-up and " },
            least_samples(race),
            limits.timeout_ms as f64 / 1e3
        )
    })
}

/// Whether an invocation of a block could not end before the time-out at such a pace.
pub(crate) fn is_too_slow(race: &RaceRecord, pace_ns: f64, limits: &Limits) -> bool {
    let least_ns = pace_ns * f64::from(warm_ups(limits) + least_samples(race));
    least_ns > limits.timeout_ms as f64 * 1e6
}

/// How many samples each invocation takes at least.
fn least_samples(race: &RaceRecord) -> u32 {
    let grows = race.statistic.is_some_and(Statistic::grows_with_events);
    if grows { EQUAL_EVENTS } else { 1 }
}

/// What the iterations of a sample are to each other.
#[derive(Clone, Copy)]
enum Batches {
    /// A sample must be one iteration.
    Single,
    Apart,
    InOneRoot,
}

fn of_paces(
    paces_ns: &[f64],
    batches: Batches,
    shortest_ns: f64,
    limits: &Limits,
) -> Option<Schedule> {
    let slowest = paces_ns.iter().copied().reduce(f64::max)?;
    let fastest = paces_ns.iter().copied().reduce(f64::min)?;
    let mean = paces_ns.iter().sum::<f64>() / paces_ns.len() as f64;
    let asked_ns = limits.budget_ms as f64 * 1e6;
    let is_long = shortest_ns > SAMPLE_NS_MIN;
    let budget_ns = if is_long { asked_ns.max(SAMPLES_MIN * shortest_ns) } else { asked_ns };
    let iterations = (budget_ns / mean).min(SLOWEST_BUDGETS * budget_ns / slowest);
    let wanted = (shortest_ns / fastest).ceil().min(f64::from(BATCH_MAX)) as u32;
    let batch_of = |room: f64| {
        let room = room.clamp(1.0, f64::from(BATCH_MAX)) as u32;
        wanted.next_power_of_two().min(1 << room.ilog2())
    };
    let batch = match batches {
        Batches::Single => 1,
        Batches::Apart => batch_of(iterations / SAMPLES_MIN),
        Batches::InOneRoot => batch_of(ONE_ROOT_ROOM * iterations / SAMPLES_MIN),
    };
    let sample_ns = slowest * f64::from(batch);
    let bearable = (limits.timeout_ms as f64 * 1e6 / 2.0 / sample_ns).max(1.0);
    let samples = (iterations / f64::from(batch)).max(SAMPLES_MIN).min(bearable) as u32;
    Some(Schedule { warm_ups: warm_ups(limits), samples, batch })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{InvocationRecord, Resources};

    const LIMITS: Limits = Limits {
        budget_ms: 1000,
        warm_up_ms: 0,
        cold: false,
        samples: None,
        timeout_ms: 120_000,
        memory_mib: 100,
    };

    /// A pilot with samples of so many iterations that took so long.
    fn pilot(outcome: Outcome, samples: &[(u32, u64)]) -> InvocationRecord {
        let sample = |&(batch, elapsed_ns): &(u32, u64)| SampleRecord {
            warm_up: true,
            batch,
            elapsed_ns,
            ops: 1,
            answer: None,
            work: None,
            user_us: None,
            sys_us: None,
            distribution: None,
            load: None,
        };
        InvocationRecord {
            block: None,
            position: 0,
            started_at: String::new(),
            salt: None,
            outcome,
            detail: None,
            disturbed: false,
            resources: Resources::default(),
            throttled: None,
            spans: Vec::new(),
            dropped: None,
            samples: samples.iter().map(sample).collect(),
        }
    }

    #[test]
    fn a_pace_is_the_faster_of_the_last_two_samples_of_a_pilot_that_came_through() {
        let pace = |invocations: Vec<InvocationRecord>| {
            pace_ns(&CellRecord {
                contender: String::new(),
                variant: Default::default(),
                shadow: false,
                command: Vec::new(),
                outcome: Outcome::Pending,
                detail: None,
                stderr: None,
                schedule: None,
                forks: None,
                invocations,
            })
        };
        let through = |samples: &[(u32, u64)]| pilot(Outcome::Ok, samples);
        assert_eq!(pace(vec![through(&[(1, 50), (4, 400), (4, 800)])]), Some(100.0));
        assert_eq!(pace(vec![through(&[(1, 50), (4, 800), (4, 400)])]), Some(100.0));
        assert_eq!(pace(vec![through(&[(1, 50)])]), Some(50.0));
        let cut = pilot(Outcome::Pending, &[(1, 10), (1, 10)]);
        assert_eq!(pace(vec![through(&[(1, 50)]), cut.clone()]), Some(50.0));
        assert_eq!(pace(vec![cut]), None);
    }

    fn at(paces_ns: &[f64]) -> (u32, u32) {
        let schedule = of_paces(paces_ns, Batches::Apart, SAMPLE_NS_MIN, &LIMITS).unwrap();
        (schedule.samples, schedule.batch)
    }

    #[test]
    fn equal_contenders_fill_the_budget_each() {
        assert_eq!(at(&[1e6, 1e6, 1e6]), (1000, 1));
        assert_eq!(at(&[1e8; 4]), (10, 1));
        assert_eq!(at(&[10.0; 2]), (762, 131_072));
    }

    #[test]
    fn unequal_contenders_share_their_budgets() {
        // One at 1 ms and one at 9 ms: 2 s are 200 iterations of both.
        assert_eq!(at(&[1e6, 9e6]), (200, 1));
        // Nine at 1 ms would let one of 31 ms take 7.75 budgets; it gets four.
        assert_eq!(at(&[&[1e6; 9][..], &[31e6]].concat()), (129, 1));
    }

    #[test]
    fn everybody_takes_five_samples_at_least() {
        assert_eq!(at(&[1e6, 1e9]), (5, 1));
        // The batch of the fastest gives way to the number of samples.
        assert_eq!(at(&[10.0, 1e7]), (6, 32));
    }

    #[test]
    fn samples_of_one_root_may_be_four_times_as_long() {
        let at = |paces: &[f64]| {
            of_paces(paces, Batches::InOneRoot, SAMPLE_NS_MIN, &LIMITS)
                .map(|schedule| (schedule.samples, schedule.batch))
        };
        // Apart: (6, 32).
        assert_eq!(at(&[10.0, 1e7]), Some((5, 128)));
        // Where they are long enough, they are as many.
        assert_eq!(at(&[1e6; 3]), Some((1000, 1)));
        assert_eq!(at(&[10.0; 2]), Some((762, 131_072)));
    }

    #[test]
    fn only_the_time_out_allows_fewer_samples_and_then_to_all() {
        assert_eq!(at(&[1e6, 12e9]), (5, 1));
        assert_eq!(at(&[1e6, 25e9]), (2, 1));
        assert_eq!(at(&[1e6, 100e9]), (1, 1));
    }

    #[test]
    fn a_sample_of_events_is_one_iteration() {
        let schedule = of_paces(&[1e3, 2e3], Batches::Single, SAMPLE_NS_MIN, &LIMITS).unwrap();
        assert_eq!(schedule.batch, 1);
    }

    #[test]
    fn a_sample_under_a_cpu_budget_lasts_for_periods_whatever_the_time_budget() {
        let limits = Limits { budget_ms: 5, ..LIMITS };
        let schedule = of_paces(&[1e6, 1e6], Batches::Apart, 1e8, &limits).unwrap();
        // The power of two below 100 ms, since five samples must fit.
        assert_eq!((schedule.samples, schedule.batch), (7, 64));
    }

    #[test]
    fn nobody_needs_no_schedule() {
        assert_eq!(of_paces(&[], Batches::Apart, SAMPLE_NS_MIN, &LIMITS), None);
    }
}
