//! `SetOnce`: a value that is set once, and that tasks wait for.

use super::Notify;
use super::written_once::WrittenOnce;
use crate::primitives::Mutex;
use crate::task::coop;
use std::error::Error;
use std::fmt;

/// A value that somebody sets once, and that others wait for.
///
/// ```
/// use std::sync::Arc;
/// use trefoil::sync::SetOnce;
///
/// # #[trefoil::main]
/// # async fn main() {
/// let port = Arc::new(SetOnce::new());
/// let its = Arc::clone(&port);
/// trefoil::spawn(async move { its.set(8080).unwrap() });
/// assert_eq!(*port.wait().await, 8080);
/// assert_eq!(port.set(8081).unwrap_err().0, 8081);
/// # }
/// ```
pub struct SetOnce<T> {
    value: WrittenOnce<T>,
    /// Held by whoever sets the value. A flag would not do: one who has come too late must find the
    /// value, and not one who is about to write it.
    setting: Mutex<()>,
    was_set: Notify,
}

/// [`SetOnce::set`] has failed because there is a value. It gives the other value back.
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(pub T);

impl<T> SetOnce<T> {
    /// Without a value.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { value: WrittenOnce::empty(), setting: Mutex::new(()), was_set: Notify::new() }
    }

    /// Without a value.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { value: WrittenOnce::empty(), setting: Mutex::new(()), was_set: Notify::new() }
    }

    /// Without a value, as [`SetOnce::new`], for statics.
    #[cfg(not(loom))]
    pub const fn const_new() -> Self {
        Self::new()
    }

    /// With this value, if there is one.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::from)
    }

    /// With this value, for statics.
    #[cfg(not(loom))]
    pub const fn const_new_with(value: T) -> Self {
        Self { value: WrittenOnce::full(value), setting: Mutex::new(()), was_set: Notify::new() }
    }

    /// Whether there is a value.
    pub fn initialized(&self) -> bool {
        self.value.is_written()
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Sets the value, and wakes all that wait for it.
    ///
    /// # Errors
    /// The value, if there is one already.
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        let setting = self.setting.lock();
        if self.initialized() {
            return Err(SetOnceError(value));
        }
        // SAFETY: nothing was written, as was just seen, and the lock keeps others from writing.
        unsafe { self.value.write(value) };
        drop(setting);
        self.was_set.notify_waiters();
        Ok(())
    }

    /// Waits until the value is set.
    ///
    /// # Cancellation safety
    /// A future that is dropped has changed nothing.
    pub async fn wait(&self) -> &T {
        // From its creation on, it sees the call of `notify_waiters`, which comes after the value
        // was written. So either the value is seen here, or the call.
        let was_set = self.was_set.notified();
        if let Some(value) = self.get() {
            coop::consume_budget().await;
            return value;
        }
        was_set.await;
        self.get().expect("it is written before the call")
    }

    /// The value, if there is one.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}

impl<T> Default for SetOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for SetOnce<T> {
    fn from(value: T) -> Self {
        Self { value: WrittenOnce::full(value), setting: Mutex::new(()), was_set: Notify::new() }
    }
}

impl<T: Clone> Clone for SetOnce<T> {
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for SetOnce<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for SetOnce<T> {}

impl<T: fmt::Debug> fmt::Debug for SetOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetOnce").field("value", &self.get()).finish()
    }
}

impl<T> fmt::Display for SetOnceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value was set before")
    }
}

impl<T: fmt::Debug> Error for SetOnceError<T> {}
