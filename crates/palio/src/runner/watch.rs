//! What a warden does: see [`warden`](crate::runner::warden).

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getppid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::runner::cgroup::Group;
use crate::runner::shortage::with_help;
use crate::runner::tree;
use crate::runner::warden::{ACCOUNTS, Account, Grouped};

/// How long the warden looks away between two looks at a command that was asked to end.
const LOOK: Duration = Duration::from_millis(2);
/// How long what is no descendant has to die.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the command ended, or that it has not.
type Ended = Option<WaitStatus>;

/// How a command ended, and what it took.
#[derive(Debug)]
pub struct Watched {
    /// If it was asked for.
    pub account: Option<Account>,
    ended: Ended,
}

/// Starts a command as its warden, and returns when nothing is left of it.
///
/// # Errors
/// It cannot be started, or not be watched.
pub fn watch(args: Vec<OsString>) -> Result<Watched, String> {
    let mut args = args.into_iter();
    let mut word = || args.next().ok_or("a warden is started by Palio, with its arguments");
    let (parent, grace, account) = (word()?, word()?, word()?);
    let group = word()?;
    let program = word()?;
    let number = |word: &OsString| word.to_str().and_then(|word| word.parse::<u64>().ok());
    let parent = number(&parent).ok_or("a warden's first argument is Palio's process")?;
    let grace = number(&grace).ok_or("a warden's second argument is a time in ms")?;

    let fail = |what: &'static str| move |errno: Errno| format!("cannot {what}: {errno}");
    // Another name than Palio's: who kills all that is called so leaves it to do its work.
    let _ = prctl::set_name(c"race-warden");
    prctl::set_child_subreaper(true).map_err(fail("be a subreaper"))?;
    // Before it is known that Palio still lives: from here on its death is a signal. Signals are
    // caught and not blocked, because a command would inherit the mask, and cmake waits for ever
    // for a SIGCHLD that is blocked; what is caught is the default again in a new program.
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| format!("cannot listen to signals: {error}"))?;
    prctl::set_pdeathsig(Signal::SIGTERM).map_err(fail("ask for Palio's death"))?;
    if u64::try_from(getppid().as_raw()) != Ok(parent) {
        return Err("Palio has ended already".into());
    }
    // What dies of a signal leaves no core in a folder of sources, nor in that of the user. A
    // process may always lower its limit; where it is not known, there is nothing to lower.
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CORE) {
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, hard);
    }
    // In a group of its own: what it sends to its group does not reach the warden.
    let mut group = Group::of_argument(group.to_str().unwrap_or_default());
    if let Err(reason) = group.enter() {
        group.leave();
        group.remove();
        return Err(reason);
    }
    let child = Command::new(&program).args(args).process_group(0).spawn();
    group.leave();
    let child = child.map_err(|error| {
        group.remove();
        format!("{} cannot be started: {}", program.display(), with_help(&error))
    })?;
    let command = Pid::from_raw(i32::try_from(child.id()).map_err(|error| error.to_string())?);
    // The command alone holds its input and output, so that Palio sees when it closes them.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
    }
    let ended = wait(command, &group, &mut signals, Duration::from_millis(grace));
    let left_behind = end_the_rest(&group);
    let account = (account == ACCOUNTS).then(|| account_of(left_behind as u64, group.told()));
    group.remove();
    Ok(Watched { account, ended })
}

/// Waits until the command has ended, or until the warden is asked to end it and has done so.
fn wait(command: Pid, group: &Group, signals: &mut Signals, grace: Duration) -> Ended {
    loop {
        if let Some(status) = reap(command) {
            return Some(status);
        }
        if signals.wait().any(|signal| signal != SIGCHLD) {
            break;
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
        group.kill();
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
fn end_the_rest(group: &Group) -> usize {
    let own = std::process::id();
    let mut left = group.processes();
    left.extend(tree::descendants(own));
    left.retain(|&id| !tree::is_zombie(id));
    // What is no descendant may belong to whom it cannot kill.
    let deadline = Instant::now() + PATIENCE;
    loop {
        reap(Pid::from_raw(0));
        let in_group = group.kill();
        if tree::kill_descendants(own) == 0 && (in_group == 0 || Instant::now() >= deadline) {
            return left.len();
        }
        std::thread::sleep(LOOK);
    }
}

fn account_of(left_behind: u64, grouped: Grouped) -> Account {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Account { left_behind, grouped, ..Account::default() };
    };
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let us = |time: nix::sys::time::TimeVal| number(time.tv_sec() * 1_000_000 + time.tv_usec());
    Account {
        left_behind,
        user_us: us(usage.user_time()),
        sys_us: us(usage.system_time()),
        voluntary_switches: number(usage.voluntary_context_switches()),
        involuntary_switches: number(usage.involuntary_context_switches()),
        grouped,
    }
}

impl Watched {
    /// Ends as the command did: with its status, or by its signal.
    pub fn end(self) -> ExitCode {
        match self.ended {
            Some(WaitStatus::Exited(_, code)) => ExitCode::from(code as u8),
            Some(WaitStatus::Signaled(_, signal, _)) => {
                // The command has left a core file if one was wanted.
                let _ = prctl::set_dumpable(false);
                let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
                // It comes to this if the signal ends nothing, and the command was ended by it.
                ExitCode::FAILURE
            }
            _ => ExitCode::FAILURE,
        }
    }
}
