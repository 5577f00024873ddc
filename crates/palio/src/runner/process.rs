//! One process of a contender: started below a warden, spoken to by lines, watched, and always
//! reaped, with all that descends from it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::budget::{CpuBudget, Throttled};
use crate::record::Resources;
use crate::runner::cgroup::Group;
use crate::runner::cpu_time::CpuTime;
use crate::runner::excerpt::Excerpt;
use crate::runner::shortage::with_help;
use crate::runner::tree;
use crate::runner::warden::{self, Account, Grouped, Manner, UnderWay};

/// How often memory, time and interruption are looked at while a contender is silent. Each look
/// costs some 20 µs.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);
/// A wait of `WATCH_INTERVAL` that took so long was no wait: Palio was stopped in it.
const STOOD_STILL_MIN: Duration = Duration::from_secs(1);
/// How long a contender may take to end after `quit` or the end of its input.
pub const QUIT_GRACE: Duration = Duration::from_secs(5);
/// A line longer than this is no line of the contract.
const LINE_BYTES_MAX: usize = 16 * 1024;
/// How often a pipe is read once its process is gone. More than any pipe holds; a process that
/// escaped its group could go on filling it for ever.
const LAST_READS_MAX: u32 = 256;
/// How often each pipe of one that lives is read at a time, and how many lines it may have written
/// that nobody has asked for: it owes one.
const LIVE_READS_MAX: u32 = 8;
const UNREAD_LINES_MAX: usize = 64;

/// What a control group must tell of memory, in KiB, beyond what was seen of processes and a
/// quarter of it to be believed instead: it has what the kernel keeps for processes.
const GROUP_MEMORY_KIB_MIN: u64 = 16 * 1024;

/// What a process may take, with all that descend from it; beyond it, they are killed.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub deadline: Instant,
    pub timeout: Duration,
    pub memory_kib: u64,
}

/// Why no further line comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It died, or closed its output.
    Ended,
    TimedOut(Duration),
    /// Its resident set, in KiB, went beyond the bound.
    TooMuchMemory(u64),
    /// A line without end, or lines without number.
    Flood,
    /// Output that is not UTF-8.
    NotText,
    /// The user wants to stop.
    Interrupted,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ending {
    pub status: Option<ExitStatus>,
    /// It did not end by itself, though it was given the time to.
    pub forced: bool,
    /// Output that was not asked for.
    pub stray: Option<String>,
    /// Why it was not waited for any longer, other than the time that it took.
    pub broken: Option<Broken>,
    pub stderr: String,
    /// Why it could not even be started.
    pub no_start: Option<String>,
    /// How many processes it left behind, which were killed.
    pub left_behind: u64,
    /// The kernel has killed some of it, which had this many KiB together.
    pub out_of_memory_kib: Option<u64>,
    /// The peak of its memory in KiB, if that was at no time seen of its processes.
    pub unseen_memory_kib: Option<u64>,
    /// How often it had used up its CPU budget; `None` without one, or if that has vanished.
    pub throttled: Option<Throttled>,
    /// Why its CPU budget did not hold all of it, at some look or before its end.
    pub unheld: Option<String>,
    pub resources: Resources,
}

impl Ending {
    /// `exited with status 3`, `was killed by signal 11 (SIGSEGV)`.
    pub fn describe(&self) -> String {
        match self.status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("exited with status {code}"),
            Some((None, Some(signal))) => {
                let name = Signal::try_from(signal).map_or("unknown", Signal::as_str);
                format!("was killed by signal {signal} ({name})")
            }
            _ => "could not be waited for".to_owned(),
        }
    }
}

/// The variables of the environment that a contender gets to see; `docs/protocol.md` names them.
///
/// A forgotten `GOMAXPROCS`, `OMP_WAIT_POLICY` or `MALLOC_ARENA_MAX` would tune one contender and
/// not the others, and the size of the environment alone moves the stack and with it times
/// (Mytkowicz et al. 2009). So only what a program needs to start is passed on. What it needs to be
/// built (`CMAKE_PREFIX_PATH`, `CXX`) reaches probes and builds, which get the whole environment,
/// and no race.
///
/// Whatever else starts a contender (to ask who it is, to try its settings or its harness) gives
/// it the same: with an `LD_PRELOAD` or a `PYTHONPATH` more, it could say a version that it does
/// not race with.
const KEPT: [&str; 7] =
    ["PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "JAVA_HOME", "DOTNET_ROOT"];

/// What a contender gets to see of Palio's environment.
pub(super) fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept))
}

/// A running contender.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Group,
    /// Until it is over.
    under_way: Option<UnderWay>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    bounds: Bounds,
    /// When Palio was last seen to run.
    awake: Instant,
    started: Instant,
    /// Children reaped so far, before this one: what `getrusage` says beyond it is this process's.
    usage_before: Option<Usage>,
    pending: Vec<u8>,
    lines: VecDeque<String>,
    stderr_kept: Excerpt,
    /// It is dead; what it left in its pipes may still be read.
    exited: bool,
    budget: Option<CpuBudget>,
    unheld: Option<String>,
    max_rss_kib: Option<u64>,
    watched: Instant,
    reaped: bool,
}

impl Process {
    /// Starts `command` with all three standard streams as pipes, in a process group of its own,
    /// and under a CPU budget if there is one.
    ///
    /// # Errors
    /// It cannot be started; or the budget cannot be kept, and then this says so first.
    pub fn start(
        command: &[String],
        timeout: Duration,
        memory_mib: u64,
        budget: Option<CpuBudget>,
    ) -> Result<Self, String> {
        let usage_before = getrusage(UsageWho::RUSAGE_CHILDREN).ok();
        let started = Instant::now();
        let manner = Manner { grace: Duration::ZERO, accounts: true };
        let memory_kib = memory_mib.saturating_mul(1024);
        // Palio's own looks come first where memory grows slowly, since they tell how much it was.
        let group_kib = memory_kib + memory_kib / 16 + GROUP_MEMORY_KIB_MIN;
        let mut group = Group::make_with(Some(group_kib), budget)?;
        let under_way = UnderWay::begin();
        let child = warden::command(command, manner, &group.argument())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .env_clear()
            .envs(environment())
            .spawn();
        let mut child = child.map_err(|error| {
            group.remove();
            format!("{} cannot be started: {}", command[0], with_help(&error))
        })?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        stdin.iter().for_each(write_without_waiting);
        let bounds = Bounds { deadline: started + timeout, timeout, memory_kib };
        Ok(Self {
            child,
            group,
            under_way: Some(under_way),
            stdin,
            stdout,
            stderr,
            bounds,
            awake: started,
            started,
            usage_before,
            pending: Vec::new(),
            lines: VecDeque::new(),
            stderr_kept: Excerpt::default(),
            exited: false,
            budget,
            unheld: None,
            max_rss_kib: None,
            watched: started,
            reaped: false,
        })
    }

    /// The id of the process that Palio has started, for whoever must find it again after a crash
    /// of Palio.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Until when it may go on.
    pub fn deadline(&self) -> Instant {
        self.bounds.deadline
    }

    /// How long it may take at most.
    pub fn timeout(&self) -> Duration {
        self.bounds.timeout
    }

    /// The contender's processes: its first one, and all that descend from it.
    fn all(&self) -> Vec<u32> {
        let below = tree::descendants(self.id());
        let mut all = if warden::is_on() { below } else { [vec![self.id()], below].concat() };
        // Those that have escaped from their warden.
        all.extend(self.group.processes().into_iter().filter(|&id| id != self.id()));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// CPU time that all processes of the contender have taken so far; `None` where the platform
    /// cannot tell. That of one that ended counts when its parent has waited for it, to the next
    /// clock tick, or if there is a control group.
    pub fn cpu_time(&self) -> Option<CpuTime> {
        #[cfg(any(target_os = "linux", target_os = "freebsd"))]
        {
            let tick_ns = 1_000_000_000 / ticks_a_second()?;
            let mut all_ns = None;
            for id in self.all() {
                let Ok(pid) = i32::try_from(id).map(Pid::from_raw) else { continue };
                // One that has just ended has no clock.
                let Ok(clock) = nix::time::clock_getcpuclockid(pid) else { continue };
                let Ok(time) = clock.now() else { continue };
                let ns = u64::try_from(time.tv_sec() * 1_000_000_000 + time.tv_nsec()).ok()?;
                let waited_for_ns = tree::waited_for_ticks(id) * tick_ns;
                all_ns = Some(all_ns.unwrap_or(0) + ns + waited_for_ns);
            }
            if warden::is_on() {
                // Of orphans that have ended: it is the warden that waits for them.
                let orphans_ns = tree::waited_for_ticks(self.id()) * tick_ns;
                all_ns = all_ns.map(|ns| ns + orphans_ns);
            }
            let group_ns = self.group.cpu().map(|cpu| (cpu.user_us + cpu.sys_us) * 1_000);
            all_ns.map(|processes_ns| CpuTime { processes_ns, group_ns })
        }
        #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
        None
    }

    /// Writes one line. A contender that is gone, or whose input is full because it reads nothing,
    /// is noticed at the next [`read_line`](Self::read_line).
    pub fn write_line(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin
            && stdin.write_all(format!("{line}\n").as_bytes()).is_err()
        {
            self.stdin = None;
        }
    }

    /// Closes its input.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// The next line of its standard output.
    ///
    /// # Errors
    /// See [`Broken`]; the process is still to be ended with [`end`](Self::end).
    pub fn read_line(&mut self, interrupted: &AtomicBool) -> Result<String, Broken> {
        loop {
            // Also before the first wait: Palio may have been stopped when the last line came, or
            // when it was about to ask for this one.
            let stood_still = self.stood_still();
            self.bounds.deadline += stood_still;
            if let Some(line) = self.lines.pop_front() {
                return Ok(line);
            }
            if self.stdout.is_none() {
                return Err(Broken::Ended);
            }
            self.pump(interrupted, self.bounds.deadline, WATCH_INTERVAL)?;
        }
    }

    /// Looks at it and reads what it writes, ten times a second, until `is_over` is so. For a
    /// thread beside one that asks it for something and reads no line meanwhile.
    ///
    /// # Errors
    /// See [`Broken`]. That it has ended is none: whoever asks it notices, and its lines tell.
    pub fn attend(&mut self, interrupted: &AtomicBool, is_over: &AtomicBool) -> Result<(), Broken> {
        while !is_over.load(Ordering::Relaxed) {
            match self.pump(interrupted, self.bounds.deadline, Duration::ZERO) {
                Err(Broken::Ended) => break,
                pumped => pumped?,
            }
            // A full pipe would stop it.
            self.read_what_is_there(LIVE_READS_MAX)?;
            if self.lines.len() > UNREAD_LINES_MAX {
                return Err(Broken::Flood);
            }
            std::thread::park_timeout(WATCH_INTERVAL);
        }
        self.awake = Instant::now();
        Ok(())
    }

    /// Looks at it for the last time, with every thread of it. To be called when it has done its
    /// work and still lives: the kernel's own `ru_maxrss` starts from Palio's size, since a process
    /// inherits it when it is started.
    pub fn look_closely(&mut self) {
        self.look(true);
    }

    /// Notes the peak of its memory, and whether its CPU budget holds it.
    fn look(&mut self, all_threads: bool) {
        let all = self.all();
        if let Some(budget) = self.budget.filter(|_| self.unheld.is_none()) {
            self.unheld = self.group.left_by(budget, &all, all_threads);
        }
        let together = |name| all.iter().filter_map(|&id| tree::size_kib(id, name)).sum::<u64>();
        let alone = all.iter().filter_map(|&id| tree::size_kib(id, "VmHWM")).max();
        // What several have at a time is known only at the times of the looks.
        let several = (all.len() > 1).then(|| together("VmRSS"));
        self.max_rss_kib = self.max_rss_kib.max(alone).max(several);
    }

    /// How much memory it had when the kernel killed some of it, if it did.
    fn out_of_memory_kib(&self, grouped: &Grouped) -> Option<u64> {
        let kib = grouped.memory_peak_kib.unwrap_or(self.bounds.memory_kib);
        grouped.out_of_memory.then_some(kib)
    }

    /// For how long Palio itself stood still (Ctrl-Z, SIGSTOP) since the last look: that is no time
    /// of the contender's, which nobody read or answered meanwhile.
    fn stood_still(&mut self) -> Duration {
        let now = Instant::now();
        let passed = now.duration_since(self.awake);
        self.awake = now;
        if passed >= STOOD_STILL_MIN { passed } else { Duration::ZERO }
    }

    /// Waits for output of any kind, at most so long; reads what there is. Looks at its memory if
    /// that is due.
    fn pump(
        &mut self,
        interrupted: &AtomicBool,
        deadline: Instant,
        most: Duration,
    ) -> Result<(), Broken> {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Broken::Interrupted);
        }
        let now = Instant::now();
        if now >= deadline {
            return Err(Broken::TimedOut(self.bounds.timeout));
        }
        if now.duration_since(self.watched) >= WATCH_INTERVAL {
            self.watched = now;
            self.look(false);
            if let Some(kib) = self.max_rss_kib.filter(|&kib| kib > self.bounds.memory_kib) {
                return Err(Broken::TooMuchMemory(kib));
            }
            if let Some(kib) = self.out_of_memory_kib(&self.group.told()) {
                return Err(Broken::TooMuchMemory(kib));
            }
        }
        let patience = if self.exited || most.is_zero() {
            Duration::ZERO
        } else {
            most.min(deadline - now).max(Duration::from_millis(1))
        };
        let (out_ready, err_ready) = {
            let stdout =
                self.stdout.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
            let stderr =
                self.stderr.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
            let has_stdout = stdout.is_some();
            let mut both: Vec<PollFd<'_>> = stdout.into_iter().chain(stderr).collect();
            let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
            // A signal ends the wait early; the flag it set is looked at in the next round.
            match poll(&mut both, patience) {
                Err(_) => return Ok(()),
                // It is silent. Another process may hold its pipes open, so their end would never
                // come.
                Ok(0) if self.exited => return Err(Broken::Ended),
                Ok(0) => {
                    self.exited = self.child.try_wait().is_ok_and(|status| status.is_some());
                    return Ok(());
                }
                Ok(_) => {}
            }
            let ready = |fd: Option<&PollFd<'_>>| fd.and_then(PollFd::any).unwrap_or(false);
            if has_stdout {
                (ready(both.first()), ready(both.get(1)))
            } else {
                (false, ready(both.first()))
            }
        };
        if err_ready {
            self.read_stderr();
        }
        if out_ready {
            self.read_stdout()?;
        }
        Ok(())
    }

    fn read_stderr(&mut self) {
        let Some(pipe) = &mut self.stderr else { return };
        let mut buffer = [0; 4096];
        match pipe.read(&mut buffer) {
            Ok(0) => self.stderr = None,
            Ok(count) => self.stderr_kept.push(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.stderr = None,
        }
    }

    fn read_stdout(&mut self) -> Result<(), Broken> {
        let Some(pipe) = &mut self.stdout else { return Ok(()) };
        let mut buffer = [0; 16 * 1024];
        let count = match pipe.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(_) => 0,
        };
        if count == 0 {
            self.stdout = None;
            // A last line without its end was cut off: it does not count.
            return Ok(());
        }
        self.pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).take(end).collect();
            self.lines.push_back(String::from_utf8(line).map_err(|_| Broken::NotText)?);
        }
        if self.pending.len() > LINE_BYTES_MAX { Err(Broken::Flood) } else { Ok(()) }
    }

    /// Ends it: closes its input and waits for its end, or kills it if that takes too long or if
    /// `at_once` says so. Whatever it left behind is killed too.
    pub fn end(mut self, at_once: bool, interrupted: &AtomicBool) -> Ending {
        self.close_input();
        let (mut status, mut stray, mut broken) = (None, None, None);
        if !at_once {
            self.awake = Instant::now();
            let mut deadline = self.awake + QUIT_GRACE;
            // Its output is drained meanwhile, or a full pipe could keep it from ending.
            while status.is_none() && broken.is_none() && Instant::now() < deadline {
                status = self.child.try_wait().ok().flatten();
                if status.is_none() {
                    broken = self.pump_briefly(interrupted, deadline).err();
                    stray = stray.or_else(|| self.lines.pop_front());
                    self.lines.clear();
                    deadline += self.stood_still();
                }
            }
        }
        let forced = status.is_none() && !at_once;
        if !warden::is_on() {
            let group = Pid::from_raw(i32::try_from(self.id()).unwrap_or(i32::MAX));
            // An error says that nothing is left to kill.
            let _ = killpg(group, Signal::SIGKILL);
        }
        let status = status.or_else(|| warden::kill(&mut self.child));
        self.reaped = true;
        broken = broken.or_else(|| self.read_what_is_there(LAST_READS_MAX).err());
        let account = self.stderr_kept.take_last_line(|line| line.parse::<Account>().ok());
        // A warden says the one or the other, and its command may say the other before.
        let no_start = if account.is_none() {
            self.stderr_kept.take_last_line(warden::no_start)
        } else {
            None
        };
        if account.is_none() && no_start.is_none() {
            // Its warden was killed, or there is none.
            self.under_way.iter().for_each(UnderWay::lost_warden);
        }
        self.under_way = None;
        let grouped = account.map_or_else(|| self.group.told(), |account| account.grouped);
        self.group.remove();
        let unseen_memory_kib = grouped.memory_peak_kib.filter(|&peak_kib| {
            self.max_rss_kib.is_some_and(|kib| peak_kib > kib + kib / 4 + GROUP_MEMORY_KIB_MIN)
        });
        self.max_rss_kib = self.max_rss_kib.max(unseen_memory_kib);
        let unfinished = || {
            (!self.pending.is_empty()).then(|| String::from_utf8_lossy(&self.pending).into_owned())
        };
        Ending {
            status,
            forced,
            stray: stray.or_else(|| self.lines.pop_front()).or_else(unfinished),
            broken: broken.filter(|reason| !matches!(reason, Broken::TimedOut(_) | Broken::Ended)),
            stderr: self.stderr_kept.text(),
            no_start,
            left_behind: account.map_or(0, |account| account.left_behind),
            out_of_memory_kib: self.out_of_memory_kib(&grouped),
            unseen_memory_kib,
            throttled: grouped.throttled,
            unheld: self.unheld.take(),
            resources: grouped.correct(self.resources(account)),
        }
    }

    /// As [`pump`](Self::pump), but a contender that has closed its pipes is not spun upon.
    fn pump_briefly(&mut self, interrupted: &AtomicBool, deadline: Instant) -> Result<(), Broken> {
        if self.stdout.is_some() || self.stderr.is_some() {
            return self.pump(interrupted, deadline, WATCH_INTERVAL);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Broken::Interrupted);
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    /// Reads what is in its pipes, as far as there is an end to it.
    fn read_what_is_there(&mut self, reads_max: u32) -> Result<(), Broken> {
        fn is_readable(pipe: Option<&impl AsFd>) -> bool {
            let Some(pipe) = pipe else { return false };
            let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
        }
        let mut reads = 0..reads_max;
        while is_readable(self.stderr.as_ref()) && reads.next().is_some() {
            self.read_stderr();
        }
        let mut reads = 0..reads_max;
        while is_readable(self.stdout.as_ref()) && reads.next().is_some() {
            self.read_stdout()?;
        }
        Ok(())
    }

    fn resources(&self, account: Option<Account>) -> Resources {
        let wall_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(account) = account {
            return Resources {
                wall_us,
                user_us: Some(account.user_us),
                sys_us: Some(account.sys_us),
                max_rss_kib: self.max_rss_kib,
                voluntary_switches: Some(account.voluntary_switches),
                involuntary_switches: Some(account.involuntary_switches),
            };
        }
        // Palio reaps one child at a time, so the growth of its children's usage is this child's,
        // threads and waited-for grandchildren included: what `wait4` would say, without the unsafe
        // call.
        let usage = self.usage_before.as_ref().zip(getrusage(UsageWho::RUSAGE_CHILDREN).ok());
        let grown = |of: fn(&Usage) -> i64| {
            usage.as_ref().and_then(|(before, after)| u64::try_from(of(after) - of(before)).ok())
        };
        fn us(time: nix::sys::time::TimeVal) -> i64 {
            time.tv_sec() * 1_000_000 + time.tv_usec()
        }
        Resources {
            wall_us,
            user_us: grown(|usage| us(usage.user_time())),
            sys_us: grown(|usage| us(usage.system_time())),
            max_rss_kib: self.max_rss_kib,
            voluntary_switches: grown(Usage::voluntary_context_switches),
            involuntary_switches: grown(Usage::involuntary_context_switches),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            warden::kill(&mut self.child);
        }
    }
}

/// A pipe holds more than all commands of a conversation. But a contender may fill its own input
/// (`/proc/self/fd/0` can be opened for writing), and Palio would wait for it without a time-out.
fn write_without_waiting(stdin: &ChildStdin) {
    if let Ok(flags) = fcntl(stdin, FcntlArg::F_GETFL) {
        let flags = OFlag::from_bits_retain(flags) | OFlag::O_NONBLOCK;
        // Without it, nothing changes for who keeps the contract.
        let _ = fcntl(stdin, FcntlArg::F_SETFL(flags));
    }
}

/// Clock ticks in a second, which `/proc` counts in.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn ticks_a_second() -> Option<u64> {
    let ticks = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    u64::try_from(ticks).ok().filter(|&ticks| ticks > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if Palio had been stopped between two lines, for longer than the contender may take.
    #[test]
    fn the_time_between_two_lines_in_which_palio_stood_still_is_not_the_contenders() {
        let script = "echo one; read word; echo $word";
        let command = ["sh", "-c", script].map(String::from);
        let timeout = STOOD_STILL_MIN + Duration::from_secs(4);
        let mut process = Process::start(&command, timeout, 64, None).unwrap();
        let never = AtomicBool::new(false);
        assert_eq!(process.read_line(&never).unwrap(), "one");
        let deadline = process.deadline();
        std::thread::sleep(STOOD_STILL_MIN);
        process.write_line("two");
        assert_eq!(process.read_line(&never).unwrap(), "two");
        assert!(process.deadline() >= deadline + STOOD_STILL_MIN);
        // But not what Palio has spent with it.
        process.awake -= STOOD_STILL_MIN;
        process.attend(&never, &AtomicBool::new(true)).unwrap();
        assert_eq!(process.stood_still(), Duration::ZERO);
    }

    #[test]
    fn the_contract_names_the_variables_that_are_kept() {
        let page = include_str!("../../../../docs/protocol.md");
        let (_, rest) = page.split_once("Of the environment there is only").unwrap();
        let (list, _) = rest.split_once(';').unwrap();
        let named: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(named, super::KEPT);
    }
}
