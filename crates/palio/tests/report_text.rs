//! Terminal, Markdown and CSV against golden files.
//!
//! After a change that is meant: `PALIO_BLESS=1 cargo test -p palio --test program report_text::`,
//! then read the difference in git before committing it.

use crate::report_fixture;
use std::path::PathBuf;

use palio::budget::{CpuBudget, Throttled};
use palio::contender::Kind;
use palio::record::Outcome;
use palio::report::headline::{Headline, Place, Remark};
use palio::report::model::{Entry, Latency};
use palio::report::{Report, csv, markdown, terminal};

#[track_caller]
fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("PALIO_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let first = expected.lines().zip(text.lines()).position(|(a, b)| a != b);
    let line = first.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
    assert!(
        expected == text,
        "tests/golden/{name} differs from line {}:\n  golden: {:?}\n  now:    {:?}\nIf the change is meant, bless it \
         with PALIO_BLESS=1.",
        line + 1,
        expected.lines().nth(line),
        text.lines().nth(line)
    );
}

fn terminal(report: &Report, width: usize, color: bool) -> String {
    terminal::render(report, terminal::Options { width, color })
}

#[test]
fn terminal_wide() {
    golden("report-typical.wide.txt", &terminal(&report_fixture::typical(), 132, false));
}

/// Processors are what the system schedules on: two threads of a core are two of them already.
#[test]
fn a_machine_whose_cores_have_two_threads_has_no_more_processors_for_that() {
    let mut report = report_fixture::small();
    (report.run.machine.cores, report.run.machine.threads_per_core) = (Some(8), Some(2));
    report.races.truncate(1);
    let crowded = "on a machine that runs 8 at a time";
    for (threads, is_crowded) in [(4, false), (8, false), (9, true), (16, true)] {
        report.races[0].threads = threads;
        for text in [terminal(&report, 132, false), markdown::render(&report)] {
            assert_eq!(text.contains(crowded), is_crowded, "{threads} threads: {text}");
        }
    }
    for text in [terminal(&report, 132, false), markdown::render(&report)] {
        let facts = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        assert!(facts.contains("processors"), "{text}");
        assert!(facts.contains("threads a core"), "{text}");
    }
}

#[test]
fn terminal_narrow() {
    golden("report-typical.narrow.txt", &terminal(&report_fixture::typical(), 80, false));
}

#[test]
fn terminal_of_an_interrupted_run() {
    golden("report-pending.txt", &terminal(&report_fixture::pending(), 100, false));
}

#[test]
fn terminal_of_an_empty_run() {
    golden("report-empty.txt", &terminal(&report_fixture::empty(), 80, false));
}

#[test]
fn markdown_of_a_typical_run() {
    golden("report-typical.md", &markdown::render(&report_fixture::typical()));
}

/// A terminal has room for the two times where they tell something; other formats always have them.
#[test]
fn user_and_system_time_are_apart_where_the_system_takes_much() {
    let mut report = report_fixture::typical();
    let heads =
        |text: &str| text.lines().any(|line| line.contains("user") && line.contains("system"));
    assert!(!heads(&terminal(&report, 160, false)));
    for entry in &mut report.races[0].entries {
        std::mem::swap(&mut entry.user_us, &mut entry.sys_us);
    }
    let race = &report.races[0];
    let winner = race.entries.iter().find(|entry| entry.rank.is_some()).unwrap();
    let (wide, narrow) = (terminal(&report, 160, false), terminal(&report, 80, false));
    assert!(heads(&wide), "{wide}");
    assert!(narrow.contains("(user ") && narrow.contains(", system "), "{narrow}");
    assert!(!narrow.lines().any(|line| line.chars().count() > 80));
    // Both are times of one iteration, each below its head: numbers are flush right.
    let head = wide.lines().find(|line| line.contains("system")).unwrap();
    let row = wide.lines().find(|line| line.contains(&winner.contender) && line.contains('%'));
    let number = |name: &str| {
        let end = head[..head.find(name).unwrap()].chars().count() + name.len();
        let cells: String = row.unwrap().chars().take(end).collect();
        cells.split_whitespace().rev().nth(1).unwrap().parse::<f64>().unwrap()
    };
    let [user, system] = [winner.user_us, winner.sys_us].map(Option::unwrap);
    assert!((number("user") - user).abs() < 1.0, "{user} µs is not in {row:?}");
    assert!((number("system") - system / 1e3).abs() < 0.01, "{system} µs is not in {row:?}");
}

#[test]
fn two_thread_counts_become_two_columns() {
    let mut report = report_fixture::typical();
    report.races.retain(|race| race.workload.ends_with("chained_spawn"));
    golden("report-two-columns.md", &markdown::render_summary(&report));
}

#[test]
fn csv_of_a_typical_run() {
    golden("report-typical.csv", &csv::entries(&report_fixture::typical()));
}

#[test]
fn whatever_the_width_every_ratio_and_median_is_there() {
    let report = report_fixture::typical();
    let wide = terminal(&report, 240, false);
    // Tables have their intervals in brackets.
    let is_row = |line: &&str| line.contains('[') && !line.starts_with("noise floor");
    let rows = wide.lines().filter(is_row);
    let words: std::collections::BTreeSet<&str> =
        rows.flat_map(str::split_whitespace).filter(|word| word.parse::<f64>().is_ok()).collect();
    assert!(words.len() > 50, "{words:?}");
    for width in [20, 40, 60, 80] {
        let narrow = terminal(&report, width, false);
        let there: std::collections::BTreeSet<&str> = narrow.split_whitespace().collect();
        let lost: Vec<_> = words.difference(&there).collect();
        assert!(lost.is_empty(), "{width}: {lost:?}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [20, 30, 40, 60, 72, 80, 100, 132, 200] {
        for report in
            [report_fixture::typical(), report_fixture::pending(), report_fixture::large()]
        {
            for line in terminal(&report, width, false).lines() {
                // A word that is longer than the line, beside what leads it, cannot be broken.
                let longest = line.split_whitespace().map(|word| word.chars().count()).max();
                assert!(
                    line.chars().count() <= width || longest.unwrap_or(0) > width - 10,
                    "{width}: {line:?}"
                );
            }
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let report = report_fixture::typical();
    let coloured = terminal(&report, 100, true);
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').expect("a colour ends").1;
    }
    plain.push_str(rest);
    let trimmed =
        |text: &str| text.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
    assert_eq!(trimmed(&plain), trimmed(&terminal(&report, 100, false)));
}

#[test]
fn foreign_text_reaches_no_terminal_raw() {
    let text = terminal(&report_fixture::hostile(), 100, false);
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
}

#[test]
fn every_sample_is_a_line_of_csv() {
    let report = report_fixture::small();
    let samples: usize =
        report.races.iter().flat_map(|race| &race.entries).map(|entry| entry.sample_ns.len()).sum();
    assert_eq!(csv::samples(&report).lines().count(), 1 + samples);
}

#[test]
fn csv_lines_have_one_field_a_name() {
    let text = csv::entries(&report_fixture::typical());
    let fields = |line: &str| {
        let mut quoted = false;
        1 + line
            .chars()
            .filter(|&c| {
                quoted ^= c == '"';
                c == ',' && !quoted
            })
            .count()
    };
    let mut lines = text.lines().map(fields);
    let names = lines.next().unwrap();
    assert!(lines.all(|n| n == names));
}

/// What the golden file has no number of.
#[test]
fn latencies_and_quotas_stand_under_their_names_in_csv() {
    let mut report = report_fixture::small();
    let entry = &mut report.races[0].entries[0];
    entry.throttled = Some(Throttled { periods: 11, throttled: 12, throttled_us: 13 });
    entry.latency = Some(Latency {
        requests: 1,
        offered_per_s: 21.5,
        achieved_per_s: 22.5,
        p50_ns: Some(23.5),
        p90_ns: Some(24.5),
        p99_ns: Some(25.5),
        p999_ns: Some(26.5),
        p9999_ns: Some(27.5),
        max_ns: 28.5,
        late_p50_ns: 29.5,
        late_p99_ns: 30.5,
        held_back: 2,
        cpu_us: Some(31.5),
        generator_us: Some(3.0),
    });
    let text = csv::entries(&report);
    let mut lines = text.lines().map(|line| line.split(',').rev().collect::<Vec<_>>());
    let (names, fields) = (lines.next().unwrap(), lines.next().unwrap());
    // From the end, since texts with commas in them come before.
    let of = |name: &str| fields[names.iter().position(|known| *known == name).unwrap()];
    for (name, value) in [
        ("throttle_periods", "11"),
        ("throttled_periods", "12"),
        ("throttled_us", "13"),
        ("offered_per_s", "21.5"),
        ("achieved_per_s", "22.5"),
        ("latency_p50_ns", "23.5"),
        ("latency_p90_ns", "24.5"),
        ("latency_p99_ns", "25.5"),
        ("latency_p999_ns", "26.5"),
        ("latency_p9999_ns", "27.5"),
        ("latency_max_ns", "28.5"),
        ("cpu_us_per_request", "31.5"),
        ("late_p50_ns", "29.5"),
        ("late_p99_ns", "30.5"),
    ] {
        assert_eq!(of(name), value, "{name}");
    }
}

#[test]
fn markdown_tables_have_the_same_columns_in_every_row() {
    for report in [report_fixture::typical(), report_fixture::hostile()] {
        let text = markdown::render(&report);
        let mut columns = None;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            if line.starts_with('|') {
                assert_eq!(*columns.get_or_insert(bars), bars, "{line}");
            } else {
                columns = None;
            }
        }
    }
}

/// Each race with another noise floor, none of them too large for a headline; one with a CPU
/// budget.
fn for_a_headline() -> Report {
    let mut report = report_fixture::typical();
    let floors = report.races.iter_mut().filter_map(|race| race.noise_floor.as_mut());
    floors.enumerate().for_each(|(i, floor)| {
        let ratio = 1.01 + 0.0005 * (i * i) as f64;
        floor.ratio = Some(ratio);
        (floor.shadow.lo, floor.shadow.hi) = (Some(1.0 / ratio), Some(ratio));
    });
    let race = &mut report.races[1];
    race.cpu_budget = Some(CpuBudget::of_threads(race.threads));
    report
}

#[test]
fn a_headline_counts_places_and_begins_with_the_worst_row() {
    let report = for_a_headline();
    let mut seen = std::collections::BTreeSet::new();
    for contender in ["tokio-mt", "rayon", "go", "smol"] {
        let mut headline = Headline::of(&report, contender, &[]).unwrap();
        seen.insert(headline.count(Place::First) > 0);
        // Of no place as many as of another one.
        for (i, row) in headline.rows.iter_mut().enumerate() {
            row.place = match i {
                0 => Place::Tied,
                1 | 2 => Place::First,
                3..=5 => Place::NotDecided,
                _ => Place::Behind,
            };
        }
        let ratios: Vec<f64> = headline.rows.iter().map(|row| row.ratio).collect();
        assert!(ratios.len() > 1 && ratios.is_sorted_by(|a, b| a >= b), "{contender} {ratios:?}");
        let text = headline.text(&report.run);
        let worst = text.split("The worst rows:\n\n- ").nth(1).unwrap();
        assert!(worst.starts_with(&headline.rows[0].race), "{worst}");
        let count = |place| headline.rows.iter().filter(|row| row.place == place).count();
        let counts = [Place::First, Place::Tied, Place::NotDecided, Place::Behind].map(count);
        let [first, tied, undecided, behind] = counts;
        let told = format!(
            "First in {first}, tied with the first in {tied}, not decided in {undecided}, behind in {behind}."
        );
        assert!(text.contains(&told), "{told} is not in {text}");
        let is_baseline =
            |id: &String| report.contenders.iter().any(|c| c.id == *id && c.kind == Kind::Baseline);
        assert!(!headline.rows.iter().any(|row| is_baseline(&row.best_other)));
        let budgets = headline.left_out.iter().filter(|row| row.text.contains("CPU budget"));
        let is_entered =
            |entry: &&Entry| entry.contender == contender && entry.outcome == Outcome::Ok;
        let entered = report.races[1].entries.iter().filter(is_entered);
        assert_eq!(budgets.count(), entered.count(), "{:?}", headline.left_out);
    }
    assert!(seen.len() > 1, "all are alike: {seen:?}");
}

/// A bundle from anywhere has its names in it.
#[test]
fn nothing_foreign_in_a_headline_is_markup() {
    let mut report = for_a_headline();
    let mut headline = Headline::of(&report, "go", &[]).unwrap();
    let odd = || "<b>*odd*|~`[a]\nb".to_owned();
    let remark = || Remark { race: odd(), text: odd() };
    (headline.contender, headline.run, headline.build) = (odd(), odd(), odd());
    (headline.allocators, headline.without) = (Some(odd()), vec![odd()]);
    (headline.gaps, headline.not_built) = (vec![(odd(), 1)], vec![odd()]);
    (headline.left_out, headline.doubtful) = (vec![remark()], vec![remark()]);
    (headline.rows[0].race, headline.rows[0].best_other) = (odd(), odd());
    (report.run.suite, report.run.machine.cpu_model) = (odd(), Some(odd()));
    let text = headline.text(&report.run);
    let plain = "\\<b\\>\\*odd\\*\\|\\~\\`\\[a\\] b";
    assert_eq!(text.matches(plain).count(), 15, "{text}");
    assert!(!text.replace(plain, "").contains(['<', '*', '|', '[']), "{text}");
}

#[test]
fn a_headline_tells_the_noise_floors_of_its_rows() {
    let report = for_a_headline();
    let headline = Headline::of(&report, "tokio-mt", &[]).unwrap();
    let mut floors: Vec<f64> = headline.rows.iter().map(|row| row.floor).collect();
    floors.sort_by(f64::total_cmp);
    let (low, high) = (floors[(floors.len() - 1) / 2], floors[floors.len() / 2]);
    let percent = |ratio: f64| match (ratio - 1.0) * 100.0 {
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    };
    let [least, median, largest] =
        [floors[0], (low + high) / 2.0, floors[floors.len() - 1]].map(percent);
    assert!(least != median && median != largest, "{floors:?}");
    let told =
        format!("Noise floors of the rows that count: {least} to {largest}, median {median}.");
    let text = headline.text(&report.run);
    assert!(text.contains(&told), "{told} is not in {text}");
}
