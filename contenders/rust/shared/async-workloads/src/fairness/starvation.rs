//! The longest gap between two polls of a task that yields, beside others that never leave the
//! workers idle.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use palio_protocol::harness::{Refusal, Request, Work};

use super::background::stopped;
use super::bell::Bell;
use super::gap::{Gap, victim};
use super::{counted, word};
use crate::AsyncRuntime;
use crate::background::stop;
use crate::timers::TimedTask;

/// For each worker.
const LOOPS: usize = 16;
const TIMERS: usize = 500;
const LISTENERS: usize = 64;

/// Spawns an empty task and joins it, for ever.
async fn spawn_and_join<R: AsyncRuntime>(flag: Arc<AtomicBool>) {
    while !stopped(&flag) {
        R::spawn(async {}).await;
    }
}

/// Half of a pair whose halves wake each other for ever.
async fn half(flag: Arc<AtomicBool>, mine: Arc<Bell>, other: Arc<Bell>) {
    while !stopped(&flag) {
        other.ring();
        mine.heard().await;
    }
    other.ring();
}

async fn listen(flag: Arc<AtomicBool>, bell: Arc<Bell>) {
    while !stopped(&flag) {
        bell.heard().await;
    }
}

/// Wakes all listeners at once, and yields, for ever.
async fn broadcast<R: AsyncRuntime>(flag: Arc<AtomicBool>, listeners: usize) {
    let bells: Vec<Arc<Bell>> = (0..listeners).map(|_| Arc::default()).collect();
    for bell in &bells {
        R::spawn_detached(listen(Arc::clone(&flag), Arc::clone(bell)));
    }
    while !stopped(&flag) {
        for bell in &bells {
            bell.ring();
        }
        R::yield_now().await;
    }
    for bell in &bells {
        bell.ring();
    }
}

/// The root of the adversaries: spawns them from a worker.
async fn unleash<R: AsyncRuntime>(adversary: &'static str, threads: usize, flag: Arc<AtomicBool>) {
    match adversary {
        "chain" => {
            for _ in 0..LOOPS * threads {
                R::spawn_detached(spawn_and_join::<R>(Arc::clone(&flag)));
            }
        }
        "pair" => {
            for _ in 0..threads {
                let (a, b) = (Arc::<Bell>::default(), Arc::<Bell>::default());
                R::spawn_detached(half(Arc::clone(&flag), Arc::clone(&a), Arc::clone(&b)));
                R::spawn_detached(half(Arc::clone(&flag), b, a));
            }
        }
        "timers" => {
            for _ in 0..TIMERS * threads {
                let alarm = R::spawn_timed(TimedTask::alarm(Arc::clone(&flag)));
                // Held by a task that waits for it: a handle that is dropped cancels on some
                // runtimes.
                R::spawn_detached(async move {
                    alarm.await;
                });
            }
        }
        _ => R::spawn_detached(broadcast::<R>(Arc::clone(&flag), LISTENERS * threads)),
    }
}

/// The adversaries and their victim, until it is dropped.
struct Arena<R> {
    // Fields are dropped in this order: the tasks are told to stop before the runtime is.
    _stop: StopOnDrop,
    gap: Arc<Gap>,
    _runtime: R,
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        stop(&self.0);
    }
}

impl<R: AsyncRuntime> Arena<R> {
    fn start(adversary: &'static str, threads: usize) -> Self {
        let runtime = R::start(threads);
        let flag = Arc::new(AtomicBool::new(false));
        let gap = Gap::new();
        let handle = runtime.handle();
        let (watched, watching) = (Arc::clone(&flag), Arc::clone(&gap));
        R::spawn_detached_from_outside(&handle, victim::<R>(watched, watching));
        // Not joined: under some adversaries this thread would wait long.
        R::spawn_detached_from_outside(&handle, unleash::<R>(adversary, threads, flag.clone()));
        Self { _stop: StopOnDrop(flag), gap, _runtime: runtime }
    }

    /// Not the field: a closure that used it would capture it alone, and the runtime would end at
    /// once.
    fn gap(&self) -> &Gap {
        &self.gap
    }
}

pub(super) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let rounds: usize = request.param("rounds")?;
    let window = Duration::from_millis(request.param("window_ms")?);
    let adversary = word(request, "adversary", ["chain", "pair", "timers", "flood"])?;
    let arena = Arena::<R>::start(adversary, request.threads);
    Ok(Work::measured(move |gaps_ns| {
        for _ in 0..rounds {
            arena.gap().begin();
            thread::sleep(window);
            gaps_ns.push(arena.gap().end_when_polled());
        }
        counted(rounds)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_victim_is_polled_beside_every_adversary() {
        for adversary in ["chain", "pair", "timers", "flood"] {
            let arena = Arena::<TestRuntime>::start(adversary, 1);
            arena.gap().begin();
            assert!(arena.gap().end_when_polled() > 0, "{adversary}");
        }
    }
}
