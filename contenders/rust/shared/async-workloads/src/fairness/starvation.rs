//! The longest gap between two polls of a task that yields, beside others that never leave the
//! workers idle.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use palio_protocol::harness::{Refusal, Request, Work};

use super::background::stopped;
use super::bell::Bell;
use super::gap::{Gap, seen, victim};
use super::{counted, word};
use crate::AsyncRuntime;
use crate::background::Busy;
use crate::timers::TimedTask;

/// For each worker.
const LOOPS: usize = 16;
const TIMERS: usize = 500;
const LISTENERS: usize = 64;

/// Spawns an empty task and joins it, for ever.
async fn spawn_and_join<R: AsyncRuntime>(flag: Arc<AtomicBool>, gap: Arc<Gap>) {
    while !stopped(&flag) {
        if gap.counts_polls() {
            R::spawn(seen(Arc::clone(&gap), async {})).await;
        } else {
            R::spawn(async {}).await;
        }
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
async fn broadcast<R: AsyncRuntime>(flag: Arc<AtomicBool>, gap: Arc<Gap>, listeners: usize) {
    let bells: Vec<Arc<Bell>> = (0..listeners).map(|_| Arc::default()).collect();
    for bell in &bells {
        let listener = listen(Arc::clone(&flag), Arc::clone(bell));
        R::spawn_detached(seen(Arc::clone(&gap), listener));
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

/// The adversaries' root, and their victim: spawned from a worker.
async fn unleash<R: AsyncRuntime>(
    adversary: &'static str,
    threads: usize,
    flag: Arc<AtomicBool>,
    gap: Arc<Gap>,
) {
    R::spawn_detached(victim::<R>(Arc::clone(&flag), Arc::clone(&gap)));
    match adversary {
        "chain" => {
            for _ in 0..LOOPS * threads {
                let each = spawn_and_join::<R>(Arc::clone(&flag), Arc::clone(&gap));
                R::spawn_detached(seen(Arc::clone(&gap), each));
            }
        }
        "pair" => {
            for _ in 0..threads {
                let (a, b) = (Arc::<Bell>::default(), Arc::<Bell>::default());
                let one = half(Arc::clone(&flag), Arc::clone(&a), Arc::clone(&b));
                let other = half(Arc::clone(&flag), b, a);
                R::spawn_detached(seen(Arc::clone(&gap), one));
                R::spawn_detached(seen(Arc::clone(&gap), other));
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
        _ => {
            let root = broadcast::<R>(flag, Arc::clone(&gap), LISTENERS * threads);
            R::spawn_detached(seen(gap, root));
        }
    }
}

/// The adversaries and their victim, until it is dropped.
struct Arena<R> {
    _beside: Busy<R>,
    gap: Arc<Gap>,
}

impl<R: AsyncRuntime> Arena<R> {
    fn start(adversary: &'static str, threads: usize, gap: Arc<Gap>) -> Self {
        // Not joined: under some adversaries this thread would wait long.
        let root = |flag| unleash::<R>(adversary, threads, flag, Arc::clone(&gap));
        Self { _beside: Busy::start(threads, 1, root), gap }
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
    let gap = match word(request, "gap", ["time", "polls"])? {
        "time" => Gap::in_time(),
        _ => Gap::in_polls(),
    };
    let adversary = word(request, "adversary", ["chain", "pair", "timers", "flood"])?;
    if adversary == "timers" && gap.counts_polls() {
        return Err(Refusal::Misuse("polls of timers depend on time: --set gap=time".into()));
    }
    let arena = Arena::<R>::start(adversary, request.threads, gap);
    Ok(Work::measured(move |gaps| {
        for _ in 0..rounds {
            arena.gap().begin();
            thread::sleep(window);
            gaps.push(arena.gap().end_when_polled());
        }
        counted(rounds)
    }))
}

#[cfg(test)]
mod tests {
    use palio_protocol::harness::{Contender, converse};
    use palio_protocol::message::Answer;

    use super::*;
    use crate::test_runtime::TestRuntime;

    const ADVERSARIES: [&str; 4] = ["chain", "pair", "timers", "flood"];

    /// The longest gaps of three samples of the row, as a contender prints them.
    fn longest(adversary: &str) -> Vec<u64> {
        let contender = Contender {
            id: "test",
            runtime: "test",
            version: "1",
            toolchain: "test",
            flags: "",
            threads_max: 1,
            workloads: &[("fairness/starvation", prepare::<TestRuntime>)],
            knobs: &[],
        };
        let adversary = format!("adversary={adversary}");
        let args = [
            &[
                "--workload",
                "fairness/starvation",
                "--threads",
                "1",
                "--salt",
                "0",
                "--set",
                &adversary,
            ][..],
            &["--set", "gap=time", "--set", "rounds=1", "--set", "window_ms=1"],
        ];
        let mut output = Vec::new();
        let args = args.concat().into_iter().map(str::to_owned);
        converse(contender, args, &b"run 3\nquit\n"[..], &mut output).unwrap();
        let lines = String::from_utf8(output).unwrap();
        let longest = |line: &str| match line.parse() {
            Ok(Answer::Sample(sample)) => sample.distribution.map(|all| all.max_ns),
            _ => None,
        };
        lines.lines().filter_map(longest).collect()
    }

    /// A victim that is never polled has gaps of [`Gap::end_when_polled`]'s whole second.
    #[test]
    fn the_victim_lives_as_long_as_the_samples() {
        for adversary in ADVERSARIES {
            let longest = longest(adversary);
            assert_eq!(longest.len(), 3);
            assert!(longest.iter().any(|&gap| gap < 1_000_000_000), "{adversary}: {longest:?}");
        }
    }

    #[test]
    fn the_polls_of_every_adversary_are_counted() {
        for adversary in ["chain", "pair", "flood"] {
            let arena = Arena::<TestRuntime>::start(adversary, 1, Gap::in_polls());
            arena.gap().begin();
            // Hangs if they are not.
            while arena.gap().end_when_polled() <= 1 {}
        }
    }
}
