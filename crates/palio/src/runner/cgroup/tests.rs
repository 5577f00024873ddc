use super::*;

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
    let (folder, group) = folder(&[("memory.max", "max\n"), ("memory.oom.group", "0\n")]);
    group.bound_memory(3);
    let read = |name| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((read("memory.max"), read("memory.oom.group")), ("3072".into(), "1".into()));
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
    group.enter();
    group.leave();
    assert_eq!(group.kill(), 0);
    assert_eq!(group.cpu(), None);
    group.remove();
    assert_eq!(group.argument(), "");
}
