//! Numbers as the programs write them whose output the documents show.

/// What stands where there is no number.
pub(super) const NONE: &str = "—";

/// A time with its unit, as criterion writes it: `94.340 µs`, `1.1100 ms`.
pub(super) fn criterion(ns: f64, micro: &str) -> String {
    let (value, unit) = match ns {
        x if x < 1e3 => (ns, "ns"),
        x if x < 1e6 => (ns / 1e3, micro),
        x if x < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = match value {
        x if x < 10.0 => 4,
        x if x < 100.0 => 3,
        x if x < 1000.0 => 2,
        _ => 1,
    };
    format!("{value:.digits$} {unit}")
}

/// A whole number with a mark between its thousands.
pub(super) fn grouped(digits: &str, mark: char) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

/// Nanoseconds as in the document of Go's benchmarks, whose points group thousands: `8.902`.
pub(super) fn go_ns(ns: f64) -> String {
    grouped(&format!("{ns:.0}"), '.')
}

/// Nanoseconds as Rust's test harness writes them: `1,263`.
pub(super) fn libtest_ns(ns: f64) -> String {
    grouped(&format!("{ns:.0}"), ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_criterions_digits() {
        for (ns, text) in [
            (16.293, "16.293 ns"),
            (94_340.0, "94.340 µs"),
            (353_300.0, "353.30 µs"),
            (1_110_000.0, "1.1100 ms"),
            (31_277_000.0, "31.277 ms"),
            (2.5e9, "2.5000 s"),
            (1.5e12, "1500.0 s"),
        ] {
            assert_eq!(criterion(ns, "µs"), text);
        }
        assert_eq!(criterion(18_856.0, "us"), "18.856 us");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(go_ns(8902.4), "8.902");
        assert_eq!(go_ns(11_841_428.0), "11.841.428");
        assert_eq!(go_ns(99.0), "99");
        assert_eq!(libtest_ns(1263.0), "1,263");
    }
}
