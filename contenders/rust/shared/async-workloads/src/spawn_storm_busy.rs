//! A storm of spawns beside busy yielders.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::background::{stop, yielder};
use crate::row::cold;
use crate::spawn_many;

async fn root<R: AsyncRuntime>(busy: usize, tasks: usize) -> Tally {
    let flag = Arc::new(AtomicBool::new(false));
    let yielders: Vec<_> = (0..busy).map(|_| R::spawn(yielder::<R>(Arc::clone(&flag)))).collect();
    let tally = spawn_many::root::<R>(tasks).await;
    stop(&flag);
    for yielder in yielders {
        yielder.await;
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (busy, tasks) = (request.param("busy")?, request.param("tasks")?);
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(busy, tasks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_handle_is_joined() {
        let tally = TestRuntime::start(2).run(root::<TestRuntime>(3, 100));
        assert_eq!(tally, Tally { answer: 100, work: 100 });
    }
}
