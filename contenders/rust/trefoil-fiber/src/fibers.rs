//! Fibers, as the shared rows ask for them, and a runtime that lives through all samples.

use std::time::Duration;

use blocking_workloads::{Blocking, Lasting};
use palio_protocol::harness::{Refusal, Request};
use trefoil::fiber;
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::{mpsc, oneshot};
use trefoil::task::JoinHandle;

use crate::knobs;

pub(crate) fn start(threads: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    knobs::apply(&mut builder);
    builder.worker_threads(threads).enable_all().build().expect("the runtime starts")
}

/// Joins a fiber; its panic goes on here.
pub(crate) fn join<T>(handle: JoinHandle<T>) -> T {
    handle.join().unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Where the root of a row runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// As a fiber.
    Worker,
    /// As a plain call of the sampling thread, which blocks where a fiber would wait.
    Outside,
}

impl Root {
    pub(crate) fn of(request: &mut Request) -> Result<Self, Refusal> {
        match request.param::<String>("root")?.as_str() {
            "worker" => Ok(Self::Worker),
            "outside" => Ok(Self::Outside),
            other => {
                Err(Refusal::Misuse(format!("--set root={other} is neither worker nor outside")))
            }
        }
    }

    /// Runs `root` there, and waits for it here.
    pub(crate) fn run<T: Send + 'static>(
        self,
        runtime: &Runtime,
        root: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let _inside = runtime.enter();
        match self {
            Self::Worker => join(fiber::spawn(root)),
            Self::Outside => root(),
        }
    }
}

pub(crate) struct Fibers;

impl Blocking for Fibers {
    /// A stack has 256 KiB, and leaves most of it to what else is called.
    const DEPTH_MAX: usize = 2000;

    type Handle<T: Send + 'static> = JoinHandle<T>;
    type Sender<T: Send + 'static> = mpsc::UnboundedSender<T>;
    type Receiver<T: Send + 'static> = mpsc::UnboundedReceiver<T>;
    type SenderOfOne<T: Send + 'static> = oneshot::Sender<T>;
    type ReceiverOfOne<T: Send + 'static> = oneshot::Receiver<T>;

    fn run_cold<T: Send + 'static>(threads: usize, root: impl FnOnce() -> T + Send + 'static) -> T {
        // Dropped here, which waits for its workers.
        Root::Worker.run(&start(threads), root)
    }

    fn spawn<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        fiber::spawn(task)
    }

    fn join<T: Send + 'static>(handle: JoinHandle<T>) -> Option<T> {
        handle.join().ok()
    }

    fn yield_now() {
        fiber::yield_now();
    }

    fn sleep(duration: Duration) {
        fiber::sleep(duration);
    }

    fn channel<T: Send + 'static>() -> (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>) {
        mpsc::unbounded_channel()
    }

    fn send<T: Send + 'static>(sender: &mpsc::UnboundedSender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is there");
    }

    fn receive<T: Send + 'static>(receiver: &mut mpsc::UnboundedReceiver<T>) -> Option<T> {
        receiver.blocking_recv()
    }

    fn channel_of_one<T: Send + 'static>() -> (oneshot::Sender<T>, oneshot::Receiver<T>) {
        oneshot::channel()
    }

    fn send_one<T: Send + 'static>(sender: oneshot::Sender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver waits");
    }

    fn receive_one<T: Send + 'static>(receiver: oneshot::Receiver<T>) -> T {
        receiver.blocking_recv().expect("the sender sends")
    }
}

/// A runtime that lives through all samples.
pub(crate) struct Lasts(Runtime);

impl Lasting for Lasts {
    fn start(request: &mut Request, _tasks: u64) -> Result<Self, Refusal> {
        Ok(Self(start(request.threads)))
    }

    fn run_outside(&self, root: impl FnOnce()) {
        let _inside = self.0.enter();
        root();
    }

    fn run_inside(&self, root: impl FnOnce() + Send + 'static) {
        Root::Worker.run(&self.0, root);
    }

    fn spawn_detached(task: fn()) {
        drop(fiber::spawn(task));
    }
}
