//! The future of one operation: a selector with one arm.

use super::arm::{Operate, Outcome};
use super::selector::{Fate, Selector};
use crate::task::{coop, wake_guarded};
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

pub(super) struct Operation<A> {
    // The arm is dropped first, and then is on no list.
    arm: A,
    selector: Selector,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Waiting,
    Done,
}

impl<A> Operation<A> {
    pub(super) fn new(arm: A) -> Self {
        Self { arm, selector: Selector::new(), phase: Phase::New }
    }
}

impl<'a, A: Operate<'a>> Operation<A> {
    fn poll_begin(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.as_mut().attempt() {
            return Poll::Ready(());
        }
        // The clone is made without the lock, because it may run any code.
        let waker = cx.waker().clone();
        // SAFETY: the arm is on no list.
        let old = unsafe { self.selector.replace_waker(Some(waker)) };
        drop(old);
        let lock = self.arm.lock();
        let held = lock.lock();
        // SAFETY: the lock is held, and the operation is new.
        if let Some(waker) = unsafe { self.as_mut().arm().attempt() } {
            drop(held);
            waker.into_iter().for_each(wake_guarded);
            return Poll::Ready(());
        }
        let selector = NonNull::from(&self.selector);
        // SAFETY: 1: the lock is held, and the attempt has failed. 2: the selector is pinned with
        // the arm, and is dropped after it.
        unsafe { self.as_mut().arm().enqueue(selector, 0) };
        drop(held);
        self.set(Phase::Waiting);
        Poll::Pending
    }

    fn attempt(mut self: Pin<&mut Self>) -> bool {
        let lock = self.arm.lock();
        let held = lock.lock();
        // SAFETY: the lock is held, and the operation is new.
        let done = unsafe { self.as_mut().arm().attempt() };
        drop(held);
        done.map(|waker| waker.into_iter().for_each(wake_guarded)).is_some()
    }

    fn poll_waiting(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let lock = self.arm.lock();
        let mut clone = None;
        // Without the lock first, since it is usually done.
        while !matches!(self.selector.fate(), Fate::Done(_)) {
            let held = lock.lock();
            if self.selector.fate() != Fate::Waiting {
                // Whoever had claimed it had the lock, and is done by now.
                break;
            }
            // SAFETY: the lock is held, and nobody has claimed the selector.
            if unsafe { self.selector.has_waker(cx.waker()) } {
                return Poll::Pending;
            }
            if let Some(waker) = clone.take() {
                // SAFETY: the lock is held, and nobody has claimed the selector.
                let old = unsafe { self.selector.replace_waker(Some(waker)) };
                drop(held);
                drop(old);
                return Poll::Pending;
            }
            drop(held);
            // The clone is made without the lock, because it may run any code.
            clone = Some(cx.waker().clone());
        }
        self.as_mut().arm().complete();
        Poll::Ready(())
    }

    fn set(self: Pin<&mut Self>, phase: Phase) {
        // SAFETY: nothing is moved out of the pinned value.
        unsafe { self.get_unchecked_mut() }.phase = phase;
    }

    fn arm(self: Pin<&mut Self>) -> Pin<&mut A> {
        // SAFETY: the arm is pinned with the whole, and is never moved.
        unsafe { self.map_unchecked_mut(|this| &mut this.arm) }
    }
}

impl<'a, A: Operate<'a> + Outcome> Future for Operation<A> {
    type Output = A::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<A::Output> {
        let budget = ready!(coop::poll_proceed(cx));
        ready!(match self.phase {
            Phase::New => self.as_mut().poll_begin(cx),
            Phase::Waiting => self.as_mut().poll_waiting(cx),
            Phase::Done => panic!("the future was polled after it had returned"),
        });
        budget.made_progress();
        self.as_mut().set(Phase::Done);
        Poll::Ready(self.arm().take().expect("a complete operation has an outcome"))
    }
}
