//! Random kills -9 of Palio, of wardens, of contenders, of builds, and of Palio together with its
//! wardens: nothing lives on, and no sample that was stored is lost.
//!
//! A few rounds of each by default; `PALIO_KILLS=200 cargo test -p palio --test program kills::`
//! takes 200, and `PALIO_KILLS_SEED` other moments.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Fake, Project, Running, assert_nothing_lost};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const ROUNDS: usize = 10;
/// Nothing takes nearly as long to die.
const PATIENCE: Duration = Duration::from_secs(30);
/// A race is over by then, unless the machine is busy.
const MOMENT_MS_MAX: u64 = 900;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Palio,
    Warden,
    /// A contender, a daemon of one, or a process of a build: whoever is there.
    Other,
    Build,
    PalioAndWardens,
}

const VICTIMS: [Victim; 5] =
    [Victim::Palio, Victim::Warden, Victim::Other, Victim::Build, Victim::PalioAndWardens];

/// SplitMix64: good enough for moments.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A process of a project, as it names itself.
struct Found {
    id: i32,
    is_warden: bool,
    is_build: bool,
}

/// All processes that have the project's folder among their arguments, which all have that a Palio
/// starts here: wardens too, and daemons.
fn processes(project: &Project) -> Vec<Found> {
    let mark = project.path("state").display().to_string();
    let ids = fs::read_dir("/proc").unwrap().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let found = ids.filter_map(|id| {
        let line = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(&mark).then(|| Found {
            id,
            is_warden: line.contains("__warden"),
            is_build: line.contains("--burn"),
        })
    });
    found.collect()
}

fn nobody_is_left(project: &Project, what: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = processes(project);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{} processes live on after {what}", left.len());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn project() -> Project {
    let project = Project::good_and(Fake::new("daemon").fault("grandchild:daemon"));
    let [program, state, folder, _] = project.lingering("built");
    let line =
        format!("'{program}' {state} '{folder}' --burn & '{program}' {state} '{folder}' --burn");
    let build = format!(
        "[build]\ncommands = [{:?}]\ninputs = [\"input\"]\n",
        ["sh", "-c", &format!("{line}; wait"), &folder]
    );
    project.with(Fake::new("built").toml(&build))
}

/// Everything of the run that is raced now or was last, if there is one.
fn stored(project: &Project) -> Option<Value> {
    (!project.runs().is_empty()).then(|| project.stored())
}

/// Waits for a victim of this kind and kills it; whether there was one before the race ended.
fn strike(project: &Project, palio: &Running, victim: Victim, random: &mut Random) -> bool {
    if victim == Victim::Palio {
        palio.signal(Signal::SIGKILL);
        return true;
    }
    let palio_id = Pid::from_raw(i32::try_from(palio.id()).unwrap());
    while !palio.is_over() {
        let all = processes(project);
        let fits = |found: &&Found| match victim {
            Victim::Warden | Victim::PalioAndWardens => found.is_warden,
            Victim::Build => found.is_build && !found.is_warden,
            Victim::Other | Victim::Palio => !found.is_warden,
        };
        let fitting: Vec<_> = all.iter().filter(fits).collect();
        if victim == Victim::PalioAndWardens && !fitting.is_empty() {
            // A warden that stands still does not see that Palio dies.
            let wardens = || fitting.iter().map(|warden| Pid::from_raw(warden.id));
            for id in wardens() {
                let _ = kill(id, Signal::SIGSTOP);
            }
            let _ = kill(palio_id, Signal::SIGKILL);
            for id in wardens() {
                let _ = kill(id, Signal::SIGKILL);
            }
            return true;
        }
        if let Some(found) = fitting.get(random.below(fitting.len().max(1) as u64) as usize) {
            return kill(Pid::from_raw(found.id), Signal::SIGKILL).is_ok();
        }
    }
    false
}

#[test]
fn whatever_is_killed_nothing_lives_on_and_no_sample_is_lost() {
    let (rounds, seed) = (number("PALIO_KILLS", ROUNDS), number("PALIO_KILLS_SEED", 1));
    let mut random = Random(seed as u64);
    let project = project();
    let doctor = project.palio(&["doctor", "--json"]).run().exits(0).json();
    let said = doctor["machine"]["control_groups"].as_str().unwrap_or("none: ").to_owned();
    // What has lost both is found by its group alone.
    let victims = &VICTIMS[..if said.starts_with("none: ") { 4 } else { 5 }];
    let (mut hits, mut kept) = (0, 0);
    for round in 0..rounds {
        let victim = victims[round % victims.len()];
        let what = format!("round {round} of seed {seed}, which killed {victim:?}");
        // Built anew each time.
        project.write("contenders/rust/built/input", &round.to_string());
        let palio = project.race().start();
        let moment_ms = match victim {
            // Builds come first.
            Victim::Build => 0,
            _ => random.below(MOMENT_MS_MAX),
        };
        std::thread::sleep(Duration::from_millis(moment_ms));
        let before = stored(&project);
        let hit = strike(&project, &palio, victim, &mut random);
        hits += usize::from(hit);
        let finished = palio.finish();
        match finished.status.code() {
            // A contender or a build that failed is no failure of the run.
            Some(code) => assert_eq!(code, 0, "{what}: {}", finished.stderr),
            None => assert!(matches!(victim, Victim::Palio | Victim::PalioAndWardens), "{what}"),
        }
        if victim == Victim::PalioAndWardens {
            project.palio(&["doctor"]).run().exits(0);
        }
        nobody_is_left(&project, &what);
        let is_partial =
            || !project.runs().is_empty() && project.report("latest")["run"]["state"] == "partial";
        if is_partial() {
            project.palio(&["run", "--resume", "--json"]).run().exits(0);
        }
        if let Some(before) = before {
            let id = before["header"]["id"].as_str().unwrap();
            let after = project.palio(&["export", id, "-"]).run().exits(0).json();
            kept += assert_nothing_lost(&before, &after["run"]);
        }
        assert!(!is_partial(), "{what}");
        nobody_is_left(&project, &what);
    }
    assert!(hits * 2 >= rounds, "only {hits} of {rounds} kills hit anything");
    assert!(kept > 0, "nothing was stored when anything was killed");
    eprintln!("{hits} of {rounds} kills hit, {kept} samples were there before and after");
}
