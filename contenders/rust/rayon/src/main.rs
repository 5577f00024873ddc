//! rayon: a thread pool of its own, and `join`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::OnceLock;

use fork_join_workloads::ForkJoin;
use palio_protocol::forks::Forks;
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// What `--set` accepts beside the parameters.
const KNOBS: &[(&str, &str)] = &[("caller", "waits")];

/// Whether the sampling thread is one of the pool's.
static CALLER_WORKS: OnceLock<bool> = OnceLock::new();

struct Rayon(ThreadPool);

impl ForkJoin for Rayon {
    type Frame<'f> = ();

    fn start(threads: usize) -> Self {
        let mut builder = ThreadPoolBuilder::new().num_threads(threads);
        if CALLER_WORKS.get() == Some(&true) {
            builder = builder.use_current_thread();
        }
        Self(builder.build().expect("the pool starts"))
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut ()) -> R + Send) -> R {
        self.0.install(|| work(&mut ()))
    }

    #[inline]
    fn join<C: Forks, RA: Send, RB: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> RA + Send,
        b: impl FnOnce(&mut ()) -> RB + Send,
    ) -> (RA, RB) {
        C::handed(1);
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }
}

/// Any row, after its knob was read.
fn prepare(request: &mut Request) -> Result<Work, Refusal> {
    let caller_works = request.is_turned("caller", ["waits", "works"])?;
    CALLER_WORKS.set(caller_works).expect("a process prepares one row");
    let rows = fork_join_workloads::rows::<Rayon>();
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}

fn rows() -> [(&'static str, Prepare); 6] {
    fork_join_workloads::rows::<Rayon>().map(|(name, _)| (name, prepare as Prepare))
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "rayon",
        threads_max: usize::MAX,
        workloads: &rows(),
        knobs: KNOBS,
    }
}
