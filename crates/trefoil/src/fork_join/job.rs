//! Jobs: closures that wait in their caller's frame, where the caller or a thief runs them.

use crate::primitives::UnsafeCell;
use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// The payload of a panic.
pub(super) type Payload = Box<dyn Any + Send>;

/// The result of a closure, or the payload of its panic.
pub(super) type Outcome<R> = Result<R, Payload>;

/// Whether a job runs on the thread that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Here,
    Stolen,
}

/// The first field of every job: the function that runs it, and its place in the deque.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    /// # Safety
    /// 1. The job is live until this returns.
    /// 2. This is called at most once, and nothing else is done with the job's closure.
    execute: unsafe fn(NonNull<Header>),
    /// The next older private job while this one is private, and `None` while it is public. Only
    /// the owner of the deque accesses this.
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

    /// Runs the job.
    ///
    /// # Safety
    /// 1 and 2 of the field `execute`.
    pub(super) unsafe fn execute(this: NonNull<Header>) {
        // SAFETY: the job is live by 1.
        let execute = unsafe { this.as_ref() }.execute;
        // SAFETY: the caller promises 1 and 2.
        unsafe { execute(this) };
    }
}

/// A closure, and later its outcome. It lies in the frame of a function that does not return before
/// one of the two was taken out.
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

    /// The pointer that a deque holds. It may be used to access the whole job.
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
    /// 1. No other thread can run the job any more, and none has.
    /// 2. Nothing was taken out before.
    #[inline(always)]
    pub(super) unsafe fn take_closure(&self) -> F {
        self.body.with_mut(|body| {
            // SAFETY: no other thread accesses the body by 1.
            let body = unsafe { &mut *body };
            // SAFETY: the body is still the closure: only another thread writes an outcome, and
            // none has by 1.
            let closure = unsafe { &mut body.closure };
            // SAFETY: the closure was not taken out before by 2.
            unsafe { ManuallyDrop::take(closure) }
        })
    }

    /// Takes the outcome out.
    ///
    /// # Safety
    /// 1. Another thread has executed the job, and has said so with a Release that this thread has
    ///    read.
    /// 2. The outcome was not taken out before.
    pub(super) unsafe fn take_outcome(&self) -> Outcome<R> {
        self.body.with_mut(|body| {
            // SAFETY: by 1, the other thread does not access the job any more.
            let body = unsafe { &mut *body };
            // SAFETY: by 1, the body is the outcome that the other thread wrote.
            let outcome = unsafe { &mut body.outcome };
            // SAFETY: the outcome was not taken out before by 2.
            unsafe { ManuallyDrop::take(outcome) }
        })
    }

    /// # Safety
    /// 1 and 2 of the field `Header::execute`, and the header is that of a job of this type.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the job is live by 1. The header is its first field, and `header` made the
        // pointer of a reference to the whole job.
        let this = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: by 2, this is the only execution, and nothing else touches the closure.
        let closure = unsafe { this.take_closure() };
        // Unwind-safe: the thread that joins resumes the panic, as if it had called the closure
        // itself.
        let outcome = catch_unwind(AssertUnwindSafe(|| closure(Where::Stolen)));
        this.body.with_mut(|body| {
            // SAFETY: until the owner is told that the job has run, only this thread accesses the
            // body.
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
