//! rayon: a thread pool of its own, and `join`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use fork_join_workloads::ForkJoin;
use rayon::{ThreadPool, ThreadPoolBuilder};

struct Rayon(ThreadPool);

impl ForkJoin for Rayon {
    type Frame<'f> = ();

    fn start(threads: usize) -> Self {
        Self(ThreadPoolBuilder::new().num_threads(threads).build().expect("the pool starts"))
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut ()) -> R + Send) -> R {
        self.0.install(|| work(&mut ()))
    }

    #[inline]
    fn join<RA: Send, RB: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> RA + Send,
        b: impl FnOnce(&mut ()) -> RB + Send,
    ) -> (RA, RB) {
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "rayon",
        threads_max: usize::MAX,
        workloads: &fork_join_workloads::rows::<Rayon>(),
    }
}
