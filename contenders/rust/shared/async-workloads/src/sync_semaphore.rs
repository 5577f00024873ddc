//! A semaphore: with a permit for every task, and with fewer, each held across a yield.

use std::sync::Arc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use tokio::sync::Semaphore;

use crate::AsyncRuntime;
use crate::row::steady;

async fn acquire_and_release(semaphore: Arc<Semaphore>, rounds: u64) -> u64 {
    let mut acquired = 0;
    for _ in 0..rounds {
        let permit = semaphore.acquire().await.expect("nobody closes it");
        acquired += 1;
        drop(permit);
    }
    acquired
}

async fn hold_across_a_yield<R: AsyncRuntime>(semaphore: Arc<Semaphore>, rounds: u64) -> u64 {
    let mut acquired = 0;
    for _ in 0..rounds {
        let permit = semaphore.acquire().await.expect("nobody closes it");
        acquired += 1;
        R::yield_now().await;
        drop(permit);
    }
    acquired
}

#[derive(Clone, Copy)]
struct Size {
    tasks: usize,
    permits: usize,
    rounds: u64,
}

impl Size {
    fn of(request: &mut Request) -> Result<Self, Refusal> {
        let size = Self {
            tasks: request.param("tasks")?,
            permits: request.param("permits")?,
            rounds: request.param("rounds")?,
        };
        if size.permits == 0 {
            return Err(Refusal::Misuse("--set permits=0: nobody would ever get one".into()));
        }
        Ok(size)
    }
}

async fn root<R, F>(size: Size, task: impl Fn(Arc<Semaphore>, u64) -> F + Send) -> Tally
where
    R: AsyncRuntime,
    F: Future<Output = u64> + Send + 'static,
{
    let semaphore = Arc::new(Semaphore::new(size.permits));
    let spawn = |_| R::spawn(task(Arc::clone(&semaphore), size.rounds));
    let joins: Vec<_> = (0..size.tasks).map(spawn).collect();
    let mut acquired = 0;
    for join in joins {
        acquired += join.await;
    }
    Tally { answer: acquired, work: acquired }
}

pub(crate) fn prepare_uncontended<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let size = Size::of(request)?;
    Ok(steady::<R, _, _>(request.threads, move || root::<R, _>(size, acquire_and_release)))
}

pub(crate) fn prepare_contention<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let size = Size::of(request)?;
    Ok(steady::<R, _, _>(request.threads, move || root::<R, _>(size, hold_across_a_yield::<R>)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_permit_is_counted() {
        let runtime = TestRuntime::start(2);
        let tally = Tally { answer: 60, work: 60 };
        let size = Size { tasks: 6, permits: 1, rounds: 10 };
        let uncontended = root::<TestRuntime, _>(Size { permits: 6, ..size }, acquire_and_release);
        assert_eq!(runtime.run(uncontended), tally);
        let contended = root::<TestRuntime, _>(size, hold_across_a_yield::<TestRuntime>);
        assert_eq!(runtime.run(contended), tally);
    }
}
