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
use std::io;

/// Waits for the next `SIGINT`, which Ctrl-C in a terminal sends.
///
/// From the first poll on, and for as long as the process lives, the signal does not end the
/// process, whether somebody waits for it or not.
///
/// # Errors
/// Those of the system.
///
/// # Panics
/// If the thread is in no runtime, or the runtime has no I/O.
///
/// # Cancellation safety
/// A signal that came while the future was waiting is lost with the future.
#[cfg(unix)]
pub async fn ctrl_c() -> io::Result<()> {
    unix::signal(unix::SignalKind::interrupt())?.recv().await;
    Ok(())
}
