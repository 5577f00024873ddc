//! What a run from elsewhere says, held against what is known here: the catalogue, and the files
//! of the contenders.
//!
//! What decides on the work of a row, on who competes in it or on what its results are held
//! against must be the same. A text that only explains may be worded otherwise, which is told: a
//! catalogue is improved, and the runs that were raced before stay what they are.
//!
//! Refused is another one of these:
//! - parameters, answer, ops, work, salt, variants: the work;
//! - unit, scope, served, statistic, `elapsed_ns_min`, and whether there is an `untimed`: what is
//!   counted, timed and ranked;
//! - model: who competes;
//! - source, fidelity, day of `held_out`: how near the row is to which document;
//! - order and limit of predictions: what the results are held against.
//!
//! Told is another title, another text of the definition, of `untimed`, of deviations, or of why
//! something is predicted. Another definition may mean other work, and may be the same work in
//! better words: whoever reads the run has both texts, and decides.
//!
//! How many iterations a sample has is in the schedules of the run, and so neither is what they
//! followed from here (`one_root`).
//!
//! Of a contender, kind and track are compared, and that nobody has the name of another one; its
//! notes are its own. What is told goes with the run wherever it is carried, so that it speaks of
//! the place where it was told and never of here.

use std::fmt::Display;

use super::{Checked, Fault};
use crate::contender::Track;
use crate::manifest::Found;
use crate::record::{CellRecord, ContenderRecord, Header, RaceRecord};
use crate::runner::excerpt::shown;
use crate::salt::Rule;
use crate::workload::{Catalogue, Origin, Prediction, Preset, Workload, settings_text};

const FIX: &str = "--other-catalogue takes the run of a Palio that has another one";
/// A text that is longer is not told in a warning.
const TOLD_CHARS_MAX: usize = 60;

/// What a run from elsewhere is held against besides itself.
#[derive(Clone, Debug, Default)]
pub struct Here {
    /// `None` where there is no catalogue, which the run is told then.
    pub known: Option<(Catalogue, Found)>,
    /// Whether some of the catalogue's files cannot be read: its rows may be among those that are
    /// not known.
    pub is_partial: bool,
    /// Whether what differs is told in the warnings of the run, and not refused.
    pub tells: bool,
}

impl Here {
    /// The name that contenders know of a race's workload, where the catalogue has it and is the
    /// one by which it was raced.
    pub(super) fn family(&self, race: &RaceRecord) -> Option<&str> {
        let (catalogue, _) = self.known.as_ref().filter(|_| !self.tells)?;
        let known = catalogue.workloads.iter().find(|known| known.id == race.workload);
        known.map(|known| known.family.as_str())
    }
}

/// One thing that a run says otherwise.
struct Difference {
    fault: Fault,
    /// The same in few words, from afar: `unit: yodel, and echo there`.
    told: String,
}

impl Difference {
    /// A field says something else than what is known here, which is what `said` says.
    fn new(field: &str, says: &str, is_here: &str, said: impl Display) -> Self {
        let reason = format!("{}, and {} {said}; {FIX}", shown(says), shown(is_here));
        let is_short = |text: &str| text.chars().count() <= TOLD_CHARS_MAX;
        let told = if is_short(says) && is_short(is_here) {
            format!("{field}: {}, and {} there", shown(says), shown(is_here))
        } else {
            format!("another text as {field}")
        };
        let fault = Fault { is_of_here: true, ..Fault::new(field, reason) };
        Self { fault, told }
    }
}

/// What is told instead of refused, while a run is read.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Rows that the catalogue here has not.
    unknown: Vec<String>,
    /// Contenders whose files here cannot be read.
    unread: Vec<String>,
    /// Which texts are worded otherwise, and of which rows.
    worded: Vec<(String, Vec<String>)>,
    /// Rows of its suite that the run has not.
    missing: Vec<String>,
    /// What differs, and of which rows.
    rows: Vec<(String, Vec<String>)>,
    /// The same of contenders.
    contenders: Vec<(String, Vec<String>)>,
}

impl Told {
    /// Goes on with what differs of a row, or of a contender.
    ///
    /// # Errors
    /// Something does, and is not to be told.
    fn take(
        list: &mut Vec<(String, Vec<String>)>,
        here: &Here,
        name: &str,
        differences: Vec<Difference>,
    ) -> Checked {
        let mut what = Vec::new();
        for Difference { fault, told } in differences {
            if !here.tells {
                return Err(fault);
            }
            if !what.contains(&told) {
                what.push(told);
            }
        }
        Self::note(list, name, what.join("; "));
        Ok(())
    }

    /// Notes what there is to tell of a row or a contender, once; nothing if there is nothing.
    fn note(list: &mut Vec<(String, Vec<String>)>, name: &str, what: String) {
        let name = shown(name);
        match list.iter_mut().find(|(known, _)| *known == what) {
            _ if what.is_empty() => {}
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => list.push((what, vec![name])),
        }
    }

    /// The catalogue says the same of a race, where it knows it.
    pub(super) fn race(
        &mut self,
        here: &Here,
        preset: Preset,
        race: &RaceRecord,
        cells: &[CellRecord],
    ) -> Checked {
        let Some((catalogue, _)) = &here.known else { return Ok(()) };
        let known = catalogue.workloads.iter().find(|known| known.id == race.workload);
        match known.filter(|known| known.presets.contains_key(&preset)) {
            Some(known) => {
                let worded = wording(known, race).join(", ");
                Self::note(&mut self.worded, &race.workload, worded);
                let differences = of_race(known, preset, race, cells);
                Self::take(&mut self.rows, here, &race.workload, differences)
            }
            None => {
                let name = shown(&race.workload);
                if !self.unknown.contains(&name) {
                    self.unknown.push(name);
                }
                Ok(())
            }
        }
    }

    /// Its file says the same of a contender, where there is one.
    pub(super) fn contender(&mut self, here: &Here, contender: &ContenderRecord) -> Checked {
        let Some((_, found)) = &here.known else { return Ok(()) };
        let name = shown(&contender.id);
        if is_unread(found, &contender.base) && !self.unread.contains(&name) {
            self.unread.push(name);
        }
        let differences = of_contender(found, contender);
        Self::take(&mut self.contenders, here, &contender.id, differences)
    }

    /// A run of a suite has all rows that the suite has here in this preset. Nothing else misses
    /// the last races of a run.
    pub(super) fn suite(&mut self, here: &Here, header: &Header, raced: impl Fn(&str) -> bool) {
        let Some((catalogue, _)) = &here.known else { return };
        let suite = catalogue.suites.iter().find(|suite| suite.id == header.suite);
        let is_missing = |id: &&String| {
            let known = catalogue.workloads.iter().find(|known| known.id == **id);
            known.is_some_and(|known| known.presets.contains_key(&header.preset)) && !raced(id)
        };
        let rows = suite.into_iter().flat_map(|suite| &suite.workloads);
        self.missing = rows.filter(is_missing).cloned().collect();
    }

    /// What is to be told, each a warning of the run, which is carried on with it: `there` is where
    /// it was read, by whichever verb.
    pub(super) fn warnings(self, here: &Here) -> Vec<String> {
        if here.known.is_none() {
            return vec![
                "read where there was no catalogue that could be read, so that nothing says whether its workloads \
                 and contenders are what they are called"
                    .to_owned(),
            ];
        }
        let mut warnings = Vec::new();
        if !self.unknown.is_empty() {
            let why = match here.is_partial {
                false => "although the catalogue there had no such workloads in the run's preset",
                true => {
                    "where a part of the catalogue could not be read, and the rest had no such \
                     workloads in the run's preset, so that nothing says whether these are what \
                     they are called"
                }
            };
            warnings.push(format!("read {why}: {}", self.unknown.join(", ")));
        }
        if !self.unread.is_empty() {
            warnings.push(format!(
                "read where files of contenders could not be read, so that nothing says whether these are what they \
                 are called: {}",
                self.unread.join(", ")
            ));
        }
        if !self.missing.is_empty() {
            warnings.push(format!(
                "read where the catalogue had rows in its suite that it has not raced, or that were taken out: {}",
                self.missing.join(", ")
            ));
        }
        let of = |what: &'static str| {
            move |(differs, names): (String, Vec<String>)| {
                format!("read although its {what}: {}: {differs}", names.join(", "))
            }
        };
        let rows = "workloads were not those of the catalogue there";
        warnings.extend(self.rows.into_iter().map(of(rows)));
        let contenders = "contenders were not what their files there said";
        warnings.extend(self.contenders.into_iter().map(of(contenders)));
        if !self.worded.is_empty() {
            let each = self.worded.into_iter();
            let each = each.map(|(fields, names)| format!("{fields} of {}", names.join(", ")));
            let each: Vec<String> = each.collect();
            warnings.push(format!(
                "read where the catalogue had other words for the same rows: {}",
                each.join("; ")
            ));
        }
        warnings
    }
}

/// Which texts about a row differ.
fn wording(known: &Workload, race: &RaceRecord) -> Vec<&'static str> {
    let deviations = |origin: &Origin| origin.deviations.clone();
    let because = |predictions: &[Prediction]| -> Vec<String> {
        predictions.iter().map(|prediction| prediction.because.clone()).collect()
    };
    let origin = race.origin.as_ref().is_some_and(|o| deviations(o) != deviations(&known.origin));
    let fields = [
        ("title", race.title != known.title),
        (
            "definition",
            race.definition.as_ref().is_some_and(|text| !same_words(text, &known.definition)),
        ),
        ("untimed", race.untimed != known.untimed),
        ("deviations", origin),
        ("reasons of predictions", because(&race.predictions) != because(due(known, race))),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect()
}

/// Whether only the lines break elsewhere.
fn same_words(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

/// The predictions that a race of `known` has: they are about runtimes that have the machine.
fn due<'a>(known: &'a Workload, race: &RaceRecord) -> &'a [Prediction] {
    if race.cpu_budget.is_some() { &[] } else { &known.predictions }
}

fn of_race(
    known: &Workload,
    preset: Preset,
    race: &RaceRecord,
    cells: &[CellRecord],
) -> Vec<Difference> {
    let Some(instance) = known.presets.get(&preset) else { return Vec::new() };
    let number = |n: Option<u64>| n.map_or_else(|| "null".to_owned(), |n| n.to_string());
    let word = |w: Option<&'static str>| w.unwrap_or("null").to_owned();
    // Palio's clock is held against what is timed, and not where something else is said to pass.
    let untimed = |t: &Option<String>| if t.is_some() { "some time" } else { "null" }.to_owned();
    let fields = [
        ("params", settings_text(&race.params), settings_text(&instance.set)),
        ("answer", race.answer.clone(), instance.answer.clone()),
        ("ops", race.ops.to_string(), instance.ops.to_string()),
        ("work", number(race.work), number(instance.work)),
        ("unit", race.unit.clone(), known.unit.clone()),
        ("model", race.model.to_string(), known.model.to_string()),
        ("scope", race.scope.to_string(), known.scope.to_string()),
        ("salt", word(race.salt.map(Rule::name)), word(known.salt.map(Rule::name))),
        (
            "statistic",
            word(race.statistic.map(|statistic| statistic.name())),
            word(known.statistic.map(|statistic| statistic.name())),
        ),
        ("elapsed_ns_min", number(race.elapsed_ns_min), number(known.elapsed_ns_min)),
        ("untimed", untimed(&race.untimed), untimed(&known.untimed)),
        ("served", race.served.to_string(), known.served.to_string()),
        (
            "origin",
            race.origin.as_ref().map_or_else(|| "null".to_owned(), origin_text),
            origin_text(&known.origin),
        ),
        ("predictions", predictions_text(&race.predictions), predictions_text(due(known, race))),
    ];
    let fields = fields.into_iter().filter(|(_, says, is_here)| says != is_here);
    let said = format!("is what the catalogue here says of {} in the preset {preset}", known.id);
    let fields =
        fields.map(|(field, says, is_here)| Difference::new(field, &says, &is_here, &said));
    let others = cells.iter().enumerate();
    let others = others.filter(|(_, cell)| !known.variants.contains(&cell.variant));
    let others = others.map(|(index, cell)| {
        let variant = shown(&settings_text(&cell.variant));
        let is_none =
            format!("\"{variant}\" is no variant of {} in the catalogue here; {FIX}", known.id);
        let place = format!("cells[{index}].variant");
        let fault = Fault { is_of_here: true, ..Fault::new(place, is_none) };
        Difference { fault, told: format!("the variant \"{variant}\", which was not there") }
    });
    fields.chain(others).collect()
}

fn origin_text(origin: &Origin) -> String {
    let Origin { source, fidelity, deviations: _, held_out } = origin;
    let held_out = held_out.as_ref().map(|day| format!("; held out since {day}"));
    format!("{source} ({fidelity}){}", held_out.unwrap_or_default())
}

fn predictions_text(predictions: &[Prediction]) -> String {
    let each = predictions.iter().map(|prediction| {
        let Prediction { order, because: _, within } = prediction;
        format!("{order} (within {within})")
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { "none".to_owned() } else { each.join("; ") }
}

/// Whether a contender is not known for no other reason than that its file cannot be read. That of
/// a variant is the file of the contender whose variant it is.
fn is_unread(found: &Found, base: &str) -> bool {
    let is_of = |id: &str| {
        base.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    found.contenders.iter().all(|known| known.id != base)
        && found.faulty.iter().any(|faulty| is_of(&faulty.id))
}

fn of_contender(found: &Found, record: &ContenderRecord) -> Vec<Difference> {
    // Nobody can take the name of another contender for an alias, whose file may say nothing else.
    let known = found.contenders.iter().map(|known| &known.id);
    let mut ids = known.chain(found.faulty.iter().map(|faulty| &faulty.id));
    let namesake = ids.find(|id| id.eq_ignore_ascii_case(&record.id));
    if let Some(namesake) = namesake.filter(|id| **id != record.base) {
        let said = "is a contender here, whose name no other one can have";
        let told = format!("base: {}, and there {} was another", shown(&record.base), namesake);
        return vec![Difference { told, ..Difference::new("base", &record.base, namesake, said) }];
    }
    let Some(known) = found.contenders.iter().find(|known| known.id == record.base) else {
        return Vec::new();
    };
    let said = "is what its contender.toml here says";
    let mut differences = Vec::new();
    if record.kind != known.kind {
        differences.push(Difference::new("kind", record.kind.name(), known.kind.name(), said));
    }
    // A turned knob is tuning, and the name of one that has another name does not tell.
    let can_be_turned = record.track == Track::Tuned && !is_plain(record);
    if record.track != known.track && !can_be_turned {
        differences.push(Difference::new("track", record.track.name(), known.track.name(), said));
    }
    differences
}

/// Whether its name says that none of its knobs is turned.
fn is_plain(record: &ContenderRecord) -> bool {
    let release = record.release.as_ref().map(|release| format!("@{release}"));
    record.id.strip_prefix(&record.base) == Some(release.as_deref().unwrap_or_default())
}
