//! A child whose status nobody has asked for yet, and what tells of its end.

use crate::io::Interest;
use crate::io::unix::AsyncFd;
use crate::runtime::shutdown_error;
use crate::scheduler::Handle;
use crate::signal::unix::{Signal, SignalKind, signal};
use crate::task::coop::{self, Budget};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};

/// A child that was not reaped. It is not reaped on drop either.
#[derive(Debug)]
pub(super) struct Exit {
    child: Child,
    events: Events,
}

#[derive(Debug)]
enum Events {
    Pidfd(AsyncFd<OwnedFd>),
    Signals(Signal),
    /// Somebody has reaped the child before there was anything to listen to.
    Over,
}

/// What the events say.
enum Heard {
    /// Some child may have ended, and more will be said.
    Something,
    /// Nothing more will be said: see `README.md`.
    TheEnd,
}

impl Exit {
    /// Listens in the current runtime.
    ///
    /// # Errors
    /// Those of the system; and if the runtime has shut down.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub(super) fn new(child: Child) -> Result<Self, (Child, io::Error)> {
        match Events::new(&child) {
            Ok(events) => Ok(Self { child, events }),
            Err(error) => Err((child, error)),
        }
    }

    /// As `new`, where there are no pidfds.
    #[cfg(test)]
    pub(super) fn by_signals(child: Child) -> io::Result<Self> {
        Ok(Self { child, events: Events::signals()? })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a `SIGKILL`. If somebody else has reaped the child, which only the descriptor can
    /// tell, this does nothing: its number may be another process's.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        match &self.events {
            Events::Over => Ok(()),
            #[cfg(target_os = "linux")]
            Events::Pidfd(fd) => {
                use rustix::process::{Signal, pidfd_send_signal};
                match pidfd_send_signal(fd.get_ref(), Signal::KILL) {
                    Ok(()) | Err(Errno::SRCH) => Ok(()),
                    // Maybe a filter that does not know the call.
                    Err(_) => self.child.kill(),
                }
            }
            _ => self.child.kill(),
        }
    }

    /// The status, if the child has ended.
    ///
    /// # Errors
    /// If somebody else has reaped it, for which [`was_reaped`] is true.
    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for the status. None if the events say no more and the child is not to be reaped yet.
    /// It spends no budget.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<ExitStatus>>> {
        loop {
            let heard = coop::with_budget(Budget::UNLIMITED, || self.events.poll(cx));
            // Now that the waker is with the events, an end that this does not find wakes it.
            if let Some(status) = self.try_wait()? {
                return Poll::Ready(Ok(Some(status)));
            }
            match heard {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Heard::Something) => {}
                Poll::Ready(Heard::TheEnd) => return Poll::Ready(Ok(None)),
            }
        }
    }

    /// Listens for signals in the current runtime, after what was listened to has ended.
    ///
    /// # Errors
    /// Those of the system; and if there is no runtime, or it has shut down.
    ///
    /// # Panics
    /// If the runtime has no I/O.
    pub(super) fn listen_here(&mut self) -> io::Result<()> {
        if Handle::try_current().is_err() {
            return Err(shutdown_error());
        }
        self.events = Events::signals()?;
        Ok(())
    }

    pub(super) fn into_child(self) -> Child {
        self.child
    }
}

impl Events {
    #[track_caller]
    fn new(child: &Child) -> io::Result<Self> {
        match pidfd(child) {
            Ok(fd) => Ok(Self::Pidfd(AsyncFd::with_interest(fd, Interest::READABLE)?)),
            // Not by signals: where they are ignored, which is what reaps children, they are to
            // stay ignored.
            Err(Errno::SRCH) => Ok(Self::Over),
            Err(_) => Self::signals(),
        }
    }

    #[track_caller]
    fn signals() -> io::Result<Self> {
        signal(SignalKind::child()).map(Self::Signals)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Heard> {
        match self {
            // It fails only if the runtime has shut down.
            Self::Pidfd(fd) => fd.poll_read_ready(cx).map(|_| Heard::TheEnd),
            Self::Signals(signal) => signal.poll_recv(cx).map(|signal| match signal {
                Some(()) => Heard::Something,
                None => Heard::TheEnd,
            }),
            Self::Over => Poll::Ready(Heard::TheEnd),
        }
    }
}

/// Whether an error says that somebody else has reaped the child.
pub(super) fn was_reaped(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::CHILD.raw_os_error())
}

/// The descriptor of a child's process.
///
/// # Errors
/// `SRCH` if somebody has reaped the child. Any other if the system has none to give: an old
/// kernel, a filter of system calls that does not know it, or no descriptor left.
#[cfg(target_os = "linux")]
fn pidfd(child: &Child) -> Result<OwnedFd, Errno> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    // Its number is nobody else's, unless somebody else reaps children. (`NONBLOCK` would be about
    // `waitid` alone, and came later.)
    pidfd_open(Pid::from_child(child), PidfdFlags::empty())
}

#[cfg(not(target_os = "linux"))]
fn pidfd(_child: &Child) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::orphans;
    use crate::runtime::Builder;
    use rustix::process::{Pid, test_kill_process};
    use std::future::poll_fn;
    use std::process::{Command, Stdio};

    /// The other way than that of this system.
    #[test]
    fn signals_tell_of_children() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut children = Vec::new();
            for code in 0..20 {
                let mut command = Command::new("sh");
                let child = command.arg("-c").arg(format!("read x; exit {code}"));
                let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
                let stdin = child.stdin.take();
                children.push((code, stdin, Exit::by_signals(child).unwrap()));
            }
            for (_, stdin, exit) in &mut children {
                let first = poll_fn(|cx| Poll::Ready(exit.poll(cx).is_pending())).await;
                assert!(first, "it waits for its input");
                drop(stdin.take());
            }
            for (code, _, exit) in &mut children {
                let status = poll_fn(|cx| exit.poll(cx)).await.unwrap().unwrap();
                assert_eq!(status.code(), Some(*code));
            }
        });
    }

    /// A child that somebody else has reaped.
    fn reaped() -> Child {
        let child = Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).unwrap();
        child
    }

    /// With a handler, the signal would not be ignored any more.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_that_was_reaped_at_once_needs_no_handler() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut exit = Exit::new(reaped()).map_err(|(_, error)| error).unwrap();
            assert!(matches!(exit.events, Events::Over));
            exit.kill().unwrap();
            assert!(was_reaped(&poll_fn(|cx| exit.poll(cx)).await.unwrap_err()));
        });
    }

    #[test]
    fn signals_tell_of_orphans() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let child = Command::new("cat").stdin(Stdio::piped()).spawn();
            let mut child = child.unwrap();
            let stdin = child.stdin.take();
            let exit = Exit::by_signals(child).unwrap();
            let pid = Pid::from_raw(exit.id() as i32).unwrap();
            orphans::adopt(exit);
            assert!(test_kill_process(pid).is_ok(), "it waits for its input");
            drop(stdin);
            // A zombie can be sent signals, and one that was reaped cannot.
            while test_kill_process(pid).is_ok() {
                crate::task::yield_now().await;
            }
        });
    }
}
