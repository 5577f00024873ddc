//! Contenders that claim what is not so: each is caught, or is named in `docs/bias.md` as what
//! cannot be.

use crate::support::{self, Fake, Project, assert_has, entry};
use rusqlite::Connection;

#[test]
fn a_clock_that_runs_fast_is_no_result() {
    let project = Project::good_and(Fake::new("bad").fault("lie:1000000"));
    let report = project.race().set("--reference", "good").run().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "false-time");
    assert_has(
        bad["detail"].as_str().unwrap(),
        &["its sample", "by its own clock", "by Palio's clock", "`done`"],
    );
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
    assert_has(
        bad["doubts"][0].as_str().unwrap(),
        &["accounted for", "% of the time that it took by Palio's clock"],
    );
    for format in ["terminal", "markdown", "csv", "html"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        assert!(text.replace('\n', " ").contains("accounted for"), "{format} is silent:\n{text}");
    }
    let compared = project.palio(&["compare", "good", "bad", "--within", "latest"]).run().exits(0);
    compared.prints(&["doubtful: bad accounted for"]);
    let picture = project.palio(&["report", "latest", "--format", "svg"]).run().exits(0).stdout;
    assert_has(&picture, &["Doubtful, as the report says why: ", "bad in 1 race"]);
}

#[test]
fn a_lie_in_most_processes_is_not_outweighed_by_the_others() {
    // It claims a tenth of its time in four blocks. In the fifth it takes long and claims all of
    // it, so that nearly all time is accounted for. The ratio to others is that of the typical
    // block, in which it is ten times too fast.
    let project = Project::good_and(Fake::new("bad").fault("lie:10"));
    let race = project.race().set("--reference", "good").set("--blocks", "5");
    race.run().exits(0);
    seen(&project, "wall_ns = samples * 2000000");
    let connection = Connection::open(project.database()).unwrap();
    for (table, change) in
        [("span", "wall_ns = samples * 40000000"), ("sample", "elapsed_ns = 40000000")]
    {
        let of_the_fifth = "invocation IN (SELECT invocation.id FROM invocation \
             JOIN cell ON cell = cell.id WHERE block = 4 AND contender = 'bad')";
        let longer = format!("UPDATE {table} SET {change} WHERE {of_the_fifth}");
        assert!(connection.execute(&longer, []).unwrap() > 0);
    }
    let report = project.report("latest");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "ok");
    assert!(bad["ratio_to_reference"]["point"].as_f64().unwrap() < 0.5, "{bad:#}");
    let accounted = bad["accounted_percent"].as_f64().unwrap();
    assert!(accounted > 80.0, "{accounted}");
    assert_has(
        bad["doubts"][0].as_str().unwrap(),
        &["accounted for", "% of the time that its typical process took by Palio's clock"],
    );
}

#[test]
fn the_largest_numbers_are_the_same_live_and_stored() {
    const MOST: u64 = u64::MAX;
    for (fault, outcome) in [("elapsed", "false-time"), ("user", "ok")] {
        let project = Project::good_and(Fake::new("bad").fault(&format!("{fault}:{MOST}")));
        let live = project.race().set("--reference", "good").run().exits(0).json();
        assert_eq!(entry(&live, "bad")["outcome"], outcome);
        assert_eq!(project.report("latest"), live, "{fault}");
        let show = project.palio(&["show", "echo", "bad", "--json"]).run().exits(0);
        assert_has(&show.stdout, &[&format!(": {MOST},")]);
    }
}

#[test]
fn time_that_is_claimed_before_it_passed_is_no_result() {
    // The samples of a command add up to what passed, but the first one claims the time of all, so
    // that the median is a tenth of the truth.
    let project = Project::good_and(Fake::new("bad").fault("shift:first"));
    // Fifty samples, so that the first one claims 90 ms: its line is not read as late as that.
    let race = project.race().set("--reference", "good").set("--budget", "100");
    let report = race.run().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "false-time", "{bad:#}");
    assert_has(
        bad["detail"].as_str().unwrap(),
        &["its first", "by its own clock", "by Palio's clock"],
    );
}

#[test]
fn time_that_is_moved_into_one_sample_is_shown() {
    let project = Project::good_and(Fake::new("bad").fault("shift:last"));
    project.race().set("--reference", "good").run().exits(0);
    // As on a quiet machine, where nothing but the sleeps of 2 ms takes time.
    seen(&project, "wall_ns = samples * 2000000, line_ns = min(line_ns, 2000000)");
    let report = project.report("latest");
    let bad = entry(&report, "bad");
    // It accounts for all of its time, and its median is a tenth of the truth.
    assert_eq!(bad["outcome"], "ok");
    assert!(bad["accounted_percent"].as_f64().unwrap() > 99.0, "{bad:#}");
    assert_has(bad["doubts"][0].as_str().unwrap(), &["typical sample", "from one sample to the"]);
    assert!(entry(&report, "good")["doubts"].as_array().unwrap().is_empty());
}

/// Changes what Palio saw from outside, where a test is about what follows from it.
fn seen(project: &Project, columns: &str) {
    let connection = Connection::open(project.database()).unwrap();
    connection.execute(&format!("UPDATE span SET {columns}"), []).unwrap();
}

#[test]
fn a_bound_on_the_time_is_no_matter_of_words() {
    // It says that it took the least that it can, a hundred seconds, and did nothing.
    let fake = Fake::new("bad").fault("claim:20000").fault("lie:500000000");
    let project = Project::new().with(fake);
    let echo = project.read("workloads/echo.toml");
    let bound = echo.replace("[[case]]", "elapsed_ns_min = 100_000_000_000\n\n[[case]]");
    project.write("workloads/echo.toml", &bound);
    let report = project.race().run().exits(0).json();
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

/// Races `bad` on the salted workload, and checks that its answers are found out.
#[track_caller]
fn is_found_out(bad: Fake) {
    let project = Project::good_and(bad);
    let race = project.race().set("--workload", "raise").set("--reference", "good");
    let report = race.run().exits(0).json();
    assert_eq!(report["races"][0]["salted"], true);
    assert_eq!(entry(&report, "good")["outcome"], "ok", "{report:#}");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "wrong-answer", "{bad:#}");
    assert!(bad["rank"].is_null());
}

#[test]
fn the_constant_of_the_catalogue_is_no_answer() {
    is_found_out(Fake::new("bad").fault("constant").fault("claim:1000"));
}

#[test]
fn the_answer_of_the_process_before_is_no_answer() {
    is_found_out(Fake::new("bad").fault("replay"));
}

#[test]
fn the_answer_of_half_of_the_work_is_no_answer() {
    is_found_out(Fake::new("bad").fault("skip"));
}

#[test]
fn a_replay_is_found_out_against_the_shadow_too() {
    // Nothing but the reference and its shadow: whoever starts second knows the first answer.
    let project = Project::new().with(Fake::new("bad").fault("replay"));
    let report = project.race().set("--workload", "raise").run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "wrong-answer");
}

#[test]
fn every_process_has_a_salt_of_its_own_and_a_seed_repeats_them() {
    let salts = |seed: &str| {
        let project = Project::good_and(Fake::new("other"));
        project.race().set("--seed", seed).run().exits(0);
        let stored = project.stored();
        let cells = support::cells(&stored).into_iter();
        let invocations = cells.flat_map(|cell| cell["invocations"].as_array().unwrap());
        invocations.map(|i| i["salt"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let first = salts("1");
    // Two pilots, and two blocks of two contenders and a shadow.
    assert_eq!(first.len(), 8);
    let distinct: std::collections::BTreeSet<_> = first.iter().collect();
    assert_eq!(distinct.len(), first.len());
    assert_eq!(salts("1"), first);
    assert!(salts("2").iter().all(|salt| !first.contains(salt)));
}

/// What no salt and no clock can find out; `docs/bias.md` says so. Should this test fail, it can,
/// and the document is to be mended.
#[test]
fn an_answer_that_is_computed_without_the_work_is_believed() {
    // It knows the formula, sleeps a hundredth of the time, and says so.
    let project = Project::good_and(Fake::new("bad").fault("claim:20000"));
    let race = project.race().set("--workload", "raise").set("--reference", "good");
    let report = race.run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "ok");
    assert!(
        entry(&report, "bad")["value_ns"].as_f64() < entry(&report, "good")["value_ns"].as_f64()
    );
}

#[test]
fn a_way_that_failed_is_shown_beside_the_way_that_did_not() {
    let project = Project::good_and(Fake::new("bad").fault("wrong-with:way=b"));
    let echo = project.read("workloads/echo.toml");
    let ways = "variants = [{ way = \"a\" }, { way = \"b\" }]\n\n[[case]]";
    project.write("workloads/echo.toml", &echo.replace("[[case]]", ways));
    let report = project.race().set("--reference", "good").run().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!((&bad["outcome"], &bad["variant"]), (&"ok".into(), &"way=a".into()));
    project.assert_travels();
    for format in ["terminal", "markdown", "csv", "html"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_has(&text, &["with way=b: wrong answer: it answered 41"]);
    }
}

#[test]
fn more_cpu_time_than_any_number_holds_is_no_sum() {
    let project = Project::good_and(
        Fake::new("bad").fault("user:18446744073709551615").fault("sys:18446744073709551615"),
    );
    project.race().set("--reference", "good").run().exits(0);
    project.report("latest");
}

#[test]
fn more_processors_than_threads_are_shown_where_tasks_are_joined() {
    let project = Project::new().with(Fake::new("good"));
    let echo = project.read("workloads/echo.toml");
    for (model, crowds) in [("fork-join", true), ("async", false)] {
        project.write("workloads/echo.toml", &echo.replace("async", model));
        project.race().run().exits(0);
        seen(&project, "cpu_ns = wall_ns * 19 / 10");
        let report = project.report("latest");
        let doubts = entry(&report, "good")["doubts"].to_string();
        assert_eq!(doubts.contains("kept 1.9 processors busy with 1 thread"), crowds, "{doubts}");
    }
}

#[test]
fn a_long_start_is_shown() {
    // As of one that starts itself again until it likes where its memory is.
    let project = Project::good_and(Fake::new("bad"));
    project.race().set("--reference", "good").run().exits(0);
    // As on a quiet machine, where nothing else is to be doubted.
    seen(&project, "wall_ns = samples * 2000000, line_ns = min(line_ns, 2000000)");
    let connection = Connection::open(project.database()).unwrap();
    let longer = "UPDATE invocation SET wall_us = wall_us + 20000000 \
                  WHERE cell IN (SELECT id FROM cell WHERE contender = 'bad')";
    connection.execute(longer, []).unwrap();
    let report = project.report("latest");
    let doubts = entry(&report, "bad")["doubts"].to_string();
    assert_has(&doubts, &["took 20.", "s of each process for what it was not asked for"]);
    assert!(entry(&report, "good")["doubts"].as_array().unwrap().is_empty());

    // The same while its first command waits for it.
    let longer = "UPDATE span SET wall_ns = wall_ns + 20000000000 WHERE position = 0 AND invocation IN \
                  (SELECT id FROM invocation WHERE cell IN (SELECT id FROM cell WHERE contender = 'bad'))";
    connection.execute(longer, []).unwrap();
    let doubts = entry(&project.report("latest"), "bad")["doubts"].to_string();
    assert_has(&doubts, &["took 20.", "s of each process for what it was not asked for"]);
}

#[test]
fn what_a_race_does_not_see_changes_no_version() {
    // Whoever starts Palio with a variable that preloads another library, say, would have the
    // version of that printed, and race without it.
    let project = Project::new().with(Fake::new("bad"));
    let manifest = "contenders/rust/bad/contender.toml";
    let forges =
        r#"command = ["sh", "-c", 'exec "$@" ${FORGED:+--fault describe-version:9.9}', "sh", "#;
    project.write(manifest, &project.read(manifest).replace("command = [", forges));
    let report = project.race().env("FORGED", "1").run().exits(0).json();
    assert_eq!(entry(&report, "bad")["version"], "1.0");
    let direct = project.read(manifest).replace("${FORGED:+--fault", "${PATH:+--fault");
    project.write(manifest, &direct);
    let report = project.race().run().exits(0).json();
    assert_eq!(entry(&report, "bad")["version"], "9.9", "the script does not forge");
}
