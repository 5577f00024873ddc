//! Jobs: closures that wait in their caller's frame, to be run there or by a
//! thief.

use crate::primitives::UnsafeCell;
use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// What a panic carries.
pub(super) type Payload = Box<dyn Any + Send>;

/// What a closure has come to.
pub(super) type Outcome<R> = Result<R, Payload>;

/// Whether a job runs on another stack than the one it was made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Here,
    Stolen,
}

/// The start of every job: how a thief runs it, and its place in the deque.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    /// # Safety
    /// 1. The job is live until this returns. 2. It is called at most once,
    ///    and nothing else is done with the job's closure.
    execute: unsafe fn(NonNull<Header>),
    /// While the job is private: the next older private one. None while it is
    /// public. Only the owner of the deque looks at this.
    older: Cell<Option<NonNull<Header>>>,
}

impl Header {
    #[inline(always)]
    pub(super) fn new(execute: unsafe fn(NonNull<Header>)) -> Self {
        Self { execute, older: Cell::new(None) }
    }

    #[inline(always)]
    pub(super) fn older(&self) -> Option<NonNull<Header>> {
        self.older.get()
    }

    #[inline(always)]
    pub(super) fn set_older(&self, older: Option<NonNull<Header>>) {
        self.older.set(older);
    }

    /// # Safety
    /// As for the field `execute`.
    pub(super) unsafe fn execute(this: NonNull<Header>) {
        // SAFETY: live by 1.
        let execute = unsafe { this.as_ref() }.execute;
        // SAFETY: 1 and 2 are passed on.
        unsafe { execute(this) };
    }
}

/// A closure, and later its outcome, in the frame of the function that will
/// not return before one of them was taken out.
#[repr(C)]
pub(super) struct StackJob<F, R> {
    header: Header,
    body: UnsafeCell<Body<F, R>>,
}

union Body<F, R> {
    closure: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<R>>,
}

impl<F, R> StackJob<F, R>
where
    F: FnOnce(Where) -> R,
{
    #[inline(always)]
    pub(super) fn new(closure: F) -> Self {
        Self {
            header: Header::new(Self::execute),
            body: UnsafeCell::new(Body { closure: ManuallyDrop::new(closure) }),
        }
    }

    /// The job's name in a deque. It allows access to the whole job.
    #[inline(always)]
    pub(super) fn header(&self) -> NonNull<Header> {
        NonNull::from(self).cast()
    }

    #[inline(always)]
    pub(super) fn own_header(&self) -> &Header {
        &self.header
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// 1. Nobody else can run the job any more. 2. Nothing was taken out yet.
    #[inline(always)]
    pub(super) unsafe fn take_closure(&self) -> F {
        self.body.with_mut(|body| {
            // SAFETY: alone with the job by 1.
            let body = unsafe { &mut *body };
            // SAFETY: only a thief writes an outcome, and there was none by 1.
            let closure = unsafe { &mut body.closure };
            // SAFETY: not taken out before by 2.
            unsafe { ManuallyDrop::take(closure) }
        })
    }

    /// Takes out what a thief has left.
    ///
    /// # Safety
    /// 1. The job's latch is done. 2. The outcome was not taken out yet.
    pub(super) unsafe fn take_outcome(&self) -> Outcome<R> {
        self.body.with_mut(|body| {
            // SAFETY: by 1, the thief has let go of the job.
            let body = unsafe { &mut *body };
            // SAFETY: by 1, this is what the thief wrote.
            let outcome = unsafe { &mut body.outcome };
            // SAFETY: not taken out before by 2.
            unsafe { ManuallyDrop::take(outcome) }
        })
    }

    /// # Safety
    /// As for the field `Header::execute`, for a header that is part of a job
    /// of this very type.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the header is the first field of the job, and the pointer
        // came from `header`, which made it of a reference to all of it.
        let this = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: 1 and 2: the caller is the only one to run it.
        let closure = unsafe { this.take_closure() };
        // The panic goes to the joiner, which resumes it: nobody sees what it
        // broke who would not have seen it otherwise.
        let outcome = catch_unwind(AssertUnwindSafe(|| closure(Where::Stolen)));
        this.body.with_mut(|body| {
            // SAFETY: until the latch is done, the job is the thief's alone.
            let body = unsafe { &mut *body };
            body.outcome = ManuallyDrop::new(outcome);
        });
    }
}

impl<F, R> std::fmt::Debug for StackJob<F, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StackJob").field("header", &self.header).finish_non_exhaustive()
    }
}
