//! Numbers for people: three significant digits and a unit, the same in every format.

/// What stands where there is no number. Never a zero.
pub(super) const NONE: &str = "–";

/// A time such as `94.3 µs`.
pub(super) fn time(ns: f64) -> String {
    if !ns.is_finite() {
        return NONE.into();
    }
    // Nothing takes no time.
    if ns > 0.0 && ns < 0.005 {
        return "under 0.01 ns".into();
    }
    // Each limit is where three digits would round up to the next unit's 1.00.
    let (value, unit) = match ns.abs() {
        x if x < 999.5 => (ns, "ns"),
        x if x < 999.5e3 => (ns / 1e3, "µs"),
        x if x < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A ratio such as `1.24`, `12.4`, `124` or `0.024`.
pub(super) fn ratio(x: f64) -> String {
    match x {
        x if !x.is_finite() => NONE.into(),
        x if x > 0.0 && x < 0.0005 => "under 0.001".into(),
        x if x.abs() < 0.0995 => format!("{x:.3}"),
        x => three_digits(x),
    }
}

/// The limits of an interval such as `[1.20, 1.28]`; a dash on a side that is not bounded.
pub(super) fn limits(lo: Option<f64>, hi: Option<f64>) -> String {
    let side = |x: Option<f64>| x.map_or(NONE.into(), ratio);
    format!("[{}, {}]", side(lo), side(hi))
}

/// A ratio close to 1, where the third decimal matters: `1.004`.
pub(super) fn fine(x: f64) -> String {
    if x > 0.5 && x < 1.9995 { format!("{x:.3}") } else { ratio(x) }
}

/// [`limits`] close to 1.
pub(super) fn fine_limits(lo: Option<f64>, hi: Option<f64>) -> String {
    let side = |x: Option<f64>| x.map_or(NONE.into(), fine);
    format!("[{}, {}]", side(lo), side(hi))
}

/// A factor of at least 1 as a difference: `1.8 %`, or `× 2.31` where percents would mislead.
pub(super) fn factor(x: f64) -> String {
    match x {
        x if !x.is_finite() => NONE.into(),
        x if x < 2.0 => percent((x - 1.0) * 100.0),
        x => format!("× {}", ratio(x)),
    }
}

/// A percentage such as `1.8 %` or `198 %`.
pub(super) fn percent(x: f64) -> String {
    match x {
        x if !x.is_finite() => NONE.into(),
        x if x.abs() < 9.95 => format!("{x:.1} %"),
        x => format!("{x:.0} %"),
    }
}

/// Memory such as `12.3 MiB`.
pub(super) fn kibibytes(kib: u64) -> String {
    let kib = kib as f64;
    match kib {
        x if x < 999.5 => format!("{x:.0} KiB"),
        x if x < 999.5 * 1024.0 => format!("{} MiB", three_digits(x / 1024.0)),
        x => format!("{} GiB", three_digits(x / (1024.0 * 1024.0))),
    }
}

/// A whole number with thousands apart: `317,810`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 race`, `2 races`.
pub(super) fn plural(n: usize, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(n as u64))
}

fn three_digits(x: f64) -> String {
    match x.abs() {
        a if a < 9.995 => format!("{x:.2}"),
        a if a < 99.95 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits_across_units() {
        for (ns, text) in [
            (0.123, "0.12 ns"),
            (0.005, "0.01 ns"),
            (0.0049, "under 0.01 ns"),
            (8.9, "8.90 ns"),
            (94_340.0, "94.3 µs"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (999_700_000.0, "1.00 s"),
            (1.2e12, "1200 s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn ratios_and_limits() {
        assert_eq!(ratio(9.996), "10.0");
        assert_eq!(ratio(281.91), "282");
        assert_eq!(ratio(0.0123), "0.012");
        assert_eq!(ratio(0.0005), "0.001");
        assert_eq!(ratio(0.0004), "under 0.001");
        assert_eq!(limits(Some(1.2), None), "[1.20, –]");
        assert_eq!(factor(1.018), "1.8 %");
        assert_eq!(factor(2.31), "× 2.31");
        assert_eq!(factor(f64::INFINITY), "–");
    }

    #[test]
    fn counts_and_memory() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(4_999_999_950_000_000), "4,999,999,950,000,000");
        assert_eq!(kibibytes(800), "800 KiB");
        assert_eq!(kibibytes(12_595), "12.3 MiB");
        assert_eq!(kibibytes(3 << 20), "3.00 GiB");
    }
}
