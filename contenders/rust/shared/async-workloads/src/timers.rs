//! Timers: ten thousand that fire, and many that never do.

use std::future::{poll_fn, ready};
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use task_work::{sleeper_ms, splitmix64};

use crate::AsyncRuntime;
use crate::held_out::Deadline;
use crate::row::cold;

/// Longer than any sample.
const NEVER: Duration = Duration::from_secs(1);

/// A task that sleeps several times, and how late each sleep ended.
#[derive(Debug)]
pub(crate) struct Sleeper {
    number: u64,
    sleeps: u64,
    lateness: Mutex<Vec<Duration>>,
}

impl Sleeper {
    pub(crate) fn new(number: u64, sleeps: u64) -> Self {
        Self { number, sleeps, lateness: Mutex::default() }
    }

    /// How late each sleep ended, once the task is through.
    pub(crate) fn take_lateness(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.lateness.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sleeps 1 to 4 ms at a time; returns the number of sleeps.
    async fn run<R: AsyncRuntime>(&self) -> u64 {
        let mut late = Vec::with_capacity(self.sleeps as usize);
        for sleep in 0..self.sleeps {
            let length = Duration::from_millis(1 + splitmix64(self.number << 32 | sleep) % 4);
            let deadline = Instant::now() + length;
            R::sleep(length).await;
            late.push(Instant::now().saturating_duration_since(deadline));
        }
        *self.lateness.lock().unwrap_or_else(PoisonError::into_inner) = late;
        self.sleeps
    }
}

/// A task that uses timers, before a runtime has made a future of it.
///
/// Not the future itself, because some runtimes' timers stay with their worker: there the future is
/// made on the worker that will run it.
#[derive(Clone, Debug)]
pub struct TimedTask(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Sleeper { ms: u64 },
    ArmedSleeps { timers: u64 },
    Timeouts { timers: u64 },
    Measured(Arc<Sleeper>),
    Alarm(Arc<AtomicBool>),
    Deadline(Deadline),
}

impl TimedTask {
    /// A task that sleeps several times, and records how late each sleep ended.
    pub(crate) fn measured(sleeper: Arc<Sleeper>) -> Self {
        Self(Kind::Measured(sleeper))
    }

    /// One that sleeps a millisecond over and over, until the flag is raised.
    pub(crate) fn alarm(flag: Arc<AtomicBool>) -> Self {
        Self(Kind::Alarm(flag))
    }

    pub(crate) fn deadline(deadline: Deadline) -> Self {
        Self(Kind::Deadline(deadline))
    }

    /// The task.
    pub async fn run<R: AsyncRuntime>(self) -> u64 {
        match self.0 {
            Kind::Sleeper { ms } => {
                R::sleep(Duration::from_millis(ms)).await;
                ms
            }
            Kind::ArmedSleeps { timers } => armed_sleeps::<R>(timers).await,
            Kind::Timeouts { timers } => timeouts::<R>(timers).await,
            Kind::Measured(sleeper) => sleeper.run::<R>().await,
            Kind::Alarm(flag) => alarm::<R>(&flag).await,
            Kind::Deadline(deadline) => deadline.run::<R>().await,
        }
    }
}

async fn alarm<R: AsyncRuntime>(flag: &AtomicBool) -> u64 {
    let mut slept = 0;
    // Relaxed: the flag is all that is passed.
    while !flag.load(Ordering::Relaxed) {
        R::sleep(Duration::from_millis(1)).await;
        slept += 1;
    }
    slept
}

fn sleeps<R: AsyncRuntime>(timers: u64) -> u64 {
    let mut dropped = 0;
    for _ in 0..timers {
        drop(black_box(R::sleep(NEVER)));
        dropped += 1;
    }
    dropped
}

async fn armed_sleeps<R: AsyncRuntime>(timers: u64) -> u64 {
    let mut dropped = 0;
    for _ in 0..timers {
        let mut sleep = pin!(R::sleep(NEVER));
        let poll = poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await;
        assert!(poll.is_pending(), "nobody sleeps a second in no time");
        dropped += 1;
    }
    dropped
}

async fn timeouts<R: AsyncRuntime>(timers: u64) -> u64 {
    let mut done = 0;
    for _ in 0..timers {
        done += R::timeout(NEVER, ready(1)).await.expect("what is ready needs no time");
    }
    done
}

async fn join_all<R: AsyncRuntime>(joins: Vec<R::Join<u64>>) -> Tally {
    let mut tally = Tally::default();
    for join in joins {
        tally += Tally { answer: join.await, work: 1 };
    }
    tally
}

async fn many_timers<R: AsyncRuntime>(sleepers: u64) -> Tally {
    let sleeper =
        |i| R::spawn_timed(TimedTask(Kind::Sleeper { ms: sleeper_ms(salt::of_process(), i) }));
    join_all::<R>((0..sleepers).map(sleeper).collect()).await
}

async fn timers_dropped<R: AsyncRuntime>(joins: Vec<R::Join<u64>>) -> Tally {
    let Tally { answer, .. } = join_all::<R>(joins).await;
    Tally { answer, work: answer }
}

/// Tasks like any other: what is never polled need not stay with its worker.
async fn all_sleeps<R: AsyncRuntime>(tasks: usize, timers: u64) -> Tally {
    let task = |_| R::spawn(async move { sleeps::<R>(timers) });
    timers_dropped::<R>((0..tasks).map(task).collect()).await
}

async fn all_timed<R: AsyncRuntime>(tasks: usize, kind: Kind) -> Tally {
    let task = |_| R::spawn_timed(TimedTask(kind.clone()));
    timers_dropped::<R>((0..tasks).map(task).collect()).await
}

/// Scope `steady`, as the rows of timers that never fire start their runtime.
fn steady<R, F>(threads: usize, root: impl Fn() -> F + 'static) -> Work
where
    R: AsyncRuntime,
    F: Future<Output = Tally> + Send + 'static,
{
    let runtime = R::start_for_timers(threads);
    Work::new(move || runtime.run(root()).into())
}

pub(crate) fn prepare_many_timers<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let sleepers = request.param("sleepers")?;
    Ok(cold::<R, _, _>(request.threads, move || many_timers::<R>(sleepers)))
}

pub(crate) fn prepare_sleep<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, timers) = (request.param("tasks")?, request.param("timers")?);
    Ok(steady::<R, _>(request.threads, move || all_sleeps::<R>(tasks, timers)))
}

pub(crate) fn prepare_sleep_armed<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, timers) = (request.param("tasks")?, request.param("timers")?);
    let kind = Kind::ArmedSleeps { timers };
    Ok(steady::<R, _>(request.threads, move || all_timed::<R>(tasks, kind.clone())))
}

pub(crate) fn prepare_timeout<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, timers) = (request.param("tasks")?, request.param("timers")?);
    let kind = Kind::Timeouts { timers };
    Ok(steady::<R, _>(request.threads, move || all_timed::<R>(tasks, kind.clone())))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_sleepers_sleep() {
        let start = Instant::now();
        let tally = TestRuntime::start(2).run(many_timers::<TestRuntime>(10_000));
        assert_eq!(tally, Tally { answer: 54_705, work: 10_000 });
        assert!(start.elapsed() >= Duration::from_millis(10));
    }

    #[test]
    fn every_timer_is_counted() {
        let runtime = TestRuntime::start(2);
        let timers = 50;
        let expected = Tally { answer: 100, work: 100 };
        assert_eq!(runtime.run(all_sleeps::<TestRuntime>(2, timers)), expected);
        for kind in [Kind::ArmedSleeps { timers }, Kind::Timeouts { timers }] {
            let tally = runtime.run(all_timed::<TestRuntime>(2, kind.clone()));
            assert_eq!(tally, expected, "{kind:?}");
        }
    }
}
