//! The processes that descend from one, as Linux tells.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The processes below `root`, parents before their children; empty where the system does not tell.
///
/// A process whose parent has died belongs to the nearest ancestor that is a subreaper
/// (`PR_SET_CHILD_SUBREAPER`), whatever its session and group.
pub(super) fn descendants(root: u32) -> Vec<u32> {
    // Some kernels are built without these lists (`CONFIG_PROC_CHILDREN`).
    match Path::new("/proc/thread-self/children").exists() {
        true => below(root, children),
        false => {
            let parents = parents();
            below(root, |id| {
                parents
                    .iter()
                    .filter(|(_, parent)| *parent == id)
                    .map(|(child, _)| *child)
                    .collect()
            })
        }
    }
}

fn below(root: u32, children: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        next += 1;
        for child in children(id) {
            // They change while they are read.
            if !found.contains(&child) {
                found.push(child);
            }
        }
    }
    found.split_off(1)
}

fn children(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Every process of the system, and its parent.
fn parents() -> Vec<(u32, u32)> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, fields(&stat).nth(1)?.parse().ok()?))
    })
    .collect()
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

/// The kernel's `PF_EXITING`, among the flags that `stat` tells.
const ENDING: u64 = 4;

/// One thread of a process.
pub(super) struct Thread(PathBuf);

/// The first thread of a process.
pub(super) fn first_thread(id: u32) -> Thread {
    Thread(PathBuf::from(format!("/proc/{id}")))
}

/// The threads of a process; none if it is gone.
pub(super) fn threads(id: u32) -> impl Iterator<Item = Thread> {
    let all = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    all.map(|entry| Thread(entry.path()))
}

impl Thread {
    /// Whether it runs outside of the control group of this name, in all hierarchies; `None` if it
    /// has ended.
    pub(super) fn is_outside(&self, group: &str) -> Option<bool> {
        let groups = fs::read_to_string(self.0.join("cgroup")).ok()?;
        let is_within = |line: &str| line.split('/').any(|part| part == group);
        if groups.lines().any(is_within) {
            return Some(false);
        }
        // v1 says of what is ending that it is in the outermost group. What is not ending now was
        // not when its groups were read. The flags are field 9, of which the state is the third.
        let stat = fs::read_to_string(self.0.join("stat")).ok()?;
        let flags: u64 = fields(&stat).nth(6)?.parse().ok()?;
        (flags & ENDING == 0).then_some(true)
    }
}

/// CPU time of all children that a process has waited for, in clock ticks.
pub(super) fn waited_for_ticks(id: u32) -> u64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { return 0 };
    // `cutime` and `cstime`: fields 16 and 17, of which the state is the third.
    fields(&stat).skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// The fields of a `stat` file from the state on. The name before it may hold anything, so they are
/// counted from its end.
pub(super) fn fields(stat: &str) -> impl Iterator<Item = &str> {
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_a_child_and_its_child() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 1000 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // It has started its own when it has said so.
        let mut line = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let all = parents();
        let by_parents = below(child.id(), |id| {
            all.iter().filter(|(_, parent)| *parent == id).map(|(child, _)| *child).collect()
        });
        assert_eq!(by_parents.len(), 1, "{by_parents:?}");
        assert_eq!(by_parents, descendants(child.id()));
        assert!(descendants(std::process::id()).contains(&by_parents[0]));
        assert_eq!(kill_descendants(child.id()), 1);
        // `wait` returns, and the shell with it.
        assert!(child.wait().is_ok());
        assert!(descendants(child.id()).is_empty());
    }
}
