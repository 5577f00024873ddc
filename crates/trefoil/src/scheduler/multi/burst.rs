//! Many tasks that a thread which is no worker wakes one after the other.
//!
//! Each would take the lock of the injector, look for a sleeper, and count itself and those who use
//! the scheduler: six RMWs, or more, on words that the workers are busy with. Together they do so
//! once.
//!
//! A task of a burst is woken and not queued: to all others it has a *wake in flight*
//! (`task/README.md`), only for longer. So it is `SCHEDULED`, and other wakers leave it alone.
//!
//! # Bounds
//!
//! A task waits for fewer than [`MOST`] other wakes of the burst, each of which is one of a task:
//! a few RMWs, and no foreign code. What a burst is made of is `task::wake_all`.

use super::Shared;
use crate::context;
use crate::queue::Fifo;
use crate::task::{self, Runnable};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

/// So many tasks are queued at once, and no more wait for each other.
const MOST: usize = 128;

/// The tasks that wait for the end of the burst, all of one scheduler.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    open: RefCell<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    /// Once the tasks are queued, they may complete, and the runtime may end.
    shared: Arc<Shared>,
    tasks: Fifo<Runnable>,
}

impl Burst {
    /// # Safety
    /// As for [`Schedule::deliver`](task::Schedule::deliver).
    pub(super) unsafe fn add(&self, scheduler: *const Shared, task: Runnable) {
        let is_other = |open: &mut Open| !ptr::eq(Arc::as_ptr(&open.shared), scheduler);
        if self.open.borrow_mut().as_mut().is_some_and(is_other) {
            self.end();
        }
        let mut open = self.open.borrow_mut();
        let Open { tasks, .. } = open.get_or_insert_with(|| {
            // SAFETY: the pointer is from `as_ptr`, and live up to here by the caller's promise.
            unsafe { Arc::increment_strong_count(scheduler) };
            // SAFETY: the count that was just added.
            let shared = unsafe { Arc::from_raw(scheduler) };
            Open { shared, tasks: Fifo::new() }
        });
        tasks.push_back(task);
        if tasks.len() == MOST {
            drop(open);
            self.end();
        }
    }

    /// Queues the tasks that wait.
    ///
    /// This may call foreign code: for the name of a thread that is started, and when a runtime or
    /// a task goes with its last count. What that wakes must not come to this burst: nobody may end
    /// it once more, and `add` goes on with another scheduler's tasks.
    pub(crate) fn end(&self) {
        let Some(open) = self.open.take() else { return };
        let queued = catch_unwind(AssertUnwindSafe(|| context::without_burst(|| open.queue())));
        if let Err(payload) = queued {
            // Of a destructor, after the tasks were queued.
            task::discard(payload);
        }
    }
}

impl Open {
    fn queue(self) {
        let Self { shared, tasks } = self;
        shared.common.woken_elsewhere.add_shared(tasks.len() as u64);
        match shared.injector.push_all(tasks) {
            Ok(()) => shared.notify(),
            Err(refused) => refused.drain(|task| {
                // SAFETY: it was given to `add` for this scheduler, which is live.
                unsafe { task::take_back(Arc::as_ptr(&shared), task) };
            }),
        }
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        debug_assert!(self.open.get_mut().is_none(), "a `Fifo` drops nothing");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::runtime::{Builder, Runtime};
    use std::future::poll_fn;
    use std::sync::mpsc;
    use std::task::{Poll, Waker};
    use std::time::{Duration, Instant};

    const WATCHDOG: Duration = Duration::from_secs(30);

    /// A task that ends when it is woken, its waker, and where it says that it has.
    fn waits(runtime: &Runtime) -> (Waker, mpsc::Receiver<()>) {
        let (give, given) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let mut was_polled = false;
        drop(runtime.spawn(poll_fn(move |cx| {
            if was_polled {
                end.send(()).unwrap();
                return Poll::Ready(());
            }
            was_polled = true;
            give.send(cx.waker().clone()).unwrap();
            Poll::Pending
        })));
        let waker = given.recv_timeout(WATCHDOG).expect("a waker");
        // There is one worker: when it has run another task, this one is at rest, and a wake-up
        // has to bring it to a queue.
        runtime.block_on(runtime.spawn(async {})).unwrap();
        (waker, ended)
    }

    /// The runtime is over when the burst ends, whose count is the last: what the runtime's hooks
    /// own is dropped there. That may wake others, and may panic.
    #[test]
    fn what_the_end_of_a_runtime_wakes_is_queued() {
        struct WakesAndPanics(Option<Waker>);
        impl Drop for WakesAndPanics {
            fn drop(&mut self) {
                self.0.take().into_iter().for_each(Waker::wake);
                panic!("this panic belongs to a test");
            }
        }
        let other = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (waker, ended) = waits(&other);
        let owned = WakesAndPanics(Some(waker));
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_park(move || {
                let _owned = &owned;
            })
            .build()
            .unwrap();
        let (waker, _ended) = waits(&runtime);
        let burst = Burst::default();
        let opened = context::open_burst(&burst);
        waker.wake();
        drop(runtime);
        // The burst's count, and the one that the shutdown leaves for a wake in flight.
        let counts = || Arc::strong_count(&burst.open.borrow().as_ref().expect("a wake").shared);
        let start = Instant::now();
        while counts() > 2 {
            assert!(start.elapsed() < WATCHDOG, "its threads keep the runtime");
            std::thread::yield_now();
        }
        assert!(ended.try_recv().is_err(), "the burst keeps it");
        drop(opened);
        ended.recv_timeout(WATCHDOG).expect("a wake-up");
    }
}
