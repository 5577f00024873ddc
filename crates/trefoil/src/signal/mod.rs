//! Signals of the system, as something to await.
//!
//! ```no_run
//! # #[trefoil::main]
//! # async fn main() -> std::io::Result<()> {
//! trefoil::select! {
//!     result = trefoil::signal::ctrl_c() => result?,
//!     () = std::future::pending() => unreachable!("the service runs until it is told to end"),
//! }
//! println!("good bye");
//! # Ok(())
//! # }
//! ```

#[cfg(unix)]
mod hub;
#[cfg(unix)]
pub mod unix;

#[cfg(unix)]
pub(crate) use hub::Hubs;
#[cfg(unix)]
use std::io;

/// Waits for the next `SIGINT`, which Ctrl-C in a terminal sends.
///
/// From the first poll on, and for as long as the process lives, the signal does not end the
/// process, whether somebody waits for it or not. What comes between the end of one such future and
/// the first poll of the next one in the same runtime is the next one's, if the runtime has not
/// looked for events meanwhile (see [`unix::signal`]). It may have done so at any `.await` between
/// the two, and other workers at any time.
///
/// # Errors
/// Those of the system; and if the runtime shuts down, or somebody else has replaced the process's
/// handler, so that no signal will come.
///
/// # Panics
/// If the thread is in no runtime, or the runtime has no I/O.
///
/// # Cancellation safety
/// A signal that came while the future was waiting, and that the runtime has looked at, is lost
/// with the future. One future that is pinned and polled by reference, or one
/// [`Signal`](unix::Signal), loses none.
#[cfg(unix)]
pub async fn ctrl_c() -> io::Result<()> {
    let mut interrupts = unix::signal(unix::SignalKind::interrupt())?;
    interrupts.recv().await.ok_or_else(crate::runtime::shutdown_error)
}
