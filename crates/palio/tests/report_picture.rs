//! The picture of a run: everybody who raced is in it, its marks are those of the report, and it
//! asks nothing of anybody.

mod report_fixture;

use palio::record::Outcome;
use palio::report::{Report, picture};
use report_fixture::{empty, hostile, large, pending, small, typical};

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
        "8 cores",
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
