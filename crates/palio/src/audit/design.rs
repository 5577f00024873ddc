//! The rules for what a run was made for: the grid of a sweep is the one that was raced.

use std::collections::{BTreeMap, BTreeSet};

use super::command::named_knobs;
use super::{Checked, Fault, LABEL_BYTES_MAX, NAME_BYTES_MAX, check, label};
use crate::grid::{Axis, Design, Grid};
use crate::record::ContenderRecord;
use crate::runner::excerpt::shown;

pub(super) fn check_design(
    design: Option<&Design>,
    contenders: &BTreeMap<&str, &ContenderRecord>,
) -> Checked {
    match design {
        Some(Design::Sweep(grid)) => {
            check_grid(grid, contenders).map_err(|fault| fault.within("header.design.sweep"))
        }
        Some(Design::Scale) | None => Ok(()),
    }
}

fn check_grid(grid: &Grid, contenders: &BTreeMap<&str, &ContenderRecord>) -> Checked {
    let mut names = BTreeSet::new();
    for axis in &grid.knobs {
        label("knobs", &axis.name, NAME_BYTES_MAX)?;
        let new = names.insert(axis.name.as_str());
        check(new, "knobs", || format!("{} is there twice", axis.name))?;
        label("knobs", &axis.default, LABEL_BYTES_MAX)?;
        let mut values = BTreeSet::new();
        axis.values.iter().try_for_each(|value| {
            label("knobs", value, LABEL_BYTES_MAX)?;
            check(values.insert(value), "knobs", || {
                format!("{} has the value {} twice", axis.name, shown(value))
            })
        })?;
    }
    let mut seen = BTreeSet::new();
    let mut raced = |place: &str, name: &str| {
        check(contenders.contains_key(name), place, || {
            format!("\"{}\" is not among `contenders`", shown(name))
        })?;
        let new = seen.insert(name.to_owned());
        check(new, place, || format!("{name} is there twice"))?;
        let base = |name: &str| contenders.get(name).map(|contender| &contender.base);
        check(base(name) == base(&grid.baseline), place, || {
            format!(
                "{name} is another contender than {}, and not that with its knobs turned",
                grid.baseline
            )
        })
    };
    raced("baseline", &grid.baseline)?;
    let named = |name: &str| -> BTreeSet<String> {
        let knobs = contenders.get(name).and_then(|contender| named_knobs(contender));
        knobs.iter().flat_map(|knobs| knobs.split('@')).map(str::to_owned).collect()
    };
    let baseline = named(&grid.baseline);
    let is_turned = |axis: &Axis| {
        baseline.iter().any(|knob| knob.split_once('=').is_some_and(|(key, _)| key == axis.name))
    };
    check(!grid.knobs.iter().any(is_turned), "baseline", || {
        format!("{} turns one of `knobs`", grid.baseline)
    })?;
    for (index, point) in grid.points.iter().enumerate() {
        let checked = raced("contender", &point.contender).and_then(|()| {
            let keys: BTreeSet<&str> = point.settings.keys().map(String::as_str).collect();
            check(keys == names, "settings", || "they are not of all `knobs`".to_owned())?;
            grid.knobs.iter().try_for_each(|axis| {
                let value = &point.settings[&axis.name];
                check(axis.values.contains(value), "settings", || {
                    format!("{} is no value of the knob {}", shown(value), axis.name)
                })
            })?;
            let its_own = named(&point.contender);
            let is_its_own = |(key, value)| its_own.contains(&format!("{key}={value}"));
            check(point.settings.iter().all(is_its_own), "settings", || {
                format!("they are not those in the name of {}", shown(&point.contender))
            })
        });
        checked.map_err(|fault: Fault| fault.within(format!("points[{index}]")))?;
    }
    check(grid.is_whole(), "points", || {
        "they are not every combination of the values but the defaults, each once and in order"
            .to_owned()
    })
}
