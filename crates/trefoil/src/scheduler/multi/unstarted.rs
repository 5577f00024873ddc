//! Workers that have no thread yet.
//!
//! A thread costs some 35 µs of CPU time to start and end, and a short program needs few. So only
//! the first worker has one from the beginning. The others begin as sleepers whose states are on
//! offer (`handoff.rs`), like those of workers whose threads block. Whoever would wake such a
//! worker, for work that everybody sees or for a task that is pinned to it, retakes its state and
//! so gives it to the pool, which starts a thread or has an idle one. From then on, it is a worker
//! like any other, and keeps its thread until the end.
//!
//! What is different from a worker that blocks:
//!
//! - No thread comes back for the state. So the monitor need not stay awake for the offer.
//! - At the end of the runtime, it is not woken: it has no tasks, and the first worker that leaves
//!   takes its state along (`Shared::retire`). It may still be woken for work, which a poll that
//!   goes on may wait for; but not by workers that leave, which end what they have queued.
//! - The pool keeps room for the thread: closures do not take it, nor do other workers, which wait
//!   for room because their threads block.
//! - Its thread is started for whoever wakes it, by the monitor if that sleeps
//!   (`blocking/starter.rs`), or else by that thread, which may be one that runs on few CPUs. The
//!   new one does not inherit them: it runs where the runtime was made.
//!
//! The first worker counts as searching until it has looked for work once, so that what is spawned
//! before its thread runs has no second thread started. Those who fell asleep last are woken first,
//! and guests take the places of those who have slept for longest: so sleepers that have no thread
//! are woken last, and have a guest in their place first.
//!
//! **The monitor** has a thread from the beginning, too. Otherwise, a worker that sleeps or is
//! between two polls starts it, when the runtime is a period old. The only worker with a thread may
//! be in a poll by then that does not end; nobody would pass on what waits for it, nor ask for a
//! thread again that the system has refused. The monitor may rest while all workers sleep. A worker
//! that gets its first thread wakes it, as one that comes out of its sleep does.
//!
//! So there are two threads at least. Two workers have one each, as the second one's would be in
//! place of the monitor's: all of the above is so with three or more.
//!
//! With `Builder::serve_in_block_on`, all threads are started at once. A thread in `block_on` takes
//! the place of a worker's own thread, which sleeps meanwhile.

use super::worker::WorkerState;
use super::{Kind, Knobs, Shared};
use crate::primitives::atomic::Relaxed;
use std::sync::Arc;

/// Whether only the first of so many workers has a thread from the beginning.
pub(super) fn starts_later(workers: usize, knobs: &Knobs) -> bool {
    workers >= 3 && !knobs.serves_in_block_on
}

impl Shared {
    /// Lays all workers asleep but the first. Returns how many are to have threads.
    pub(super) fn lay_asleep(&self) -> usize {
        let workers = self.workers();
        // The second worker is the first to be woken.
        for index in (1..workers).rev() {
            let (remote, state) = (&self.remotes[index], self.new_state(index));
            let sleep = state.begins_asleep();
            // Nobody has seen the scheduler yet, so there is no work to look for.
            let _ = self.idle.sleep(index as u32, false, || {
                // Relaxed: the offer publishes it.
                remote.counts_asleep.store(sleep, Relaxed);
                // SAFETY: the state is new, and given up here.
                unsafe { remote.handoff.offer(Box::into_raw(state), false, Kind::Unstarted) };
            });
        }
        self.common.blocking.reserve(workers - 1);
        1
    }

    /// The state is that of a worker which has not begun yet.
    pub(super) fn begins_as_searcher(&self, state: &WorkerState) {
        if self.idle.start_searching() {
            state.begins_as_searcher();
        }
    }

    /// The calling thread is the first to have such a state, and counts as awake. The monitor may
    /// rest, because all workers slept. The first turn would wake it; but what comes before that,
    /// the hook, may be long.
    pub(super) fn begins_late(self: &Arc<Self>) {
        if !self.is_shut_down() {
            self.monitor.worker_woke(self);
        }
    }

    /// The states that no thread has had, for the caller, which leaves after the runtime's end.
    ///
    /// If somebody else retakes one, its thread leaves by itself.
    pub(super) fn take_unstarted(&self) -> impl Iterator<Item = Box<WorkerState>> {
        self.remotes.iter().filter_map(|remote| {
            let offer = remote.handoff.available().filter(|offer| offer.is_unstarted())?;
            let state = remote.handoff.take(offer)?;
            // SAFETY: it was offered by `lay_asleep`, and the exchange made it ours.
            Some(unsafe { Box::from_raw(state) })
        })
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use crate::runtime::{Builder, Handle, Runtime};
    use crate::scheduler::Scheduler;
    use crate::scheduler::multi::{Offer, Shared};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, Mutex, mpsc};
    use std::time::{Duration, Instant};

    const WATCHDOG: Duration = Duration::from_secs(20);

    fn shared(runtime: &Runtime) -> &Arc<Shared> {
        let Scheduler::Multi(shared) = &runtime.handle().scheduler else { unreachable!() };
        shared
    }

    fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < WATCHDOG, "waited in vain: {what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_worker_without_a_thread_needs_no_monitor() {
        let runtime = Builder::new_multi_thread().worker_threads(3).build().unwrap();
        let shared = shared(&runtime);
        wait_for("the first worker sleeps", || !shared.needs_monitor());
        for remote in &shared.remotes[1..] {
            assert!(remote.handoff.available().is_some_and(Offer::is_unstarted));
        }
    }

    /// The monitor rests when the second worker gets its thread, whose hook leaves a task in the
    /// slot and waits for it. The first worker sleeps.
    #[test]
    fn a_hook_that_does_not_end_is_looked_after_by_a_monitor_that_had_gone_to_rest() {
        let starts = AtomicUsize::new(0);
        let (end, has_ended) = mpsc::channel();
        let end = Mutex::new(end);
        let hook = move || {
            if starts.fetch_add(1, SeqCst) == 1 {
                let (served, is_served) = mpsc::channel();
                drop(Handle::current().spawn(async move { served.send(()).unwrap() }));
                end.lock().unwrap().send(is_served.recv_timeout(WATCHDOG)).unwrap();
            }
        };
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(3).on_thread_start(hook).build().unwrap();
        wait_for("the monitor rests", || shared(&runtime).monitor.is_at_rest());
        drop(runtime.spawn_pinned(1, async {}));
        assert_eq!(has_ended.recv(), Ok(Ok(())), "nobody serves it");
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::primitives::Mutex;
    use crate::primitives::atomic::{
        AcqRel, Acquire, AtomicBool, AtomicUsize, SeqCst, fence, fence_after_rmw,
    };
    use crate::scheduler::multi::handoff::{Handoff, Offer};
    use loom::thread;
    use std::ptr;
    use std::sync::Arc;

    /// A first worker, which leaves, and a second one without a thread.
    struct Model {
        handoff: Handoff,
        inbox: AtomicBool,
        shutdown: AtomicBool,
        threads: AtomicUsize,
        /// The number of states that have come.
        retired: Mutex<usize>,
        /// What the last one to leave has found.
        found: Mutex<Option<bool>>,
    }

    impl Model {
        fn new() -> Arc<Self> {
            let model = Self {
                handoff: Handoff::new(),
                inbox: AtomicBool::new(false),
                shutdown: AtomicBool::new(false),
                threads: AtomicUsize::new(2),
                retired: Mutex::new(0),
                found: Mutex::new(None),
            };
            // SAFETY: a state that does not exist has no other owner.
            let _ = unsafe { model.handoff.offer(ptr::null_mut(), false, Kind::Unstarted) };
            Arc::new(model)
        }

        fn is_shut_down(&self) -> bool {
            self.shutdown.load(Acquire)
        }

        fn take(&self, is_wanted: impl FnOnce(Offer) -> bool) -> bool {
            let offer = self.handoff.available().filter(|offer| is_wanted(*offer));
            offer.is_some_and(|offer| self.handoff.take(offer).is_some())
        }

        /// As `Shared::send` and `unpark_worker`. True if the second worker has a thread then.
        fn send(&self) -> bool {
            self.inbox.swap(true, AcqRel);
            fence_after_rmw();
            self.take(Offer::blocks)
        }

        /// As `Shared::retire`.
        fn retire(&self) {
            let mut retired = self.retired.lock();
            let leaves = 1 + usize::from(self.take(Offer::is_unstarted));
            *retired += leaves;
            drop(retired);
            if self.threads.fetch_sub(leaves, AcqRel) == leaves {
                assert_eq!(*self.retired.lock(), 2, "a state is missing");
                // Relaxed: the chain through `threads` is what the model is to show.
                let before = self.found.lock().replace(self.inbox.load(Relaxed));
                assert_eq!(before, None, "two were the last");
            }
        }

        /// As `Shared::shut_down`, and then the first worker leaves.
        fn end(&self) {
            self.shutdown.store(true, SeqCst);
            fence(SeqCst);
            self.retire();
        }
    }

    /// A task is sent to the second worker while the runtime ends. Each state is retired once, and
    /// the last thread to leave finds all of them; and the task, if a thread was started for it.
    #[test]
    fn loom_a_worker_without_a_thread_leaves_once() {
        loom::model(|| {
            let model = Model::new();
            let its = Arc::clone(&model);
            let sender = thread::spawn(move || {
                let has_thread = its.send();
                if has_thread {
                    // As a worker, until the end.
                    while !its.is_shut_down() {
                        thread::yield_now();
                    }
                    its.retire();
                }
                has_thread
            });
            model.end();
            let has_thread = sender.join().unwrap();
            let found = model.found.lock().expect("somebody was the last");
            assert!(found || !has_thread);
            assert_eq!(model.threads.load(Relaxed), 0);
        });
    }

    /// Work is posted, and a task sent, to a worker without a thread. One of the two starts it, and
    /// it counts as awake, and as a searcher if it was chosen.
    #[test]
    fn loom_a_worker_without_a_thread_is_started_once() {
        use crate::idle::{Awake, Idle};

        loom::model(|| {
            let idle = Arc::new(Idle::new(2));
            let model = Model::new();
            // The first worker is busy.
            let _ = idle.sleep(1, false, || ());
            let (its_idle, its) = (Arc::clone(&idle), Arc::clone(&model));
            let poster = thread::spawn(move || {
                // As `Shared::notify`.
                fence(SeqCst);
                its_idle.notify().is_some_and(|_| its.take(Offer::blocks))
            });
            let is_ours = model.send();
            if is_ours && idle.wake(1) == Awake::Searching {
                let _ = idle.stop_searching();
            }
            let is_theirs = poster.join().unwrap();
            if is_theirs && idle.wake(1) == Awake::Searching {
                let _ = idle.stop_searching();
            }
            assert!(is_ours != is_theirs, "{is_ours} {is_theirs}");
            assert_eq!(idle.counts(), (0, 0));
        });
    }
}
