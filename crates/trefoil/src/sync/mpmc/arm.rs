//! An operation that waits at one channel: to send an item, or to receive one.
//!
//! It is the only arm of a future of `send` and `recv`, and one of several of a `select!`.

use super::channel::{Channel, Refusal, State};
use super::error::{RecvError, SendError};
use super::selector::{Node, Selector};
use crate::primitives::Mutex;
use crate::sync::wait_list::Waiter;
use crate::task::wake_guarded;
use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Waker;

/// The steps of an operation. Those that are unsafe need the channel's lock.
pub(super) trait Operate<'a> {
    fn lock(&self) -> &'a Mutex<()>;

    /// Whether no selector has used it yet.
    fn is_new(&self) -> bool;

    /// Completes the operation if the other side is there. Then returns the waker to be woken
    /// outside of the lock, if any.
    ///
    /// # Safety
    /// The lock is held. The operation is new.
    unsafe fn attempt(self: Pin<&mut Self>) -> Option<Option<Waker>>;

    /// Begins to wait.
    ///
    /// # Safety
    /// 1. The lock is held. The operation is new, and an attempt has failed under this lock.
    /// 2. The selector is kept until it is done, or until this is dropped or was `dequeue`d.
    unsafe fn enqueue(self: Pin<&mut Self>, selector: NonNull<Selector>, arm: u32);

    /// Waits no more: another arm was chosen, or none.
    ///
    /// # Safety
    /// The lock is held. The selector was not claimed for this arm.
    unsafe fn dequeue(self: Pin<&mut Self>);

    /// The selector is done, and was claimed for this arm.
    fn complete(self: Pin<&mut Self>);
}

/// An operation with an outcome.
pub(super) trait Outcome {
    type Output;

    /// What has come of it, if it is complete.
    fn take(self: Pin<&mut Self>) -> Option<Self::Output>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    /// The node is on the list, or was taken off it by another thread.
    Queued,
    /// The outcome is in the node.
    Complete,
    Taken,
}

/// What both kinds of operations are made of.
struct Core<'a, T> {
    channel: &'a Channel<T>,
    waiter: Waiter<Node<T>>,
    phase: Phase,
}

impl<'a, T> Core<'a, T> {
    fn new(channel: &'a Channel<T>, item: Option<T>) -> Self {
        Self { channel, waiter: Waiter::new(Node::new(item)), phase: Phase::New }
    }

    /// The item of the node, which must not be on the list.
    fn item<R>(&mut self, f: impl FnOnce(&mut Option<T>) -> R) -> R {
        debug_assert_ne!(self.phase, Phase::Queued);
        // SAFETY: the node is on no list, so it is the owner's, who has it exclusively.
        unsafe { self.waiter.payload().with(|entry| f(&mut entry.item)) }
    }

    /// # Safety
    /// That of [`Operate::enqueue`], and this is pinned.
    unsafe fn enqueue(&mut self, is_receiver: bool, selector: NonNull<Selector>, arm: u32) {
        // SAFETY: the node is not on the list yet, so it is the owner's.
        unsafe { self.waiter.payload().with(|entry| entry.whose = Some((selector, arm))) };
        self.phase = Phase::Queued;
        // SAFETY: the caller promises that this is pinned.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        let push = |state: &mut State<T>| {
            let list = if is_receiver { state.receiving() } else { state.sending() };
            // SAFETY: 1: it is new. 2: `dequeue` or `leave` removes it, if it is still there.
            unsafe { list.push(waiter) };
        };
        // SAFETY: the caller has the lock, and a list runs no foreign code.
        unsafe { self.channel.with_lock_held(push) };
    }

    /// # Safety
    /// The lock is held.
    unsafe fn dequeue(&mut self, is_receiver: bool) {
        let waiter = &self.waiter;
        let remove = |state: &mut State<T>| {
            let list = if is_receiver { state.receiving() } else { state.sending() };
            // SAFETY: the node is only used with this channel, and only with this list of it.
            unsafe { list.remove(waiter) };
        };
        // SAFETY: the caller has the lock, and a list runs no foreign code.
        unsafe { self.channel.with_lock_held(remove) };
    }

    /// The operation is dropped: the node must not stay on the list.
    fn leave(&mut self, is_receiver: bool) {
        if self.phase == Phase::Queued {
            let _held = self.channel.lock().lock();
            // SAFETY: the lock is held.
            unsafe { self.dequeue(is_receiver) };
            self.phase = Phase::Complete;
        }
    }
}

/// Sends an item.
pub struct SendArm<'a, T> {
    core: Core<'a, T>,
}

/// Receives an item.
pub struct RecvArm<'a, T> {
    core: Core<'a, T>,
}

impl<'a, T> SendArm<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>, item: T) -> Self {
        Self { core: Core::new(channel, Some(item)) }
    }

    fn core(self: Pin<&mut Self>) -> &mut Core<'a, T> {
        // SAFETY: nothing is moved out of the pinned value.
        unsafe { &mut self.get_unchecked_mut().core }
    }
}

impl<'a, T> RecvArm<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        Self { core: Core::new(channel, None) }
    }

    fn core(self: Pin<&mut Self>) -> &mut Core<'a, T> {
        // SAFETY: nothing is moved out of the pinned value.
        unsafe { &mut self.get_unchecked_mut().core }
    }
}

impl<'s, 'a: 's, T> Operate<'s> for SendArm<'a, T> {
    fn lock(&self) -> &'s Mutex<()> {
        self.core.channel.lock()
    }

    fn is_new(&self) -> bool {
        self.core.phase == Phase::New
    }

    unsafe fn attempt(self: Pin<&mut Self>) -> Option<Option<Waker>> {
        let core = self.core();
        let item = core.item(Option::take).expect("a new operation has its item");
        // SAFETY: the caller has the lock, and `send` runs no foreign code.
        match unsafe { core.channel.with_lock_held(|state| state.send(item)) } {
            Ok(waker) => {
                core.phase = Phase::Complete;
                Some(waker)
            }
            Err((item, refusal)) => {
                core.item(|its| *its = Some(item));
                if refusal == Refusal::NotNow {
                    return None;
                }
                core.phase = Phase::Complete;
                Some(None)
            }
        }
    }

    unsafe fn enqueue(self: Pin<&mut Self>, selector: NonNull<Selector>, arm: u32) {
        // SAFETY: the caller's promise, and `self` is pinned.
        unsafe { self.core().enqueue(false, selector, arm) };
    }

    unsafe fn dequeue(self: Pin<&mut Self>) {
        let core = self.core();
        // SAFETY: the caller has the lock.
        unsafe { core.dequeue(false) };
        core.phase = Phase::Taken;
    }

    fn complete(self: Pin<&mut Self>) {
        self.core().phase = Phase::Complete;
    }
}

impl<T> Outcome for SendArm<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn take(self: Pin<&mut Self>) -> Option<Self::Output> {
        let core = self.core();
        if core.phase != Phase::Complete {
            return None;
        }
        core.phase = Phase::Taken;
        // If the channel is closed, the item was left.
        Some(core.item(Option::take).map_or(Ok(()), |item| Err(SendError(item))))
    }
}

impl<'s, 'a: 's, T> Operate<'s> for RecvArm<'a, T> {
    fn lock(&self) -> &'s Mutex<()> {
        self.core.channel.lock()
    }

    fn is_new(&self) -> bool {
        self.core.phase == Phase::New
    }

    unsafe fn attempt(self: Pin<&mut Self>) -> Option<Option<Waker>> {
        let core = self.core();
        // SAFETY: the caller has the lock, and `receive` runs no foreign code.
        let waker = match unsafe { core.channel.with_lock_held(|state| state.receive()) } {
            Ok((item, waker)) => {
                core.item(|its| *its = Some(item));
                waker
            }
            Err(Refusal::NotNow) => return None,
            Err(Refusal::Closed) => None,
        };
        core.phase = Phase::Complete;
        Some(waker)
    }

    unsafe fn enqueue(self: Pin<&mut Self>, selector: NonNull<Selector>, arm: u32) {
        // SAFETY: the caller's promise, and `self` is pinned.
        unsafe { self.core().enqueue(true, selector, arm) };
    }

    unsafe fn dequeue(self: Pin<&mut Self>) {
        let core = self.core();
        // SAFETY: the caller has the lock.
        unsafe { core.dequeue(true) };
        core.phase = Phase::Taken;
    }

    fn complete(self: Pin<&mut Self>) {
        self.core().phase = Phase::Complete;
    }
}

impl<T> Outcome for RecvArm<'_, T> {
    type Output = Result<T, RecvError>;

    fn take(self: Pin<&mut Self>) -> Option<Self::Output> {
        let core = self.core();
        if core.phase != Phase::Complete {
            return None;
        }
        core.phase = Phase::Taken;
        // If the channel is closed, there is none.
        Some(core.item(Option::take).ok_or(RecvError))
    }
}

impl<T> Drop for SendArm<'_, T> {
    fn drop(&mut self) {
        self.core.leave(false);
    }
}

impl<T> Drop for RecvArm<'_, T> {
    fn drop(&mut self) {
        self.core.leave(true);
        // It was given an item, and nobody has asked for it.
        if let Some(item) = self.core.item(Option::take)
            && let Some(waker) = self.core.channel.locked(|state| state.give_back(item))
        {
            wake_guarded(waker);
        }
    }
}

impl<T> fmt::Debug for SendArm<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendArm").field("phase", &self.core.phase).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for RecvArm<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvArm").field("phase", &self.core.phase).finish_non_exhaustive()
    }
}
