use super::entry::{Entry, State};
use super::queue::{Refused, TimerQueue};
use super::{Duration, Instant};
use crate::runtime::{NO_RUNTIME, context};
use crate::task::coop;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

/// Waits for `duration`.
///
/// Nothing happens before the first poll, but the duration counts from the
/// call.
///
/// # Cancellation safety
/// Dropping it cancels the timer.
///
/// # Panics
/// Outside of a runtime, and in one without `enable_time`.
#[inline]
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(Instant::after(duration), !duration.is_zero())
}

/// Waits until `deadline`.
///
/// # Cancellation safety
/// Dropping it cancels the timer.
///
/// # Panics
/// Outside of a runtime, and in one without `enable_time`.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline, false)
}

const NO_TIME: &str = "A Trefoil context was found, but timers are disabled. Call `enable_time` \
                       on the runtime builder to enable timers.";

#[cold]
#[track_caller]
fn refuse() -> ! {
    match context::with(|context| context.handle().is_some()) {
        true => panic!("{NO_TIME}"),
        false => panic!("{NO_RUNTIME}"),
    }
}

/// The future of [`sleep`] and [`sleep_until`]. To keep one and
/// [`reset`](Sleep::reset) it, pin it.
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    deadline: Instant,
    phase: Phase,
    /// As in the ecosystem, where a sleep is not `Unpin`.
    _pinned: PhantomPinned,
}

#[derive(Clone, Copy)]
enum Phase {
    /// Not polled yet.
    New {
        /// The deadline was in the future when it was set.
        ahead: bool,
    },
    /// On a queue. Ours to give back.
    Armed(NonNull<Entry>),
    Elapsed,
}

// SAFETY: the entry may be used by its holder on any thread (`entry.rs`), and
// `&mut` is the holder.
unsafe impl Send for Sleep {}
// SAFETY: through a shared reference only the deadline and the entry's atomic
// state can be read.
unsafe impl Sync for Sleep {}

impl Sleep {
    #[inline]
    #[track_caller]
    fn new(deadline: Instant, ahead: bool) -> Self {
        if !context::has_time() {
            refuse();
        }
        Self { deadline, phase: Phase::New { ahead }, _pinned: PhantomPinned }
    }

    /// When it is due.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it is over. Stays as it is until the next poll or
    /// [`reset`](Sleep::reset).
    pub fn is_elapsed(&self) -> bool {
        match self.phase {
            Phase::New { .. } => false,
            // SAFETY: armed, so the entry is live.
            Phase::Armed(entry) => unsafe { entry.as_ref() }.state() == State::Fired,
            Phase::Elapsed => true,
        }
    }

    /// Makes it wait until another deadline, whether it has fired or not.
    ///
    /// A task that waits for it is woken for the new deadline only.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        let waker = this.disarm();
        this.deadline = deadline;
        // A task that waits will not poll again before it is woken.
        if let Some(waker) = waker
            && !matches!(this.arm(&waker), Ok(()))
        {
            waker.wake();
        }
    }

    /// Gives the entry back; returns who waited for it, if it had not fired.
    #[inline]
    fn disarm(&mut self) -> Option<Waker> {
        let before = std::mem::replace(&mut self.phase, Phase::New { ahead: false });
        let Phase::Armed(entry) = before else { return None };
        context::with(|context| {
            // SAFETY: armed, so the entry is live.
            match context.timers().filter(|own| own.owns(unsafe { entry.as_ref() })) {
                // SAFETY: of this queue, and it was ours.
                Some(own) => unsafe { own.cancel(entry) },
                // SAFETY: it was ours.
                None => unsafe { TimerQueue::cancel(entry) },
            }
        })
    }

    /// Has `waker` woken at the deadline, unless that is due or cannot be.
    #[inline]
    fn arm(&mut self, waker: &Waker) -> Result<(), Refused> {
        let Phase::New { ahead } = self.phase else { unreachable!("armed twice") };
        let deadline = self.deadline.into_std();
        let armed = context::with(|context| {
            let own = context.timers();
            let clock = match &own {
                Some(own) => own.clock(),
                None => &context.handle().ok_or(Refused::Closed)?.common().clock,
            };
            // What was ahead when it was made is so still, or the queue knows
            // better: it is not worth another look at the clock. A clock that
            // is stopped is exact.
            if (!ahead || clock.is_virtual()) && deadline <= clock.now() {
                return Err(Refused::Due);
            }
            match own {
                Some(own) => own.register(deadline, waker),
                None => context.foreign_timers().ok_or(Refused::Closed)?.send(deadline, waker),
            }
        });
        match armed {
            Ok(entry) => self.phase = Phase::Armed(entry),
            Err(Refused::Due) => self.phase = Phase::Elapsed,
            Err(Refused::Closed) => {}
        }
        armed.map(drop)
    }

    #[track_caller]
    fn poll_inner(&mut self, cx: &Context<'_>) -> Poll<()> {
        loop {
            match self.phase {
                Phase::Elapsed => return Poll::Ready(()),
                Phase::Armed(entry) if self.keep(entry, cx.waker()) => return Poll::Pending,
                Phase::Armed(entry) => {
                    // SAFETY: armed, so the entry is live.
                    let state = unsafe { entry.as_ref() }.state();
                    drop(self.disarm());
                    if state == State::Fired {
                        self.phase = Phase::Elapsed;
                    }
                }
                Phase::New { .. } => match self.arm(cx.waker()) {
                    Ok(()) => return Poll::Pending,
                    Err(Refused::Due) => {}
                    Err(Refused::Closed) => {
                        panic!("a timer was polled in a runtime that has shut down")
                    }
                },
            }
        }
    }

    /// Whether the entry can stay as it is, with `waker`.
    fn keep(&self, entry: NonNull<Entry>, waker: &Waker) -> bool {
        // SAFETY: armed, so the entry is live.
        let this = unsafe { entry.as_ref() };
        if !matches!(this.state(), State::Waiting | State::Sent) {
            return false;
        }
        // SAFETY: we are the holder, and have put a waker there.
        if unsafe { this.will_wake(waker) } {
            return true;
        }
        context::with(|context| {
            let own = context.timers().filter(|own| own.owns(this));
            let Some(own) = own.filter(|_| this.state() == State::Waiting) else { return false };
            // SAFETY: of this queue, waiting, and we are the holder.
            unsafe { own.replace_waker(entry, waker) };
            true
        })
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let budget = ready!(coop::poll_proceed(cx));
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        ready!(this.poll_inner(cx));
        budget.made_progress();
        Poll::Ready(())
    }
}

impl Drop for Sleep {
    #[inline(always)]
    fn drop(&mut self) {
        // One that was never armed costs no call.
        if let Phase::Armed(entry) = self.phase {
            discard(entry);
        }
    }
}

fn discard(entry: NonNull<Entry>) {
    context::with(|context| {
        // SAFETY: armed, so the entry is live.
        match context.timers().filter(|own| own.owns(unsafe { entry.as_ref() })) {
            // SAFETY: of this queue, and its holder is being dropped.
            Some(own) => unsafe { own.discard(entry) },
            // SAFETY: its holder is being dropped.
            None => drop(unsafe { TimerQueue::cancel(entry) }),
        }
    });
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
