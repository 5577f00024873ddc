//! forte: a pool in a static, and `Worker::join` with the worker handed from frame to frame.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use fork_join_workloads::ForkJoin;
use forte::{ThreadPool, Worker};
use palio_protocol::forks::Forks;

/// The most threads that take part in one pool, whoever started them.
const THREADS_MAX: usize = 32;

/// forte's pools live as long as the process.
static POOL: ThreadPool = ThreadPool::new();

/// The pool while it has threads.
struct Forte;

impl ForkJoin for Forte {
    type Frame<'f> = &'f Worker;

    fn start(threads: usize) -> Self {
        // The sampling thread is the remaining worker while it is in `install`.
        let own = threads - 1;
        assert_eq!(POOL.resize_to(own), own, "the pool has a seat for each of {threads} threads");
        Self
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut &Worker) -> R + Send) -> R {
        POOL.with_worker(|mut worker| work(&mut worker))
    }

    #[inline]
    fn join<C: Forks, RA: Send, RB: Send>(
        worker: &mut &Worker,
        a: impl FnOnce(&mut &Worker) -> RA + Send,
        b: impl FnOnce(&mut &Worker) -> RB + Send,
    ) -> (RA, RB) {
        C::handed(1);
        worker.join(|mut worker| a(&mut worker), |mut worker| b(&mut worker))
    }
}

impl Drop for Forte {
    fn drop(&mut self) {
        POOL.depopulate();
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "forte",
        threads_max: THREADS_MAX,
        workloads: &fork_join_workloads::rows::<Forte>(),
    }
}
