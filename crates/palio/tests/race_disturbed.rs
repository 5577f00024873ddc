//! Blocks that other processes disturb are repeated, by a rule that looks at the machine alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Fake, Palio, Project, assert_has, cells, entry};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Keeps a processor busy until it is dropped: a process outside of the race, as Palio sees it.
struct Load {
    ends: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..count).map(|_| {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        Self { threads: threads.collect(), ends }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Two blocks that are long enough to be judged.
fn race(project: &Project) -> Palio {
    project.race().set("--reference", "good").set("--budget", "400")
}

fn blocks(stored: &Value) -> Vec<Value> {
    stored["races"][0]["blocks"].as_array().cloned().unwrap_or_default()
}

#[test]
fn disturbed_blocks_are_repeated_so_often_stored_and_left_out() {
    let project = Project::good_and(Fake::new("bad"));
    let load = Load::start();
    let run = race(&project).set("--outside-max", "5").set("--repeats-max", "1").run().exits(0);
    drop(load);
    let (report, stored) = (run.json(), project.stored());
    project.assert_travels();
    let repeated: Vec<_> =
        blocks(&stored).iter().map(|block| block["repeated"].as_bool().unwrap()).collect();
    assert_eq!(repeated, [true, false, false], "{:#?}", blocks(&stored));
    assert!(blocks(&stored).iter().all(|block| block["outside"].as_f64().unwrap() > 0.05));
    for cell in cells(&stored) {
        let raced = cell["invocations"].as_array().unwrap().iter().filter(|i| i["block"].is_u64());
        let disturbed: Vec<_> = raced.map(|i| i["disturbed"] == true).collect();
        assert_eq!(disturbed, [true, false, false]);
    }
    for cell in cells(&stored).iter().filter(|cell| cell["shadow"] != true) {
        let told = entry(&report, cell["contender"].as_str().unwrap());
        let raced = cell["invocations"].as_array().unwrap().iter().filter(|i| i["block"].is_u64());
        let counted = raced.filter(|i| i["disturbed"] != true);
        let switches = counted.map(|i| i["resources"]["voluntary_switches"].as_f64().unwrap());
        let [a, b] = switches.collect::<Vec<_>>()[..] else { panic!("two blocks count") };
        assert_eq!(told["voluntary_switches"], (a + b) / 2.0);
    }
    let good = entry(&report, "good");
    let used: Vec<_> = good["sample_block"].as_array().unwrap().to_vec();
    assert!(!used.contains(&0.into()) && used.contains(&1.into()) && used.contains(&2.into()));
    assert_eq!(entry(&report, "bad")["ratio_to_reference"]["blocks"], 2);
    // The block that stands for another has its order, so that the mirror is whole.
    let starts = project.starts();
    let [first, second, third] = [0, 1, 2].map(|block| &starts[2 + 3 * block..5 + 3 * block]);
    assert_eq!(first, second);
    assert_eq!(third.iter().rev().collect::<Vec<_>>(), first.iter().collect::<Vec<_>>());
    let said = "others may take 5 % of the CPU time in a block: 3 judged, 1 disturbed and repeated \
                (at most 1 in a race), 2 disturbed and kept";
    assert_eq!(report["run"]["disturbance"], said);
    for format in ["markdown", "terminal", "html"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("1 disturbed and repeated"), "{format}: {text}");
    }
}

#[test]
fn a_rule_that_allows_all_repeats_nothing_and_without_a_rule_nothing_is_judged() {
    let project = Project::good_and(Fake::new("bad"));
    let report = race(&project).set("--outside-max", "100").run().exits(0).json();
    assert_eq!(blocks(&project.stored()).len(), 2);
    assert_eq!(entry(&report, "good")["sample_block"].as_array().unwrap().last(), Some(&1.into()));
    let report = race(&project).run().exits(0).json();
    assert!(blocks(&project.stored()).is_empty() && report["run"]["disturbance"].is_null());
}

/// A block that was cut off is given up, whatever the machine did in it. (Others may be too short
/// to be judged: how long they take is up to the machine.)
#[test]
fn a_block_that_was_cut_off_is_given_up_and_not_judged() {
    let project = Project::good_and(Fake::new("bad").fault("meet").from(2));
    let meeting = project.meeting("bad");
    let palio = project.race().set("--outside-max", "100").start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130);
    guest.must_end();
    let report = project.palio(&["run", "--resume", "--json"]).run().exits(0).json();
    let all = blocks(&project.stored());
    assert_eq!(all.len(), 3);
    let (cut, all) = all.split_first().unwrap();
    assert!(cut["outside"].is_null() && cut["repeated"] == true && cut["interrupted"] == true);
    let untold = all.iter().filter(|block| block["outside"].is_null()).count();
    let said = report["run"]["disturbance"].as_str().unwrap();
    let parts = [
        format!("{} judged, 0 disturbed", all.len() - untold),
        format!("{untold} could not be judged (too short, resumed, or not told"),
    ];
    let parts = if untold > 0 { &parts[..] } else { &parts[..1] };
    assert_has(said, &parts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(entry(&report, "good")["sample_block"].as_array().unwrap().last(), Some(&2.into()));
}

#[test]
fn a_block_that_was_judged_before_an_interruption_is_not_judged_again() {
    let project = Project::good_and(Fake::new("bad").fault("meet").from(3));
    let meeting = project.meeting("bad");
    let race = project.race().set("--reference", "good").set("--outside-max", "100");
    let palio = race.start();
    let guest = meeting.guest();
    palio.signal(Signal::SIGINT);
    palio.finish().exits(130);
    guest.must_end();
    let before = blocks(&project.stored());
    project.palio(&["run", "--resume"]).run().exits(0);
    let after = blocks(&project.stored());
    let numbers: Vec<_> = after.iter().map(|block| block["block"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2], "the second one was cut off");
    assert_eq!(before, after[..1]);
}

/// 0.29 times a hundred is 28.999999999999996.
#[test]
fn the_share_is_told_as_it_was_given() {
    let project = Project::new().with(Fake::new("good"));
    for percent in ["29", "7", "0.07", "14.3", "100", "0"] {
        let report = project.race().set("--outside-max", percent).run().exits(0).json();
        let said = report["run"]["disturbance"].as_str().unwrap().to_owned();
        assert_has(&said, &[&format!("others may take {percent} % of the CPU time in a block")]);
    }
}

#[test]
fn a_share_that_is_none_is_refused() {
    for percent in ["-1", "101", "much"] {
        let run = Project::new().palio(&["run", &format!("--outside-max={percent}")]).run();
        run.fails_with(&["--outside-max", "percent from 0 to 100"]);
    }
}
