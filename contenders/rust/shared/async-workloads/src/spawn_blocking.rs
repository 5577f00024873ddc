//! Batches of blocking closures.

use std::hint::black_box;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::Root;

async fn batches<R: AsyncRuntime>(batches: usize, closures: usize) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..batches {
        let spawn = |_| R::spawn_blocking(|| black_box(salt::of_process()));
        let joins: Vec<_> = (0..closures).map(spawn).collect();
        for join in joins {
            tally += Tally { answer: join.await.wrapping_add(1), work: 1 };
        }
    }
    tally
}

#[derive(Clone, Copy)]
struct Size {
    tasks: usize,
    batches: usize,
    closures: usize,
}

async fn root<R: AsyncRuntime>(size: Size) -> Tally {
    let task = || batches::<R>(size.batches, size.closures);
    let joins: Vec<_> = (0..size.tasks).map(|_| R::spawn(task())).collect();
    let mut tally = Tally::default();
    for join in joins {
        tally += join.await;
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let size = Size {
        tasks: request.param("tasks")?,
        batches: request.param("batches")?,
        closures: request.param("closures")?,
    };
    Ok(place.steady::<R, _, _>(request.threads, move || root::<R>(size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_closure_is_awaited() {
        let size = Size { tasks: 3, batches: 4, closures: 5 };
        for place in [Root::Worker, Root::Outside] {
            let tally = place.run(&TestRuntime::start(2), root::<TestRuntime>(size));
            assert_eq!(tally, Tally { answer: 60, work: 60 });
        }
    }
}
