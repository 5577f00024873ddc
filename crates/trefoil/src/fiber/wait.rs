//! How a fiber waits.

use super::preempt;
use super::running::{Inside, Yield, begin_yield, inside};
use super::taken;
use super::unwinding::unwind_again;
use crate::context;
use crate::primitives::thread;
use crate::scheduler::block_on;
use crate::task::coop::{self, Budget};
use crate::task::{Id, block_in_place};
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Waits for a future. Inside of a fiber, the thread does something else meanwhile.
///
/// Every future may be waited for: those of this crate, and of any other. Outside of a fiber, this
/// blocks the thread.
///
/// The thread goes on as well where the fiber waits in [`block_in_place`], and in closures of its
/// forks ([`join`](fn@crate::fork_join::join), a scope, a loop), wherever they run: a fork waits as
/// its closures do. A closure that another worker has taken has a fiber of its own there, if that
/// thread has other fibers; if not, it blocks in place, and keeps none waiting. A fork of
/// asynchronous code that waits for its closures, or runs a part of one that waits, keeps the
/// fibers of its thread waiting.
///
/// There are places inside of a fiber where the thread must not leave its stack. In a panic, and in
/// destructors that run because the fiber is aborted, `wait` blocks the thread. The fibers that
/// have begun on this thread wait meanwhile, and whoever waits for one of them there waits for
/// ever.
///
/// A fiber that is aborted and catches the unwinding is unwound again in each later `wait` for what
/// is not ready.
///
/// # Cancellation safety
/// If the fiber is aborted while it waits, the future is dropped, and so is what is on the stack.
/// In forks, both closures are unwound, one after the other, wherever they run: where they wait, or
/// next do. So it is at the end of the runtime. (Not where a future waits in place while it is
/// polled; and [`Handle::install`] waits for its closure.)
///
/// [`Handle::install`]: crate::runtime::Handle::install
///
/// # Panics
/// In asynchronous code that is no fiber, where the thread must not block (in a closure of a fork
/// of that code, only if no other worker has taken the closure); and with the future's own panic.
///
/// ```
/// # let runtime = trefoil::runtime::Runtime::new().unwrap();
/// # let _guard = runtime.enter();
/// let (sender, receiver) = trefoil::sync::oneshot::channel();
/// let fiber = trefoil::fiber::spawn(move || trefoil::fiber::wait(receiver));
/// sender.send(7).unwrap();
/// assert_eq!(fiber.join().unwrap(), Ok(7));
/// ```
#[inline]
#[track_caller]
pub fn wait<F: IntoFuture>(future: F) -> F::Output {
    block_on::blocking(future.into_future())
}

/// As [`wait`], on a thread that is inside of a fiber's poll, where its stack cannot be left.
#[cold]
#[track_caller]
pub(crate) fn wait_in_place<F: Future>(future: F) -> F::Output {
    match inside(|inside| inside.map(Inside::manner)) {
        Some(Manner::Pack) => inside(|inside| match inside {
            Some(fiber) => {
                if preempt::count_in_place() {
                    fiber.yield_packed();
                }
                fiber.wait_packed(future)
            }
            None => unreachable!("only a fiber has baggage"),
        }),
        Some(Manner::BlockInPlace) => block_in_place(|| block_on::wait(future)),
        Some(Manner::Unwind) => ready_or_unwind(future),
        Some(Manner::BlockThread) => {
            context::taken_closure_waits();
            block_on::wait(future)
        }
        Some(Manner::NoFiber) | None => block_on::blocking_outside(future),
    }
}

/// As `wait` in a fiber that was unwound for its abort, has caught that, and goes on. What would
/// wake it may need this very thread, which cannot leave the stack any more. So it takes what is
/// ready, and is unwound again instead of waiting.
#[track_caller]
fn ready_or_unwind<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    match coop::with_budget(Budget::FULL, || future.as_mut().poll(&mut cx)) {
        Poll::Ready(output) => output,
        Poll::Pending => unwind_again(),
    }
}

/// How code on a fiber's stack waits where it cannot leave that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// The code is in a fork, or in `block_in_place`: the fiber leaves its stack with that.
    Pack,
    /// The code is where there is something that cannot be taken along.
    BlockInPlace,
    /// The code is in a destructor that runs because the fiber ends, or panics.
    BlockThread,
    /// The fiber has caught its unwinding: it takes what is ready, and is unwound again.
    Unwind,
    /// The code is in something that is no part of the fiber: as on any thread.
    NoFiber,
}

impl Inside {
    fn manner(&self) -> Manner {
        if self.goes_on_unwound() {
            Manner::Unwind
        } else if self.is_ending() || thread::panicking() {
            Manner::BlockThread
        } else if self.may_pack() {
            Manner::Pack
        } else if self.is_where_it_was_resumed() {
            Manner::BlockInPlace
        } else {
            Manner::NoFiber
        }
    }
}

/// Lets the other tasks that are queued run first: see [`task::yield_now`](crate::task::yield_now).
///
/// Outside of a fiber, this yields the thread to the system.
#[inline]
pub fn yield_now() {
    match begin_yield() {
        Yield::Leaves(fiber) => fiber.yield_now(),
        Yield::Done => {}
        Yield::No => taken::yield_thread(),
    }
}

/// Waits for a time.
///
/// # Panics
/// Where [`wait`] does; and if the runtime has no timers.
#[track_caller]
pub fn sleep(duration: Duration) {
    let sleep = crate::time::sleep(duration);
    wait(sleep);
}

/// What fiber this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    id: Id,
    name: Option<Box<str>>,
    stack_size: usize,
}

impl Current {
    /// The id of its task.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Its name, if [`Builder::name`](super::Builder::name) gave one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The bytes of its stack.
    pub fn stack_size(&self) -> usize {
        self.stack_size
    }
}

/// The fiber that calls this, or `None` outside of fibers.
pub fn current() -> Option<Current> {
    inside(|inside| {
        let inside = inside.filter(|it| it.is_where_it_was_resumed() || it.may_pack())?;
        let Inside { id, name, stack_size, .. } = inside;
        Some(Current { id: *id, name: name.clone(), stack_size: *stack_size })
    })
}
