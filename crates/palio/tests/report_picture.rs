//! The picture of a run: everybody who raced is in it, its marks are those of the report, and it
//! asks nothing of anybody.

use crate::report_fixture::{empty, hostile, large, pending, small, typical};
use palio::record::Outcome;
use palio::report::{Report, picture};

fn all() -> [(&'static str, Report); 6] {
    [
        ("small", small()),
        ("typical", typical()),
        ("pending", pending()),
        ("large", large()),
        ("hostile", hostile()),
        ("empty", empty()),
    ]
}

fn ranked(report: &Report) -> impl Iterator<Item = &palio::report::model::Entry> {
    let entries = report.races.iter().flat_map(|race| &race.entries);
    entries.filter(|entry| entry.outcome == Outcome::Ok && entry.ratio_to_best.is_some())
}

#[test]
fn every_race_of_everybody_is_a_mark() {
    for (name, report) in all() {
        let picture = picture::render(&report);
        let (filled, hollow) = (
            picture.matches("<circle class=\"d\"").count(),
            picture.matches("class=\"o\"").count(),
        );
        let beyond = picture.matches("l6 3l-6 3z").count();
        assert_eq!(filled + hollow + beyond, ranked(&report).count(), "{name}");
        // Who is first and has company is not decided.
        let undecided = |entry: &&palio::report::model::Entry| {
            entry.rank.is_some_and(|[lo, hi]| lo == 1 && hi > 1)
        };
        assert_eq!(hollow, ranked(&report).filter(undecided).count(), "{name}");
    }
    let picture = picture::render(&typical());
    for known in typical().contenders.iter().filter(|known| known.absent.is_none()) {
        assert!(picture.contains(&format!(">{}</text>", known.id)), "{}", known.id);
    }
}

/// The texts of a class, in the order of the picture.
fn texts<'a>(picture: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    picture.split("</text>").filter_map(move |text| text.rsplit('>').next()?.strip_suffix(end))
}

/// The positions of an attribute of all that begins so.
fn positions(picture: &str, head: &str, attribute: &str) -> Vec<f64> {
    let number = |rest: &str| rest.split_once(attribute)?.1.split('"').next()?.parse().ok();
    picture.split(head).skip(1).filter_map(number).collect()
}

#[test]
fn a_panel_has_the_ratios_intervals_and_floors_of_its_race() {
    let mut report = typical();
    report.races.retain(|race| race.workload == "fib");
    report.races.truncate(1);
    let picture = picture::render(&report);
    let of: Vec<f64> = ranked(&report).map(|entry| entry.ratio_to_best.unwrap().point).collect();
    assert!(of.len() > 5);
    assert_eq!(picture.matches("<path class=\"i\"").count(), of.len());
    assert_eq!(picture.matches("<rect class=\"f\"").count(), 1);
    // Numbers at the right, from the fastest down, and dots that lie as the numbers say.
    let numbers: Vec<f64> = picture
        .split("</text>")
        .filter(|text| text.contains("<circle"))
        .filter_map(|text| text.rsplit('>').next()?.strip_suffix('×')?.parse().ok())
        .collect();
    assert_eq!(numbers.len(), of.len());
    for (number, ratio) in numbers.iter().zip(&of) {
        assert!((number / ratio - 1.0).abs() < 0.01, "{number} for {ratio}");
    }
    let heights = positions(&picture, "<circle", "cy=\"");
    assert!(heights.is_sorted() && heights[0] < heights[1], "{heights:?}");
    let dots = positions(&picture, "<circle", "cx=\"");
    for pair in 1..of.len() {
        assert_eq!(dots[pair] > dots[pair - 1], of[pair] > of[pair - 1], "{dots:?} for {of:?}");
    }
}

#[test]
fn a_strip_has_the_mean_the_firsts_and_the_failures_of_its_contender() {
    let report = typical();
    let picture = picture::render(&report);
    let lines: usize = picture
        .split("<path class=\"t\" d=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().matches('M').count())
        .sum();
    assert_eq!(lines, ranked(&report).count(), "an interval each");
    let means: Vec<f64> = report.totals.iter().filter_map(|total| total.geomean_ratio).collect();
    assert!(means.len() > 3);
    assert_eq!(picture.matches("<path class=\"k\"").count(), means.len());
    let shown: Vec<f64> = texts(&picture, "×").filter_map(|text| text.parse().ok()).collect();
    for mean in means {
        assert!(shown.iter().any(|x| (x / mean - 1.0).abs() < 0.01), "{mean} in {shown:?}");
    }
    assert!(picture.matches("<path class=\"l\"").count() > 3, "noise floors");
    let faults = report.races.iter().flat_map(|race| &race.entries);
    let faults = faults.filter(|entry| entry.outcome.is_fault()).count();
    let told: usize = texts(&picture, " failed").map(|text| text.parse::<usize>().unwrap()).sum();
    assert_eq!(told, faults);
    let firsts: usize = picture
        .split("</text>")
        .filter_map(|text| text.rsplit('>').next()?.split_once(" of ")?.0.parse::<usize>().ok())
        .sum();
    let first = |entry: &&palio::report::model::Entry| entry.rank.is_some_and(|[lo, _]| lo == 1);
    assert_eq!(firsts, ranked(&report).filter(first).count());
}

/// Sorted, for comparisons of what stands in different orders.
fn sorted(mut all: Vec<f64>) -> Vec<f64> {
    all.sort_by(f64::total_cmp);
    all
}

#[test]
fn the_marks_of_strips_lie_where_the_axis_says_each_in_its_lane() {
    let report = typical();
    let picture = picture::render(&report);
    // Of the axis: where a ratio of 1 lies, and how far a factor reaches.
    let x_of = |label| {
        let end = picture.find(&format!(">{label}</text>")).unwrap();
        let start = picture[..end].rfind("<text").unwrap();
        positions(&picture[start..end], "<text", " x=\"")[0]
    };
    let one = x_of("1×");
    let slope = (x_of("10×") - one) / 10.0_f64.ln();
    let at = |ratio: f64| one + slope * ratio.ln();
    let dots = sorted(positions(&picture, "<circle", "cx=\""));
    let ratios = ranked(&report).map(|entry| at(entry.ratio_to_best.unwrap().point));
    let ratios = sorted(ratios.collect());
    assert!(dots.len() > 50);
    for (dot, ratio) in dots.iter().zip(&ratios) {
        assert!((dot - ratio).abs() < 0.3, "a dot at {dot}, and a ratio belongs at {ratio}");
    }
    let means = report.totals.iter().filter_map(|total| total.geomean_ratio);
    let means = sorted(means.map(at).collect());
    let bars = picture.split("<path class=\"k\" d=\"M").skip(1);
    let bars = sorted(bars.map(|bar| bar.split(' ').next().unwrap().parse().unwrap()).collect());
    assert_eq!(bars.len(), means.len());
    for (bar, mean) in bars.iter().zip(&means) {
        assert!((bar - mean).abs() < 0.3, "a bar at {bar}, and a mean belongs at {mean}");
    }
    // No race covers another one.
    let mut lanes = sorted(positions(&picture, "<circle", "cy=\""));
    let all = lanes.len();
    lanes.dedup();
    assert_eq!(lanes.len(), all);
    for floors in picture.split("<path class=\"l\"").skip(1) {
        let floors = floors.split("/>").next().unwrap().matches('M').count();
        let has_floor = |race: &&palio::report::model::Race| {
            race.noise_floor.is_some_and(|floor| floor.ratio.is_some())
        };
        let of_model = |model| {
            let races = report.races.iter().filter(|race| race.model == model);
            races.filter(has_floor).count()
        };
        let due: Vec<usize> = report.races.iter().map(|race| of_model(race.model)).collect();
        assert!(floors > 0 && due.contains(&floors), "{floors} floors, and {due:?} are due");
    }
}

#[test]
fn a_panel_shows_failures_in_words() {
    let mut report = typical();
    report.races.retain(|race| race.workload == "skynet");
    let picture = picture::render(&report);
    assert!(picture.contains(">crashed</text>") && picture.contains(">false time</text>"));
    assert_eq!(picture.matches("class=\"b\" x=\"0\"").count(), report.races.len());
}

#[test]
fn the_caption_names_machine_noise_and_allocator() {
    let mut report = small();
    for known in &mut report.contenders {
        let is_go = known.id == "go";
        known.flags = Some(if is_go { "-trimpath" } else { "lto=fat allocator=mimalloc" }.into());
    }
    let picture = picture::render(&report);
    for told in [
        "AMD Ryzen 7 5700X",
        "8 processors",
        "preset quick, 5 blocks",
        "Noise floors: ",
        "2026-03-01",
        "Logarithmic scale",
    ] {
        assert!(picture.contains(told), "{told}");
    }
    let lines: Vec<&str> =
        picture.split("</text>").filter_map(|text| text.split('>').nth(1)).collect();
    let text = lines.join(" ");
    assert!(text.contains("mimalloc (") && text.contains("not named by its build (go)"), "{text}");
}

#[test]
fn it_is_in_both_colours_and_asks_for_nothing() {
    for (name, report) in all() {
        let picture = picture::render(&report);
        assert!(picture.contains("prefers-color-scheme:dark"), "{name}");
        for needle in ["<script", "<a ", "url(", "@import", "<image", "<foreignObject", "NaN"] {
            assert!(!picture.contains(needle), "{name}: {needle}");
        }
        assert_eq!(picture.matches("http").count(), 1, "{name}: the namespace alone");
        assert_eq!(picture, picture::render(&report), "{name}");
        // Foreign text cannot open a tag: what is opened is closed.
        for tag in ["svg", "text", "g", "style", "title", "desc"] {
            let opened = picture.matches(&format!("<{tag} ")).count()
                + picture.matches(&format!("<{tag}>")).count();
            assert_eq!(opened, picture.matches(&format!("</{tag}>")).count(), "{name}: {tag}");
        }
    }
}
