//! Getting contenders ready: probing what they need, building what changed, asking them who they
//! are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use palio_protocol::message::Description;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::allocator;
use crate::contender::{Contender, Requirement};
use crate::record::Outcome;
use crate::runner::cgroup::Group;
use crate::runner::excerpt::{self, Excerpt};
use crate::runner::shortage::{no_thread, with_help};
use crate::runner::warden::{self, Manner, UnderWay};
use crate::runner::{cargo_copy, cmake_prefix, process};
use crate::workload::Settings;

/// The end of a failed build's output that is shown.
const LOG_SHOWN_BYTES: u64 = 2 * 1024;
/// A tool that answers a probe or a question later than this is as good as absent.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer longer than this is none.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// How long a pipe may stay open after its process was killed, before whoever holds it is left to
/// itself. Seconds, because the thread that reads it may itself wait for a processor: what it has
/// not read by then is taken for never said.
const PIPE_GRACE: Duration = Duration::from_secs(2);
/// How long a build may take to end when it is asked to, before it is killed.
const BUILD_GRACE: Duration = Duration::from_secs(5);
/// How often a build is looked at; builds are not timed.
const BUILD_WATCH_INTERVAL: Duration = Duration::from_millis(5);

/// What became of getting a contender ready.
pub type Readiness = Result<Description, (Outcome, String)>;

/// Whether a build had anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    UpToDate,
    Built,
}

/// `Err` is what a probe said that failed; nothing, where there is no such command or it was
/// silent.
type Probed = Result<(), Option<String>>;

/// A requirement that is not met.
#[derive(Clone, Debug, Serialize)]
pub struct Missing<'a> {
    #[serde(flatten)]
    pub requirement: &'a Requirement,
    /// What its probe said, if that tells more than that it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

impl Deref for Missing<'_> {
    type Target = Requirement;

    fn deref(&self) -> &Requirement {
        self.requirement
    }
}

/// Answers probes, each distinct one asked once, and gives up when the user interrupts.
#[derive(Debug, Default)]
pub struct Prober {
    known: BTreeMap<(Settings, Vec<String>), Probed>,
    /// Contenders that could not be built ahead of their turn, by their folders and commands.
    broken: BTreeSet<(PathBuf, Vec<String>)>,
    interrupted: Arc<AtomicBool>,
    /// Hears who is about to be built.
    listener: Option<fn(&Contender)>,
}

impl Prober {
    /// One that stops waiting as soon as `interrupted` is set.
    pub fn new(interrupted: Arc<AtomicBool>) -> Self {
        Self { interrupted, ..Self::default() }
    }

    /// Calls `listener` with whoever is about to be built, which may take minutes.
    #[must_use]
    pub fn telling(self, listener: fn(&Contender)) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Another one, which knows what this one knows.
    #[must_use]
    pub fn twin(&self) -> Self {
        Self {
            known: self.known.clone(),
            broken: self.broken.clone(),
            interrupted: Arc::clone(&self.interrupted),
            listener: self.listener,
        }
    }

    /// What another one has learned meanwhile.
    pub fn learn(&mut self, other: Self) {
        self.known.extend(other.known);
        self.broken.extend(other.broken);
    }

    /// Builds a contender whose turn has not come; true if there was something to build, and it
    /// is built. What cannot be built is tried once, and once more when its turn comes.
    pub fn build_ahead(&mut self, contender: &Contender) -> bool {
        let key = (contender.target.clone(), contender.command.clone());
        if self.interrupted.load(Ordering::Relaxed) || self.broken.contains(&key) {
            return false;
        }
        let built = build(contender, self);
        if built.is_err() {
            self.broken.insert(key);
        }
        built == Ok(Freshness::Built)
    }

    /// Whether `requirement` is there, for a build with these variables.
    fn probe(&mut self, requirement: &Requirement, variables: &Settings) -> Probed {
        let question = (variables.clone(), requirement.probe.clone());
        if let Some(known) = self.known.get(&question) {
            return known.clone();
        }
        let surroundings = Surroundings::Palios(variables);
        let here = Path::new(".");
        let spoken = converse(&requirement.probe, surroundings, here, "", &self.interrupted);
        let probed = match spoken {
            Ok(spoken) if spoken.status == Some(0) => Ok(()),
            Ok(spoken) => Err(reason(&spoken)),
            Err(error) => Err(Some(error)),
        };
        self.known.insert(question, probed.clone());
        probed
    }

    /// What `contender` needs and this machine lacks.
    pub fn missing<'a>(&mut self, contender: &'a Contender) -> Vec<Missing<'a>> {
        let probed = contender.requires.iter().filter_map(|requirement| {
            let said = self.probe(requirement, &contender.build_variables).err()?;
            Some(Missing { requirement, said })
        });
        probed.collect()
    }
}

/// The line in which a failed probe says why.
fn reason(spoken: &Spoken) -> Option<String> {
    const SHOWN_CHARS_MAX: usize = 200;
    let said = if spoken.stderr.trim().is_empty() { &spoken.stdout } else { &spoken.stderr };
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    // Python comes to the point last.
    let line = if first.starts_with("Traceback") { lines.next_back()? } else { first };
    if is_no_command(line) {
        return None;
    }
    let line: String = line.trim_end_matches(':').chars().take(SHOWN_CHARS_MAX).collect();
    Some(excerpt::escaped(&line))
}

/// Whether a warden says that it found no such command.
fn is_no_command(line: &str) -> bool {
    line.starts_with("palio: ") && line.contains(" cannot be started: No such file")
}

/// Whether a contender lacks something optional, which only a user who wants it installs. Its other
/// requirements are then not worth installing, and its absence is no failure.
pub fn is_left_out(missing: &[Missing<'_>]) -> bool {
    missing.iter().any(|requirement| requirement.optional)
}

/// The sentence that says what is missing and how to get it.
pub fn missing_text(missing: &[Missing<'_>]) -> String {
    let each = missing.iter().map(|requirement| {
        let install = match &requirement.debian[..] {
            [] => requirement.install.clone(),
            packages => format!(
                "`sudo apt-get install {}`; elsewhere: {}",
                packages.join(" "),
                requirement.install
            ),
        };
        match &requirement.said {
            None => format!("{} is missing ({install})", requirement.name),
            Some(said) => format!("{} fails its probe: {said} ({install})", requirement.name),
        }
    });
    each.collect::<Vec<_>>().join("; ")
}

/// What a short command said, and how it ended.
#[derive(Debug)]
pub(super) struct Spoken {
    /// `None` if a signal ended it.
    pub(super) status: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// What a short command gets to see of the environment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Surroundings<'a> {
    /// All of it, and these variables besides: for probes and tools.
    Palios(&'a Settings),
    /// What a race gives to a contender, and nothing else.
    Races,
}

/// Runs a short command that is no contender, and returns its standard output.
///
/// # Errors
/// It cannot be started, fails, takes too long or is interrupted; the message is its own.
pub fn output_of(
    command: &[String],
    directory: &Path,
    interrupted: &AtomicBool,
) -> Result<String, String> {
    output_in(Surroundings::Palios(&Settings::new()), command, directory, interrupted)
}

fn output_in(
    surroundings: Surroundings<'_>,
    command: &[String],
    directory: &Path,
    interrupted: &AtomicBool,
) -> Result<String, String> {
    let name = command.join(" ");
    let spoken = converse(command, surroundings, directory, "", interrupted)?;
    match spoken.status {
        Some(0) => Ok(spoken.stdout),
        Some(status) => {
            Err(format!("`{name}` failed (exit status: {status}): {}", spoken.stderr.trim()))
        }
        None => Err(format!("`{name}` was killed by a signal: {}", spoken.stderr.trim())),
    }
}

/// Runs a short command, gives it `stdin`, and waits for its end.
///
/// # Errors
/// It cannot be started, takes too long or is interrupted.
pub(super) fn converse(
    command: &[String],
    surroundings: Surroundings<'_>,
    directory: &Path,
    stdin: &str,
    interrupted: &AtomicBool,
) -> Result<Spoken, String> {
    let name = command.join(" ");
    let manner = Manner { grace: Duration::ZERO, accounts: false };
    let under_way = UnderWay::begin();
    let mut control_group = Group::make(None);
    let mut started = warden::command(command, manner, &control_group.argument());
    match surroundings {
        Surroundings::Palios(variables) => started.envs(variables),
        Surroundings::Races => started.env_clear().envs(process::environment()),
    };
    let mut child = started
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("`{name}` cannot be started: {}", with_help(&error)))?;
    if let Some(mut pipe) = child.stdin.take() {
        // It fits into the pipe; a command that ends without reading it is no error here.
        let _ = pipe.write_all(stdin.as_bytes());
    }
    // Both pipes are read by threads, so that neither can fill up and keep the command from ending.
    let stdout = child.stdout.take().map(read_in_background).transpose();
    let stderr = child.stderr.take().map(read_in_background).transpose();
    let readers = stdout.and_then(|stdout| Ok([stdout, stderr?]));
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    let status = loop {
        match child.try_wait() {
            _ if readers.is_err() => break None,
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < deadline && !interrupted.load(Ordering::Relaxed) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(None) | Err(_) => break None,
        }
    };
    // Without a warden, most of what still holds the pipes dies here; for the rest there is a time
    // limit.
    if status.is_none() {
        warden::kill(&mut child);
    } else if !warden::is_on() {
        let _ = killpg(group, Signal::SIGKILL);
    }
    if status.is_none_or(|status| status.code().is_none()) {
        under_way.lost_warden();
    }
    drop(under_way);
    control_group.remove();
    let readers = readers
        .map_err(|error| format!("`{name}` cannot be listened to: {}", no_thread(&error)))?;
    let [stdout, stderr] = readers.map(|pipe| {
        let mut text = Vec::new();
        while let Some(Ok(piece)) = pipe.as_ref().map(|pieces| pieces.recv_timeout(PIPE_GRACE)) {
            text.extend(piece);
        }
        text
    });
    match status {
        Some(status) => {
            let mut said = Excerpt::default();
            said.push(&stderr);
            let stdout = String::from_utf8_lossy(&stdout).into_owned();
            Ok(Spoken { status: status.code(), stdout, stderr: said.text() })
        }
        None if interrupted.load(Ordering::Relaxed) => Err(format!("`{name}` was interrupted")),
        None => Err(format!("`{name}` gave no answer in {} s", ANSWER_TIMEOUT.as_secs())),
    }
}

/// Reads until the end, or until it is more than any answer has; the pieces come as they arrive.
///
/// # Errors
/// The system gives no thread.
fn read_in_background(pipe: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut pipe = pipe.take(ANSWER_BYTES_MAX);
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

/// Builds `contender` if anything it is made of changed since the last time.
///
/// # Errors
/// [`Outcome::NotBuilt`] and the reason: something is missing, or a command failed.
pub fn build(contender: &Contender, prober: &mut Prober) -> Result<Freshness, (Outcome, String)> {
    let not_built = |reason: String| (Outcome::NotBuilt, reason);
    let stamp_path = contender.target.join(format!("{}.stamp", contender.id));
    let stamp = stamp(contender);
    let built = !contender.build_commands.is_empty() && executable_is_there(contender);
    // What is up to date needs no compiler, so none is looked for: probing takes longer than all
    // the rest.
    if built && fs::read_to_string(&stamp_path).is_ok_and(|old| old == stamp) {
        return Ok(Freshness::UpToDate);
    }
    let missing = prober.missing(contender);
    if !missing.is_empty() {
        return Err(not_built(missing_text(&missing)));
    }
    if contender.build_commands.is_empty() {
        return Ok(Freshness::UpToDate);
    }
    fs::create_dir_all(&contender.target).map_err(|error| {
        not_built(format!("cannot make the folder {}: {error}", contender.target.display()))
    })?;
    let log_path = contender.target.join(format!("{}.log", contender.id));
    if let Some(listener) = prober.listener {
        listener(contender);
    }
    let prepared =
        cargo_copy::prepare(contender).map_err(|error| not_built(format!("{error:#}")))?;
    for command in prepared.iter().chain(&contender.build_commands) {
        run_logged(contender, command, &log_path, &prober.interrupted).map_err(not_built)?;
    }
    cmake_prefix::check(contender).map_err(not_built)?;
    // A stamp that cannot be written costs a needless build the next time, and nothing else.
    let _ = fs::write(&stamp_path, stamp);
    Ok(Freshness::Built)
}

/// A bare name is looked up in the `PATH` when it is started.
fn executable_is_there(contender: &Contender) -> bool {
    let executable = Path::new(&contender.command[0]);
    executable.components().count() == 1 || executable.is_file()
}

fn run_logged(
    contender: &Contender,
    command: &[String],
    log_path: &Path,
    interrupted: &AtomicBool,
) -> Result<(), String> {
    let (name, directory) = (command.join(" "), &contender.build_directory);
    let log = |error: std::io::Error| format!("cannot write {}: {error}", log_path.display());
    let mut file = fs::File::create(log_path).map_err(log)?;
    // As a terminal would: a build that is asked to end leaves no half-written file behind, a
    // killed one may.
    let manner = Manner { grace: BUILD_GRACE, accounts: false };
    let under_way = UnderWay::begin();
    let mut group = Group::make(None);
    let mut child = warden::command(command, manner, &group.argument())
        .envs(&contender.build_variables)
        .current_dir(directory)
        // Palio itself may be run by cargo, whose settings must not reach a contender's build.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(log)?)
        .stderr(file.try_clone().map_err(log)?)
        .spawn()
        .map_err(|error| {
            let directory = directory.display();
            format!("`{name}` cannot be started in {directory}: {}", with_help(&error))
        })?;
    let mut told = false;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(format!("`{name}` cannot be waited for: {error}")),
        }
        if interrupted.load(Ordering::Relaxed) && !told {
            told = true;
            let id = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
            let _ = kill(id, Signal::SIGTERM);
        }
        std::thread::sleep(BUILD_WATCH_INTERVAL);
    };
    if status.code().is_none() {
        under_way.lost_warden();
    }
    drop(under_way);
    group.remove();
    if status.success() {
        return Ok(());
    }
    let length = file.metadata().map_err(log)?.len();
    let mut tail = Vec::new();
    file = fs::File::open(log_path).map_err(log)?;
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_SHOWN_BYTES))).map_err(log)?;
    file.read_to_end(&mut tail).map_err(log)?;
    let mut end = Excerpt::default();
    end.push(tail.trim_ascii());
    Err(format!(
        "`{name}` failed ({status}); all of its output is in {}, the end of it:\n{}",
        log_path.display(),
        end.text()
    ))
}

/// A hash of the build commands, of the release and the variables that decide what they build, and
/// of path, size and time of every input file.
fn stamp(contender: &Contender) -> String {
    let mut files = Vec::new();
    for input in &contender.build_inputs {
        list(input, &mut files);
    }
    files.sort();
    files.dedup();
    let mut hash = Sha256::new();
    hash.update(format!("{:?}", contender.build_commands));
    hash.update(format!("{:?}{:?}", contender.build_variables, contender.release));
    for name in &contender.build_environment {
        hash.update(format!("{name}={:?}\n", std::env::var_os(name)));
    }
    for (path, size, time) in files {
        hash.update(format!("{}\0{size}\0{time}\n", path.display()));
    }
    hex(hash)
}

/// Every file below `path`, with its size and the time of its last change.
pub(super) fn list(path: &Path, files: &mut Vec<(PathBuf, u64, i128)>) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if metadata.is_dir() {
        // Build output that someone left in the tree is no input.
        if path
            .file_name()
            .is_some_and(|name| name == "target" || name.to_string_lossy().starts_with(".git"))
        {
            return;
        }
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            list(&entry.path(), files);
        }
    } else {
        let time_ns =
            i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        files.push((path.to_owned(), metadata.len(), time_ns));
    }
}

pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Asks a built contender who it is, and checks it against its `contender.toml`.
///
/// # Errors
/// [`Outcome::NotBuilt`] and the reason: no answer, not the contract, another id, other workloads,
/// or a version that it does not know; a runtime whose version is unknown may not race, because
/// nobody could repeat its result.
pub fn describe(contender: &Contender, prober: &Prober) -> Readiness {
    let not_built = |reason: String| (Outcome::NotBuilt, reason);
    let mut command = contender.command.clone();
    command.push("--describe".into());
    // As it is raced: what it says elsewhere would say nothing of that.
    let text = output_in(Surroundings::Races, &command, Path::new("."), &prober.interrupted);
    let text = text.map_err(not_built)?;
    let description: Description =
        text.parse().map_err(|error: palio_protocol::message::Malformed| {
            not_built(format!("`--describe` is malformed: {error}"))
        })?;
    if description.id != contender.id {
        return Err(not_built(format!(
            "`--describe` says that it is {:?}, but its contender.toml says {:?}",
            description.id, contender.id
        )));
    }
    allocator::check(&contender.allocator, &description.flags).map_err(not_built)?;
    let (mut says, mut claims) = (description.workloads.clone(), contender.workloads.clone());
    says.sort();
    claims.sort();
    if says != claims {
        let differ = |a: &[String], b: &[String]| {
            a.iter().filter(|name| !b.contains(name)).cloned().collect::<Vec<_>>().join(", ")
        };
        return Err(not_built(format!(
            "`--describe` and contender.toml disagree about workloads (only described: {}; only in the file: {})",
            differ(&says, &claims),
            differ(&claims, &says)
        )));
    }
    let Some(version) = &description.version else {
        return Err(not_built(format!("it does not know the version of {}", description.runtime)));
    };
    if let Some(chosen) = &contender.release
        && !chosen.release.is_of(version)
    {
        return Err(not_built(format!(
            "it was to be built with {}, but says that it is linked with {} {version}",
            chosen.release, description.runtime
        )));
    }
    Ok(description)
}
