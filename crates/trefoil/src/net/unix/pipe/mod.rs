//! Pipes: bytes in one direction, between processes or within one.
//!
//! A pipe without a name is made by [`pipe`]. One with a name, a *FIFO file*, is opened by
//! [`OpenOptions`].
//!
//! ```
//! use trefoil::io::{AsyncReadExt, AsyncWriteExt};
//! use trefoil::net::unix::pipe;
//!
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let (mut sender, mut receiver) = pipe::pipe()?;
//! sender.write_all(b"hello").await?;
//! drop(sender);
//!
//! let mut text = String::new();
//! receiver.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # }
//! ```

mod end;
mod open_options;
mod receiver;
mod sender;

#[cfg(all(feature = "process", not(loom)))]
pub(crate) use end::set_nonblocking;
pub use open_options::OpenOptions;
pub use receiver::Receiver;
pub use sender::Sender;

use std::io;

/// Makes a pipe without a name.
///
/// To hand an end to a child, call its `into_blocking_fd`: programs expect that of their standard
/// streams.
///
/// # Errors
/// Those of the system.
///
/// # Panics
/// If the thread is in no runtime, or the runtime has no I/O.
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) = mio::unix::pipe::new()?;
    Ok((Sender::of_mio(sender)?, Receiver::of_mio(receiver)?))
}
