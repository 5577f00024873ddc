//! How a sleeping worker lends its state, so that another thread can be the worker meanwhile.
//!
//! The worker's thread, the *owner*, leaves the state here when it falls asleep. A thread in
//! `block_on` that takes it is the worker then, and *stands in*: see `worker/stand_in.rs`. The
//! owner sleeps on, and is no worker until it has the state again. There are two ways back.
//!
//! | the state | what others see | the owner |
//! |---|---|---|
//! | is given back, and there is nothing to do | the worker falls asleep | sleeps on |
//! | is handed over, by the stand-in or whoever retakes it | a busy worker | is that worker |
//!
//! The state is lent, given back and taken back under the lock of the sleepers: so it is here, to
//! be lent, only while the worker is asleep or was chosen to wake. Inside of that lock is the one
//! here, and inside of both the parker's.

use crate::idle::{Asleep, Awake, Idle};
use crate::primitives::Mutex;
use crate::primitives::parker::Parker;
use crate::primitives::thread::{self, Thread};
use std::time::{Duration, Instant};

#[cfg(all(test, loom))]
mod loom_tests;

/// What one worker's thread has lent. `T` is the worker's state.
#[derive(Debug)]
pub(super) struct Loan<T> {
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    /// The thread that sleeps here, from when it lends the state until it has it again.
    owner: Option<Thread>,
    left: Option<Left<T>>,
}

/// A state that is here.
#[derive(Debug)]
enum Left<T> {
    /// Its worker has fallen asleep.
    Asleep(T),
    /// It is for the owner, at once.
    Handed(T),
}

/// Whose state it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) worker: u32,
    pub(super) idle: &'a Idle,
    /// The worker's, which is that of whoever has the state, or sleeps with it here.
    pub(super) parker: &'a Parker,
}

/// How the owner has got its state back.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Back {
    /// It has woken, as any sleeper.
    Woken(Awake),
    /// The worker was awake before, on another thread.
    Handed,
}

impl<T> Loan<T> {
    pub(super) fn new() -> Self {
        Self { inner: Mutex::new(Inner { owner: None, left: None }) }
    }

    /// Falls asleep, and lends the state: what `Idle::sleep` is for other sleepers. Afterwards, the
    /// calling thread is to `wait`.
    pub(super) fn lend(&self, place: Place<'_>, was_searching: bool, state: T) -> Asleep {
        let owner = thread::current();
        place.idle.sleep(place.worker, was_searching, || {
            // If there is a token, `wait` finds it.
            let _ = place.parker.seat(&owner);
            let mut inner = self.inner.lock();
            inner.left = Some(Left::Asleep(state));
            inner.owner = Some(owner);
        })
    }

    /// Waits until the calling thread has its state again: because the worker is unparked or the
    /// time is over while the state is here, or because it is handed over.
    ///
    /// If the time ends while the state is lent, calls `late` and waits on: what the time was for
    /// is the stand-in's affair.
    pub(super) fn wait(
        &self,
        place: Place<'_>,
        timeout: Option<Duration>,
        late: impl FnOnce(),
    ) -> (T, Back) {
        let mut deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut late = Some(late);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let is_late = left.is_some_and(|left| left.is_zero());
            // If it is parked, the token at the thread was an old one, or is for what is handed.
            if (is_late || !place.parker.is_parked())
                && let Some((state, awake)) = self.wake(place)
            {
                place.parker.stand_up();
                return (state, Back::Woken(awake));
            }
            if let Some(state) = self.take_handed() {
                // Its tokens stay: those who gave them mean whoever has the state.
                place.parker.adopt();
                return (state, Back::Handed);
            }
            if is_late {
                deadline = None;
                late.take().into_iter().for_each(|late| late());
                continue;
            }
            match left {
                None => thread::park(),
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    /// Wakes the worker if its state is here, which the caller owns.
    fn wake(&self, place: Place<'_>) -> Option<(T, Awake)> {
        let mut state = None;
        let awake = place.idle.wake_if(place.worker, || {
            let mut inner = self.inner.lock();
            state = inner.take_asleep();
            if state.is_some() {
                inner.owner = None;
            }
            state.is_some()
        })?;
        Some((state?, awake))
    }

    fn take_handed(&self) -> Option<T> {
        let mut inner = self.inner.lock();
        let left = inner.left.take_if(|left| matches!(left, Left::Handed(_)))?;
        inner.owner = None;
        Some(left.into_state())
    }

    /// Takes the state of a worker that sleeps. For `Idle::wake_any`, which calls this under the
    /// sleepers' lock. The caller then takes the worker's seat.
    pub(super) fn borrow(&self) -> Option<T> {
        self.inner.lock().take_asleep()
    }

    /// Brings a state back that has nothing to do: its worker falls asleep, and its owner sleeps
    /// on. The caller does as told, for a sleeper.
    pub(super) fn give_back(&self, place: Place<'_>, was_searching: bool, state: T) -> Asleep {
        let mut is_wanted = None;
        let asleep = place.idle.sleep(place.worker, was_searching, || {
            let mut inner = self.inner.lock();
            let Some(owner) = &inner.owner else { unreachable!("only what was lent comes back") };
            // A token was for whoever has the state.
            is_wanted = (!place.parker.seat(owner)).then(|| owner.clone());
            inner.left = Some(Left::Asleep(state));
        });
        is_wanted.into_iter().for_each(|owner| owner.unpark());
        asleep
    }

    /// Whether there is a thread that waits for its state, or sleeps with it. Whoever has the state
    /// or an offer of it that is in force can rely on the answer.
    pub(super) fn has_owner(&self) -> bool {
        self.inner.lock().owner.is_some()
    }

    /// Has the owner go on as the worker.
    pub(super) fn hand(&self, state: T) {
        let mut inner = self.inner.lock();
        inner.left = Some(Left::Handed(state));
        let owner = inner.owner.clone();
        drop(inner);
        owner.into_iter().for_each(|owner| owner.unpark());
    }
}

impl<T> Inner<T> {
    fn take_asleep(&mut self) -> Option<T> {
        self.left.take_if(|left| matches!(left, Left::Asleep(_))).map(Left::into_state)
    }
}

impl<T> Left<T> {
    fn into_state(self) -> T {
        match self {
            Self::Asleep(state) | Self::Handed(state) => state,
        }
    }
}
