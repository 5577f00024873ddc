use super::*;
use crate::scheduler::stalls::{Stall, StallHook, Stalls};
use std::sync::Arc;

/// What the builder knows of reports of stalls.
#[derive(Clone, Default)]
pub(super) struct StallOptions {
    bound: Option<Duration>,
    hook: Option<StallHook>,
}

/// The bound if only a hook is given.
const DEFAULT_BOUND: Duration = Duration::from_millis(10);

impl StallOptions {
    pub(super) fn stalls(&self) -> Option<Stalls> {
        let is_wanted = self.bound.is_some() || self.hook.is_some();
        is_wanted.then(|| Stalls::new(self.bound.unwrap_or(DEFAULT_BOUND), self.hook.clone()))
    }
}

/// What concerns polls that do not end.
impl Builder {
    /// Reports a poll of a task or a fiber that keeps its worker for longer than this.
    ///
    /// While a poll lasts, nothing else runs on its worker. The other workers take what is queued
    /// there, so that little has to wait (see [`progress`](crate::progress)); but a
    /// worker is missing, and what may only run there waits. The report says which task it is, and
    /// where it was spawned: once for each such place. It is printed to the standard error, unless
    /// [`on_stall`](Self::on_stall) says otherwise.
    /// [`stall_count`](crate::runtime::RuntimeMetrics::stall_count) counts all stalls.
    ///
    /// A poll that is in [`block_in_place`](crate::task::block_in_place), or in a fork, does not
    /// keep its worker, if there is a thread that can take its place (see
    /// [`handoff_while_forking`](Self::handoff_while_forking)). Nor does a fiber that waits. The
    /// future of a `block_on` is no task, and tasks of a [`LocalSet`](crate::task::LocalSet) are a
    /// part of the task that runs them.
    ///
    /// A thread of the runtime looks every two milliseconds, and measures from the look that has
    /// seen the poll first, so a poll that is that much longer than the bound may pass for one that
    /// is shorter. Without this, or `on_stall`, no stalls are looked for, and tasks cost nothing
    /// more.
    ///
    /// # Panics
    /// If `bound` is 0. For a current-thread runtime, which has no other thread that could look.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use trefoil::runtime::Builder;
    ///
    /// let (report, reports) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .stall_bound(Duration::from_millis(20))
    ///     .on_stall(move |stall| drop(report.send((stall.id(), stall.spawned_at().file()))))
    ///     .build()
    ///     .unwrap();
    /// // It was to be `block_in_place`, or `fiber::sleep`.
    /// let task = runtime.spawn(async move { reports.recv() });
    /// let id = task.id();
    /// assert_eq!(runtime.block_on(task).unwrap().unwrap(), (id, file!()));
    /// assert_eq!(runtime.metrics().stall_count(), 1);
    /// ```
    #[track_caller]
    pub fn stall_bound(&mut self, bound: Duration) -> &mut Self {
        assert!(!bound.is_zero(), "the bound of a stall must be non-zero");
        self.check_stalls("stall_bound");
        self.stalls.bound = Some(bound);
        self
    }

    /// Calls `f`, instead of printing it, when there is a stall to report: see
    /// [`stall_bound`](Self::stall_bound), which is ten milliseconds unless it is set.
    ///
    /// It is called on the thread that looks for stalls, which does other things for the runtime,
    /// and so should be short. If it panics, the panic is caught.
    ///
    /// # Panics
    /// For a current-thread runtime.
    #[track_caller]
    pub fn on_stall<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&Stall) + Send + Sync + 'static,
    {
        self.check_stalls("on_stall");
        self.stalls.hook = Some(Arc::new(f));
        self
    }

    #[track_caller]
    fn check_stalls(&self, method: &str) {
        assert!(
            self.is_multi,
            "`{method}` needs `Builder::new_multi_thread`: a current-thread runtime has no other \
             thread that could notice a stall"
        );
    }
}
