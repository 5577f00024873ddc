use super::running::Running;
use super::{Child, ChildStderr, ChildStdin, ChildStdout, orphans};
use crate::scheduler::Handle;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ExitStatus, Output, Stdio};

/// How to start a process: a program with its arguments, environment and standard streams.
///
/// The standard library's [`Command`](process::Command) is inside, and [`as_std_mut`] gives access
/// to what is not repeated here.
///
/// ```
/// use trefoil::process::Command;
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let output = Command::new("echo").arg("hello").output().await?;
/// assert_eq!(output.stdout, b"hello\n");
/// # Ok(())
/// # }
/// ```
///
/// [`as_std_mut`]: Self::as_std_mut
#[derive(Debug)]
pub struct Command {
    std: process::Command,
    kill_on_drop: bool,
}

impl Command {
    /// A command that runs a program without arguments, with this process's environment, directory
    /// and standard streams ([`output`](Self::output) captures the last two of those).
    ///
    /// A name without a slash is looked for in `PATH`.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Self {
        process::Command::new(program).into()
    }

    /// The standard library's command.
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// The standard library's command, for settings that are not repeated here.
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.std
    }

    /// The standard library's command. It knows nothing of [`kill_on_drop`](Self::kill_on_drop).
    pub fn into_std(self) -> process::Command {
        self.std
    }

    /// Adds an argument.
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Self {
        self.std.arg(arg);
        self
    }

    /// Adds several arguments.
    pub fn args<I, S>(&mut self, args: I) -> &mut Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(args);
        self
    }

    /// Sets the name by which the program knows itself, which is that of the program by default.
    pub fn arg0<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Self {
        self.std.arg0(arg);
        self
    }

    /// Sets a variable of the environment.
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Self
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets several variables of the environment.
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Removes a variable of the environment, whether it was set here or is inherited.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Self {
        self.std.env_remove(key);
        self
    }

    /// Removes all variables of the environment, those that are inherited included.
    pub fn env_clear(&mut self) -> &mut Self {
        self.std.env_clear();
        self
    }

    /// Sets the directory in which the program starts.
    ///
    /// Whether the path of the program is relative to this directory depends on the system, so it
    /// should be absolute.
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Self {
        self.std.current_dir(dir);
        self
    }

    /// Sets the standard input. It is inherited by default.
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.std.stdin(cfg);
        self
    }

    /// Sets the standard output. It is inherited by default, and captured by
    /// [`output`](Self::output).
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.std.stdout(cfg);
        self
    }

    /// Sets the stream for errors. It is inherited by default, and captured by
    /// [`output`](Self::output).
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.std.stderr(cfg);
        self
    }

    /// Whether the drop of a [`Child`], before it is known to have ended, kills it. By default, it
    /// does not.
    ///
    /// The futures of [`status`](Self::status), [`output`](Self::output) and
    /// [`wait_with_output`](Child::wait_with_output) own their child, so their drop is one of it.
    /// The processes that the child has started are not killed.
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Self {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Whether the drop of a child kills it: see [`kill_on_drop`](Self::kill_on_drop).
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Sets the user that the child runs as. To start it fails if this process may not do that.
    pub fn uid(&mut self, id: u32) -> &mut Self {
        self.std.uid(id);
        self
    }

    /// Sets the group that the child runs as. To start it fails if this process may not do that.
    pub fn gid(&mut self, id: u32) -> &mut Self {
        self.std.gid(id);
        self
    }

    /// Puts the child into a group of processes. Zero makes a new group, with the child's number.
    ///
    /// Signals can be sent to all of a group, and Ctrl-C is not for a group of its own.
    pub fn process_group(&mut self, pgroup: i32) -> &mut Self {
        self.std.process_group(pgroup);
        self
    }

    /// Adds a closure that the child runs between `fork` and `exec`. Closures run in the order in
    /// which they were added. If one fails, [`spawn`](Self::spawn) fails with its error.
    ///
    /// # Safety
    /// In the child, no thread is left but the one that runs the closure, so a lock that another
    /// thread held is held for ever. The closure must do only what is safe after a fork of a
    /// process with threads: see [`CommandExt::pre_exec`].
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Self
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller promises what the standard library asks for.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Starts the program.
    ///
    /// The call blocks until the program has been executed, or has failed to be. A command can be
    /// started any number of times.
    ///
    /// # Errors
    /// Those of the system, such as `NotFound` if there is no such program and `WouldBlock` if
    /// there are too many processes. If what comes after the start fails, for want of descriptors
    /// or since the runtime has shut down, the child is dropped: see
    /// [`kill_on_drop`](Self::kill_on_drop).
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O. Then nothing is started.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.spawn_with(process::Command::spawn)
    }

    /// Starts the program by a closure, for systems with more than one way to start a process.
    /// [`spawn`](Self::spawn) is this with [`process::Command::spawn`].
    ///
    /// # Errors
    /// Those of the closure, and of [`spawn`](Self::spawn) for what comes after the start.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O. Then the closure is not called.
    #[track_caller]
    pub fn spawn_with(
        &mut self,
        with: impl FnOnce(&mut process::Command) -> io::Result<process::Child>,
    ) -> io::Result<Child> {
        // For its panics.
        Handle::current().reactor();
        orphans::take_over();
        let mut child = with(&mut self.std)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on, the child is reaped whatever happens.
        let running = Running::new(child, self.kill_on_drop)?;
        Ok(Child {
            running,
            stdin: stdin.map(ChildStdin::from_std).transpose()?,
            stdout: stdout.map(ChildStdout::from_std).transpose()?,
            stderr: stderr.map(ChildStderr::from_std).transpose()?,
        })
    }

    /// Starts the program, and waits until it has ended. Streams that are pipes are closed at once.
    ///
    /// The call starts the program, even if the future is never polled.
    ///
    /// # Errors
    /// The future returns those of [`spawn`](Self::spawn) and [`wait`](Child::wait).
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    ///
    /// # Cancellation safety
    /// The drop of the future is one of the child: see [`kill_on_drop`](Self::kill_on_drop).
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn().map(|mut child| {
            // A child that waits for these streams would wait for ever.
            (child.stdin, child.stdout, child.stderr) = (None, None, None);
            child
        });
        async { child?.wait().await }
    }

    /// Starts the program, captures its output and its errors, and waits until it has ended.
    ///
    /// The two streams are made pipes, for later calls as well. The call starts the program, even
    /// if the future is never polled.
    ///
    /// # Errors
    /// The future returns those of [`spawn`](Self::spawn) and
    /// [`wait_with_output`](Child::wait_with_output).
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    ///
    /// # Cancellation safety
    /// The drop of the future is one of the child: see [`kill_on_drop`](Self::kill_on_drop). What
    /// was captured is lost.
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped());
        self.std.stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<process::Command> for Command {
    fn from(std: process::Command) -> Self {
        Self { std, kill_on_drop: false }
    }
}
