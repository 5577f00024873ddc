//! Tasks of runtimes that keep histograms: they store since when they wait.
//!
//! Such a task has a [`Stamp`] at its end, and a vtable whose functions are in this file. For all
//! other tasks, the cost is one branch when they are spawned.

use super::header::{Header, Trailer, Vtable, header};
use crate::context;
use crate::primitives::UnsafeCell;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use std::time::Instant;

/// The trailer of a task with a stamp.
#[derive(Debug)]
#[repr(C)]
pub(super) struct StampedTrailer {
    /// First, so that code that does not know of the stamp finds the trailer.
    trailer: Trailer,
    stamp: Stamp,
}

#[derive(Debug)]
struct Stamp {
    /// When the task was last made runnable. Belongs to the holder of the queue entry or of the
    /// right to the future; there is at most one of them.
    runnable_since: UnsafeCell<Instant>,
    /// The vtable that the task would have without a stamp.
    plain: &'static Vtable,
}

/// The place of a task's stamp.
///
/// # Safety
/// `task` is live, and was allocated with room for a [`StampedTrailer`].
unsafe fn place(task: NonNull<Header>) -> NonNull<Stamp> {
    // SAFETY: the caller's promise.
    let trailer = unsafe { header(task) }.vtable.trailer_offset;
    // SAFETY: the trailer is where its offset says, and by the caller's promise,
    // the stamp behind it is inside of the same allocation.
    unsafe { task.byte_add(trailer + offset_of!(StampedTrailer, stamp)) }.cast()
}

/// Gives a new task, which is about to be queued, its stamp.
///
/// # Safety
/// 1. As for [`place`].
/// 2. Nobody else knows the task.
/// 3. `plain` would serve it if it had no stamp.
#[cold]
#[inline(never)]
pub(super) unsafe fn init(task: NonNull<Header>, plain: &'static Vtable) {
    let stamp = Stamp { runnable_since: UnsafeCell::new(Instant::now()), plain };
    // SAFETY: 1.
    let place = unsafe { place(task) };
    // SAFETY: 2: no other thread accesses the place. It holds no value yet.
    unsafe { place.write(stamp) };
}

/// # Safety
/// `task` is live, and has a stamp.
unsafe fn stamp<'a>(task: NonNull<Header>) -> &'a Stamp {
    // SAFETY: the caller's promise.
    let stamp = unsafe { place(task) };
    // SAFETY: the task is live and has a stamp, which `init` has filled. What changes is in a cell.
    unsafe { stamp.as_ref() }
}

/// Notes that a task is made runnable now.
///
/// # Safety
/// 1. As for [`stamp`].
/// 2. The caller owes the task's queue entry.
pub(super) unsafe fn set(task: NonNull<Header>) {
    // SAFETY: 1.
    let stamp = unsafe { stamp(task) };
    stamp.runnable_since.with_mut(|since| {
        // SAFETY: 2: until the entry is delivered, the cell is the caller's.
        unsafe { *since = Instant::now() }
    });
}

/// Polls a task, and has this thread's worker record how long the task waited and how long the poll
/// took.
///
/// # Safety
/// 1. As for [`stamp`].
/// 2. As for the `poll` of the task's plain vtable.
pub(super) unsafe fn poll(task: NonNull<Header>, cx: &mut Context<'_>) -> Poll<()> {
    // SAFETY: 1.
    let stamp = unsafe { stamp(task) };
    let since = stamp.runnable_since.with(|since| {
        // SAFETY: 2: the caller holds the right to the future.
        unsafe { *since }
    });
    context::with(|context| {
        // Taken before the poll, which may give the worker's state away.
        let times = context.counters().and_then(|counters| counters.times.as_deref());
        let started = Instant::now();
        if let Some(times) = times {
            times.record_schedule_latency(started.saturating_duration_since(since));
        }
        // SAFETY: 2.
        let polled = unsafe { (stamp.plain.poll)(task, cx) };
        let ended = Instant::now();
        if let Some(times) = times {
            times.record_poll_time(ended.saturating_duration_since(started));
        }
        // A task that has yielded or was woken during its poll is queued when the poll is over,
        // without a call of `set`.
        stamp.runnable_since.with_mut(|since| {
            // SAFETY: 2: the right is still the caller's.
            unsafe { *since = ended }
        });
        polled
    })
}
