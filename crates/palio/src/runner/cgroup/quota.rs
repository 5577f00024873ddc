//! Where the kernel keeps a CPU budget: in a control group with a quota.
//!
//! v2 has `cpu.max` in the groups below one that hands the controller `cpu` on. A group that does
//! so may have no processes of its own (the root may), so Palio goes into a group beside those of
//! its commands first, its *home*; that needs a group that was delegated to Palio, such as
//! systemd's scopes with `Delegate=yes`. v1 has `cpu.cfs_quota_us` wherever the hierarchy of `cpu`
//! is mounted.
//!
//! Only a race in the track with a CPU budget has such a group: it schedules a contender otherwise
//! than without.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{Group, HOME, Hierarchy, NO_BUDGET, SWITCH, find, make_folder};
use crate::budget::CpuBudget;
use crate::runner::{tree, warden};

/// What allows it.
const ALLOWED_BY: &str = "`systemd-run --user --scope -p Delegate=yes palio run …` allows it where the system's \
                          control groups are those of v2; so does running Palio as root";

/// The group below which groups with quotas are made.
#[derive(Debug)]
struct Place {
    own: PathBuf,
    version: &'static str,
}

/// `None` if budgets can be kept here, otherwise the end of a sentence about a contender that says
/// why they cannot, and what would allow it.
pub fn refusal() -> Option<String> {
    place().as_ref().err().cloned()
}

/// What keeps CPU budgets here, for `doctor`.
pub fn description() -> String {
    match place() {
        Ok(place) => format!("by cgroup {}", place.version),
        Err(reason) => format!("none: a contender {reason}"),
    }
}

fn place() -> &'static Result<Place, String> {
    static PLACE: OnceLock<Result<Place, String>> = OnceLock::new();
    PLACE.get_or_init(|| {
        let none = |reason: &str| Err(format!("{NO_BUDGET} here: {reason}; {ALLOWED_BY}"));
        if !warden::is_on() {
            return none("there are no control groups on this system");
        }
        if std::env::var_os(SWITCH).is_some_and(|word| word == "none") {
            return Err(format!("{NO_BUDGET}: {SWITCH} turns control groups off"));
        }
        let read = |name| fs::read_to_string(name).unwrap_or_default();
        let found =
            find(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), Hierarchy::has_cpu);
        let mut reasons = Vec::new();
        for Hierarchy { version, own, .. } in found {
            match try_out(&own, version) {
                Ok(()) => return Ok(Place { own, version }),
                Err(reason) => reasons.push(format!("{}: {reason}", own.display())),
            }
        }
        match reasons.as_slice() {
            [] => none("no hierarchy of control groups has the controller cpu"),
            reasons => none(&reasons.join("; ")),
        }
    })
}

impl Hierarchy {
    fn has_cpu(controllers: &[&str]) -> Option<&'static str> {
        controllers.contains(&"cpu").then_some("cpu")
    }
}

/// Makes a group with a quota, goes into it and out again.
fn try_out(own: &Path, version: &str) -> Result<(), String> {
    if version == "v2" {
        hand_on(own)?;
    }
    let mut group = Group::default();
    let tried = add(&mut group, own, CpuBudget::of_threads(1)).and_then(|()| group.enter());
    group.leave();
    group.remove();
    tried
}

/// Has the group of v2 `own` hand the controller `cpu` on to those below it.
pub(super) fn hand_on(own: &Path) -> Result<(), String> {
    let has_cpu = |name: &str| {
        let words = fs::read_to_string(own.join(name)).unwrap_or_default();
        words.split_whitespace().any(|word| word == "cpu")
    };
    if !has_cpu("cgroup.controllers") {
        return Err("it does not have the controller cpu".to_owned());
    }
    if has_cpu("cgroup.subtree_control") {
        return Ok(());
    }
    let hand_on = || fs::write(own.join("cgroup.subtree_control"), "+cpu");
    let home = own.join(format!("{HOME}{}", std::process::id()));
    fs::create_dir(&home).map_err(|error| error.to_string())?;
    let moved = fs::write(home.join("cgroup.procs"), "0").and_then(|()| hand_on());
    moved.map_err(|error| {
        let _ = fs::write(own.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&home);
        error.to_string()
    })
}

/// Adds a folder with a quota below `own` to a group.
fn add(group: &mut Group, own: &Path, budget: CpuBudget) -> Result<(), String> {
    let failed = |what: &Path, error: std::io::Error| format!("{}: {error}", what.display());
    let (folder, lock) = make_folder(own).map_err(|error| failed(own, error))?;
    group.folders.push(folder.clone());
    group.locks.push(lock);
    set(&folder, budget).map_err(|error| failed(&folder, error))?;
    group.quota = Some(folder);
    Ok(())
}

/// Writes the quota of a folder, in whichever version it has.
pub(super) fn set(folder: &Path, budget: CpuBudget) -> std::io::Result<()> {
    let CpuBudget { period_us, .. } = budget;
    let (v2, quota) = (folder.join("cpu.max"), budget.quota_us());
    if v2.exists() {
        return fs::write(v2, format!("{quota} {period_us}"));
    }
    // The period first: beside the usual one the quota might be more than an outer group allows.
    fs::write(folder.join("cpu.cfs_period_us"), period_us.to_string())?;
    fs::write(folder.join("cpu.cfs_quota_us"), quota.to_string())
}

/// The quota of a folder and its period in µs, as the kernel says; `None` if there is none.
fn written(folder: &Path) -> Option<(u64, u64)> {
    let read = |name| fs::read_to_string(folder.join(name)).ok();
    let text = match read("cpu.max") {
        Some(text) => text,
        None => format!("{} {}", read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    let mut words = text.split_whitespace();
    // `max`, or -1, is more than any quota.
    let quota_us = words.next()?.parse().unwrap_or(u64::MAX);
    Some((quota_us, words.next()?.parse().ok()?))
}

fn plural(processes: usize) -> String {
    format!("{processes} process{}", if processes == 1 { "" } else { "es" })
}

impl Group {
    /// As [`make`](Self::make), with a quota.
    ///
    /// # Errors
    /// There can be none: see [`refusal`].
    pub fn make_with(
        memory_kib_max: Option<u64>,
        budget: Option<CpuBudget>,
    ) -> Result<Self, String> {
        let Some(budget) = budget else { return Ok(Self::make(memory_kib_max)) };
        // Before all others: Palio may have to move.
        let place = place().as_ref().map_err(Clone::clone)?;
        let mut group = Self::make(memory_kib_max);
        // A process is in one group of v2 only: it is that one which has the quota.
        let is_there = |folder: &&PathBuf| folder.parent() == Some(&place.own);
        let added = match group.folders.iter().find(is_there).cloned() {
            Some(folder) => {
                let made = set(&folder, budget);
                group.quota = Some(folder);
                made.map_err(|error| error.to_string())
            }
            None => add(&mut group, &place.own, budget),
        };
        added.map_err(|reason| format!("{NO_BUDGET} any more: {reason}"))?;
        Ok(group)
    }

    /// Why it does not hold all of `processes` to the budget that it was made with: the end of a
    /// sentence. A contender may have as many rights as Palio, and so may change its quota
    /// or leave it, a thread alone in v1; the counts of its periods do not tell. There may be
    /// thousands of threads: unless `all_threads`, the first one of each process is looked at.
    pub fn left_by(
        &self,
        budget: CpuBudget,
        processes: &[u32],
        all_threads: bool,
    ) -> Option<String> {
        let folder = self.quota.as_ref()?;
        // One that vanished is told by `throttled`.
        if written(folder).is_some_and(|quota| quota != (budget.quota_us(), budget.period_us)) {
            return Some(format!("{NO_BUDGET} any more: its quota was changed while it raced"));
        }
        let name = folder.file_name()?.to_str()?;
        let leaves = |thread: tree::Thread| thread.is_outside(name) == Some(true);
        let is_outside = |id: &&u32| {
            leaves(tree::first_thread(**id)) || all_threads && tree::threads(**id).any(leaves)
        };
        let outside = processes.iter().filter(is_outside).count();
        (outside > 0).then(|| {
            let of = format!("{outside} of its {}", plural(processes.len()));
            format!("{NO_BUDGET} any more: {of} left the control group that keeps it")
        })
    }
}
