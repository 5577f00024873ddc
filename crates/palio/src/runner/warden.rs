//! The warden: a process between Palio and each command that it starts, so that nothing of the
//! command survives, whichever of the three dies first.
//!
//! It is Palio's own executable (`cmd/warden.rs`). Orphans of the command come to it, because it
//! is a subreaper; when the command ends, or Palio does (`PR_SET_PDEATHSIG`), it kills whatever is
//! left of them, and ends as the command did. Palio is a subreaper too: what a killed warden leaves
//! comes to Palio, see [`clear`]. Where both are killed at once, a command is left with the end of
//! its input, at which a contender that keeps the contract ends by itself. Only on Linux; elsewhere
//! commands are killed by their group.

use std::fmt;
use std::process::{Child, Command, ExitStatus};
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

#[cfg(target_os = "linux")]
use crate::runner::tree;

/// The first argument of a Palio that is a warden.
pub const VERB: &str = "__warden";
/// How the warden's last line begins if it is its account.
const MARK: &str = "palio-warden:";
/// How it begins if the command did not even start.
pub const NO_START: &str = "palio-warden-cannot:";

/// How long a warden may take to kill what it watches.
const PATIENCE: Duration = Duration::from_secs(10);

/// What asks a warden for its account.
pub const ACCOUNTS: &str = "accounts";

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

/// Gives every command a warden from now on, where that is possible. To be called by `palio` alone,
/// whose executable becomes a warden when [`VERB`] is its first argument.
pub fn enable() {
    #[cfg(target_os = "linux")]
    {
        // Without it, what a killed warden leaves behind is not found.
        let is_subreaper = nix::sys::prctl::set_child_subreaper(true).is_ok();
        let _ = IS_ON.set(is_subreaper);
    }
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
    // Once it was waited for, its id may be another process's.
    if let Ok(Some(status)) = child.try_wait() {
        return Some(status);
    }
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
/// started. Gives up on what cannot be killed, such as a process that waits for a broken disk.
pub fn clear() {
    #[cfg(target_os = "linux")]
    if is_on() {
        use nix::sys::wait::{WaitPidFlag, waitpid};
        let own = std::process::id();
        let deadline = Instant::now() + PATIENCE;
        while tree::kill_descendants(own) > 0 && Instant::now() < deadline {
            while waitpid(None, Some(WaitPidFlag::WNOHANG))
                .is_ok_and(|status| status.pid().is_some())
            {}
            std::thread::sleep(Duration::from_millis(1));
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
