//! fib: one spawned task per fork.
//!
//! Each inner call spawns its left branch and awaits the right one in place, so the tasks are as
//! many as the forks. A future cannot contain itself, so the branch in place is boxed: one
//! allocation beside the task's own.

use fork_join_workloads::fib::{argument, is_leaf, join, unpack};
use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::steady;

/// A function of its own that names the handle's type: a future that spawned its own type would
/// have to be known to be `Send` while the compiler still looks at its body.
fn fork<R: AsyncRuntime, C: Forks>(n: u64) -> R::Join<u64> {
    C::handed(1);
    R::spawn(fib::<R, C>(n))
}

async fn fib<R: AsyncRuntime, C: Forks>(n: u64) -> u64 {
    if is_leaf(n) {
        return n;
    }
    let left = fork::<R, C>(n - 1);
    let right = Box::pin(fib::<R, C>(n - 2)).await;
    join(left.await, right)
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let n = argument(request)?;
    Ok(if request.counts_forks() {
        work::<R, Counted>(request.threads, n)
    } else {
        work::<R, Uncounted>(request.threads, n)
    })
}

fn work<R: AsyncRuntime, C: Forks>(threads: usize, n: u64) -> Work {
    steady::<R, _, _>(threads, move || async move { unpack(fib::<R, C>(n).await, n) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn value_and_forks() {
        let done = unpack(TestRuntime::start(2).run(fib::<TestRuntime, Uncounted>(12)), 12);
        assert_eq!((done.answer, done.work), (232 << 32 | 144, Some(232)));
    }
}
