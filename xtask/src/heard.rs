//! What a command says, for those who count its tests, and what to do with one that says no more.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::has;

/// No build and no test is silent for so long: whatever is has hung, and would never end.
const SILENCE: Duration = Duration::from_secs(900);

/// What a command said, and whether it succeeded.
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) errors: String,
    pub(crate) ok: bool,
}

/// Runs a command and shows what it says: its errors, by which builds report progress, at once.
///
/// One that says nothing for fifteen minutes is killed, with its children. Its errors name them,
/// and where each of their threads was.
pub(crate) fn listen(program: &str, command: &mut Command) -> Heard {
    listen_until_silent(program, command, SILENCE)
}

fn listen_until_silent(program: &str, command: &mut Command, silence: Duration) -> Heard {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let errors = format!("error: {program} cannot be started: {error}");
            eprintln!("{errors}");
            return Heard { text: String::new(), errors, ok: false };
        }
    };
    let (says, hears) = channel();
    let stderr = child.stderr.take().expect("it was piped");
    let its_says = says.clone();
    let errors = thread::spawn(move || read(stderr, Some(io::stderr()), &its_says));
    let stdout = child.stdout.take().expect("it was piped");
    let text = thread::spawn(move || read(stdout, None, &says));

    let hung = is_silent(&hears, silence).then(|| {
        let told = tell_and_kill(child.id(), program, silence);
        eprintln!("{told}");
        // Where its children could not be found, it is killed alone.
        let _ = child.kill();
        told
    });
    let exited = child.wait().is_ok_and(|status| status.success());
    let (text, is_read) = text.join().expect("it only reads");
    print!("{text}");
    let (mut errors, _) = errors.join().expect("it only reads");
    let ok = exited && is_read && hung.is_none();
    errors.extend(hung);
    Heard { text, errors, ok }
}

/// Reads to the end, and says so whenever there is something. Returns whether that was all.
fn read(mut from: impl Read, mut shown: Option<io::Stderr>, says: &Sender<()>) -> (String, bool) {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    let is_read = loop {
        match from.read(&mut part) {
            Ok(0) => break true,
            Ok(read) => {
                all.extend_from_slice(&part[..read]);
                if let Some(shown) = &mut shown {
                    // Whoever does not want to see it any more may still want the tests run.
                    let _ = shown.write_all(&part[..read]);
                }
                let _ = says.send(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break false,
        }
    };
    (String::from_utf8_lossy(&all).into_owned(), is_read)
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

/// What a silent command and its children are doing, before all of them are killed.
fn tell_and_kill(command: u32, program: &str, silence: Duration) -> String {
    let mut told = format!("error: {program} has hung: it said nothing for {silence:?}\n");
    let family = family(command);
    for &pid in &family {
        let _ = writeln!(told, "process {pid}: {}", command_line(pid));
        told += &threads(pid);
    }
    for pid in family {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    }
    told
}

/// A process, its children, and theirs, as far as the system lists processes in `/proc`.
fn family(eldest: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = numbered(Path::new("/proc"))
        .into_iter()
        .filter_map(|(pid, path)| {
            let stat = fs::read_to_string(path.join("stat")).ok()?;
            // The name, in parentheses, may contain anything. After it: the state, and the parent.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            Some((pid, parent.parse().ok()?))
        })
        .collect();
    let mut family = vec![eldest];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    family
}

/// The entries of a folder whose names are numbers.
fn numbered(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .collect()
}

fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ")
}

/// Where its threads are: their stacks if there is a debugger, and else what they wait for.
fn threads(pid: u32) -> String {
    if has("gdb", "--version") {
        let quiet = ["-nx", "-batch", "-iex", "set debuginfod enabled off"];
        let stacks = Command::new("gdb")
            .args(quiet)
            .args(["-p", &pid.to_string(), "-ex", "thread apply all backtrace 16"])
            .stderr(Stdio::null())
            .output();
        if let Ok(stacks) = stacks {
            return String::from_utf8_lossy(&stacks.stdout).into_owned();
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

    #[test]
    fn a_command_that_hangs_is_told_and_killed_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; sleep 987654 & sleep 987654"]);
        let heard = listen_until_silent("sh", &mut command, Duration::from_secs(3));
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

    #[test]
    fn a_command_that_goes_on_talking_may_take_its_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 1; done; echo no >&2"]);
        let heard = listen_until_silent("sh", &mut command, Duration::from_secs(5));
        assert!(heard.ok, "{}", heard.errors);
        assert_eq!((heard.text.as_str(), heard.errors.as_str()), ("1\n2\n3\n4\n5\n6\n", "no\n"));
    }
}
