//! Many empty tasks, spawned and joined by a root task on a worker: alone, and beside background
//! tasks.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::background::{Busy, busy_yielder, chain};
use crate::row::{Root, one_thread, run_on_one};

pub(crate) async fn root<R: AsyncRuntime>(tasks: usize) -> Tally {
    let joins: Vec<_> = (0..tasks).map(|_| R::spawn(async {})).collect();
    let mut joined = 0;
    for join in joins {
        join.await;
        joined += 1;
    }
    Tally { answer: joined, work: joined }
}

pub(crate) fn prepare_local<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let tasks = request.param("tasks")?;
    let runtime = R::start(request.threads);
    Ok(Work::new(move || run_on_one(&runtime, root::<R>(tasks)).into()))
}

pub(crate) fn prepare_remote_busy<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let tasks = request.param("tasks")?;
    let busy = Busy::<R>::start(request.threads, 1, chain::<R>);
    Ok(Work::new(move || run_on_one(busy.runtime(), root::<R>(tasks)).into()))
}

pub(crate) fn prepare_remote_busy1<R: AsyncRuntime>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let (tasks, yielders) = (request.param("tasks")?, request.param("busy")?);
    let busy = Busy::<R>::start(request.threads, yielders, busy_yielder::<R>);
    Ok(Work::new(move || place.run(busy.runtime(), root::<R>(tasks)).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_handle_is_joined() {
        let tally = Tally { answer: 100, work: 100 };
        assert_eq!(TestRuntime::start(2).run(root::<TestRuntime>(100)), tally);
        for task in [true, false] {
            let busy = if task {
                Busy::<TestRuntime>::start(2, 1, chain::<TestRuntime>)
            } else {
                Busy::<TestRuntime>::start(2, 3, busy_yielder::<TestRuntime>)
            };
            assert_eq!(busy.runtime().run(root::<TestRuntime>(100)), tally);
        }
    }
}
