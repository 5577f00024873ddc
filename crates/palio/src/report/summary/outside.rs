//! The time of a process outside of all that it was asked for: it starts, and it stops. No clock of
//! a row is on it, so that a contender can do there what it likes, such as start again until its
//! process is a lucky one.
//!
//! The first command waits until the process has started, so that what it took beyond its samples
//! counts as well. A thinned run has no samples of warm-ups, and does not tell.

use crate::record::{CellRecord, InvocationRecord};
use crate::stats::quantile;

/// Less than this is a start, in s: an interpreter or a virtual machine takes a part of it.
const DOUBTFUL_S_MIN: f64 = 1.0;
/// And less than so many times what others take is this machine's pace.
const DOUBTFUL_TIMES: f64 = 10.0;

/// Of the typical process of a cell, in s; `None` where the clock outside was not stored.
pub(super) fn outside_s(cell: &CellRecord) -> Option<f64> {
    let each = cell.raced().map(|invocation| {
        let spans = invocation.spans.iter().map(|span| span.wall_ns);
        let asked_ns = spans.reduce(u64::saturating_add)?;
        let wall_s = invocation.resources.wall_us as f64 / 1e6;
        let start_s = start_ns(invocation).unwrap_or(0) as f64 / 1e9;
        Some((wall_s - asked_ns as f64 / 1e9).max(0.0) + start_s)
    });
    median(each.collect::<Option<Vec<f64>>>()?)
}

/// What the first command took beyond its samples; `None` where they are not all there.
fn start_ns(invocation: &InvocationRecord) -> Option<u64> {
    let first = invocation.spans.first()?;
    let samples = invocation.samples.iter().take(first.samples as usize);
    let claims = samples.filter(|sample| sample.warm_up == first.warm_up).map(|s| s.elapsed_ns);
    let (count, claimed_ns) =
        claims.fold((0, 0_u64), |(count, sum), ns| (count + 1, sum.saturating_add(ns)));
    let is_whole = count == first.samples && invocation.dropped.is_none();
    is_whole.then(|| first.wall_ns.saturating_sub(claimed_ns))
}

/// What a reader must know of `own_s`, beside that of the other contenders of the race: the end of
/// a sentence about the contender.
pub(super) fn doubt(own_s: f64, others_s: Vec<f64>) -> Option<String> {
    let typical_s = median(others_s)?;
    (own_s >= DOUBTFUL_S_MIN && own_s >= DOUBTFUL_TIMES * typical_s).then(|| {
        format!(
            "took {own_s:.1} s of each process for what it was not asked for, before its first sample or after its \
             last (the others typically {typical_s:.2} s)"
        )
    })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(&values, 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_doubtful_where_it_is_long_by_itself_and_beside_the_others() {
        assert_eq!(doubt(0.9, vec![0.01]), None);
        assert_eq!(doubt(3.0, vec![0.01, 0.5, 0.6]), None);
        assert_eq!(doubt(3.0, Vec::new()), None);
        let told = doubt(3.04, vec![0.01, 0.02, 5.0]).unwrap();
        assert!(told.starts_with("took 3.0 s of each process"), "{told}");
        assert!(told.ends_with("(the others typically 0.02 s)"), "{told}");
    }
}
