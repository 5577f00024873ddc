//! The wakers of tasks. A `Waker` is one reference to a task.

use super::TaskRef;
use super::header::{Header, header};
use super::state::{Wake, WakeOwned};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker for the duration of a poll, without a reference of its own.
///
/// # Safety
/// `task` stays live for as long as the result is used.
#[inline(always)]
pub(crate) unsafe fn borrowed(task: NonNull<Header>) -> ManuallyDrop<Waker> {
    let data = task.as_ptr().cast_const().cast();
    // SAFETY: the functions below keep the contract of `RawWakerVTable`: they are thread-safe, and
    // each waker other than this borrowed one stands for one reference, which keeps the task live.
    ManuallyDrop::new(unsafe { Waker::new(data, &VTABLE) })
}

/// The task that this waker wakes, if it is a task of this crate.
#[inline]
pub(crate) fn task_of(waker: &Waker) -> Option<NonNull<Header>> {
    if !ptr_eq(waker.vtable(), &VTABLE) {
        return None;
    }
    NonNull::new(waker.data().cast_mut().cast())
}

/// Whether the wake is one of a task that may wait for others of a burst.
#[inline]
pub(crate) fn joins_bursts(waker: &Waker) -> bool {
    // SAFETY: the waker keeps the task live.
    task_of(waker).is_some_and(|task| unsafe { header(task) }.vtable.joins_bursts)
}

fn ptr_eq(a: &'static RawWakerVTable, b: &'static RawWakerVTable) -> bool {
    std::ptr::eq(a, b)
}

fn task(data: *const ()) -> NonNull<Header> {
    // SAFETY: wakers are only made from the non-null pointer in `borrowed`.
    unsafe { NonNull::new_unchecked(data.cast_mut().cast()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is being cloned keeps the task live.
    let header = unsafe { header(task(data)) };
    header.state.add_ref();
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    let task = task(data);
    // SAFETY: this waker keeps the task live up to the transition.
    let header = unsafe { header(task) };
    let vtable = header.vtable;
    match header.state.wake_owned() {
        WakeOwned::Schedule => {
            // SAFETY: the transition made us owe this queue entry, and with it
            // comes the runtime's reference.
            unsafe { (vtable.schedule)(task) }
        }
        WakeOwned::Nothing => {}
        WakeOwned::Dealloc => {
            // SAFETY: the transition gave up the last reference.
            unsafe { (vtable.dealloc)(task) }
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker is borrowed for the call, which keeps the task live.
    unsafe { super::waker::wake_task(task(data)) }
}

/// Wakes a task without using up a reference.
///
/// # Safety
/// `task` is live for the duration of the call.
pub(crate) unsafe fn wake_task(task: NonNull<Header>) {
    // SAFETY: the caller's promise.
    let header = unsafe { header(task) };
    match header.state.wake() {
        Wake::Schedule => {
            // SAFETY: the transition made us owe this queue entry.
            unsafe { (header.vtable.schedule)(task) }
        }
        Wake::Nothing => {}
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker's own reference, which it gives up.
    drop(unsafe { TaskRef::from_raw(task(data)) });
}
