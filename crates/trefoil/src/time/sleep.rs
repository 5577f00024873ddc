use super::entry::{Entry, State};
use super::queue::{Refused, TimerQueue, clone_foreign};
use super::{Duration, Instant};
use crate::context::{self, Context};
use crate::scheduler::{Id, NO_RUNTIME, registry};
use crate::task::coop;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{self, Poll, Waker, ready};

/// Waits for `duration`.
///
/// The duration counts from the call; the timer is registered at the first poll. It belongs to the
/// runtime in which `sleep` was called, wherever it is polled. If that runtime has shut down, the
/// timer belongs to the runtime in which it is polled, if that is another one.
///
/// # Cancellation safety
/// Dropping the future cancels the timer.
///
/// # Panics
/// Outside of a runtime, and in a runtime without `enable_time`. A poll before the deadline panics
/// if the timer's runtime has shut down and the poll happens in no other runtime.
#[inline]
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(Instant::after(duration), !duration.is_zero())
}

/// Waits until `deadline`: see [`sleep`].
///
/// # Cancellation safety
/// Dropping the future cancels the timer.
///
/// # Panics
/// As [`sleep`].
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
    /// The runtime in which it was made.
    runtime: Id,
    /// Not `Unpin`, as the sleeps of other runtimes.
    _pinned: PhantomPinned,
}

#[derive(Clone, Copy)]
enum Phase {
    /// Not polled yet.
    New {
        /// The deadline was in the future when it was set.
        ahead: bool,
        /// It was given another deadline since the last poll.
        is_reset: bool,
    },
    /// On a queue. The `Sleep` gives the entry back.
    Armed(NonNull<Entry>),
    Elapsed,
}

// SAFETY: the holder of an entry may use it on any thread (`entry.rs`), and whoever has the `&mut`
// is the holder.
unsafe impl Send for Sleep {}
// SAFETY: through a shared reference, only the deadline and the entry's atomic state can be read.
unsafe impl Sync for Sleep {}

impl Sleep {
    #[inline]
    #[track_caller]
    fn new(deadline: Instant, ahead: bool) -> Self {
        let Some(runtime) = context::runtime_with_time() else { refuse() };
        Self {
            deadline,
            phase: Phase::New { ahead, is_reset: false },
            runtime,
            _pinned: PhantomPinned,
        }
    }

    /// The moment at which it ends.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it has ended. A sleep that was neither polled nor reset has not.
    pub fn is_elapsed(&self) -> bool {
        match self.phase {
            Phase::New { is_reset, .. } => is_reset && Instant::now() >= self.deadline,
            // SAFETY: armed, so the entry is live.
            Phase::Armed(entry) => unsafe { entry.as_ref() }.state() == State::Fired,
            Phase::Elapsed => true,
        }
    }

    /// Waits until another deadline, whether the old one has passed or not.
    ///
    /// A task that waits is woken at the new deadline only.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        if let Phase::Armed(entry) = this.phase
            && postpone(entry, deadline)
        {
            this.deadline = deadline;
            return;
        }
        let waker = this.disarm();
        this.phase = Phase::New { ahead: false, is_reset: true };
        this.deadline = deadline;
        // A task that waits does not poll again before it is woken.
        if let Some(waker) = waker
            && !matches!(this.arm(&waker), Ok(()))
        {
            waker.wake();
        }
    }

    /// Gives the entry back. Returns its waker, if it had not fired.
    #[inline]
    fn disarm(&mut self) -> Option<Waker> {
        let before =
            std::mem::replace(&mut self.phase, Phase::New { ahead: false, is_reset: false });
        let Phase::Armed(entry) = before else { return None };
        context::with(|context| match own_queue(context, entry) {
            // SAFETY: the entry is this queue's, and we were its holder. The thread keeps the
            // queue.
            Some(own) => unsafe { own.cancel_here(entry) },
            // SAFETY: we were its holder.
            None => unsafe { TimerQueue::cancel(entry) },
        })
    }

    /// Has `waker` woken at the deadline, unless it has passed or there is no runtime for it.
    #[inline]
    fn arm(&mut self, waker: &Waker) -> Result<(), Refused> {
        let Phase::New { ahead, .. } = self.phase else { unreachable!("armed twice") };
        // First, because foreign code may change which timers this thread fires.
        let mut clone = clone_foreign(waker);
        let armed = context::with(|context| {
            let mut request =
                Request { deadline: self.deadline.into_std(), ahead, waker, clone: &mut clone };
            match request.register(context, self.runtime) {
                // It may be polled in another runtime.
                Err(Refused::Closed) => match context.handle().map(|handle| handle.id()) {
                    Some(other) if other != self.runtime => request.register(context, other),
                    _ => Err(Refused::Closed),
                },
                answer => answer,
            }
        });
        match armed {
            Ok(entry) => self.phase = Phase::Armed(entry),
            Err(Refused::Due) => self.phase = Phase::Elapsed,
            Err(Refused::Closed | Refused::Stopped) => {}
        }
        armed.map(drop)
    }

    #[track_caller]
    fn poll_inner(&mut self, cx: &task::Context<'_>) -> Poll<()> {
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
                    // Time was stopped after `timers_of` had looked: it looks again.
                    Err(Refused::Due | Refused::Stopped) => {}
                    Err(Refused::Closed) => {
                        panic!(
                            "A Trefoil context was found, but it is being shutdown. A timer cannot \
                             fire any more."
                        )
                    }
                },
            }
        }
    }

    /// Whether the entry can stay as it is, with `waker`.
    #[inline]
    fn keep(&self, entry: NonNull<Entry>, waker: &Waker) -> bool {
        // SAFETY: armed, so the entry is live.
        let this = unsafe { entry.as_ref() };
        if this.state() != State::Waiting {
            return false;
        }
        // SAFETY: we are the holder, and have registered it.
        if unsafe { this.will_wake(waker) } {
            return true;
        }
        // A timer has to be on a queue that its own thread fires. If this thread has none, any
        // will do that others fire as well: the thread of a `block_on` may wait for this one.
        let is_elsewhere = context::with(|context| match context.timers_of(self.runtime) {
            Some(own) => !Arc::ptr_eq(own, this.queue()),
            None => this.queue().is_private(),
        });
        // SAFETY: we are the holder.
        !is_elsewhere && unsafe { TimerQueue::replace_waker(entry, waker.clone()) }
    }
}

/// A timer that is to be registered.
struct Request<'a> {
    deadline: std::time::Instant,
    /// Whether the deadline was in the future when it was set.
    ahead: bool,
    waker: &'a Waker,
    /// The result of `clone_foreign`.
    clone: &'a mut Option<Waker>,
}

impl Request<'_> {
    /// Registers with that runtime: in this thread's own queue, if it has one there.
    #[inline]
    fn register(&mut self, context: &Context, runtime: Id) -> Result<NonNull<Entry>, Refused> {
        if let Some(own) = context.timers_of(runtime) {
            return self.register_with(own, true);
        }
        match context.handle() {
            Some(handle) if handle.id() == runtime => {
                self.register_with(handle.foreign_timers(), false)
            }
            _ => self.register_from_outside(runtime),
        }
    }

    #[cold]
    fn register_from_outside(&mut self, runtime: Id) -> Result<NonNull<Entry>, Refused> {
        let handle = registry::find(runtime).ok_or(Refused::Closed)?;
        self.register_with(handle.foreign_timers(), false)
    }

    #[inline]
    fn register_with(
        &mut self,
        queue: &Arc<TimerQueue>,
        is_owner: bool,
    ) -> Result<NonNull<Entry>, Refused> {
        let clock = queue.clock();
        // A deadline that was in the future when it was set is taken for one without another
        // reading of the clock: if it has passed since, the queue fires it. A stopped clock is
        // exact.
        if (!self.ahead || clock.is_virtual()) && self.deadline <= clock.now() {
            return Err(Refused::Due);
        }
        queue.register(self.deadline, self.waker, self.clone, is_owner)
    }
}

/// This thread's own queue, if the entry is on it.
#[inline]
fn own_queue(context: &Context, entry: NonNull<Entry>) -> Option<&Arc<TimerQueue>> {
    // SAFETY: the caller is its holder, so it is live.
    context.timers().filter(|own| Arc::ptr_eq(own, unsafe { entry.as_ref() }.queue()))
}

/// Moves a timer that waits to another deadline, and leaves it registered.
fn postpone(entry: NonNull<Entry>, deadline: Instant) -> bool {
    let deadline = deadline.into_std();
    // SAFETY: the caller is its holder, so it is live.
    if deadline <= unsafe { entry.as_ref() }.queue().clock().now() {
        return false;
    }
    context::with(|context| {
        let is_owner = own_queue(context, entry).is_some();
        // SAFETY: the caller is the holder.
        unsafe { TimerQueue::reset(entry, deadline, is_owner) }
    })
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
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
        // A sleep that was never armed costs no call.
        if let Phase::Armed(entry) = self.phase {
            discard(entry);
        }
    }
}

fn discard(entry: NonNull<Entry>) {
    context::with(|context| match own_queue(context, entry) {
        // SAFETY: the entry is this queue's, and its holder is being dropped. The thread keeps the
        // queue.
        Some(own) => unsafe { own.discard_here(entry) },
        // SAFETY: its holder is being dropped.
        None => drop(unsafe { TimerQueue::cancel(entry) }),
    });
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
