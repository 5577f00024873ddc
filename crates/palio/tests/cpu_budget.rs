//! The track with a CPU budget: what holds a contender, and that the two tracks stay apart.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{self, Fake, Project, assert_has, cells};
use palio::record::RunRecord;
use palio::store::export;
use serde_json::Value;

/// What `doctor` says of budgets; `None` where none can be kept, so that there is nothing to test.
/// `PALIO_REQUIRE_CONTROL_GROUPS` says that one must be.
fn budgets(project: &Project) -> Option<String> {
    let doctor = project.palio(&["doctor", "--json"]).run().exits(0).json();
    let said = doctor["cpu_budgets"].as_str().unwrap().to_owned();
    if said.starts_with("none: ") {
        let required = std::env::var_os("PALIO_REQUIRE_CONTROL_GROUPS").is_some();
        assert!(!required, "{said}");
        eprintln!("skipped, no CPU budget can be kept here: {said}");
        return None;
    }
    Some(said)
}

/// The blocks' invocations of a contender in what is stored of the race with (or without) a budget.
fn invocations<'a>(run: &'a Value, contender: &str, capped: bool) -> Vec<&'a Value> {
    let races = run["races"].as_array().unwrap().iter();
    let races = races.filter(|race| race["cpu_budget"].is_object() == capped);
    let cells = races.flat_map(|race| race["cells"].as_array().unwrap());
    let cells = cells.filter(|cell| cell["contender"] == contender);
    let all = cells.flat_map(|cell| cell["invocations"].as_array().unwrap());
    all.filter(|invocation| invocation["block"].is_u64()).collect()
}

/// CPU time ÷ wall time of the whole process.
fn processors(invocation: &Value) -> f64 {
    let of = |name: &str| invocation["resources"][name].as_u64().unwrap() as f64;
    (of("user_us") + of("sys_us")) / of("wall_us")
}

/// Races `spinner` on one thread in both tracks, and checks that the budget of one processor held
/// all of it.
#[track_caller]
fn holds(spinner: Fake) {
    let project = Project::new().with(Fake::new("good")).with(spinner);
    if budgets(&project).is_none() {
        return;
    }
    let report = project.race().arg("--cpu-budget=both").run().exits(0).json();
    let stored = project.stored();
    let capped = invocations(&stored, "spinner", true);
    assert_eq!(capped.len(), 2);
    for invocation in capped {
        assert_eq!(invocation["outcome"], "ok", "{invocation}");
        let processors = processors(invocation);
        assert!(processors <= 1.2, "{processors} processors under a budget of one");
        // Beside many others, it may never have got as much as its budget.
        let stood_still = invocation["throttled"]["throttled"].as_u64().unwrap() > 0;
        assert!(stood_still || processors < 0.9, "{invocation}");
    }
    // Who needs no more than its budget is not held up.
    let good = invocations(&stored, "good", true);
    assert!(good.iter().all(|i| i["throttled"]["periods"].is_u64() && i["outcome"] == "ok"));
    for invocation in invocations(&stored, "spinner", false) {
        assert_eq!(invocation["throttled"], Value::Null);
    }
    let [free, capped] = &report["races"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!(free["cpu_budget"], Value::Null);
    assert_eq!(capped["cpu_budget"]["cpus"], 1);
    assert_eq!(capped["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn threads_beyond_the_budget_stand_still() {
    holds(Fake::new("spinner").fault("spin:2"));
}

#[test]
fn child_processes_are_held_to_the_same_budget() {
    holds(Fake::new("spinner").fault("spin-children:2"));
}

#[test]
fn the_tracks_are_neither_ranked_nor_averaged_together() {
    let project = Project::good_and(Fake::new("other"));
    if budgets(&project).is_none() {
        return;
    }
    let report = project.race().arg("--cpu-budget=both").run().exits(0).json();
    let totals = report["totals"].as_array().unwrap();
    for capped in [false, true] {
        let of = totals.iter().filter(|total| total["capped"] == capped);
        assert!(of.clone().all(|total| total["of"] == 1 && total["common"] == 1), "{totals:#?}");
        assert_eq!(of.count(), 2);
    }
    let markdown = project.palio(&["report", "latest", "--format", "markdown"]).run().exits(0);
    let parts = ["## CPU budget", "1 thread in 1 CPU", "good, in 1 CPU", "## Overall, async, with"];
    assert_has(&markdown.stdout, &parts);
    let html = project.palio(&["report", "latest", "--format", "html"]).run().exits(0);
    assert_has(&html.stdout, &["<section id=budget", "good, in 1 CPU"]);
    let terminal = project.palio(&["report", "latest"]).run().exits(0);
    assert_has(&terminal.stdout, &["CPU budget", "good, in 1 CPU", "Throttled"]);
    let csv = project.palio(&["report", "latest", "--format", "csv"]).run().exits(0).stdout;
    assert_has(csv.lines().next().unwrap(), &["cpu_budget", "throttled_us"]);
    // What came in goes out again, and in.
    let bundle = project.palio(&["export", "latest", "-"]).run().exits(0).stdout;
    let other = Project::new();
    let file = other.write("bundle.json", &bundle);
    other.palio(&[Path::new("import"), &file]).run().exits(0);
    assert_eq!(other.stored(), project.stored());
    // And not, where a process took more than its budget.
    let mut run = project.stored();
    let races = run["races"].as_array_mut().unwrap();
    let capped = races.iter_mut().find(|race| race["cpu_budget"].is_object()).unwrap();
    capped["cells"][0]["invocations"][1]["resources"]["user_us"] = 60_000_000.into();
    let forged: RunRecord = serde_json::from_value(run).unwrap();
    let mut text = Vec::new();
    export(&forged, &mut text).unwrap();
    let file = other.write("forged.json", &String::from_utf8(text).unwrap());
    let import = other.palio(&[Path::new("import"), &file]).set("--db", "empty.db");
    import.run().fails_with(&["invocations[1].resources", "CPU budget was not kept"]);
}

#[test]
fn without_control_groups_nobody_races_in_the_track_and_a_sentence_says_what_would_allow_it() {
    let project = Project::good_and(Fake::new("other"));
    let race = || project.race().env("PALIO_CONTROL_GROUPS", "none");
    let report = race().arg("--cpu-budget=both").run().exits(0).json();
    let [free, capped] = &report["races"].as_array().unwrap()[..] else { panic!("{report}") };
    assert!(free["entries"].as_array().unwrap().iter().all(|entry| entry["outcome"] == "ok"));
    for entry in capped["entries"].as_array().unwrap() {
        assert_eq!(entry["outcome"], "unsupported");
        assert_has(entry["detail"].as_str().unwrap(), &["CPU budget", "PALIO_CONTROL_GROUPS"]);
    }
    project.assert_travels();
    race().arg("--cpu-budget").run().fails_with(&["none of these contenders", "CPU budget"]);
    let doctor = project.palio(&["doctor"]).env("PALIO_CONTROL_GROUPS", "none").run().exits(0);
    assert_has(&doctor.stdout, &["CPU budgets"]);
    // Of rows with many fibers.
    if cfg!(target_os = "linux") {
        let most = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        assert_has(&doctor.stdout, &["mappings", most.trim()]);
    }
}

/// What has raced would otherwise stay, and nothing could be concluded from it.
#[test]
fn a_run_with_a_budget_is_not_resumed_where_none_can_be_kept() {
    let project = Project::good_and(Fake::new("bad").fault("meet:2").from(2));
    if budgets(&project).is_none() {
        return;
    }
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").arg("--cpu-budget").start();
    let guest = meeting.guest();
    palio.signal(nix::sys::signal::Signal::SIGINT);
    drop(guest);
    palio.finish().exits(130);
    let resume = || project.palio(&["run", "--resume", "--json"]);
    resume().env("PALIO_CONTROL_GROUPS", "none").run().fails_with(&[
        "cannot be resumed as it is",
        "CPU budget",
        "PALIO_CONTROL_GROUPS",
    ]);
    let report = resume().run().exits(0).json();
    assert_eq!(support::entry(&report, "bad")["outcome"], "ok");
}

/// The folders of a Palio's commands that have a quota.
fn quotas_of(id: u32) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let (name, path) = (entry.file_name().into_string().unwrap(), entry.path());
            let quota = ["cpu.cfs_quota_us", "cpu.max"].map(|name| path.join(name));
            let quota = quota.iter().find_map(|file| fs::read_to_string(file).ok());
            let has_quota =
                quota.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()));
            if has_quota && name.starts_with(&format!("palio-command-{id}-")) {
                found.push(path.clone());
            }
            folders.push(path);
        }
    }
    found
}

#[test]
fn a_group_that_vanishes_while_its_contender_races_takes_it_out_and_loses_nothing() {
    let project = Project::good_and(Fake::new("bad").fault("meet:2").from(2));
    if budgets(&project).is_none() {
        return;
    }
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").arg("--cpu-budget").start();
    let guest = meeting.guest();
    let quotas = quotas_of(palio.id());
    let [quota] = &quotas[..] else { panic!("{quotas:?}") };
    // As an administrator would: what is in it goes one up, and it is removed.
    let processes = fs::read_to_string(quota.join("cgroup.procs")).unwrap();
    for id in processes.lines() {
        fs::write(quota.parent().unwrap().join("cgroup.procs"), id).unwrap();
    }
    fs::remove_dir(quota).unwrap();
    drop(guest);
    let report = palio.finish().exits(0).json();
    let bad = support::entry(&report, "bad");
    assert_eq!(bad["outcome"], "unsupported");
    assert_has(bad["detail"].as_str().unwrap(), &["CPU budget", "vanished"]);
    assert_eq!(support::entry(&report, "good")["outcome"], "ok");
    let stored = project.stored();
    let raced = cells(&stored).into_iter().filter(|cell| cell["contender"] == "bad");
    let samples = raced.flat_map(|cell| cell["invocations"].as_array().unwrap());
    assert!(samples.map(|i| i["samples"].as_array().unwrap().len()).sum::<usize>() > 2);
}

/// Whoever loses could otherwise leave the row as Palio's own inability, and not as a crash.
#[test]
fn a_late_refusal_in_the_words_of_a_lost_budget_is_a_crash() {
    let words = "cannot be held to a CPU budget any more: its group is gone";
    refuses_late(words);
    // In those of a warden that cannot start it.
    refuses_late(&format!("palio-warden-cannot: {words}"));
}

#[track_caller]
fn refuses_late(words: &str) {
    let bad = Fake::new("bad").fault("refuse:3").fault(&format!("refuse-saying:{words}")).from(3);
    let project = Project::good_and(bad);
    if budgets(&project).is_none() {
        return;
    }
    let race = project.race().set("--reference", "good").arg("--cpu-budget");
    let report = race.run().exits(0).json();
    let bad = support::entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed", "{bad:#}");
    let said = format!("it refused after 2 processes that raced: {words}");
    assert_eq!(bad["detail"], said);
}

/// What a contender with the rights of Palio might do to its own group while it races.
#[track_caller]
fn is_out_of_its_budget(escape: fn(&Path), reason: &str) {
    let project = Project::good_and(Fake::new("bad").fault("meet:2").from(2));
    if budgets(&project).is_none() {
        return;
    }
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").arg("--cpu-budget").start();
    let guest = meeting.guest();
    let quotas = quotas_of(palio.id());
    let [quota] = &quotas[..] else { panic!("{quotas:?}") };
    escape(quota);
    drop(guest);
    let report = palio.finish().exits(0).json();
    let bad = support::entry(&report, "bad");
    assert_eq!(bad["outcome"], "unsupported", "{bad:#}");
    assert_has(bad["detail"].as_str().unwrap(), &["CPU budget", reason]);
    assert_eq!(support::entry(&report, "good")["outcome"], "ok");
}

#[test]
fn who_leaves_the_group_of_its_budget_is_taken_out() {
    let leave = |quota: &Path| {
        for id in fs::read_to_string(quota.join("cgroup.procs")).unwrap().lines() {
            fs::write(quota.parent().unwrap().join("cgroup.procs"), id).unwrap();
        }
    };
    is_out_of_its_budget(leave, "left the control group");
}

#[test]
fn who_raises_its_quota_is_taken_out() {
    let raise = |quota: &Path| {
        if fs::write(quota.join("cpu.max"), "max").is_err() {
            fs::write(quota.join("cpu.cfs_quota_us"), "-1").unwrap();
        }
    };
    is_out_of_its_budget(raise, "quota was changed");
}
