//! yaay: a multi-thread executor of two calls, `spawn` and `defer`, and sockets on mio.

use std::process::ExitCode;

use async_workloads::{Deferring, prepare_defer_one};
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use yaay_mt_runtime::runtime::MTRuntime;
use yaay_runtime_api::RuntimeAPI;

use crate::host::Host;

mod host;
mod tcp;

/// yaay counts its active workers in nine bits.
const THREADS_MAX: usize = 511;

/// What a worker does with a task that nobody awaits.
trait Call: 'static {
    fn call<F: Future<Output = ()> + Send + 'static>(task: F);
}

struct Defer;

impl Call for Defer {
    fn call<F: Future<Output = ()> + Send + 'static>(task: F) {
        MTRuntime::defer(task);
    }
}

struct Spawn;

impl Call for Spawn {
    fn call<F: Future<Output = ()> + Send + 'static>(task: F) {
        MTRuntime::spawn(task);
    }
}

struct By<C> {
    host: Host,
    call: std::marker::PhantomData<C>,
}

impl<C: Call> Deferring for By<C> {
    fn start(threads: usize) -> Self {
        Self { host: Host::without_net(threads), call: std::marker::PhantomData }
    }

    fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.host.run(root)
    }

    fn defer<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        C::call(task);
    }

    /// On this thread: a task of yaay that a worker wakes is undefined behaviour.
    fn wait<F>(&self, ended: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        futures_executor::block_on(ended)
    }
}

/// `spawn_one`, whose spawner can only be a task.
fn spawn_one(request: &mut Request) -> Result<Work, Refusal> {
    match request.param::<String>("from")?.as_str() {
        "worker" => prepare_defer_one::<By<Spawn>>(request),
        "outside" => Err(Refusal::Unsupported(
            "a thread that is no worker cannot spawn: yaay looks for its worker there".into(),
        )),
        other => Err(Refusal::Misuse(format!("--set from={other} is neither worker nor outside"))),
    }
}

const ROWS: &[(&str, Prepare)] = &[
    ("spawn_one", spawn_one),
    ("defer_one", prepare_defer_one::<By<Defer>>),
    ("tcp_ping_pong", tcp::ping_pong),
];

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "yaay-mt-runtime",
        threads_max: THREADS_MAX,
        workloads: ROWS,
    }
}
