//! A chain of spawns.

use fork_join_workloads::Tally;
use futures_channel::oneshot;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::{cold, steady};

/// Spawns the link that counts to `count` of a chain that ends at `last`, and returns without
/// waiting for it. (A plain function
/// around the task, so that the task's type does not contain itself and nothing need be boxed.)
fn spawn_link<R: AsyncRuntime>(count: u64, last: u64, done: oneshot::Sender<u64>) {
    R::spawn_detached(async move {
        if count == last {
            done.send(count).expect("the root waits");
        } else {
            spawn_link::<R>(count.wrapping_add(1), last, done);
        }
    });
}

async fn root<R: AsyncRuntime>(depth: u64) -> Tally {
    let (done, ended) = oneshot::channel();
    let salt = salt::of_process();
    spawn_link::<R>(salt.wrapping_add(1), salt.wrapping_add(depth), done);
    let count = ended.await.expect("the last link sends");
    Tally { answer: count, work: count.wrapping_sub(salt) }
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
