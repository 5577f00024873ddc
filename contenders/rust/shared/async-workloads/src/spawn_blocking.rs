//! Batches of blocking closures.

use std::hint::black_box;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;

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

fn spawn_and_join<R: AsyncRuntime>(runtime: &R, size: Size) -> Tally {
    let handle = runtime.handle();
    let task = || batches::<R>(size.batches, size.closures);
    let joins: Vec<_> = (0..size.tasks).map(|_| R::spawn_from_outside(&handle, task())).collect();
    runtime.block_on(async move {
        let mut tally = Tally::default();
        for join in joins {
            tally += join.await;
        }
        tally
    })
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let size = Size {
        tasks: request.param("tasks")?,
        batches: request.param("batches")?,
        closures: request.param("closures")?,
    };
    let runtime = R::start(request.threads);
    Ok(Work::new(move || spawn_and_join(&runtime, size).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_closure_is_awaited() {
        let size = Size { tasks: 3, batches: 4, closures: 5 };
        let tally = spawn_and_join(&TestRuntime::start(2), size);
        assert_eq!(tally, Tally { answer: 60, work: 60 });
    }
}
