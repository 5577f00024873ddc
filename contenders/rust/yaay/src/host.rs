//! The runtime of the process, which runs for as long as that does.

use std::pin::Pin;
use std::sync::mpsc as std_mpsc;
use std::thread;

use futures_channel::mpsc::{UnboundedSender, unbounded};
use futures_util::stream::StreamExt;
use yaay_mio::prelude::{mio_exit, mio_shutdown, mio_spawn_event_loop};
use yaay_mt_runtime::runtime::MTRuntime;
use yaay_runtime_api::RuntimeAPI;

/// The threads that poll the system's events; one, as in the document.
const POLLING_THREADS: usize = 1;

type Root = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task that spawns the roots that it is sent.
///
/// yaay's `run_with` gives its thread to one main future and ends with it, and nobody else outside
/// of the workers can spawn. So that future runs on, on a thread that only waits for the workers to
/// end.
pub(crate) struct Host {
    roots: UnboundedSender<Root>,
}

impl Host {
    pub(crate) fn without_net(threads: usize) -> Self {
        Self::start(move |main| {
            let workers = u32::try_from(threads).expect("the harness has refused more than 511");
            MTRuntime::run_with(main, workers, &mut || (), &mut |()| (), &mut |()| ());
        })
    }

    /// With sockets: there is a thread beside the workers that polls the system's events.
    pub(crate) fn with_net(threads: usize) -> Self {
        Self::start(move |main| {
            let workers = u32::try_from(threads).expect("the harness has refused more than 511");
            MTRuntime::run_with(
                main,
                workers,
                // SAFETY: as in yaay's own programs, this is the closure that `run_with` calls when
                // its workers are there and before the main future runs, once in this process.
                &mut || unsafe { mio_spawn_event_loop::<MTRuntime>(POLLING_THREADS) },
                // SAFETY: these are the threads that the call above has returned, and the workers,
                // which alone use sockets, have ended.
                &mut |polling| unsafe { mio_shutdown(polling) },
                // SAFETY: it comes last, after the other two.
                &mut |()| unsafe { mio_exit(()) },
            );
        })
    }

    fn start(run: impl FnOnce(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + 'static) -> Self {
        let (roots, mut sent) = unbounded::<Root>();
        let main = Box::pin(async move {
            while let Some(root) = sent.next().await {
                MTRuntime::spawn(root);
            }
            MTRuntime::shutdown_async();
        });
        thread::Builder::new()
            .name("yaay-run-with".to_owned())
            .spawn(move || run(main))
            .expect("the thread starts");
        Self { roots }
    }

    /// Has a task run `root`, and waits for it here.
    pub(crate) fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (done, outcome) = std_mpsc::sync_channel(1);
        self.spawn(async move {
            done.send(root.await).expect("the sampling thread waits");
        });
        outcome.recv().expect("the root ends")
    }

    /// From the sampling thread. It wakes the main future, which is sound from a thread that is no
    /// worker.
    pub(crate) fn spawn(&self, root: impl Future<Output = ()> + Send + 'static) {
        let sent = self.roots.unbounded_send(Box::pin(root));
        sent.expect("the main future runs for as long as the process");
    }
}
