//! Macros that combine futures within one task.

mod maybe_done;

#[doc(hidden)]
pub mod support {
    //! What the macros' expansions refer to. Not for use by hand.
    pub use super::maybe_done::{MaybeDone, maybe_done};
    pub use std::future::{Future, IntoFuture, poll_fn};
    pub use std::pin::{Pin, pin};
    pub use std::result::Result::{Err, Ok};
    pub use std::task::{Context, Poll};

    pub fn random(n: u32) -> u32 {
        crate::context::random(n)
    }

    /// Pending if the task's budget is used up; spends nothing.
    pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
        crate::task::coop::poll_proceed(cx).map(drop)
    }
}

/// Pins futures to the stack.
///
/// `pin!(a, b)` shadows the variables by pinned references to them;
/// `pin! { let a = expression; }` makes them.
///
/// ```
/// # async fn work() {}
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// let future = work();
/// trefoil::pin!(future);
/// (&mut future).await;
/// # }
/// ```
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => { $(
        let mut $name = ::core::pin::pin!($name);
    )* };
    ($(let $name:ident = $init:expr;)*) => { $(
        let mut $name = ::core::pin::pin!($init);
    )* };
}

/// Runs several futures at the same time, within one task, and returns all
/// their outputs as a tuple.
///
/// With `biased;` first, they are polled in the order given; otherwise each
/// poll starts with the next one.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(trefoil::join!(async { 1 }, async { "two" }), (1, "two"));
/// # }
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! join {
    ($($input:tt)*) => { $crate::macros::join_internal! { $crate $($input)* } };
}

/// Runs several futures at the same time, within one task, and returns all
/// their values as a tuple, or the first error.
///
/// On an error, the futures that are left are dropped.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// let sum = trefoil::try_join!(async { "1".parse::<u8>() }, async { "x".parse::<u8>() });
/// assert!(sum.is_err());
/// # }
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! try_join {
    ($($input:tt)*) => { $crate::macros::try_join_internal! { $crate $($input)* } };
}

/// Waits for the first of several futures, drops the others, and runs that
/// branch's handler.
///
/// Branches are `pattern = future => handler`, or `pattern = future, if
/// condition => handler`, which is skipped if the condition is false. The
/// futures are made in any case. An output that does not match its pattern
/// disables the branch. If all are disabled, `else => handler` runs; without
/// it, the macro panics.
///
/// Branches are polled from a random one on, or with `biased;` first, in the
/// order given.
///
/// # Cancellation safety
/// The futures of branches not taken are dropped where they stand, unless they
/// are borrowed (`&mut future`).
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// use trefoil::time::{Duration, sleep};
/// let answer = trefoil::select! {
///     _ = sleep(Duration::from_secs(60)) => "late",
///     Some(word) = async { Some("early") } => word,
///     else => "never",
/// };
/// assert_eq!(answer, "early");
/// # }
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! select {
    ($($input:tt)*) => { $crate::macros::select_internal! { $crate $($input)* } };
}

#[cfg(feature = "macros")]
#[doc(hidden)]
pub use trefoil_macros::{join_internal, select_internal, try_join_internal};
