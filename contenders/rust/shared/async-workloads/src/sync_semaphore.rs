//! A semaphore, of which every task acquires one permit: with enough for all, and with fewer.

use std::sync::Arc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use tokio::sync::Semaphore;

use crate::AsyncRuntime;
use crate::row::Root;

async fn acquire_and_release(semaphore: Arc<Semaphore>) -> u64 {
    let permit = semaphore.acquire().await.expect("nobody closes it");
    drop(permit);
    1
}

async fn root<R: AsyncRuntime>(semaphore: Arc<Semaphore>, tasks: usize) -> Tally {
    let spawn = |_| R::spawn(acquire_and_release(Arc::clone(&semaphore)));
    let joins: Vec<_> = (0..tasks).map(spawn).collect();
    let mut acquired = 0;
    for join in joins {
        acquired += join.await;
    }
    Tally { answer: acquired, work: acquired }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let (tasks, permits): (usize, usize) = (request.param("tasks")?, request.param("permits")?);
    if permits == 0 {
        return Err(Refusal::Misuse("--set permits=0: nobody would ever get one".into()));
    }
    let semaphore = Arc::new(Semaphore::new(permits));
    Ok(place.steady::<R, _, _>(request.threads, move || root::<R>(Arc::clone(&semaphore), tasks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_permit_is_counted() {
        let runtime = TestRuntime::start(2);
        for permits in [1, 5, 10] {
            let semaphore = Arc::new(Semaphore::new(permits));
            let tally = runtime.run(root::<TestRuntime>(semaphore, 6));
            assert_eq!(tally, Tally { answer: 6, work: 6 });
        }
    }
}
