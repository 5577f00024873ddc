use super::*;
use crate::budget::{CpuBudget, Throttled};

const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory
37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

fn own(mountinfo: &str, groups: &str) -> Vec<String> {
    let found = hierarchies(mountinfo, groups).into_iter();
    found.map(|found| format!("{} {}", found.version, found.own.display())).collect()
}

#[test]
fn v2_comes_first_and_no_group_changes_how_a_contender_is_scheduled() {
    let groups = "8:pids:/\n6:freezer:/\n4:memory:/a/b\n1:cpu,cpuacct:/\n0::/user.slice\n";
    assert_eq!(
        own(HYBRID, groups),
        [
            "v2 /sys/fs/cgroup/unified/user.slice",
            "v1 /sys/fs/cgroup/memory/a/b",
            "v1 /sys/fs/cgroup/freezer/"
        ]
    );
}

/// Commands have their groups beside the one to which Palio has moved, with or without a budget: a
/// process is in one group of v2 only.
#[test]
fn a_palio_that_has_moved_makes_groups_where_it_was() {
    let groups = |home: u32| format!("0::/user.slice/palio-home-{home}\n");
    let id = std::process::id();
    assert_eq!(own(HYBRID, &groups(id)), ["v2 /sys/fs/cgroup/unified/user.slice"]);
    let another = format!("v2 /sys/fs/cgroup/unified/user.slice/palio-home-{}", id + 1);
    assert_eq!(own(HYBRID, &groups(id + 1)), [another]);
}

#[test]
fn a_container_sees_its_part_alone() {
    let line = |root: &str| {
        format!("30 29 0:26 {root} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n")
    };
    assert_eq!(own(&line("/docker/1"), "0::/docker/1/x"), ["v2 /sys/fs/cgroup/x"]);
    assert_eq!(own(&line("/"), "0::/"), ["v2 /sys/fs/cgroup/"]);
    for groups in ["0::/../other", "0::/elsewhere", "", "0:", "no line"] {
        assert_eq!(own(&line("/docker/1"), groups), [""; 0], "{groups}");
    }
}

/// A folder with files as the kernel shows them.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Group) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let group = Group::of_argument(folder.path().to_str().unwrap());
    (folder, group)
}

#[test]
fn both_versions_are_read() {
    let (_v2, group) = folder(&[
        ("cpu.stat", "usage_usec 30\nuser_usec 20\nsystem_usec 10\n"),
        ("memory.peak", "4096\n"),
        ("memory.events", "low 0\noom 2\noom_kill 1\n"),
    ]);
    assert_eq!(group.cpu(), Some(Cpu { user_us: 20, sys_us: 10 }));
    assert_eq!(group.memory_peak_kib(), Some(4));
    assert!(group.is_out_of_memory());
    let (_v1, group) = folder(&[
        ("cpuacct.usage_user", "20500\n"),
        ("cpuacct.usage_sys", "10000\n"),
        ("memory.max_usage_in_bytes", "8192\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"),
    ]);
    assert_eq!(group.cpu(), Some(Cpu { user_us: 20, sys_us: 10 }));
    assert_eq!(group.memory_peak_kib(), Some(8));
    assert!(!group.is_out_of_memory());
    let (_none, group) = folder(&[]);
    assert_eq!((group.cpu(), group.memory_peak_kib()), (None, None));
}

#[test]
fn a_bound_is_written_where_the_version_has_it() {
    // In a real hierarchy a file that is not there cannot be made.
    let (v2, group) = folder(&[
        ("memory.max", "max\n"),
        ("memory.swap.max", "max\n"),
        ("memory.oom.group", "0\n"),
    ]);
    group.bound_memory(3);
    let read =
        |folder: &tempfile::TempDir, name| fs::read_to_string(folder.path().join(name)).unwrap();
    let names = ["memory.max", "memory.swap.max", "memory.oom.group"];
    assert_eq!(names.map(|name| read(&v2, name)), ["3072", "0", "1"]);

    // Of v1 is what has no `memory.max` and cannot get it: here because it is a folder.
    let names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
    let (v1, group) = folder(&names.map(|name| (name, "9223372036854771712\n")));
    fs::create_dir(v1.path().join("memory.max")).unwrap();
    group.bound_memory(3);
    assert_eq!(names.map(|name| read(&v1, name)), ["3072", "3072"]);
}

/// The kernel takes both bounds, where it counts swap and a group may be made here.
#[test]
fn a_group_of_v1_has_no_swap_beyond_its_memory() {
    let mount = Path::new("/sys/fs/cgroup/memory");
    let name = "memory.memsw.limit_in_bytes";
    if !mount.join(name).exists() {
        return;
    }
    let folder = mount.join(format!("palio-test-{}", std::process::id()));
    if fs::create_dir(&folder).is_err() {
        return;
    }
    let group = Group::of_argument(folder.to_str().unwrap());
    group.bound_memory(1 << 20);
    let bounds = ["memory.limit_in_bytes", name].map(|name| number(&folder, name));
    fs::remove_dir(&folder).unwrap();
    assert_eq!(bounds, [Some(1 << 30); 2]);
}

#[test]
fn inner_groups_count() {
    let (folder, group) = folder(&[("cgroup.procs", "4000001\n0\n")]);
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let own = std::process::id();
    fs::write(folder.path().join("a/b/cgroup.procs"), format!("4000002\n{own}\n")).unwrap();
    assert_eq!(group.processes(), BTreeSet::from([4_000_001, 4_000_002]));
}

#[test]
fn nobody_elses_group_has_such_a_name() {
    assert!(is_name("palio-command-12-3"));
    for name in ["palio-command-", "palio-command-12", "palio-command-12-x", "palio.service"] {
        assert!(!is_name(name), "{name}");
    }
}

#[test]
fn a_group_with_a_lock_is_left_alone_and_one_without_is_removed() {
    // Folders of any file system do.
    let mount = tempfile::tempdir().unwrap();
    let (held, lock) = make_folder(mount.path()).unwrap();
    let (lost, other) = make_folder(mount.path()).unwrap();
    drop(other);
    fs::create_dir(lost.join("inner")).unwrap();
    sweep(mount.path());
    assert!(held.is_dir());
    assert!(!lost.exists());
    drop(lock);
    sweep(mount.path());
    assert!(!held.exists());
}

#[test]
fn no_group_does_no_harm() {
    let mut group = Group::of_argument("");
    assert_eq!(group.enter(), Ok(()));
    group.leave();
    assert_eq!(group.kill(), 0);
    assert_eq!(group.cpu(), None);
    group.remove();
    assert_eq!(group.argument(), "");
}

#[test]
fn a_quota_is_written_and_read_in_both_versions() {
    let budget = CpuBudget::of_threads(3);
    for (name, expected) in [("cpu.max", "30000 10000"), ("cpu.cfs_quota_us", "30000")] {
        let (folder, group) = folder(&[(name, "max 100000\n")]);
        quota::set(folder.path(), budget).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), expected);
        drop(group);
    }
    let throttled = |stat: &str| {
        let (folder, _) = folder(&[("cpu.stat", stat)]);
        Group::of_argument(&format!("!{}", folder.path().display())).throttled()
    };
    let expected = Some(Throttled { periods: 9, throttled: 4, throttled_us: 7_000 });
    assert_eq!(throttled("nr_periods 9\nnr_throttled 4\nthrottled_time 7000000\n"), expected);
    let v2 = "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 7000\nnr_bursts 0\n";
    assert_eq!(throttled(v2), expected);
    assert_eq!(throttled("usage_usec 1\n"), None);
}

#[test]
fn the_folder_with_the_quota_keeps_its_mark_and_must_be_entered() {
    let argument = "/a/palio-command-1-1\n!/b/palio-command-1-2";
    let mut group = Group::of_argument(argument);
    assert_eq!(group.argument(), argument);
    let refusal = group.enter().unwrap_err();
    assert!(refusal.starts_with(NO_BUDGET) && refusal.contains("/b/palio"), "{refusal}");
    // Any other one may be missing.
    assert_eq!(Group::of_argument("/a/palio-command-1-1").enter(), Ok(()));
}

#[test]
fn a_palio_that_moved_is_found_beside_its_commands() {
    let home = home_beside(Path::new("/x/palio-command-12-3")).unwrap();
    assert_eq!(home, Path::new("/x/palio-home-12"));
    assert_eq!(home_beside(Path::new("/x/other")), None);
}

#[test]
fn the_controller_is_handed_on_once_palio_has_moved() {
    let folder = |controllers: &str, handed_on: &str| {
        folder(&[("cgroup.controllers", controllers), ("cgroup.subtree_control", handed_on)]).0
    };
    // What is handed on already needs no move; a missing controller is told.
    assert_eq!(quota::hand_on(folder("cpu memory", "memory cpu\n").path()), Ok(()));
    let refusal = quota::hand_on(folder("cpuset memory", "").path()).unwrap_err();
    assert!(refusal.contains("controller cpu"), "{refusal}");
    let moves = folder("cpu memory", "");
    assert_eq!(quota::hand_on(moves.path()), Ok(()));
    let read = |name: String| fs::read_to_string(moves.path().join(name)).unwrap();
    assert_eq!(read("cgroup.subtree_control".into()), "+cpu");
    assert_eq!(read(format!("palio-home-{}/cgroup.procs", std::process::id())), "0");
}

/// With `cpu` and `cpuacct` in one hierarchy of v1, the folder tells of quotas in the file in which
/// one of v2 tells of time.
#[test]
fn cpu_time_is_found_beside_the_counts_of_a_quota() {
    let v1 = [
        ("cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
        ("cpuacct.usage_user", "5000000\n"),
        ("cpuacct.usage_sys", "1000000\n"),
    ];
    let (_folder, group) = folder(&v1);
    let cpu = group.cpu().unwrap();
    assert_eq!((cpu.user_us, cpu.sys_us), (5_000, 1_000));
}
