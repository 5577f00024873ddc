//! Nothing that a contender or a build has started outlives Palio's interest in it, whichever dies
//! first.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{self, Fake, Project, assert_has, entry};
use nix::sys::signal::Signal;

/// With control groups, and without them: wardens are enough.
const GROUPS: [&str; 2] = ["", "none"];

/// Kills Palio when a contender comes to the meeting whose faults `faulty` gives it, and checks
/// that what came there ends.
#[track_caller]
fn kill_palio(faulty: impl Fn(Fake) -> Fake) {
    for groups in GROUPS {
        let project = Project::good_and(faulty(Fake::new("bad")));
        let meeting = project.meeting("bad");
        let palio = project.race().env("PALIO_CONTROL_GROUPS", groups).start();
        let guest = meeting.guest();
        palio.signal(Signal::SIGKILL);
        palio.finish().dies_of(Signal::SIGKILL);
        guest.must_end();
    }
}

#[test]
fn a_contender_ends_with_palio() {
    kill_palio(|bad| bad.fault("meet"));
    kill_palio(|bad| bad.fault("meet:3").from(2));
}

#[test]
fn a_contender_that_describes_itself_ends_with_palio() {
    kill_palio(|bad| bad.fault("describe-hang"));
}

#[test]
fn what_a_contender_has_started_ends_with_palio() {
    for kind in ["grandchild", "grandchild:escaped", "grandchild:daemon"] {
        kill_palio(|bad| bad.fault(kind));
    }
}

#[test]
fn a_build_ends_with_palio() {
    let project = Project::new().with(Fake::new("good"));
    // Not the command itself: what it starts.
    let [program, args @ ..] = project.lingering("bad");
    let line = format!("'{program}' {} & wait", args.join(" "));
    let build = format!("[build]\ncommands = [{:?}]\n", ["sh", "-c", &line]);
    let project = project.with(Fake::new("bad").toml(&build));
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let meeting = project.meeting("bad");
        let palio = project.race().start();
        let guest = meeting.guest();
        palio.signal(signal);
        palio.finish();
        guest.must_end();
    }
}

#[test]
fn daemons_end_with_their_contender_and_are_told() {
    // As any contender; and as the reference, whose third process is its shadow's.
    for reference in ["good", "bad"] {
        let project = Project::good_and(Fake::new("bad").fault("grandchild:daemon").from(3));
        let meeting = project.meeting("bad");
        let palio = project.race().set("--reference", reference).start();
        let guest = meeting.guest();
        let report = palio.finish().exits(0).json();
        guest.must_end();
        let bad = entry(&report, "bad");
        assert_eq!(bad["outcome"], "ok");
        assert_has(&bad["doubts"].to_string(), &["left 1 process behind", "killed"]);
        let others = entry(&report, "good")["doubts"].to_string();
        assert!(!others.contains("behind"), "{others}");
    }
}

#[test]
fn the_memory_of_a_child_counts() {
    let project = Project::good_and(Fake::new("bad").fault("child-eats-memory"));
    let report = project.race().set("--memory", "100").run().exits(0).json();
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed");
    assert_has(bad["detail"].as_str().unwrap(), &["memory reached", "MiB", "--memory"]);
}

#[test]
fn a_contender_that_kills_what_watches_it_ends_all_the_same() {
    let project = Project::good_and(Fake::new("bad").fault("kill-parent").from(2));
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").start();
    let guest = meeting.guest();
    let report = palio.finish().exits(0).json();
    guest.must_end();
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed");
    assert_has(bad["detail"].as_str().unwrap(), &["signal 9"]);
}

#[test]
fn what_dies_of_a_signal_leaves_no_core() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if !pattern.starts_with("core") {
        eprintln!("skipped, cores are not written into the current folder here: {pattern}");
        return;
    }
    let build = "[build]\ncommands = [[\"sh\", \"-c\", \"kill -ABRT $$\"]]\n";
    let project = Project::good_and(Fake::new("bad").fault("abort"));
    let project = project.with(Fake::new("broken").toml(build));
    let race = project.race().through_shell("ulimit -c unlimited && exec \"$@\"");
    let report = race.run().exits(0).json();
    assert_has(entry(&report, "bad")["detail"].as_str().unwrap(), &["signal 6"]);
    assert_has(&report["contenders"].to_string(), &["signal: 6"]);
    let folders = ["", "contenders/rust/bad", "contenders/rust/broken"];
    let names = folders.iter().flat_map(|folder| fs::read_dir(project.path(folder)).unwrap());
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let cores: Vec<String> = names.filter(|name| name.starts_with("core")).collect();
    assert!(cores.is_empty(), "{cores:?}");
}

#[test]
fn what_a_contender_does_to_palio_is_inherited_by_nobody() {
    let own = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap();
    let (status, stat) = (own("status"), own("stat"));
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = list.trim().split([',', '-']).next().unwrap();
    // Field 19, of which the state is the third.
    let nice = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap();
    let meddling = [
        ("prlimit --nofile=90 --pid".to_owned(), "its limit of open files (", true),
        ("renice -n 19 -p".to_owned(), "its nice value (", nice != "19"),
        (format!("taskset -cp {first}"), "its list of processors (", list.trim() != first),
    ];
    for (command, what, _) in meddling.into_iter().filter(|(.., changes)| *changes) {
        // As the reference, whose pilot is the first process of all.
        let project = Project::good_and(Fake::new("bad").fault(&format!("meddle:{command}")));
        let race = project.race().set("--reference", "bad").run().exits(2);
        assert_has(&race.stderr, &["changed what all contenders inherit", "after bad was", what]);
        // Who did it is not known, so that there is a way out for whoever knows that it was a tool.
        assert_has(&race.stderr, &["ananicy", "nice -n 10 palio", "palio run --resume"]);
        assert_eq!(project.starts(), ["bad"], "{command}");
        // What is stored is gone on with, and its second process leaves Palio alone.
        let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
        assert_eq!(entry(&report, "good")["outcome"], "ok", "{command}");
        assert_eq!(project.starts()[1], "good", "{command}");
    }
}

/// A control group of v1 in which processes stand still, and die only once it is thawed.
struct Frozen(PathBuf);

impl Frozen {
    /// `None` where the system has no such groups, or gives none to this user.
    fn make() -> Option<Self> {
        let folder = format!("/sys/fs/cgroup/freezer/palio-test-{}", std::process::id());
        let folder = PathBuf::from(folder);
        fs::create_dir(&folder).ok()?;
        let frozen = Self(folder);
        frozen.0.join("freezer.state").exists().then_some(frozen)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
        while fs::remove_dir(&self.0).is_err_and(|error| error.kind() == ErrorKind::ResourceBusy) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn what_cannot_be_ended_is_named_in_the_warnings_of_the_run() {
    let Some(frozen) = Frozen::make() else { return };
    let script = "set -e\n\
                  sleep 1000 < /dev/null > /dev/null 2>&1 &\n\
                  until grep -qx sleep /proc/$!/comm; do sleep 0.01; done\n\
                  echo $! > $1/cgroup.procs\n\
                  echo FROZEN > $1/freezer.state\n\
                  until grep -q FROZEN $1/freezer.state; do sleep 0.01; done\n\
                  kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat)\n";
    let project = Project::new();
    project.write("stay.sh", script);
    let command = format!("sh {} {}", project.path("stay.sh").display(), frozen.0.display());
    let bad = Fake::new("bad").fault(&format!("meddle:{command}"));
    let project = project.with(bad).with(Fake::new("good"));
    let race = project.race().set("--reference", "good").env("PALIO_CONTROL_GROUPS", "none").run();
    let said = ["What was left behind could not be ended: ", " (sleep). It lives on beside"];
    assert_has(&race.stderr, &said);
    let report = project.report("latest");
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let warnings = report["run"]["warnings"].to_string();
    assert_has(&warnings, &said);
    assert_eq!(warnings.matches(said[0]).count(), 1, "{warnings}");
    let left = fs::read_to_string(frozen.0.join("cgroup.procs")).unwrap();
    assert_ne!(left, "", "something ended it, so that nothing is tested");
}

/// What `doctor` says of control groups; `None` where there are none, so that there is nothing to
/// test. `PALIO_REQUIRE_CONTROL_GROUPS` says that there must be some.
fn groups(project: &Project) -> Option<String> {
    let doctor = project.palio(&["doctor", "--json"]).run().exits(0).json();
    let said = doctor["machine"]["control_groups"].as_str().unwrap().to_owned();
    if said.starts_with("none: ") {
        let required = std::env::var_os("PALIO_REQUIRE_CONTROL_GROUPS").is_some();
        assert!(!required, "{said}");
        eprintln!("skipped, there are no control groups here: {said}");
        return None;
    }
    Some(said)
}

/// The groups of commands that are there now and whose Palio was `id`, as any hierarchy has them.
fn groups_of(id: u32) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with(&format!("palio-command-{id}-")) {
                found.push(entry.path());
            }
            folders.push(entry.path());
        }
    }
    found
}

#[test]
fn what_has_lost_its_warden_and_its_palio_ends_when_the_next_one_starts() {
    let project = Project::good_and(Fake::new("bad").fault("kill-all").from(2));
    if groups(&project).is_none() {
        return;
    }
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let first = palio.id();
    let guest = meeting.guest();
    palio.finish().dies_of(Signal::SIGKILL);
    // Of any project: that of another test may have started by now.
    project.palio(&["doctor"]).run().exits(0);
    guest.must_end();
    assert!(groups_of(first).is_empty());
}

#[test]
fn a_run_leaves_no_control_group_behind() {
    let project = Project::good_and(Fake::new("bad").fault("meet"));
    if groups(&project).is_none() {
        return;
    }
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let id = palio.id();
    let guest = meeting.guest();
    assert!(!groups_of(id).is_empty(), "the contender has no group");
    drop(guest);
    palio.finish().exits(0);
    assert!(groups_of(id).is_empty());
}

/// The largest of a number of the resources of `bad`, in all that is stored of it.
fn most(project: &Project, of: impl Fn(&serde_json::Value) -> u64) -> u64 {
    let stored = project.stored();
    let bad = support::cells(&stored).into_iter().filter(|cell| cell["contender"] == "bad");
    let invocations = bad.flat_map(|cell| cell["invocations"].as_array().unwrap());
    invocations.map(|invocation| of(&invocation["resources"])).max().unwrap()
}

#[test]
fn cpu_time_that_nobody_waited_for_counts() {
    let project = Project::good_and(Fake::new("bad").fault("unwaited").from(2));
    if !groups(&project).is_some_and(|said| said.contains("CPU time")) {
        return;
    }
    project.race().set("--reference", "good").run().exits(0);
    let cpu_us = most(&project, |taken| {
        taken["user_us"].as_u64().unwrap() + taken["sys_us"].as_u64().unwrap()
    });
    assert!(cpu_us >= 200_000, "{cpu_us}");
}

#[test]
fn cpu_time_of_an_orphan_that_has_ended_counts() {
    for groups in GROUPS {
        let project = Project::good_and(Fake::new("bad").fault("burning-orphan:2").from(2));
        let race = project.race().set("--reference", "good");
        race.env("PALIO_CONTROL_GROUPS", groups).run().exits(0);
        let stored = project.stored();
        let bad = support::cells(&stored).into_iter().find(|cell| cell["contender"] == "bad");
        let raced = bad.unwrap()["invocations"].as_array().unwrap().iter();
        let raced: Vec<_> = raced.filter(|invocation| invocation["block"].is_u64()).collect();
        assert_eq!(raced.len(), 2);
        // It ended during the measured command. The kernel tells what was waited for in ticks.
        for invocation in raced {
            let span = invocation["spans"].as_array().unwrap().last().unwrap();
            let cpu_ns = span["cpu_ns"].as_u64().unwrap();
            assert!(cpu_ns >= 150_000_000, "{cpu_ns}");
        }
    }
}

/// A child that the kernel killed after the last sample: nothing is asked of the contender any
/// more, and by itself it ends well.
#[test]
fn memory_that_was_refused_at_the_end_counts() {
    let project = Project::good_and(Fake::new("bad").fault("spike-at-end").from(2));
    // What does not fit into the group is swapped out of it where there is something to swap to.
    let swaps = fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1);
    if swaps || !groups(&project).is_some_and(|said| said.contains("memory")) {
        return;
    }
    let race = project.race().set("--reference", "good").set("--memory", "32");
    let report = race.run().exits(0).json();
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed", "{bad:#}");
    assert_has(bad["detail"].as_str().unwrap(), &["memory reached", "MiB", "--memory"]);
}

#[test]
fn memory_that_was_there_for_a_moment_counts() {
    let project = Project::good_and(Fake::new("bad").fault("spike").from(2));
    if !groups(&project).is_some_and(|said| said.contains("memory")) {
        return;
    }
    project.race().set("--reference", "good").run().exits(0);
    let kib = most(&project, |taken| taken["max_rss_kib"].as_u64().unwrap());
    // A look may have seen a part of it, and what is not much more than that is not believed.
    assert!(kib >= 32 * 1024, "{kib}");
}

#[test]
fn groups_that_are_turned_off_are_told_and_change_nothing_else() {
    let project = Project::good_and(Fake::new("other"));
    let race = || project.race().set("--reference", "good");
    for (groups, is_off) in [("none", true), ("", false)] {
        let report = race().env("PALIO_CONTROL_GROUPS", groups).run().exits(0).json();
        let said = report["run"]["machine"]["control_groups"].as_str().unwrap();
        assert!(said == "none: PALIO_CONTROL_GROUPS says so" || !is_off, "{said}");
        assert_eq!(entry(&report, "other")["outcome"], "ok");
        let doctor = project.palio(&["doctor"]).env("PALIO_CONTROL_GROUPS", groups);
        let doctor = doctor.run().exits(0).stdout;
        assert_has(&doctor, &["control groups"]);
        for format in ["markdown", "html"] {
            let text = project.palio(&["report", "latest", "--format", format]).run().exits(0);
            assert_has(&text.stdout, &["Control groups", said]);
        }
    }
}
