//! Ranks, ratios and totals of a fixture.

use palio::contender::Kind;
use palio::record::Outcome;
use palio::report::model::*;
use palio::workload::Model;

/// Fills in ranks, ratios, verdicts and the noise floor, and brings the entries in order.
pub(super) fn rank(race: &mut Race, reference: Option<String>, is_bounded: bool) {
    let floor = is_bounded.then_some(1.018);
    let ran: Vec<(String, Vec<f64>)> = race
        .entries
        .iter()
        .filter(|entry| entry.outcome == Outcome::Ok)
        .map(|entry| (entry.contender.clone(), medians(entry)))
        .collect();
    let find = |id: &str| ran.iter().position(|(other, _)| other == id);
    let versus = |a: usize, b: usize| {
        if a == b {
            Interval { point: 1.0, lo: Some(1.0), hi: Some(1.0) }
        } else {
            interval(&ran[a].1, &ran[b].1, is_bounded)
        }
    };
    let all: Vec<Vec<Interval>> =
        (0..ran.len()).map(|a| (0..ran.len()).map(|b| versus(a, b)).collect()).collect();
    // A baseline is compared, but neither ranked nor the best.
    let is_ranked = |a: usize| {
        let entry = race.entries.iter().find(|entry| entry.contender == ran[a].0);
        entry.is_some_and(|entry| entry.kind != Kind::Baseline)
    };
    let field: Vec<usize> = (0..ran.len()).filter(|&a| is_ranked(a)).collect();
    let best = field
        .iter()
        .copied()
        .min_by_key(|&a| field.iter().filter(|&&b| all[a][b].point > 1.0).count());
    let against = reference.as_deref().and_then(find);
    for entry in &mut race.entries {
        let Some(me) = find(&entry.contender).filter(|_| entry.outcome == Outcome::Ok) else {
            continue;
        };
        let is_faster = |i: &Interval| i.hi.is_some_and(|hi| hi < 1.0 / 1.018);
        let faster = field.iter().filter(|&&other| is_faster(&all[other][me])).count() as u32;
        let slower = field.iter().filter(|&&other| is_faster(&all[me][other])).count() as u32;
        entry.rank = field.contains(&me).then(|| [1 + faster, field.len() as u32 - slower]);
        entry.ratio_to_best = best.map(|best| all[me][best]);
        entry.ratio_to_reference = against.map(|reference| {
            let i = all[me][reference];
            let (lo, hi) = (i.lo.unwrap_or(0.0), i.hi.unwrap_or(f64::INFINITY));
            let verdict = match () {
                () if me == reference => VerdictWord::Reference,
                () if hi < 1.0 / 1.018 => VerdictWord::Faster,
                () if lo > 1.018 => VerdictWord::Slower,
                () if lo > 0.95 && hi < 1.05 => VerdictWord::Equivalent,
                () => VerdictWord::Inconclusive,
            };
            Verdict { point: i.point, lo: i.lo, hi: i.hi, verdict, p: None, holm: None, blocks: 5 }
        });
    }
    race.noise_floor = against.map(|_| NoiseFloor {
        ratio: floor,
        shadow: Interval { point: 1.004, lo: is_bounded.then_some(0.991), hi: floor },
    });
    race.reference = reference;
    race.entries.sort_by(|a, b| {
        let key =
            |entry: &Entry| (entry.outcome, entry.ratio_to_best.map_or(f64::INFINITY, |i| i.point));
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
}

fn interval(a: &[f64], b: &[f64], is_bounded: bool) -> Interval {
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let half = 2.2 * (variance / n).sqrt();
    let round = |x: f64| (x.exp() * 1e5).round() / 1e5;
    let bound = |x: f64| is_bounded.then(|| round(x));
    Interval { point: round(mean), lo: bound(mean - half), hi: bound(mean + half) }
}

fn medians(entry: &Entry) -> Vec<f64> {
    let blocks = entry.sample_block.iter().copied().max().map_or(0, |last| last + 1);
    let of = |block| {
        let samples = entry.sample_ns.iter().zip(&entry.sample_block);
        let samples = samples.filter(|(_, b)| **b == block).map(|(ns, _)| *ns);
        let sorted = sorted(&samples.collect::<Vec<_>>());
        sorted[sorted.len() / 2]
    };
    (0..blocks).map(of).collect()
}

pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// For each model, as the product does it: listed are those that completed at least half of its
/// races.
pub(super) fn totals(report: &Report) -> Vec<Total> {
    let mut models: Vec<Model> = report.races.iter().map(|race| race.model).collect();
    models.sort_unstable();
    models.dedup();
    models.into_iter().flat_map(|model| totals_of(report, model)).collect()
}

fn totals_of(report: &Report, model: Model) -> Vec<Total> {
    let races: Vec<&Race> = report.races.iter().filter(|race| race.model == model).collect();
    let ratio = |race: &Race, id: &str| {
        let entry = race.entries.iter().find(|e| e.contender == id && e.kind != Kind::Baseline);
        entry.and_then(|e| e.ratio_to_best).map(|i| i.point)
    };
    let completed = |id: &str| races.iter().filter(|race| ratio(race, id).is_some()).count();
    let ids: Vec<&str> = report.contenders.iter().map(|c| c.id.as_str()).collect();
    let listed: Vec<&str> =
        ids.iter().copied().filter(|id| completed(id) * 2 >= races.len()).collect();
    let common: Vec<&&Race> =
        races.iter().filter(|race| listed.iter().all(|id| ratio(race, id).is_some())).collect();
    let n = common.len() as f64;
    let mut totals: Vec<Total> = ids
        .iter()
        .filter(|id| completed(id) > 0)
        .map(|id| {
            let is_in = listed.contains(id) && !common.is_empty();
            let ratios = || common.iter().map(|race| ratio(race, id).unwrap());
            let round = |x: f64| (x * 1e5).round() / 1e5;
            Total {
                contender: (*id).to_owned(),
                model,
                capped: false,
                geomean_ratio: is_in.then(|| round((ratios().map(f64::ln).sum::<f64>() / n).exp())),
                mean_ratio: is_in.then(|| round(ratios().sum::<f64>() / n)),
                completed: completed(id) as u32,
                of: races.len() as u32,
                common: common.len() as u32,
            }
        })
        .collect();
    totals.sort_by(|a, b| {
        let key = |t: &Total| t.geomean_ratio.unwrap_or(f64::INFINITY);
        key(a).total_cmp(&key(b)).then(b.completed.cmp(&a.completed))
    });
    totals
}
