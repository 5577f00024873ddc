//! The runtime for those who are in none.

use super::{Builder, Handle, Runtime};
use std::io;
use std::sync::OnceLock;

/// The process-wide runtime, which is started by the first call.
///
/// It is where [`fork_join`](mod@crate::fork_join) takes the closures that are
/// forked outside of any runtime. It is a multi-thread runtime with timers and
/// all of [`Builder`]'s defaults: one worker per core that the process may use,
/// unless `TREFOIL_WORKER_THREADS` says otherwise when it starts. Its
/// [name](Handle::name) is `global`, and its threads are called
/// `trefoil-global`.
///
/// It is never shut down. When the process ends, its threads end with it,
/// wherever they are, and what its tasks hold is not dropped. It is not the
/// *current* runtime of any thread but its own: [`spawn`](crate::spawn) outside
/// of a runtime panics as ever, and this handle spawns.
///
/// A program that wants other settings builds a runtime and works in that; then
/// this one is never started.
///
/// # Errors
/// The system had no threads to give at the first call. Later calls do not try
/// again, and forks outside of a runtime then run on their caller, one after the
/// other.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let global = trefoil::runtime::global()?;
/// let answer = global.spawn(async { 6 * 7 });
/// assert_eq!(global.block_on(answer).unwrap(), 42);
/// # Ok(())
/// # }
/// ```
pub fn global() -> io::Result<&'static Handle> {
    static GLOBAL: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || {
        let mut builder = Builder::new_multi_thread();
        builder.enable_all().name("global").thread_name("trefoil-global").build()
    };
    match GLOBAL.get_or_init(start) {
        Ok(runtime) => Ok(runtime.handle()),
        // The one that is kept cannot be given away.
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}

/// As [`global`], for forks. None in a model, which has no process.
pub(crate) fn global_for_forks() -> Option<&'static Handle> {
    if cfg!(loom) { None } else { global().ok() }
}
