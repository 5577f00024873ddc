//! What a run from elsewhere says, held against what is known here: the catalogue, and the files
//! of the contenders.

use std::fmt::Display;

use super::{Checked, Fault};
use crate::contender::{Contender, Track};
use crate::record::{CellRecord, ContenderRecord, RaceRecord};
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
    pub known: Option<(Catalogue, Vec<Contender>)>,
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
    /// The same in few words: `unit: yodel, and echo here`.
    told: String,
}

impl Difference {
    /// A field says something else than what is known here, which is what `said` says.
    fn new(field: &str, says: &str, is_here: &str, said: impl Display) -> Self {
        let reason = format!("{}, and {} {said}; {FIX}", shown(says), shown(is_here));
        let is_short = |text: &str| text.chars().count() <= TOLD_CHARS_MAX;
        let told = if is_short(says) && is_short(is_here) {
            format!("{field}: {}, and {} here", shown(says), shown(is_here))
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
        let (mut what, name): (Vec<String>, String) = (Vec::new(), shown(name));
        for Difference { fault, told } in differences {
            if !here.tells {
                return Err(fault);
            }
            if !what.contains(&told) {
                what.push(told);
            }
        }
        if what.is_empty() {
            return Ok(());
        }
        let what = what.join("; ");
        match list.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => list.push((what, vec![name])),
        }
        Ok(())
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
        let Some((_, contenders)) = &here.known else { return Ok(()) };
        let differences = of_contender(contenders, contender);
        Self::take(&mut self.contenders, here, &contender.id, differences)
    }

    /// What is to be told, each a warning of the run.
    pub(super) fn warnings(self, here: &Here) -> Vec<String> {
        if here.known.is_none() {
            return vec![
                "imported where there was no catalogue that could be read, so that nothing says whether its workloads \
                 and contenders are what they are called"
                    .to_owned(),
            ];
        }
        let mut warnings = Vec::new();
        if !self.unknown.is_empty() {
            warnings.push(format!(
                "imported although these are no workloads of the catalogue here in that preset: {}",
                self.unknown.join(", ")
            ));
        }
        let of = |what: &'static str| {
            move |(differs, names): (String, Vec<String>)| {
                format!("imported although its {what}: {}: {differs}", names.join(", "))
            }
        };
        warnings.extend(self.rows.into_iter().map(of("workloads are not this catalogue's")));
        let contenders = "contenders are not what their files here say";
        warnings.extend(self.contenders.into_iter().map(of(contenders)));
        warnings
    }
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
    let text = |t: &Option<String>| t.as_deref().unwrap_or("null").to_owned();
    // They are about runtimes that have the machine.
    let predictions: &[Prediction] =
        if race.cpu_budget.is_some() { &[] } else { &known.predictions };
    let fields = [
        ("params", settings_text(&race.params), settings_text(&instance.set)),
        ("answer", race.answer.clone(), instance.answer.clone()),
        ("ops", race.ops.to_string(), instance.ops.to_string()),
        ("work", number(race.work), number(instance.work)),
        ("title", race.title.clone(), known.title.clone()),
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
        ("untimed", text(&race.untimed), text(&known.untimed)),
        ("served", race.served.to_string(), known.served.to_string()),
        (
            "origin",
            race.origin.as_ref().map_or_else(|| "null".to_owned(), origin_text),
            origin_text(&known.origin),
        ),
        ("predictions", predictions_text(&race.predictions), predictions_text(predictions)),
    ];
    let fields = fields.into_iter().filter(|(_, says, is_here)| says != is_here);
    let said = format!("is what the catalogue here says of {} in the preset {preset}", known.id);
    let fields =
        fields.map(|(field, says, is_here)| Difference::new(field, &says, &is_here, &said));
    let others = cells.iter().enumerate();
    let others = others.filter(|(_, cell)| !known.variants.contains(&cell.variant));
    let others = others.map(|(index, cell)| {
        let is_none = format!(
            "\"{}\" is no variant of {} in the catalogue",
            shown(&settings_text(&cell.variant)),
            known.id
        );
        let place = format!("cells[{index}].variant");
        Difference { fault: Fault::new(place, format!("{is_none}; {FIX}")), told: is_none }
    });
    fields.chain(others).collect()
}

fn origin_text(origin: &Origin) -> String {
    let Origin { source, fidelity, deviations, held_out } = origin;
    let held_out = held_out.iter().map(|day| format!("held out since {day}"));
    let rest: Vec<String> = held_out.chain(deviations.iter().cloned()).collect();
    [format!("{source} ({fidelity})")].into_iter().chain(rest).collect::<Vec<_>>().join("; ")
}

fn predictions_text(predictions: &[Prediction]) -> String {
    let each = predictions.iter().map(|prediction| {
        let Prediction { order, because, within } = prediction;
        format!("{order} (within {within}), because {because}")
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { "none".to_owned() } else { each.join("; ") }
}

fn of_contender(contenders: &[Contender], record: &ContenderRecord) -> Vec<Difference> {
    // Nobody can take the name of another contender for an alias.
    let namesake = contenders.iter().find(|known| known.id.eq_ignore_ascii_case(&record.id));
    if let Some(namesake) = namesake.filter(|known| known.id != record.base) {
        let said = "is a contender here, whose name no other one can have";
        return vec![Difference::new("base", &record.base, &namesake.id, said)];
    }
    let Some(known) = contenders.iter().find(|known| known.id == record.base) else {
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
