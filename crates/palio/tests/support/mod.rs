//! A project in a temporary folder, with contenders that misbehave on demand, and the real `palio`
//! raced on it.
#![allow(dead_code, reason = "every test file uses its own part of this")]

pub(crate) mod forging;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Nothing here takes nearly as long; a test that waits longer has found a hang.
const PATIENCE: Duration = Duration::from_secs(60);

const ECHO: &str = r#"
id = "echo"
title = "Echo"
model = "async"
scope = "steady"
unit = "echo"
source = "the tests"
fidelity = "own"
definition = "Answers 42."
unsalted = "the answer is the one thing that the tests need to know"

[[case]]
published = { set = { n = 10 }, threads = [1], answer = "42", ops = 10, work = 10 }
native = { like = "published" }
quick = { like = "published" }
"#;

const SUITES: &str = r#"
[[suite]]
id = "quick"
title = "All of it"
preset = "quick"
workloads = ["echo", "tally"]
"#;

/// A folder with `workloads/`, `contenders/`, a database and whatever else a test puts there.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

/// The contender of `examples/fake-contender`, well-behaved until it is told otherwise.
pub(crate) struct Fake {
    id: String,
    faults: Vec<String>,
    from: u32,
    extra: String,
}

impl Fake {
    pub(crate) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), faults: Vec::new(), from: 1, extra: String::new() }
    }

    /// `NAME` or `NAME:VALUE`; what there is stands in the example.
    pub(crate) fn fault(mut self, fault: &str) -> Self {
        self.faults.push(fault.to_owned());
        self
    }

    /// Behaves until its start number `start`, where the first is the pilot.
    pub(crate) fn from(mut self, start: u32) -> Self {
        self.from = start;
        self
    }

    /// Lines for the end of its `contender.toml`, such as a `[build]` section.
    pub(crate) fn toml(mut self, lines: &str) -> Self {
        self.extra.push_str(lines);
        self
    }
}

/// Where cargo puts examples: beside the binary.
fn fake_executable() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_palio")).with_file_name("examples/fake-contender");
    assert!(
        path.is_file(),
        "{} is not built: `cargo build -p palio --example fake-contender` (a plain `cargo test` does it too)",
        path.display()
    );
    path
}

impl Project {
    pub(crate) fn new() -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        project.write("workloads/echo.toml", ECHO);
        project.write("workloads/tally.toml", &ECHO.replace("echo", "tally"));
        let salted = ECHO.replace("id = \"echo\"", "id = \"raise\"");
        let salted = salted.replace("unsalted = \"", "salt = \"each\" # \"");
        project.write("workloads/raise.toml", &salted);
        project.write("workloads/suites.toml", SUITES);
        fs::create_dir(project.path("contenders")).unwrap();
        project
    }

    /// A project with the contender `good` and another one.
    pub(crate) fn good_and(fake: Fake) -> Self {
        Self::new().with(Fake::new("good")).with(fake)
    }

    pub(crate) fn with(self, fake: Fake) -> Self {
        let Fake { id, faults, from, extra } = fake;
        let state = self.path("state").join(&id);
        fs::create_dir_all(&state).unwrap();
        let mut command = vec![
            fake_executable().to_str().unwrap().to_owned(),
            "--id".to_owned(),
            id.clone(),
            "--state".to_owned(),
            state.to_str().unwrap().to_owned(),
            "--from".to_owned(),
            from.to_string(),
        ];
        command.extend(faults.into_iter().flat_map(|fault| ["--fault".to_owned(), fault]));
        self.write(
            &format!("contenders/rust/{id}/contender.toml"),
            &format!(
                "id = \"{id}\"\nname = \"Fake {id}\"\nlanguage = \"Rust\"\nkind = \"async\"\n\
                 homepage = \"-\"\nlicence = \"-\"\nworkloads = [\"echo\", \"tally\", \"raise\", \"fib\"]\n\
                 [run]\ncommand = {command:?}\n{extra}"
            ),
        );
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path("palio.db")
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Any command of `palio`.
    pub(crate) fn palio<S: AsRef<OsStr>>(&self, args: &[S]) -> Palio {
        let args = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        Palio { args, ..self.bare() }
    }

    /// `palio run` of two short blocks of `echo`, with a report as JSON.
    pub(crate) fn race(&self) -> Palio {
        let palio = self.palio(&["run", "--json"]);
        [
            ("--workload", "echo"),
            ("--blocks", "2"),
            ("--budget", "5"),
            ("--warm-up", "0"),
            ("--seed", "1"),
        ]
        .into_iter()
        .fold(palio, |palio, (key, value)| palio.set(key, value))
    }

    /// The report of a run as JSON.
    pub(crate) fn report(&self, run: &str) -> Value {
        self.palio(&["report", run, "--format", "json"]).run().exits(0).json()
    }

    /// Every run, as `palio list` tells.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let json = self.palio(&["list", "runs", "--json"]).run().exits(0).json();
        json.as_array().unwrap().clone()
    }

    /// The contenders as they were started, one after the other.
    pub(crate) fn starts(&self) -> Vec<String> {
        self.read("state/order").lines().map(str::to_owned).collect()
    }

    /// A command that comes to the [`meeting`](Self::meeting) with `id` and waits there.
    pub(crate) fn lingering(&self, id: &str) -> [String; 4] {
        let state = self.path("state").join(id);
        let [fake, state] =
            [fake_executable(), state].map(|path| path.to_str().unwrap().to_owned());
        [fake, "--state".to_owned(), state, "--linger".to_owned()]
    }

    /// What a bundle of the latest run holds.
    pub(crate) fn stored(&self) -> Value {
        let bundle = self.palio(&["export", "latest", "-"]).run().exits(0).json();
        bundle["run"].clone()
    }

    /// Carries the latest run elsewhere, whole and thinned: whatever became of it, it keeps the
    /// rules by which a run from elsewhere is believed, and has nothing to be told.
    #[track_caller]
    pub(crate) fn assert_travels(&self) {
        let elsewhere = tempfile::tempdir().unwrap();
        for (name, thin) in [("whole", &[][..]), ("thinned", &["--thin", "5"])] {
            let export = ["export", "latest", "-"];
            let bundle = self.palio(&[&export[..], thin].concat()).run().exits(0).stdout;
            let [file, db] =
                ["json", "db"].map(|end| elsewhere.path().join(name).with_extension(end));
            fs::write(&file, &bundle).unwrap();
            self.palio(&["import"]).arg(&file).set("--db", &db).run().exits(0);
            let again = self.palio(&export).set("--db", &db).run().exits(0).stdout;
            assert_eq!(again, bundle);
        }
    }

    /// Gets ready to meet the contender `id`, whose fault `meet` stops it until the [`Guest`] is
    /// dropped.
    pub(crate) fn meeting(&self, id: &str) -> Meeting {
        let path = self.path("state").join(id).join("meet");
        Meeting { listener: UnixListener::bind(&path).unwrap(), path }
    }

    fn bare(&self) -> Palio {
        let mut environment: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), self.path("home").into()),
            ("PALIO_ROOT".into(), self.path("").into()),
            ("PALIO_TARGET".into(), self.path("target").into()),
            ("PALIO_DB".into(), self.database().into()),
            // Or the tests, which run beside each other, would warn of each other.
            ("XDG_RUNTIME_DIR".into(), self.path("runtime").into()),
        ];
        // Coverage tools find their output by it.
        environment
            .extend(std::env::var_os("LLVM_PROFILE_FILE").map(|v| ("LLVM_PROFILE_FILE".into(), v)));
        Palio {
            program: env!("CARGO_BIN_EXE_palio").into(),
            args: Vec::new(),
            settings: Vec::new(),
            environment,
            input: Vec::new(),
            folder: self.path(""),
            stdout: Stdio::piped(),
            stderr: Stdio::piped(),
        }
    }
}

/// A command line that is being put together.
pub(crate) struct Palio {
    program: OsString,
    args: Vec<OsString>,
    settings: Vec<(OsString, OsString)>,
    environment: Vec<(OsString, OsString)>,
    input: Vec<u8>,
    folder: PathBuf,
    stdout: Stdio,
    stderr: Stdio,
}

/// A pipe that nobody reads any more, as `head` leaves it.
fn closed_pipe() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

impl Palio {
    pub(crate) fn with_closed_stdout(self) -> Self {
        Self { stdout: closed_pipe(), ..self }
    }

    pub(crate) fn with_closed_stderr(self) -> Self {
        Self { stderr: closed_pipe(), ..self }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// An option with a value; the last of the same name counts.
    pub(crate) fn set(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.settings.retain(|(known, _)| known != key);
        self.settings.push((key.into(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn unset(mut self, key: &str) -> Self {
        self.settings.retain(|(known, _)| known != key);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.retain(|(known, _)| known != key);
        self.environment.push((key.into(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn without_env(mut self, key: &str) -> Self {
        self.environment.retain(|(known, _)| known != key);
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Wraps the whole in a line of `sh`, where `"$@"` is this command.
    pub(crate) fn through_shell(mut self, line: &str) -> Self {
        let mut args: Vec<OsString> = vec!["-c".into(), line.into(), "sh".into(), self.program];
        args.append(&mut self.args);
        args.extend(self.settings.drain(..).flat_map(|(key, value)| [key, value]));
        Self { program: "sh".into(), args, ..self }
    }

    pub(crate) fn start(self) -> Running {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .args(self.settings.iter().flat_map(|(key, value)| [key, value]))
            .env_clear()
            .envs(self.environment)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(self.stdout)
            .stderr(self.stderr);
        let mut child = command.spawn().unwrap();
        // Small enough for the pipe, or the test is about something else.
        let _ = child.stdin.take().unwrap().write_all(&self.input);
        Running { child }
    }

    pub(crate) fn run(self) -> Finished {
        self.start().finish()
    }
}

/// A `palio` that is running.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
    }

    /// Waits for its end.
    pub(crate) fn finish(self) -> Finished {
        let id = self.id();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(self.child.wait_with_output()));
        let Ok(output) = receiver.recv_timeout(PATIENCE) else {
            let _ = kill(Pid::from_raw(i32::try_from(id).unwrap()), Signal::SIGKILL);
            panic!("palio hangs");
        };
        Finished::from(output.unwrap())
    }
}

/// What a `palio` left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Finished {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{:?}\n{}", self.status, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn dies_of(self, signal: Signal) -> Self {
        assert_eq!(self.status.signal(), Some(signal as i32), "{:?}\n{}", self.status, self.stderr);
        self
    }

    /// Exit status 2 and a reason on standard error that has all of `parts`.
    #[track_caller]
    pub(crate) fn fails_with(self, parts: &[&str]) -> Self {
        let finished = self.exits(2);
        finished.complains(parts)
    }

    /// Standard error has all of `parts`.
    #[track_caller]
    pub(crate) fn complains(self, parts: &[&str]) -> Self {
        assert_has(&self.stderr, parts);
        self
    }

    /// Standard output has all of `parts`.
    #[track_caller]
    pub(crate) fn prints(self, parts: &[&str]) -> Self {
        assert_has(&self.stdout, parts);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}", self.stdout))
    }
}

/// Where a contender is awaited.
pub(crate) struct Meeting {
    listener: UnixListener,
    path: PathBuf,
}

impl Meeting {
    /// Waits for the contender; it then waits until the guest is dropped.
    #[track_caller]
    pub(crate) fn guest(self) -> Guest {
        let mut fds = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        let patience = PollTimeout::try_from(PATIENCE).unwrap();
        assert!(poll(&mut fds, patience).unwrap() > 0, "nobody came");
        let (stream, _) = self.listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let (what, id) = line.trim().split_once(' ').unwrap();
        Guest { id: id.parse().unwrap(), what: what.to_owned(), stream: reader.into_inner() }
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // Whoever comes later goes on at once.
        let _ = fs::remove_file(&self.path);
    }
}

/// A contender that stands still at a point the test knows.
pub(crate) struct Guest {
    pub(crate) id: i32,
    pub(crate) what: String,
    stream: UnixStream,
}

impl Guest {
    /// Waits until the contender is dead.
    #[track_caller]
    pub(crate) fn must_end(mut self) {
        // It writes nothing more, so whatever ends this is its end.
        let end = self.stream.read(&mut [0]);
        assert!(matches!(end, Ok(0)), "it still lives: {end:?}");
    }
}

/// Every cell of a bundle's run, in order.
pub(crate) fn cells(run: &Value) -> Vec<&Value> {
    let races = run["races"].as_array().unwrap();
    races.iter().flat_map(|race| race["cells"].as_array().unwrap()).collect()
}

/// Checks that `after` has all that `before` had, unchanged and in its place, and returns how many
/// samples that is. A block that was given up later is so by a word beside what it measured.
#[track_caller]
pub(crate) fn assert_nothing_lost(before: &Value, after: &Value) -> usize {
    let (before, after) = (cells(before), cells(after));
    assert_eq!(before.len(), after.len());
    let mut samples = 0;
    for (old, new) in before.into_iter().zip(after) {
        let measured = |cell: &Value| {
            let mut all = cell["invocations"].as_array().unwrap().clone();
            for invocation in &mut all {
                invocation.as_object_mut().unwrap().remove("disturbed");
            }
            all
        };
        let (old, new) = (measured(old), measured(new));
        assert!(
            new.len() >= old.len() && old[..] == new[..old.len()],
            "stored invocations changed"
        );
        samples += old.iter().map(|i| i["samples"].as_array().unwrap().len()).sum::<usize>();
    }
    samples
}

#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// The entry of a contender in the first race of a report.
#[track_caller]
pub(crate) fn entry<'a>(report: &'a Value, contender: &str) -> &'a Value {
    let entries = report["races"][0]["entries"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["contender"] == contender);
    found.unwrap_or_else(|| panic!("no {contender} in {entries:#?}"))
}
