//! chili: a thread pool of its own, and `Scope::join` with the scope handed from frame to frame.
#![forbid(unsafe_code)]

use std::num::NonZero;
use std::process::ExitCode;

use chili::{Config, Scope, ThreadPool};
use fork_join_workloads::ForkJoin;
use palio_protocol::forks::Forks;

struct Chili(ThreadPool);

impl ForkJoin for Chili {
    type Frame<'f> = Scope<'f>;

    fn start(threads: usize) -> Self {
        Self(ThreadPool::with_config(Config {
            thread_count: NonZero::new(threads),
            ..Config::default()
        }))
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut Scope<'_>) -> R + Send) -> R {
        work(&mut self.0.scope())
    }

    #[inline]
    fn join<C: Forks, RA: Send, RB: Send>(
        scope: &mut Scope<'_>,
        a: impl FnOnce(&mut Scope<'_>) -> RA + Send,
        b: impl FnOnce(&mut Scope<'_>) -> RB + Send,
    ) -> (RA, RB) {
        C::handed(1);
        scope.join(a, b)
    }
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "chili",
        threads_max: usize::MAX,
        workloads: &fork_join_workloads::rows::<Chili>(),
    }
}
