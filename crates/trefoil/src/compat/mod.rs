//! Adapters to the traits of other crates. Each needs a feature, and nothing else of this crate
//! needs any of them.
//!
//! | feature | what |
//! |---|---|
//! | `tokio` | `TokioCompat`: tokio's traits for types of this crate, and back |
//! | `futures-io` | `FuturesCompat`: those of `futures::io`, and back |
//! | `hyper` | `TrefoilIo`, `TrefoilExecutor` and `TrefoilTimer`: those of `hyper::rt` |
//!
//! An adapter works in both directions: around a type with this crate's traits it has those of the
//! other crate, and around a type with those it has this crate's.

#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "tokio")]
mod tokio;

#[cfg(feature = "futures-io")]
pub use futures_io::FuturesCompat;
#[cfg(feature = "hyper")]
pub use hyper::{TrefoilExecutor, TrefoilIo, TrefoilTimer};
#[cfg(feature = "tokio")]
pub use tokio::TokioCompat;

/// The methods of all adapters, around a pinned field `inner`.
macro_rules! accessors {
    ($type:ident { $($field:ident: $value:expr),* }) => {
        impl<T> $type<T> {
            /// The adapter around a value.
            pub fn new(inner: T) -> Self {
                Self { inner, $($field: $value),* }
            }

            /// The value inside.
            pub fn get_ref(&self) -> &T {
                &self.inner
            }

            /// The value inside, mutably.
            pub fn get_mut(&mut self) -> &mut T {
                &mut self.inner
            }

            /// The value inside, pinned.
            pub fn get_pin_mut(self: std::pin::Pin<&mut Self>) -> std::pin::Pin<&mut T> {
                self.project().inner
            }

            /// The value inside.
            pub fn into_inner(self) -> T {
                self.inner
            }
        }
    };
}

use accessors;
