//! Bundles that somebody has forged, with a hash that is right: each is refused by the place that
//! cannot be true, and leaves nothing behind.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use crate::support::forging::{
    Edits, blocks, bundle, fingerprint, forge, import, one, raced, reseed,
};
use crate::support::{Fake, Project};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use palio::store::{Store, export};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A list with one element twice.
fn doubled(run: &Value, list: &'static str, index: usize) -> Edits {
    let mut all = run.pointer(list).unwrap().as_array().unwrap().clone();
    all.push(all[index].clone());
    vec![(list, all.into())]
}

/// A slow sample that is called a warm-up, so consistently that nothing else contradicts.
fn warmer() -> Edits {
    vec![
        ("/races/0/cells/0/schedule/samples", 4.into()),
        ("/races/0/cells/1/schedule/samples", 4.into()),
        ("/races/0/cells/2/schedule/samples", 4.into()),
        ("/races/0/cells/1/invocations/1/samples/1/warm_up", true.into()),
        ("/races/0/cells/1/invocations/1/spans/0/samples", 2.into()),
        ("/races/0/cells/1/invocations/1/spans/0/wall_ns", 100_000_000.into()),
        ("/races/0/cells/1/invocations/1/spans/1/samples", 4.into()),
    ]
}

fn without(run: &Value, list: &'static str, index: usize) -> Edits {
    let mut all = run.pointer(list).unwrap().as_array().unwrap().clone();
    all.remove(index);
    vec![(list, all.into())]
}

/// Every forgery, with what is said of it.
fn forgeries(run: &Value) -> Vec<(Edits, &'static str)> {
    const MOST: u64 = u64::MAX;
    let letters = "a".repeat(5_000);
    let header: Vec<(Edits, &str)> = vec![
        (one("/header/id", "latest"), "header.id: \"latest\" has a meaning of its own"),
        (one("/header/id", "LATEST"), "header.id: \"LATEST\" has a meaning"),
        (one("/header/id", ""), "header.id: \"\" is no name of a run"),
        (one("/header/id", "../up"), "header.id: \"../up\" is no name of a run"),
        (one("/header/id", "a b"), "header.id: \"a b\" is no name of a run"),
        (one("/header/id", &*letters), "header.id: it has 5000 bytes"),
        (one("/header/suite", ""), "header.suite: it is empty"),
        (one("/header/blocks", 0), "header.blocks: 0 is out of range: 1 to 10000"),
        (one("/header/blocks", 4_000_000_000_u64), "header.blocks: 4000000000 is out of range"),
        (blocks(run, 3), "cells[1].invocations: 2 block(s) that count, and the run has 3"),
        (one("/header/started_at", "9999999"), "header.started_at: \"9999999\" is no date"),
        (one("/header/started_at", "2026-13-41T00:00:00Z"), "header.started_at"),
        (one("/header/finished_at", "soon"), "header.finished_at: \"soon\" is no date"),
        (one("/header/limits/budget_ms", 0), "header.limits.budget_ms: 0 is out of range"),
        (one("/header/limits/timeout_ms", MOST), "header.limits.timeout_ms"),
        (one("/header/limits/memory_mib", 0), "header.limits.memory_mib: 0"),
        (one("/header/thinned", 1), "header.thinned: 1 is out of range"),
        (
            one("/header/until_floor", json!({"ratio": 0.5, "blocks_max": 9})),
            "header.until_floor.ratio: 0.5 is no noise floor",
        ),
        (
            one("/header/repeat", json!({"outside_max": 7.0, "repeats_max": 1})),
            "header.repeat.outside_max: 7 is no fraction",
        ),
        (one("/header/machine/cores", 0), "header.machine.cores: 0"),
        (one("/header/machine/fingerprint", ""), "header.machine.fingerprint: it is empty"),
        (one("/header/machine/kernel", ""), "header.machine.kernel: it is empty"),
        (
            one("/header/machine/control_groups", "-"),
            "header.machine.control_groups: \"-\": `null`",
        ),
        (one("/header/machine/caches", json!([""])), "header.machine.caches: it is empty"),
        (one("/header/suite", "qui\u{200b}ck"), "header.suite: \"qui\\u{200b}ck\" has blanks or"),
        (doubled(run, "/contenders", 1), "contenders[2].id: good is there twice"),
        (one("/contenders/1/id", &*letters), "contenders[1].id: it has 5000 bytes"),
        (one("/contenders/1/absent", "gone"), "contenders[1].absent"),
        (one("/contenders/1/program", ""), "contenders[1].program: it is no SHA-256"),
        (one("/contenders/1/program", "0".repeat(63) + "G"), "contenders[1].program: it is no"),
        (one("/contenders/1/name", " "), "contenders[1].name: it is empty"),
        (one("/contenders/1/flags", "f".repeat(20_001)), "contenders[1].flags: it has 20001 bytes"),
        (one("/contenders/1/version", ""), "contenders[1].version: it is empty"),
        (
            one("/contenders/1/version", Value::Null),
            "cells[1].outcome: ok, and good was not there or has no version",
        ),
        (without(run, "/contenders", 1), "cells[1].contender: \"good\" is not among `contenders`"),
    ];
    let race: Vec<(Edits, &str)> = vec![
        (doubled(run, "/races", 0), "races[1].workload: the race of echo on 1 thread(s) is there"),
        (one("/races/0/workload", ""), "races[0].workload: it is empty"),
        (one("/races/0/title", "4".repeat(400)), "races[0].title: it has 400 bytes"),
        (one("/races/0/title", ""), "races[0].title: it is empty"),
        (one("/races/0/threads", 0), "races[0].threads: 0 is out of range: 1 to 4096"),
        (one("/races/0/threads", 1_000_000), "races[0].threads: 1000000"),
        (one("/races/0/answer", ""), "races[0].answer: it is empty"),
        (one("/races/0/answer", "17"), "races[0].answer: 17, and 42 is what the catalogue here"),
        (one("/races/0/ops", 0), "races[0].ops: 0"),
        (one("/races/0/ops", 11), "races[0].ops: 11, and 10 is what the catalogue"),
        (one("/races/0/work", 0), "races[0].work: 0"),
        (one("/races/0/work", Value::Null), "races[0].work: null, and 10 is what the catalogue"),
        (one("/races/0/params/n", "9"), "races[0].params: n=9, and n=10"),
        (one("/races/0/unit", ""), "races[0].unit: it is empty"),
        (one("/races/0/unit", "yodel"), "races[0].unit: yodel, and echo"),
        (one("/races/0/model", "fork-join"), "races[0].model: fork-join, and async"),
        (one("/races/0/scope", "cold"), "races[0].scope: cold, and steady"),
        (one("/races/0/salt", "each"), "races[0].salt: each, and null"),
        (one("/races/0/elapsed_ns_min", 1), "races[0].elapsed_ns_min: 1, and null"),
        (one("/races/0/untimed", "it slept"), "races[0].untimed: some time, and null"),
        (one("/races/0/statistic", "p99"), "races[0].ops: 10: the p99 of an iteration needs 1000"),
        (one("/races/0/reference", "nobody"), "races[0].reference: nobody has no cell"),
        (
            one(
                "/races/0/blocks",
                json!([{"block": 0, "outside": 0.1, "steal": 0.0, "repeated": false}]),
            ),
            "races[0].blocks: they were judged",
        ),
        (
            doubled(run, "/races/0/cells", 1),
            "races[0].cells[3].contender: good has this cell twice",
        ),
        (
            without(run, "/races/0/cells", 1),
            "races[0].cells[1].shadow: good (shadow) is the shadow",
        ),
    ];
    let cell: Vec<(Edits, &str)> = vec![
        (one("/races/0/cells/1/contender", "x"), "cells[1].contender: \"x\" is not among"),
        (
            one("/races/0/cells/1/variant", json!({"reader": "last"})),
            "cells[1].variant: \"reader=last\" is no variant",
        ),
        (one("/races/0/cells/1/command", json!([])), "cells[1].command: it is empty"),
        (one("/races/0/cells/1/schedule", Value::Null), "cells[1].schedule: null"),
        (one("/races/0/cells/1/schedule/samples", 0), "cells[1].schedule.samples: 0"),
        (one("/races/0/cells/1/schedule/batch", 0), "cells[1].schedule.batch: 0"),
        (
            one("/races/0/cells/1/schedule/warm_ups", 0),
            "cells[1].schedule.warm_ups: 0, and limits.cold is false",
        ),
        (one("/races/0/cells/2/schedule/batch", 2), "cells[2].schedule: another cell of the race"),
        (one("/races/0/cells/1/outcome", "pending"), "cells[1].outcome: pending, and the run is"),
        (one("/races/0/cells/1/outcome", "crashed"), "cells[1].detail: empty: nothing says why"),
        (one("/races/0/cells/0/outcome", "ok"), "cells[0].invocations[1].outcome: wrong-answer"),
        (one("/races/0/cells/1/invocations", json!([])), "cells[1].invocations: 0 block(s)"),
        (without(run, "/races/0/cells/1/invocations", 1), "invocations: none of them is block 0"),
        (without(run, "/races/0/cells/1/invocations", 2), "cells[1].invocations: 1 block(s)"),
        (doubled(run, "/races/0/cells/1/invocations", 0), "invocations[3].block: null: the cell"),
        (
            doubled(run, "/races/0/cells/1/invocations", 2),
            "races[0].cells[1].invocations[3].block: 1 was raced twice",
        ),
    ];
    let invocation: Vec<(Edits, &str)> = vec![
        (
            one("/races/0/cells/1/invocations/1/block", 4_000_000_000_u64),
            "races[0].cells[1].invocations[1].block: 4000000000: a race of this run has at most 2",
        ),
        (one("/races/0/cells/1/invocations/1/position", 3), "invocations[1].position: 3: the race"),
        (one("/races/0/cells/1/invocations/1/started_at", "now"), "invocations[1].started_at"),
        (
            one(
                "/races/0/cells/2/invocations/0/salt",
                run["races"][0]["cells"][1]["invocations"][1]["salt"].clone(),
            ),
            "races[0].cells[2].invocations[0].salt: ",
        ),
        (warmer(), "cells[1].invocations[1].samples: 2 are warm-ups, and the schedule says 1"),
        (one("/races/0/cells/1/invocations/1/disturbed", true), "races[0].blocks: block 0 was not"),
        (
            one("/races/0/cells/1/invocations/1/outcome", "crashed"),
            "outcome: crashed, and the cell",
        ),
        (one("/races/0/cells/1/invocations/1/outcome", "not-built"), "outcome: not-built"),
        (
            one("/races/0/cells/1/invocations/1/resources/wall_us", 0),
            "invocations[1].resources.wall_us: 0",
        ),
        (
            one("/races/0/cells/1/invocations/1/samples", json!([])),
            "invocations[1].samples: 0 are measured, and the schedule says 5",
        ),
        (doubled(run, "/races/0/cells/1/invocations/1/samples", 1), "samples: 6 are measured"),
        (
            one("/races/0/cells/1/invocations/1/spans/0/samples", 0),
            "invocations[1].samples[0].warm_up: true, and the clock outside says false",
        ),
        (
            one("/races/0/cells/1/invocations/1/spans/1/wall_ns", 1),
            "invocations[1].samples[1].elapsed_ns: its samples claim more time than passed",
        ),
        (without(run, "/races/0/cells/1/invocations/1/spans", 1), "spans: 1 warm-up(s) and 0"),
        (
            one(
                "/races/0/cells/1/invocations/1/dropped",
                json!({"warm_ups": 1, "samples": 0, "iterations": 0, "elapsed_ns": 0, "uncounted": 0}),
            ),
            "invocations[1].dropped: it lacks samples",
        ),
        (
            one("/races/0/cells/0/invocations/1/detail", Value::Null),
            "cells[0].invocations[1].detail: empty: nothing says why",
        ),
        (
            one("/races/0/cells/0/invocations/1/outcome", "crashed"),
            "cells[0].invocations[1].samples[3].answer: it answered 41, and 42 is right, and the outcome",
        ),
        (
            one("/races/0/cells/0/invocations/1/samples/3/answer", Value::Null),
            "cells[0].invocations[1].outcome: wrong-answer, and no sample is wrong",
        ),
    ];
    let sample: Vec<(Edits, &str)> = vec![
        (
            one("/races/0/cells/1/invocations/2/samples/3/elapsed_ns", 0),
            "races[0].cells[1].invocations[2].samples[3].elapsed_ns: 0: no work takes no time",
        ),
        (
            one("/races/0/cells/1/invocations/2/samples/3/elapsed_ns", MOST),
            "samples[3].elapsed_ns: its samples claim more time than passed: 18446744073709551615",
        ),
        (one("/races/0/cells/1/invocations/2/samples/3/batch", 0), "samples[3].batch: 0 is out"),
        (one("/races/0/cells/1/invocations/2/samples/3/batch", 2), "samples[3].ops: it did 10"),
        (one("/races/0/cells/1/invocations/2/samples/3/ops", 0), "samples[3].ops: it did 0 echos"),
        (
            one("/races/0/cells/1/invocations/2/samples/3/work", 0),
            "samples[3].work: it certified 0",
        ),
        (
            one("/races/0/cells/1/invocations/2/samples/3/answer", "17"),
            "samples[3].answer: it answered 17, and 42 is right",
        ),
        (one("/races/0/cells/1/invocations/2/samples/3/warm_up", true), "samples[3].warm_up"),
        (
            one(
                "/races/0/cells/1/invocations/2/samples/3/distribution",
                json!({"events": 9, "p50_ns": 5, "p99_ns": 4, "p999_ns": 6, "max_ns": 7}),
            ),
            "samples[3].distribution: the percentiles do not ascend",
        ),
    ];
    // What does not have the shape of a run at all.
    let shape: Vec<(Edits, &str)> = vec![
        (one("/header/seed", -1), "header: invalid value"),
        (one("/header/preset", "fast"), "header: \"fast\" is no preset"),
        (one("/races/0/cells", json!({})), "races[0].cells: invalid type: map, expected a list"),
        (one("/races/0/cells/1/outcome", "splendid"), "races[0].cells[1].outcome: \"splendid\""),
        (
            one("/races/0/cells/1/invocations/2/samples/3/elapsed_ns", "soon"),
            "races[0].cells[1].invocations[2].samples[3].elapsed_ns: invalid type",
        ),
        (
            one("/races/0/cells/1/invocations/2/samples/3/ops", 1.5),
            "races[0].cells[1].invocations[2].samples[3].ops: invalid type",
        ),
        (
            one("/races/0/cells/1/invocations/2/samples/3/energy", 1),
            "races[0].cells[1].invocations[2].samples[3].energy: unknown field",
        ),
    ];
    [header, race, cell, invocation, sample, shape].concat()
}

#[test]
fn each_forgery_is_refused_by_its_place_and_leaves_nothing() {
    let (project, run) = raced();
    let forgeries = forgeries(&run);
    assert!(forgeries.len() >= 55, "{}", forgeries.len());
    for (edits, words) in &forgeries {
        let refused = import(&project, &bundle(&forge(&run, edits)));
        refused.fails_with(&["cannot import forged.json", words]);
    }
    let runs = project.palio(&["list", "runs", "--json", "--db", "empty.db"]).run().exits(0).json();
    assert_eq!(runs, json!([]));
    // Whoever forges nothing is believed, in whatever order the fields stand.
    import(&project, &bundle(&run)).exits(0);
    let again = project.palio(&["export", "latest", "-", "--db", "empty.db"]).run().exits(0).json();
    assert_eq!(again["run"], run);
}

#[test]
fn a_workload_that_the_catalogue_lacks_is_held_against_itself() {
    let (project, mut run) = raced();
    run["races"][0]["workload"] = "another".into();
    for cell in run["races"][0]["cells"].as_array_mut().unwrap() {
        let words = cell["command"].as_array_mut().unwrap();
        *words.iter_mut().find(|word| **word == "echo").unwrap() = "another".into();
    }
    let answered = "/races/0/cells/1/invocations/2/samples/3/answer";
    let text = bundle(&forge(&run, &one(answered, "17")));
    import(&project, &text).fails_with(&["samples[3].answer: it answered 17"]);
    import(&project, &bundle(&run)).exits(0);
}

#[test]
fn a_contender_stands_still_in_no_more_periods_than_passed() {
    let (project, mut run) = raced();
    run["races"][0]["cpu_budget"] = json!({"cpus": 1, "period_us": 10_000});
    let mut with = |periods: u64, throttled: u64| {
        for cell in run["races"][0]["cells"].as_array_mut().unwrap() {
            for invocation in cell["invocations"].as_array_mut().unwrap() {
                invocation["throttled"] =
                    json!({"periods": periods, "throttled": throttled, "throttled_us": 5});
            }
        }
        import(&project, &bundle(&run))
    };
    with(2, 3).fails_with(&["throttled: it stood still in 3 period(s), and there were 2"]);
    with(u64::MAX, 3).fails_with(&["throttled: 18446744073709551615 periods of 10000 µs in"]);
    // So it may have been, and what remains is that its samples are not those of such a race.
    with(3, 2).fails_with(&["races[0].cells: a schedule of 5 sample(s) of 1 iteration(s), and"]);
}

/// Who could leave out blocks, or add some, after having seen them, would choose the result.
#[test]
fn blocks_are_those_that_the_rule_of_the_run_gives() {
    let project = Project::good_and(Fake::new("bad"));
    project.race().set("--reference", "good").set("--blocks", "6").run().exits(0);
    let run = project.stored();
    let judged = |repeated: &[u64]| {
        let block = |b| json!({"block": b, "outside": 0.01, "steal": 0.0, "repeated": repeated.contains(&b)});
        (0..6).map(block).collect::<Vec<_>>()
    };
    let rule = json!({"outside_max": 0.05, "repeats_max": 2});
    let without_block_2 = |run: &mut Value| {
        for cell in run["races"][0]["cells"].as_array_mut().unwrap() {
            for invocation in cell["invocations"].as_array_mut().unwrap() {
                if invocation["block"] == 2 {
                    invocation["disturbed"] = true.into();
                }
            }
        }
    };
    let and = |edits: Edits| [blocks(&run, 5), edits].concat();
    let mut left_out = forge(
        &run,
        &and(vec![("/header/repeat", rule.clone()), ("/races/0/blocks", judged(&[2]).into())]),
    );
    without_block_2(&mut left_out);
    let refused = import(&project, &bundle(&left_out));
    refused.fails_with(&["races[0].blocks[2].repeated: true, and by the run's rule it is false"]);
    // Others took so much that it would have been repeated.
    let kept: Edits = vec![
        ("/header/repeat", rule.clone()),
        ("/races/0/blocks", judged(&[]).into()),
        ("/races/0/blocks/3/outside", json!(0.2)),
    ];
    let refused = import(&project, &bundle(&forge(&run, &kept)));
    refused.fails_with(&["blocks[3].repeated: false, and by the run's rule it is true"]);
    // One more than there would have been.
    let more = and(one("/header/repeat", rule));
    let refused = import(&project, &bundle(&forge(&run, &more)));
    refused.fails_with(&["cells[0].invocations: 6 block(s) that count, and the run has 5"]);
    // The run was never resumed, so that it was not interrupted either.
    let cut = json!([{"block": 2, "outside": null, "steal": null, "repeated": true, "interrupted": true}]);
    let cut = and(one("/races/0/blocks", cut));
    let mut cut = forge(&run, &cut);
    without_block_2(&mut cut);
    let refused = import(&project, &bundle(&cut));
    refused.fails_with(&["races[0].blocks: 1 were interrupted, and the run was resumed 0 times"]);
    let goal = |most: u64| json!({"ratio": 1.5, "blocks_max": most});
    let to_goal = |most| and(one("/header/until_floor", goal(most)));
    import(&project, &bundle(&forge(&run, &to_goal(6)))).exits(0);
}

/// Another value of the one parameter, wherever it stands.
fn params(run: &Value, value: &str) -> Value {
    let mut forged = forge(run, &one("/races/0/params/n", value));
    for cell in forged["races"][0]["cells"].as_array_mut().unwrap() {
        let words = cell["command"].as_array_mut().unwrap();
        *words.iter_mut().find(|word| **word == "n=10").unwrap() = format!("n={value}").into();
    }
    forged
}

#[test]
fn what_a_bundle_says_drives_no_terminal_and_overflows_nothing() {
    const EVIL: &str = "\u{1b}[2Jx\u{202e}\u{200b}";
    let (project, run) = raced();
    let of = |place: &'static str, value: Value| forge(&run, &one(place, value));
    let evil = [
        of("/contenders/1/version", EVIL.into()),
        of("/contenders/1/flags", EVIL.into()),
        of("/contenders/1/flags", "\u{9b}2J".into()),
        params(&run, EVIL),
        of("/races/0/unit", EVIL.into()),
        of("/races/0/cells/0/detail", EVIL.into()),
        of("/header/machine/threads_per_core", u32::MAX.into()),
        of("/races/0/cells/1/invocations/1/resources/voluntary_switches", u64::MAX.into()),
    ];
    let evil = evil.map(|mut run| {
        fingerprint(&mut run);
        run
    });
    let reports: [&[&str]; 7] = [
        &["--format", "terminal"],
        &["--format", "markdown"],
        &["--format", "html"],
        &["--format", "csv"],
        &["--headline", "good"],
        &["--format", "json"],
        &["--headline", "good", "--format", "json"],
    ];
    for run in evil {
        project.write("evil.json", &bundle(&run));
        for how in reports {
            let args = [&["report", "--bundle", "evil.json", "--other-catalogue"], how].concat();
            let finished = project.palio(&args).run().exits(0);
            for text in [&finished.stdout, &finished.stderr] {
                assert!(
                    !text.contains("\u{1b}[2J")
                        && !text.contains(['\u{9b}', '\u{202e}', '\u{200b}']),
                    "{how:?}: {text}"
                );
            }
        }
    }
    for (place, said) in
        [("/races/0/reference", "reference: "), ("/contenders/1/id", "contenders[1].id")]
    {
        let refused = import(&project, &bundle(&of(place, EVIL.into()))).fails_with(&[said]);
        let evil = ['\u{1b}', '\u{202e}', '\u{200b}'];
        assert!(!refused.stderr.contains(evil), "{}", refused.stderr);
    }
}

#[test]
fn a_run_of_another_catalogue_is_taken_if_that_is_said() {
    let (project, run) = raced();
    let text = bundle(&forge(&run, &one("/races/0/unit", "yodel")));
    import(&project, &text).fails_with(&["--other-catalogue takes the run of a Palio"]);
    let palio = project.palio(&["import", "forged.json", "--db", "empty.db", "--other-catalogue"]);
    palio.run().exits(0);
    // Without a bundle there is nothing to be lenient about.
    project.palio(&["report", "--other-catalogue"]).run().exits(2).complains(&["--bundle"]);
}

#[test]
fn the_published_bundles_are_believed_and_exported_as_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let mut bundles = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "gz") {
            continue;
        }
        bundles += 1;
        let mut text = String::new();
        GzDecoder::new(File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        assert!(again(&text) == text, "{} is another one", path.display());
    }
    assert!(bundles >= 3, "{bundles}");
}

#[test]
fn a_published_bundle_of_workloads_that_are_not_there_is_reported_all_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let path = folder.join("yaay.json.gz");
    // In this project, whose catalogue has none of its workloads, and says so.
    let args = ["report", "--bundle", path.to_str().unwrap(), "--format", "json"];
    let report = Project::new().palio(&args).run().exits(0).json();
    let warnings = report["run"]["warnings"].to_string();
    assert!(warnings.contains("the catalogue there had no such workloads"), "{warnings}");
}

/// What was imported, exported again.
fn again(bundle: &str) -> String {
    let mut store = Store::in_memory().unwrap();
    let id = store.import(bundle.as_bytes(), None).unwrap();
    let mut text = Vec::new();
    export(&store.load(&id).unwrap(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn every_number_survives_the_journey() {
    let (project, _) = raced();
    let genuine = project.palio(&["export", "latest", "-"]).run().exits(0).stdout;
    assert_eq!(again(&genuine), genuine);
    let run: Value = serde_json::from_str(&genuine).unwrap();
    proptest!(|(share in 0.0..1.0_f64, ratio in 1.0001..2.0_f64, seed in any::<u64>(), us in any::<u64>())| {
        let edits = vec![
            ("/header/repeat", json!({"outside_max": share, "repeats_max": 1})),
            ("/header/until_floor", json!({"ratio": ratio, "blocks_max": 9})),
            ("/races/0/cells/1/invocations/2/samples/3/user_us", us.into()),
            ("/races/0/blocks", json!([{"block": 1, "outside": share / 3.0, "steal": null, "repeated": false}])),
        ];
        let mut forged = forge(&run["run"], &edits);
        reseed(&mut forged, seed);
        let once = again(&bundle(&forged));
        prop_assert_eq!(&serde_json::from_str::<Value>(&once).unwrap()["run"], &forged);
        prop_assert_eq!(again(&once), once);
    });
}

#[test]
fn a_high_number_takes_no_memory() {
    let (project, _) = raced();
    // As an older Palio took it from a bundle.
    let database = rusqlite::Connection::open(project.database()).unwrap();
    database.execute("UPDATE invocation SET block = 4000000000 WHERE block = 1", []).unwrap();
    drop(database);
    for args in [
        &["report", "--format", "json"][..],
        &["report", "--format", "html"],
        &["compare", "latest", "latest"],
    ] {
        let palio = project.palio(args).through_shell("ulimit -v 1000000; exec \"$@\"");
        palio.run().exits(0);
    }
}

#[test]
fn a_long_bundle_is_read_sample_by_sample() {
    let (project, mut run) = raced();
    let samples = &mut run["races"][0]["cells"][1]["invocations"][1]["samples"];
    let one = samples[1].clone();
    *samples = vec![one; 250_000].into();
    let text = bundle(&run);
    assert!(text.len() > 24 << 20, "{}", text.len());
    project.write("long.json", &text);
    let palio = project.palio(&["import", "long.json", "--db", "empty.db"]);
    // In KiB: what the same program takes for a short one, and less than the text of this.
    let run = palio.through_shell("ulimit -v 64000; exec \"$@\"").run();
    run.fails_with(&["invocations[1].samples", "clock outside"]);
}

/// Compressed with gzip, of one member.
fn packed(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    pieces.into_iter().for_each(|piece| packer.write_all(piece.as_ref()).unwrap());
    packer.finish().unwrap()
}

#[test]
fn whatever_a_packed_file_holds_it_is_refused_in_little_memory() {
    let (project, run) = raced();
    let good = packed([bundle(&run)]);
    let spaces = vec![b' '; 1 << 20];
    let endless = packed(std::iter::repeat_n(&spaces[..], 1 << 10));
    let and = |end: &[u8]| [&good[..], end].concat();
    let damaged = "it is compressed with gzip, and damaged or cut off";
    let too_long = "a record of more than 16 MiB";
    let no_json = "which is JSON in UTF-8";
    for (what, file, reason) in [
        ("white space without end", endless.clone(), too_long),
        ("a bundle, and white space without end", and(&endless), too_long),
        ("a packed file in another one", packed([&endless]), no_json),
        ("zeros without end", packed(std::iter::repeat_n(vec![0; 1 << 20], 1 << 10)), no_json),
        ("lists in lists", packed(std::iter::repeat_n(vec![b'['; 1 << 20], 64)), no_json),
        (
            "lists in lists in place of the run",
            packed([&b"{\"format\":\"palio-bundle\",\"run\":"[..], &vec![b'['; 1 << 20]]),
            "shape of one: invalid type",
        ),
        ("nothing", packed([b""]), no_json),
        ("many times nothing", packed([b""]).repeat(10_000), no_json),
        ("a head alone", good[..10].to_vec(), damaged),
        ("a half", good[..good.len() / 2].to_vec(), damaged),
        ("all but the length", good[..good.len() - 4].to_vec(), damaged),
        ("all but a byte", good[..good.len() - 1].to_vec(), damaged),
        ("another checksum", [&good[..good.len() - 8], &[1; 8]].concat(), damaged),
        ("words behind the end", and(b"and so on"), damaged),
        ("zeros behind the end", and(&[0; 100]), damaged),
        ("another object behind the end", and(&packed([b"{}"])), "trailing characters"),
    ] {
        fs::write(project.path("file.json.gz"), &file).unwrap();
        for args in [
            &["import", "file.json.gz", "--db", "empty.db"][..],
            &["report", "--bundle", "file.json.gz"],
        ] {
            let palio = project.palio(args).through_shell("ulimit -v 64000; exec \"$@\"");
            let run = palio.run();
            assert!(
                run.stderr.contains("file.json.gz") && run.stderr.contains(reason),
                "{what}: {}",
                run.stderr
            );
            run.exits(2);
        }
        let runs = ["list", "runs", "--db", "empty.db", "--json"];
        assert_eq!(project.palio(&runs).run().exits(0).json(), json!([]), "{what}");
    }
    // What is white space alone changes nothing.
    fs::write(project.path("file.json.gz"), and(&packed([b" \n"]))).unwrap();
    project.palio(&["import", "file.json.gz", "--db", "empty.db"]).run().exits(0);
}

#[test]
fn a_small_file_does_not_become_a_large_one() {
    let project = Project::new();
    let digits = [b'0'; 1 << 20];
    let pieces = std::iter::repeat_n(&digits[..], 40);
    let bomb = packed(std::iter::once(&b"{\"format\":\""[..]).chain(pieces));
    assert!(bomb.len() < 1 << 16);
    fs::write(project.path("bomb.json.gz"), &bomb).unwrap();
    let run = project.palio(&["import", "bomb.json.gz"]).run();
    run.fails_with(&["bomb.json.gz", "a record of more than 16 MiB"]);
}
