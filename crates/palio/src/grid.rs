//! The grid of a tuning sweep: which settings of which knobs are raced beside each other. Pure.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use palio_protocol::message::Knob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::printable::printable;
use crate::release::Release;
use crate::suggest::nearest;
use crate::workload::Settings;

/// What a run was made for, where that is more than its suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// One contender with its knobs turned.
    Sweep(Grid),
    /// Contenders on more and more threads.
    Scale,
}

/// All points of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The name under which the contender raced with all of `knobs` as they are by default.
    pub baseline: String,
    pub knobs: Vec<Axis>,
    /// In the order of the values, those of the last knob changing fastest; without the baseline.
    pub points: Vec<Point>,
}

/// A knob and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    pub name: String,
    /// What the contender says that it is if nobody turns it.
    pub default: String,
    pub values: Vec<String>,
}

/// One setting of all knobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The name under which it raced.
    pub contender: String,
    pub settings: Settings,
}

/// A knob and its values as a user writes them: `a=1,2,4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub knob: String,
    pub values: Vec<String>,
}

impl std::str::FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = "write KNOB=VALUE,VALUE…, such as gogc=50,100,200";
        let (knob, values) =
            text.split_once('=').ok_or_else(|| format!("{text:?} names no values: {shape}"))?;
        if knob.is_empty() {
            return Err(format!("{text:?} names no knob: {shape}"));
        }
        if Release::KEYS.contains(&knob) {
            return Err(format!(
                "{knob} is no knob but chooses a release: `palio run -c ID@{knob}=A,ID@{knob}=B` races several"
            ));
        }
        if values.is_empty() {
            return Err(format!(
                "the knob {knob} has no value, so that the grid is empty: {shape}"
            ));
        }
        let mut seen: Vec<String> = Vec::new();
        for value in values.split(',') {
            let is_broken = |c: char| c.is_whitespace() || c == '@';
            if value.is_empty() || value.contains(is_broken) || printable(value) != value {
                return Err(format!(
                    "{value:?} is no value of the knob {knob}: it may neither be empty nor contain white space, `@` or what \
                     cannot be seen"
                ));
            }
            if let Some(other) = seen.iter().find(|other| is_same(other, value)) {
                let twice = if other == value {
                    format!("the value {value} of the knob {knob} is there twice")
                } else {
                    format!("the values {other} and {value} of the knob {knob} are one number")
                };
                return Err(format!("{twice}, and its points would be the same"));
            }
            seen.push(value.to_owned());
        }
        Ok(Self { knob: knob.to_owned(), values: seen })
    }
}

impl Grid {
    /// The grid of `wishes` around the contender that races as `baseline`, of which it is known
    /// what knobs it has. `fixed` are those that are turned in all points, and `name` says under
    /// which name a point races.
    ///
    /// A point that is the default in all knobs is the baseline itself, and not raced twice.
    ///
    /// # Errors
    /// A knob is not known, is there twice, or is turned for all points besides; or there is no
    /// point but the baseline.
    pub fn new(
        baseline: String,
        (known, fixed): (&[Knob], &Settings),
        wishes: &[Wish],
        name: impl Fn(&Settings) -> String,
    ) -> Result<Self> {
        let mut knobs: Vec<Axis> = Vec::new();
        for wish in wishes {
            let knob = find(&baseline, known, &wish.knob)?;
            ensure!(
                !knobs.iter().any(|other| other.name == wish.knob),
                "the knob {} is there twice: give all of its values in one --knob",
                wish.knob
            );
            ensure!(
                !fixed.contains_key(&wish.knob),
                "the knob {} is both swept and fixed in {baseline}: leave one of them out",
                wish.knob
            );
            let (name, default) = (knob.name.clone(), knob.default.clone());
            knobs.push(Axis { name, default, values: wish.values.clone() });
        }
        let points: Vec<Point> = all_settings(&knobs)
            .into_iter()
            .filter(|settings| !is_default(&knobs, settings))
            .map(|settings| Point { contender: name(&settings), settings })
            .collect();
        if points.is_empty() {
            let each: Vec<String> =
                knobs.iter().map(|axis| format!("{}={}", axis.name, axis.default)).collect();
            bail!(
                "the grid is empty: {} is what {baseline} has by default, and there is nothing to compare that with",
                each.join(", ")
            );
        }
        Ok(Self { baseline, knobs, points })
    }

    /// The settings of whoever races under `contender`; those of the baseline are all defaults.
    pub fn settings(&self, contender: &str) -> Option<Settings> {
        if contender == self.baseline {
            let defaults = self.knobs.iter().map(|axis| (axis.name.clone(), axis.default.clone()));
            return Some(defaults.collect());
        }
        self.points.iter().find(|p| p.contender == contender).map(|p| p.settings.clone())
    }

    /// Whether the points are those that the values make, each once and in order.
    pub fn is_whole(&self) -> bool {
        let product = self.knobs.iter().map(|axis| axis.values.len());
        let product = product.fold(1, usize::saturating_mul);
        let with_baseline = self
            .knobs
            .iter()
            .all(|axis| axis.values.iter().any(|value| is_same(value, &axis.default)));
        // Counted first: values that nobody raced can make more points than there is memory for.
        let is_due = product.checked_sub(usize::from(with_baseline)) == Some(self.points.len());
        let is_made = || {
            let all = all_settings(&self.knobs);
            let made = all.iter().filter(|settings| !is_default(&self.knobs, settings));
            made.eq(self.points.iter().map(|point| &point.settings))
        };
        !self.points.is_empty() && is_due && is_made()
    }

    /// The baseline and all points.
    pub fn contenders(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.baseline)
            .chain(self.points.iter().map(|p| &p.contender))
            .map(|s| &**s)
    }
}

/// The knob called `name`.
fn find<'a>(contender: &str, known: &'a [Knob], name: &str) -> Result<&'a Knob> {
    known.iter().find(|knob| knob.name == name).with_context(|| {
        let near = nearest(name, known.iter().map(|knob| knob.name.as_str()));
        let hint = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
        format!("{contender} has no knob {name:?}{hint}; it has: {}", told(known))
    })
}

/// `gogc (100), pin (0)`, each with its default.
pub fn told(known: &[Knob]) -> String {
    let each: Vec<String> =
        known.iter().map(|knob| format!("{} ({})", knob.name, knob.default)).collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

fn is_default(knobs: &[Axis], settings: &Settings) -> bool {
    let is_default =
        |axis: &Axis| settings.get(&axis.name).is_some_and(|value| is_same(value, &axis.default));
    knobs.iter().all(is_default)
}

/// Whether two values are one text, or one number in two ways, such as `50` and `050`.
fn is_same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}

/// Every combination of the values, those of the last knob changing fastest.
fn all_settings(knobs: &[Axis]) -> Vec<Settings> {
    let mut all = vec![BTreeMap::new()];
    for axis in knobs {
        let with = |settings: &Settings| {
            let settings = settings.clone();
            axis.values.iter().map(move |value| {
                let mut settings = settings.clone();
                settings.insert(axis.name.clone(), value.clone());
                settings
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::settings_text;

    fn knobs(of: &[(&str, &str)]) -> Vec<Knob> {
        let knob = |(name, default): &(&str, &str)| Knob {
            name: (*name).to_owned(),
            default: (*default).to_owned(),
        };
        of.iter().map(knob).collect()
    }

    fn grid(wishes: &[&str]) -> Result<Grid> {
        let known = knobs(&[("a", "1"), ("mode", "on")]);
        let wishes: Vec<Wish> = wishes.iter().map(|text| text.parse().unwrap()).collect();
        let name = |settings: &Settings| format!("rt@{}", settings_text(settings));
        Grid::new("rt".to_owned(), (&known, &Settings::new()), &wishes, name)
    }

    #[test]
    fn a_grid_is_every_combination_but_the_defaults() {
        let grid = grid(&["mode=on,off", "a=1,2,4"]).unwrap();
        let points: Vec<String> = grid.points.iter().map(|p| settings_text(&p.settings)).collect();
        let expected =
            ["a=2,mode=on", "a=4,mode=on", "a=1,mode=off", "a=2,mode=off", "a=4,mode=off"];
        assert_eq!(points, expected);
        assert_eq!(settings_text(&grid.settings("rt").unwrap()), "a=1,mode=on");
        assert_eq!(settings_text(&grid.settings("rt@a=2,mode=on").unwrap()), "a=2,mode=on");
        assert_eq!(grid.settings("other"), None);
        assert_eq!(grid.contenders().count(), 6);
        assert!(grid.is_whole());
    }

    #[test]
    fn a_default_that_is_written_in_another_way_is_the_baseline() {
        let grid = grid(&["a=01,2"]).unwrap();
        let points: Vec<String> = grid.points.iter().map(|p| settings_text(&p.settings)).collect();
        assert_eq!(points, ["a=2"]);
        assert!(grid.is_whole());
    }

    #[test]
    fn a_grid_with_other_points_than_its_values_make_is_not_whole() {
        let whole = grid(&["mode=on,off", "a=2,4"]).unwrap();
        assert!(whole.is_whole());
        let changes: [fn(&mut Grid); 5] = [
            |grid| drop(grid.points.pop()),
            |grid| grid.points.swap(0, 1),
            |grid| grid.points[0] = grid.points[1].clone(),
            |grid| (grid.knobs, grid.points) = (Vec::new(), Vec::new()),
            // More combinations than any memory holds.
            |grid| grid.knobs = vec![grid.knobs[0].clone(); 64],
        ];
        for change in changes {
            let mut other = whole.clone();
            change(&mut other);
            assert!(!other.is_whole(), "{other:?}");
        }
    }

    #[test]
    fn what_is_no_grid_is_refused_by_name() {
        let cases: [(&[&str], &str); 5] = [
            (&["mod=off"], "no knob \"mod\" (did you mean mode?); it has: a (1), mode (on)"),
            (&["a=2", "a=4"], "the knob a is there twice"),
            (&["a=1"], "the grid is empty: a=1 is what rt has by default"),
            (&["a=01"], "the grid is empty: a=1 is what rt has by default"),
            (&["a=1", "mode=on"], "the grid is empty: a=1, mode=on"),
        ];
        for (wishes, part) in cases {
            let error = grid(wishes).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
        let known = knobs(&[("a", "1")]);
        let fixed = Settings::from([("a".to_owned(), "2".to_owned())]);
        let wish = ["a=4".parse().unwrap()];
        let error = Grid::new("rt@a=2".into(), (&known, &fixed), &wish, |_| String::new());
        assert!(error.unwrap_err().to_string().contains("both swept and fixed"));
    }

    #[test]
    fn what_is_no_wish_is_refused_with_the_shape() {
        for (text, part) in [
            ("gogc", "names no values"),
            ("=1", "names no knob"),
            ("gogc=", "the grid is empty"),
            ("gogc=1,,2", "\"\" is no value"),
            ("gogc=1, 2", "\" 2\" is no value"),
            ("gogc=1@2", "\"1@2\" is no value"),
            ("gogc=1,2,1", "the value 1 of the knob gogc is there twice"),
            ("gogc=50,+050", "the values 50 and +050 of the knob gogc are one number"),
            ("version=1,2", "chooses a release"),
        ] {
            let error = text.parse::<Wish>().unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
        let wish: Wish = "flags=a=b,c".parse().unwrap();
        assert_eq!(wish.values, ["a=b", "c"]);
    }
}
