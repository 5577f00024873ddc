//! What is written into a place, from what Palio says of the bundles.

use serde_json::Value;

/// What the marker of a place asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A number of somebody else's document, which stays as it is.
    Quote,
    /// All reports, with their bundles.
    Reports,
    /// A contender over all bundles.
    Headlines { contender: String, without: Vec<String> },
    /// A contender in one bundle.
    Headline { bundle: String, contender: String, without: Vec<String>, what: What },
    /// A bundle beside the numbers that a suite's document publishes.
    Replication { bundle: String, suite: String },
}

/// What of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// All of it, as Palio prints it.
    Text,
    /// Every row that counts.
    Table,
    Geomean,
    Rows,
    First,
    Tied,
    NotDecided,
    Behind,
    LeftOut,
}

const FIELDS: [(&str, What); 8] = [
    ("table", What::Table),
    ("geomean", What::Geomean),
    ("rows", What::Rows),
    ("first", What::First),
    ("tied", What::Tied),
    ("not-decided", What::NotDecided),
    ("behind", What::Behind),
    ("left-out", What::LeftOut),
];

const SYNTAX: &str = "known are `quote SOURCE`, `reports`, `headlines CONTENDER [without A,B]`, \
                      `BUNDLE replication SUITE` and `BUNDLE headline CONTENDER [without A,B] [FIELD]`, where FIELD \
                      is table, geomean, rows, first, tied, not-decided, behind or left-out";

impl Order {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let unknown = || format!("unknown marker {text:?}: {SYNTAX}");
        let names = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        match words[..] {
            ["quote"] => Err("a quote names its source: `quote SOURCE`".to_owned()),
            ["quote", ..] => Ok(Self::Quote),
            ["reports"] => Ok(Self::Reports),
            ["headlines", contender] => {
                Ok(Self::Headlines { contender: contender.to_owned(), without: Vec::new() })
            }
            ["headlines", contender, "without", without] => {
                Ok(Self::Headlines { contender: contender.to_owned(), without: names(without) })
            }
            [bundle, "replication", suite] => {
                Ok(Self::Replication { bundle: bundle.to_owned(), suite: suite.to_owned() })
            }
            [bundle, "headline", contender, ref rest @ ..] => {
                let (without, rest) = match rest {
                    ["without", without, rest @ ..] => (names(without), rest),
                    rest => (Vec::new(), rest),
                };
                let what = match rest {
                    [] => What::Text,
                    [field] => FIELDS.iter().find(|(name, _)| name == field).ok_or_else(unknown)?.1,
                    _ => return Err(unknown()),
                };
                let (bundle, contender) = (bundle.to_owned(), contender.to_owned());
                Ok(Self::Headline { bundle, contender, without, what })
            }
            _ => Err(unknown()),
        }
    }

    /// The bundle that it names.
    pub(crate) fn bundle(&self) -> Option<&str> {
        match self {
            Self::Quote | Self::Reports | Self::Headlines { .. } => None,
            Self::Headline { bundle, .. } | Self::Replication { bundle, .. } => Some(bundle),
        }
    }

    /// Whether its text has lines of its own; `None` if both will do.
    pub(crate) fn is_block(&self) -> Option<bool> {
        match self {
            Self::Quote => None,
            Self::Reports | Self::Headlines { .. } | Self::Replication { .. } => Some(true),
            Self::Headline { what, .. } => Some(matches!(what, What::Text | What::Table)),
        }
    }
}

/// What Palio says of the bundles: for each, what `report --headline all --format json` prints.
pub(crate) trait Bundles {
    /// Their names, in order.
    fn names(&self) -> Vec<String>;
    /// The headlines of a bundle of that name, with these contenders left out.
    fn headlines(&self, bundle: &str, without: &[String]) -> Result<Value, String>;
    /// What `palio replicate SUITE --format markdown` prints of a bundle of that name.
    fn replication(&self, bundle: &str, suite: &str) -> Result<String, String>;
}

/// The text for a place in `document`; `None` if it keeps what it has.
pub(crate) fn text(
    order: &Order,
    document: &str,
    bundles: &impl Bundles,
) -> Result<Option<String>, String> {
    if let Some(bundle) = order.bundle().filter(|&name| !bundles.names().iter().any(|b| b == name))
    {
        return Err(format!("there is no bundle docs/results/{bundle}.json.gz"));
    }
    match order {
        Order::Quote => Ok(None),
        Order::Reports => reports(document, bundles).map(Some),
        Order::Headlines { contender, without } => {
            headlines(contender, without, document, bundles).map(Some)
        }
        Order::Replication { bundle, suite } => {
            Ok(Some(replication(&bundles.replication(bundle, suite)?)))
        }
        Order::Headline { bundle, contender, without, what } => {
            let all = bundles.headlines(bundle, without)?;
            let headline = find(&all, contender)
                .ok_or_else(|| format!("{contender} is not in the bundle {bundle}"))?;
            let count = |name: &str| headline[name].to_string();
            let length = |name: &str| headline[name].as_array().map_or(0, Vec::len).to_string();
            Ok(Some(match what {
                What::Text => headline["text"].as_str().unwrap_or_default().trim().to_owned(),
                What::Table => table(headline),
                What::Geomean => headline["geometric_mean"].as_f64().map_or(NONE.into(), ratio),
                What::Rows => length("rows"),
                What::LeftOut => length("left_out"),
                What::First => count("first"),
                What::Tied => count("tied"),
                What::NotDecided => count("not_decided"),
                What::Behind => count("behind"),
            }))
        }
    }
}

const NONE: &str = "–";

fn find<'a>(all: &'a Value, contender: &str) -> Option<&'a Value> {
    all["headlines"].as_array()?.iter().find(|headline| headline["contender"] == contender)
}

/// Three significant digits, as Palio's reports have them.
fn ratio(x: f64) -> String {
    match x {
        x if x < 0.0995 => format!("{x:.3}"),
        x if x < 9.995 => format!("{x:.2}"),
        x if x < 99.95 => format!("{x:.1}"),
        x => format!("{x:.0}"),
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).replace('|', "\\|")
}

fn table(headline: &Value) -> String {
    let mut lines =
        vec!["| row | ratio | fastest other | place |".to_owned(), "|---|--:|---|---|".to_owned()];
    for row in headline["rows"].as_array().into_iter().flatten() {
        let place = word(&row["place"]).replace('-', " ");
        let ratio = row["ratio"].as_f64().map_or(NONE.into(), ratio);
        lines.push(format!(
            "| {} | {ratio} | {} | {place} |",
            word(&row["race"]),
            word(&row["best_other"])
        ));
    }
    let doubtful = doubtful(headline);
    if doubtful > 0 {
        lines.push(String::new());
        lines.push(format!("Doubtful, as the report says why: {doubtful} of these rows."));
    }
    lines.join("\n")
}

/// In how many of the rows that count a time is doubtful, or work or forks were not counted.
fn doubtful(headline: &Value) -> usize {
    let remarks = headline["doubtful"].as_array().map_or(&[][..], Vec::as_slice);
    let mut races: Vec<&str> = remarks.iter().filter_map(|doubt| doubt["race"].as_str()).collect();
    races.sort_unstable();
    races.dedup();
    races.len()
}

/// The tables of a replication, each heading one level lower: the title of all and how to read them
/// are said once, by the document they stand in.
fn replication(printed: &str) -> String {
    let tables = printed.find("\n### ").map_or(printed, |start| &printed[start + 1..]);
    let mut lines = tables.trim().lines();
    let document = lines.next().unwrap_or_default().trim_start_matches("### ");
    let mut text = format!("Published: {document}.");
    for line in lines {
        text.push('\n');
        text.push_str(&line.replacen("### ", "#### ", usize::from(line.starts_with("### "))));
    }
    text
}

fn reports(document: &str, bundles: &impl Bundles) -> Result<String, String> {
    let mut lines = vec![
        "| report | raced on | preset | blocks | contenders | machine | samples |".to_owned(),
        "|---|---|---|--:|--:|---|---|".to_owned(),
    ];
    for name in bundles.names() {
        let all = bundles.headlines(&name, &[])?;
        let run = &all["run"];
        let day: String = word(&run["started_at"]).chars().take(10).collect();
        let machine = run["machine"]["cpu_model"].as_str().unwrap_or("unknown");
        let samples = match run["thinned"].as_object() {
            None => "all".to_owned(),
            Some(thinned) => format!("{} of {}, thinned", thinned["kept"], thinned["measured"]),
        };
        let results = link(document, &name);
        lines.push(format!(
            "| [{name}]({results}.md) ([bundle]({results}.json.gz)) | {day} | {} | {} | {} | {} | {samples} |",
            word(&run["preset"]),
            run["blocks"],
            all["contenders"].as_array().map_or(0, Vec::len),
            machine.replace('|', "\\|"),
        ));
    }
    Ok(lines.join("\n"))
}

fn headlines(
    contender: &str,
    without: &[String],
    document: &str,
    bundles: &impl Bundles,
) -> Result<String, String> {
    let mut lines = vec![
        "| suite | rows that count | left out | geometric mean | first | tied | not decided | behind | worst row | ratio | fastest other |"
            .to_owned(),
        "|---|--:|--:|--:|--:|--:|--:|--:|---|--:|---|".to_owned(),
    ];
    let (mut missing, mut doubts) = (Vec::new(), Vec::new());
    for name in bundles.names() {
        let all = bundles.headlines(&name, &[])?;
        // A suite in which one of those left out did not race is no reason to drop the others.
        let there = |id: &&String| {
            all["contenders"].as_array().is_some_and(|ids| ids.contains(&Value::from(id.as_str())))
        };
        let without: Vec<String> = without.iter().filter(there).cloned().collect();
        let all = if without.is_empty() { all } else { bundles.headlines(&name, &without)? };
        let Some(headline) = find(&all, contender) else { continue };
        let not_built: Vec<String> =
            headline["not_built"].as_array().into_iter().flatten().map(word).collect();
        if !not_built.is_empty() {
            missing.push(format!("{name}: {}", not_built.join(", ")));
        }
        let rows = headline["rows"].as_array().map_or(&[][..], Vec::as_slice);
        let doubtful = doubtful(headline);
        if doubtful > 0 {
            doubts.push(format!("{name}: {doubtful} of {}", rows.len()));
        }
        let worst = rows.first().map_or_else(
            || format!("{NONE} | {NONE} | {NONE}"),
            |row| {
                let ratio = row["ratio"].as_f64().map_or(NONE.into(), ratio);
                format!("{} | {ratio} | {}", word(&row["race"]), word(&row["best_other"]))
            },
        );
        lines.push(format!(
            "| [{name}]({}.md) | {} | {} | {} | {} | {} | {} | {} | {worst} |",
            link(document, &name),
            rows.len(),
            headline["left_out"].as_array().map_or(0, Vec::len),
            headline["geometric_mean"].as_f64().map_or(NONE.into(), ratio),
            headline["first"],
            headline["tied"],
            headline["not_decided"],
            headline["behind"],
        ));
    }
    if lines.len() == 2 {
        return Err(format!("{contender} is in no bundle"));
    }
    if !missing.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "Not built where this was raced, so that nothing is said about them: {}.",
            missing.join("; ")
        ));
    }
    if !doubts.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "Rows that count and are doubtful, or in which {contender} or the fastest other did not count its work or \
             its forks, as the reports say: {}.",
            doubts.join("; ")
        ));
    }
    Ok(lines.join("\n"))
}

/// The way from a document to `docs/results/NAME`.
fn link(document: &str, name: &str) -> String {
    let target = format!("docs/results/{name}");
    let (mut from, mut to) = (document, &target[..]);
    while let (Some((a, rest_from)), Some((b, rest_to))) =
        (from.split_once('/'), to.split_once('/'))
    {
        if a != b {
            break;
        }
        (from, to) = (rest_from, rest_to);
    }
    "../".repeat(from.matches('/').count()) + to
}

/// What the catalogue says today of rows of a run and did not say when they were raced, as the end
/// of its report; nothing where it says the same. `report` and `catalogue` are what Palio prints.
pub(crate) fn since(report: &Value, catalogue: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let known = list(catalogue);
    let mut lines: Vec<String> = Vec::new();
    for race in list(&report["races"]) {
        let (name, then) = (&race["workload"], &race["origin"]);
        let said = |value: &Value| {
            let all: Vec<String> = list(&value["deviations"]).iter().map(word).collect();
            format!(
                "`{}`{}",
                word(&value["fidelity"]),
                all.iter().map(|d| format!("; {d}")).collect::<String>()
            )
        };
        let line = match known.iter().find(|workload| workload["id"] == *name) {
            None => format!("- {} is not in the catalogue any more.", word(name)),
            Some(_) if then.is_null() => continue,
            Some(now) if said(now) == said(then) => continue,
            Some(now) => {
                format!(
                    "- {} was called `{}`, and is {}",
                    word(name),
                    word(&then["fidelity"]),
                    said(now)
                )
            }
        };
        // A row that is raced on several numbers of threads is one row.
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\n## Since this was raced\n\nWhat the catalogue says today of how near these rows are to their document's \
         programs, and did not say then:\n\n{}\n",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Two;

    impl Bundles for Two {
        fn names(&self) -> Vec<String> {
            vec!["nio".into(), "smarm".into()]
        }

        fn headlines(&self, bundle: &str, without: &[String]) -> Result<Value, String> {
            let contenders: &[&str] =
                if bundle == "nio" { &["go", "own", "twin"] } else { &["own"] };
            if let Some(id) = without.iter().find(|id| !contenders.contains(&id.as_str())) {
                return Err(format!("{id} is not in the run"));
            }
            let mean = if without.is_empty() { 0.8449 } else { 0.05 };
            let row = json!({ "race": "a|b · 2 threads", "ratio": 1.5, "best_other": "go", "place": "not-decided" });
            let doubt = |text: &str| json!({ "race": "a|b · 2 threads", "text": text });
            let own = json!({
                "contender": "own", "geometric_mean": mean, "rows": [row], "left_out": [1, 2],
                "first": 1, "tied": 2, "not_decided": 3, "behind": 4, "text": "All of it.\n",
                "not_built": ["citor", "tmc"],
                "doubtful": [doubt("own did not count its work"), doubt("go kept 3 processors busy")],
            });
            let headlines = if bundle == "nio" { json!([own]) } else { json!([]) };
            let machine = json!({ "cpu_model": "Z80" });
            let run = json!({
                "started_at": "2026-01-02T03:04:05Z", "preset": "quick", "blocks": 5, "machine": machine,
                "thinned": if bundle == "nio" { json!({ "kept": 5, "measured": 90 }) } else { Value::Null },
            });
            Ok(json!({ "run": run, "contenders": contenders, "headlines": headlines }))
        }

        fn replication(&self, bundle: &str, suite: &str) -> Result<String, String> {
            match suite {
                "yaay" => Err(format!("the run {bundle} has no row of the suite yaay")),
                _ => Ok("## Beside\n\nHow to read.\n\n### nio, on a Z80\n\n| a |\n\n### Rows\n\n| b |\n\n"
                    .into()),
            }
        }
    }

    fn said(order: &str) -> Result<Option<String>, String> {
        text(&Order::parse(order)?, "crates/x/README.md", &Two)
    }

    #[test]
    fn fields_of_a_headline() {
        for (field, expected) in [
            ("geomean", "0.84"),
            ("rows", "1"),
            ("first", "1"),
            ("tied", "2"),
            ("not-decided", "3"),
            ("behind", "4"),
            ("left-out", "2"),
            ("", "All of it."),
        ] {
            let order = format!("nio headline own {field}");
            assert_eq!(said(&order), Ok(Some(expected.to_owned())), "{field}");
        }
        assert_eq!(said("nio headline own without twin geomean"), Ok(Some("0.050".to_owned())));
        let table = said("nio headline own table").unwrap().unwrap();
        let end = "\n| a\\|b · 2 threads | 1.50 | go | not decided |\n\n\
                   Doubtful, as the report says why: 1 of these rows.";
        assert!(table.ends_with(end), "{table}");
        assert_eq!(said("quote https://example.org, 2024"), Ok(None));
    }

    #[test]
    fn a_replication_stands_below_a_heading_of_its_document() {
        let text = said("nio replication nio").unwrap().unwrap();
        assert_eq!(text, "Published: nio, on a Z80.\n\n| a |\n\n#### Rows\n\n| b |");
    }

    #[test]
    fn labels_that_have_changed_since_are_told() {
        let row = |id: &str, fidelity: &str, deviations: &[&str]| {
            json!({ "id": id, "workload": id, "fidelity": fidelity, "deviations": deviations,
                    "origin": { "fidelity": fidelity, "deviations": deviations } })
        };
        let report = json!({ "races": [row("a", "same", &[]), row("a", "same", &[]), row("b", "own", &[]), row("c", "own", &[])] });
        let catalogue = |a: Value| json!([a, row("b", "own", &[])]);
        let told = since(&report, &catalogue(row("a", "adapted", &["it sleeps"])));
        let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("- ")).collect();
        assert_eq!(
            lines,
            [
                "- a was called `same`, and is `adapted`; it sleeps",
                "- c is not in the catalogue any more."
            ]
        );
        let same = json!({ "races": [row("b", "own", &[])] });
        assert_eq!(since(&same, &catalogue(row("a", "same", &[]))), "");
    }

    #[test]
    fn tables_over_all_bundles_have_links_from_where_they_stand() {
        let table = said("headlines own without twin").unwrap().unwrap();
        let line = "| [nio](../../docs/results/nio.md) | 1 | 2 | 0.050 | 1 | 2 | 3 | 4 | a\\|b · 2 threads | 1.50 | go |";
        let missing =
            "Not built where this was raced, so that nothing is said about them: nio: citor, tmc.";
        let doubtful = "Rows that count and are doubtful, or in which own or the fastest other did not count \
                        its work or its forks, as the reports say: nio: 1 of 1.";
        assert_eq!(table.lines().skip(2).collect::<Vec<_>>(), [line, "", missing, "", doubtful]);
        let table = said("reports").unwrap().unwrap();
        assert!(
            table.contains("| 2026-01-02 | quick | 5 | 3 | Z80 | 5 of 90, thinned |"),
            "{table}"
        );
        assert_eq!(table.lines().count(), 4);
        assert_eq!(link("README.md", "nio"), "docs/results/nio");
        assert_eq!(link("docs/results/README.md", "nio"), "nio");
        assert_eq!(link("docs/x.md", "nio"), "results/nio");
    }

    #[test]
    fn what_cannot_be_said_is_an_error() {
        for (order, reason) in [
            ("", "unknown marker"),
            ("nio", "unknown marker"),
            ("nio headline", "unknown marker"),
            ("nio headline own mean", "unknown marker"),
            ("nio headline own geomean first", "unknown marker"),
            ("nio footline own", "unknown marker"),
            ("quote", "names its source"),
            ("gone headline own", "no bundle docs/results/gone.json.gz"),
            ("gone replication nio", "no bundle docs/results/gone.json.gz"),
            ("nio replication", "unknown marker"),
            ("smarm replication yaay", "smarm has no row of the suite yaay"),
            ("nio headline nobody", "nobody is not in the bundle nio"),
            ("nio headline own without nobody", "nobody is not in the run"),
            ("headlines nobody", "nobody is in no bundle"),
        ] {
            let error = said(order).unwrap_err();
            assert!(error.contains(reason), "{order:?}: {error}");
        }
    }
}
