//! What `compare --fail-above` and `baseline check` decide: did anything become slower?

use std::process::ExitCode;

use anyhow::Result;

use super::{EXIT_CHECK_FAILED, columns, say};
use crate::report::comparison::{Comparison, Judgement};
use crate::report::comparison_text;

/// `10` or `10%`: a threshold.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err("a number of percent of at least 0 is needed".to_owned()),
    }
}

/// Prints a comparison and, under a threshold, what it comes to; the status says whether anything
/// became slower by more.
///
/// # Errors
/// There is a threshold, and nothing can be judged by it.
pub(super) fn conclude(
    comparison: &Comparison,
    threshold_percent: Option<f64>,
    as_json: bool,
) -> Result<ExitCode> {
    let judgement = match threshold_percent {
        Some(percent) => Some(comparison.judge(1.0 + percent / 100.0)?),
        None => None,
    };
    if as_json {
        say(&comparison_text::json(comparison, judgement.as_ref())?)?;
    } else {
        say(&comparison_text::render(comparison, columns()))?;
        if let Some(judgement) = &judgement {
            say(&comparison_text::judgement(judgement, columns()))?;
        }
    }
    Ok(match judgement {
        Some(Judgement { has_passed: false, .. }) => ExitCode::from(EXIT_CHECK_FAILED),
        _ => ExitCode::SUCCESS,
    })
}
