//! What the tests share.

use crate::support::Hasty;
use crate::support::that_waits;
use crate::support::watch::WATCHDOG;
use crate::support::watch::drop_returns;
use crate::support::watch::workers_sleep;
use parking_lot::Mutex;
use std::future::Future;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::thread::ThreadId;
use std::time::Duration;
use std::time::Instant;
use trefoil::runtime::Builder;
use trefoil::runtime::Handle;
use trefoil::spawn;
use trefoil::time::sleep;

pub(crate) fn id() -> ThreadId {
    thread::current().id()
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn builder(workers: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all().serve_in_block_on(true);
    builder
}

pub(crate) fn serving(workers: usize) -> Hasty {
    Hasty(Some(builder(workers).build().unwrap()))
}

/// Waits until a task that the root spawns runs on the root's thread.
pub(crate) async fn stand_in() {
    let (here, start) = (id(), Instant::now());
    while spawn(async { id() }).await.unwrap() != here {
        assert!(start.elapsed() < WATCHDOG, "no place for the future of `block_on`");
        sleep(Duration::from_micros(200)).await;
    }
}

/// Has a thread of its own run a root that stands in. Fails instead of hanging.
pub(crate) fn on(runtime: Hasty, root: impl AsyncFnOnce(&Handle) + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let handle = runtime.handle().clone();
    let body = thread::spawn(move || {
        handle.block_on(async {
            stand_in().await;
            root(&handle).await;
        });
        let _ = done.send(());
    });
    if is_done.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("the root waits for ever:\n{}", runtime.handle().dump());
    }
    body.join().unwrap();
    // Every worker has its place again, and sleeps there.
    workers_sleep(&runtime.metrics());
    drop_returns("the drop of the runtime", runtime);
}

/// The same, for several numbers of workers.
pub(crate) fn each(root: impl AsyncFn(&Handle) + Copy + Send + 'static) {
    for workers in [1, 2, 3] {
        on(serving(workers), async move |handle| root(handle).await);
    }
}

/// Polls a future once, which is not ready.
pub(crate) async fn in_vain<F: Future + Unpin>(make: impl Fn() -> F) -> F {
    poll_fn(|cx| Poll::Ready(that_waits(cx.waker(), &make))).await
}

/// Calls something when it is dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

pub(crate) fn id_cell() -> Arc<Mutex<Option<ThreadId>>> {
    Arc::default()
}
