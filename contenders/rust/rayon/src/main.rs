//! rayon: a thread pool of its own, and `join`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use fork_join_workloads::ForkJoin;
use rayon::{ThreadPool, ThreadPoolBuilder};

struct Rayon(ThreadPool);

impl ForkJoin for Rayon {
    fn start(threads: usize) -> Self {
        Self(ThreadPoolBuilder::new().num_threads(threads).build().expect("the pool starts"))
    }

    fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }

    fn join<RA: Send, RB: Send>(
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        rayon::join(a, b)
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "rayon",
        threads_max: usize::MAX,
        workloads: &fork_join_workloads::rows::<Rayon>(),
    }
}
