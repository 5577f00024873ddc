//! Where a workload comes from, and how near it is to that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// How a workload relates to the program that made its document's table.
    "fidelity": Fidelity {
        /// The timed region is that program's.
        Same = "same",
        /// The work is that program's, done in another way.
        Adapted = "adapted",
        /// No document has it.
        Own = "own",
    }
}

/// Where a workload comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The reference document; Palio itself, if there is none.
    pub source: String,
    pub fidelity: Fidelity,
    /// What differs from the document's program, each a sentence without its full stop.
    #[serde(default)]
    pub deviations: Vec<String>,
    /// The day on which the row was written, where nobody had raced it until then: whoever works on
    /// a runtime of this repository has not tuned it by this row before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<String>,
}

impl Origin {
    /// # Errors
    /// The deviations are not what the fidelity says.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self.fidelity {
            Fidelity::Adapted if self.deviations.is_empty() => {
                Err("`fidelity = \"adapted\"` wants `deviations` that say what was")
            }
            Fidelity::Own if !self.deviations.is_empty() => {
                Err("`fidelity = \"own\"` leaves nothing that `deviations` could differ from")
            }
            _ => match self.held_out.as_deref() {
                Some(day) if !is_date(day) => Err(
                    "`held_out` is the day on which the row was written, such as \"2026-11-22\"",
                ),
                _ => Ok(()),
            },
        }
    }

    /// Where the row comes from and how near it is to that: a sentence without its full stop.
    pub fn text(&self) -> String {
        match self.fidelity {
            Fidelity::Same => format!("From the document {}", self.source),
            Fidelity::Adapted => format!("From the document {}, adapted", self.source),
            Fidelity::Own => "From no document".to_owned(),
        }
    }

    /// What a reader of a race must know, each a sentence without its full stop.
    pub fn notes(&self) -> Vec<String> {
        let differs = |deviation| format!("not as the document {}: {deviation}", self.source);
        let held_out = self
            .held_out
            .iter()
            .map(|day| format!("held out: nobody tuned a runtime by this row before {day}"));
        held_out.chain(self.deviations.iter().map(differs)).collect()
    }
}

fn is_date(text: &str) -> bool {
    let form = |(c, form): (char, char)| if form == '0' { c.is_ascii_digit() } else { c == form };
    text.len() == 10 && text.chars().zip("0000-00-00".chars()).all(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_belong_to_what_was_adapted() {
        let origin = |fidelity, deviations: &[&str]| Origin {
            source: "nio".into(),
            fidelity,
            deviations: deviations.iter().map(|&text| text.into()).collect(),
            held_out: None,
        };
        assert!(origin(Fidelity::Own, &[]).check().is_ok());
        assert!(origin(Fidelity::Same, &[]).check().is_ok());
        assert!(origin(Fidelity::Same, &["a sum is kept"]).check().is_ok());
        assert!(origin(Fidelity::Adapted, &["the root is a task"]).check().is_ok());
        assert!(origin(Fidelity::Adapted, &[]).check().is_err());
        assert!(origin(Fidelity::Own, &["the root is a task"]).check().is_err());
        assert_eq!(
            origin(Fidelity::Adapted, &["the root is a task"]).notes(),
            ["not as the document nio: the root is a task"]
        );
    }

    #[test]
    fn a_row_is_held_out_since_a_day() {
        let origin = |day: &str| Origin {
            source: "Palio".into(),
            fidelity: Fidelity::Own,
            deviations: Vec::new(),
            held_out: Some(day.into()),
        };
        assert!(origin("2026-11-22").check().is_ok());
        assert!(origin("2026-11-22").notes()[0].contains("before 2026-11-22"));
        for day in ["", "true", "2026-11-2", "22-11-2026", "2026-11-221"] {
            assert!(origin(day).check().is_err(), "{day}");
        }
    }
}
