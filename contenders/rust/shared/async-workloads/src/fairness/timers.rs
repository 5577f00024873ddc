//! How late sleeps end while workers are busy.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use palio_protocol::harness::{Refusal, Request, Work};
use task_work::splitmix64;

use super::background::yielder;
use super::{counted, micros, ns, word};
use crate::AsyncRuntime;
use crate::background::Busy;
use crate::timers::TimedTask;

/// A task that sleeps several times, and how late each sleep ended.
#[derive(Debug)]
pub(crate) struct Sleeper {
    number: u64,
    sleeps: u64,
    lateness_ns: Mutex<Vec<u64>>,
}

impl Sleeper {
    /// Sleeps 1 to 4 ms at a time; returns the number of sleeps.
    pub(crate) async fn run<R: AsyncRuntime>(&self) -> u64 {
        let mut late_ns = Vec::with_capacity(self.sleeps as usize);
        for sleep in 0..self.sleeps {
            let length = Duration::from_millis(1 + splitmix64(self.number << 32 | sleep) % 4);
            let deadline = Instant::now() + length;
            R::sleep(length).await;
            late_ns.push(ns(Instant::now().saturating_duration_since(deadline)));
        }
        *self.lateness_ns.lock().unwrap_or_else(PoisonError::into_inner) = late_ns;
        self.sleeps
    }
}

async fn sleep_all<R: AsyncRuntime>(sleepers: u64, sleeps: u64) -> Vec<u64> {
    let sleepers: Vec<_> = (0..sleepers)
        .map(|number| Arc::new(Sleeper { number, sleeps, lateness_ns: Mutex::default() }))
        .collect();
    let joins: Vec<_> = sleepers
        .iter()
        .map(|sleeper| R::spawn_timed(TimedTask::measured(Arc::clone(sleeper))))
        .collect();
    for join in joins {
        join.await;
    }
    let late_ns = |sleeper: &Arc<Sleeper>| {
        std::mem::take(&mut *sleeper.lateness_ns.lock().unwrap_or_else(PoisonError::into_inner))
    };
    sleepers.iter().flat_map(late_ns).collect()
}

pub(super) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (sleepers, sleeps) = (request.param("sleepers")?, request.param("sleeps")?);
    let poll = micros(request, "poll_us")?;
    let others = match word(request, "busy", ["one", "each"])? {
        "one" => 1,
        _ => request.threads,
    };
    let beside = Busy::<R>::start(request.threads, others, |flag| yielder::<R>(flag, poll));
    Ok(Work::measured(move |lateness_ns| {
        let late_ns = beside.runtime().run(sleep_all::<R>(sleepers, sleeps));
        lateness_ns.extend_from_slice(&late_ns);
        counted(late_ns.len())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_sleep_is_measured() {
        let late_ns = TestRuntime::start(1).run(sleep_all::<TestRuntime>(20, 2));
        assert_eq!(late_ns.len(), 40);
    }
}
