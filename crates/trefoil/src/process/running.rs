//! A child with its owner: it runs, or has ended with a status that is known.

use super::exit::Exit;
use super::orphans;
use crate::task::coop;
use std::io;
use std::mem;
use std::process::{self, ExitStatus};
use std::task::{Context, Poll, ready};

/// A child that, on drop, is killed if that was asked for, and is reaped in any case.
#[derive(Debug)]
pub(super) struct Running {
    state: State,
    kill_on_drop: bool,
}

#[derive(Debug)]
enum State {
    Runs(Exit),
    Ended(ExitStatus),
}

impl Running {
    /// Listens for the end of a child in the current runtime.
    ///
    /// # Errors
    /// Those of the system; and if the runtime has shut down. The child is reaped nevertheless.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub(super) fn new(child: process::Child, kill_on_drop: bool) -> io::Result<Self> {
        match Exit::new(child) {
            Ok(exit) => Ok(Self { state: State::Runs(exit), kill_on_drop }),
            Err((mut child, error)) => {
                if kill_on_drop {
                    // There is nobody to tell of an error.
                    let _ = child.kill();
                }
                orphans::leave(child);
                Err(error)
            }
        }
    }

    /// The number of the process. None once it is known to have ended.
    pub(super) fn id(&self) -> Option<u32> {
        match &self.state {
            State::Runs(exit) => Some(exit.id()),
            State::Ended(_) => None,
        }
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        if let State::Runs(exit) = &mut self.state {
            exit.kill()?;
            self.kill_on_drop = false;
        }
        Ok(())
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = match &mut self.state {
            State::Runs(exit) => exit.try_wait()?,
            State::Ended(status) => Some(*status),
        };
        if let Some(status) = status {
            self.state = State::Ended(status);
        }
        Ok(status)
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let unit = ready!(coop::poll_proceed(cx));
        let result = loop {
            match &mut self.state {
                State::Ended(status) => break Ok(*status),
                State::Runs(exit) => match ready!(exit.poll(cx)) {
                    Ok(Some(status)) => self.state = State::Ended(status),
                    Ok(None) => match exit.listen_here() {
                        Ok(()) => {}
                        Err(error) => break Err(error),
                    },
                    Err(error) => break Err(error),
                },
            }
        };
        unit.made_progress();
        Poll::Ready(result)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nobody sees what is put there.
        let state = mem::replace(&mut self.state, State::Ended(ExitStatus::default()));
        if let State::Runs(mut exit) = state {
            if self.kill_on_drop {
                // There is nobody to tell of an error.
                let _ = exit.kill();
            }
            orphans::adopt(exit);
        }
    }
}
