//! Child processes.
//!
//! Names and semantics are tokio's. [`Command`] is the standard library's, except that what it
//! starts is awaited. There are no processes on systems other than Unix yet.
//!
//! ```
//! use std::process::Stdio;
//! use trefoil::io::{AsyncReadExt, AsyncWriteExt};
//! use trefoil::process::Command;
//!
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let mut child =
//!     Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//! let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
//! stdin.write_all(b"meow").await?;
//! drop(stdin);
//!
//! let mut text = String::new();
//! stdout.read_to_string(&mut text).await?;
//! assert_eq!(text, "meow");
//! assert!(child.wait().await?.success());
//! # Ok(())
//! # }
//! ```
//!
//! # Dropped children
//!
//! A child runs on when its [`Child`] is dropped, unless
//! [`kill_on_drop`](Command::kill_on_drop) was asked for. Either way the runtime that has started
//! it reaps it when it has ended, so that it does not stay a zombie. If that runtime has shut down
//! by then, the next [`spawn`](Command::spawn) in any runtime of the process takes over. A program
//! that must know that a child was reaped calls [`Child::wait`].
//!
//! # Signals
//!
//! On Linux 5.3 and later, the end of a child is an event of a descriptor. On other systems, the
//! first child installs a handler for `SIGCHLD`, which calls the one that was there before.
//!
//! A program that ignores `SIGCHLD`, or that waits for any child whatsoever, takes the status away
//! from those who wait here: they get an error.
//!
//! # Forks
//!
//! As with [sockets](crate::net#forks), a process that was forked cannot use the runtimes of its
//! parent, and so cannot start children in them.

mod child;
mod command;
mod exit;
mod orphans;
mod pipes;
mod running;

pub use child::Child;
pub use command::Command;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
