//! Latency against load: a panel for each percentile, a curve for each contender.

use super::markup::{esc, put, workload};
use super::scaling::{Axis, Curve, draw};
use crate::report::latency::{family, sweeps};
use crate::report::view::View;

/// The panels that stand in the section of this name.
pub(super) fn write(out: &mut String, view: &View<'_>) {
    let races = &view.report.races;
    for sweep in sweeps(races).iter().filter(|sweep| sweep.len() > 1) {
        let first = &races[sweep[0].1];
        out.push_str("<div class=panels>\n");
        for (panel, name) in ["p50", "p99", "p99.9", "p99.99"].into_iter().enumerate() {
            let curves: Vec<Curve<'_>> = view
                .contenders
                .iter()
                .enumerate()
                .map(|(column, name)| {
                    let point = |&(load, race): &(u64, usize)| {
                        let latency = view.grid[race][column]?.latency.as_ref()?;
                        Some((u32::try_from(load).ok()?, latency.drawn()[panel].1?))
                    };
                    let points = sweep.iter().filter_map(point).collect();
                    Curve { column, hue: view.hue(column), name, points }
                })
                .filter(|curve| !curve.points.is_empty())
                .collect();
            if curves.is_empty() {
                continue;
            }
            put!(
                out,
                "<figure><figcaption><b>{name}</b> <small>{}, {}</small></figcaption>",
                workload(family(first)),
                esc(&first.conditions_text())
            );
            let mut loads: Vec<u32> =
                curves.iter().flat_map(|curve| &curve.points).map(|(load, _)| *load).collect();
            loads.sort_unstable();
            loads.dedup();
            let axis =
                Axis { at: &loads, name: "requests a second", text: thousands, ideal: false };
            draw(out, &curves, &axis);
            out.push_str("</figure>\n");
        }
        out.push_str("</div>\n");
    }
}

fn thousands(number: u32) -> String {
    if number < 1_000 { number.to_string() } else { format!("{}k", (number + 500) / 1_000) }
}
