//! Verdicts of a whole run taken together: how many of them stand after Holm's correction.

use super::model::{Report, ToldApart, Verdict, VerdictWord};
use super::sweep::Sweep;
use super::units;
use crate::stats;

/// The chance of one false verdict or more that is allowed to all of them together.
const LEVEL: f64 = 0.05;

impl Verdict {
    fn tells_apart(&self) -> bool {
        matches!(self.verdict, VerdictWord::Faster | VerdictWord::Slower)
    }

    fn stands(&self) -> bool {
        self.tells_apart() && self.holm.is_some_and(|holm| holm <= LEVEL)
    }
}

fn verdicts(report: &mut Report) -> Vec<&mut Verdict> {
    let entries = report.races.iter_mut().flat_map(|race| &mut race.entries);
    let verdicts = entries.filter_map(|entry| entry.ratio_to_reference.as_mut());
    verdicts.filter(|verdict| verdict.p.is_some()).collect()
}

/// Fills in the adjusted p-values, and counts. The correction is for all comparisons with a
/// reference of the run, of which those that the report does not show are `hidden`: each a p-value
/// and its blocks. Or whoever looks for a difference could leave out the others.
pub(super) fn adjust(report: &mut Report, hidden: &[(f64, u32)]) {
    let mut shown = verdicts(report);
    let of_shown = shown.iter().filter_map(|verdict| Some((verdict.p?, verdict.blocks)));
    let all: Vec<(f64, u32)> = of_shown.chain(hidden.iter().copied()).collect();
    let values: Vec<f64> = all.iter().map(|&(p, _)| p).collect();
    for (verdict, adjusted) in shown.iter_mut().zip(stats::holm(&values)) {
        verdict.holm = Some(adjusted);
    }
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let count = |is: fn(&Verdict) -> bool| number(shown.iter().filter(|v| is(v)).count());
    let least: Vec<f64> =
        all.iter().map(|&(_, blocks)| stats::least_p_value(blocks as usize)).collect();
    let told_apart = ToldApart {
        comparisons: count(|_| true),
        in_run: number(all.len()),
        plain: count(Verdict::tells_apart),
        holm: count(Verdict::stands),
        blocks_min: number(stats::holm_blocks_min(all.len(), LEVEL)),
        could_stand: stats::holm(&least).iter().any(|&holm| holm <= LEVEL),
        corrected: false,
    };
    report.told_apart = (told_apart.comparisons > 0).then_some(told_apart);
}

/// Takes back every `faster` and `slower` that does not stand after Holm's correction. Ranks are
/// not corrected.
pub fn correct(report: &mut Report) {
    for verdict in verdicts(report) {
        if verdict.tells_apart() && !verdict.stands() {
            verdict.verdict = VerdictWord::Inconclusive;
        }
    }
    if let Some(told_apart) = &mut report.told_apart {
        told_apart.corrected = true;
    }
    // Who was best by a verdict that is taken back is not best any more.
    report.sweep = Sweep::of(report);
}

impl ToldApart {
    /// `Of 40 comparisons with a reference 31 …`.
    pub(super) fn text(&self) -> String {
        let of = units::plural(self.comparisons as usize, "comparison");
        let (plain, holm) = (self.plain, self.holm);
        let all = if self.in_run > self.comparisons {
            format!("all {} of the run", units::plural(self.in_run as usize, "comparison"))
        } else {
            of.clone()
        };
        let said = format!(
            "Of {of} with a reference {plain} say faster or slower, each at 95 % by itself"
        );
        if !self.could_stand {
            let shown = if self.corrected { "; none is shown as a verdict" } else { "" };
            return format!(
                "{said}. Whether they stand together cannot be told here: Holm's correction for {all} takes {} or \
                 more{shown}.",
                units::plural(self.blocks_min as usize, "block")
            );
        }
        let shown = if self.corrected { "; only these are shown as verdicts" } else { "" };
        let over =
            if self.in_run > self.comparisons { format!(" for {all}") } else { String::new() };
        format!("{said}; {holm} of them stand together after Holm's correction{over}{shown}.")
    }
}
