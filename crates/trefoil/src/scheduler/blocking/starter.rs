//! Who starts a thread for one that is busy.
//!
//! A system may put a new thread on the processor of the thread that starts it, and leave it there
//! until that one waits or its time is over, while another processor is idle. (Linux 6.18 does, for
//! a millisecond; measured in `idle/EXPERIMENTS.md`. If the busy thread wakes a sleeping one, which
//! starts the child, the child runs at once: a thread that wakes is put where nothing runs, and
//! sleeps again.) So a thread of a runtime that goes on to compute has the sleeping monitor start
//! the thread. If the monitor does not sleep, or there is none, it starts the thread itself, so
//! nobody waits for what the monitor does in between, which may be foreign code. So does whoever
//! spawns a closure, who is told if the system has no thread.

use super::*;

/// What the monitor and those who need a thread tell each other, under the pool's lock.
#[derive(Default)]
pub(super) struct Starter {
    /// The monitor sleeps, and looks at `owed` when it wakes.
    sleeps: bool,
    /// The names of the threads that the monitor is to start. There may be several, although one
    /// thread at a time is on its way: one that rests, and wakes for whatever reason, counts as
    /// that one (`Pool::rest`), and may need another one before the monitor has come.
    owed: Vec<String>,
}

impl Pool {
    /// As [`Pool::meet`], for a thread that computes next. If the system has no thread, whoever
    /// was to start it does what `meet` does then; this thread is told only if that is itself.
    pub(super) fn meet_elsewhere(
        self: &Arc<Self>,
        handle: &Handle,
        need: Need,
    ) -> std::io::Result<()> {
        let Need::StartOne = need else { return self.meet(handle, need) };
        match self.leave_to_starter(self.thread_name()) {
            Ok(()) => {
                if let Scheduler::Multi(shared) = &handle.scheduler {
                    shared.wake_monitor();
                }
                Ok(())
            }
            Err(name) => self.start_one(handle, name),
        }
    }

    /// The caller wakes the monitor then. The name comes back if the caller is to start the thread.
    fn leave_to_starter(&self, name: String) -> Result<(), String> {
        let mut state = self.state.lock();
        if !state.starter.sleeps {
            return Err(name);
        }
        state.starter.owed.push(name);
        Ok(())
    }

    /// Starts a thread that counts as one on its way.
    ///
    /// # Errors
    /// The system cannot.
    pub(super) fn start_one(
        self: &Arc<Self>,
        handle: &Handle,
        name: String,
    ) -> std::io::Result<()> {
        let pool = Arc::clone(self);
        let its_handle = handle.clone();
        let started = thread::spawn(name, self.config.thread_stack_bytes, move || {
            pool.as_its_thread(|| pool.work(&its_handle));
        });
        if started.is_err() {
            let mut state = self.state.lock();
            state.threads -= 1;
            state.on_its_way = false;
            self.count_waiting(handle, state);
        }
        started
    }

    /// For the monitor, which is about to sleep, and then calls [`Pool::start_owed`].
    pub(crate) fn starter_sleeps(&self) {
        self.state.lock().starter.sleeps = true;
    }

    /// For the monitor, which has woken: starts the threads that it is asked for.
    pub(crate) fn start_owed(self: &Arc<Self>, handle: &Handle) {
        let mut state = self.state.lock();
        state.starter.sleeps = false;
        let owed = mem::take(&mut state.starter.owed);
        drop(state);
        for name in owed {
            // If this fails, the monitor's next look asks again.
            let _ = self.start_one(handle, name);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::runtime::{Builder, Runtime};
    use std::mem::ManuallyDrop;

    /// A pool with this limit, and one thread, which is a worker: that of the test, which has the
    /// monitor's place, too. (If a test fails, a drop would wait for ever.)
    fn build(max_threads: usize) -> (ManuallyDrop<Runtime>, Arc<Pool>) {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.max_blocking_threads(max_threads).build().unwrap();
        let pool = Arc::clone(&runtime.handle().common().blocking);
        let mut state = pool.state.lock();
        state.threads += 1;
        state.workers += 1;
        drop(state);
        (ManuallyDrop::new(runtime), pool)
    }

    /// The monitor starts a second thread then.
    #[track_caller]
    fn check(runtime: ManuallyDrop<Runtime>, pool: &Arc<Pool>) {
        let mut state = pool.state.lock();
        assert_eq!((state.threads, state.starter.owed.len()), (2, 1));
        state.threads -= 1;
        state.workers -= 1;
        drop(state);
        pool.start_owed(runtime.handle());
        drop(ManuallyDrop::into_inner(runtime));
        assert_eq!((pool.threads(), pool.queued()), (0, 0));
    }

    /// A closure has waited for the place in the limit that the thread leaves.
    #[test]
    fn a_thread_that_becomes_a_host_leaves_a_start_to_the_monitor() {
        let (runtime, pool) = build(1);
        drop(runtime.spawn_blocking(|| ()));
        pool.starter_sleeps();
        pool.begin_hosting(runtime.handle());
        pool.end_hosting();
        check(runtime, &pool);
    }

    /// While the host was on its way, nobody was chosen for a closure.
    #[test]
    fn a_host_that_becomes_a_worker_leaves_a_start_to_the_monitor() {
        let (runtime, pool) = build(2);
        let (handle, parker) = (runtime.handle(), Arc::new(Parker::new()));
        pool.begin_hosting(handle);
        assert!(pool.host_rests(handle, &parker).is_none(), "no worker needs a thread");
        let run: Run = Box::new(|_| ());
        let body = Body { worker: 0, blocked: 0, is_reserved: false, run };
        assert!(pool.run(handle, || Some(body)));
        drop(runtime.spawn_blocking(|| ()));
        pool.starter_sleeps();
        assert!(pool.host_wakes(handle, &parker).is_some(), "the host is chosen");
        check(runtime, &pool);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::primitives::atomic::{AtomicBool, SeqCst};
    use crate::runtime::{Builder, Runtime};
    use loom::thread;
    use loom::thread::JoinHandle;

    fn model(f: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(f);
    }

    /// The monitor's thread, as far as the pool has to do with it.
    struct Monitor {
        parker: Arc<Parker>,
        is_over: Arc<AtomicBool>,
        thread: JoinHandle<()>,
    }

    impl Monitor {
        fn start(runtime: &Runtime) -> Self {
            let (parker, is_over) = (Arc::new(Parker::new()), Arc::new(AtomicBool::new(false)));
            let (pool, handle) =
                (Arc::clone(&runtime.handle().common().blocking), runtime.handle().clone());
            let (its_parker, its_end) = (Arc::clone(&parker), Arc::clone(&is_over));
            let thread = thread::spawn(move || {
                its_parker.adopt();
                // As `Monitor::wait`.
                while !its_end.load(SeqCst) {
                    pool.starter_sleeps();
                    its_parker.park();
                    pool.start_owed(&handle);
                }
            });
            Self { parker, is_over, thread }
        }

        /// As `Monitor::shut_down`.
        fn end(&self) -> impl FnOnce() + Send + 'static {
            let (parker, is_over) = (Arc::clone(&self.parker), Arc::clone(&self.is_over));
            move || {
                is_over.store(true, SeqCst);
                parker.unpark();
            }
        }

        /// As `meet_elsewhere`.
        fn meet(&self, pool: &Arc<Pool>, handle: &Handle) {
            match pool.leave_to_starter("owed".to_owned()) {
                Ok(()) => _ = self.parker.unpark(),
                Err(name) => pool.start_one(handle, name).unwrap(),
            }
        }
    }

    fn push(pool: &Pool, closure: Runnable) {
        let mut state = pool.state.lock();
        state.queue.push_back(closure);
        state.outstanding += 1;
        assert!(matches!(state.need_one(&pool.config), Need::StartOne));
    }

    /// A closure needs a thread while the monitor falls asleep, wakes or ends. If nobody started
    /// it, that would be a deadlock, which loom reports; if both did, one would be too many.
    #[test]
    fn loom_a_thread_is_started_once_by_the_monitor_or_by_who_needs_it() {
        model(|| {
            let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
            let pool = Arc::clone(&runtime.handle().common().blocking);
            let monitor = Monitor::start(&runtime);
            let end = thread::spawn(monitor.end());
            let (closure, join) = closure::make(|| 3);
            push(&pool, closure);
            monitor.meet(&pool, runtime.handle());
            end.join().unwrap();
            assert_eq!(loom::future::block_on(join).unwrap(), 3);
            monitor.thread.join().unwrap();
            let state = pool.state.lock();
            assert!(state.threads <= 1 && state.starter.owed.is_empty());
            drop(state);
            drop(runtime);
        });
    }

    /// The monitor is to start a thread. Another one, whose time to rest is over at once, runs the
    /// closure and counts as that thread, so a second one is needed. Both are started, whenever the
    /// monitor comes: the runtime's end would wait for ever for one that counts and is not.
    #[test]
    fn loom_all_threads_are_started_that_the_monitor_was_asked_for() {
        let most_owed = Arc::new(std::sync::Mutex::new(0));
        let most = Arc::clone(&most_owed);
        model(move || {
            let runtime = Builder::new_current_thread().max_blocking_threads(2).build().unwrap();
            let (pool, handle) =
                (Arc::clone(&runtime.handle().common().blocking), runtime.handle());
            pool.work.expire();
            let monitor = Monitor::start(&runtime);
            for n in 0..2 {
                let (closure, join) = closure::make(|| ());
                drop(join);
                push(&pool, closure);
                monitor.meet(&pool, handle);
                if n == 0 {
                    pool.state.lock().threads += 1;
                    pool.serve(handle);
                }
            }
            let owed = pool.state.lock().starter.owed.len();
            let mut most = most.lock().unwrap();
            *most = owed.max(*most);
            drop(most);
            monitor.end()();
            monitor.thread.join().unwrap();
            drop(runtime);
            let state = pool.state.lock();
            assert_eq!((state.threads, state.outstanding), (0, 0));
        });
        assert_eq!(*most_owed.lock().unwrap(), 2);
    }
}
