//! Signals by their numbers.
//!
//! Each [`Signal`] has a pair of sockets of its own. The handler writes a byte to one, and the
//! runtime waits for the other as for any socket. So there is nothing that signals of several
//! runtimes share, but the handler that `signal-hook-registry` installs once for each number.

use crate::reactor::{Direction, Interest, Source};
use signal_hook_registry::SigId;
use std::future::poll_fn;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll};

/// The number of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignalKind(i32);

macro_rules! kinds {
    ($($(#[$cfg:meta])* $name:ident $number:ident $what:literal;)*) => {
        impl SignalKind {$(
            #[doc = concat!("`", stringify!($number), "`: ", $what)]
            $(#[$cfg])*
            pub const fn $name() -> Self {
                Self(libc::$number)
            }
        )*}
    };
}

kinds! {
    alarm SIGALRM "a timer of the process has ended.";
    child SIGCHLD "a child has ended, or was stopped.";
    hangup SIGHUP "the terminal has gone. Services take it for a request to read their settings.";
    #[cfg(any(target_os = "macos", target_os = "freebsd", target_os = "netbsd",
              target_os = "openbsd", target_os = "dragonfly"))]
    info SIGINFO "somebody at the terminal asks for the state.";
    interrupt SIGINT "Ctrl-C in a terminal.";
    io SIGIO "a descriptor is ready.";
    pipe SIGPIPE "a write to something that nobody reads.";
    quit SIGQUIT "Ctrl-\\ in a terminal.";
    terminate SIGTERM "somebody asks the process to end.";
    user_defined1 SIGUSR1 "whatever the program says.";
    user_defined2 SIGUSR2 "whatever the program says.";
    window_change SIGWINCH "the terminal has another size.";
}

impl SignalKind {
    /// The signal with this number.
    pub const fn from_raw(signum: std::os::raw::c_int) -> Self {
        Self(signum)
    }

    /// The signal's number.
    pub const fn as_raw_value(&self) -> std::os::raw::c_int {
        self.0
    }
}

impl From<std::os::raw::c_int> for SignalKind {
    fn from(signum: std::os::raw::c_int) -> Self {
        Self::from_raw(signum)
    }
}

impl From<SignalKind> for std::os::raw::c_int {
    fn from(kind: SignalKind) -> Self {
        kind.as_raw_value()
    }
}

/// Signals of one kind, from the call of [`signal`] on.
///
/// Several that come between two calls of [`recv`](Self::recv) are one.
#[derive(Debug)]
#[must_use = "signals are only seen by `recv`"]
pub struct Signal {
    arrived: Source<mio::net::UnixStream>,
    handler: SigId,
}

/// Begins to listen for signals of one kind. Any number of listeners sees each signal.
///
/// From here on, and for as long as the process lives, the signal does not do what it does by
/// default, such as to end the process.
///
/// # Errors
/// Those of the system; and for signals that cannot be handled, such as `SIGKILL`, and those that
/// say that the program is broken, such as `SIGSEGV`.
///
/// # Panics
/// If the thread is in no runtime, or the runtime has no I/O.
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let SignalKind(number) = kind;
    let (arrived, arrives) = UnixStream::pair()?;
    arrived.set_nonblocking(true)?;
    arrives.set_nonblocking(true)?;
    let arrived = Source::new(mio::net::UnixStream::from_std(arrived), Interest::READABLE)?;
    if number <= 0 || signal_hook_registry::FORBIDDEN.contains(&number) {
        let text = format!("signal {number} cannot be handled");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let process = std::process::id();
    let handle = move || {
        // A fork has the handler as well, and its half of this process's sockets. What it is sent
        // before it executes another program is nothing of ours.
        if std::process::id() != process {
            return;
        }
        // It fails if there is no room: then the listener has not seen an earlier one yet, which
        // this one is then a part of. There is nothing else to do in a handler.
        let _ = rustix::io::write(&arrives, &[1]);
    };
    // SAFETY: a handler may do only what is safe at any point of the program. This one makes
    // system calls that POSIX names as such, on a descriptor that it owns. The registry keeps
    // `errno` as it was.
    let handler = unsafe { signal_hook_registry::register(number, handle) }?;
    Ok(Signal { arrived, handler })
}

impl Signal {
    /// Waits for the next signal. None if the runtime has shut down.
    ///
    /// # Cancellation safety
    /// No signal is lost if the future is dropped.
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for [`recv`](Self::recv).
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let take_all = || {
            let mut buf = [0; 64];
            let mut any = false;
            loop {
                match (&*self.arrived).read(&mut buf) {
                    // The handler is gone: somebody has told the registry to forget all of them.
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    // More than fit come in a second read: they are a part of this one as well.
                    Ok(_) => any = true,
                    Err(error) if any && error.kind() == io::ErrorKind::WouldBlock => {
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        self.arrived.registration().poll_io(cx, Direction::Read, take_all).map(Result::ok)
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        signal_hook_registry::unregister(self.handler);
    }
}
