//! nio: its workers on threads of their own.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use async_workloads::{TokioSync, prepare_defer_one};
use nio_adapter::{Flavour, Nio, Runtime, RuntimeBuilder, RuntimeContext, THREADS_MAX, tcp_rows};
use palio_protocol::harness::Prepare;

/// The one runtime of the process: nio has no way to stop the workers of one, so a second would run
/// beside it.
struct Workers(&'static Runtime);

impl Flavour for Workers {
    const DRIVEN_BY_BLOCK_ON: bool = false;

    fn start(builder: RuntimeBuilder) -> Self {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        Self(RUNTIME.get_or_init(|| builder.rt().expect("the runtime starts")))
    }

    fn context(&self) -> Arc<RuntimeContext> {
        self.0.context()
    }

    fn block_on_pinned<M, F>(&self, make: M) -> F::Output
    where
        M: FnOnce() -> F + Send,
        F: Future<Output: Send>,
    {
        self.0.block_on(make)
    }
}

fn rows() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows::<Nio<Workers>, TokioSync>();
    rows.push(("defer_one", prepare_defer_one::<Nio<Workers>>));
    rows.extend(tcp_rows::<Workers>());
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "nio",
        threads_max: THREADS_MAX,
        workloads: &rows(),
    }
}
