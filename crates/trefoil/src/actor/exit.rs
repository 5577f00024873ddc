//! Why actors end.

use crate::primitives::Mutex;
use crate::task::{JoinError, discard};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why an actor has ended. It is told to whoever is linked to the actor, monitors or joins it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ExitReason {
    /// Its function has returned. Linked actors live on.
    Normal,
    /// Somebody, such as its supervisor, has asked it to end.
    Shutdown,
    /// It has panicked.
    Panic(Panic),
    /// Its function has returned an error.
    Error(Arc<dyn Error + Send + Sync>),
    /// It was aborted, or its runtime has shut down.
    Aborted,
    /// There was no such actor: it had ended before it was linked to or monitored.
    NoActor,
}

impl ExitReason {
    /// An error as a reason.
    pub fn error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Error(Arc::from(error.into()))
    }

    /// Whether this is [`Normal`](Self::Normal).
    pub fn is_normal(&self) -> bool {
        matches!(self, Self::Normal)
    }

    /// Whether this is neither [`Normal`](Self::Normal) nor [`Shutdown`](Self::Shutdown): something
    /// has gone wrong.
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Normal | Self::Shutdown)
    }

    /// The panic, if that is the reason.
    pub fn as_panic(&self) -> Option<&Panic> {
        match self {
            Self::Panic(panic) => Some(panic),
            _ => None,
        }
    }

    /// What the end of an actor's task means.
    pub(super) fn of(ended: Result<Self, JoinError>) -> Self {
        match ended.map_err(JoinError::try_into_panic) {
            Ok(reason) => reason,
            Err(Ok(payload)) => Self::Panic(Panic::new(payload)),
            Err(Err(_cancelled)) => Self::Aborted,
        }
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => f.write_str("normal"),
            Self::Shutdown => f.write_str("shutdown"),
            Self::Panic(panic) => panic.fmt(f),
            Self::Error(error) => error.fmt(f),
            Self::Aborted => f.write_str("aborted"),
            Self::NoActor => f.write_str("no such actor"),
        }
    }
}

/// A panic that has ended an actor. All who are told of it share its payload.
#[derive(Clone)]
pub struct Panic(Arc<Shared>);

struct Shared {
    message: Option<String>,
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Panic {
    pub(super) fn new(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(Arc::new(Shared { message, payload: Mutex::new(Some(payload)) }))
    }

    /// The panic's message, if its payload is of a type that `panic!` makes.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// The payload, for `std::panic::resume_unwind` or a downcast. It is there once: the first who
    /// asks gets it.
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        self.0.payload.lock().take()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // It may panic, and whoever drops the last copy of a reason has not asked for that.
        if let Some(payload) = self.payload.get_mut().take() {
            discard(payload);
        }
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            Some(message) => write!(f, "panicked: {message}"),
            None => f.write_str("panicked"),
        }
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panic").field("message", &self.message()).finish_non_exhaustive()
    }
}

/// What an actor's function may return, and what that says of its end.
pub trait Outcome {
    /// The reason for which the actor has ended.
    fn into_reason(self) -> ExitReason;
}

impl Outcome for () {
    fn into_reason(self) -> ExitReason {
        ExitReason::Normal
    }
}

/// An actor that never returns: `async` blocks that end in a loop or a panic have this output.
impl Outcome for Never {
    fn into_reason(self) -> ExitReason {
        self
    }
}

/// The type `!`, which has no name of its own in stable Rust.
type Never = <fn() -> ! as Returns>::Output;

#[doc(hidden)]
pub trait Returns {
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

impl Outcome for ExitReason {
    fn into_reason(self) -> ExitReason {
        self
    }
}

impl<O: Outcome, E: Into<Box<dyn Error + Send + Sync>>> Outcome for Result<O, E> {
    fn into_reason(self) -> ExitReason {
        match self {
            Ok(outcome) => outcome.into_reason(),
            Err(error) => ExitReason::error(error),
        }
    }
}
