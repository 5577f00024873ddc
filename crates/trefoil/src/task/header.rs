//! The memory of a task: its layout, and who may access which field.

use super::Id;
use super::state::State;
use crate::primitives::UnsafeCell;
use crate::queue::Link;
use std::any::Any;
use std::future::Future;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// The hot part, the same for all tasks.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    /// First, so that a pointer to the header is a pointer to the link.
    pub(super) link: Link,
    pub(super) state: State,
    pub(super) vtable: &'static Vtable,
    /// `Arc::as_ptr` of the scheduler, whose type the vtable knows. Valid while the task is not
    /// complete, and for the queue entry of a task that was seized with a wake in flight (see
    /// `State::seize`).
    pub(super) scheduler: *const (),
}

/// What depends on the future's and the scheduler's type.
#[derive(Debug)]
pub(crate) struct Vtable {
    /// Polls the future. On `Ready`, the output or the panic is stored.
    pub(super) poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> Poll<()>,
    /// Drops the future and stores that it was cancelled.
    pub(super) cancel: unsafe fn(NonNull<Header>),
    /// Moves the output to a `Result<T, JoinError>` behind the pointer.
    pub(super) take_output: unsafe fn(NonNull<Header>, *mut ()),
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    pub(super) dealloc: unsafe fn(NonNull<Header>),
    /// Brings a task that was just marked `SCHEDULED` to a queue.
    pub(super) schedule: unsafe fn(NonNull<Header>),
    /// Drops the output, if the join handle has not taken it, and frees the task.
    ///
    /// # Safety
    /// As for `dealloc`, and the task is complete, and its output was the join handle's, which has
    /// given up the last reference.
    pub(super) end_joined: unsafe fn(NonNull<Header>),
    /// From the header to the trailer, in bytes.
    pub(super) trailer_offset: usize,
    /// `Schedule::JOINS_BURSTS` of its scheduler.
    pub(super) joins_bursts: bool,
    /// Each poll is seen by somebody: see `notes.rs`.
    #[cfg_attr(
        not(all(feature = "fiber", unix, not(loom))),
        expect(dead_code, reason = "only fibers are resumed without a poll")
    )]
    pub(super) has_notes: bool,
}

/// The one allocation of a task. The offsets of the stage and the trailer do not depend on `T`,
/// which starts with a [`Trailer`].
#[derive(Debug)]
#[repr(C)]
pub(super) struct TaskCell<F: Future, T = Trailer> {
    pub(super) header: Header,
    /// Belongs to the holder of the right to the future; after `COMPLETE`, to
    /// the join handle, or without one, to the completing side.
    pub(super) stage: UnsafeCell<Stage<F>>,
    pub(super) trailer: T,
}

/// The future, or what came of it.
pub(super) enum Stage<F: Future> {
    Future(F),
    Output(F::Output),
    Panicked(Box<dyn Any + Send>),
    Cancelled,
    Taken,
}

/// The cold part: touched when a task rests, is joined or ends.
#[derive(Debug)]
pub(super) struct Trailer {
    pub(super) id: Id,
    /// Belongs to the join handle while `JOIN_WAKER` is clear, to the
    /// completing side while it is set.
    pub(super) join_waker: UnsafeCell<Option<Waker>>,
    /// Belongs to the owner of the list that the task is on.
    pub(super) neighbours: UnsafeCell<Neighbours>,
    /// The worker on whose list the task is, or [`NO_HOME`]. Belongs to the
    /// holder of the right to the future.
    pub(super) home: UnsafeCell<u32>,
    /// The only worker that may run the task, or [`NO_HOME`]; from [`HOSTS`] on, the only host, and
    /// where in the task its fiber is (`core.rs`, `bind`).
    /// Belongs to the holder of the right to the future, and is read with the queue entry.
    pub(super) pinned: UnsafeCell<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Neighbours {
    pub(super) prev: Option<NonNull<Header>>,
    pub(super) next: Option<NonNull<Header>>,
}

/// The home of a task that never rested: it is on no list yet.
pub(crate) const NO_HOME: u32 = u32::MAX;

/// The first of the homes that are no workers but hosts: threads to which tasks are bound.
pub(crate) const HOSTS: u32 = 1 << 31;

/// How many hosts there are at most. The bits between these and that of [`HOSTS`] are for the place
/// of a fiber.
pub(crate) const MOST_HOSTS: u32 = 1 << PLACE_SHIFT;

/// Where those bits begin.
pub(super) const PLACE_SHIFT: u32 = 20;

impl<F: Future> std::fmt::Debug for Stage<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Future(_) => "Future",
            Self::Output(_) => "Output",
            Self::Panicked(_) => "Panicked",
            Self::Cancelled => "Cancelled",
            Self::Taken => "Taken",
        })
    }
}

/// # Safety
/// `task` points to the header of a live task.
#[inline(always)]
pub(super) unsafe fn header<'a>(task: NonNull<Header>) -> &'a Header {
    // SAFETY: the caller's promise. All fields that change after the task's
    // creation are cells, so a shared reference is right at any time.
    unsafe { task.as_ref() }
}

/// # Safety
/// `task` points to the header of a live task.
#[inline(always)]
pub(super) unsafe fn trailer<'a>(task: NonNull<Header>) -> &'a Trailer {
    // SAFETY: the caller's promise.
    let offset = unsafe { header(task) }.vtable.trailer_offset;
    // SAFETY: `offset` is `offset_of!(TaskCell<F>, trailer)` for the very `F`
    // that the task was allocated with, so the sum stays inside of it.
    let trailer = unsafe { task.byte_add(offset) }.cast::<Trailer>();
    // SAFETY: as above; and as in `header`, what changes is in cells.
    unsafe { trailer.as_ref() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_small_task_fits_two_cache_lines() {
        struct Sixteen;
        impl Future for Sixteen {
            type Output = ();
            fn poll(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
                Poll::Ready(())
            }
        }
        #[repr(C)]
        struct Padded(Sixteen, [u64; 2]);
        impl Future for Padded {
            type Output = ();
            fn poll(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
                Poll::Ready(())
            }
        }
        assert_eq!(size_of::<Padded>(), 16);
        assert!(size_of::<TaskCell<Padded>>() <= 128, "{}", size_of::<TaskCell<Padded>>());
        // Only tasks that are looked at have room for notes.
        let unmeasured = size_of::<Header>() + size_of::<Stage<Padded>>() + size_of::<Trailer>();
        assert_eq!(size_of::<TaskCell<Padded>>(), unmeasured);
        assert_eq!(std::mem::offset_of!(Header, link), 0);
    }
}
