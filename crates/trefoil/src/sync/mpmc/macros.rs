//! `select!` over channels.

#[doc(hidden)]
pub mod support {
    //! What the expansions of `select!` refer to. This is not public API.
    pub use super::super::select::{AnyArm, Patience, recv, select, send};
    pub use std::option::Option::{self, None, Some};
    pub use std::pin::pin;
    pub use std::unreachable;
}

/// Sends or receives at exactly one of several channels: the first at which the other side is
/// there.
///
/// An arm is `recv(receiver) -> pattern => handler` or `send(sender, item) -> pattern => handler`.
/// The pattern is for the [`Result`] of `receiver.recv()` or `sender.send(item)`, and must match
/// all of them; a channel that is closed, and for `recv` empty, is ready with its error. The last
/// arm can be `default => handler`, which is chosen if no other can be at once, or
/// `default(duration) => handler`, which is chosen if no other can be for so long. The handler of
/// the arm runs after the choice: it can `.await`, `break`, `return`, and use the channels.
///
/// If several arms are ready, one of them is chosen at random. With `biased;` before the arms, it
/// is the first of them.
///
/// All expressions of channels, items and durations are evaluated, in order, before the wait. The
/// items of arms that were not chosen are dropped.
///
/// It needs asynchronous code around it. Items have to be [`Send`].
///
/// # How it differs from `trefoil::select!`
/// That macro polls independent futures and drops those that were not chosen, which by then may
/// have sent or received all the same. Here, all arms share one claim, and whoever is at the other
/// side of a channel completes an arm only if the claim succeeds. So two arms never both happen.
///
/// # Cancellation safety
/// If the whole is dropped while it waits, it has received nothing: an item that was given to it
/// by then goes to the next receiver, or back to the front of the channel. An item that it was to
/// send may have been received by then.
///
/// # Panics
/// With `default(duration)`, those of [`sleep`](crate::time::sleep).
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// use trefoil::sync::mpmc;
///
/// let (jobs, workers) = mpmc::bounded(1);
/// let (stop, stopped) = mpmc::bounded::<()>(0);
/// let worker = trefoil::spawn(async move {
///     let mut sum = 0;
///     loop {
///         mpmc::select! {
///             biased;
///             recv(workers) -> job => sum += job.expect("it is open until it is stopped"),
///             recv(stopped) -> _ => break sum,
///         }
///     }
/// });
/// for n in 1..=10 {
///     jobs.send(n).await.unwrap();
/// }
/// stop.send(()).await.unwrap();
/// assert_eq!(worker.await.unwrap(), 55);
///
/// // The worker is gone, and so is its receiver.
/// mpmc::select! {
///     send(jobs, 11) -> sent => assert_eq!(sent.unwrap_err().0, 11),
///     default => unreachable!(),
/// }
/// # }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __mpmc_select {
    // The arms that are read, and how long to wait for them.
    (@read $bias:tt [$($arms:tt)*] recv($from:expr) -> $got:pat => $handler:block, $($rest:tt)*) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (recv $from) ($got) $handler }] $($rest)*
        }
    };
    (@read $bias:tt [$($arms:tt)*] recv($from:expr) -> $got:pat => $handler:block $($rest:tt)*) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (recv $from) ($got) $handler }] $($rest)*
        }
    };
    (@read $bias:tt [$($arms:tt)*] recv($from:expr) -> $got:pat => $handler:expr) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (recv $from) ($got) { $handler } }]
        }
    };
    (@read $bias:tt [$($arms:tt)*] recv($from:expr) -> $got:pat => $handler:expr, $($rest:tt)*) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (recv $from) ($got) { $handler } }] $($rest)*
        }
    };
    (@read $bias:tt [$($arms:tt)*]
        send($to:expr, $item:expr $(,)?) -> $got:pat => $handler:block, $($rest:tt)*) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (send $to, $item) ($got) $handler }] $($rest)*
        }
    };
    (@read $bias:tt [$($arms:tt)*]
        send($to:expr, $item:expr $(,)?) -> $got:pat => $handler:block $($rest:tt)*) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (send $to, $item) ($got) $handler }] $($rest)*
        }
    };
    (@read $bias:tt [$($arms:tt)*]
        send($to:expr, $item:expr $(,)?) -> $got:pat => $handler:expr) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (send $to, $item) ($got) { $handler } }]
        }
    };
    (@read $bias:tt [$($arms:tt)*]
        send($to:expr, $item:expr $(,)?) -> $got:pat => $handler:expr, $($rest:tt)*) => {
        $crate::__mpmc_select! {
            @read $bias [$($arms)* { arm (send $to, $item) ($got) { $handler } }] $($rest)*
        }
    };
    (@read $bias:tt $arms:tt default => $handler:expr $(,)?) => {
        $crate::__mpmc_select! {
            @write $bias ($crate::sync::mpmc::support::Patience::None) $arms { $handler }
        }
    };
    (@read $bias:tt $arms:tt default($duration:expr) => $handler:expr $(,)?) => {
        $crate::__mpmc_select! {
            @write $bias ($crate::sync::mpmc::support::Patience::For($duration)) $arms { $handler }
        }
    };
    (@read $bias:tt $arms:tt) => {
        $crate::__mpmc_select! {
            @write $bias ($crate::sync::mpmc::support::Patience::Endless) $arms {
                $crate::sync::mpmc::support::unreachable!("the wait ends with an arm")
            }
        }
    };

    (@write ($bias:expr) ($patience:expr)
        [$({ $arm:ident ($operation:ident $($operand:expr),+) ($got:pat) $handler:tt })*]
        $otherwise:tt) => {{
        // Here, the names of the arms differ by the step that has read them.
        let ($($arm,)*) = {
            // The first operand is the channel, which may be a temporary.
            $(let $arm = $crate::__mpmc_select!(@evaluate $($operand),+);)*
            $(let mut $arm = $crate::__mpmc_select!(@arm $operation $arm);)*
            $crate::sync::mpmc::support::select(
                [$($crate::sync::mpmc::support::AnyArm::arm($arm.as_mut())),*],
                $bias,
                $patience,
            )
            .await;
            ($($crate::sync::mpmc::support::AnyArm::outcome($arm.as_mut()),)*)
        };
        $(if let $crate::sync::mpmc::support::Some(outcome) = $arm {
            let $got = outcome;
            $handler
        } else)* $otherwise
    }};
    (@evaluate $from:expr) => { (&$from,) };
    (@evaluate $to:expr, $item:expr) => { (&$to, $item) };
    (@arm recv $operands:ident) => {
        $crate::sync::mpmc::support::pin!($crate::sync::mpmc::support::recv($operands.0))
    };
    (@arm send $operands:ident) => {
        $crate::sync::mpmc::support::pin!(
            $crate::sync::mpmc::support::send($operands.0, $operands.1)
        )
    };

    (biased; $($arms:tt)+) => { $crate::__mpmc_select! { @read (true) [] $($arms)+ } };
    ($($arms:tt)+) => { $crate::__mpmc_select! { @read (false) [] $($arms)+ } };
}
