//! A chain of spawns.

use fork_join_workloads::Tally;
use futures_channel::oneshot;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::{cold, steady};

/// Spawns link number `links` of `depth`, and returns without waiting for it. (A plain function
/// around the task, so that the task's type does not contain itself and nothing need be boxed.)
fn spawn_link<R: AsyncRuntime>(links: u64, depth: u64, done: oneshot::Sender<u64>) {
    R::spawn_detached(async move {
        if links == depth {
            done.send(links).expect("the root waits");
        } else {
            spawn_link::<R>(links + 1, depth, done);
        }
    });
}

async fn root<R: AsyncRuntime>(depth: u64) -> Tally {
    let (done, ended) = oneshot::channel();
    spawn_link::<R>(1, depth, done);
    let links = ended.await.expect("the last link sends");
    Tally { answer: links, work: links }
}

fn depth(request: &mut Request) -> Result<u64, Refusal> {
    let depth = request.param("depth")?;
    if depth == 0 {
        return Err(Refusal::Misuse("--set depth=0: a chain has at least one link".into()));
    }
    Ok(depth)
}

pub(crate) fn prepare_steady<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let depth = depth(request)?;
    Ok(steady::<R, _, _>(request.threads, move || root::<R>(depth)))
}

pub(crate) fn prepare_cold<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let depth = depth(request)?;
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(depth)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_link_is_counted() {
        for depth in [1, 2, 100] {
            let tally = TestRuntime::start(2).run(root::<TestRuntime>(depth));
            assert_eq!(tally, Tally { answer: depth, work: depth });
        }
    }
}
