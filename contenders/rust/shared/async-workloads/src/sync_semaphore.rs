//! A semaphore, of which every task acquires one permit: with enough for all, and with fewer.

use std::sync::Arc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::row::Root;
use crate::{AsyncRuntime, Semaphores};

async fn acquire_and_release<P: Semaphores>(semaphore: Arc<P::Semaphore>) -> u64 {
    P::acquire_and_release(&semaphore).await;
    1
}

async fn root<R: AsyncRuntime, P: Semaphores>(semaphore: Arc<P::Semaphore>, tasks: usize) -> Tally {
    let spawn = |_| R::spawn(acquire_and_release::<P>(Arc::clone(&semaphore)));
    let joins: Vec<_> = (0..tasks).map(spawn).collect();
    let mut acquired = 0;
    for join in joins {
        acquired += join.await;
    }
    Tally { answer: acquired, work: acquired }
}

/// Where the root is to run, how many tasks it spawns, and the semaphore of all iterations.
fn setting<R: AsyncRuntime, P: Semaphores>(
    request: &mut Request,
) -> Result<(Root, usize, Arc<P::Semaphore>), Refusal> {
    let place = Root::of::<R>(request)?;
    let (tasks, permits): (usize, usize) = (request.param("tasks")?, request.param("permits")?);
    if permits == 0 {
        return Err(Refusal::Misuse("--set permits=0: nobody would ever get one".into()));
    }
    Ok((place, tasks, Arc::new(P::semaphore(permits))))
}

/// The row of the document: each iteration has a root of its own.
pub(crate) fn prepare<R: AsyncRuntime, P: Semaphores>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (place, tasks, semaphore) = setting::<R, P>(request)?;
    let root = move || root::<R, P>(Arc::clone(&semaphore), tasks);
    Ok(place.steady::<R, _, _>(request.threads, root))
}

/// The row of the suite `native-sync`: one root has all iterations of a sample.
pub(crate) fn prepare_in_one<R: AsyncRuntime, P: Semaphores>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (place, tasks, semaphore) = setting::<R, P>(request)?;
    let root = move || root::<R, P>(Arc::clone(&semaphore), tasks);
    Ok(place.steady_in_one::<R, _, _>(request.threads, root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_permit_is_counted() {
        let runtime = TestRuntime::start(2);
        for permits in [1, 5, 10] {
            let semaphore = Arc::new(TokioSync::semaphore(permits));
            let tally = runtime.run(root::<TestRuntime, TokioSync>(semaphore, 6));
            assert_eq!(tally, Tally { answer: 6, work: 6 });
        }
    }
}
