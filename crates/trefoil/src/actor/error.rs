//! The errors of actors.

use super::Pid;
use std::error::Error;
use std::fmt;

/// The actor has ended. The message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<M>(pub M);

/// The message was not taken. It comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<M> {
    /// The mailbox holds as many messages as it may.
    Full(M),
    /// The actor has ended.
    NoActor(M),
}

/// The actor whose mailbox this is has ended, so there is nothing to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exited;

/// There is no such actor: it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoActor(pub Pid);

/// The name was not given to the actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// This actor has the name.
    Taken(Pid),
    /// The actor that was to have it has ended.
    NoActor,
}

/// No address was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// There is no such actor.
    NoActor,
    /// The actor receives messages of another type.
    OtherType,
}

impl<M> TrySendError<M> {
    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            Self::Full(message) | Self::NoActor(message) => message,
        }
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<M> fmt::Debug for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::NoActor(_) => "NoActor(..)",
        })
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the actor has ended")
    }
}

impl<M> fmt::Display for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the actor's mailbox is full",
            Self::NoActor(_) => "the actor has ended",
        })
    }
}

impl fmt::Display for Exited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the actor whose mailbox this is has ended")
    }
}

impl fmt::Display for NoActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no actor {}: it has ended", self.0)
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(pid) => write!(f, "the name is that of the actor {pid}"),
            Self::NoActor => f.write_str("the actor that was to have the name has ended"),
        }
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoActor => "there is no such actor",
            Self::OtherType => "the actor receives messages of another type",
        })
    }
}

impl<M> Error for SendError<M> {}
impl<M> Error for TrySendError<M> {}
impl Error for Exited {}
impl Error for NoActor {}
impl Error for RegisterError {}
impl Error for LookupError {}
