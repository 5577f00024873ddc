//! Procedural macros of trefoil. Use them through the `trefoil` crate, where
//! they are documented.

mod entry;
mod join;
mod select;

use proc_macro::TokenStream;

/// Runs an `async fn main` in a runtime: a multi-thread one, or with
/// `flavor = "current_thread"` a single-threaded one, or with `flavor = "local"`
/// one whose tasks need not be `Send`.
///
/// Options: `flavor`, `worker_threads = N`, `start_paused = true` (with the
/// feature `test-util`), `name = ".."` of the runtime, and `crate = "path"` for a renamed
/// dependency.
///
/// The function may return what a `main` may, a `Result` for example.
///
/// # Panics
/// If the runtime cannot be made, for want of threads.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(options.into(), item.into(), false).into()
}

/// Runs an `async fn` as a test, by default in a single-threaded runtime.
///
/// Options as for `main`. The function may return what a test may.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(options.into(), item.into(), true).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn select_internal(input: TokenStream) -> TokenStream {
    select::expand(input.into()).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn join_internal(input: TokenStream) -> TokenStream {
    join::expand(input.into(), false).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn try_join_internal(input: TokenStream) -> TokenStream {
    join::expand(input.into(), true).into()
}
