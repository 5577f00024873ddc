//! One contender against the best of all others, race by race: what a headline may say of it.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::comparison::blocks;
use super::model::{Entry, Interval, Race, Report};
use super::units;
use crate::contender::Kind;
use crate::record::Outcome;
use crate::stats::{EquivalenceMargin, HEADLINE_FLOOR_MAX, NoiseFloor, RatioInterval, Verdict};

/// How many of the worst rows are named.
const WORST: usize = 5;

/// What a contender did over a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    pub contender: String,
    /// Its version and the flags of its build, which name the allocator where it is not the
    /// system's.
    pub build: String,
    /// Contenders of the run that were asked to be left out of "all others".
    pub without: Vec<String>,
    /// Rows that count, the worst first.
    pub rows: Vec<Row>,
    /// Rows that do not, each with its reason.
    pub left_out: Vec<(String, String)>,
    /// Times in rows that count and should not be believed without a look: each row, and what its
    /// report says of the contender or of the best of the others.
    pub doubtful: Vec<(String, String)>,
}

/// One race that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub race: String,
    /// The best of the others, by its estimate.
    pub best_other: String,
    /// Time ÷ time of the best of the others.
    pub ratio: f64,
    pub place: Place,
}

/// Where the contender stands among all of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Faster than every other one.
    First,
    /// Slower than nobody, and not faster than everybody.
    NotToldApart,
    /// Slower than another one.
    Behind,
}

impl Headline {
    /// Judges `contender` over all races of `report`.
    ///
    /// A race counts if the contender and another one completed it, and if its noise floor is known
    /// and no larger than [`HEADLINE_FLOOR_MAX`]; what does not count is listed. Baselines are no
    /// others: they are compared and never ranked.
    ///
    /// # Errors
    /// The contender, or one to be left out, is not in the run.
    pub fn of(report: &Report, contender: &str, without: &[String]) -> Result<Self> {
        let find = |id: &str| report.contenders.iter().find(|known| known.id == id);
        for id in without.iter().map(String::as_str).chain([contender]) {
            if find(id).is_none() {
                bail!("{id} is not in the run {}", report.run.id);
            }
        }
        let known = find(contender);
        let build = [known.and_then(|c| c.version.clone()), known.and_then(|c| c.flags.clone())];
        let mut headline = Self {
            contender: contender.to_owned(),
            build: build.into_iter().flatten().collect::<Vec<_>>().join(", "),
            without: without.to_vec(),
            rows: Vec::new(),
            left_out: Vec::new(),
            doubtful: Vec::new(),
        };
        for race in &report.races {
            match row(race, contender, without) {
                Ok(row) => {
                    headline.doubtful.extend(doubts(race, [contender, &row.best_other]));
                    headline.rows.push(row);
                }
                Err(reason) => headline.left_out.push((race.label(), reason)),
            }
        }
        headline.rows.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        Ok(headline)
    }

    /// Geometric mean of the ratios; `None` without a row.
    #[must_use]
    pub fn geometric_mean(&self) -> Option<f64> {
        let sum: f64 = self.rows.iter().map(|row| row.ratio.ln()).sum();
        (!self.rows.is_empty()).then(|| (sum / self.rows.len() as f64).exp())
    }

    /// Number of rows with this place.
    #[must_use]
    pub fn count(&self, place: Place) -> usize {
        self.rows.iter().filter(|row| row.place == place).count()
    }

    /// As Markdown, which a terminal shows well enough.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mean = self.geometric_mean().map_or(units::NONE.into(), units::ratio);
        let without = match &self.without[..] {
            [] => String::new(),
            without => format!(" (left out of these: {})", without.join(", ")),
        };
        let _ = writeln!(
            out,
            "{} ({}) ÷ the best of all others in each row{without}: {mean}, the geometric mean of {}. First in {}, not told \
             apart from the first in {}, behind in {}.",
            self.contender,
            self.build,
            units::plural(self.rows.len(), "row"),
            self.count(Place::First),
            self.count(Place::NotToldApart),
            self.count(Place::Behind),
        );
        if !self.rows.is_empty() {
            out.push_str("\nThe worst rows:\n\n");
        }
        for row in self.rows.iter().take(WORST) {
            let _ = writeln!(
                out,
                "- {}: {} of {}'s time, {}",
                row.race,
                units::ratio(row.ratio),
                row.best_other,
                row.place.words()
            );
        }
        if !self.doubtful.is_empty() {
            let _ = writeln!(out, "\nDoubtful times in rows that count:\n");
        }
        for (race, doubt) in &self.doubtful {
            let _ = writeln!(out, "- {race}: {doubt}");
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(out, "\n{} left out:\n", units::plural(self.left_out.len(), "row"));
        }
        for (race, reason) in &self.left_out {
            let _ = writeln!(out, "- {race}: {reason}");
        }
        out
    }
}

impl Place {
    fn words(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::NotToldApart => "not told apart from the first",
            Self::Behind => "behind",
        }
    }
}

/// The row of a race, or why it does not count.
fn row(race: &Race, contender: &str, without: &[String]) -> Result<Row, String> {
    let Some(own) = race.entries.iter().find(|entry| entry.contender == contender) else {
        return Err("it was not entered".to_owned());
    };
    if own.outcome != Outcome::Ok {
        return Err(own.outcome.words());
    }
    let floor = race.noise_floor.and_then(|floor| bounded(&floor.shadow)).map(NoiseFloor::of);
    let Some(floor) = floor else { return Err("its noise floor is unknown".to_owned()) };
    if floor.ratio() > HEADLINE_FLOOR_MAX {
        return Err(format!("its noise floor is {}", units::factor(floor.ratio())));
    }
    let is_other = |entry: &&Entry| {
        entry.contender != contender
            && entry.outcome == Outcome::Ok
            && entry.kind != Kind::Baseline
            && !without.contains(&entry.contender)
    };
    let mut best: Option<(&Entry, RatioInterval)> = None;
    let (mut faster_than_all, mut slower_than_one) = (true, false);
    for other in race.entries.iter().filter(is_other) {
        let ratio = blocks(race, own)
            .zip(blocks(race, other))
            .and_then(|(own, other)| RatioInterval::between(&own, &other));
        let Some(ratio) = ratio else { continue };
        let floor = own_floor(own, &floor).with(&own_floor(other, &floor));
        let verdict = Verdict::of(&ratio, &floor, EquivalenceMargin::default());
        faster_than_all &= verdict == Verdict::Faster;
        slower_than_one |= verdict == Verdict::Slower;
        if best.is_none_or(|(_, least)| ratio.point > least.point) {
            best = Some((other, ratio));
        }
    }
    let Some((other, ratio)) = best else { return Err("nobody else completed it".to_owned()) };
    Ok(Row {
        race: race.label(),
        best_other: other.contender.clone(),
        ratio: ratio.point,
        place: match (faster_than_all, slower_than_one) {
            (_, true) => Place::Behind,
            (true, false) => Place::First,
            (false, false) => Place::NotToldApart,
        },
    })
}

/// What makes the times of these contenders doubtful in a race, each with its label.
fn doubts(race: &Race, contenders: [&str; 2]) -> Vec<(String, String)> {
    let entries = race.entries.iter().filter(|entry| contenders.contains(&&*entry.contender));
    let of = |entry: &Entry| -> Vec<_> {
        let doubt = |doubt| (race.label(), format!("{} {doubt}", entry.contender));
        entry.doubts.iter().map(doubt).collect()
    };
    entries.flat_map(of).collect()
}

/// The floor of a contender, or that of the race where it has no shadow.
fn own_floor(entry: &Entry, of_race: &NoiseFloor) -> NoiseFloor {
    let Some(own) = entry.noise_floor else { return *of_race };
    bounded(&own.shadow).map_or_else(NoiseFloor::unknown, NoiseFloor::of)
}

fn bounded(interval: &Interval) -> Option<RatioInterval> {
    let (lo, hi) = interval.lo.zip(interval.hi)?;
    // How many blocks there were is not needed any more.
    Some(RatioInterval { point: interval.point, lo, hi, blocks: crate::stats::MIN_BLOCKS })
}
