//! Random kills -9 of a Palio that writes a file or a database: what was there before is there
//! whole, or what was to be written is, and the next Palio leaves nothing of the killed one.
//!
//! A few rounds of each by default; with `PALIO_KILLS=200` 50 of each, and `PALIO_KILLS_SEED`
//! takes other moments.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::{self, Fake, Palio, Project};
use nix::sys::signal::Signal;
use serde_json::Value;

const ROUNDS: usize = 16;
const BEFORE: &str = "as it was";
/// A run of some size.
const BUNDLE: &str = "docs/results/yaay.json.gz";

/// SplitMix64: good enough for moments.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

struct Ground {
    project: Project,
    bundle: PathBuf,
    /// The ids of the run that was raced here and of the one that the bundle holds.
    ids: [String; 2],
    /// What a Palio writes that nobody kills.
    export: String,
    page: String,
}

impl Ground {
    /// A database with a short run of its own and with that of the bundle, and one without the
    /// latter.
    fn new() -> Self {
        let project = Project::new().with(Fake::new("good"));
        project.race().run().exits(0);
        let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(BUNDLE);
        let own = id(&project.runs()[0]);
        project.palio(&["baseline", "save", "main", &own]).run().exits(0);
        fs::copy(project.database(), project.path("short.db")).unwrap();
        import(&project, &bundle).run().exits(0);
        let ids = project.runs().iter().map(id).find(|id| *id != own);
        let ids = [own, ids.unwrap()];
        fs::create_dir(project.path("out")).unwrap();
        let mut ground = Self { project, bundle, ids, export: String::new(), page: String::new() };
        for what in [What::Export, What::Page] {
            ground.command(what, true).run().exits(0);
        }
        ground.export = ground.project.read("out/bundle.json");
        ground.page = ground.project.read("out/report.html");
        ground
    }

    /// Puts back what is written over. Where `is_new`, there was nothing before.
    fn prepare(&self, what: What, is_new: bool) {
        let project = &self.project;
        fs::remove_dir_all(project.path("out")).unwrap();
        fs::create_dir(project.path("out")).unwrap();
        if !is_new || matches!(what, What::Baseline) {
            fs::copy(project.path("short.db"), project.path("out/runs.db")).unwrap();
        }
        if !is_new {
            project.write("out/bundle.json", BEFORE);
            project.write("out/report.html", BEFORE);
        }
    }

    fn command(&self, what: What, is_new: bool) -> Palio {
        let project = &self.project;
        let [own, other] = &self.ids;
        match what {
            What::Import => self.here(import(project, &self.bundle)),
            What::Export => project.palio(&["export", other, "out/bundle.json"]),
            What::Page => {
                project.palio(&["report", other, "--format", "html", "-o", "out/report.html"])
            }
            What::Baseline => {
                let name = if is_new { "next" } else { "main" };
                let save = ["baseline", "save", name, own, "--anchor", "good", "--replace"];
                self.here(project.palio(&save))
            }
        }
    }

    /// With the database that is written.
    fn here(&self, palio: Palio) -> Palio {
        palio.env("PALIO_DB", self.project.path("out/runs.db"))
    }

    /// Holds what is there against what was there and what was to be.
    fn check(&self, what: What, is_new: bool, round: &str) {
        let project = &self.project;
        let whole = |name: &str, whole: &str| match fs::read_to_string(project.path(name)) {
            Ok(text) => {
                assert!(text == whole || (!is_new && text == BEFORE), "{round}: {text:.99}")
            }
            Err(error) => assert!(is_new, "{round}: {error}"),
        };
        match what {
            What::Export => whole("out/bundle.json", &self.export),
            What::Page => whole("out/report.html", &self.page),
            What::Import => {
                let runs = self.read(&["list", "runs", "--json"]).json();
                let runs: Vec<String> = runs.as_array().unwrap().iter().map(id).collect();
                let [own, other] = &self.ids;
                assert!(is_new || runs.contains(own), "{round}: {runs:?}");
                assert!(runs.len() <= 2 - usize::from(is_new), "{round}: {runs:?}");
                if runs.contains(other) {
                    let export = self.read(&["export", other, "-"]).stdout;
                    assert!(export == self.export, "{round}: the run is not what was imported");
                }
            }
            What::Baseline => {
                let all = self.read(&["baseline", "list", "--json"]).json();
                let main = all.as_array().unwrap().iter().find(|b| b["name"] == "main");
                assert_eq!(main.unwrap()["run"], self.ids[0].as_str(), "{round}");
            }
        }
    }

    /// What a command says of the database that was written, if it is there.
    fn read(&self, args: &[&str]) -> support::Finished {
        self.here(self.project.palio(args)).run().exits(0)
    }

    /// What is beside the files that were to be written.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.project.path("out")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let known = ["runs.db", "bundle.json", "report.html"];
        names.filter(|name| !known.contains(&name.as_str())).collect()
    }
}

#[derive(Clone, Copy, Debug)]
enum What {
    Import,
    Export,
    Page,
    Baseline,
}

const ALL: [What; 4] = [What::Import, What::Export, What::Page, What::Baseline];

fn import(project: &Project, bundle: &Path) -> Palio {
    project.palio(&["import", bundle.to_str().unwrap(), "--other-catalogue"])
}

fn id(run: &Value) -> String {
    run["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_and_a_database_are_whole_whenever_who_writes_them_is_killed() {
    let (rounds, seed) = (number("PALIO_KILLS", ROUNDS), number("PALIO_KILLS_SEED", 1));
    let mut random = Random(seed as u64);
    let ground = Ground::new();
    let took = ALL.map(|what| {
        ground.prepare(what, false);
        let palio = ground.command(what, false);
        let start = Instant::now();
        palio.run().exits(0);
        start.elapsed()
    });
    let (mut hits, mut drafts) = (0, 0);
    for round in 0..rounds {
        let (what, is_new) = (ALL[round % ALL.len()], round / ALL.len() % 2 == 1);
        let name = format!("round {round} of seed {seed}, {what:?} (new: {is_new})");
        ground.prepare(what, is_new);
        let palio = ground.command(what, is_new).start();
        // The first of each are hit wherever they are, however fast they are by now.
        let moment: Duration = took[round % ALL.len()].mul_f64(random.fraction());
        std::thread::sleep(if round < ALL.len() { Duration::ZERO } else { moment });
        palio.signal(Signal::SIGKILL);
        let finished = palio.finish();
        match finished.status.code() {
            None => hits += 1,
            Some(code) => assert_eq!(code, 0, "{name}: {}", finished.stderr),
        }
        drafts += ground.left().iter().filter(|left| left.ends_with(".palio-draft")).count();
        ground.check(what, is_new, &name);
        // Once more, over what the killed one left, and to the end.
        let again = ground.command(what, is_new).run();
        let was_through = matches!(what, What::Import) && again.stderr.contains("is there already");
        assert!(again.status.success() || was_through, "{name}: {}", again.stderr);
        ground.check(what, is_new, &name);
        let left = ground.left();
        assert!(left.is_empty(), "{name}: {left:?} is left when another one is through");
    }
    assert!(hits > 0, "nothing was killed before it ended");
    eprintln!("{hits} of {rounds} kills hit, {drafts} left a draft");
}
