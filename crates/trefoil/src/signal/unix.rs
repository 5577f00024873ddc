//! Signals by their numbers.
//!
//! All listeners for one kind of signal in one runtime share a pair of sockets. The handler writes
//! a byte to one, and the runtime waits for the other as for any socket. So there is nothing that
//! signals of several runtimes share, but the handler that `signal-hook-registry` installs once for
//! each number.

use super::hub::Hub;
use crate::io::Interest;
use crate::task::coop;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

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

/// Signals of one kind, from about the call of [`signal`] on, which says more.
///
/// Several that come between two calls of [`recv`](Self::recv) are one.
#[derive(Debug)]
#[must_use = "signals are only seen by `recv`"]
pub struct Signal {
    hub: Arc<Hub>,
    /// The hub's count, when this has last looked at it, or where this began.
    seen: u64,
    /// The place among those who wait at the hub.
    place: Option<u64>,
}

/// Begins to listen for signals of one kind. Any number of listeners sees each signal, and those of
/// one runtime take no more descriptors than one does. The runtime keeps these, two for each kind,
/// until it shuts down.
///
/// The first listener of a kind in a runtime receives what comes from here on. A later one may also
/// receive a signal that came before it was made, but not before the first one: if the runtime has
/// not looked for events since, and no other listener has received the signal. So a loop may drop
/// its listener in each turn and make a new one. It loses what the runtime looks at between the
/// two, and what the old one was woken for; with one listener for all turns, it loses nothing.
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
    let (hub, seen) = Hub::get(kind.0)?;
    Ok(Signal { hub, seen, place: None })
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
        let unit = ready!(coop::poll_proceed(cx));
        let received = ready!(self.poll_next(cx));
        self.leave();
        unit.made_progress();
        Poll::Ready(received)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let (registration, mask) = (self.hub.source().registration(), Interest::READABLE.mask());
        loop {
            let event = registration.poll_on_list(cx, mask, &mut self.place);
            if let Poll::Ready(Err(_)) = event {
                return Poll::Ready(None);
            }
            // Now that the waker is there, a signal that this does not find wakes it.
            let count = self.hub.count();
            if count != self.seen {
                self.seen = count;
                self.hub.settle(count);
                return Poll::Ready(Some(()));
            }
            if event.is_pending() {
                return Poll::Pending;
            }
            // There is an event that the hub has not looked at yet, or is looking at.
            if !self.hub.look() {
                return Poll::Ready(None);
            }
        }
    }

    /// Waits no longer.
    fn leave(&mut self) {
        if let Some(place) = self.place.take() {
            self.hub.source().registration().leave_list(place);
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        self.leave();
    }
}
