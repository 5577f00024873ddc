//! nio: one worker, on the thread that calls `block_on`.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;

use async_workloads::{TokioSync, prepare_defer_one};
use nio_adapter::{Flavour, LocalRuntime, Nio, RuntimeBuilder, RuntimeContext, tcp_rows};
use palio_protocol::harness::Prepare;

struct Local(RefCell<LocalRuntime>);

impl Flavour for Local {
    const DRIVEN_BY_BLOCK_ON: bool = true;

    fn start(builder: RuntimeBuilder) -> Self {
        // With more than one worker the others would have threads of their own, which cannot be
        // stopped; the harness has refused more than one.
        Self(RefCell::new(builder.build().expect("the runtime starts")))
    }

    fn context(&self) -> Arc<RuntimeContext> {
        self.0.borrow().runtime_context()
    }

    fn block_on_pinned<M, F>(&self, make: M) -> F::Output
    where
        M: FnOnce() -> F + Send,
        F: Future<Output: Send>,
    {
        self.0.borrow_mut().block_on(make())
    }
}

fn rows() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows::<Nio<Local>, TokioSync>();
    rows.push(("defer_one", prepare_defer_one::<Nio<Local>>));
    rows.extend(tcp_rows::<Local>());
    rows
}

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "nio",
        threads_max: 1,
        workloads: &rows(),
    }
}
