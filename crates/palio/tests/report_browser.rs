//! The HTML report in headless Chromium: `tests/browser/report.test.mjs` does the looking.
//!
//! Needs node, npm and chromium (Debian: `apt-get install nodejs npm chromium`). Where they are
//! missing the test says so and passes; with `PALIO_REQUIRE_BROWSER=1` it fails instead.
//! `PALIO_SCREENSHOTS=DIR` keeps pictures of what the browser saw, `PALIO_CHROMIUM` names another
//! executable.

use crate::report_fixture;
use std::path::{Path, PathBuf};
use std::process::Command;

use palio::record::Outcome;
use palio::report::model::Entry;
use palio::report::{Report, html, summary};
use palio::stats::Shape;
use palio::store::Store;

#[test]
fn in_a_browser() {
    if let Some(missing) = missing() {
        let required = std::env::var_os("PALIO_REQUIRE_BROWSER").is_some_and(|value| value == "1");
        assert!(!required, "PALIO_REQUIRE_BROWSER=1, but {missing}");
        eprintln!("SKIPPED: the report was not opened in a browser, because {missing}");
        return;
    }
    let pages = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report-pages");
    std::fs::create_dir_all(&pages).expect("the target directory can be written");
    let mut typical = report_fixture::typical();
    let nqueens = typical.races.iter_mut().find(|race| race.workload == "nqueens");
    let mut entries = nqueens.into_iter().flat_map(|race| &mut race.entries);
    report_fixture::split(entries.find(|entry| entry.contender == "rayon").expect("it raced"));
    let reports = [
        ("small", report_fixture::small()),
        ("typical", typical),
        ("pending", report_fixture::pending()),
        ("large", report_fixture::large()),
        ("hostile", report_fixture::hostile()),
        ("empty", report_fixture::empty()),
    ];
    let write = |name: &str, report: &Report| {
        std::fs::write(pages.join(format!("{name}.html")), html::render(report))
            .expect("a page can be written");
    };
    for (name, report) in &reports {
        write(name, report);
    }
    let typical = &reports[1].1;
    std::fs::write(pages.join("typical.results.json"), results(typical).to_string())
        .expect("what the page is held against can be written");
    // Real runs have longer names and wilder numbers than any that were made up.
    for name in ["fairness", "native", "fork-join", "full"] {
        let path = directory().join(format!("../../../../docs/results/{name}.json.gz"));
        let bundle = std::fs::File::open(path).expect("the bundle is part of the repository");
        let mut store = Store::in_memory().expect("a database in memory");
        let id = store.import(bundle, None).expect("it is a bundle");
        let run = store.load(&id).expect("it was just imported");
        write(&format!("bundle-{name}"), &summary::report(&run));
    }
    let mut test = Command::new("node");
    test.arg("report.test.mjs").arg(&pages).current_dir(directory());
    if let Some(shots) = std::env::var_os("PALIO_SCREENSHOTS") {
        std::fs::create_dir_all(&shots).expect("the directory for screenshots can be made");
        test.arg(std::fs::canonicalize(shots).expect("it was just made"));
    }
    let output = test.output().expect("node starts");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    eprintln!("{out}");
}

/// Which results are doubtful, have outliers or two groups, by what was measured and not by what
/// the page says: `race/contender`.
fn results(report: &Report) -> serde_json::Value {
    let entries = report.races.iter().enumerate().flat_map(|(i, race)| {
        let ranked = race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok);
        ranked.map(move |entry| (format!("{i}/{}", entry.contender), entry))
    });
    let entries: Vec<(String, &Entry)> = entries.collect();
    let of = |is: fn(&Entry) -> bool| -> Vec<&str> {
        entries.iter().filter(|(_, e)| is(e)).map(|(name, _)| name.as_str()).collect()
    };
    serde_json::json!({
        "doubtful": of(|entry| !entry.doubts.is_empty()),
        "outliers": of(|entry| Shape::of(&entry.sample_ns).outliers > 0),
        "groups": of(|entry| Shape::of(&entry.sample_ns).groups.is_some()),
    })
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser")
}

/// What keeps a browser from being started, if anything does; installs what npm's lock file names.
fn missing() -> Option<String> {
    let chromium = std::env::var("PALIO_CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".into());
    for (tool, hint) in [
        ("node", "apt-get install nodejs"),
        ("npm", "apt-get install npm"),
        (&*chromium, "apt-get install chromium"),
    ] {
        let found = Command::new(tool)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success());
        if !found {
            return Some(format!("{tool} is not here ({hint})"));
        }
    }
    if directory().join("node_modules/playwright-core/package.json").exists() {
        return None;
    }
    let install = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund"])
        .current_dir(directory())
        .output();
    match install {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            Some(format!("npm ci failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Some(format!("npm ci could not be started: {error}")),
    }
}
