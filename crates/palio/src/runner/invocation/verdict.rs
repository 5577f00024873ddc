//! What came of a process: how its conversation stopped and how it ended, as an outcome with a
//! sentence.

use crate::budget::CpuBudget;
use crate::record::{Outcome, Resources};
use crate::runner::cgroup::NO_BUDGET;
use crate::runner::excerpt::shown;
use crate::runner::process::{Broken, Ending, QUIT_GRACE};

/// Why a conversation stopped early.
pub(super) enum Failure {
    Broken(Broken),
    Wrong(String),
    FalseTime(String),
    Garbage(String),
    /// It did not serve as it should.
    Unserved(String),
}

/// A machine that does not keep a CPU budget is no fault of the contender.
pub(super) fn outcome_of_no_start(reason: &str) -> Outcome {
    if reason.starts_with(NO_BUDGET) { Outcome::Unsupported } else { Outcome::Crashed }
}

/// Why a process that did all it should did it without its CPU budget, if it did.
pub(super) fn unkept(budget: CpuBudget, ending: &Ending) -> Option<String> {
    if ending.throttled.is_none() {
        return Some(format!(
            "{NO_BUDGET} any more: its control group vanished while it raced, or lost its quota"
        ));
    }
    if let Some(reason) = &ending.unheld {
        return Some(reason.clone());
    }
    let Resources { wall_us, user_us, sys_us, .. } = ending.resources;
    budget.broken_by(user_us.unwrap_or(0).saturating_add(sys_us.unwrap_or(0)), wall_us)
}

/// What is said of a process that did all it should, and something else beside it.
pub(super) fn beside(ending: &Ending) -> Option<String> {
    let unseen = ending.unseen_memory_kib.map(|kib| {
        format!(
            "had {} MiB at a time at which nobody looked, as its control group tells, files that it read first \
             included",
            kib / 1024
        )
    });
    let both: Vec<_> = left_behind(ending.left_behind).into_iter().chain(unseen).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// What is said of a process that did all it should, but not alone.
fn left_behind(processes: u64) -> Option<String> {
    match processes {
        0 => None,
        1 => Some("left 1 process behind, which was killed".to_owned()),
        more => Some(format!("left {more} processes behind, which were killed")),
    }
}

pub(super) fn verdict(
    failure: Option<&Failure>,
    ending: &Ending,
    samples: usize,
    refusals: &[i32],
) -> (Outcome, Option<String>) {
    let code = ending.status.and_then(|status| status.code());
    let (outcome, detail) = match failure {
        None if ending.forced => (
            Outcome::Crashed,
            format!("it did its work, but did not end within {} s of `quit`", QUIT_GRACE.as_secs()),
        ),
        None if code == Some(0) => return (Outcome::Ok, None),
        None => (Outcome::Crashed, format!("it did its work, but then {}", ending.describe())),
        Some(Failure::Wrong(reason)) => (Outcome::WrongAnswer, reason.clone()),
        Some(Failure::FalseTime(reason)) => (Outcome::FalseTime, reason.clone()),
        Some(Failure::Unserved(reason)) => (
            Outcome::Crashed,
            format!("it did not serve to the end, {reason}; it {}", ending.describe()),
        ),
        Some(Failure::Garbage(reason)) => {
            (Outcome::Crashed, format!("it does not keep the contract: {reason}"))
        }
        Some(Failure::Broken(Broken::Ended))
            if code.is_some_and(|code| refusals.contains(&code)) && samples == 0 =>
        {
            let reason =
                ending.stderr.lines().last().unwrap_or("it says that it does not support this");
            (Outcome::Unsupported, shown(reason))
        }
        Some(Failure::Broken(Broken::Ended)) if ending.no_start.is_some() => {
            let reason = ending.no_start.clone().unwrap_or_default();
            (outcome_of_no_start(&reason), reason)
        }
        Some(Failure::Broken(Broken::Ended)) if ending.forced => (
            Outcome::Crashed,
            format!("it closed its standard output after {samples} sample(s), but did not end"),
        ),
        Some(Failure::Broken(Broken::Ended)) => {
            (Outcome::Crashed, format!("it {} after {samples} sample(s)", ending.describe()))
        }
        Some(Failure::Broken(Broken::TimedOut(after))) => (
            Outcome::TimedOut,
            format!(
                "it was killed after {} s with {samples} sample(s); --timeout allows more{}",
                after.as_secs_f64(),
                if samples == 0 {
                    ", or does it not flush its output after every line?"
                } else {
                    ""
                }
            ),
        ),
        Some(Failure::Broken(Broken::TooMuchMemory(kib))) => (
            Outcome::Crashed,
            format!(
                "it was killed when its memory reached {} MiB; --memory allows more",
                kib / 1024
            ),
        ),
        Some(Failure::Broken(Broken::Flood)) => (
            Outcome::Crashed,
            "it does not keep the contract: it wrote a line without end".to_owned(),
        ),
        Some(Failure::Broken(Broken::NotText)) => {
            (Outcome::Crashed, "it does not keep the contract: its output is not UTF-8".to_owned())
        }
        Some(Failure::Broken(Broken::Interrupted)) => {
            (Outcome::Pending, "the run was interrupted while it raced".to_owned())
        }
    };
    (outcome, Some(detail))
}
