use super::*;

/// What concerns I/O.
impl Builder {
    /// Enables I/O: without this, the types of [`net`](crate::net) panic. I/O that is not used
    /// costs nothing: the few descriptors that it takes come with the first socket, signal or child
    /// process, which fails as any does if there are none left.
    pub fn enable_io(&mut self) -> &mut Self {
        self.has_io = true;
        self
    }

    /// How many of the system's events are taken at a time: 1024 by default, and 65,536 at most.
    /// The others stay with the system until it is asked again.
    ///
    /// # Panics
    /// If `capacity` is 0.
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_tick must be non-zero");
        self.event_limits.per_turn = capacity;
        self
    }

    /// How many of the system's events are taken at a time while there are tasks to run: as many as
    /// otherwise, by default ([`max_io_events_per_tick`](Self::max_io_events_per_tick)).
    ///
    /// The task of each event is queued behind those that are ready. With a small number, an
    /// overload waits in the system, where it delays its own kind, and not in the queue, where it
    /// delays all tasks. A source that is ready then waits for as many looks at the system as it
    /// takes for all that were ready before.
    ///
    /// # Panics
    /// If `capacity` is 0.
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_busy_tick must be non-zero");
        self.event_limits.per_busy_turn = Some(capacity);
        self
    }

    pub(super) fn reactor(&self) -> Option<Reactor> {
        self.has_io.then(|| Reactor::new(self.event_limits))
    }
}
