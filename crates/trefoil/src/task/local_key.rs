use crate::context::{self, Scope};
use pin_project_lite::pin_project;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Declares keys of task-local values: see [`LocalKey`].
///
/// ```
/// trefoil::task_local! {
///     static ORDER: u32;
/// }
/// # fn main() -> std::io::Result<()> {
/// let runtime = trefoil::runtime::Runtime::new()?;
/// runtime.block_on(ORDER.scope(7, async {
///     assert_eq!(ORDER.get(), 7);
/// }));
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::task_local!($(#[$attribute])* $visibility static $name: $type);
        $crate::task_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty) => {
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static SLOT: ::std::cell::RefCell<::std::option::Option<$type>> =
                    const { ::std::cell::RefCell::new(::std::option::Option::None) };
            }
            $crate::task::LocalKey { __slot: SLOT }
        };
    };
}

/// A key of a task-local value, which [`task_local!`](crate::task_local) declares.
///
/// [`scope`](LocalKey::scope) gives the key a value for all polls of one future, on whatever thread
/// they happen. Tasks that the future spawns do not have the value.
pub struct LocalKey<T: 'static> {
    #[doc(hidden)]
    pub __slot: thread::LocalKey<RefCell<Option<T>>>,
}

/// The error of [`LocalKey::try_with`]: the key has no value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError(());

/// Why a scope could not be entered.
enum ScopeError {
    Borrowed,
    Destroyed,
}

impl ScopeError {
    #[track_caller]
    fn panic(&self) -> ! {
        match self {
            Self::Borrowed => {
                panic!("a task-local scope cannot begin or end while its value is borrowed")
            }
            Self::Destroyed => panic!(
                "a task-local scope was polled while its thread's locals were being destroyed"
            ),
        }
    }
}

/// A scope whose code runs, or would run if its fiber did.
struct InScope<'a, T: 'static> {
    key: &'static LocalKey<T>,
    /// The scope's own value while it is left, and that of the code around it while it is entered.
    value: RefCell<&'a mut Option<T>>,
    is_in: Cell<bool>,
}

impl<T> Scope for InScope<'_, T> {
    fn enter(&self) {
        // It cannot be had if the code around this resumes the fiber with a borrow of the same key.
        // The key has that code's value then.
        if !self.is_in.get() {
            self.is_in.set(self.key.swap(&mut self.value.borrow_mut()).is_ok());
        }
    }

    fn leave(&self) {
        // A fiber does not leave its stack with a borrow (`Layers`), and none outlives a scope.
        if self.is_in.get() {
            self.is_in.set(self.key.swap(&mut self.value.borrow_mut()).is_err());
        }
    }
}

impl<T> Drop for InScope<'_, T> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<T: 'static> LocalKey<T> {
    /// Gives the key a value during all polls of `future`.
    ///
    /// # Panics
    /// If the future is polled inside of [`with`](LocalKey::with) of the same key.
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture {
            key: self,
            value: Some(value),
            future: Some(future),
            _pinned: PhantomPinned,
        }
    }

    /// Calls `f` while the key has the given value.
    ///
    /// # Panics
    /// Inside of [`with`](LocalKey::with) of the same key.
    #[track_caller]
    pub fn sync_scope<F: FnOnce() -> R, R>(&'static self, value: T, f: F) -> R {
        let mut value = Some(value);
        match self.swapped(&mut value, f) {
            Ok(output) => output,
            Err(error) => error.panic(),
        }
    }

    /// Swaps the key's value with `value`, calls `f`, and swaps back.
    fn swapped<R>(
        &'static self,
        value: &mut Option<T>,
        f: impl FnOnce() -> R,
    ) -> Result<R, ScopeError> {
        self.swap(value)?;
        let scope = InScope { key: self, value: RefCell::new(value), is_in: Cell::new(true) };
        Ok(context::in_scope(&scope, f))
    }

    fn swap(&'static self, value: &mut Option<T>) -> Result<(), ScopeError> {
        self.__slot
            .try_with(|slot| match slot.try_borrow_mut() {
                Ok(mut slot) => {
                    std::mem::swap(&mut *slot, value);
                    Ok(())
                }
                Err(_) => Err(ScopeError::Borrowed),
            })
            .unwrap_or(Err(ScopeError::Destroyed))
    }

    /// Calls `f` with the value.
    ///
    /// # Panics
    /// Outside of a scope of this key.
    #[track_caller]
    pub fn with<F: FnOnce(&T) -> R, R>(&'static self, f: F) -> R {
        match self.try_with(f) {
            Ok(output) => output,
            Err(_) => panic!(
                "no value of this task-local is in scope here: `scope` or `sync_scope` gives it one"
            ),
        }
    }

    /// Calls `f` with the value, if there is one.
    ///
    /// # Errors
    /// Outside of a scope of this key.
    pub fn try_with<F: FnOnce(&T) -> R, R>(&'static self, f: F) -> Result<R, AccessError> {
        self.__slot
            .try_with(|slot| slot.borrow().as_ref().map(|value| context::borrowing(|| f(value))))
            .ok()
            .flatten()
            .ok_or(AccessError(()))
    }

    /// A copy of the value.
    ///
    /// # Panics
    /// Outside of a scope of this key.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// A copy of the value.
    ///
    /// # Errors
    /// Outside of a scope of this key.
    pub fn try_get(&'static self) -> Result<T, AccessError>
    where
        T: Clone,
    {
        self.try_with(T::clone)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalKey { .. }")
    }
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessError")
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task-local value not set")
    }
}

impl Error for AccessError {}

pin_project! {
    /// The future of [`LocalKey::scope`].
    ///
    /// It is not `Unpin`, whatever the future inside is:
    ///
    /// ```compile_fail,E0277
    /// fn is_unpin(_: impl Unpin) {}
    /// trefoil::task_local! { static ORDER: u32; }
    /// is_unpin(ORDER.scope(7, std::future::ready(())));
    /// ```
    pub struct TaskLocalFuture<T, F>
    where
        T: 'static,
    {
        key: &'static LocalKey<T>,
        // Here while the future is not being polled.
        value: Option<T>,
        #[pin]
        future: Option<F>,
        // Nobody is to rely on a scope that may be moved once it was polled.
        #[pin]
        _pinned: PhantomPinned,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let mut future = this.future;
            if future.is_some() {
                // The future's destructor may use the value. If the slot cannot
                // be had, it is dropped without, with the rest.
                let _ = this.key.swapped(this.value, || future.set(None));
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out; the future has then none to run with.
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().value.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut future = this.future;
        let polled = this.key.swapped(this.value, || {
            let running = future.as_mut().as_pin_mut()?;
            let polled = running.poll(cx);
            if polled.is_ready() {
                // Its destructor may use the value, too.
                future.set(None);
            }
            Some(polled)
        });
        match polled {
            Ok(Some(polled)) => polled,
            Ok(None) => panic!("`TaskLocalFuture` polled after completion"),
            Err(error) => error.panic(),
        }
    }
}

impl<T: 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskLocalFuture { .. }")
    }
}
