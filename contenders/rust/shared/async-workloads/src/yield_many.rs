//! Tasks that do nothing but yield.

use std::sync::mpsc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::{cold, one_thread};
use crate::self_wake::wake_and_yield;

async fn yields<R: AsyncRuntime>(count: u64) -> u64 {
    let mut yielded = 0;
    for _ in 0..count {
        R::yield_now().await;
        yielded += 1;
    }
    yielded
}

async fn wakes(count: u64) -> u64 {
    let mut yielded = 0;
    for _ in 0..count {
        wake_and_yield().await;
        yielded += 1;
    }
    yielded
}

async fn root<R: AsyncRuntime>(tasks: usize, count: u64) -> Tally {
    let joins: Vec<_> = (0..tasks).map(|_| R::spawn(yields::<R>(count))).collect();
    let mut yielded = 0;
    for join in joins {
        yielded += join.await;
    }
    Tally { answer: yielded, work: yielded }
}

/// A runtime, and a channel to the thread outside that lives from the first iteration to the last.
struct Yielders<R> {
    tasks: usize,
    done: mpsc::SyncSender<u64>,
    ended: mpsc::Receiver<u64>,
    runtime: R,
}

impl<R: AsyncRuntime> Yielders<R> {
    fn start(threads: usize, tasks: usize) -> Self {
        // Room for all: no task waits on a worker until the thread outside has received.
        let (done, ended) = mpsc::sync_channel(tasks);
        Self { tasks, done, ended, runtime: R::start(threads) }
    }

    fn iterate(&self, count: u64) -> Tally {
        let handle = self.runtime.handle();
        for _ in 0..self.tasks {
            let done = self.done.clone();
            R::spawn_detached_from_outside(&handle, async move {
                done.send(wakes(count).await).expect("the outside thread receives");
            });
        }
        let receive = |_| self.ended.recv().expect("every task sends");
        let yielded = (0..self.tasks).map(receive).sum();
        Tally { answer: yielded, work: yielded }
    }
}

pub(crate) fn prepare_steady<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, count) = (request.param("tasks")?, request.param("yields")?);
    let yielders = Yielders::<R>::start(request.threads, tasks);
    Ok(Work::new(move || yielders.iterate(count).into()))
}

pub(crate) fn prepare_cold<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, count) = (request.param("tasks")?, request.param("yields")?);
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(tasks, count)))
}

pub(crate) fn prepare_hot_loop<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    prepare_cold::<R>(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_yield_is_counted() {
        let tally = Tally { answer: 210, work: 210 };
        let yielders = Yielders::<TestRuntime>::start(2, 7);
        assert_eq!(yielders.runtime.run(root::<TestRuntime>(7, 30)), tally);
        for _ in 0..3 {
            assert_eq!(yielders.iterate(30), tally);
        }
    }
}
