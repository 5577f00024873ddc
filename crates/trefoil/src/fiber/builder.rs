//! How a fiber is made.

use super::future::Fiber;
use super::preempt::{MAX_BUDGET, Slice};
use super::stack::{DEFAULT_SIZE, Stack};
use crate::context;
use crate::scheduler::{Handle, Scheduler};
use crate::task::{JoinHandle, Origin};
use std::io;
use std::time::Duration;

/// What a fiber is made with.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) name: Option<Box<str>>,
    /// `None`: one of the default size, when the fiber begins.
    pub(super) stack: Option<Stack>,
    pub(super) budget: Option<u32>,
    pub(super) timeslice: Option<Option<Duration>>,
}

impl Options {
    /// The slice of the fiber, which begins in the current runtime.
    pub(super) fn slice(&self) -> Slice {
        let runtime = context::with(|context| {
            context.handle().map(Handle::common).map(|common| common.slice)
        });
        let runtime = runtime.unwrap_or(Slice::DEFAULT);
        let (budget, time) = (self.budget, self.timeslice);
        Slice { budget: budget.unwrap_or(runtime.budget), time: time.unwrap_or(runtime.time) }
    }
}

/// Why a runtime has no fibers, if it has none.
///
/// Whoever drives a current-thread runtime may leave while a fiber waits, and end the thread, whose
/// locals the fiber may have lent (`fiber/README.md`).
pub(super) fn check_hosts(runtime: &Handle) -> Result<(), &'static str> {
    match runtime.scheduler {
        Scheduler::Multi(_) => Ok(()),
        Scheduler::Current(_) => Err("a current-thread runtime has no fibers: its thread may end \
             before they do. One with a single thread for all its tasks and fibers is made by \
             `Builder::new_multi_thread().worker_threads(1)`"),
    }
}

/// Options of a new fiber.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = trefoil::runtime::Runtime::new()?;
/// # let _guard = runtime.enter();
/// let parser = trefoil::fiber::Builder::new().name("parser").stack_size(1 << 20).spawn(|| 42)?;
/// assert_eq!(parser.join()?, 42);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder makes nothing before `spawn`"]
pub struct Builder {
    name: Option<String>,
    stack_size: usize,
    budget: Option<u32>,
    timeslice: Option<Option<Duration>>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A fiber without a name, with a stack of 256 KiB, and with the budget and the time of its
    /// runtime.
    pub fn new() -> Self {
        Self { name: None, stack_size: DEFAULT_SIZE, budget: None, timeslice: None }
    }

    /// A name, for messages about the fiber. It need not be unique.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The bytes of the stack, which are rounded up to whole pages. The system gives memory only
    /// for the pages that are touched, so that a large stack costs addresses and no memory.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    /// After how many reductions the fiber compares the clock with its
    /// [time](Self::timeslice): as its runtime says, by default
    /// ([`fiber_budget`](crate::runtime::Builder::fiber_budget)).
    ///
    /// A reduction is a [`check!`](super::check!), a call that may wait, or, with
    /// [`Preempting`](crate::alloc::Preempting) as the global allocator, an allocation.
    ///
    /// # Panics
    /// If `reductions` is 0.
    #[track_caller]
    pub fn budget(mut self, reductions: u32) -> Self {
        assert!(reductions > 0, "the budget of a fiber must be non-zero");
        self.budget = Some(reductions.min(MAX_BUDGET));
        self
    }

    /// How long the fiber may go on until it lets others run, at its next
    /// [`check!`](super::check!) or call that may wait: as its runtime says, by default
    /// ([`fiber_timeslice`](crate::runtime::Builder::fiber_timeslice)).
    ///
    /// It is measured from the first time that the [budget](Self::budget) was used up since the
    /// fiber last waited. With `None`, the fiber does not look at the clock, and lets others run
    /// whenever its budget is used up.
    pub fn timeslice(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.timeslice = Some(time.into());
        self
    }

    /// Spawns a fiber into the current runtime. Its stack is made at once.
    ///
    /// # Errors
    /// - [`Unsupported`](io::ErrorKind::Unsupported): the runtime is a current-thread one, or a
    ///   `LocalRuntime`, which [have no fibers](super#threads).
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput): the size of the stack is below 16 KiB or
    ///   above 64 GiB (1 GiB where an address is 32 bits).
    /// - The system gives no memory for the stack.
    ///
    /// The closure is dropped.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn<F, R>(self, f: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.spawn_on(&Handle::current(), f)
    }

    /// [`spawn`](Self::spawn) into another runtime.
    ///
    /// # Errors
    /// Those of `spawn`.
    #[track_caller]
    pub fn spawn_on<F, R>(self, runtime: &Handle, f: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let options = self.options(runtime)?;
        Ok(runtime.spawn_with(Fiber::new(f, options), None, Origin::here(self.origin_name())))
    }

    /// For a fiber of that runtime.
    pub(super) fn options(&self, runtime: &Handle) -> io::Result<Options> {
        let unsupported = |text| io::Error::new(io::ErrorKind::Unsupported, text);
        check_hosts(runtime).map_err(unsupported)?;
        let stack = Some(Stack::new(self.stack_size)?);
        let name = self.name.clone().map(String::into_boxed_str);
        Ok(Options { name, stack, budget: self.budget, timeslice: self.timeslice })
    }

    pub(super) fn origin_name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// Spawns a fiber into the current runtime: a function that may block without blocking its thread.
///
/// It begins even if nobody joins it. Its stack, of 256 KiB, is made when it begins; if the system
/// gives no memory for it then, the fiber ends with a panic that says so. ([`Builder::spawn`] tells
/// the spawner.)
///
/// # Cancellation safety
/// The fiber runs on when the handle is dropped. [`abort`](JoinHandle::abort) has it unwound where
/// it waits: see [the module](super).
///
/// # Panics
/// Outside of a runtime, and in a current-thread runtime or a `LocalRuntime`, which
/// [have no fibers](super#threads).
#[track_caller]
pub fn spawn<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let runtime = Handle::current();
    if let Err(text) = check_hosts(&runtime) {
        panic!("{text}");
    }
    runtime.spawn_with(Fiber::new(f, Options::default()), None, Origin::here(None))
}
