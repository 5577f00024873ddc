//! Procedural macros of trefoil. They are documented in the `trefoil` crate, which re-exports them.

mod entry;
mod join;
mod name;
mod select;

use proc_macro::TokenStream;

/// Runs an `async fn main` in a runtime of its own.
///
/// | option | meaning |
/// |---|---|
/// | `flavor = "multi_thread"` | a runtime with worker threads; the default |
/// | `flavor = "current_thread"` | a runtime that runs its tasks on the main thread |
/// | `flavor = "local"` | the same, and its tasks need not be `Send` |
/// | `worker_threads = N` | the number of workers of a multi-thread runtime |
/// | `start_paused = true` | starts with paused time; needs `test-util`; not with several workers |
/// | `name = "…"` | the runtime's name |
/// | `unhandled_panic = "shutdown_runtime"` | a panic of a task ends it; not with several workers |
/// | `crate = "path"` | the path to `trefoil`, where `Cargo.toml` does not tell |
///
/// If `Cargo.toml` gives the dependency another name, such as `tokio = { package = "trefoil", … }`,
/// the macro finds that name, also in `[workspace.dependencies]`. The path has to be given in
/// builds without Cargo that rename the crate, and in macros of other crates that expand to this
/// one.
///
/// The function may return whatever a `main` may return, a `Result` for example.
///
/// # Panics
/// If the runtime cannot be built because the system starts no threads.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(options.into(), item.into(), false).into()
}

/// Runs an `async fn` as a test, in a runtime of its own.
///
/// The options are those of `main`, but the default is `flavor = "current_thread"`. The function
/// may return whatever a test may return.
///
/// # Panics
/// If the runtime cannot be built because the system starts no threads.
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
