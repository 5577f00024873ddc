use crate::context::{self, Scope};
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::{PhantomData, PhantomPinned};
use std::pin::Pin;
use std::ptr;
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
                static SLOT: $crate::task::LocalSlot<$type> =
                    const { $crate::task::LocalSlot::new() };
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
    pub __slot: thread::LocalKey<LocalSlot<T>>,
}

/// What a thread has for a key: the innermost scope's.
#[doc(hidden)]
pub struct LocalSlot<T>(Cell<InSlot<T>>);

/// Where a scope's value is, which stays in the scope's frame or future: a fiber may leave its
/// stack with a borrow of it.
struct InSlot<T> {
    /// Null if there is no scope, or if its value was taken.
    value: *const T,
    /// How many borrows there are.
    borrows: usize,
}

impl<T> Clone for InSlot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for InSlot<T> {}

impl<T> fmt::Debug for LocalSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalSlot { .. }")
    }
}

impl<T> LocalSlot<T> {
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self(Cell::new(InSlot { value: ptr::null(), borrows: 0 }))
    }
}

/// The error of [`LocalKey::try_with`]: the key has no value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError(());

/// A scope of the key cannot begin, since the value of the one around it is borrowed.
struct Borrowed;

impl Borrowed {
    #[track_caller]
    fn panic(&self) -> ! {
        panic!("a task-local scope cannot begin or end while its value is borrowed")
    }
}

/// A scope whose code runs, or would run if its fiber did. It is entered when it is made, and left
/// when it is dropped.
///
/// While it is entered, the slot has its value, which is borrowed for as long as this is.
struct InScope<'a, T: 'static> {
    key: &'static LocalKey<T>,
    /// What the slot is to have when this is entered or left.
    other: Cell<InSlot<T>>,
    _value: PhantomData<&'a T>,
}

impl<'a, T> InScope<'a, T> {
    fn enter(key: &'static LocalKey<T>, value: Option<&'a T>) -> Result<Self, Borrowed> {
        if key.slot(|slot| slot.get().borrows) > 0 {
            return Err(Borrowed);
        }
        let value = value.map_or(ptr::null(), ptr::from_ref);
        let this =
            Self { key, other: Cell::new(InSlot { value, borrows: 0 }), _value: PhantomData };
        this.swap();
        Ok(this)
    }

    fn swap(&self) {
        self.key.slot(|slot| slot.swap(&self.other));
    }
}

impl<T> Scope for InScope<'_, T> {
    fn enter(&self) {
        self.swap();
    }

    fn leave(&self) {
        self.swap();
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
        match self.in_scope(Some(&value), f) {
            Ok(output) => output,
            Err(borrowed) => borrowed.panic(),
        }
    }

    /// Calls `f` while the key has that value, or none.
    fn in_scope<R>(&'static self, value: Option<&T>, f: impl FnOnce() -> R) -> Result<R, Borrowed> {
        let scope = InScope::enter(self, value)?;
        Ok(context::in_scope(&scope, f))
    }

    fn slot<R>(&'static self, f: impl FnOnce(&Cell<InSlot<T>>) -> R) -> R {
        // It has no destructor, and so is there for as long as the thread.
        self.__slot.with(|slot| f(&slot.0))
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
        struct Borrow<T: 'static>(&'static LocalKey<T>);
        impl<T> Borrow<T> {
            fn count(&self, change: isize) {
                self.0.slot(|slot| {
                    let InSlot { value, borrows } = slot.get();
                    slot.set(InSlot { value, borrows: borrows.wrapping_add_signed(change) });
                });
            }
        }
        impl<T> Drop for Borrow<T> {
            fn drop(&mut self) {
                // The slot is that of the same scope: later ones are refused, and a fiber that has
                // left its stack meanwhile is back in those of its own.
                self.count(-1);
            }
        }
        let value = self.slot(Cell::get).value;
        // SAFETY: null, or the value of the innermost scope of this key that this thread is in. The
        // scope has borrowed it, and is not left before this frame: it is of a frame below. Where
        // this is on the stack of a fiber, that may leave it meanwhile. Then the scope is on that
        // stack as well (`Layers::may_detach_own`), and an unwinding comes to this frame first.
        let value = unsafe { value.as_ref() }.ok_or(AccessError(()))?;
        let borrow = Borrow(self);
        borrow.count(1);
        Ok(context::borrowing(|| f(value)))
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
                let _ = this.key.in_scope(this.value.as_ref(), || future.set(None));
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
        let polled = this.key.in_scope(this.value.as_ref(), || {
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
            Err(borrowed) => borrowed.panic(),
        }
    }
}

impl<T: 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskLocalFuture { .. }")
    }
}
