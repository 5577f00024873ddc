//! A fiber as the scheduler sees it: a task whose poll runs the fiber until it waits.

use super::builder::Options;
use super::overflow;
use super::running::Running;
use super::stack::{DEFAULT_SIZE, MAX_SIZE, Stack};
use crate::context;
use crate::task::bind;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A closure of more bytes is moved to the heap before it begins. A coroutine copies what it is
/// made with onto its stack, and refuses what has more than 1,024.
const LARGEST_IN_PLACE: usize = 512;

/// The future of a fiber that calls `run` with a value, on a stack of so many bytes. The value
/// comes back if the system has no memory for that.
pub(crate) fn with_stack<T>(
    bytes: usize,
    value: T,
    run: fn(T),
) -> Result<impl Future<Output = ()> + Send, T>
where
    T: Send + 'static,
{
    match Stack::new(bytes.clamp(DEFAULT_SIZE, MAX_SIZE)) {
        Ok(stack) => {
            let options = Options { stack: Some(stack), ..Options::default() };
            Ok(Fiber::new(move || run(value), options))
        }
        Err(_) => Err(value),
    }
}

/// The future of a fiber's task. It is only ever polled as a task's own future.
pub(super) struct Fiber<F, R: 'static>(State<F, R>);

enum State<F, R: 'static> {
    Fresh(F, Options),
    Running(Running<R>),
    Over,
}

// SAFETY: a fresh fiber is a closure that is `Send`, and options. One that has begun has anything
// on its stack; but then its task is bound to its thread (`begin`), and whoever polls or drops it
// on another one touches nothing but the thread's id (`Running`). The output, which is sent to
// whoever joins, is `Send`.
unsafe impl<F: Send, R: Send> Send for Fiber<F, R> {}

/// Nothing in it is pinned: what refers to itself is on the stack, or in a box.
impl<F, R> Unpin for Fiber<F, R> {}

impl<F, R> Fiber<F, R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    pub(super) fn new(f: F, options: Options) -> Self {
        Self(State::Fresh(f, options))
    }

    /// One of which nothing is left.
    pub(super) fn over() -> Self {
        Self(State::Over)
    }

    /// Makes the thread the fiber's, and the fiber ready to run; false if this thread cannot be.
    ///
    /// # Panics
    /// If there is no memory for a stack.
    fn begin(&mut self) -> bool {
        let host = context::with(|context| context.worker().map(|worker| worker.become_host()));
        let Some(host) = host else { unreachable!("only workers run tasks of fibers") };
        let Ok(host) = host else { return false };
        let State::Fresh(f, options) = std::mem::replace(&mut self.0, State::Over) else {
            unreachable!("a fiber begins once")
        };
        let Some(task) = context::with(|context| context.task.get()) else {
            unreachable!("a fiber is polled as a task")
        };
        let slice = options.slice();
        let stack = options.stack.map_or_else(|| Stack::new(DEFAULT_SIZE), Ok);
        let stack = stack.unwrap_or_else(|error| panic!("{error}"));
        overflow::watch();
        let running = if size_of::<F>() > LARGEST_IN_PLACE {
            let f: Box<dyn FnOnce() -> R> = Box::new(f);
            // SAFETY: it is the task whose future this is, and which drops it.
            unsafe { Running::new(stack, f, task, options.name, slice) }
        } else {
            // SAFETY: it is the task whose future this is, and which drops it.
            unsafe { Running::new(stack, f, task, options.name, slice) }
        };
        self.0 = State::Running(running);
        let State::Running(running) = &self.0 else { unreachable!("it was just set") };
        // SAFETY: 1: this is the first poll of the task, whose own future this is, on a worker of
        // its scheduler, which has just said that it has this host. Tasks of fibers are spawned
        // unpinned. 2: a task's own future stays in place, and the state is `Running` until the
        // future has ended or is dropped, with which the task is complete.
        unsafe { bind(task, host, running.place()) };
        true
    }
}

impl<F, R> Future for Fiber<F, R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        if matches!(self.0, State::Fresh(..)) && !self.begin() {
            // The worker has taken note, and sends the task to another thread. It yields instead of
            // being woken, so that it does not rest before it is bound.
            context::with(|context| context.yielded.set(true));
            return Poll::Pending;
        }
        let State::Running(running) = &mut self.0 else {
            unreachable!("a fiber was polled after its end")
        };
        let polled = running.resume();
        if polled.is_ready() {
            self.0 = State::Over;
        }
        polled
    }
}
