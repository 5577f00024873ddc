//! The processes that descend from one, as Linux tells.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The processes below `root`, parents before their children; empty where the system does not tell.
///
/// A process whose parent has died belongs to the nearest ancestor that is a subreaper
/// (`PR_SET_CHILD_SUBREAPER`), whatever its session and group.
pub(super) fn descendants(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        next += 1;
        let Ok(threads) = fs::read_dir(format!("/proc/{id}/task")) else { continue };
        for thread in threads.flatten() {
            let Ok(text) = fs::read_to_string(thread.path().join("children")) else { continue };
            for child in text.split_whitespace().filter_map(|word| word.parse().ok()) {
                // They change while they are read.
                if !found.contains(&child) {
                    found.push(child);
                }
            }
        }
    }
    found.split_off(1)
}

/// Kills all processes below `root`, and returns how many there were.
pub(super) fn kill_descendants(root: u32) -> usize {
    let all = descendants(root);
    for id in all.iter().filter_map(|&id| i32::try_from(id).ok()) {
        // An error says that it is gone.
        let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
    }
    all.len()
}

/// Whether it has ended, and only its parent has not asked for its status yet.
pub(super) fn is_zombie(id: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { return true };
    fields(&stat).next() == Some("Z")
}

/// CPU time of all children that a process has waited for, in clock ticks.
pub(super) fn waited_for_ticks(id: u32) -> u64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { return 0 };
    // `cutime` and `cstime`: fields 16 and 17, of which the state is the third.
    fields(&stat).skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// The fields of a `stat` file from the state on. The name before it may hold anything, so they are
/// counted from its end.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace()
}

/// A size of a process in KiB, by its name in `/proc/ID/status`.
pub(super) fn size_kib(id: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix(" kB"))?
        .parse()
        .ok()
}
