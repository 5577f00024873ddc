//! `palio scale`: contenders on more and more threads.

use crate::report_fixture;
use crate::support::{Fake, Palio, Project, assert_has};
use palio::grid::Design;
use palio::report::table::{Format, Table};
use palio::report::{Report, html, scaling, table, terminal};
use serde_json::Value;

/// `plain` has no runtime and takes 4 ms on its one thread; `good` takes 4.4 ms on one, and 2.2 on
/// two.
fn project() -> Project {
    let good = Fake::new("good")
        .fault("claim-with:4400000:threads=1")
        .fault("claim-with:2200000:threads=2")
        .fault("claim-with:1500000:threads=3");
    let project = Project::new().with(good).with(Fake::new("plain").fault("claim:4000000"));
    let path = "contenders/rust/plain/contender.toml";
    let text =
        project.read(path).replace("kind = \"async\"", "kind = \"baseline\"\nthreads_max = 1");
    project.write(path, &text);
    project
}

fn scale(project: &Project, more: &[&str]) -> Palio {
    let palio = project.palio(&[&["scale"], more].concat()).arg("--quiet");
    [("--blocks", "6"), ("--budget", "5"), ("--warm-up", "0"), ("--seed", "1")]
        .into_iter()
        .fold(palio, |palio, (key, value)| palio.set(key, value))
}

#[test]
fn speed_up_is_against_the_baseline_that_comes_by_itself() {
    let project = project();
    let args = ["echo", "-c", "good", "-t", "1,2", "--format", "csv"];
    let text = scale(&project, &args).run().exits(0).stdout;
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let told: Vec<[&str; 3]> = rows.iter().map(|row| [row[3], row[4], row[5]]).collect();
    assert_eq!(told, [["plain", "good", "1"], ["plain", "good", "2"]]);
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    for (row, speed_up, efficiency) in [(0, 4.0 / 4.4, 4.0 / 4.4), (1, 4.0 / 2.2, 2.0 / 2.2)] {
        assert!((number(row, 7) - speed_up).abs() < 0.01, "{rows:?}");
        assert!((number(row, 10) - efficiency).abs() < 0.01, "{rows:?}");
        assert!(number(row, 8) <= speed_up + 0.01 && number(row, 9) >= speed_up - 0.01);
    }
    // Two numbers of threads make no law, and it says so.
    let last = rows[0][20];
    assert!(
        last.contains("2 numbers of threads") || last.contains("1 number of threads"),
        "{last}"
    );
    let command = project.stored()["header"]["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("palio scale -w echo -c good -t 1,2 --blocks 6 "), "{command}");
    project.assert_travels();
}

/// `mio` and `java-nio` work on as many threads as the race has: no measure for what these bring.
#[test]
fn a_baseline_of_several_threads_is_no_baseline_of_a_speed_up() {
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/yaay.json.gz");
    let args = ["report", "--bundle", bundle, "--format", "json"];
    let report = Project::new().palio(&args).run().exits(0).json();
    let of_row = |scaling: &&Value| scaling["workload"] == "tcp_ping_pong";
    let scaling: Vec<&Value> =
        report["scaling"].as_array().unwrap().iter().filter(of_row).collect();
    assert!(!scaling.is_empty());
    assert!(scaling.iter().all(|scaling| scaling["baseline"] == Value::Null));
}

#[test]
fn without_a_baseline_each_is_compared_with_itself_on_one_thread() {
    let project = project();
    let args = ["echo", "-c", "good", "-t", "1,2,3", "--no-baseline", "--json"];
    let report = scale(&project, &args).run().exits(0).json();
    let scaling = &report["scaling"][0];
    assert_eq!(scaling["baseline"], Value::Null);
    let points = scaling["curves"][0]["points"].as_array().unwrap();
    let speed_up = |i: usize| points[i]["speed_up"]["point"].as_f64().unwrap();
    assert!((speed_up(0) - 1.0).abs() < 1e-9 && (speed_up(1) - 2.0).abs() < 0.01, "{points:?}");
    let text = project.palio(&["report", "--table", "scaling"]).run().exits(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(&text, &["speed-up of each over itself on 1 thread, raced at another time"]);
}

#[test]
fn one_processor_is_one_column() {
    let project = project();
    let text = scale(&project, &["echo", "-c", "good", "-t", "1,1", "--format", "markdown"]);
    let text = text.run().exits(0).stdout;
    let heads = text.lines().find(|line| line.starts_with("| Contender |")).unwrap();
    assert_eq!(
        heads.split('|').map(str::trim).collect::<Vec<_>>(),
        ["", "Contender", "1 thread", ""]
    );
    assert_has(&text, &["1 number of threads", "the law needs 4"]);
    assert_eq!(project.stored()["races"].as_array().unwrap().len(), 1);
}

#[test]
fn the_default_counts_end_with_this_machine_and_none_is_doubled() {
    let project = project();
    let report = scale(&project, &["echo", "-c", "good", "--json"]).run().exits(0).json();
    let threads: Vec<u64> = report["scaling"][0]["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    assert_eq!(threads[0], 1);
    assert_eq!(*threads.last().unwrap(), report["run"]["machine"]["cores"].as_u64().unwrap());
    assert!(threads.windows(2).all(|pair| pair[0] < pair[1]), "{threads:?}");
}

#[test]
fn a_run_that_was_not_made_for_it_has_the_table_too_and_a_page_has_the_curves() {
    let project = project();
    let race = project.race().set("--blocks", "5").arg("-t").arg("1,2");
    race.run().exits(0);
    let text = project.palio(&["report", "--table", "scaling"]).run().exits(0).stdout;
    assert_has(
        &text,
        &["Scaling of echo n=10", "speed-up over plain, which takes 4.00 ms", "good"],
    );
    let page = project.palio(&["report", "--format", "html"]).run().exits(0).stdout;
    assert_has(&page, &["<h3>Speed-up</h3>", "class=ideal", "<th scope=col>σ, contention"]);
    // Its usual text is as before.
    let whole = project.palio(&["report"]).run().exits(0).stdout;
    assert!(!whole.contains("Scaling of"), "{whole}");
    project.race().run().exits(0);
    let none = project.palio(&["report", "--table", "scaling"]).run();
    none.fails_with(&["no workload on several numbers of threads", "palio scale"]);
}

#[test]
fn who_failed_and_who_is_doubtful_is_told_beside_the_curves() {
    let project = Project::new()
        .with(Fake::new("liar").fault("lie:10"))
        .with(Fake::new("bad").fault("wrong-answer"));
    let args = ["scale", "echo", "-c", "liar,bad", "-t", "1", "--quiet", "--blocks", "1"];
    project.palio(&args).set("--budget", "5").set("--warm-up", "0").run().exits(0);
    for format in ["terminal", "markdown"] {
        let args = ["report", "--table", "scaling", "--format", format];
        let text = project.palio(&args).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_has(
            &text,
            &[
                "on 1 thread: bad wrong answer: it answered 41",
                "on 1 thread: doubtful: liar accounted for",
            ],
        );
    }
    let args = ["report", "--table", "scaling", "--format", "csv"];
    let text = project.palio(&args).run().exits(0).stdout;
    let liar = text.lines().find(|line| line.contains(",liar,")).unwrap();
    assert_has(liar, &["accounted for"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let project = project();
    let cases: [(&[&str], &[&str]); 5] = [
        (&["ekko"], &["no workload \"ekko\"", "echo"]),
        (&["echo", "-c", "nobody"], &["no contender \"nobody\""]),
        (&["echo", "-c", "good", "-t", "0"], &["0 threads cannot be raced"]),
        (&["echo", "--no-baseline"], &["--no-baseline needs -c"]),
        (&["echo", "-c", "good", "--resume"], &["--resume"]),
    ];
    for (args, parts) in cases {
        scale(&project, args).run().exits(2).complains(parts);
    }
    assert!(project.runs().is_empty());
}

/// Times of a contender that follows the law exactly, in six blocks of which each is a little
/// slower than the one before, beside a baseline that is as much slower.
fn lawful(counts: &[u32]) -> Report {
    let mut report = report_fixture::typical();
    let template = report.races[0].clone();
    let entry = |id: &str, ns: f64| {
        let mut entry = template.entries.iter().find(|e| e.contender == id).unwrap().clone();
        entry.outcome = palio::record::Outcome::Ok;
        entry.sample_block = (0..6).collect();
        entry.sample_ns = (0..6).map(|block| ns * (1.0 + 0.01 * f64::from(block))).collect();
        entry.value_ns = Some(ns);
        // The baseline works on one thread, whatever the race has.
        entry.threads_used = (id == "serial").then_some(1);
        entry
    };
    report.races = counts
        .iter()
        .map(|&n| {
            let mut race = template.clone();
            race.threads = n;
            let n = f64::from(n);
            let ns = 1.25e6 * (1.0 + 0.05 * (n - 1.0) + 0.004 * n * (n - 1.0)) / n;
            race.entries = vec![entry("serial", 1e6), entry("rayon", ns)];
            race
        })
        .collect();
    report.run.design = Some(Design::Scale);
    report.run.machine.cores = Some(16);
    report.scaling = scaling::of(&report);
    report
}

#[test]
fn a_contender_that_follows_the_law_has_it_with_its_peak() {
    let report = lawful(&[1, 2, 4, 8, 16]);
    let curve = &report.scaling[0].curves[0];
    let law = curve.law.unwrap();
    assert!((law.sigma.point - 0.05).abs() < 1e-9 && (law.kappa.point - 0.004).abs() < 1e-9);
    assert!((law.one - 0.8).abs() < 1e-9 && (law.misfit - 1.0).abs() < 1e-9);
    assert!((law.peak.unwrap() - (0.95_f64 / 0.004).sqrt()).abs() < 1e-6);
    let text = |format| {
        table::render(&report, Table::Scaling, format, terminal::Options::default()).unwrap()
    };
    let terminal = text(Format::Terminal).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(&terminal, &["σ 0.0500 [0.0500, 0.0500]", "peak at 15.4 threads"]);
    assert_has(&text(Format::Markdown), &["| rayon", "peak at 15.4 threads", "16 threads"]);
    let page = html::render(&report);
    assert_has(&page, &["class=law", "peak at 15.4 threads"]);
}

#[test]
fn threads_without_a_processor_of_their_own_are_no_part_of_the_law() {
    let mut report = lawful(&[1, 2, 4, 8, 16, 32]);
    let curve = &report.scaling[0].curves[0];
    assert_eq!(curve.points.len(), 6);
    assert!((curve.law.unwrap().sigma.point - 0.05).abs() < 1e-9);
    report.run.machine.cores = Some(4);
    let curve = scaling::of(&report).remove(0).curves.remove(0);
    assert_eq!(curve.law, None);
    let why = "3 numbers of threads, on a machine that runs 4 at a time: the law needs 4";
    assert_eq!(curve.no_law.as_deref(), Some(why));
}

#[test]
fn a_row_that_ranks_waits_has_no_speed_up() {
    let mut report = lawful(&[1, 2, 4, 8]);
    report.races.iter_mut().for_each(|r| r.statistic = Some(palio::stats::Statistic::P99));
    assert!(scaling::of(&report).is_empty());
}
