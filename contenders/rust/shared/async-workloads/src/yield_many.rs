//! Tasks that do nothing but yield.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::{cold, one_thread, steady};
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

async fn root<R, F>(tasks: usize, task: impl Fn() -> F + Send) -> Tally
where
    R: AsyncRuntime,
    F: Future<Output = u64> + Send + 'static,
{
    let joins: Vec<_> = (0..tasks).map(|_| R::spawn(task())).collect();
    let mut yielded = 0;
    for join in joins {
        yielded += join.await;
    }
    Tally { answer: yielded, work: yielded }
}

pub(crate) fn prepare_steady<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, count) = (request.param("tasks")?, request.param("yields")?);
    Ok(steady::<R, _, _>(request.threads, move || root::<R, _>(tasks, move || wakes(count))))
}

pub(crate) fn prepare_cold<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, count) = (request.param("tasks")?, request.param("yields")?);
    Ok(cold::<R, _, _>(request.threads, move || root::<R, _>(tasks, move || yields::<R>(count))))
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
        let runtime = TestRuntime::start(2);
        assert_eq!(runtime.run(root::<TestRuntime, _>(7, || yields::<TestRuntime>(30))), tally);
        assert_eq!(runtime.run(root::<TestRuntime, _>(7, || wakes(30))), tally);
    }
}
