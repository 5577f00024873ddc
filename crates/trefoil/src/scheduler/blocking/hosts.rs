//! The pool's threads that have lost their worker, and serve the fibers that are bound to them
//! (`multi/host.rs`).
//!
//! Such a thread comes back to the pool when all of its fibers have ended. What waits for a thread
//! might wait for ever for that, so it does not count in the limit. There is a fiber for each.
//!
//! While it has nothing to do, it *rests*, and may be chosen to be a worker again, which goes
//! before starting a thread: it serves its fibers as that worker. Without this, each time that a
//! worker with fibers blocks would leave one thread more behind, until there is one for each fiber.
//! So a thread is started for a worker only while all hosts have something to do. No host is chosen
//! for a closure, for which its fibers would have to wait.
//!
//! A host that is chosen, or whose last fiber ends, counts in the limit again. Others may have
//! taken its place there meanwhile: then there is one thread too many for each such host. It would
//! be no remedy to choose no hosts at the limit, where a worker would wait for a thread beside one
//! that does nothing; and fibers end when they end. So a thread that is free and one too many
//! leaves at once. Closures that wait are left to the others, which are as many as the limit
//! allows. Otherwise more closures would run at a time than `max_blocking_threads` says.
//!
//! Whoever chooses a host takes it off the list under the lock, and counts it as on its way. The
//! host looks at the list under the lock whenever it wakes, whoever has woken it, and so finds out.
//! It is on the list for no longer than it sleeps: whoever is chosen comes at once.

use super::*;

impl State {
    pub(super) fn may_choose_host(&self) -> bool {
        !self.bodies.is_empty() && !self.resting_hosts.is_empty()
    }

    /// For a body that waits.
    pub(super) fn choose_host(&mut self) -> Option<Arc<Parker>> {
        if self.bodies.is_empty() { None } else { self.resting_hosts.pop() }
    }

    /// Whether the calling thread, which is free while no worker needs one, is one too many.
    pub(super) fn is_beyond_limit(&self, config: &Config) -> bool {
        self.taken() > config.max_threads
    }

    /// For a host, which becomes the worker, and counts in the limit again. It has been among
    /// `workers` all the while.
    fn take_as_host(&mut self) -> Option<Body> {
        let body = self.bodies.pop_front()?;
        self.hosts -= 1;
        Some(body)
    }
}

impl Pool {
    /// The calling thread, which has lost its worker, serves nothing but its fibers, until
    /// `end_hosting`, or until it is given a body.
    pub(crate) fn begin_hosting(self: &Arc<Self>, handle: &Handle) {
        let mut state = self.state.lock();
        state.hosts += 1;
        // What has waited for the limit need not wait any more.
        let need = state.need_one(&self.config);
        drop(state);
        let _ = self.meet_elsewhere(handle, need);
    }

    pub(crate) fn end_hosting(&self) {
        self.state.lock().hosts -= 1;
    }

    /// A host has nothing to do. It is given a body that waits; or it is to sleep at its parker
    /// until it has something to do, or may be given one, and to call `host_wakes` then.
    pub(crate) fn host_rests(
        self: &Arc<Self>,
        handle: &Handle,
        parker: &Arc<Parker>,
    ) -> Option<Body> {
        let mut state = self.state.lock();
        // A thread that is on its way takes the body. If it does not come, a host that rests is
        // chosen.
        if state.on_its_way || state.bodies.is_empty() {
            state.resting_hosts.push(Arc::clone(parker));
            return None;
        }
        self.give_body(handle, state)
    }

    /// It has slept.
    pub(crate) fn host_wakes(
        self: &Arc<Self>,
        handle: &Handle,
        parker: &Arc<Parker>,
    ) -> Option<Body> {
        let mut state = self.state.lock();
        let place = state.resting_hosts.iter().rposition(|other| Arc::ptr_eq(other, parker));
        if let Some(place) = place {
            state.resting_hosts.swap_remove(place);
            return None;
        }
        // It was chosen. Another thread may have taken the body.
        state.on_its_way = false;
        self.give_body(handle, state)
    }

    fn give_body(
        self: &Arc<Self>,
        handle: &Handle,
        mut state: MutexGuard<'_, State>,
    ) -> Option<Body> {
        let body = state.take_as_host();
        let need = state.need_one(&self.config);
        drop(state);
        let _ = self.meet_elsewhere(handle, need);
        body
    }
}
