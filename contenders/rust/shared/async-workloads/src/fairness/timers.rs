//! How late sleeps end while workers are busy.

use std::sync::Arc;

use palio_protocol::harness::{Refusal, Request, Work};

use super::background::yielder;
use super::{counted, micros, ns, word};
use crate::AsyncRuntime;
use crate::background::Busy;
use crate::timers::{Sleeper, TimedTask};

async fn sleep_all<R: AsyncRuntime>(sleepers: u64, sleeps: u64) -> Vec<u64> {
    let sleepers: Vec<_> =
        (0..sleepers).map(|number| Arc::new(Sleeper::new(number, sleeps))).collect();
    let joins: Vec<_> = sleepers
        .iter()
        .map(|sleeper| R::spawn_timed(TimedTask::measured(Arc::clone(sleeper))))
        .collect();
    for join in joins {
        join.await;
    }
    sleepers.iter().flat_map(|sleeper| sleeper.take_lateness()).map(ns).collect()
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
