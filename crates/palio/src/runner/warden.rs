//! The warden: a process between Palio and each command that it starts, so that nothing of the
//! command survives, whichever of the three dies first.
//!
//! It is Palio's own executable under another name. Orphans of the command come to it, because it
//! is a subreaper; when the command ends, or Palio does (`PR_SET_PDEATHSIG`), it kills whatever is
//! left of them, and ends as the command did. Palio is a subreaper too: what a killed warden leaves
//! comes to Palio, see [`clear`]. Only on Linux; elsewhere commands are killed by their group.

use std::ffi::OsString;
use std::fmt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

#[cfg(target_os = "linux")]
use crate::runner::tree;

/// The first argument of a Palio that is a warden.
const VERB: &str = "__warden";
/// How the warden's last line begins: its account, or that the command did not even start.
const MARK: &str = "palio-warden:";
const NO_START: &str = "palio-warden-cannot:";

/// How long a warden may take to kill what it watches.
const PATIENCE: Duration = Duration::from_secs(10);

/// What asks a warden for its account.
const ACCOUNTS: &str = "accounts";

/// Whether commands get a warden: whether this executable is `palio`, and not a test of the
/// library's.
static IS_ON: OnceLock<bool> = OnceLock::new();

/// What a warden says at its end, as the last line of its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Processes that lived on when the command had ended.
    pub left_behind: u64,
    /// What the command and all of its descendants took that were ever waited for.
    pub user_us: u64,
    pub sys_us: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { left_behind, user_us, sys_us, voluntary_switches, involuntary_switches } = self;
        write!(f, "{MARK} {left_behind} {user_us} {sys_us} {voluntary_switches} ")?;
        write!(f, "{involuntary_switches}")
    }
}

impl FromStr for Account {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words = line.strip_prefix(MARK).ok_or(())?.split_whitespace();
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().map_err(|_| ())?;
        let [left_behind, user_us, sys_us, voluntary_switches, involuntary_switches] = numbers[..]
        else {
            return Err(());
        };
        Ok(Self { left_behind, user_us, sys_us, voluntary_switches, involuntary_switches })
    }
}

/// What a warden says instead if the command cannot be started.
pub fn no_start(line: &str) -> Option<String> {
    line.strip_prefix(NO_START).map(|reason| reason.trim().to_owned())
}

/// What a warden does when it is asked to end before its command has.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How long the command's group has to end by itself after SIGTERM; no time at all kills it.
    pub grace: Duration,
    /// Whether its last line is its [`Account`].
    pub accounts: bool,
}

/// Gives every command a warden from now on. Called by `palio` when it starts, and the first thing
/// it does: if it is started as a warden it becomes one, and returns the status to exit with.
pub fn take_part() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == VERB) {
        return Some(watch(args.collect()));
    }
    #[cfg(target_os = "linux")]
    {
        // Without it, what a killed warden leaves behind is not found.
        let is_subreaper = nix::sys::prctl::set_child_subreaper(true).is_ok();
        let _ = IS_ON.set(is_subreaper);
    }
    None
}

/// Whether commands have a warden.
pub fn is_on() -> bool {
    IS_ON.get().copied().unwrap_or(false)
}

/// `command`, below a warden if there is one. The warden ends when the thread does that starts it.
pub fn command(command: &[String], manner: Manner) -> Command {
    let mut started;
    if is_on() {
        // Not by its path: the file may be another by now.
        started = Command::new("/proc/self/exe");
        started.arg(VERB).arg(std::process::id().to_string());
        started.arg(manner.grace.as_millis().to_string());
        started.arg(if manner.accounts { ACCOUNTS } else { "quiet" }).args(command);
    } else {
        started = Command::new(&command[0]);
        started.args(&command[1..]);
    }
    started
}

/// Kills what [`command`] has started, with all that descends from it, and waits for its end.
pub fn kill(child: &mut Child) -> Option<ExitStatus> {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    if is_on() {
        // An error says that it has ended.
        let _ = signal::kill(id, Signal::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let _ = signal::killpg(id, Signal::SIGKILL);
    child.wait().ok()
}

/// Kills what a killed warden has left to Palio. To be called when nothing runs that Palio has
/// started.
pub fn clear() {
    #[cfg(target_os = "linux")]
    if is_on() {
        use nix::sys::wait::{WaitPidFlag, waitpid};
        let own = std::process::id();
        while tree::kill_descendants(own) > 0 {
            while waitpid(None, Some(WaitPidFlag::WNOHANG))
                .is_ok_and(|status| status.pid().is_some())
            {}
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn watch(_: Vec<OsString>) -> ExitCode {
    eprintln!("palio: there are no wardens on this system");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
fn watch(args: Vec<OsString>) -> ExitCode {
    let accounts = args.get(2).is_some_and(|word| word == ACCOUNTS);
    linux::watch(args).unwrap_or_else(|reason| {
        eprintln!("{} {reason}", if accounts { NO_START } else { "palio:" });
        // As a shell says that a command cannot be run.
        ExitCode::from(127)
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::fs::File;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitCode};
    use std::time::{Duration, Instant};

    use nix::errno::Errno;
    use nix::sys::prctl;
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::signal::{SigSet, Signal, killpg};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getppid};

    use super::{ACCOUNTS, Account};
    use crate::runner::tree;

    /// How long the warden looks away between two looks at a command that was asked to end.
    const LOOK: Duration = Duration::from_millis(2);

    /// How the command ended, or that it has not.
    type Ended = Option<WaitStatus>;

    pub(super) fn watch(args: Vec<OsString>) -> Result<ExitCode, String> {
        let mut args = args.into_iter();
        let mut word = || args.next().ok_or("a warden is started by Palio, with its arguments");
        let (parent, grace, account) = (word()?, word()?, word()?);
        let program = word()?;
        let number = |word: &OsString| word.to_str().and_then(|word| word.parse::<u64>().ok());
        let parent = number(&parent).ok_or("a warden's first argument is Palio's process")?;
        let grace = number(&grace).ok_or("a warden's second argument is a time in ms")?;

        let fail = |what: &'static str| move |errno: Errno| format!("cannot {what}: {errno}");
        let _ = prctl::set_name(c"palio-warden");
        prctl::set_child_subreaper(true).map_err(fail("be a subreaper"))?;
        // Before it is known that Palio still lives: from here on its death is a signal.
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            signals.add(signal);
        }
        signals.thread_block().map_err(fail("block signals"))?;
        prctl::set_pdeathsig(Signal::SIGTERM).map_err(fail("ask for Palio's death"))?;
        if u64::try_from(getppid().as_raw()) != Ok(parent) {
            return Err("Palio has ended already".into());
        }
        // In a group of its own: what it sends to its group does not reach the warden. Its signal
        // mask is empty again, which is the standard library's doing.
        let child = Command::new(&program)
            .args(args)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
        let command = Pid::from_raw(i32::try_from(child.id()).map_err(|error| error.to_string())?);
        // The command alone holds its input and output, so that Palio sees when it closes them.
        if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
            let _ = dup2_stdin(&null);
            let _ = dup2_stdout(&null);
        }
        let ended = wait(command, &signals, Duration::from_millis(grace));
        let left_behind = end_the_rest();
        if account == ACCOUNTS {
            let account = account_of(left_behind as u64);
            // A line of its own, even if the command's last one has no end.
            eprint!("\n{account}\n");
        }
        Ok(end_as(ended))
    }

    /// Waits until the command has ended, or until the warden is asked to end it and has done so.
    fn wait(command: Pid, signals: &SigSet, grace: Duration) -> Ended {
        loop {
            if let Some(status) = reap(command) {
                return Some(status);
            }
            match signals.wait() {
                Ok(Signal::SIGCHLD) | Err(_) => {}
                Ok(_) => break,
            }
        }
        if !grace.is_zero() {
            let _ = killpg(command, Signal::SIGTERM);
            let deadline = Instant::now() + grace;
            while Instant::now() < deadline {
                if let Some(status) = reap(command) {
                    return Some(status);
                }
                std::thread::sleep(LOOK);
            }
        }
        loop {
            tree::kill_descendants(std::process::id());
            if let Some(status) = reap(command) {
                return Some(status);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes the status of every child that has ended; that of the command, if it is among them.
    fn reap(command: Pid) -> Ended {
        let mut ended = None;
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return ended,
                Ok(status) if status.pid() == Some(command) => ended = Some(status),
                Ok(_) | Err(Errno::EINTR) => {}
                // There is no child left.
                Err(_) => return ended,
            }
        }
    }

    /// Kills whatever of the command is alive, until nothing is; how many there were at first.
    fn end_the_rest() -> usize {
        let own = std::process::id();
        let left = tree::descendants(own).into_iter().filter(|&id| !tree::is_zombie(id)).count();
        loop {
            reap(Pid::from_raw(0));
            if tree::kill_descendants(own) == 0 {
                return left;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn account_of(left_behind: u64) -> Account {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
            return Account { left_behind, ..Account::default() };
        };
        let number = |number: i64| u64::try_from(number).unwrap_or(0);
        let us = |time: nix::sys::time::TimeVal| number(time.tv_sec() * 1_000_000 + time.tv_usec());
        Account {
            left_behind,
            user_us: us(usage.user_time()),
            sys_us: us(usage.system_time()),
            voluntary_switches: number(usage.voluntary_context_switches()),
            involuntary_switches: number(usage.involuntary_context_switches()),
        }
    }

    /// Ends as the command did: with its status, or by its signal.
    fn end_as(ended: Ended) -> ExitCode {
        match ended {
            Some(WaitStatus::Exited(_, code)) => ExitCode::from(code as u8),
            Some(WaitStatus::Signaled(_, signal, _)) => {
                // The command has left a core file if one was wanted.
                let _ = prctl::set_dumpable(false);
                let mut only = SigSet::empty();
                only.add(signal);
                let _ = only.thread_unblock();
                let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
                // It comes to this if the signal ends nothing, and the command was ended by it.
                ExitCode::FAILURE
            }
            _ => ExitCode::FAILURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_as_they_are_written() {
        let account = Account {
            left_behind: 3,
            user_us: 1,
            sys_us: 2,
            voluntary_switches: 4,
            involuntary_switches: 5,
        };
        assert_eq!(account.to_string().parse(), Ok(account));
        for line in ["", "palio-warden: 1 2 3 4", "palio-warden: 1 2 3 4 -5", "1 2 3 4 5"] {
            assert_eq!(line.parse::<Account>(), Err(()), "{line}");
        }
    }
}
