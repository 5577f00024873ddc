//! The suite `fairness`: how long one task waits while others keep the workers busy.
//!
//! Each of these rows reports what its events took, one by one, and is ranked by a number of their
//! distribution. An event is stamped as late as can be before the wake or the spawn, and read first
//! of all in the poll that it led to.

mod background;
mod bell;
mod block_in_place;
mod gap;
mod injected;
mod spawn_blocking;
mod starvation;
mod timers;
mod wake_latency;

use std::time::Duration;

use palio_protocol::harness::{Iteration, Prepare, Refusal, Request};

use crate::AsyncRuntime;

/// Every row of the suite that `R` can run.
pub(crate) fn rows<R: AsyncRuntime>() -> Vec<(&'static str, Prepare)> {
    let mut rows: Vec<(&'static str, Prepare)> = vec![
        ("fairness/wake_latency_busy", wake_latency::prepare::<R>),
        ("fairness/timer_lateness_busy", timers::prepare::<R>),
        ("fairness/spawn_blocking_blocks", spawn_blocking::prepare_blocks::<R>),
        ("fairness/spawn_blocking_beside", spawn_blocking::prepare_beside::<R>),
    ];
    // In these a thread outside acts while the workers run by themselves.
    if !R::DRIVEN_BY_BLOCK_ON {
        let beside: [(&'static str, Prepare); 3] = [
            ("fairness/injected_latency", injected::prepare_latency::<R>),
            ("fairness/flood_gap", injected::prepare_flood_gap::<R>),
            ("fairness/starvation", starvation::prepare::<R>),
        ];
        rows.extend(beside);
    }
    if R::HAS_BLOCK_IN_PLACE {
        rows.push(("fairness/block_in_place", block_in_place::prepare::<R>));
    }
    rows
}

/// What an iteration with so many events did: each is counted where its latency is written down.
fn counted(events: usize) -> Iteration {
    let events = events as u64;
    Iteration { answer: events, ops: events, work: Some(events) }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A parameter in µs.
fn micros(request: &mut Request, key: &str) -> Result<Duration, Refusal> {
    request.param(key).map(Duration::from_micros)
}

/// A parameter that is one of a few words.
fn word<const N: usize>(
    request: &mut Request,
    key: &str,
    words: [&'static str; N],
) -> Result<&'static str, Refusal> {
    let text: String = request.param(key)?;
    words.into_iter().find(|word| *word == text).ok_or_else(|| {
        Refusal::Misuse(format!("--set {key}={text} is none of {}", words.join(", ")))
    })
}
