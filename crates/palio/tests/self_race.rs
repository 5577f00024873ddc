//! A contender raced against itself: two entries, and never a winner.

mod support;

use palio::plan::block_order;
use support::{Fake, Project, entry};

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
