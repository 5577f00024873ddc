//! A child with its owner: it runs, or has ended with a status that is known.

use super::exit::{Exit, was_reaped};
use super::orphans;
use crate::task::coop;
use rustix::io::Errno;
use std::io;
use std::mem;
use std::process::{self, ExitStatus};
use std::task::{Context, Poll, ready};

/// A child that, on drop, is killed if that was asked for, and is reaped in any case.
#[derive(Debug)]
pub(super) struct Running {
    state: State,
    kill_on_drop: bool,
    /// The process whose child it is. A fork of that has this as well, and neither kills nor reaps
    /// the child.
    parent: u32,
}

#[derive(Debug)]
enum State {
    Runs(Exit),
    Ended(ExitStatus),
    /// It has ended, and somebody else has its status.
    Lost,
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
            Ok(exit) => Ok(Self { state: State::Runs(exit), kill_on_drop, parent: process::id() }),
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
            State::Ended(_) | State::Lost => None,
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
        match &mut self.state {
            State::Runs(exit) => {
                let result = exit.try_wait();
                self.learn(&result);
                result
            }
            State::Ended(status) => Ok(Some(*status)),
            State::Lost => Err(Errno::CHILD.into()),
        }
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let unit = ready!(coop::poll_proceed(cx));
        let result = loop {
            let heard = match &mut self.state {
                State::Runs(exit) => ready!(exit.poll(cx)),
                State::Ended(status) => break Ok(*status),
                State::Lost => break Err(Errno::CHILD.into()),
            };
            self.learn(&heard);
            match (heard, &mut self.state) {
                (Ok(None), State::Runs(exit)) => {
                    if let Err(error) = exit.listen_here() {
                        break Err(error);
                    }
                }
                (Ok(_), _) => {}
                (Err(error), _) => break Err(error),
            }
        };
        unit.made_progress();
        Poll::Ready(result)
    }

    /// Once it has ended, its number may be another process's, and is not used any more.
    fn learn(&mut self, result: &io::Result<Option<ExitStatus>>) {
        match result {
            Ok(Some(status)) => self.state = State::Ended(*status),
            Err(error) if was_reaped(error) => self.state = State::Lost,
            _ => {}
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nobody sees what is put there.
        let state = mem::replace(&mut self.state, State::Ended(ExitStatus::default()));
        if let State::Runs(mut exit) = state
            && self.parent == process::id()
        {
            if self.kill_on_drop {
                // There is nobody to tell of an error.
                let _ = exit.kill();
            }
            orphans::adopt(exit);
        }
    }
}
