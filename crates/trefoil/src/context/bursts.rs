//! The wakes that a thread makes together.

use super::{Context, Restore};
use crate::scheduler::multi::Burst;

/// A burst of this thread. Its end ends the burst.
#[derive(Debug)]
#[must_use]
pub(crate) struct Opened<'a> {
    burst: &'a Burst,
    _restore: Restore<*const Burst>,
}

/// Has this thread's wakes of tasks wait for the burst's end. For frames.
pub(crate) fn open_burst(burst: &Burst) -> Opened<'_> {
    Opened { burst, _restore: Restore::set(|context| &context.burst, &raw const *burst) }
}

/// Calls foreign code, whose wakes wait for nothing.
pub(crate) fn without_burst<R>(f: impl FnOnce() -> R) -> R {
    let _burst = Restore::set(|context| &context.burst, std::ptr::null());
    f()
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.burst.end();
    }
}

impl Context {
    /// The burst that is open.
    #[inline]
    pub(crate) fn burst(&self) -> Option<&Burst> {
        // SAFETY: set by `open_burst` for as long as its guard lives, which borrows the burst, and
        // is dropped by the frame that has made it. The reference does not leave the thread.
        unsafe { self.burst.get().as_ref() }
    }
}
