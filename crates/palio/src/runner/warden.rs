//! The warden: a process between Palio and each command that it starts, so that nothing of the
//! command survives, whichever of the three dies first.
//!
//! It is Palio's own executable (`cmd/warden.rs`). Orphans of the command come to it, because it
//! is a subreaper; when the command ends, or Palio does (`PR_SET_PDEATHSIG`), it kills whatever is
//! left of them, and ends as the command did. Palio is a subreaper too: what a killed warden leaves
//! comes to Palio, see [`clear`]. Where both are killed at once, a command is left with the end of
//! its input, at which a contender that keeps the contract ends by itself, and with its control
//! group, by which the next Palio finds it ([`cgroup`](crate::runner::cgroup)). Only on Linux;
//! elsewhere commands are killed by their group.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::fmt;
#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::str::FromStr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use crate::budget::Throttled;
#[cfg(target_os = "linux")]
use crate::printable::printable;
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
    /// What their control group tells besides: see [`Grouped`].
    pub grouped: Grouped,
}

/// CPU time of all that ever was in a control group, in µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    pub user_us: u64,
    pub sys_us: u64,
}

/// What the control group of a command tells of all that ever was in it, where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouped {
    pub cpu: Option<Cpu>,
    pub memory_peak_kib: Option<u64>,
    /// The kernel has killed some of it at the bound of its memory.
    pub out_of_memory: bool,
    /// `None` without a CPU budget.
    pub throttled: Option<Throttled>,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            left_behind,
            user_us,
            sys_us,
            voluntary_switches,
            involuntary_switches,
            grouped: Grouped { cpu, memory_peak_kib, out_of_memory, throttled },
        } = self;
        write!(f, "{MARK} {left_behind} {user_us} {sys_us} {voluntary_switches} ")?;
        write!(f, "{involuntary_switches}")?;
        let rest = [cpu.map(|cpu| cpu.user_us), cpu.map(|cpu| cpu.sys_us), *memory_peak_kib];
        let throttled = throttled.map(|t| [t.periods, t.throttled, t.throttled_us]);
        let throttled = [0, 1, 2].map(|index| throttled.map(|numbers| numbers[index]));
        let out_of_memory = Some(u64::from(*out_of_memory));
        for number in rest.into_iter().chain([out_of_memory]).chain(throttled) {
            match number {
                Some(number) => write!(f, " {number}")?,
                None => write!(f, " -")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Account {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words = line.strip_prefix(MARK).ok_or(())?.split_whitespace();
        let numbers = words.map(|word| match word {
            "-" => Ok(None),
            number => number.parse().map(Some),
        });
        let numbers: Vec<Option<u64>> = numbers.collect::<Result<_, _>>().map_err(|_| ())?;
        let &[
            Some(left_behind),
            Some(user_us),
            Some(sys_us),
            Some(voluntary_switches),
            Some(involuntary_switches),
            group_user_us,
            group_sys_us,
            memory_peak_kib,
            Some(out_of_memory),
            periods,
            throttled,
            throttled_us,
        ] = &numbers[..]
        else {
            return Err(());
        };
        let cpu = group_user_us.zip(group_sys_us).map(|(user_us, sys_us)| Cpu { user_us, sys_us });
        let throttled = periods.zip(throttled).zip(throttled_us);
        let throttled = throttled.map(|((periods, throttled), throttled_us)| Throttled {
            periods,
            throttled,
            throttled_us,
        });
        let out_of_memory = out_of_memory > 0;
        let grouped = Grouped { cpu, memory_peak_kib, out_of_memory, throttled };
        Ok(Self { left_behind, user_us, sys_us, voluntary_switches, involuntary_switches, grouped })
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

/// Refuses to start anything where `/proc` does not tell of Palio's own processes. Each warden is
/// started by it, and by it each process is found that is to be measured, bounded or ended. That of
/// another PID namespace is worse than none: under Palio's ids it has the processes of others,
/// which would be killed.
///
/// # Errors
/// A sentence that says so, and what helps.
pub fn check() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    check_own(std::fs::read_link("/proc/self").as_deref(), std::process::id())?;
    Ok(())
}

/// Whether the link `/proc/self` leads to the process `own`.
#[cfg(target_os = "linux")]
fn check_own(link: Result<&Path, &io::Error>, own: u32) -> Result<(), String> {
    let how = match link {
        Ok(link) if link.as_os_str() == OsStr::new(&own.to_string()) => return Ok(()),
        Ok(_) => "/proc is that of another PID namespace, and".to_owned(),
        Err(error) => format!("/proc is not mounted (/proc/self: {error}), and"),
    };
    Err(format!(
        "{how} Palio starts, watches and ends contenders by it: `mount -t proc proc /proc` as \
         root, or `unshare --mount-proc` beside `--pid`, then try again"
    ))
}

/// Whether commands have a warden.
pub fn is_on() -> bool {
    IS_ON.get().copied().unwrap_or(false)
}

/// `command` below a warden if there is one, which takes it into the control group of this
/// argument. The warden ends when the thread does that starts it.
pub fn command(command: &[String], manner: Manner, group: &str) -> Command {
    let mut started;
    if is_on() {
        // Not by its path: the file may be another by now.
        started = Command::new("/proc/self/exe");
        started.arg(VERB).arg(std::process::id().to_string());
        started.arg(manner.grace.as_millis().to_string());
        started.arg(if manner.accounts { ACCOUNTS } else { "quiet" });
        started.arg(group).args(command);
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

/// How many commands are under way side by side, and whether the warden of one was killed.
static UNDER_WAY: Mutex<(usize, bool)> = Mutex::new((0, false));

/// A command that may run beside others. What killed wardens have left is killed when the last of
/// them is over, since it cannot be told from what the others have started.
#[derive(Debug)]
pub(super) struct UnderWay(());

impl UnderWay {
    pub(super) fn begin() -> Self {
        UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
        Self(())
    }

    /// The warden of this command was killed.
    pub(super) fn lost_warden(&self) {
        UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 -= 1;
        if under_way.0 == 0 && std::mem::take(&mut under_way.1) {
            clear();
        }
    }
}

/// Kills what a killed warden has left to Palio. To be called when nothing runs that Palio has
/// started. Gives up on what cannot be killed, such as a process that waits for a broken disk, and
/// notes it ([`take_unended`]).
pub fn clear() {
    #[cfg(target_os = "linux")]
    if is_on() {
        use nix::sys::wait::{WaitPidFlag, waitpid};
        let own = std::process::id();
        let ended = ends_within(PATIENCE, || {
            let left = tree::kill_descendants(own);
            while waitpid(None, Some(WaitPidFlag::WNOHANG))
                .is_ok_and(|status| status.pid().is_some())
            {}
            left == 0
        });
        if !ended {
            note_unended(tree::descendants(own));
        }
    }
}

/// Calls `end` until it says that nothing is left, or for so long; whether nothing is.
#[cfg(target_os = "linux")]
fn ends_within(patience: Duration, mut end: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !end() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// The processes that could not be ended: those that nobody was told of, and all of them.
#[cfg(target_os = "linux")]
static UNENDED: Mutex<(BTreeSet<String>, BTreeSet<String>)> =
    Mutex::new((BTreeSet::new(), BTreeSet::new()));

/// Notes that these live although they were killed. One that has ended, and only nobody has asked
/// for its status, takes nothing from anybody.
#[cfg(target_os = "linux")]
pub(super) fn note_unended(ids: impl IntoIterator<Item = u32>) {
    let mut unended = UNENDED.lock().unwrap_or_else(PoisonError::into_inner);
    for id in ids.into_iter().filter(|&id| !tree::is_zombie(id)) {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        let name = format!("{id} ({})", printable(name.trim_end()));
        if unended.1.insert(name.clone()) {
            unended.0.insert(name);
        }
    }
}

/// A warning of the processes that could not be ended and that nobody was warned of yet, if there
/// are any.
pub fn take_unended() -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let new = std::mem::take(&mut UNENDED.lock().unwrap_or_else(PoisonError::into_inner).0);
        let names: Vec<&str> = new.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| {
            format!(
                "What was left behind could not be ended: {}. It lives on beside whatever is raced from then on, and may \
                 take processors, memory and locks from it: do not believe those rows. What waits for a broken device \
                 ends with that wait or with the machine, and what belongs to another user by their hand; then race \
                 again.",
                names.join(", ")
            )
        })
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_proc_that_is_not_palios_is_refused() {
        assert_eq!(check(), Ok(()));
        assert_eq!(check_own(Ok(Path::new("12")), 12), Ok(()));
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let cases = [(Err(&missing), "is not mounted"), (Ok(Path::new("1")), "another PID")];
        for (link, part) in cases {
            let refused = check_own(link, 12).unwrap_err();
            assert!(refused.contains(part) && refused.contains("mount -t proc"), "{refused}");
        }
    }

    #[test]
    fn accounts_are_read_as_they_are_written() {
        let account = Account {
            left_behind: 3,
            user_us: 1,
            sys_us: 2,
            voluntary_switches: 4,
            involuntary_switches: 5,
            grouped: Grouped::default(),
        };
        assert_eq!(account.to_string().parse(), Ok(account));
        let cpu = Some(Cpu { user_us: 6, sys_us: 7 });
        let throttled = Some(Throttled { periods: 9, throttled: 5, throttled_us: 11 });
        let grouped = Grouped { cpu, memory_peak_kib: Some(8), out_of_memory: true, throttled };
        let account = Account { grouped, ..account };
        assert_eq!(account.to_string().parse(), Ok(account));
        let lines = ["", "palio-warden: 1 2 3 4", "palio-warden: 1 2 3 4 -5 - - - 0 - - -"];
        for line in lines.into_iter().chain(["palio-warden: - 2 3 4 5 - - - 0 - - -", "1 2 3 4 5"])
        {
            assert_eq!(line.parse::<Account>(), Err(()), "{line}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_ended_is_given_up_and_told_once_by_its_name() {
        let mut looks = 0;
        let mut look = |last: u32| {
            looks += 1;
            looks >= last
        };
        assert!(ends_within(Duration::from_secs(60), || look(3)));
        assert!(!ends_within(Duration::from_millis(5), || look(u32::MAX)));
        assert_eq!(take_unended(), None);
        let own = std::process::id();
        // No process has the second id.
        note_unended([own, u32::MAX]);
        let comm = std::fs::read_to_string("/proc/self/comm").unwrap();
        let said = take_unended().unwrap();
        let name = format!("could not be ended: {own} ({}). It lives on", comm.trim_end());
        assert!(said.contains(&name) && said.contains("do not believe those rows"), "{said}");
        note_unended([own]);
        assert_eq!(take_unended(), None, "a second time it is no news");
    }
}
