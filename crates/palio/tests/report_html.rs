//! The HTML report without a browser: size, honesty about what is left out, escapes, well-formed
//! tags. What a browser makes of it is in `report_browser.rs`.

use crate::report_fixture::{empty, hostile, large, pending, scaled, small, swept, typical};
use palio::record::Outcome;
use palio::report::model::Thinned;
use palio::report::{Report, html};
use palio::workload::{Fidelity, Origin};

fn all() -> [(&'static str, Report); 8] {
    [
        ("swept", swept()),
        ("scaled", scaled()),
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
fn the_noise_floor_is_said_to_hold_back_what_it_holds_back() {
    // "Equivalent" is a verdict, too, and is given below the floor.
    let page = html::render(&small());
    let said = "nobody is called faster or slower below it";
    assert!(page.contains(said) && !page.contains("no verdict is given"), "{page}");
}

#[test]
fn a_race_says_where_it_comes_from() {
    let mut report = small();
    let said = |report: &Report| -> &'static str {
        let page = html::render(report);
        let of = |text: &&&str| page.contains(**text);
        [" From the document nio.", " From the document nio, adapted.", " From no document."]
            .iter()
            .find(of)
            .copied()
            .unwrap_or_default()
    };
    for (fidelity, text) in [
        (Fidelity::Same, " From the document nio."),
        (Fidelity::Adapted, " From the document nio, adapted."),
        (Fidelity::Own, " From no document."),
    ] {
        report.races[0].origin =
            Some(Origin { source: "nio".into(), fidelity, deviations: Vec::new(), held_out: None });
        assert_eq!(said(&report), text);
    }
    report.races[0].origin = None;
    assert_eq!(said(&report), "");
}

#[test]
fn what_is_called_every_sample_has_every_sample() {
    // A report in any format has those of the fastest variant alone, and none of a shadow.
    let page = html::render(&small());
    let (_, rest) = page.split_once("Every sample that is stored of this run").unwrap();
    assert!(rest[..rest.find("</code>").unwrap()].contains("<code>palio export "));
}

#[test]
fn a_thinned_page_says_why_its_tables_have_fewer_samples() {
    let mut report = small();
    let shown: u32 = report.races.iter().flat_map(|race| &race.entries).map(|e| e.samples).sum();
    let shown = u64::from(shown);
    let mut page = |measured: u64| {
        let kept = measured / 2;
        report.run.thinned = Some(Thinned { samples_per_process: 10, measured, kept });
        html::render(&report)
    };
    assert!(!page(shown).contains("The tables tell of"));
    let page = page(shown + 7);
    assert!(page.contains("The tables tell of ") && page.contains("those of shadows"));
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

/// Bundles from elsewhere have contenders of any name.
#[test]
fn a_name_that_is_markup_stays_a_name() {
    let mut report = small();
    let evil = "</script><u>\"'&";
    let first = report.races[0].entries.iter().find(|entry| entry.rank == Some([1, 1]));
    let name = first.expect("somebody is first").contender.clone();
    let rename = |id: &mut String| {
        if *id == name {
            evil.clone_into(id);
        }
    };
    report.contenders.iter_mut().for_each(|known| rename(&mut known.id));
    report.totals.iter_mut().for_each(|total| rename(&mut total.contender));
    for race in &mut report.races {
        race.entries.iter_mut().for_each(|entry| rename(&mut entry.contender));
        race.reference.iter_mut().for_each(rename);
    }
    let page = html::render(&report);
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("<u>"), "…{}", between(&page, "<u>", "\n"));
    assert!(page.contains("first: &lt;/script&gt;&lt;u&gt;&quot;'&amp;"));
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

/// What lies between two marks, the first such.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} after {from}")).0
}

/// A piece of HTML as it is read.
fn text(html: &str) -> String {
    let plain = html.split('<').map(|part| part.rsplit('>').next().unwrap());
    plain.collect::<String>().trim().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The cells of a line of a table, whose tags are those that nobody closes.
fn cells(line: &str) -> Vec<String> {
    let line = line.replace("<th ", "<td ").replace("<th>", "<td>");
    line.split("<td").skip(1).map(|cell| text(&format!("<td{cell}"))).collect()
}

/// A number with its unit, as it was rounded for people.
fn is_about(shown: &str, value: Option<f64>) -> bool {
    let shown = shown.trim_end_matches(['*', '‡']);
    let Some(value) = value else { return shown == "–" };
    let (number, unit) = shown.split_once(' ').unwrap_or((shown, ""));
    let times = match unit {
        "µs" => 1e3,
        "ms" => 1e6,
        // Of KiB.
        "MiB" => 1024.0,
        "s" => 1e9,
        _ => 1.0,
    };
    let number: f64 = number.replace(',', "").parse().unwrap_or(f64::NAN);
    (number * times - value).abs() <= (value * 0.01).max(0.5)
}

/// Each race is a table of all that took part, the fastest at the top, with every number of theirs
/// below its head.
#[test]
fn the_table_of_a_race_is_that_of_the_report() {
    const HEADS: [&str; 14] = [
        "Rank",
        "Contender",
        "",
        "Ratio",
        "95 %",
        "Verdict",
        "Median",
        "Per ",
        "Spread",
        "User",
        "System",
        "Total",
        "CPU",
        "Memory",
    ];
    let report = typical();
    let page = html::render(&report);
    let mut verdicts = Vec::new();
    for (i, race) in report.races.iter().enumerate() {
        let fold = between(&page, &format!("<details class=race id=r{i} "), "</table>");
        let (head, body) = fold.split_once("<tbody>\n").unwrap();
        let heads = cells(head.split_once("<thead>").unwrap().1);
        assert_eq!(heads.len(), HEADS.len(), "{heads:?}");
        for (head, expected) in heads.iter().zip(HEADS).filter(|(_, expected)| !expected.is_empty())
        {
            assert!(head.starts_with(expected), "{heads:?}");
        }
        let shown = race
            .entries
            .iter()
            .filter(|entry| entry.outcome == Outcome::Ok || entry.outcome.is_fault());
        let rows: Vec<Vec<String>> = body.lines().map(cells).collect();
        assert_eq!(rows.len(), shown.clone().count(), "{fold}");
        for (row, entry) in rows.iter().zip(shown) {
            assert_eq!(row[1].split(' ').next().unwrap(), entry.contender, "in order");
            let Some(ratio) = entry.ratio_to_best.filter(|_| entry.outcome == Outcome::Ok) else {
                let word = entry.outcome.to_string().replace('-', " ");
                assert!(row[2].starts_with(&word), "{row:?}");
                assert!(row[2].contains(entry.detail.as_deref().unwrap()), "{row:?}");
                continue;
            };
            let percent = |x: Option<f64>| x.map(f64::round);
            let cpu = row[12].trim_end_matches(" %");
            assert!((row[3].parse::<f64>().unwrap() / ratio.point - 1.0).abs() < 0.01, "{row:?}");
            let limits: Vec<&str> = row[4].trim_matches(['[', ']']).split(", ").collect();
            for (shown, limit) in limits.iter().zip([ratio.lo, ratio.hi]) {
                assert!(limit.map_or(*shown == "–", |limit| is_near(shown, limit)), "{row:?}");
            }
            let both = entry.user_us.zip(entry.sys_us).map(|(user, system)| user + system);
            for (shown, us) in row[9..12].iter().zip([entry.user_us, entry.sys_us, both]) {
                assert!(is_about(shown, us.map(|us| us * 1e3)), "{row:?} {us:?}");
            }
            assert!(is_about(&row[6], entry.value_ns), "{row:?}");
            assert!(is_about(cpu, percent(entry.cpu_percent)), "{row:?} {:?}", entry.cpu_percent);
            let memory = entry.max_rss_kib.map(|kib| kib as f64);
            assert!(is_about(&row[13], memory), "{row:?} {memory:?}");
            let word = entry.ratio_to_reference.map(|verdict| verdict.verdict);
            let word = word.map_or("–".to_owned(), |word| format!("{word:?}").to_lowercase());
            assert_eq!(row[5], word, "{row:?}");
            verdicts.push(word);
            if let Some([first, last]) = entry.rank {
                let rank =
                    if first == last { first.to_string() } else { format!("{first}–{last}") };
                assert_eq!(row[0], rank);
            }
        }
        // Each that has a ratio has its interval drawn, over the noise floor.
        let dots = body.matches("<circle class=pt ").count();
        let ratios = rows.iter().filter(|row| row.len() == HEADS.len()).count();
        let floors =
            if race.noise_floor.is_some_and(|floor| floor.ratio.is_some()) { ratios } else { 0 };
        assert_eq!((dots, body.matches("<path class=floor ").count()), (ratios, floors));
    }
    for word in ["faster", "slower", "reference"] {
        assert!(verdicts.iter().any(|known| known == word), "no {word}");
    }
}

/// What qualifies the numbers of a race stands above them.
#[test]
fn the_conditions_of_a_race_stand_above_its_table() {
    let report = typical();
    let page = html::render(&report);
    let mut doubts = 0;
    for (i, race) in report.races.iter().enumerate() {
        let fold = between(&page, &format!("<details class=race id=r{i} "), "<div class=scroll");
        let floor = text(&format!("<{}", between(fold, "<b>Noise floor ", "</b>")));
        match race.noise_floor.and_then(|floor| floor.ratio) {
            Some(ratio) => {
                let percent = floor.split(" %").next().unwrap().parse::<f64>().unwrap();
                assert!((percent - (ratio - 1.0) * 100.0).abs() < 0.1, "{floor} for {ratio}");
            }
            None => assert!(floor.contains("unknown"), "{floor}"),
        }
        let reference = race.reference.as_ref().unwrap();
        assert!(fold.contains(&format!("Verdicts are against {reference}.")), "{fold}");
        let told = text(fold);
        for entry in race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok) {
            for doubt in &entry.doubts {
                let doubt = format!("Doubtful: {} {doubt}.", entry.contender);
                assert!(told.contains(&doubt), "{doubt} is not in {told}");
                doubts += 1;
            }
        }
    }
    assert!(doubts > 0);
}

#[test]
fn who_was_not_raced_is_named_below_each_table() {
    let report = typical();
    let page = html::render(&report);
    let mut seen = Vec::new();
    for (i, race) in report.races.iter().enumerate() {
        let fold = between(&page, &format!("<details class=race id=r{i} "), "</details>");
        let left = |outcome: Outcome| outcome != Outcome::Ok && !outcome.is_fault();
        for entry in race.entries.iter().filter(|entry| left(entry.outcome)) {
            let word = entry.outcome.to_string().replace('-', " ");
            let of_outcome = |line: &&str| line.starts_with(&format!("<b>{word}</b>"));
            let mut lines = fold.split("<p class=unraced>").skip(1).filter(of_outcome);
            let name = format!(">{}</a>", entry.contender);
            assert!(lines.any(|line| line.contains(&name)), "{} in race {i}", entry.contender);
            seen.push(word);
        }
    }
    for word in ["not built", "unsupported"] {
        assert!(seen.iter().any(|known| known == word), "nobody is {word}");
    }
    // Why somebody was not built stands once, beside the name.
    let contenders = between(&page, "<section id=contenders", "</section>");
    let absent = report.contenders.iter().filter_map(|c| Some((&c.id, c.absent.as_ref()?)));
    let absent: Vec<_> = absent.collect();
    assert!(!absent.is_empty());
    for (id, why) in absent {
        let of = |line: &&str| line.contains(id) && line.contains("<b>Did not race:</b>");
        let line = contenders.lines().find(of).unwrap_or_else(|| panic!("no reason of {id}"));
        assert!(text(line).contains(why.as_str()), "{line}");
    }
}

/// What a reader sees before all tables, and how the run is repeated.
#[test]
fn the_head_of_the_page_is_that_of_the_report() {
    let mut report = typical();
    let floors = report.races.iter_mut().filter_map(|race| race.noise_floor.as_mut());
    floors.enumerate().for_each(|(i, floor)| floor.ratio = Some(1.01 + 0.001 * (i * i) as f64));
    let page = html::render(&report);
    assert!(!report.run.warnings.is_empty());
    let warnings = text(between(&page, "<aside class=warnings", "</aside>"));
    for warning in &report.run.warnings {
        assert!(warnings.contains(warning.as_str()), "{warning} is not in {warnings}");
    }
    let mut floors: Vec<f64> =
        report.races.iter().filter_map(|race| race.noise_floor?.ratio).collect();
    floors.sort_by(f64::total_cmp);
    let (low, high) = (floors[(floors.len() - 1) / 2], floors[floors.len() / 2]);
    let median = ((low + high) / 2.0 - 1.0) * 100.0;
    assert!(floors[0] < low && high < floors[floors.len() - 1], "all are alike: {floors:?}");
    let shown = between(&page, "<dt>Noise floor<dd>", "<").trim_end_matches(" %");
    assert!((shown.parse::<f64>().unwrap() - median).abs() < 0.1, "{shown} for {median}");
    let reproduce = between(&page, "<section id=reproduce", "</section>");
    assert_eq!(text(between(reproduce, "<code>", "</code>")), report.run.command);
}

#[test]
fn the_heat_map_is_that_of_the_report() {
    // Upper ends of the classes of colour, as its legend has them.
    const ENDS: [f64; 7] = [1.05, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];
    let report = typical();
    let page = html::render(&report);
    let map = between(&page, "<div id=heat>", "</section>");
    for (i, race) in report.races.iter().enumerate() {
        let name = |column: &str| {
            let head = map.split(&format!("<th scope=col data-c={column}>")).nth(1).unwrap();
            head.split('<').next().unwrap().trim().to_owned()
        };
        let row = between(map, &format!("<tr data-r={i}>"), "\n");
        let floor = race.noise_floor.and_then(|floor| floor.ratio);
        let noise = text(&format!("<{}", between(row, "noise\"", "<td")));
        let noise = noise.strip_suffix(" %").map(|noise| noise.parse::<f64>().unwrap());
        assert_eq!(noise.is_some(), floor.is_some(), "{row}");
        if let Some((noise, floor)) = noise.zip(floor) {
            assert!((noise - (floor - 1.0) * 100.0).abs() < 0.1, "{noise} for {floor}");
        }
        let about = format!("<span class=about>{}</span>", race.title);
        assert!(map.contains(&about), "{about}");
        let mut seen = 0;
        for cell in row.split("<td class=\"").skip(1).filter(|cell| cell.contains("<a href=#c")) {
            let column = between(cell, "data-c=", ">");
            let entry = race.entries.iter().find(|entry| entry.contender == name(column)).unwrap();
            let shown = text(&format!("<{cell}"));
            let class = cell.split('"').next().unwrap();
            if entry.outcome == Outcome::Ok {
                let ratio = entry.ratio_to_best.unwrap().point;
                assert!(is_near(&shown, ratio), "{shown} for {ratio}");
                let colour = ENDS.iter().filter(|end| ratio >= **end).count();
                let colour = format!("h{colour}");
                assert_eq!(class.split(' ').next().unwrap(), colour, "{ratio}");
                let is_first = entry.rank.is_some_and(|[first, _]| first == 1);
                assert_eq!(class.contains("first"), is_first, "{cell}");
            } else {
                assert_eq!(shown, entry.outcome.to_string().replace('-', " "));
                assert_eq!(class.contains("fault"), entry.outcome.is_fault(), "{cell}");
            }
            seen += 1;
        }
        assert!(seen > 1, "{row}");
    }
}

#[test]
fn samples_with_outliers_or_in_two_groups_are_marked() {
    let page = |ns: &dyn Fn(usize) -> f64| {
        let mut report = small();
        let mut entries = report.races.iter_mut().flat_map(|race| &mut race.entries);
        let entry = entries.find(|entry| entry.outcome == Outcome::Ok).unwrap();
        (entry.sample_ns, entry.sample_block) = (0..200).map(|i| (ns(i), i as u32 / 40)).unzip();
        html::render(&report)
    };
    let even = |i: usize| 1e6 + (i * 37 % 100) as f64;
    let marks = |page: &str| {
        ['*', '‡'].map(|mark| {
            (
                page.matches(&format!("{mark}</a>")).count(),
                page.matches(&format!("{mark}<td>")).count(),
            )
        })
    };
    let [far, groups] = marks(&page(&even));
    let [(cells, lines), _] = marks(&page(&|i| if i % 40 == 7 { 9e6 } else { even(i) }));
    assert_eq!((cells, lines), (far.0 + 1, far.1 + 1));
    let [_, (cells, lines)] = marks(&page(&|i| even(i) * if i % 2 == 0 { 1.0 } else { 2.0 }));
    assert_eq!((cells, lines), (groups.0 + 1, groups.1 + 1));
}

/// Whether a ratio was rounded to what is shown.
fn is_near(shown: &str, ratio: f64) -> bool {
    let shown = shown.trim_end_matches(['*', '‡']).parse::<f64>();
    shown.is_ok_and(|shown| (shown / ratio - 1.0).abs() < 0.01)
}

#[test]
fn every_failure_is_listed_with_its_reason_and_its_race() {
    let report = typical();
    let page = html::render(&report);
    let list = between(&page, "<section id=failures", "</ul>");
    let mut faults = 0;
    for (i, race) in report.races.iter().enumerate() {
        for entry in race.entries.iter().filter(|entry| entry.outcome.is_fault()) {
            let word = entry.outcome.to_string().replace('-', " ");
            let is_told = |line: &str| {
                line.contains(&format!("<b>{}</b>", entry.contender))
                    && line.contains(&format!(">{word}</b>"))
                    && line.contains(&format!("<a href=#r{i}>"))
                    && text(line).contains(entry.detail.as_deref().unwrap())
            };
            assert!(list.split("<li").any(is_told), "{} in race {i}: {list}", entry.contender);
            faults += 1;
        }
    }
    assert!(faults > 5);
    let figure = between(&page, "<dt>Failures<dd>", "<");
    assert_eq!(figure, faults.to_string());
}

#[test]
fn the_ranking_is_that_of_the_report() {
    let report = typical();
    let page = html::render(&report);
    let section = between(&page, "<section id=ranking", "</section>");
    let tables: Vec<&str> = section.split("<table ").skip(1).collect();
    let lines: Vec<Vec<String>> = tables
        .iter()
        .flat_map(|table| between(table, "<tbody>\n", "</table>").lines().map(cells))
        .collect();
    assert_eq!(lines.len(), report.totals.len());
    let mut firsts = Vec::new();
    for (line, total) in lines.iter().zip(&report.totals) {
        assert_eq!(line[0].split(' ').next().unwrap(), total.contender);
        for (shown, mean) in [(&line[1], total.geomean_ratio), (&line[3], total.mean_ratio)] {
            assert!(mean.map_or(shown == "–", |mean| is_near(shown, mean)), "{line:?}");
        }
        assert_eq!(line[4], format!("{}/{}", total.completed, total.of));
        // Places among others, in races of the same model.
        let contested = report.races.iter().filter(|race| {
            race.model == total.model
                && race.entries.iter().filter(|e| e.rank.is_some()).count() > 1
        });
        let ranks: Vec<[u32; 2]> = contested
            .flat_map(|race| &race.entries)
            .filter(|entry| entry.contender == total.contender)
            .filter_map(|entry| entry.rank)
            .collect();
        let alone = ranks.iter().filter(|rank| **rank == [1, 1]).count();
        let tied = ranks.iter().filter(|rank| rank[0] == 1).count() - alone;
        let first = match (alone, tied) {
            (0, 0) => "–".to_owned(),
            (_, 0) => alone.to_string(),
            (0, _) => format!("{tied} tied"),
            _ => format!("{alone} + {tied} tied"),
        };
        assert_eq!(line[5], first, "{line:?} {ranks:?}");
        firsts.push((alone, tied));
    }
    assert!(firsts.iter().any(|(alone, tied)| alone != tied), "{firsts:?}");
}
