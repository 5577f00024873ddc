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

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::primitives::atomic::{AtomicBool, SeqCst};
    use crate::runtime::Builder;
    use loom::thread;

    /// A closure needs a thread while the monitor falls asleep, wakes or ends. If nobody started
    /// it, that would be a deadlock, which loom reports; if both did, one would be too many.
    #[test]
    fn loom_a_thread_is_started_once_by_the_monitor_or_by_who_needs_it() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
            let pool = Arc::clone(&runtime.handle().common().blocking);
            let (parker, is_over) = (Arc::new(Parker::new()), Arc::new(AtomicBool::new(false)));
            let monitor = {
                let (pool, handle) = (Arc::clone(&pool), runtime.handle().clone());
                let (parker, is_over) = (Arc::clone(&parker), Arc::clone(&is_over));
                thread::spawn(move || {
                    parker.adopt();
                    // As `Monitor::wait`.
                    while !is_over.load(SeqCst) {
                        pool.starter_sleeps();
                        parker.park();
                        pool.start_owed(&handle);
                    }
                })
            };
            let end = {
                let parker = Arc::clone(&parker);
                thread::spawn(move || {
                    // As `Monitor::shut_down`.
                    is_over.store(true, SeqCst);
                    parker.unpark();
                })
            };
            let (closure, join) = closure::make(|| 3);
            let mut state = pool.state.lock();
            state.queue.push_back(closure);
            state.outstanding += 1;
            assert!(matches!(state.need_one(&pool.config), Need::StartOne));
            drop(state);
            // As `meet_elsewhere`.
            match pool.leave_to_starter("owed".to_owned()) {
                Ok(()) => _ = parker.unpark(),
                Err(name) => pool.start_one(runtime.handle(), name).unwrap(),
            }
            end.join().unwrap();
            assert_eq!(loom::future::block_on(join).unwrap(), 3);
            monitor.join().unwrap();
            let state = pool.state.lock();
            assert!(state.threads <= 1 && state.starter.owed.is_empty());
            drop(state);
            drop(runtime);
        });
    }
}
