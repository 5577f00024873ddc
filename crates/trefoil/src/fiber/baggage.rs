//! How a fiber waits in the closure of a fork, and in `block_in_place`.
//!
//! There the thread is in the midst of something that ends on the fiber's stack. The fiber takes
//! that along when it leaves the stack (`context/surroundings.rs`, `Baggage`). It is shielded
//! meanwhile: a fork's jobs are in frames of its stack, which others may be using. So if it is
//! aborted, it is resumed, and unwound by a panic of ours, which passes through the forks as any
//! panic does.

use super::running::{Inside, inside};
use super::taken;
use super::unwinding::unwind_again;
use crate::context;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// While this exists, an abort does not take the fiber's stack.
struct Shield<'a>(&'a Inside);

impl<'a> Shield<'a> {
    fn new(fiber: &'a Inside) -> Self {
        fiber.enter_scope();
        Self(fiber)
    }
}

impl Drop for Shield<'_> {
    fn drop(&mut self) {
        self.0.leave_scope();
    }
}

impl Inside {
    /// As [`wait`](Self::wait), where the fiber [may pack](Self::may_pack).
    #[cold]
    pub(super) fn wait_packed<F: Future>(&self, future: F) -> F::Output {
        let shield = Shield::new(self);
        let output = self.poll_packed(pin!(future), || self.is_to_unwind());
        drop(shield);
        match output {
            Some(output) => output,
            None => unwind_again(),
        }
    }

    /// As `wait_packed`, and an abort does not end it.
    #[cold]
    pub(super) fn wait_through_packed<F: Future>(&self, future: F) -> F::Output {
        let _shield = Shield::new(self);
        match self.poll_packed(pin!(future), || false) {
            Some(output) => output,
            None => unreachable!("nothing but the future ends it"),
        }
    }

    /// None if this is to end before the future is ready.
    fn poll_packed<F: Future>(
        &self,
        mut future: Pin<&mut F>,
        is_to_end: impl Fn() -> bool,
    ) -> Option<F::Output> {
        let _waiter = context::Waiter::new(&self.waker);
        loop {
            let mut cx = Context::from_waker(&self.waker);
            let polled = context::without_blocking(|| future.as_mut().poll(&mut cx));
            if let Poll::Ready(output) = polled {
                return Some(output);
            }
            if is_to_end() {
                return None;
            }
            self.leave_packed(false);
        }
    }

    /// The second half of a yield there. False if the fiber cannot leave its stack.
    #[cold]
    pub(super) fn yield_packed(&self) -> bool {
        if !self.may_pack() {
            return false;
        }
        let shield = Shield::new(self);
        if !self.is_to_unwind() {
            self.leave_packed(true);
        }
        drop(shield);
        if self.is_to_unwind() {
            unwind_again();
        }
        true
    }
}

/// Calls `f`, during which an abort does not take the stack of the calling fiber, if the calling
/// code is one's own: it is unwound by a panic of ours instead.
pub(crate) fn shielded<R>(f: impl FnOnce() -> R) -> R {
    let is_its_own =
        |it: &&Inside| !it.is_ending() && (it.is_where_it_was_resumed() || it.may_pack());
    inside(|inside| {
        let _shield = inside.filter(is_its_own).map(Shield::new);
        f()
    })
}

/// Whether the calling code is a fiber's, and may leave the stack with what is to be taken along.
pub(crate) fn may_pack() -> bool {
    inside(|inside| inside.is_some_and(Inside::may_pack))
}

/// Waits for what the end of a fork waits for: in a fiber that may leave its stack there, or else
/// in a closure that this thread has taken, which blocks. False if the calling code is in neither,
/// and has to wait by itself.
///
/// An abort does not end this. It calls `abort`, once, which has those closures of the fork unwound
/// that others have taken. Not in a destructor that runs in a panic, whose forks are not unwound as
/// its waits are not.
pub(crate) fn wait_in_fork(mut poll: impl FnMut(&Waker) -> Poll<()>, abort: impl FnOnce()) -> bool {
    let mut abort = Some(abort);
    let mut poll = |cx: &mut Context<'_>, is_to_unwind: bool| {
        if is_to_unwind {
            abort.take().into_iter().for_each(|abort| abort());
        }
        poll(cx.waker())
    };
    inside(|inside| match inside.filter(|inside| inside.may_pack()) {
        Some(fiber) => {
            fiber.wait_through_packed(poll_fn(|cx| poll(cx, fiber.is_to_unwind())));
            true
        }
        None if inside.is_none() && context::is_taken_closures_own() => {
            taken::wait_through(poll_fn(|cx| poll(cx, taken::is_to_unwind())));
            true
        }
        None => false,
    })
}
