//! Contenders that claim what is not so: each is caught, or is named in `docs/bias.md` as what
//! cannot be.

mod support;

use support::{Fake, Project, assert_has, entry};

#[test]
fn a_clock_that_runs_fast_is_no_result() {
    let project = Project::good_and(Fake::new("bad").fault("lie:200"));
    let report = project.race().set("--reference", "good").run().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "false-time");
    assert_has(bad["detail"].as_str().unwrap(), &["claims more time than passed", "`done`"]);
    assert!(bad["rank"].is_null() && bad["value_ns"].is_null());
}

#[test]
fn a_clock_that_runs_slow_is_shown_in_every_format() {
    let project = Project::good_and(Fake::new("bad").fault("lie:10"));
    let report = project.race().set("--reference", "good").run().exits(0).json();
    let bad = entry(&report, "bad");
    // What else might have taken the time cannot be known, so that it is ranked; but not silently.
    assert_eq!(bad["outcome"], "ok");
    let accounted = bad["accounted_percent"].as_f64().unwrap();
    assert!(accounted > 0.0 && accounted <= 10.0, "{accounted}");
    assert_has(bad["doubts"][0].as_str().unwrap(), &["accounted for", "% of the time it took"]);
    for format in ["terminal", "markdown", "csv", "html"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        assert!(text.replace('\n', " ").contains("accounted for"), "{format} is silent:\n{text}");
    }
}

#[test]
fn a_bound_on_the_time_is_no_matter_of_words() {
    // It says that it took the least that it can, and did nothing.
    let project = Project::good_and(Fake::new("bad").fault("claim:20000").fault("lie:10000"));
    let echo = project.read("workloads/echo.toml");
    let bound = echo.replace("[[case]]", "elapsed_ns_min = 2_000_000\n\n[[case]]");
    project.write("workloads/echo.toml", &bound);
    let report = project.race().set("--reference", "good").run().exits(0).json();
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    assert_eq!(entry(&report, "bad")["outcome"], "false-time");
}

#[test]
fn work_that_nobody_counted_is_not_certified() {
    let project = Project::good_and(Fake::new("bad").fault("no-work:5"));
    let report = project.race().set("--reference", "good").set("--budget", "20").run().exits(0);
    let report = report.json();
    assert_eq!(entry(&report, "good")["certified"], true);
    assert_eq!(entry(&report, "bad")["certified"], false);
    for format in ["terminal", "markdown", "html"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        assert!(text.replace('\n', " ").contains("not certified: the work of bad"), "{format}");
    }
}
