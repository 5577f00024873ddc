//! Contenders that serve, and are asked at a fixed rate by Palio.

use crate::support::{Fake, Palio, Project, assert_has, entry};
use serde_json::Value;

const SERVED: &str = r#"
id = "echo"
title = "Served"
model = "async"
scope = "steady"
unit = "request"
source = "the tests"
fidelity = "own"
statistic = "p50"
served = true
definition = "Answers 42."
unsalted = "the answer is the one thing that the tests need to know"

[[case]]
published = { set = { connections = 2, rate = 2_000, requests = 20, bytes = 16 }, threads = [1], answer = "42", ops = 40, work = 40 }
native = { like = "published" }
quick = { like = "published" }
"#;

/// A race between a contender that serves well and one that serves like this.
fn race(how: &str) -> (Project, Palio) {
    let project = Project::new()
        .with(Fake::new("good").fault("serve:well"))
        .with(Fake::new("bad").fault(how));
    project.write("workloads/echo.toml", SERVED);
    let race = project.race().set("--reference", "good");
    (project, race)
}

fn detail(report: &Value) -> &str {
    entry(report, "bad")["detail"].as_str().unwrap()
}

#[test]
fn every_request_is_timed_and_told_in_every_format() {
    let (project, race) = race("serve:well");
    let report = race.run().exits(0).json();
    for contender in ["good", "bad"] {
        let entry = entry(&report, contender);
        assert_eq!(entry["outcome"], "ok", "{entry}");
        let latency = &entry["latency"];
        assert_eq!(latency["offered_per_s"], 4_000.0);
        // 40 of each measured sample.
        let samples = entry["samples"].as_u64().unwrap();
        assert_eq!(latency["requests"].as_u64().unwrap(), 40 * samples);
        assert!(latency["p50_ns"].as_f64().unwrap() > 0.0);
        assert!(latency["p9999_ns"].is_null(), "so few requests have no such percentile");
    }
    for format in ["terminal", "markdown", "html"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        assert_has(&text, &["Latency at a fixed rate", "Achieved", "p99.99"]);
    }
    let csv = project.palio(&["report", "latest", "--format", "csv"]).run().exits(0).stdout;
    assert_has(csv.lines().next().unwrap(), &["achieved_per_s", "cpu_us_per_request"]);
    let bundle = project.palio(&["export", "latest", "-"]).run().exits(0).stdout;
    project.write("bundle.json", &bundle);
    project.palio(&["import", "bundle.json", "--db", "other.db"]).run().exits(0);
}

/// Several samples claim together more than a number of 64 bits holds.
#[test]
fn more_cpu_time_than_any_number_holds_is_divided_among_requests_all_the_same() {
    let claimed_us = u64::MAX / 2;
    let bad = Fake::new("bad").fault("serve:well").fault("sys:0");
    let project = Project::new()
        .with(Fake::new("good").fault("serve:well"))
        .with(bad.fault(&format!("user:{claimed_us}")));
    project.write("workloads/echo.toml", SERVED);
    let report = project.race().set("--reference", "good").run().exits(0).json();
    let bad = entry(&report, "bad");
    assert!(bad["samples"].as_u64().unwrap() > 3, "{bad:#}");
    let cpu_us = bad["latency"]["cpu_us"].as_f64().unwrap();
    // A sample has 40 requests.
    assert!((cpu_us / (claimed_us as f64 / 40.0) - 1.0).abs() < 1e-6, "{cpu_us}");
}

#[test]
fn who_answers_something_else_is_wrong() {
    let report = race("serve:garbled").1.run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "wrong-answer");
    assert_has(detail(&report), &["not what it was sent"]);
    assert_eq!(entry(&report, "good")["outcome"], "ok");
}

/// It says all the same that it has answered 40 requests, and the right sum.
#[test]
fn who_sends_back_what_was_to_be_computed_with_is_wrong() {
    let (project, race) = race("serve:well");
    project.write("workloads/echo.toml", &SERVED.replace("bytes = 16", "bytes = 16, steps = 3"));
    let report = race.run().exits(0).json();
    for contender in ["good", "bad"] {
        assert_eq!(entry(&report, contender)["outcome"], "wrong-answer");
    }
    assert_has(detail(&report), &["its answer 0", "is not what was to be computed"]);
}

#[test]
fn a_request_without_room_for_what_is_computed_with_is_refused() {
    let (project, race) = race("serve:well");
    let steps = SERVED.replace("bytes = 16", "bytes = 15, steps = 3");
    project.write("workloads/echo.toml", &steps);
    race.run().fails_with(&["bytes=15 is not 16 to"]);
}

#[test]
fn a_server_that_dies_while_it_serves_has_crashed() {
    let report = race("serve:cut").1.run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "crashed");
    assert_has(detail(&report), &["did not serve to the end", "of 20 answers", "status 7"]);
}

/// Whoever asks it reads no line of it meanwhile.
#[test]
fn a_server_is_looked_at_while_it_is_asked() {
    let report = race("serve:loud").1.run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "ok", "{report:#}");
    // Without a group, the kernel bounds nothing.
    let (_project, palio) = race("serve:greedy");
    let palio = palio.env("PALIO_CONTROL_GROUPS", "none").set("--memory", "64");
    let report = palio.run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "crashed", "{report:#}");
    assert_has(detail(&report), &["its memory reached", "--memory"]);
    assert_eq!(entry(&report, "good")["outcome"], "ok");
}

#[test]
fn a_server_that_is_not_where_it_says_has_crashed() {
    let report = race("serve:absent").1.run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "crashed");
    assert_has(detail(&report), &["refused"]);
}

#[test]
fn who_should_serve_must_and_nobody_else_may() {
    // Its units do not count: it is the contract that it breaks first.
    let report = race("wrong-ops:99").1.run().exits(0).json();
    assert_has(detail(&report), &["contract", "without requests"]);
    let project = Project::good_and(Fake::new("bad").fault("serve:absent"));
    let report = project.race().set("--reference", "good").run().exits(0).json();
    assert_has(detail(&report), &["contract", "nobody is to ask"]);
}

#[test]
fn too_many_connections_for_this_process_are_explained_before_the_race() {
    let (project, race) = race("serve:well");
    let many = SERVED.replace("connections = 2,", "connections = 4_000,");
    project.write("workloads/echo.toml", &many.replace("ops = 40", "ops = 80_000"));
    let report = race.through_shell("ulimit -n 1000; exec \"$@\"").run();
    report.exits(0).prints(&["unsupported", "ulimit -n 4064"]);
}
