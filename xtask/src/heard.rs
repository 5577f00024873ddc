//! What a command says, for those who count its tests, and what to do with one that says no more.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::has;

/// No build and no test of ours is silent for so long, not even where a slow machine links all
/// tests: whatever is has hung, and would never end.
pub(crate) const SILENCE: Duration = Duration::from_secs(1_800);
/// How long the output of a command that was killed may take to end.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// What a command said, and whether it succeeded.
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) errors: String,
    pub(crate) ok: bool,
    /// The first line about its hanging, if it has hung.
    pub(crate) hung: Option<String>,
}

/// Runs a command and shows what it says: its errors, by which builds report progress, at once.
///
/// One that says nothing for as long as `silence` is killed, with its children. Its errors name
/// them, and where each of their threads was.
pub(crate) fn listen(program: &str, command: &mut Command, silence: Duration) -> Heard {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let errors = format!("error: {program} cannot be started: {error}");
            eprintln!("{errors}");
            return Heard { text: String::new(), errors, ok: false, hung: None };
        }
    };
    let (says, hears) = channel();
    let stderr = child.stderr.take().expect("it was piped");
    let errors = Reader::new(stderr, Some(io::stderr()), says.clone());
    let stdout = child.stdout.take().expect("it was piped");
    let text = Reader::new(stdout, None, says);

    let mut hung = None;
    let mut stacks = String::new();
    if is_silent(&hears, silence) {
        let first = format!("error: {program} has hung: it said nothing for {silence:?}");
        stacks = tell(child.id());
        eprintln!("{first}\n{stacks}");
        hung = Some(first);
        kill_children(child.id());
        // Where its children could not be found, it is killed alone.
        let _ = child.kill();
    }
    let exited = child.wait().is_ok_and(|status| status.success());
    let deadline = hung.is_some().then(|| Instant::now() + AFTERWARDS);
    let (text, is_text_all) = text.end(deadline);
    print!("{text}");
    let (mut errors, is_errors_all) = errors.end(deadline);
    if let Some(first) = &hung {
        let _ = write!(errors, "{first}\n{stacks}");
        if !(is_text_all && is_errors_all) {
            eprintln!("somebody whom it has started is still there, and holds its output open");
        }
    }
    Heard { text, errors, ok: exited && is_text_all && hung.is_none(), hung }
}

/// Whoever reads what a command writes to one of its ends.
struct Reader {
    all: Arc<Mutex<Vec<u8>>>,
    /// Returns whether it has read all.
    thread: JoinHandle<bool>,
}

impl Reader {
    fn new(
        mut from: impl Read + Send + 'static,
        mut shown: Option<io::Stderr>,
        says: Sender<()>,
    ) -> Self {
        let all = Arc::new(Mutex::new(Vec::new()));
        let its_all = all.clone();
        let thread = thread::spawn(move || {
            let mut part = [0; 4096];
            loop {
                match from.read(&mut part) {
                    Ok(0) => return true,
                    Ok(read) => {
                        let mut all = its_all.lock().unwrap_or_else(PoisonError::into_inner);
                        all.extend_from_slice(&part[..read]);
                        drop(all);
                        if let Some(shown) = &mut shown {
                            // Whoever does not want to see it may still want the tests run.
                            let _ = shown.write_all(&part[..read]);
                        }
                        let _ = says.send(());
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
        });
        Self { all, thread }
    }

    /// What was read, up to the end or until then, and whether that is all.
    fn end(self, deadline: Option<Instant>) -> (String, bool) {
        while !self.thread.is_finished() && deadline.is_some_and(|at| Instant::now() < at) {
            thread::sleep(Duration::from_millis(50));
        }
        let is_late = deadline.is_some() && !self.thread.is_finished();
        let is_all = !is_late && self.thread.join().expect("it only reads");
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&all).into_owned(), is_all)
    }
}

/// Returns true when nothing was heard for so long, and false at the end.
fn is_silent(hears: &Receiver<()>, silence: Duration) -> bool {
    loop {
        match hears.recv_timeout(silence) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// What a silent command and its children are doing.
fn tell(command: u32) -> String {
    let mut told = String::new();
    for pid in family(command) {
        let _ = writeln!(told, "process {pid}: {}", command_line(pid));
        told += &threads(pid);
    }
    told
}

/// Kills the children of a command, those that they start meanwhile as well, and leaves the command
/// itself to whoever waits for it.
fn kill_children(command: u32) {
    let signal = |signal: &str, pids: &[u32]| {
        let pids = pids.iter().map(u32::to_string);
        let _ = Command::new("kill").arg(signal).args(pids).stderr(Stdio::null()).status();
    };
    // It would go on with the next test.
    signal("-STOP", &[command]);
    for _ in 0..20 {
        // Read anew each time, and used at once: an id may be somebody else's soon after its end.
        let children = family(command).split_off(1);
        // Whoever has ended, and was not waited for, has no command line any more.
        if children.iter().all(|&child| command_line(child).is_empty()) {
            return;
        }
        signal("-KILL", &children);
        thread::sleep(Duration::from_millis(50));
    }
}

/// A process, its children, and theirs.
fn family(eldest: u32) -> Vec<u32> {
    let all = parents();
    let mut family = vec![eldest];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    family
}

/// All processes, with their parents.
fn parents() -> Vec<(u32, u32)> {
    let listed = numbered(Path::new("/proc")).into_iter().filter_map(|(pid, path)| {
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        // The name, in parentheses, may contain anything. After it: the state, and the parent.
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
        Some((pid, parent.parse().ok()?))
    });
    let listed: Vec<_> = listed.collect();
    if !listed.is_empty() {
        return listed;
    }
    let said = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
    let said = said.map(|said| said.stdout).unwrap_or_default();
    let lines = String::from_utf8_lossy(&said);
    let pair = |line: &str| {
        let (pid, parent) = line.trim().split_once(' ')?;
        Some((pid.parse().ok()?, parent.trim().parse().ok()?))
    };
    lines.lines().filter_map(pair).collect()
}

/// The entries of a folder whose names are numbers.
fn numbered(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .collect()
}

fn command_line(pid: u32) -> String {
    let line = match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(line) => line,
        Err(_) if Path::new("/proc/self").exists() => Vec::new(),
        Err(_) => {
            let said = Command::new("ps").args(["-o", "command=", "-p", &pid.to_string()]).output();
            said.map(|said| said.stdout).unwrap_or_default()
        }
    };
    String::from_utf8_lossy(&line).trim_end_matches(['\0', '\n']).replace('\0', " ")
}

/// Where its threads are: their stacks if a debugger may look, and else what they wait for.
fn threads(pid: u32) -> String {
    if has("gdb", "--version") {
        // It waits for ever for a process that the system does not stop.
        let stacks = Command::new("timeout")
            .args(["--kill-after=5", "60", "gdb", "-nx", "-batch"])
            .args(["-iex", "set debuginfod enabled off", "-p", &pid.to_string()])
            .args(["-ex", "thread apply all backtrace 16"])
            .stderr(Stdio::null())
            .output();
        let stacks = stacks.map(|said| said.stdout).unwrap_or_default();
        let stacks = String::from_utf8_lossy(&stacks);
        if stacks.contains("#0") {
            return stacks.into_owned();
        }
    }
    let mut told = String::new();
    for (tid, path) in numbered(Path::new(&format!("/proc/{pid}/task"))) {
        let line = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        let (name, place) = (line("comm"), line("wchan"));
        let _ = writeln!(told, "  thread {tid} {} in {}", name.trim(), place.trim());
    }
    told
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Long enough for a shell to begin on a machine that is busy.
    const SILENT: Duration = Duration::from_secs(10);

    #[test]
    fn a_command_that_hangs_is_told_and_killed_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; sleep 987654 & sleep 987654"]);
        let heard = listen("sh", &mut command, SILENT);
        assert!(!heard.ok);
        assert_eq!(heard.text, "begun\n");
        assert!(heard.errors.starts_with("error: sh has hung: "), "{}", heard.errors);
        let sleepers: Vec<&str> =
            heard.errors.lines().filter(|line| line.ends_with(": sleep 987654")).collect();
        assert_eq!(sleepers.len(), 2, "{}", heard.errors);
        for sleeper in sleepers {
            let pid = sleeper.split([' ', ':']).nth(1).unwrap();
            // It may not have been waited for yet; then it has no command line any more.
            assert_eq!(command_line(pid.parse().unwrap()), "");
        }
    }

    /// Somebody who was left behind is nobody's child any more.
    #[test]
    fn whoever_holds_the_output_open_holds_nobody_up() {
        let mut command = Command::new("sh");
        command.args(["-c", "(sleep 300 & echo $!; exec true)"]);
        let heard = listen("sh", &mut command, SILENT);
        assert!(!heard.ok);
        assert!(heard.hung.is_some());
        let holder = heard.text.trim();
        // If it had been waited for, it would be gone.
        assert_eq!(command_line(holder.parse().unwrap()), "sleep 300");
        assert!(Command::new("kill").args(["-KILL", holder]).status().unwrap().success());
    }

    #[test]
    fn a_command_that_goes_on_talking_may_take_its_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "for i in 1 2 3 4; do echo $i; sleep 4; done; echo no >&2"]);
        let heard = listen("sh", &mut command, SILENT);
        assert!(heard.ok, "{}", heard.errors);
        assert_eq!((heard.text.as_str(), heard.errors.as_str()), ("1\n2\n3\n4\n", "no\n"));
    }
}
