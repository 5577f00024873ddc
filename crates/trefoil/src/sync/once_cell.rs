//! `OnceCell`: a value that the first who needs it makes, asynchronously.

use super::permits::{Permits, TryError};
use super::written_once::WrittenOnce;
use crate::task::coop;
use std::error::Error;
use std::fmt;
use std::future::Future;

/// A value that is made when it is first needed, by an asynchronous operation, and stays.
///
/// ```
/// use trefoil::sync::OnceCell;
///
/// static ANSWER: OnceCell<u32> = OnceCell::const_new();
///
/// async fn answer() -> u32 {
///     *ANSWER.get_or_init(|| async { 6 * 7 }).await
/// }
///
/// # #[trefoil::main]
/// # async fn main() {
/// assert_eq!(ANSWER.get(), None);
/// assert_eq!(answer().await, 42);
/// assert_eq!(ANSWER.get(), Some(&42));
/// # }
/// ```
pub struct OnceCell<T> {
    value: WrittenOnce<T>,
    /// One, for whoever makes the value. It is closed when there is one.
    maker: Permits,
}

/// Why [`OnceCell::set`] has failed. It gives the value back.
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// The cell has a value.
    AlreadyInitializedError(T),
    /// Somebody else makes the value at the moment.
    InitializingError(T),
}

/// The right to make the value. The drop passes it on.
struct Maker<'a, T>(&'a OnceCell<T>);

impl<T> Drop for Maker<'_, T> {
    fn drop(&mut self) {
        self.0.maker.release(1);
    }
}

impl<'a, T> Maker<'a, T> {
    fn finish(self, value: T) -> &'a T {
        let cell = self.0;
        // Nobody makes another value, so the right is not passed on.
        std::mem::forget(self);
        // SAFETY: the one who had the right is the only one who writes, and the cell was empty, for
        // after a write there is no right any more.
        let value = unsafe { cell.value.write(value) };
        cell.maker.close();
        value
    }
}

impl<T> OnceCell<T> {
    /// An empty cell.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { value: WrittenOnce::empty(), maker: Permits::new(1) }
    }

    /// An empty cell.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { value: WrittenOnce::empty(), maker: Permits::new(1) }
    }

    /// An empty cell, as [`OnceCell::new`], for statics.
    #[cfg(not(loom))]
    pub const fn const_new() -> Self {
        Self::new()
    }

    /// A cell with this value, if there is one.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::from)
    }

    /// A cell with this value, for statics.
    #[cfg(not(loom))]
    pub const fn const_new_with(value: T) -> Self {
        Self { value: WrittenOnce::full(value), maker: Permits::new(0) }
    }

    /// Whether the cell has a value.
    pub fn initialized(&self) -> bool {
        self.value.is_written()
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, if there is one.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// Gives an empty cell its value.
    ///
    /// # Errors
    /// The value, if the cell has one or if somebody makes one at the moment.
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        if self.initialized() {
            return Err(SetError::AlreadyInitializedError(value));
        }
        match self.maker.try_acquire(1) {
            Ok(()) => {
                Maker(self).finish(value);
                Ok(())
            }
            Err(TryError::Closed) => Err(SetError::AlreadyInitializedError(value)),
            Err(TryError::TooFew) => Err(SetError::InitializingError(value)),
        }
    }

    /// The value. If there is none, makes it by `f`, or waits for another one who does.
    ///
    /// If the future of `f` is dropped or panics, one of those who wait makes the value. If `f`
    /// itself asks for the value, it waits for ever.
    ///
    /// # Cancellation safety
    /// If the future is dropped, the cell is as if it had not been polled.
    pub async fn get_or_init<F, Fut>(&self, f: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        match self.get_or_maker().await {
            Ok(value) => value,
            Err(maker) => {
                let value = f().await;
                maker.finish(value)
            }
        }
    }

    /// The value. If there is none, makes it by `f`, or waits for another one who does.
    ///
    /// If the future of `f` fails, is dropped or panics, one of those who wait makes the value. If
    /// `f` itself asks for the value, it waits for ever.
    ///
    /// # Errors
    /// That of `f`. The cell stays empty.
    ///
    /// # Cancellation safety
    /// If the future is dropped, the cell is as if it had not been polled.
    pub async fn get_or_try_init<E, F, Fut>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        match self.get_or_maker().await {
            Ok(value) => Ok(value),
            Err(maker) => {
                let value = f().await?;
                Ok(maker.finish(value))
            }
        }
    }

    /// The value, or the right to make it.
    async fn get_or_maker(&self) -> Result<&T, Maker<'_, T>> {
        if let Some(value) = self.get() {
            coop::consume_budget().await;
            return Ok(value);
        }
        match self.maker.acquire(1).await {
            Ok(()) => Err(Maker(self)),
            Err(_) => Ok(self.get().expect("it is written before the permit is closed")),
        }
    }

    /// The value, if there is one.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// The value, if there is one. The cell is empty afterwards.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        Self { value: WrittenOnce::full(value), maker: Permits::new(0) }
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell").field("value", &self.get()).finish()
    }
}

impl<T> SetError<T> {
    /// Whether the cell had a value.
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, Self::AlreadyInitializedError(_))
    }

    /// Whether somebody else made the value.
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, Self::InitializingError(_))
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyInitializedError(_) => "the cell has a value already",
            Self::InitializingError(_) => "somebody else is making the cell's value",
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}
