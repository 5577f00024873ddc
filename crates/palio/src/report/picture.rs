//! A run as one picture: how many times as long as the fastest everybody took.
//!
//! It is an SVG without scripts, fonts or anything else from outside, in light and dark. A run of
//! few races has a panel for each; one of many has a strip for each contender, with a dot for each
//! race. Both have a logarithmic axis, the intervals, the noise floor, and everybody who raced.

mod panels;
mod strips;

use super::html::markup::esc;
use super::html::svg::Log;
use super::model::{Entry, Report};
use super::units;
use super::view::{View, machine_facts, sorted};
use crate::record::Outcome;
use crate::stats::quantile;

/// Appends formatted text to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = write!($out, $($arg)*);
    }};
}
pub(in crate::report) use put;

const WIDTH: f64 = 880.0;
/// With more races than this a panel for each would be no picture any more.
const PANELS_MAX: usize = 6;
/// Characters of a line of the caption, which is set by the reader's font.
const LINE: usize = 132;

const STYLE: &str = "\
svg{background:#fbfaf6;font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:#1d1c1a}\
.h{font-size:19px;font-weight:600}.b{font-weight:600}.m{fill:#625e57}.s{font-size:12px}.e{text-anchor:end}.c{text-anchor:middle}\
.g{stroke:#e4dfd3;fill:none}.one{stroke:#8d877c;fill:none}.f{fill:#cfe0de}.l{stroke:#cfe0de;fill:none}\
.i{stroke:#17626a;stroke-width:1.5;fill:none}.t{stroke:#17626a;stroke-opacity:.3;fill:none}\
.d{fill:#17626a;stroke:#17626a;stroke-width:1.5}.o{fill:#fbfaf6;stroke:#17626a;stroke-width:1.5}.x{fill:#a3271f}\
.k{fill:none;stroke:#1d1c1a;stroke-width:2.5}.r{stroke:#dcd7cb}\
@media(prefers-color-scheme:dark){svg{background:#161719;fill:#e9e5dc}.m{fill:#a59f94}.g{stroke:#2c2e32}.one{stroke:#7d786f}\
.f{fill:#24403f}.l{stroke:#24403f}.i,.t,.d,.o{stroke:#7cc4c4}.d{fill:#7cc4c4}.o{fill:#161719}.x{fill:#f0958a}.k{stroke:#e9e5dc}.r{stroke:#3a3b3e}}";

/// The picture of a run.
#[must_use]
pub fn render(report: &Report) -> String {
    let view = View::new(report);
    let mut body = String::new();
    put!(
        body,
        "<text class=\"h\" x=\"24\" y=\"38\">{}: {}</text>\n",
        esc(&report.run.suite),
        if report.races.iter().any(|race| race.statistic.is_some()) {
            "what each race ranks, relative to its best"
        } else {
            "time relative to the fastest of each race"
        }
    );
    let is_panels = report.races.len() <= PANELS_MAX;
    let lead = if is_panels {
        "1× is the fastest, 10× takes ten times as long: left is better."
    } else {
        "A line for each contender, a dot for each race. 1× is the fastest, 10× takes ten times as long: left is better."
    };
    put!(body, "<text class=\"m\" x=\"24\" y=\"60\">{lead}</text>\n");
    let bottom = if is_panels {
        panels::write(&mut body, &view, 84.0)
    } else {
        strips::write(&mut body, &view, 84.0)
    };
    let height = caption(&mut body, &view, is_panels, bottom + 24.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">Palio: {}</title>\n<desc id=\"d\">{}</desc>\n\
         <style>{STYLE}</style>\n{body}</svg>\n",
        esc(&report.run.suite),
        esc(&told(&view))
    )
}

/// A position with one decimal at most: what differs further behind differs between machines.
fn px(x: f64) -> String {
    let tenth = (x * 10.0).round() / 10.0;
    format!("{}", tenth + 0.0)
}

/// A name that fits beside a plot.
fn name(id: &str) -> String {
    const MOST: usize = 20;
    if id.chars().count() <= MOST {
        return esc(id);
    }
    format!("{}…", esc(&id.chars().take(MOST - 1).collect::<String>()))
}

/// `1×`, `1.5×`, `1000×`.
fn times(x: f64) -> String {
    format!("{}×", (x * 1000.0).round() / 1000.0)
}

/// Whether the data cannot tell it from the first of its race.
fn is_undecided(entry: &Entry) -> bool {
    entry.is_first() && entry.rank != Some([1, 1])
}

/// Room for most ratios; few that are far off would squeeze all others together.
fn scale(view: &View<'_>, from: f64, to: f64, share: f64) -> Log {
    let points = view.ranked().filter_map(|(_, entry)| Some(entry.ratio_to_best?.point));
    let points = sorted(points.filter(|x| x.is_finite()).collect());
    let hi = if points.is_empty() { 2.0 } else { quantile(&points, share) };
    Log::new(0.8, (hi * 1.25).max(2.0), from, to)
}

/// Vertical lines at round ratios, with their labels above.
fn grid(out: &mut String, scale: &Log, top: f64, bottom: f64) {
    for tick in scale.ticks(6).into_iter().filter(|tick| *tick >= 1.0) {
        let x = px(scale.at(tick));
        let class = if tick == 1.0 { "one" } else { "g" };
        put!(out, "<path class=\"{class}\" d=\"M{x} {}V{}\"/>", px(top), px(bottom));
        put!(
            out,
            "<text class=\"m s c\" x=\"{x}\" y=\"{}\">{}</text>\n",
            px(top - 6.0),
            times(tick)
        );
    }
}

/// What the marks mean, and where and how they were measured; returns where the picture ends.
fn caption(out: &mut String, view: &View<'_>, is_panels: bool, top: f64) -> f64 {
    let report = view.report;
    let run = &report.run;
    let mut lines = Vec::new();
    let more = if is_panels {
        ""
    } else {
        " Bar: geometric mean over the races that all who have one completed. Arrow: beyond the axis."
    };
    lines.extend(wrapped(&format!(
        "Filled: told apart from the fastest, or the fastest itself. Hollow: not told apart from the fastest. Line: 95 % \
         interval of the ratio. Shaded: noise floor of the race, the difference of a contender from itself. Logarithmic \
         scale.{more}"
    )));
    let floors = report.races.iter().filter_map(|race| race.noise_floor?.ratio);
    let floors = sorted(floors.filter(|x| x.is_finite()).collect());
    let floor = match floors.as_slice() {
        [] => "Noise floor unknown: too few blocks.".to_owned(),
        floors => format!(
            "Noise floors: {} to {}, median {}.",
            units::factor(floors[0]),
            units::factor(floors[floors.len() - 1]),
            units::factor(quantile(floors, 0.5))
        ),
    };
    let facts = machine_facts(&run.machine);
    let known = ["CPU", "Processors", "Virtualisation"].iter().filter_map(|name| {
        let (name, fact) = facts.iter().find(|(known, _)| known == name)?;
        match (*name, fact.as_str()) {
            ("Virtualisation", "none") => None,
            ("Processors", "1") => Some("1 processor".to_owned()),
            ("Processors", n) => Some(format!("{n} processors")),
            (_, fact) => Some(fact.to_owned()),
        }
    });
    let thinned = if run.thinned.is_some() { ", thinned" } else { "" };
    let state = if run.state == "finished" { String::new() } else { format!(" ({})", run.state) };
    lines.extend(wrapped(&format!(
        "Raced on {} with {}; preset {}, {}{thinned}{state}. {floor} {}",
        run.started_at.get(..10).unwrap_or(&run.started_at),
        known.collect::<Vec<_>>().join(", "),
        run.preset,
        report.blocks_text(),
        allocators(view)
    )));
    if let Some(interruptions) = &run.interruptions {
        lines.extend(wrapped(&format!("The run was {interruptions}.")));
    }
    lines.extend(doubtful(view).iter().flat_map(|text| wrapped(text)));
    if let Some(selection) = &run.selection {
        lines.extend(wrapped(&selection.text(report.races.len())));
    }
    put!(out, "<path class=\"r\" d=\"M24 {}H{}\"/>\n", px(top - 12.0), WIDTH - 24.0);
    let mut y = top + 8.0;
    for line in lines {
        put!(out, "<text class=\"m s\" x=\"24\" y=\"{}\">{}</text>\n", px(y), esc(&line));
        y += 17.0;
    }
    y + 6.0
}

/// Whose times should not be believed without a look into the report, whose work or forks were not
/// counted, and in how many races.
fn doubtful(view: &View<'_>) -> Vec<String> {
    let doubtful = in_races(view, |entry| !entry.doubts.is_empty());
    let doubtful = doubtful.map(|each| format!("Doubtful, as the report says why: {each}."));
    let uncounted = in_races(view, |entry| entry.uncounted().next().is_some());
    let uncounted = uncounted.map(|each| {
        format!("Not certified, since nobody counted their work or their forks: {each}.")
    });
    doubtful.into_iter().chain(uncounted).collect()
}

/// Of whom this holds, and in how many races: `smol in 2 races`.
fn in_races(view: &View<'_>, holds: impl Fn(&Entry) -> bool) -> Option<String> {
    let all: Vec<usize> = (0..view.report.races.len()).collect();
    let raced = view.raced(&all).into_iter().map(|column| view.contenders[column]);
    let each: Vec<String> = raced
        .filter_map(|id| {
            let of = |entry: &Entry| entry.contender == id && holds(entry);
            let count = view.ranked().filter(|(_, entry)| of(entry)).count();
            (count > 0).then(|| format!("{id} in {}", units::plural(count, "race")))
        })
        .collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// Which allocators the builds of those that raced name.
fn allocators(view: &View<'_>) -> String {
    let all: Vec<usize> = (0..view.report.races.len()).collect();
    let mut known: Vec<(String, Vec<&str>)> = Vec::new();
    for column in view.raced(&all) {
        let id = view.contenders[column];
        let flags = view.contender(id).and_then(|known| known.flags.as_deref()).unwrap_or_default();
        let named = flags.split_whitespace().find_map(|flag| flag.strip_prefix("allocator="));
        let named = named.unwrap_or_default().to_owned();
        match known.iter_mut().find(|(other, _)| *other == named) {
            Some((_, ids)) => ids.push(id),
            None => known.push((named, vec![id])),
        }
    }
    // Those that name one, then those that do not.
    known.sort_by_key(|(named, _)| named.is_empty());
    let each: Vec<String> = known
        .iter()
        .map(|(named, ids)| {
            let named = if named.is_empty() { "not named by its build" } else { named };
            format!("{named} ({})", ids.join(", "))
        })
        .collect();
    if each.is_empty() { String::new() } else { format!("Allocator: {}.", each.join("; ")) }
}

/// The picture in a sentence, for those who do not see it.
fn told(view: &View<'_>) -> String {
    let of = |column: &usize| {
        let id = view.contenders[*column];
        let entries: Vec<&Entry> = view.grid.iter().filter_map(|row| row[*column]).collect();
        let ok = entries.iter().filter(|entry| entry.outcome == Outcome::Ok).count();
        let first = entries.iter().filter(|entry| entry.is_first()).count();
        format!("{id} {first} of {ok}")
    };
    let all: Vec<usize> = (0..view.report.races.len()).collect();
    let each: Vec<String> = view.raced(&all).iter().map(of).collect();
    format!(
        "In how many of the races that it completed each contender was first, or not told apart from the first: {}.",
        each.join(", ")
    )
}

/// A text in lines.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= LINE {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_longer_than_a_line() {
        let text = "word ".repeat(100);
        let lines = wrapped(&text);
        assert!(lines.iter().all(|line| line.len() <= LINE));
        assert_eq!(lines.join(" "), text.trim());
    }

    #[test]
    fn positions_and_ratios_are_short() {
        assert_eq!([px(12.0), px(1.26), px(-0.01)], ["12", "1.3", "0"]);
        assert_eq!([times(1.0), times(1.5), times(1000.0)], ["1×", "1.5×", "1000×"]);
        assert_eq!(name("a<b"), "a&lt;b");
        assert_eq!(name(&"ä".repeat(30)).chars().count(), 20);
    }
}
