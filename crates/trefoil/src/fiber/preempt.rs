//! When a fiber that does not wait is to let others run.
//!
//! A fiber counts *reductions*: calls of [`check`], calls that may wait, and, with
//! [`Preempting`](crate::alloc::Preempting), allocations. The count is a cell of the thread's
//! context, and so a few instructions. After as many as its budget, the fiber looks at the clock,
//! and if its time is up, it is *over*. It yields at the next place where that is safe: in `check`,
//! or in a call that may wait. Each resumption begins a new slice.
//!
//! The first look begins the measurement of time, so that a resumption needs no look at the clock.

use super::running::{Inside, inside};
use crate::context::{self, Context};
use crate::fork_join;
use std::time::{Duration, Instant};

/// How long a fiber may go on without waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    /// From 1 to `MAX_BUDGET`.
    pub(crate) budget: u32,
    /// `None`: a fiber is over as soon as its budget is used up.
    pub(crate) time: Option<Duration>,
}

pub(crate) const MAX_BUDGET: u32 = OVER - 1;

/// The count of a thread that runs no fiber.
pub(super) const NONE: u32 = 0;
/// The count of a fiber that is over.
const OVER: u32 = u32::MAX;

impl Slice {
    pub(crate) const DEFAULT: Self = Self { budget: 128, time: Some(Duration::from_millis(1)) };
}

/// Counts a reduction of the fiber that this thread runs, if any. Returns whether it is over.
///
/// It neither allocates nor panics: an allocator calls this.
#[inline]
pub(crate) fn count(context: &Context) -> bool {
    match context.reductions.get() {
        NONE => false,
        OVER => true,
        1 => look(context),
        left => {
            context.reductions.set(left - 1);
            false
        }
    }
}

/// The budget is used up.
#[cold]
fn look(context: &Context) -> bool {
    // SAFETY: it is set for as long as the fiber runs, and the fiber owns it. Its cells are
    // borrowed by nobody, wherever an allocation is made.
    let Some(inside) = (unsafe { context.fiber.get().as_ref() }) else {
        context.reductions.set(NONE);
        return false;
    };
    let is_over = inside.is_time_up();
    context.reductions.set(if is_over { OVER } else { inside.slice.budget });
    is_over
}

impl Inside {
    fn is_time_up(&self) -> bool {
        let Some(time) = self.slice.time else { return true };
        let now = Instant::now();
        let since = self.since.get().unwrap_or(now);
        self.since.set(Some(since));
        now.duration_since(since) >= time
    }
}

/// As `count`, in `block_in_place`. False in forks, and in closures of others': these must not
/// wait for each other without need, because a lock may be held across a fork that computes.
pub(super) fn count_in_place() -> bool {
    is_in_place() && context::with(count)
}

/// Whether the code is in `block_in_place`, and in no fork in that.
fn is_in_place() -> bool {
    context::with(Context::is_in_blocking) && !context::is_in_taken() && fork_join::is_joined()
}

/// Lets other tasks run, if the fiber that calls this has used up its slice: see
/// [`Builder::timeslice`](super::Builder::timeslice). It does nothing outside of fibers, in forks
/// and in their closures (a lock may be held across one), and where a fiber cannot leave its stack
/// (see [`wait`](fn@super::wait)). Nor do calls give way in a fork that may wait, and need not.
///
/// For loops that compute, and call nothing that waits. It costs a few instructions, and now and
/// then a look at the clock.
///
/// ```
/// # let runtime = trefoil::runtime::Runtime::new().unwrap();
/// # let _guard = runtime.enter();
/// let fiber = trefoil::fiber::spawn(|| {
///     let mut sum = 0_u64;
///     for number in 0..1_000_000 {
///         sum += number;
///         trefoil::fiber::check!();
///     }
///     sum
/// });
/// assert_eq!(fiber.join().unwrap(), 499_999_500_000);
/// ```
#[inline]
pub fn check() {
    if context::with(count) {
        give_way();
    }
}

/// [`check`](fn@check) as a macro, as others have it.
#[doc(hidden)]
#[macro_export]
macro_rules! __fiber_check {
    () => {
        $crate::fiber::check()
    };
}

/// The fiber is over.
#[cold]
pub(super) fn give_way() {
    inside(|inside| match inside {
        // Its resumption begins a new slice.
        Some(inside) if inside.may_wait() => inside.wait(crate::task::yield_now()),
        Some(inside) => {
            inside.unwind_if_it_goes_on();
            if is_in_place() {
                inside.yield_packed();
            }
        }
        None => {}
    });
}
