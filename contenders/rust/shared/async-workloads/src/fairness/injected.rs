//! Tasks from a thread outside: how long they wait, and how long they make others wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use palio_protocol::harness::{Refusal, Request, Work};
use task_work::spin;

use super::background::yielder;
use super::gap::{Gap, victim};
use super::{counted, micros, ns};
use crate::AsyncRuntime;
use crate::background::Busy;

/// From the spawn of one task to its first poll; then the next.
fn spawn_one_by_one<R: AsyncRuntime>(runtime: &R, events: usize) -> Vec<u64> {
    let handle = runtime.handle();
    let caller = thread::current();
    // 0: not polled yet.
    let polled_ns = Arc::new(AtomicU64::new(0));
    let mut latencies_ns = Vec::with_capacity(events);
    for _ in 0..events {
        let (caller, after_ns) = (caller.clone(), Arc::clone(&polled_ns));
        let spawned = Instant::now();
        R::spawn_detached_from_outside(&handle, async move {
            after_ns.store(ns(spawned.elapsed()).max(1), Ordering::Release);
            caller.unpark();
        });
        let latency_ns = loop {
            // Acquire and Release only for form: the number is all that is passed.
            match polled_ns.swap(0, Ordering::Acquire) {
                0 => thread::park(),
                latency_ns => break latency_ns,
            }
        };
        latencies_ns.push(latency_ns);
    }
    latencies_ns
}

pub(super) fn prepare_latency<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (busy, events): (usize, usize) = (request.param("busy")?, request.param("events")?);
    let poll = micros(request, "poll_us")?;
    let others = busy * request.threads;
    let beside = Busy::<R>::start(request.threads, others, |flag| yielder::<R>(flag, poll));
    Ok(Work::measured(move |latencies_ns| {
        let polled = spawn_one_by_one(beside.runtime(), events);
        latencies_ns.extend_from_slice(&polled);
        counted(polled.len())
    }))
}

#[derive(Clone, Copy)]
struct Flood {
    tasks: usize,
    /// Spawned and not done: between half of this and this.
    backlog: usize,
    poll: Duration,
}

impl Flood {
    /// Keeps the backlog until every task is done.
    fn pour<R: AsyncRuntime>(self, handle: &R::Handle) {
        let caller = thread::current();
        let waiting = Arc::new(AtomicUsize::new(0));
        let mut spawned = 0;
        while spawned < self.tasks {
            // Relaxed: a count that is late makes the backlog shorter by as much, and the crossing
            // of the half below unparks this thread even before it parks.
            while spawned < self.tasks && waiting.load(Ordering::Relaxed) < self.backlog {
                waiting.fetch_add(1, Ordering::Relaxed);
                spawned += 1;
                let (caller, waiting) = (caller.clone(), Arc::clone(&waiting));
                R::spawn_detached_from_outside(handle, async move {
                    spin(self.poll);
                    let left = waiting.fetch_sub(1, Ordering::Release) - 1;
                    if left == self.backlog / 2 || left == 0 {
                        caller.unpark();
                    }
                });
            }
            if spawned < self.tasks {
                thread::park();
            }
        }
        while waiting.load(Ordering::Acquire) > 0 {
            thread::park();
        }
    }
}

pub(super) fn prepare_flood_gap<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let rounds: usize = request.param("rounds")?;
    let flood = Flood {
        tasks: request.param("tasks")?,
        backlog: request.param::<usize>("backlog")?.max(2),
        poll: micros(request, "poll_us")?,
    };
    let gap = Gap::in_time();
    let beside = Busy::<R>::start(request.threads, 1, |flag| victim::<R>(flag, Arc::clone(&gap)));
    Ok(Work::measured(move |gaps_ns| {
        let handle = beside.runtime().handle();
        for _ in 0..rounds {
            gap.begin();
            flood.pour::<R>(&handle);
            gaps_ns.push(gap.end());
        }
        counted(rounds)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_spawn_is_measured() {
        let latencies_ns = spawn_one_by_one(&TestRuntime::start(1), 100);
        assert_eq!(latencies_ns.len(), 100);
        assert!(latencies_ns.iter().all(|&ns| ns > 0));
    }

    #[test]
    fn a_flood_ends_when_every_task_is_done() {
        for (tasks, backlog) in [(0, 2), (1, 600), (1000, 2), (1000, 3), (100, 600)] {
            Flood { tasks, backlog, poll: Duration::ZERO }.pour::<TestRuntime>(&());
        }
    }
}
