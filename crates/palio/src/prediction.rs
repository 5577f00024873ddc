//! A prediction of the catalogue: who should be faster, and why.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::workload::read_toml;

/// A prediction of the catalogue about two contenders, which every run checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Written `a < b` (a is faster) or `a ~ b` (they are close).
    #[serde(rename = "expect")]
    #[schemars(with = "String")]
    pub order: Order,
    pub because: String,
    /// For `~`: the largest ratio that still counts as close.
    #[serde(default = "close")]
    pub within: f64,
}

fn close() -> f64 {
    1.25
}

/// Why a prediction did not hold, as far as that is known.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissNote {
    pub workload: String,
    #[serde(rename = "expect")]
    pub order: Order,
    /// A sentence without its full stop.
    pub note: String,
}

impl MissNote {
    /// The notes of a file, which may be missing.
    ///
    /// # Errors
    /// It cannot be read or is malformed.
    pub fn load(path: &Path) -> Result<Vec<Self>> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            note: Vec<MissNote>,
        }
        if !path.is_file() {
            return Ok(Vec::new());
        }
        Ok(read_toml::<File>(path)?.note)
    }
}

/// The two sides of a [`Prediction`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Order {
    pub left: String,
    pub relation: Relation,
    pub right: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Faster,
    Close,
}

impl TryFrom<String> for Order {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (left, relation, right) = match text.split_whitespace().collect::<Vec<_>>()[..] {
            [left, "<", right] => (left, Relation::Faster, right),
            [left, "~", right] => (left, Relation::Close, right),
            _ => {
                return Err(format!(
                    "{text:?} is no prediction: write `a < b` (a is faster) or `a ~ b` (they are close)"
                ));
            }
        };
        Ok(Self { left: left.to_owned(), relation, right: right.to_owned() })
    }
}

impl From<Order> for String {
    fn from(order: Order) -> Self {
        order.to_string()
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.relation {
            Relation::Faster => '<',
            Relation::Close => '~',
        };
        write!(f, "{} {sign} {}", self.left, self.right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_parse() {
        let order = Order::try_from("a < b".to_owned()).unwrap();
        assert_eq!((order.relation, order.to_string().as_str()), (Relation::Faster, "a < b"));
        assert!(Order::try_from("a > b".to_owned()).is_err());
    }
}
