//! A contender raced against itself: two entries, and never a winner.

use crate::support::{self, Fake, Project, entry};
use palio::plan::block_order;
use serde_json::Value;

#[test]
fn a_second_name_makes_a_second_entry() {
    let project = Project::new().with(Fake::new("fake"));
    let run = project.race().arg("-c").arg("fake").arg("-c").arg("twin=fake").run().exits(0);
    let report = run.json();
    assert_eq!(report["races"][0]["entries"].as_array().unwrap().len(), 2);
    for name in ["fake", "twin"] {
        let entry = entry(&report, name);
        assert_eq!((&entry["outcome"], &entry["samples"]), (&"ok".into(), &10.into()));
        let verdict = entry["ratio_to_reference"]["verdict"].as_str().unwrap();
        assert!(["reference", "equivalent", "inconclusive"].contains(&verdict), "{verdict}");
        assert_eq!(entry["rank"], serde_json::json!([1, 2]), "they share the first two ranks");
    }
    project.assert_travels();
}

#[test]
fn a_turned_knob_makes_another_tuned_entry() {
    let project = Project::new().with(Fake::new("fake"));
    let run = project.race().arg("-c").arg("fake").arg("-c").arg("fake@dial=3").run().exits(0);
    let report = run.json();
    assert_eq!(entry(&report, "fake")["track"], "stock");
    assert_eq!(entry(&report, "fake@dial=3")["track"], "tuned");
    let command = entry(&report, "fake@dial=3")["by_hand"].as_str().unwrap().to_owned();
    assert!(command.contains("--set n=10 --set dial=3 --salt "), "{command}");
    project.assert_travels();
}

#[test]
fn the_reference_races_its_own_shadow() {
    let project = Project::new().with(Fake::new("fake"));
    let report = project.race().run().exits(0).json();
    assert_eq!(report["races"][0]["reference"], "fake");
    assert_eq!(report["races"][0]["noise_floor"]["shadow"]["point"], 1.0);
    assert_eq!(project.starts().len(), 1 + 2 * 2, "a pilot, and two blocks of two");
}

/// The contenders as they were started in a race of four with `seed`.
fn starts(seed: &str) -> Vec<String> {
    let project =
        ["a", "b", "c", "d"].into_iter().fold(Project::new(), |p, name| p.with(Fake::new(name)));
    project.race().set("--seed", seed).run().exits(0);
    project.starts()
}

#[test]
fn one_seed_is_one_order_and_blocks_mirror_each_other() {
    let seven = starts("7");
    assert_eq!(seven, starts("7"));
    assert_ne!(seven, starts("8"));
    let names = ["a", "b", "c", "d", "a"];
    let plan: Vec<&str> = block_order(7, 0, 0, 5).into_iter().map(|cell| names[cell]).collect();
    assert_eq!(seven[4..9], plan);
    let mirrored: Vec<&str> = plan.into_iter().rev().collect();
    assert_eq!(seven[9..], mirrored);
}

#[test]
fn the_command_of_a_run_repeats_it() {
    let project = Project::good_and(Fake::new("other"));
    let run = project.race().set("--timeout", "50").set("--memory", "512").run().exits(0);
    let command = run.json()["run"]["command"].as_str().unwrap().to_owned();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let again = project.palio(&words).arg("--json").run().exits(0).json();
    assert_eq!(again["run"]["command"], command);
    assert_eq!(again["run"]["seed"], run.json()["run"]["seed"]);
    let starts = project.starts();
    assert_eq!(starts[..starts.len() / 2], starts[starts.len() / 2..]);
    support::assert_has(&command, &["--timeout 50", "--memory 512"]);
}

#[test]
fn every_contender_may_have_a_shadow_of_its_own() {
    // One is another process every time, the other always the same.
    let project = Project::good_and(Fake::new("bad").fault("moody"));
    let race = || project.race().set("--reference", "good").set("--blocks", "5");
    let plain = race().run().exits(0).json();
    assert!(entry(&plain, "bad")["noise_floor"].is_null());
    assert_eq!(entry(&plain, "good")["noise_floor"], plain["races"][0]["noise_floor"]);
    let cells = |project: &Project| {
        let stored = project.stored();
        let shadow = |cell: &&Value| cell["shadow"] == true;
        let shadows = support::cells(&stored).into_iter().filter(shadow).cloned();
        shadows.map(|cell| cell["contender"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cells(&project), ["good"]);

    let report = race().set("--shadow", "all").run().exits(0).json();
    assert_eq!(cells(&project), ["good", "bad"]);
    assert!(report["run"]["command"].as_str().unwrap().contains("--shadow all"));
    let floor = |value: &Value| value["noise_floor"]["ratio"].as_f64().unwrap();
    assert_eq!(floor(&report["races"][0]), 1.01, "the race has the floor of its reference");
    assert!(floor(entry(&report, "bad")) > 1.5);
    assert_eq!(floor(entry(&report, "good")), 1.01);
    let text = project.palio(&["report", "latest"]).run().exits(0).stdout;
    support::assert_has(&text, &["noise floor", "of contenders: bad ×"]);
    project.assert_travels();
}

#[test]
fn a_difference_within_a_contenders_own_floor_is_not_claimed() {
    // `bad` takes 1 to 5 ms, another time in every process, where `good` takes 0.7 ms: beyond the
    // floor of `good`, but not beyond its own, which is above 5.
    let bad = || Fake::new("bad").fault("claim:1000000").fault("moody");
    let good = || Fake::new("good").fault("claim:700000");
    let verdict = |shadow: &str| {
        let project = Project::new().with(good()).with(bad());
        let race = project.race().set("--reference", "good").set("--blocks", "5");
        let report = race.set("--shadow", shadow).run().exits(0).json();
        let entry = entry(&report, "bad");
        (entry["ratio_to_reference"]["verdict"].clone(), entry["rank"].clone())
    };
    assert_eq!(verdict("reference"), ("slower".into(), serde_json::json!([2, 2])));
    assert_eq!(verdict("all"), ("inconclusive".into(), serde_json::json!([1, 2])));
}
