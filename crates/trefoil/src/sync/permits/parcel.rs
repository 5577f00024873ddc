//! What is done for a waiter by whoever grants it the permits.

use std::ptr::NonNull;
use std::task::Waker;

/// What a waiter leaves beside its place in the queue, for whoever grants it the permits: then that
/// is done at once for which it wants them, and not when it next runs.
pub(crate) struct Parcel {
    /// Called under the lock, with this parcel, at most once: so it is over when the waiter has an
    /// outcome, or was removed. It runs no foreign code.
    pub(crate) collect: unsafe fn(NonNull<Parcel>) -> Collected,
}

/// What became of a parcel.
pub(crate) enum Collected {
    /// It is gone, with the permits, and somebody may have to be woken for it.
    Gone(Option<Waker>),
    /// Nobody wants it. The waiter keeps it, and gets no permits.
    Unwanted,
}
