//! The process-wide runtime, for forks outside of any other runtime.

use super::{Builder, Handle, Runtime};
use std::io;
use std::sync::OnceLock;

/// The process-wide runtime. The first call starts it, and so does the first fork outside of any
/// runtime.
///
/// Closures that are [forked](mod@crate::fork_join) outside of any runtime run on its workers. It
/// is a multi-thread runtime with timers and with all defaults of [`Builder`]: one worker per CPU
/// that the process may use, unless `TREFOIL_WORKER_THREADS` says otherwise when it starts. Its
/// [name](Handle::name) is `global`, and its threads are called `trefoil-global`.
///
/// It is never shut down. When the process ends, its threads end at any point of their code, and
/// its tasks are not dropped. It is the *current* runtime of its own threads only: outside of a
/// runtime, [`spawn`](crate::spawn) still panics, and this handle's [`spawn`](Handle::spawn) does
/// not.
///
/// A program that needs other settings builds a runtime of its own and works inside of that. This
/// one is then never started.
///
/// # Errors
/// If the system could not start the threads at the first call. Later calls do not try again. Forks
/// outside of a runtime then run on their callers, one closure after the other.
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
        // The stored error cannot be cloned.
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}

/// As [`global`], for forks. None in a loom model, which has no statics that outlive it.
pub(crate) fn global_for_forks() -> Option<&'static Handle> {
    if cfg!(loom) { None } else { global().ok() }
}
