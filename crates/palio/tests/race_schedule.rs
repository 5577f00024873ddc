//! All cells of a race are asked for the same: as many samples, of as many iterations.

use std::collections::BTreeSet;

use crate::support::{self, Fake, Project, assert_has, cells, entry};
use nix::sys::signal::Signal;
use serde_json::Value;

fn claiming(id: &str, ns: u64) -> Fake {
    Fake::new(id).fault(&format!("claim:{ns}"))
}

/// Contenders of which the slowest is 60,000 times as slow as the fastest.
fn unequal() -> Project {
    Project::new()
        .with(claiming("fast", 50))
        .with(claiming("middling", 40_000))
        .with(claiming("slow", 3_000_000))
}

/// `samples` and `batch` of every cell that has them.
fn schedules(stored: &Value) -> Vec<Value> {
    cells(stored).into_iter().map(|cell| cell["schedule"].clone()).collect()
}

#[test]
fn unequal_contenders_and_a_shadow_have_one_batch_and_one_sample_count() {
    let project = unequal();
    project.race().set("--budget", "1000").run().exits(0);
    let stored = project.stored();
    let all = schedules(&stored);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|schedule| *schedule == all[0]), "{all:?}");
    // 1 s is 986 iterations of their mean pace, of which at least 5 samples can be made with
    // batches of up to 128.
    assert_eq!(all[0], serde_json::json!({ "warm_ups": 1, "samples": 7, "batch": 128 }));
    for cell in cells(&stored) {
        for invocation in cell["invocations"].as_array().unwrap() {
            if invocation["block"].is_null() {
                continue;
            }
            let samples = invocation["samples"].as_array().unwrap();
            let measured: Vec<_> = samples.iter().filter(|s| s["warm_up"] == false).collect();
            assert_eq!(measured.len(), 7);
            assert!(measured.iter().all(|sample| sample["batch"] == 128));
        }
    }
}

#[test]
fn a_sample_in_which_the_clock_weighs_is_named() {
    let project = unequal();
    let report = project.race().set("--budget", "1000").run().exits(0).json();
    let cautions = report["races"][0]["cautions"].to_string();
    assert!(cautions.contains("clock weighs in them: fast (6.40 µs)"), "{cautions}");
    assert!(!cautions.contains("slow"), "{cautions}");
}

#[test]
fn equal_contenders_fill_the_budget_beyond_a_hundred_samples() {
    let project = Project::good_and(Fake::new("bad"));
    let report = project.race().set("--budget", "400").run().exits(0).json();
    assert_eq!(entry(&report, "good")["samples"], 2 * 200);
    assert_eq!(entry(&report, "bad")["samples"], 2 * 200);
    assert_eq!(report["races"][0]["cautions"], serde_json::json!([]));
}

#[test]
fn who_fails_in_the_pilot_decides_nothing() {
    let project = Project::good_and(claiming("bad", 90_000_000).fault("exit-at-end:1"));
    let report = project.race().set("--budget", "400").run().exits(0).json();
    assert_eq!(entry(&report, "good")["samples"], 2 * 200);
}

#[test]
fn who_cannot_end_a_warm_up_and_a_sample_in_time_decides_nothing() {
    let project = Project::good_and(claiming("bad", 2_600_000_000));
    let race = project.race().set("--budget", "100").set("--timeout", "4");
    let report = race.run().exits(0).json();
    assert_eq!(entry(&report, "good")["samples"], 2 * 50);
    let stored = project.stored();
    let bad = cells(&stored).into_iter().find(|cell| cell["contender"] == "bad").unwrap();
    assert_eq!(bad["outcome"], "timed-out");
    assert_has(bad["detail"].as_str().unwrap(), &["took 2.6 s in its pilot", "--timeout"]);
    let starts = project.starts();
    assert_eq!(starts.iter().filter(|name| *name == "bad").count(), 1, "{starts:?}");
    let bundle = project.path("run.json");
    project.palio(&["export", "latest", bundle.to_str().unwrap()]).run().exits(0);
    project.palio(&["report", "--bundle", bundle.to_str().unwrap()]).run().exits(0);
}

#[test]
fn who_timed_out_in_one_block_is_not_started_in_the_next_and_nor_is_its_shadow() {
    let project = Project::good_and(Fake::new("bad").fault("silent").from(2));
    let race = project.race().set("--blocks", "4").set("--timeout", "2");
    let report = race.set("--reference", "bad").run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "timed-out");
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let starts = project.starts();
    // A pilot, and one block: as itself or, if that came first, as its shadow.
    assert_eq!(starts.iter().filter(|name| *name == "bad").count(), 2, "{starts:?}");
    assert_eq!(starts.iter().filter(|name| *name == "good").count(), 1 + 4, "{starts:?}");
}

#[test]
fn a_run_that_was_cut_off_between_pilots_agrees_on_the_same() {
    let names = ["fast", "slow"];
    let whole = Project::new().with(claiming(names[0], 50)).with(claiming(names[1], 3_000_000));
    whole.race().set("--budget", "1000").run().exits(0);

    let cut = Project::new()
        .with(claiming(names[0], 50))
        .with(claiming(names[1], 3_000_000).fault("meet"));
    let meeting = cut.meeting("slow");
    let palio = cut.race().set("--budget", "1000").start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    drop(guest);
    assert!(schedules(&cut.stored()).iter().all(Value::is_null));
    cut.palio(&["run", "--resume"]).run().exits(0);
    assert_eq!(schedules(&cut.stored()), schedules(&whole.stored()));
    let pilots = cut.starts().iter().take_while(|name| **name == "fast").count();
    assert_eq!(pilots, 1, "the pilot that was stored is not repeated");
}

#[test]
fn the_first_sample_of_each_process_counts_in_a_cold_race() {
    let project = Project::good_and(Fake::new("bad"));
    let race = project.race().unset("--warm-up").arg("--cold");
    let run = race.run().exits(0);
    let told = "no warm-up: one of the 5 samples of each process is its first";
    assert_has(&run.json()["races"][0]["cautions"].to_string(), &[told]);
    let stored = project.stored();
    assert_eq!(stored["header"]["limits"]["cold"], true);
    for cell in cells(&stored) {
        assert_eq!(cell["schedule"]["warm_ups"], 0);
        for invocation in cell["invocations"].as_array().unwrap() {
            if invocation["block"].is_null() {
                continue;
            }
            let samples = invocation["samples"].as_array().unwrap();
            assert!(!samples.is_empty());
            assert!(samples.iter().all(|sample| sample["warm_up"] == false));
        }
    }
    let again = project.palio(&["report", "latest", "--format", "markdown"]).run().exits(0);
    assert_has(&again.stdout, &["palio run ", " --cold "]);
    project.assert_travels();
    let both = project.race().arg("--cold").run();
    both.exits(2).complains(&["--cold", "--warm-up"]);
}

#[test]
fn a_race_of_so_many_samples_has_no_pilots() {
    let project = Project::new()
        .with(Fake::new("good"))
        .with(claiming("slow", 40_000_000))
        .with(Fake::new("bad").fault("refuse"));
    let race = || project.race().unset("--warm-up").unset("--budget").arg("--cold");
    let run = race().set("--samples", "2").set("--blocks", "3").set("--reference", "good").run();
    let report = run.exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "unsupported");
    assert_eq!(entry(&report, "slow")["outcome"], "ok");
    let stored = project.stored();
    for cell in cells(&stored).iter().filter(|cell| cell["contender"] != "bad") {
        let invocations = cell["invocations"].as_array().unwrap();
        let blocks: Vec<_> = invocations.iter().map(|i| i["block"].as_u64().unwrap()).collect();
        assert_eq!(blocks, [0, 1, 2], "{}", cell["contender"]);
        for invocation in invocations {
            let samples = invocation["samples"].as_array().unwrap();
            let batches: Vec<_> = samples.iter().map(|s| s["batch"].as_u64().unwrap()).collect();
            assert_eq!(batches, [1, 1]);
        }
    }
    let again = project.palio(&["report", "latest", "--format", "markdown"]).run().exits(0);
    assert_has(&again.stdout, &["--cold", "--samples 2"]);
    project.assert_travels();
    // With a warm-up, too, which its first sample may be.
    let warm = project.race().unset("--budget").set("--samples", "1").run().exits(0);
    assert_eq!(entry(&warm.json(), "good")["samples"], 2);
    for (other, value) in [("--budget", "5"), ("--cpu-budget=only", "")] {
        let args = ["run", "quick", "--samples", "1", other, value];
        let args = if value.is_empty() { &args[..5] } else { &args[..] };
        project.palio(args).run().exits(2).complains(&["--samples", "cannot be used with"]);
    }
    project.palio(&["run", "quick", "--samples", "0"]).run().exits(2).complains(&["--samples"]);
}

/// Neither is the time until it reads its first command anything that it hides.
#[test]
fn a_slow_start_is_no_warm_up_and_nothing_to_doubt() {
    let project = Project::good_and(Fake::new("bad").fault("slow-start"));
    let report = project.race().unset("--warm-up").arg("--cold").run().exits(0).json();
    let doubts = entry(&report, "bad")["doubts"].to_string();
    assert!(!doubts.contains("accounted for"), "{doubts}");

    project.race().set("--warm-up", "100").run().exits(0);
    let stored = project.stored();
    for cell in cells(&stored) {
        for invocation in cell["invocations"].as_array().unwrap() {
            if invocation["block"].is_null() {
                continue;
            }
            let samples = invocation["samples"].as_array().unwrap();
            let warm = samples.iter().filter(|sample| sample["warm_up"] == true).count();
            assert!(warm > 1, "{}: {warm}", cell["contender"]);
        }
    }
}

#[test]
fn warm_up_lasts_as_long_as_was_asked_for_and_enters_no_result() {
    let project = Project::new().with(Fake::new("fake"));
    let report = project.race().set("--warm-up", "50").run().exits(0).json();
    assert_eq!(entry(&report, "fake")["samples"], 10);
    let stored = project.stored();
    let invocation = &cells(&stored)[0]["invocations"][1];
    let samples = invocation["samples"].as_array().unwrap();
    let warm_ups: Vec<_> = samples.iter().filter(|s| s["warm_up"] == true).collect();
    // One sample is 2 ms of sleep, a small part of the 50 ms even where the machine delays it.
    assert!((2..=65).contains(&warm_ups.len()), "{}", warm_ups.len());
    let batches: Vec<u64> = warm_ups.iter().map(|s| s["batch"].as_u64().unwrap()).collect();
    assert!(batches.windows(2).all(|pair| pair[1] <= 2 * pair[0]), "{batches:?}");
}

#[test]
fn growth_within_every_process_is_shown() {
    // Every sample claims 1 ns more than the one before it: little, but in every process.
    let growing = claiming("growing", 40).fault("count-up");
    let project = Project::new().with(growing).with(claiming("steady", 40));
    let report =
        project.race().set("--blocks", "5").set("--reference", "steady").run().exits(0).json();
    let drift = |name| entry(&report, name)["drift"]["point"].as_f64().unwrap();
    assert!(drift("growing") > 1.0 && drift("steady") == 1.0);
    assert!(entry(&report, "steady")["drift"]["lo"] == 1.0);
}

#[test]
fn drift_that_matters_is_told_by_name() {
    let growing = claiming("growing", 200_000).fault("count-up:40000");
    let project = Project::new().with(growing).with(claiming("steady", 200_000));
    let report =
        project.race().set("--blocks", "5").set("--reference", "steady").run().exits(0).json();
    let cautions = report["races"][0]["cautions"].to_string();
    let said =
        "time changes while a process lives (last third of its samples ÷ first third): growing ×";
    assert!(cautions.contains(said), "{cautions}");
    assert!(!cautions.contains("steady"), "{cautions}");
    let text = project.palio(&["report", "latest"]).run().exits(0).stdout;
    support::assert_has(&text, &["time changes while a process lives"]);
}

/// How long every process of a block lived beside its measured samples, in ms.
fn unmeasured_ms(stored: &Value) -> Vec<f64> {
    let invocations =
        cells(stored).into_iter().flat_map(|cell| cell["invocations"].as_array().unwrap());
    let raced = invocations.filter(|invocation| invocation["block"].is_u64());
    raced
        .map(|invocation| {
            let spans = invocation["spans"].as_array().unwrap();
            let measured = spans.iter().filter(|span| span["warm_up"] != true);
            let measured_ns: f64 = measured.map(|span| span["wall_ns"].as_f64().unwrap()).sum();
            invocation["resources"]["wall_us"].as_f64().unwrap() / 1e3 - measured_ns / 1e6
        })
        .collect()
}

#[test]
fn presets_warm_up_by_time_and_a_fast_contender_as_long_as_a_slow_one() {
    for (preset, least_ms) in [("quick", 30), ("native", 500)] {
        let project = Project::new().with(claiming("fast", 50)).with(claiming("slow", 2_000_000));
        let race = project.race().unset("--warm-up").set("--preset", preset).set("--blocks", "1");
        race.set("--outside-max", "100").run().exits(0);
        let stored = project.stored();
        assert_eq!(stored["header"]["limits"]["warm_up_ms"], least_ms);
        // Of what lies between two commands no record tells, and on a busy machine that is most.
        let unmeasured = unmeasured_ms(&stored);
        assert_eq!(unmeasured.len(), 3);
        assert!(unmeasured.iter().all(|&ms| ms >= f64::from(least_ms)), "{preset}: {unmeasured:?}");
    }
}

#[test]
fn samples_of_one_root_are_longer_for_the_sake_of_the_fast() {
    let batch = |file: &str| {
        let project = Project::new().with(claiming("fast", 50)).with(claiming("slow", 2_000_000));
        project.write("workloads/echo.toml", file);
        project.race().set("--blocks", "1").set("--budget", "100").run().exits(0);
        let stored = project.stored();
        let cells = stored["races"][0]["cells"].as_array().unwrap();
        let batches = cells.iter().map(|cell| cell["schedule"]["batch"].as_u64().unwrap());
        let batches: BTreeSet<u64> = batches.collect();
        assert_eq!(batches.len(), 1, "one schedule for all");
        *batches.first().unwrap()
    };
    let apart = Project::new().read("workloads/echo.toml");
    let in_one = apart.replace("[[case]]", "one_root = true\n\n[[case]]");
    assert_eq!((batch(&apart), batch(&in_one)), (16, 64));
}
