//! Macros that combine futures within one task.

mod chain;
mod maybe_done;

#[doc(hidden)]
pub mod support {
    //! What the expansions of the macros refer to. This is not public API.
    pub use super::chain::Chain;
    pub use super::maybe_done::{MaybeDone, maybe_done};
    pub use std::future::{Future, IntoFuture, poll_fn};
    pub use std::pin::{Pin, pin};
    pub use std::result::Result::{Err, Ok};
    pub use std::task::{Context, Poll};

    /// By which an expansion makes sure that the crate it names is this one.
    pub const IS_TREFOIL: () = ();

    pub fn random(n: u32) -> u32 {
        crate::context::random_for_select(n)
    }

    /// Pending if the task's budget is used up. This spends nothing.
    pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
        crate::task::coop::poll_proceed(cx).map(drop)
    }
}

/// Pins futures to the stack.
///
/// `pin!(a, b)` shadows two variables by pinned references to their values.
/// `pin! { let a = expression; }` declares the variable as well.
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

/// Runs several futures at the same time, within one task, and returns all their outputs as a
/// tuple.
///
/// Each poll starts with another future, so that all of them get their share of the task's budget.
/// With `biased;` before the futures, each poll polls them in the order given.
///
/// # Cancellation safety
/// If the task is aborted, all futures are dropped, and the outputs of those that have finished.
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

/// Runs several futures at the same time, within one task, and returns all their values as a tuple,
/// or the first error.
///
/// On an error, the futures that have not finished are dropped. The order of polls is that of
/// [`join!`](macro@crate::join).
///
/// # Cancellation safety
/// If the task is aborted, or on an error, all futures are dropped, and the values of those that
/// have finished.
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

/// Waits for the first of several futures, drops the others, and runs the handler of that branch.
///
/// A branch is `pattern = future => handler` or `pattern = future, if condition => handler`. A
/// branch is disabled if its condition is false, or if the output of its future does not match its
/// pattern. The expression of the future is evaluated in any case. If all branches are disabled,
/// the handler of `else => handler` runs. There are 64 branches at most.
///
/// Each poll starts with a random branch. With `biased;` before the branches, each poll polls them
/// in the order given.
///
/// # Cancellation safety
/// The futures of the other branches are dropped at the `.await` where they wait. A future that is
/// borrowed (`&mut future`) is not dropped and can be awaited again.
///
/// # Panics
/// If no branch is enabled and the `else` is missing.
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
