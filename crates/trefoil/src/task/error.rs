use super::Id;
use std::any::Any;
use std::fmt;

/// Why a task has no output: it panicked, or it was cancelled first.
pub struct JoinError {
    id: Id,
    cause: Cause,
}

enum Cause {
    Cancelled,
    Panic(Payload),
}

struct Payload(Box<dyn Any + Send>);

// SAFETY: no method of `Payload` or `JoinError` gives out a shared reference to the contents of the
// box: `into_panic` moves them, and the text that is read from them is that of the `Sync` types
// `&'static str` and `String`.
unsafe impl Sync for Payload {}

impl JoinError {
    pub(crate) fn cancelled(id: Id) -> Self {
        Self { id, cause: Cause::Cancelled }
    }

    pub(crate) fn panic(id: Id, payload: Box<dyn Any + Send>) -> Self {
        Self { id, cause: Cause::Panic(Payload(payload)) }
    }

    /// Whether the task was cancelled, by an abort or by the shutdown of its runtime.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.cause, Cause::Cancelled)
    }

    /// Whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self.cause, Cause::Panic(_))
    }

    /// The task's panic payload, for `std::panic::resume_unwind`.
    ///
    /// # Panics
    /// If the task did not panic.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic().expect("the task did not panic")
    }

    /// The task's panic payload.
    ///
    /// # Errors
    /// `self`, if the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.cause {
            Cause::Panic(payload) => Ok(payload.0),
            Cause::Cancelled => Err(self),
        }
    }

    /// The id of the task.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The panic's message, if the payload is of a type that `panic!` makes.
    fn message(&self) -> Option<&str> {
        let Cause::Panic(payload) = &self.cause else { return None };
        let payload = &payload.0;
        payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&'static str>().copied())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cause, self.message()) {
            (Cause::Cancelled, _) => write!(f, "task {} was cancelled", self.id),
            (Cause::Panic(_), Some(message)) => {
                write!(f, "task {} panicked with message {message:?}", self.id)
            }
            (Cause::Panic(_), None) => write!(f, "task {} panicked", self.id),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cause, self.message()) {
            (Cause::Cancelled, _) => write!(f, "JoinError::Cancelled({:?})", self.id),
            (Cause::Panic(_), Some(message)) => {
                write!(f, "JoinError::Panic({:?}, {message:?}, ...)", self.id)
            }
            (Cause::Panic(_), None) => write!(f, "JoinError::Panic({:?}, ...)", self.id),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> Self {
        std::io::Error::other(match error.cause {
            Cause::Cancelled => "task was cancelled",
            Cause::Panic(_) => "task panicked",
        })
    }
}
