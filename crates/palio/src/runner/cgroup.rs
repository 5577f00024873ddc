//! A control group for each command that Palio starts, where one may be made: the kernel's own list
//! of all that descends from it, with their CPU time and the peak of their memory.
//!
//! A warden finds what descends from a command by asking who is whose child. A group knows it
//! without asking: it has the CPU time of those whose parents never waited for them, the memory of
//! those that came and went between two looks, and what has lost its warden and its Palio. So it
//! stands beside the warden, and where none can be made nothing else changes.
//!
//! Palio makes the group below its own one and holds a lock on its folders; the warden enters it,
//! starts the command, and leaves it again, so that the command is in it from its first instruction
//! on. (A step between that enters it and then becomes the command would add a program start to
//! each contender's CPU time.) Whoever ends the command removes the group. A group without a lock
//! has lost its Palio: the next one that starts anything kills what is in it (`sweep`). The lock
//! and not a process id says so, because ids mean something else in another container.
//!
//! The hierarchy of v2 is taken where there is one, and of v1 what that does not have. One of v1
//! with the controller `cpu` is not: in a group there, a contender would be scheduled otherwise
//! than without. Only one with a CPU budget is ([`quota`]).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{AccessFlags, Pid, access};

use crate::budget::Throttled;
use crate::runner::warden::{self, Cpu, Grouped};

/// What stands before the folder in an argument that has the quota.
const QUOTA: char = '!';
/// How the folder of a group begins; what follows are two numbers.
const NAME: &str = "palio-command-";
/// Between the folders of an argument: what no group's name has.
const SEPARATOR: &str = "\n";
/// How long the processes of a group may take to die.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at whether they have.
const LOOK: Duration = Duration::from_millis(2);
/// How deep a leftover of another Palio is looked for.
const DEPTH_MAX: u32 = 12;
/// How the folder begins that a Palio moves to ([`quota`]); what follows is its process id.
const HOME: &str = "palio-home-";
/// How the sentence begins of why there is no quota where there should be one.
pub const NO_BUDGET: &str = "cannot be held to a CPU budget";
/// What turns groups off; for whoever wants to see what they change.
pub const SWITCH: &str = "PALIO_CONTROL_GROUPS";

/// The group of one command: a folder in each hierarchy. Empty where none can be made.
#[derive(Debug, Default)]
pub struct Group {
    folders: Vec<PathBuf>,
    /// Say that its Palio lives.
    locks: Vec<File>,
    /// That of the folders which has a quota of CPU time.
    quota: Option<PathBuf>,
}

impl Group {
    /// Makes a group, whose memory the kernel bounds if this says so.
    pub fn make(memory_kib_max: Option<u64>) -> Self {
        let mut group = Self::default();
        if !warden::is_on() {
            return group;
        }
        let places = places();
        for own in &places.own {
            if let Ok((folder, lock)) = make_folder(own) {
                group.folders.push(folder);
                group.locks.push(lock);
            }
        }
        if let Some(kib) = memory_kib_max {
            group.bound_memory(kib);
        }
        group
    }

    /// The group of a warden's argument, as [`argument`](Self::argument) makes it.
    pub fn of_argument(argument: &str) -> Self {
        let words = || argument.split(SEPARATOR).filter(|folder| !folder.is_empty());
        let folders = words().map(|word| PathBuf::from(word.trim_start_matches(QUOTA)));
        let quota = words().find_map(|word| word.strip_prefix(QUOTA)).map(PathBuf::from);
        Self { folders: folders.collect(), locks: Vec::new(), quota }
    }

    pub fn argument(&self) -> String {
        let folders = self.folders.iter().map(|folder| {
            let mark =
                if self.quota.as_ref() == Some(folder) { QUOTA.to_string() } else { String::new() };
            format!("{mark}{}", folder.display())
        });
        folders.collect::<Vec<_>>().join(SEPARATOR)
    }

    /// Takes the calling process into it. What cannot be entered is none of it any more.
    ///
    /// # Errors
    /// The folder with the quota cannot be entered: nothing may run without it.
    pub fn enter(&mut self) -> Result<(), String> {
        let mut refusal = Ok(());
        self.folders.retain(|folder| {
            let entered = fs::write(folder.join("cgroup.procs"), "0");
            if let Err(error) = &entered
                && self.quota.as_ref() == Some(folder)
            {
                refusal = Err(format!("{NO_BUDGET} any more: {}: {error}", folder.display()));
            }
            entered.is_ok()
        });
        refusal
    }

    /// Takes the calling process back to where it came from: the group around it, or that of Palio
    /// where it has moved.
    pub fn leave(&self) {
        for folder in &self.folders {
            let home = home_beside(folder);
            let places = folder.parent().map(Path::to_owned).into_iter().chain(home);
            for place in places {
                if fs::write(place.join("cgroup.procs"), "0").is_ok() {
                    break;
                }
            }
        }
    }

    /// The processes in it, but for the calling one.
    pub fn processes(&self) -> BTreeSet<u32> {
        let mut all = BTreeSet::new();
        for folder in self.folders.iter().flat_map(|folder| with_inner(folder)) {
            let list = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            // 0 is one that has no number here.
            all.extend(list.lines().filter_map(|id| id.parse().ok()).filter(|&id: &u32| id != 0));
        }
        all.remove(&std::process::id());
        all
    }

    /// Kills the processes in it, and returns how many there were.
    pub fn kill(&self) -> usize {
        let all = self.processes();
        if all.is_empty() {
            return 0;
        }
        // None that is frozen has children while the others are killed.
        self.freeze(true);
        for id in self.processes().into_iter().filter_map(|id| i32::try_from(id).ok()) {
            // An error says that it is gone.
            let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
        }
        self.freeze(false);
        all.len()
    }

    fn freeze(&self, stop: bool) {
        for folder in &self.folders {
            let (v2, v1) = if stop { ("1", "FROZEN") } else { ("0", "THAWED") };
            if fs::write(folder.join("cgroup.freeze"), v2).is_err() {
                let _ = fs::write(folder.join("freezer.state"), v1);
            }
        }
    }

    /// CPU time of all that ever was in it; `None` where no hierarchy tells.
    pub fn cpu(&self) -> Option<Cpu> {
        self.folders.iter().find_map(|folder| {
            let v2 = || {
                let stat = fs::read_to_string(folder.join("cpu.stat")).ok()?;
                let field = |name| number_after(&stat, name);
                Some(Cpu { user_us: field("user_usec")?, sys_us: field("system_usec")? })
            };
            // A folder may have a `cpu.stat` of v1, which tells of quotas alone.
            let us = |name| Some(number(folder, name)? / 1_000);
            let v1 = || {
                Some(Cpu { user_us: us("cpuacct.usage_user")?, sys_us: us("cpuacct.usage_sys")? })
            };
            v2().or_else(v1)
        })
    }

    /// The most memory that was ever charged to it, in KiB: what its processes had at a time, with
    /// the files that they were first to read, and what the kernel kept for them.
    pub fn memory_peak_kib(&self) -> Option<u64> {
        let names = ["memory.peak", "memory.max_usage_in_bytes"];
        let mut peaks = self.folders.iter().flat_map(|f| names.map(|name| number(f, name)));
        peaks.find_map(|bytes| Some(bytes? / 1024))
    }

    /// Whether the kernel has killed any of it at its bound of memory.
    pub fn is_out_of_memory(&self) -> bool {
        self.folders.iter().any(|folder| {
            ["memory.events", "memory.oom_control"].into_iter().any(|name| {
                let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
                number_after(&text, "oom_kill").is_some_and(|kills| kills > 0)
            })
        })
    }

    /// How often its quota was used up; `None` without one, or once that has vanished.
    pub fn throttled(&self) -> Option<Throttled> {
        let stat = fs::read_to_string(self.quota.as_ref()?.join("cpu.stat")).ok()?;
        let v2 = || number_after(&stat, "throttled_usec");
        let v1 = || Some(number_after(&stat, "throttled_time")? / 1_000);
        Some(Throttled {
            periods: number_after(&stat, "nr_periods")?,
            throttled: number_after(&stat, "nr_throttled")?,
            throttled_us: v2().or_else(v1)?,
        })
    }

    /// All that it tells of what ever was in it.
    pub fn told(&self) -> Grouped {
        Grouped {
            cpu: self.cpu(),
            memory_peak_kib: self.memory_peak_kib(),
            out_of_memory: self.is_out_of_memory(),
            throttled: self.throttled(),
        }
    }

    fn bound_memory(&self, kib: u64) {
        let bytes = kib.saturating_mul(1024).to_string();
        for folder in &self.folders {
            // Of swap there is none in either version, or who has used up its memory would go on
            // in it, at the speed of the disk. Some kernels have no such file.
            if fs::write(folder.join("memory.max"), &bytes).is_ok() {
                let _ = fs::write(folder.join("memory.swap.max"), "0");
                let _ = fs::write(folder.join("memory.oom.group"), "1");
            } else if fs::write(folder.join("memory.limit_in_bytes"), &bytes).is_ok() {
                // Memory and swap together, which is never below the bound of memory alone.
                let _ = fs::write(folder.join("memory.memsw.limit_in_bytes"), &bytes);
            }
        }
    }

    /// Kills what is in it until nothing is, and removes it. Gives up on what cannot be killed, and
    /// notes it ([`warden::take_unended`]).
    pub fn remove(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.kill();
            self.folders.retain(|folder| !with_inner(folder).iter().rev().all(|f| is_removed(f)));
            if self.folders.is_empty() || Instant::now() >= deadline {
                #[cfg(target_os = "linux")]
                warden::note_unended(self.processes());
                self.locks.clear();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A warden's has no locks, and is removed where its end is told.
        if !self.locks.is_empty() {
            self.remove();
        }
    }
}

/// Where the Palio is to whom the folder of a command belongs, if it has moved.
fn home_beside(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?.strip_prefix(NAME)?;
    let (id, _) = name.split_once('-')?;
    Some(folder.with_file_name(format!("{HOME}{id}")))
}

fn is_removed(folder: &Path) -> bool {
    fs::remove_dir(folder).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

/// A folder and all within it, outer ones first.
fn with_inner(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(outer) = all.get(next) {
        next += 1;
        let entries = fs::read_dir(outer).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let inner: Vec<_> = inner.map(|entry| entry.path()).collect();
        all.extend(inner);
    }
    all
}

fn number(folder: &Path, name: &str) -> Option<u64> {
    fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
}

fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Makes a folder for a group, and locks it.
fn make_folder(own: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    // A Palio of another container may have the same id.
    const TRIES: u32 = 100;
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..TRIES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = own.join(format!("{NAME}{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                last = error;
                continue;
            }
            Err(error) => return Err(error),
        }
        // Another Palio may sweep it away before it is locked.
        if let Ok(lock) = File::open(&folder)
            && lock.try_lock().is_ok()
            && folder.is_dir()
        {
            return Ok((folder, lock));
        }
        let _ = fs::remove_dir(&folder);
    }
    Err(last)
}

/// Where groups can be made here.
#[derive(Debug)]
struct Places {
    /// The groups that Palio itself is in, one in each hierarchy that is used.
    own: Vec<PathBuf>,
    /// What is said of them.
    said: String,
}

/// What groups are there for commands, or why there are none: for `doctor` and for reports. `None`
/// where commands have no warden either.
pub fn description() -> Option<String> {
    warden::is_on().then(|| places().said.clone())
}

fn places() -> &'static Places {
    static PLACES: OnceLock<Places> = OnceLock::new();
    PLACES.get_or_init(|| {
        let none = |reason: &str| Places { own: Vec::new(), said: format!("none: {reason}") };
        if std::env::var_os(SWITCH).is_some_and(|word| word == "none") {
            return none(&format!("{SWITCH} says so"));
        }
        let read = |name| fs::read_to_string(name).unwrap_or_default();
        let hierarchies = hierarchies(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"));
        if hierarchies.is_empty() {
            return none("this system has none");
        }
        hierarchies.iter().for_each(|hierarchy| sweep(&hierarchy.mount));
        let mut places = Places { own: Vec::new(), said: String::new() };
        let (mut has, mut why_not) = (BTreeSet::new(), String::new());
        for Hierarchy { own, version, .. } in &hierarchies {
            match what_it_has(own) {
                Ok(new) if new.iter().any(|what| !has.contains(what)) => {
                    let words: Vec<_> = new.difference(&has).copied().collect();
                    let and = if places.said.is_empty() { "" } else { "; " };
                    places.said += &format!("{and}{} by cgroup {version}", words.join(", "));
                    has.extend(new);
                    places.own.push(own.clone());
                }
                Ok(_) => {}
                Err(reason) if why_not.is_empty() => {
                    why_not = format!("{}: {reason}", own.display());
                }
                Err(_) => {}
            }
        }
        if places.own.is_empty() { none(&why_not) } else { places }
    })
}

/// A mounted hierarchy, and Palio's own group in it.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    version: &'static str,
    mount: PathBuf,
    own: PathBuf,
}

/// The hierarchies that can be of use to every command, v2 first.
fn hierarchies(mountinfo: &str, groups: &str) -> Vec<Hierarchy> {
    find(mountinfo, groups, |controllers| {
        let useful = ["memory", "freezer", "cpuacct"];
        let useful = useful.into_iter().find(|name| controllers.contains(name));
        useful.filter(|_| !controllers.contains(&"cpu"))
    })
}

/// The hierarchies of v2, and of v1 those of whose controllers `wants` names one; v2 first.
fn find(
    mountinfo: &str,
    groups: &str,
    wants: impl Fn(&[&str]) -> Option<&'static str>,
) -> Vec<Hierarchy> {
    let mut found = Vec::new();
    for line in mountinfo.lines() {
        let Some((place, kind)) = line.split_once(" - ") else { continue };
        let (place, kind): (Vec<_>, Vec<_>) =
            (place.split(' ').collect(), kind.split(' ').collect());
        let (Some(root), Some(mount), Some(&kind_name)) =
            (place.get(3), place.get(4), kind.first())
        else {
            continue;
        };
        let controllers: Vec<_> =
            kind.get(2).map_or(Vec::new(), |words| words.split(',').collect());
        let (version, controller) = match kind_name {
            "cgroup2" => ("v2", ""),
            "cgroup" => match wants(&controllers) {
                Some(controller) => ("v1", controller),
                None => continue,
            },
            _ => continue,
        };
        let own = groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (names, path) = (fields.next()?, fields.next()?);
            names.split(',').any(|name| name == controller).then_some(path)
        });
        let Some(inner) = own.and_then(|own| Path::new(own).strip_prefix(root).ok()) else {
            continue;
        };
        // Where this Palio has moved to, so that there may be others beside it.
        let home = format!("{HOME}{}", std::process::id());
        let has_moved = inner.file_name().is_some_and(|name| name == home.as_str());
        let inner = inner.parent().filter(|_| has_moved).unwrap_or(inner);
        // `..` is outside of what this container may see.
        if inner.components().any(|part| part.as_os_str() == "..") || mount.contains('\\') {
            continue;
        }
        let mount = PathBuf::from(mount);
        found.push(Hierarchy { version, own: mount.join(inner), mount });
    }
    found.sort_by_key(|hierarchy| hierarchy.version != "v2");
    found
}

/// Makes a group, goes into it and out again, and says what it is good for.
fn what_it_has(own: &Path) -> Result<BTreeSet<&'static str>, String> {
    // Before it is entered, lest it cannot be left.
    access(&own.join("cgroup.procs"), AccessFlags::W_OK).map_err(|e| e.desc().to_owned())?;
    let (folder, lock) = make_folder(own).map_err(|error| error.to_string())?;
    let mut group = Group { folders: vec![folder.clone()], locks: vec![lock], quota: None };
    fs::write(folder.join("cgroup.procs"), "0").map_err(|error| error.to_string())?;
    group.leave();
    let mut has = BTreeSet::from(["end"]);
    has.extend(group.cpu().map(|_| "CPU time"));
    has.extend(group.memory_peak_kib().map(|_| "memory"));
    group.remove();
    Ok(has)
}

/// Ends what a killed Palio has left, with its warden, in a hierarchy: groups of which no lock is
/// held any more.
fn sweep(mount: &Path) {
    let mut folders = vec![(mount.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())) {
            let inner = entry.path();
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(HOME)) {
                // That of a Palio that lives is not empty, and stays.
                let _ = fs::remove_dir(&inner);
            } else if !entry.file_name().to_str().is_some_and(is_name) {
                if depth < DEPTH_MAX {
                    folders.push((inner, depth + 1));
                }
                continue;
            }
            if let Ok(lock) = File::open(&inner)
                && lock.try_lock().is_ok()
            {
                Group { folders: vec![inner], locks: vec![lock], quota: None }.remove();
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    let numbers = name.strip_prefix(NAME).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok())
}

pub mod quota;
#[cfg(test)]
mod tests;
