//! One selector with several arms: what `select!` is made of.

use super::arm::{Operate, Outcome, RecvArm, SendArm};
use super::error::{RecvError, SendError};
use super::selector::{Fate, Selector};
use super::{Receiver, Sender};
use crate::context;
use crate::primitives::MutexGuard;
use crate::task::{coop, wake_guarded};
use crate::time::{Duration, Sleep, sleep};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

/// An arm of a selector, of whatever kind.
pub struct Arm<'a>(Pin<&'a mut (dyn Operate<'a> + Send + 'a)>);

/// The arm that receives.
pub fn recv<T>(receiver: &Receiver<T>) -> RecvArm<'_, T> {
    RecvArm::new(receiver.channel())
}

/// The arm that sends.
pub fn send<T>(sender: &Sender<T>, item: T) -> SendArm<'_, T> {
    SendArm::new(sender.channel(), item)
}

/// What both kinds of arms can do.
pub trait AnyArm {
    /// What comes of it.
    type Output;

    /// The arm for a selector.
    fn arm<'s>(self: Pin<&'s mut Self>) -> Arm<'s>
    where
        Self: 's;

    /// What has come of it, if it was chosen.
    fn outcome(self: Pin<&mut Self>) -> Option<Self::Output>;
}

impl<T: Send> AnyArm for RecvArm<'_, T> {
    type Output = Result<T, RecvError>;

    fn arm<'s>(self: Pin<&'s mut Self>) -> Arm<'s>
    where
        Self: 's,
    {
        Arm(self)
    }

    fn outcome(self: Pin<&mut Self>) -> Option<Self::Output> {
        self.take()
    }
}

impl<T: Send> AnyArm for SendArm<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn arm<'s>(self: Pin<&'s mut Self>) -> Arm<'s>
    where
        Self: 's,
    {
        Arm(self)
    }

    fn outcome(self: Pin<&mut Self>) -> Option<Self::Output> {
        self.take()
    }
}

/// How long a selector waits for an arm.
#[derive(Debug)]
pub enum Patience {
    /// Until there is one.
    Endless,
    /// Not at all.
    None,
    /// So long.
    For(Duration),
}

/// Completes exactly one of several arms, or none of them if its patience ends.
#[must_use = "futures do nothing unless polled"]
pub struct Select<'a, const N: usize> {
    arms: [Arm<'a>; N],
    /// The arms, in the order of the addresses of their locks, in which all lock them.
    by_lock: [usize; N],
    selector: Selector,
    is_biased: bool,
    patience: Patience,
    /// Pinned with the whole.
    sleep: Option<Sleep>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Waiting,
    Done,
}

/// The locks of all arms.
type Held<'a, const N: usize> = [Option<MutexGuard<'a, ()>>; N];

/// Makes the future of a `select!`.
///
/// # Panics
/// If an arm was in another one's hands. That one may have been forgotten, and the arm's node still
/// be on a list.
pub fn select<const N: usize>(
    arms: [Arm<'_>; N],
    is_biased: bool,
    patience: Patience,
) -> Select<'_, N> {
    assert!(arms.iter().all(|arm| arm.0.is_new()), "an arm is for one selector");
    let mut by_lock = std::array::from_fn(|n| n);
    by_lock.sort_unstable_by_key(|&n: &usize| address(&arms[n]));
    let selector = Selector::new();
    Select { arms, by_lock, selector, is_biased, patience, sleep: None, phase: Phase::New }
}

fn address(arm: &Arm<'_>) -> usize {
    std::ptr::from_ref(arm.0.lock()).addr()
}

impl<'a, const N: usize> Select<'a, N> {
    /// Takes all the locks. While they are held, nobody claims the selector, and whoever had
    /// claimed it is done.
    fn lock_all(&self) -> Held<'a, N> {
        let mut held = [const { None }; N];
        let mut last = None;
        for &n in &self.by_lock {
            let lock = self.arms[n].0.lock();
            // Several arms may be at one channel.
            if last.replace(std::ptr::from_ref(lock)) != Some(std::ptr::from_ref(lock)) {
                held[n] = Some(lock.lock());
            }
        }
        held
    }

    /// The arms in the order in which they are attempted: that given, or a random one, in which
    /// each is equally often before each other.
    fn order(&self) -> [usize; N] {
        let mut order = std::array::from_fn(|n| n);
        if !self.is_biased {
            // Fisher and Yates.
            for n in (1..N).rev() {
                order.swap(n, context::random_for_select(n as u32 + 1) as usize);
            }
        }
        order
    }

    /// Completes an arm whose other side is there.
    ///
    /// # Safety
    /// All the locks are `held`, and the arms are new.
    unsafe fn attempt(&mut self, held: Held<'a, N>) -> Result<(), Held<'a, N>> {
        for n in self.order() {
            // SAFETY: the caller has the lock, and the arm is new.
            if let Some(waker) = unsafe { self.arms[n].0.as_mut().attempt() } {
                drop(held);
                waker.into_iter().for_each(wake_guarded);
                self.phase = Phase::Done;
                return Ok(());
            }
        }
        Err(held)
    }

    fn begin(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let held = self.lock_all();
        // SAFETY: the locks are held, and the arms are new.
        let Err(held) = (unsafe { self.attempt(held) }) else { return Poll::Ready(()) };
        drop(held);
        match self.patience {
            Patience::None => {
                self.phase = Phase::Done;
                return Poll::Ready(());
            }
            Patience::For(duration) => self.sleep = Some(sleep(duration)),
            Patience::Endless => {}
        }
        // The clone is made without the locks, because it may run any code.
        let waker = cx.waker().clone();
        // SAFETY: the arms are on no list.
        drop(unsafe { self.selector.replace_waker(Some(waker)) });
        let held = self.lock_all();
        // SAFETY: the locks are held, and the arms are new.
        let Err(held) = (unsafe { self.attempt(held) }) else { return Poll::Ready(()) };
        for (n, arm) in (0..).zip(&mut self.arms) {
            let selector = NonNull::from(&self.selector);
            // SAFETY: 1: the locks are held since the attempt has failed. 2: the selector is
            // pinned, and its `drop` waits until no arm is on a list.
            unsafe { arm.0.as_mut().enqueue(selector, n) };
        }
        self.phase = Phase::Waiting;
        drop(held);
        self.time_out(cx)
    }

    fn go_on(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.selector.fate() == Fate::Waiting {
            let mut clone = None;
            let is_waiting = loop {
                let held = self.lock_all();
                if self.selector.fate() != Fate::Waiting {
                    break false;
                }
                // SAFETY: the locks are held, and nobody has claimed the selector.
                if unsafe { self.selector.has_waker(cx.waker()) } {
                    break true;
                }
                if let Some(waker) = clone.take() {
                    // SAFETY: the locks are held, and nobody has claimed the selector.
                    let old = unsafe { self.selector.replace_waker(Some(waker)) };
                    drop(held);
                    drop(old);
                    break true;
                }
                drop(held);
                // The clone is made without the locks, because it may run any code.
                clone = Some(cx.waker().clone());
            };
            if is_waiting {
                return self.time_out(cx);
            }
        }
        self.end();
        Poll::Ready(())
    }

    fn time_out(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(sleep) = &mut self.sleep {
            // SAFETY: the selector is pinned, and never moves it.
            let sleep = unsafe { Pin::new_unchecked(sleep) };
            ready!(sleep.poll(cx));
            // An arm that was claimed by now is chosen all the same.
            self.end();
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Takes all arms off their lists, and completes the one that was chosen, if any.
    fn end(&mut self) {
        let held = self.lock_all();
        let fate = self.selector.fate();
        for (n, arm) in (0..).zip(&mut self.arms) {
            match fate {
                Fate::Done(chosen) if chosen == n => arm.0.as_mut().complete(),
                // SAFETY: the lock is held, and the selector was not claimed for this one.
                _ => unsafe { arm.0.as_mut().dequeue() },
            }
        }
        drop(held);
        self.phase = Phase::Done;
    }
}

impl<const N: usize> Future for Select<'_, N> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let budget = ready!(coop::poll_proceed(cx));
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        ready!(match this.phase {
            Phase::New => this.begin(cx),
            Phase::Waiting => this.go_on(cx),
            Phase::Done => panic!("the future was polled after it had returned"),
        });
        budget.made_progress();
        Poll::Ready(())
    }
}

impl<const N: usize> Drop for Select<'_, N> {
    fn drop(&mut self) {
        if self.phase == Phase::Waiting {
            // If an arm was chosen, it gives back what it was given when it is dropped.
            self.end();
        }
    }
}

impl fmt::Debug for Arm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arm").finish_non_exhaustive()
    }
}

impl<const N: usize> fmt::Debug for Select<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").field("arms", &N).field("phase", &self.phase).finish()
    }
}
