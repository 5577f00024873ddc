//! From a wake to the poll that it leads to, beside busy tasks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use palio_protocol::harness::{Refusal, Request, Work};
use task_work::spin;

use super::background::stopped;
use super::bell::Bell;
use super::{counted, micros, ns, word};
use crate::AsyncRuntime;
use crate::background::Busy;

/// The task that is woken: what each wake-up took.
async fn sleeper(bell: Arc<Bell>, events: usize) -> Vec<u64> {
    let mut latencies_ns = Vec::with_capacity(events);
    for _ in 0..events {
        let rung = bell.heard().await;
        latencies_ns.push(ns(rung.elapsed()));
    }
    latencies_ns
}

/// Polls of `poll` each, until told to stop; each begins with a look at the sleeper.
async fn looker<R: AsyncRuntime>(flag: Arc<AtomicBool>, bell: Arc<Bell>, poll: Duration) {
    while !stopped(&flag) {
        bell.look();
        spin(poll);
        R::yield_now().await;
    }
}

/// One of the busy tasks, which also wakes the sleeper whenever it sleeps, and then goes on being
/// busy.
async fn waker<R: AsyncRuntime>(bell: Arc<Bell>, events: usize, poll: Duration) -> Vec<u64> {
    let sleeping = R::spawn(sleeper(Arc::clone(&bell), events));
    let mut rung = 0;
    while rung < events {
        bell.look();
        if bell.is_asleep() {
            bell.ring();
            rung += 1;
        }
        spin(poll);
        R::yield_now().await;
    }
    sleeping.await
}

/// The same from a thread outside, which parks until the sleeper sleeps.
fn wake_from_outside<R: AsyncRuntime>(runtime: &R, bell: &Arc<Bell>, events: usize) -> Vec<u64> {
    let sleeping = R::spawn_from_outside(&runtime.handle(), sleeper(Arc::clone(bell), events));
    for _ in 0..events {
        while !bell.is_asleep() {
            thread::park();
        }
        bell.ring();
    }
    runtime.block_on(sleeping)
}

pub(super) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (busy, events): (usize, usize) = (request.param("busy")?, request.param("events")?);
    let poll = micros(request, "poll_us")?;
    let from = word(request, "from", ["task", "thread"])?;
    let is_task = from == "task";
    if R::DRIVEN_BY_BLOCK_ON && !is_task {
        let reason = "a thread outside cannot wake while the workers run: they run in its block_on";
        return Err(Refusal::Unsupported(reason.into()));
    }
    // The waker is one of the busy tasks.
    let others = (busy * request.threads).saturating_sub(usize::from(is_task));
    let bell = Arc::new(Bell::rung_by(thread::current()));
    let looker = |flag| looker::<R>(flag, Arc::clone(&bell), poll);
    let beside = Busy::<R>::start(request.threads, others, looker);
    Ok(Work::measured(move |latencies_ns| {
        let runtime = beside.runtime();
        let woken = if is_task {
            runtime.run(waker::<R>(Arc::clone(&bell), events, poll))
        } else {
            wake_from_outside(runtime, &bell, events)
        };
        latencies_ns.extend_from_slice(&woken);
        counted(woken.len())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_wake_up_is_measured() {
        let bell = Arc::new(Bell::rung_by(thread::current()));
        let poll = Duration::from_micros(1);
        let looker = |flag| looker::<TestRuntime>(flag, Arc::clone(&bell), poll);
        let beside = Busy::<TestRuntime>::start(1, 2, looker);
        let runtime = beside.runtime();
        let root = waker::<TestRuntime>(Arc::clone(&bell), 100, poll);
        assert_eq!(runtime.run(root).len(), 100);
        assert_eq!(wake_from_outside(runtime, &bell, 100).len(), 100);
    }
}
