//! A race goes on until its noise floor is reached or its blocks are used up, and its verdicts can
//! be corrected together.

use crate::support::{self, Fake, Palio, Project, cells, entry};
use nix::sys::signal::Signal;
use palio::plan::block_order;
use serde_json::Value;

fn until_floor(project: &Project) -> Palio {
    project.race().set("--blocks", "5").set("--until-floor", "5%").set("--blocks-max", "12")
}

/// How many blocks `contender` took part in.
fn blocks(report: &Value, contender: &str) -> u64 {
    entry(report, contender)["sample_block"].as_array().unwrap().last().unwrap().as_u64().unwrap()
        + 1
}

#[test]
fn a_quiet_race_ends_with_the_pair_of_blocks_that_was_begun() {
    let project = Project::good_and(Fake::new("bad").fault("moody"));
    let report = until_floor(&project).set("--reference", "good").run().exits(0).json();
    // The other one's noise does not count.
    assert_eq!((blocks(&report, "good"), blocks(&report, "bad")), (6, 6));
    let cautions = report["races"][0]["cautions"].to_string();
    assert!(!cautions.contains("noise floor"), "{cautions}");
    let command = report["run"]["command"].as_str().unwrap();
    support::assert_has(command, &["--until-floor 5", "--blocks-max 12"]);
    project.assert_travels();
}

#[test]
fn a_noisy_race_uses_all_its_blocks_and_says_that_they_were_not_enough() {
    let project = Project::good_and(Fake::new("bad").fault("moody"));
    let report = until_floor(&project).set("--reference", "bad").run().exits(0).json();
    assert_eq!((blocks(&report, "good"), blocks(&report, "bad")), (12, 12));
    let cautions = report["races"][0]["cautions"].to_string();
    support::assert_has(
        &cautions,
        &["12 blocks did not bring the noise floor down to 5.0 %", "too noisy for a headline"],
    );
    project.assert_travels();
}

#[test]
fn without_the_option_a_noisy_race_ends_as_planned() {
    let project = Project::new().with(Fake::new("bad").fault("moody"));
    let report = project.race().set("--blocks", "5").run().exits(0).json();
    assert_eq!(blocks(&report, "bad"), 5);
}

#[test]
fn a_race_cut_off_in_its_added_blocks_goes_on_with_them() {
    let project = Project::new().with(Fake::new("bad").fault("moody").fault("meet").from(17));
    let meeting = project.meeting("bad");
    let palio = until_floor(&project).start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGKILL);
    palio.finish().dies_of(Signal::SIGKILL);
    drop(guest);
    project.assert_travels();
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    assert!(blocks(&report, "bad") > 8);
    project.assert_travels();
    let stored = project.stored();
    let raced = |cell: &Value| {
        let invocations = cell["invocations"].as_array().unwrap();
        let counts =
            |i: &&Value| i["block"].is_u64() && i["outcome"] == "ok" && i["disturbed"] != true;
        invocations.iter().filter(counts).count()
    };
    let counts: Vec<usize> = cells(&stored).into_iter().map(raced).collect();
    assert_eq!(counts[0], counts[1], "the shadow has as many blocks as its twin");
    // The one that was cut off is given up.
    assert_eq!(counts[0] as u64 + 1, blocks(&report, "bad"));
}

/// In the block that is cut off, the reference takes twice as long as its shadow, or half.
#[test]
fn a_block_that_was_cut_off_does_not_count_for_the_floor() {
    // One in which `bad`, the first of three cells, comes last in the second block.
    let seed = (1..).find(|&seed| block_order(seed, 0, 1, 3)[2] == 0).unwrap();
    // Starts: a pilot, and two in each block.
    let good = Fake::new("good").fault("claim:4000000").from(5);
    let project = Project::new().with(good).with(Fake::new("bad").fault("meet").from(3));
    let meeting = project.meeting("bad");
    let race = until_floor(&project).set("--reference", "good").set("--seed", seed.to_string());
    let palio = race.start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130);
    guest.must_end();
    let stored = project.stored();
    let last: Vec<_> = cells(&stored)
        .into_iter()
        .map(|cell| {
            let last = cell["invocations"].as_array().unwrap().last().unwrap();
            (cell["contender"].as_str().unwrap(), last["block"].as_u64(), last["outcome"] == "ok")
        })
        .collect();
    let cut = [("bad", Some(1), false), ("good", Some(1), true), ("good", Some(1), true)];
    assert_eq!(last, cut);
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    assert_eq!(blocks(&report, "good"), 6 + 1);
}

#[test]
fn a_floor_that_cannot_be_reached_is_refused() {
    for percent in ["0", "1", "-3", "much", "inf"] {
        let run = Project::new().palio(&["run", &format!("--until-floor={percent}")]).run();
        run.fails_with(&["--until-floor", "percent above 1"]);
    }
}

#[test]
fn five_blocks_stand_by_themselves_and_not_after_holm() {
    let project = Project::good_and(Fake::new("bad").fault("claim:4000000"));
    let verdict = |report: &Value| entry(report, "bad")["ratio_to_reference"]["verdict"].clone();
    let race = |blocks: &str| {
        let race = project.race().set("--reference", "good").set("--blocks", blocks);
        race.run().exits(0).json()
    };
    let corrected = || {
        let args = ["report", "latest", "--holm", "--format", "json"];
        project.palio(&args).run().exits(0).json()
    };
    let five = race("5");
    assert_eq!(verdict(&five), "slower");
    assert_eq!(entry(&five, "bad")["ratio_to_reference"]["holm"], 0.0625);
    assert_eq!(five["told_apart"]["plain"], 1);
    assert_eq!(five["told_apart"]["holm"], 0);
    assert_eq!(five["told_apart"]["blocks_min"], 6);
    assert_eq!(five["told_apart"]["could_stand"], false);
    assert_eq!(verdict(&corrected()), "inconclusive");
    let text = project.palio(&["report", "latest"]).run().exits(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    support::assert_has(&text, &["Holm's correction for 1 comparison takes 6 blocks or more."]);
    assert!(!text.contains("of them stand together"), "{text}");
    assert_eq!(race("6")["told_apart"]["could_stand"], true);
    assert_eq!(verdict(&corrected()), "slower");
    let text = project.palio(&["report", "latest", "--holm"]).run().exits(0).stdout;
    support::assert_has(&text, &["1 of them stand together", "only these are shown"]);
}
