use super::*;
use crate::fiber::MAX_BUDGET;

/// What concerns fibers, which multi-thread runtimes have.
impl Builder {
    /// After how many reductions a fiber compares the clock with its
    /// [time](Self::fiber_timeslice), unless it was spawned with
    /// [another number](crate::fiber::Builder::budget): 128 by default.
    ///
    /// # Panics
    /// If `reductions` is 0.
    #[track_caller]
    pub fn fiber_budget(&mut self, reductions: u32) -> &mut Self {
        assert!(reductions > 0, "fiber_budget must be non-zero");
        self.slice.budget = reductions.min(MAX_BUDGET);
        self
    }

    /// How long a fiber may go on until it lets others run, unless it was spawned with
    /// [another time](crate::fiber::Builder::timeslice): one millisecond by default. With `None`,
    /// whenever its [budget](Self::fiber_budget) is used up.
    pub fn fiber_timeslice(&mut self, time: impl Into<Option<Duration>>) -> &mut Self {
        self.slice.time = time.into();
        self
    }
}
