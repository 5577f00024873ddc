//! How a fiber is unwound by a panic of ours: where an abort must not drop its stack, because
//! others have borrowed from that.

use super::running::{Inside, inside};
use crate::context;
use crate::primitives::abort::AbortOnUnwind;
use std::any::Any;
use std::panic::resume_unwind;

/// What unwinds the stack of an aborted fiber up to the scope that it is in, or, after the last
/// scope, to its root.
pub(super) struct Aborted;

/// What unwinds a closure of a fork that another thread has taken, for whoever joins the fork.
const UNWOUND: &str = "a closure of a fork was unwound: its fiber was aborted, or its runtime ends";

/// What the process says before it ends where that cannot be.
pub(super) const UNWINDS: &str =
    "(a waiting fiber has to end, and in a program with `panic = \"abort\"` nothing unwinds)";

/// Unwinds the stack, up to whoever catches it.
#[cold]
pub(super) fn unwind_again() -> ! {
    if cfg!(panic = "abort") {
        // As in `Running::unwind`.
        drop(AbortOnUnwind(UNWINDS));
    }
    // Whose fork it is, and who joins that, learns of it as of a panic.
    if context::is_in_taken() {
        resume_unwind(Box::new(UNWOUND))
    }
    resume_unwind(Box::new(Aborted))
}

/// Whether the calling code is a fiber's that was aborted, or in a closure of the fork of such a
/// one: also in a destructor that runs for that.
pub(crate) fn is_aborted() -> bool {
    inside(|inside| inside.is_some_and(Inside::is_cancelled)) || context::is_taken_aborted()
}

/// What a fork throws, of which a closure that another thread has run has ended with this: where
/// that was unwound and the calling fiber is aborted, or its runtime ends, that is its own end, and
/// no panic.
pub(crate) fn thrown(payload: Box<dyn Any + Send>) -> Box<dyn Any + Send> {
    let is_unwound = payload.downcast_ref::<&str>() == Some(&UNWOUND);
    let is_end = is_unwound
        && !context::is_in_taken()
        && inside(|inside| inside.is_some_and(Inside::is_to_end));
    if is_end { Box::new(Aborted) } else { payload }
}
