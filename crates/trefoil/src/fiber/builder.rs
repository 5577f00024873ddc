//! How a fiber is made.

use super::future::Fiber;
use super::stack::{DEFAULT_SIZE, Stack};
use crate::scheduler::Handle;
use crate::task::{JoinHandle, Origin};
use std::io;

/// What a fiber is made with.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) name: Option<Box<str>>,
    /// `None`: one of the default size, when the fiber begins.
    pub(super) stack: Option<Stack>,
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
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A fiber without a name, and with a stack of 256 KiB.
    pub fn new() -> Self {
        Self { name: None, stack_size: DEFAULT_SIZE }
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

    /// Spawns a fiber into the current runtime. Its stack is made at once.
    ///
    /// # Errors
    /// The size of the stack is below 16 KiB or above 64 GiB; or the system gives no memory for it.
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
        let stack = Some(Stack::new(self.stack_size)?);
        let options = Options { name: self.name.clone().map(String::into_boxed_str), stack };
        let origin = Origin::here(self.name.as_deref());
        Ok(runtime.spawn_with(Fiber::new(f, options), None, origin))
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
/// Outside of a runtime.
#[track_caller]
pub fn spawn<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let fiber = Fiber::new(f, Options::default());
    Handle::current().spawn_with(fiber, None, Origin::here(None))
}
