use super::running::Running;
use super::{ChildStderr, ChildStdin, ChildStdout};
use crate::io::{AsyncRead, AsyncReadExt};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Output};
use std::task::{Context, Poll};

/// A process that [`Command::spawn`](super::Command::spawn) has started.
///
/// It runs on when this is dropped, unless [`kill_on_drop`](super::Command::kill_on_drop) was asked
/// for, and is reaped when it has ended; see [the module](super#dropped-children).
#[derive(Debug)]
pub struct Child {
    pub(super) running: Running,
    /// Where the child's standard input comes from, if that is a pipe. To wait while lending it,
    /// take it out.
    pub stdin: Option<ChildStdin>,
    /// Where the child's standard output goes to, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// Where the child's stream for errors goes to, if that is a pipe.
    pub stderr: Option<ChildStderr>,
}

impl Child {
    /// The number of the process. None once a call has returned its status, or has said that
    /// somebody else has reaped the child: then the number may belong to another process.
    pub fn id(&self) -> Option<u32> {
        self.running.id()
    }

    /// Sends the child a `SIGKILL`, without waiting for its end. If it is known to have ended, this
    /// does nothing. With Linux 5.3, this never reaches another process that has its number since
    /// somebody else has reaped the child.
    ///
    /// The child is still to be [waited](Self::wait) for, or dropped.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start_kill(&mut self) -> io::Result<()> {
        self.running.kill()
    }

    /// Sends the child a `SIGKILL`, and waits for its end.
    ///
    /// # Errors
    /// Those of [`start_kill`](Self::start_kill) and [`wait`](Self::wait).
    ///
    /// # Cancellation safety
    /// As [`wait`](Self::wait). The signal is sent by the first poll.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Closes the child's standard input, if it is here, and waits for the child's end. Later calls
    /// return the same status.
    ///
    /// The output is not read. A child that writes more than fits into the pipe waits for a reader,
    /// and this waits for the child: read at the same time, or call
    /// [`wait_with_output`](Self::wait_with_output).
    ///
    /// If the runtime that has started the child has shut down, the current one takes over.
    ///
    /// # Errors
    /// If somebody else has reaped the child; if the runtime that has started it has shut down and
    /// there is no other; and those of the system.
    ///
    /// # Panics
    /// If the runtime that has started the child has shut down, and the current one has no I/O.
    ///
    /// # Cancellation safety
    /// No status is lost if the future is dropped. The input stays closed if it was polled.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        // The child may be waiting for the end of its input.
        drop(self.stdin.take());
        poll_fn(|cx| self.running.poll_wait(cx)).await
    }

    /// The child's status, if it has ended. Its standard input stays open.
    ///
    /// # Errors
    /// If somebody else has reaped the child.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.running.try_wait()
    }

    /// Closes the child's standard input, reads its output and its errors to their ends, and waits
    /// for its end, all at the same time. What is not a pipe, or was taken out, is empty.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait), and of reads.
    ///
    /// # Cancellation safety
    /// The drop of the future is one of the child: see
    /// [`kill_on_drop`](super::Command::kill_on_drop). What was read is lost.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (mut stdout_pipe, mut stderr_pipe) = (self.stdout.take(), self.stderr.take());
        let mut waiting = pin!(self.wait());
        let mut reading = pin!(read_all(&mut stdout_pipe));
        let mut hearing = pin!(read_all(&mut stderr_pipe));
        let (mut status, mut stdout, mut stderr) = (None, None, None);
        poll_fn(|cx| {
            // Each is polled each time: a reader that is behind would stop the child.
            let all = poll_once_more(waiting.as_mut(), &mut status, cx)?
                & poll_once_more(reading.as_mut(), &mut stdout, cx)?
                & poll_once_more(hearing.as_mut(), &mut stderr, cx)?;
            if all { Poll::Ready(Ok::<_, io::Error>(())) } else { Poll::Pending }
        })
        .await?;
        match (status, stdout, stderr) {
            (Some(status), Some(stdout), Some(stderr)) => Ok(Output { status, stdout, stderr }),
            _ => unreachable!("all have ended"),
        }
    }
}

/// Polls a future that has not ended, and says whether it has now.
fn poll_once_more<T>(
    future: Pin<&mut impl Future<Output = io::Result<T>>>,
    output: &mut Option<T>,
    cx: &mut Context<'_>,
) -> io::Result<bool> {
    if output.is_none()
        && let Poll::Ready(result) = future.poll(cx)
    {
        *output = Some(result?);
    }
    Ok(output.is_some())
}

async fn read_all(pipe: &mut Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
