//! The HTML report without a browser: size, honesty about what is left out, escapes, well-formed
//! tags. What a browser makes of it is in `report_browser.rs`.

mod report_fixture;

use palio::report::{Report, html};
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

/// The large report with more races, each under a name of its own.
fn with_races(n: usize) -> Report {
    let mut report = large();
    let races = report.races.clone();
    for i in races.len()..n {
        let mut race = races[i % races.len()].clone();
        race.workload = format!("{}_{}", race.workload, i / races.len());
        report.races.push(race);
    }
    report
}

#[test]
fn twelve_contenders_by_fifty_races_fit_with_every_drawing() {
    let page = html::render(&large());
    assert!(page.len() <= html::SIZE_LIMIT, "{} bytes", page.len());
    let cells = large()
        .races
        .iter()
        .flat_map(|race| &race.entries)
        .filter(|entry| entry.samples > 0)
        .count();
    assert_eq!(
        page.matches(" of 400 samples.").count(),
        cells,
        "every cell that was raced is drawn"
    );
    assert_eq!(
        page.matches("Left: median of each block.").count(),
        cells,
        "and the caption says how"
    );
}

#[test]
fn what_does_not_fit_is_told_in_fewer_words_and_the_page_says_so() {
    let more = html::render(&with_races(65));
    assert!(more.len() <= html::SIZE_LIMIT, "{} bytes", more.len());
    assert!(more.contains("the samples of single cells are not drawn"));
    assert!(more.contains("id=c64-0"), "details are still there");
    let most = html::render(&with_races(150));
    assert!(most.len() <= html::SIZE_LIMIT, "{} bytes", most.len());
    assert!(most.contains("single cells have no details"));
    assert!(
        most.contains("id=e149-0") && most.contains("href=#e149-0"),
        "cells lead to lines of tables"
    );
}

#[test]
fn nothing_in_a_page_points_outside_but_links_to_home_pages() {
    for (name, report) in all() {
        let page = html::render(&report);
        for needle in [
            "src=",
            "@import",
            "url(",
            "<iframe",
            "<object",
            "<base",
            "fetch(",
            "XMLHttpRequest",
            "import(",
        ] {
            assert!(!page.contains(needle), "{name}: {needle}");
        }
        for (at, _) in page.match_indices("http") {
            let before = &page[at.saturating_sub(40)..at];
            let is_policy = page[at..].starts_with("http-equiv");
            assert!(
                is_policy || before.ends_with("<a href=\""),
                "{name}: …{before}{}",
                &page[at..at + 40]
            );
        }
    }
}

#[test]
fn foreign_text_cannot_end_the_script_or_start_one() {
    let page = html::render(&hostile());
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("javascript:"));
    assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{0}']));
    assert!(page.contains("&lt;/script&gt;"));
}

#[test]
fn every_outcome_is_shown_in_words() {
    let mut page = html::render(&typical());
    page.push_str(&html::render(&pending()));
    for word in ["wrong answer", "crashed", "timed out", "unsupported", "not built", "pending"] {
        assert!(page.contains(&format!(">{word}</a>")), "{word}");
    }
    assert!(page.contains("Segmentation fault at 0x7ffd"), "without its colours");
}

/// Tags that HTML does not let one omit must be closed in order.
#[test]
fn tags_are_balanced() {
    const OMITTED: [&str; 18] = [
        "p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "meta", "link", "br", "wbr",
        "input", "option", "path", "circle", "!doctype",
    ];
    for (name, report) in all() {
        let page = html::render(&report);
        let body = &page[..page.find("<script>").unwrap()];
        let (head, rest) = body.split_once("<style>").unwrap();
        let markup = format!("{head}{}", rest.split_once("</style>").unwrap().1);
        let mut open = Vec::new();
        for tag in markup.split('<').skip(1) {
            let end = tag
                .find(|c: char| !(c.is_alphanumeric() || c == '/' || c == '!'))
                .unwrap_or(tag.len());
            match tag[..end].strip_prefix('/') {
                Some(closed) if OMITTED.contains(&closed) => {}
                Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}: <{tag}"),
                None if OMITTED.contains(&tag[..end].trim_end_matches('/')) => {}
                None => open.push(&tag[..end]),
            }
        }
        assert_eq!(open, ["html", "body"], "{name}");
    }
}

#[test]
fn the_same_report_gives_the_same_page() {
    assert_eq!(html::render(&typical()), html::render(&typical()));
}
