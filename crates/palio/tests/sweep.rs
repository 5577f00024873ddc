//! `palio sweep`: one contender with its knobs turned.

use crate::support::{Fake, Finished, Palio, Project, assert_has};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// `dial=1` takes half as long as the default, `dial=2` a tenth less, `dial=3` twice as long.
fn project() -> Project {
    let swift = ["1000000:dial=1", "1800000:dial=2", "4000000:dial=3"];
    let fake = swift.iter().fold(Fake::new("good"), |f, c| f.fault(&format!("claim-with:{c}")));
    Project::new().with(fake)
}

fn sweep(project: &Project, more: &[&str]) -> Palio {
    let args = ["sweep", "good", "-w", "echo", "--seed", "1", "--quiet"];
    let short = [("--blocks", "6"), ("--budget", "5"), ("--warm-up", "0")];
    let palio = project.palio(&[&args[..], more].concat());
    short.into_iter().fold(palio, |palio, (key, value)| palio.set(key, value))
}

/// The cells of a table of comma-separated values, without its names.
fn csv(finished: &Finished) -> Vec<Vec<String>> {
    let lines = finished.stdout.lines().map(|l| l.split(',').map(str::to_owned).collect());
    lines.skip(1).collect()
}

#[test]
fn every_point_is_compared_with_the_defaults_in_one_set_of_blocks() {
    let project = project();
    let swept = sweep(&project, &["--knob", "dial=0,1,2,3", "--format", "csv"]).run().exits(0);
    let names = "run,workload,params,threads,contender,is_baseline,knob_dial,outcome,value_ns,\
                 ratio_to_baseline,ratio_lo,ratio_hi,verdict,p,holm,blocks,noise_floor_ratio,is_best,statistic,\
                 doubts,cpu_budget";
    assert_eq!(swept.stdout.lines().next().unwrap(), names);
    let rows = csv(&swept);
    // The point that is the default is the baseline itself.
    let told: Vec<[&str; 5]> = rows.iter().map(|r| [4, 5, 6, 12, 17].map(|i| &*r[i])).collect();
    assert_eq!(
        told,
        [
            ["good", "true", "0", "reference", "false"],
            ["good@dial=1", "false", "1", "faster", "true"],
            ["good@dial=2", "false", "2", "faster", "false"],
            ["good@dial=3", "false", "3", "slower", "false"],
        ]
    );
    let ratio: f64 = rows[1][9].parse().unwrap();
    assert!((ratio - 0.5).abs() < 0.01, "{ratio}");
    let run = project.stored();
    assert_eq!(run["races"][0]["reference"], "good");
    assert_eq!(project.runs().len(), 1);
    // Each of the four, and the shadow, once a block.
    let cells = run["races"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 5);
    for cell in cells {
        let blocks =
            cell["invocations"].as_array().unwrap().iter().filter(|i| !i["block"].is_null());
        assert_eq!(blocks.count(), 6);
    }
}

#[test]
fn the_best_point_is_told_and_its_limits_and_the_command_again() {
    let project = project();
    let text = sweep(&project, &["--knob", "dial=1,2,3"]).run().exits(0);
    let text = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(
        &text,
        &[
            "Sweep of good: dial = 1, 2, 3 (default 0)",
            "the contender's own word",
            "noise floor 1.0 %",
            "good@dial=1 is best: faster than the baseline and all others.",
            "HTML report: ",
        ],
    );
    let command = project.stored()["header"]["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("palio sweep good --knob dial=1,2,3 -w echo "), "{command}");
    assert!(command.ends_with("--seed 1"), "{command}");
}

#[test]
fn a_point_that_is_not_told_apart_is_not_best() {
    // `dial=1` and `dial=9` take the same.
    let fake =
        Fake::new("good").fault("claim-with:1000000:dial=1").fault("claim-with:1000000:dial=9");
    let project = Project::new().with(fake);
    let text = sweep(&project, &["--knob", "dial=1,9", "--format", "markdown"]).run().exits(0);
    assert!(!text.stdout.contains("**best**"), "{}", text.stdout);
    text.prints(&["none is best: the lowest, good@dial=", "not told apart from good@dial="]);
    // Nor is one that is not told apart from the baseline.
    let text = sweep(&project, &["--knob", "dial=5,6", "--format", "markdown"]).run().exits(0);
    assert!(!text.stdout.contains("**best**"), "{}", text.stdout);
    // And below five blocks nothing is told apart at all.
    let few = sweep(&project, &["--knob", "dial=1", "--format", "csv"]).set("--blocks", "4").run();
    assert_eq!(csv(&few.exits(0))[1][12], "inconclusive");
}

#[test]
fn two_knobs_are_every_combination_and_a_heat_map() {
    let project = project();
    let grid = ["--knob", "mode=plain,fancy", "--knob", "dial=0,1"];
    sweep(&project, &grid).run().exits(0);
    let report = project.report("latest");
    let points: Vec<&str> = report["sweep"]["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["contender"].as_str().unwrap())
        .collect();
    let expected =
        ["good", "good@dial=1@mode=plain", "good@dial=0@mode=fancy", "good@dial=1@mode=fancy"];
    assert_eq!(points, expected);
    let page = project.palio(&["report", "--format", "html"]).run().exits(0).stdout;
    assert_has(
        &page,
        &["<section id=sweep", "<th scope=row>fancy", "plain (default)", "class=\"f3"],
    );
}

#[test]
fn a_stored_sweep_and_its_bundle_are_shown_again() {
    let project = project();
    let first = sweep(&project, &["--knob", "dial=1,2"]).run().exits(0).stdout;
    let again = project.palio(&["report", "--table", "sweep"]).run().exits(0).stdout;
    assert!(first.starts_with(again.trim_end()), "{first}\n{again}");
    project.palio(&["export", "latest", "sweep.json"]).run().exits(0);
    let bundle = ["report", "--bundle", "sweep.json", "--table", "sweep", "--format", "csv"];
    let of_bundle = project.palio(&bundle).run().exits(0).stdout;
    let csv = ["report", "--table", "sweep", "--format", "csv"];
    assert_eq!(of_bundle, project.palio(&csv).run().exits(0).stdout);
    let imported = project.palio(&["--db", "other.db", "import", "sweep.json"]).run().exits(0);
    drop(imported);
    let other =
        project.palio(&["--db", "other.db", "report", "--table", "sweep", "--format", "csv"]);
    assert_eq!(other.run().exits(0).stdout, of_bundle);
    // The whole report begins with it.
    let whole = project.palio(&["report"]).run().exits(0);
    whole.prints(&["Sweep of good: dial = 1, 2 (default 0)", "good@dial=1 is best"]);
    // Without one of its points, and corrected for all comparisons.
    let part = ["report", "--table", "sweep", "--format", "csv", "--except", "good@dial=2"];
    assert_eq!(project.palio(&part).run().exits(0).stdout.lines().count(), 3);
    let json = project.palio(&["report", "--table", "sweep", "--format", "json"]).run().exits(0);
    assert_eq!(json.json()["sweep"]["rows"][0]["best"], "good@dial=1");
    project.race().run().exits(0);
    project.palio(&["report", "--table", "sweep"]).run().fails_with(&["is no sweep"]);
}

/// Six blocks are too few for two comparisons to stand together.
#[test]
fn what_does_not_stand_after_the_correction_is_not_best() {
    let project = project();
    sweep(&project, &["--knob", "dial=1,2,3"]).run().exits(0);
    let args = ["report", "--table", "sweep", "--holm", "--format", "json"];
    let corrected = project.palio(&args).run().exits(0).json();
    assert_eq!(corrected["sweep"]["rows"][0]["best"], Value::Null);
    assert_eq!(corrected["sweep"]["points"][1]["inconclusive"], 1);
}

#[test]
fn a_point_that_fails_is_shown_and_compared_with_nothing() {
    let fake = Fake::new("good").fault("wrong-with:dial=7").fault("claim-with:1000000:dial=1");
    let project = Project::new().with(fake);
    let swept = sweep(&project, &["--knob", "dial=1,7"]).run().exits(0);
    swept.prints(&["wrong answer", "good@dial=1 is best"]);
    let report = project.report("latest");
    assert_eq!(report["sweep"]["points"][2]["failed"], 1);
    assert_eq!(report["sweep"]["points"][2]["geomean_ratio"], Value::Null);
}

/// Where the baseline failed, or is not what the ratios are to, no point is compared.
#[test]
fn without_its_baseline_a_row_says_nothing_of_the_points() {
    use palio::report::{Report, sweep::Sweep};

    let project = project();
    sweep(&project, &["--knob", "dial=1,2"]).run().exits(0);
    let report = project.report("latest");
    let counts = |report: &Value| {
        let report: Report = serde_json::from_value(report.clone()).unwrap();
        let points = Sweep::of(&report).unwrap().points.into_iter();
        let told = points.map(|p| (p.faster, p.slower + p.equivalent + p.inconclusive, p.failed));
        told.collect::<Vec<_>>()
    };
    assert_eq!(counts(&report), [(0, 0, 0), (1, 0, 0), (1, 0, 0)]);

    let mut failed = report.clone();
    for entry in failed["races"][0]["entries"].as_array_mut().unwrap() {
        entry["ratio_to_reference"] = Value::Null;
        if entry["contender"] == "good" {
            entry["outcome"] = "crashed".into();
        }
    }
    assert_eq!(counts(&failed), [(0, 0, 1); 3]);

    let mut another = report;
    another["races"][0]["reference"] = "good@dial=1".into();
    assert_eq!(counts(&another), [(0, 0, 1); 3]);
}

/// A point that failed in a row takes that row out of everybody's mean.
#[test]
fn over_which_rows_the_means_go_is_told() {
    let fake = Fake::new("good").fault("wrong-with:dial=7").fault("claim-with:1000000:dial=1");
    let project = Project::new().with(fake);
    let args = ["sweep", "good", "-w", "echo,tally", "--knob", "dial=1,7", "--quiet"];
    let short = [("--blocks", "2"), ("--budget", "5"), ("--warm-up", "0")];
    let swept = short.into_iter().fold(project.palio(&args), |p, (key, value)| p.set(key, value));
    swept.run().exits(0);
    for format in ["terminal", "markdown"] {
        let args = ["report", "--table", "sweep", "--format", format];
        let text = project.palio(&args).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_has(&text, &["the geometric mean over 0 of 2 rows that all points completed."]);
    }
    let page = project.palio(&["report", "--format", "html"]).run().exits(0).stdout;
    assert_has(&page, &["the geometric mean over 0 of 2 rows that all points completed."]);
}

#[test]
fn a_doubtful_point_is_marked_in_every_format() {
    let project = Project::new().with(Fake::new("good").fault("lie:10"));
    sweep(&project, &["--knob", "dial=1"]).run().exits(0);
    for format in ["terminal", "markdown", "csv"] {
        let args = ["report", "--table", "sweep", "--format", format];
        let text = project.palio(&args).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.matches("of the time that it took by Palio's clock").count(), 2, "{text}");
    }
}

#[test]
fn what_is_no_sweep_is_refused_before_anything_is_raced() {
    let project = Project::new().with(Fake::new("good").fault("refuse-with:dial=9"));
    let refused = |args: &[&str], parts: &[&str]| {
        let all = [&["sweep"], args, &["-w", "echo", "--blocks", "6", "--budget", "5"]].concat();
        project.palio(&all).run().fails_with(parts);
    };
    let knobs = "it has: dial (0), mode (plain)";
    refused(&["good", "--knob", "dail=1"], &["no knob \"dail\"", "did you mean dial?", knobs]);
    let value = ["good@dial=9 cannot be raced in echo", "dial=9 is too much for me", "dial (0)"];
    refused(&["good", "--knob", "dial=1,9"], &value);
    refused(&["good", "--knob", "dial="], &["the grid is empty"]);
    refused(
        &["good", "--knob", "dial=1", "--cells-max", "1"],
        &["1 point and the baseline in 1 race are 3 cells", "in 6 blocks"],
    );
    refused(
        &["good", "--knob", "dial=0"],
        &["the grid is empty: dial=0 is what good has by default"],
    );
    refused(&["good", "--knob", "dial=1,1"], &["the value 1 of the knob dial is there twice"]);
    refused(&["good", "--knob", "dial=1", "--knob", "dial=2"], &["the knob dial is there twice"]);
    refused(&["good@dial=3", "--knob", "dial=1"], &["both swept and fixed"]);
    refused(&["x=good", "--knob", "dial=1"], &["under its own name"]);
    refused(&["goood", "--knob", "dial=1"], &["no contender \"goood\"", "good"]);
    refused(&["good", "--knob", "dial=1", "-c", "good"], &["`palio sweep` takes no -c"]);
    refused(&["good", "--knob", "dial=1", "--reference", "good"], &["takes no --reference"]);
    refused(&["good", "--knob", "dial=1", "--cpu-budget=both"], &["rows of one track"]);
    let values: Vec<String> = (1..=600).map(|n| n.to_string()).collect();
    let large = format!("dial={}", values.join(","));
    let parts =
        ["600 points and the baseline in 1 race are 602 cells", "6 blocks", "--cells-max 602"];
    refused(&["good", "--knob", &large], &parts);
    assert!(project.runs().is_empty());
    project.palio(&["sweep", "good"]).run().exits(2).complains(&["--knob"]);
}

#[test]
fn an_interrupted_sweep_goes_on_as_one() {
    let project = Project::new().with(Fake::new("good").fault("meet:1").from(4));
    let meeting = project.meeting("good");
    let running = sweep(&project, &["--knob", "dial=1,2"]).start();
    let guest = meeting.guest();
    running.signal(nix::sys::signal::Signal::SIGINT);
    drop(guest);
    running.finish().exits(130);
    project.assert_travels();
    project.palio(&["run", "--resume", "--quiet"]).run().exits(0).prints(&["Sweep of good"]);
    assert_eq!(project.report("latest")["run"]["state"], "finished");
    project.assert_travels();
}

/// A bundle of a sweep whose grid is not the one that was raced.
#[test]
fn a_bundle_with_a_grid_that_was_not_raced_is_refused() {
    let project = project();
    sweep(&project, &["--knob", "dial=0,1,2"]).run().exits(0);
    let good = project.stored();
    let axis = |name: String| json!({"name": name, "default": "0", "values": ["0", "1", "2"]});
    let cases: [(&str, Value, &str); 10] = [
        ("/baseline", "nobody".into(), "\"nobody\" is not among `contenders`"),
        ("/points/0/contender", "good".into(), "is there twice"),
        ("/points/0/settings/dial", "5".into(), "5 is no value of the knob dial"),
        ("/knobs/0/name", "tone".into(), "settings"),
        ("/points/0/settings/dial", "2".into(), "not those in the name of good@dial=1"),
        ("/points/0/settings/dial", "0".into(), "not those in the name of good@dial=1"),
        ("/points", json!([]), "points: they are not every combination"),
        ("/knobs/0/values", json!(["0", "1", "2", "3"]), "points: they are not every combination"),
        ("/knobs/0/values", json!(["0", "1", "2", "1"]), "dial has the value 1 twice"),
        ("/knobs", json!([axis("dial".into()), axis("dial".into())]), "dial is there twice"),
    ];
    let import = |edit: &dyn Fn(&mut Value)| {
        let mut run = good.clone();
        run["header"]["id"] = "forged".into();
        edit(&mut run);
        let text = run.to_string();
        let hash: String =
            Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let bundle = format!(
            "{{\"format\":\"palio-bundle\",\"version\":1,\"sha256\":\"{hash}\",\"run\":{text}}}"
        );
        project.write("forged.json", &bundle);
        project.palio(&["import", "forged.json"]).run()
    };
    for (place, value, part) in cases {
        let edit = |run: &mut Value| {
            *run.pointer_mut(&format!("/header/design/sweep{place}")).unwrap() = value.clone();
        };
        import(&edit).fails_with(&["header.design", part]);
    }
    // Three to the power of sixty combinations, of which two are named: a page of them all would
    // have no end.
    let endless = |run: &mut Value| {
        let grid = &mut run["header"]["design"]["sweep"];
        let names = || (0..60).map(|n| format!("knob{n}"));
        grid["knobs"] = names().map(axis).collect();
        for point in grid["points"].as_array_mut().unwrap() {
            point["settings"] = names().map(|name| (name, json!("1"))).collect();
        }
    };
    import(&endless).fails_with(&["header.design.sweep.points[0].settings: they are not those"]);
    let swapped = |run: &mut Value| {
        let points = &mut run["header"]["design"]["sweep"]["points"];
        let names = [points[0]["contender"].clone(), points[1]["contender"].clone()];
        [points[1]["contender"], points[0]["contender"]] = names;
    };
    import(&swapped).fails_with(&["points[0].settings: they are not those in the name"]);
    // What somebody else did is no effect of a knob.
    let another = |run: &mut Value| {
        let contenders = run["contenders"].as_array_mut().unwrap();
        let point = contenders.iter_mut().find(|known| known["id"] == "good@dial=1").unwrap();
        point["base"] = "other".into();
    };
    import(&another)
        .fails_with(&["points[0].contender: good@dial=1 is another contender than good"]);
    import(&|_| ()).exits(0);
}
