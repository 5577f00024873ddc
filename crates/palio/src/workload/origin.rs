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
            _ => Ok(()),
        }
    }

    /// What a reader of a race must know, each a sentence without its full stop.
    pub fn notes(&self) -> Vec<String> {
        let differs = |deviation| format!("not as the document {}: {deviation}", self.source);
        self.deviations.iter().map(differs).collect()
    }
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
}
