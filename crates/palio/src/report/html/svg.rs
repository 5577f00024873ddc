//! A small drawing board: scales, ticks, dots and labels that do not overlap.
//!
//! Coordinates are rounded to half a pixel at most: finer ones are bytes that nobody sees.

use super::markup::{put, shape};

/// Maps values to pixels by their logarithm.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Log {
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
}

impl Log {
    /// `lo` comes to lie on the pixel `from`, `hi` on `to`; both positive. A range without extent
    /// is widened.
    pub(in crate::report) fn new(lo: f64, hi: f64, from: f64, to: f64) -> Self {
        let (lo, hi) = if hi > lo * 1.001 { (lo, hi) } else { (lo / 1.1, lo * 1.1) };
        Self { lo, hi, from, to }
    }

    pub(in crate::report) fn at(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value / self.lo).ln() / (self.hi / self.lo).ln()
    }

    /// [`at`](Self::at), kept inside the range.
    pub(in crate::report) fn clamped(&self, value: f64) -> f64 {
        self.at(value.clamp(self.lo, self.hi))
    }

    /// Round values in the range: powers of ten, with 2 and 5 or even 1.5 and 3 between where there
    /// are few.
    pub(in crate::report) fn ticks(&self, most: usize) -> Vec<f64> {
        const STEPS: [&[f64]; 4] = [
            &[1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            &[1.0, 2.0, 5.0],
            &[1.0],
        ];
        let (first, last) = (self.lo.log10().floor() as i32, self.hi.log10().ceil() as i32);
        let within = |x: &f64| *x >= self.lo * 0.999 && *x <= self.hi * 1.001;
        let mut all = Vec::new();
        for steps in STEPS {
            let decades = (first..=last).flat_map(|e| steps.iter().map(move |s| decimal(*s, e)));
            all = decades.filter(within).collect::<Vec<f64>>();
            if all.len() <= most {
                return all;
            }
        }
        // Many decades: every second, third, … power of ten.
        let every = all.len().div_ceil(most);
        all.into_iter().step_by(every).collect()
    }
}

/// `digits`, which has two at most, times a power of ten. From a whole number there is one rounding
/// alone, so that it is printed as it is written: 7.0 times 0.1 would be 0.7000000000000001.
fn decimal(digits: f64, power: i32) -> f64 {
    let (whole, power) = ((digits * 10.0).round(), power - 1);
    let factor = 10f64.powi(power.abs());
    if power < 0 { whole / factor } else { whole * factor }
}

/// Maps values to pixels in proportion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
}

impl Linear {
    pub(super) fn new(lo: f64, hi: f64, from: f64, to: f64) -> Self {
        let (lo, hi) = if hi > lo { (lo, hi) } else { (lo * 0.99, lo * 1.01 + f64::MIN_POSITIVE) };
        Self { lo, hi, from, to }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value - self.lo) / (self.hi - self.lo)
    }

    /// About `most` round values in the range, never more.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let raw = (self.hi - self.lo) / most as f64;
        let power = 10f64.powf(raw.log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * power).into_iter().find(|step| *step >= raw);
        let step = step.unwrap_or(power * 10.0);
        let first = (self.lo / step).ceil() as i64;
        let last = (self.hi / step).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// Text positions moved apart so that neighbours keep `gap` pixels, staying near where they want to
/// be.
pub(super) fn spread_out(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = wanted.to_vec();
    // Down from the top, then up from the bottom: what does not fit below is pushed above.
    let mut limit = top;
    for &i in &order {
        placed[i] = placed[i].max(limit);
        limit = placed[i] + gap;
    }
    let mut limit = bottom;
    for &i in order.iter().rev() {
        placed[i] = placed[i].min(limit);
        limit = placed[i] - gap;
    }
    placed
}

/// A pixel position as short as it can be written: whole or half.
pub(super) fn px(x: f64) -> String {
    let half = (x * 2.0).round() / 2.0;
    // A minus zero would be two bytes for nothing.
    format!("{}", half + 0.0)
}

/// A contender's mark, in its shape.
pub(super) fn mark(out: &mut String, hue: usize, x: f64, y: f64, r: f64) {
    let (x, y) = (px(x), px(y));
    match shape(hue) {
        0 => put!(out, "<circle cx={x} cy={y} r={r} />"),
        1 => put!(out, "<path d=\"M{x} {y}m-{r}-{r}h{w}v{w}h-{w}z\"/>", w = 2.0 * r),
        2 => put!(out, "<path d=\"M{x} {y}m0-{d}l{d} {d}l-{d} {d}l-{d}-{d}z\"/>", d = px(r * 1.3)),
        _ => put!(
            out,
            "<path d=\"M{x} {y}m0-{d}l{d} {h}h-{w}z\"/>",
            d = px(r * 1.3),
            h = px(r * 2.2),
            w = px(r * 1.3 * 2.0)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_map_to_equal_steps() {
        let scale = Log::new(1.0, 100.0, 0.0, 200.0);
        assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(scale.clamped(1e6), 200.0);
        assert_eq!(scale.ticks(7), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(Log::new(1.0, 1e9, 0.0, 1.0).ticks(5).len(), 5);
        assert!(Log::new(3.0, 3.0, 0.0, 1.0).at(3.0).is_finite());
    }

    #[test]
    fn ticks_are_printed_with_two_digits() {
        for power in -9..=12 {
            let lo = 10f64.powi(power);
            for most in [3, 6, 8] {
                for tick in Log::new(lo * 0.9, lo * 9.0, 0.0, 1.0).ticks(most) {
                    let text = tick.to_string();
                    assert!(text.trim_matches(['0', '.']).len() <= 3, "{text}");
                }
            }
        }
        assert_eq!(Log::new(0.29, 1.1, 0.0, 1.0).ticks(6), [0.3, 0.4, 0.5, 0.7, 1.0]);
    }

    #[test]
    fn ticks_are_round_and_in_range() {
        let ticks = Linear::new(12.1, 13.9, 0.0, 1.0).ticks(4);
        assert_eq!(ticks, [12.5, 13.0, 13.5]);
        assert!(Linear::new(5.0, 5.0, 0.0, 1.0).at(5.0).is_finite());
    }

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        let placed = spread_out(&[50.0, 10.0, 12.0, 11.0], 10.0, 0.0, 60.0);
        assert_eq!(placed, [50.0, 10.0, 30.0, 20.0]);
        let crowded = spread_out(&[59.0, 58.0], 10.0, 0.0, 60.0);
        assert_eq!(crowded, [60.0, 50.0]);
    }
}
