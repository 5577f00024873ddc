//! What `--set` accepts beside the parameters: when a fiber that does not wait lets others run.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use palio_protocol::harness::{Refusal, Request};
use trefoil::runtime::Builder;

pub(crate) const KNOBS: &[(&str, &str)] = &[BUDGET, TIMESLICE];

/// After how many allocations, and calls that may wait, a fiber looks at the clock.
const BUDGET: (&str, &str) = ("budget", "128");
/// How long a fiber may go on then. With `none` it looks at no clock: it lets others run as soon as
/// its budget is used up.
const TIMESLICE: (&str, &str) = ("timeslice", "1ms");

/// What was turned; `None` is left as the runtime has it.
#[derive(Debug)]
struct Turned {
    budget: Option<NonZeroU32>,
    timeslice: Option<Timeslice>,
}

/// A number with its unit, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timeslice(Option<Duration>);

static TURNED: OnceLock<Turned> = OnceLock::new();

impl FromStr for Timeslice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "none" {
            return Ok(Self(None));
        }
        let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let number: u64 = text.strip_suffix(unit).unwrap_or(text).parse().map_err(drop)?;
        let unit = match unit {
            "ns" => Duration::from_nanos,
            "us" => Duration::from_micros,
            "ms" => Duration::from_millis,
            "s" => Duration::from_secs,
            _ => return Err(()),
        };
        Ok(Self(Some(unit(number))))
    }
}

pub(crate) fn read(request: &mut Request) -> Result<(), Refusal> {
    let (budget, timeslice) = (request.knob(BUDGET.0)?, request.knob(TIMESLICE.0)?);
    TURNED.set(Turned { budget, timeslice }).expect("a process prepares one row");
    Ok(())
}

pub(crate) fn apply(builder: &mut Builder) {
    let Some(turned) = TURNED.get() else { return };
    if let Some(budget) = turned.budget {
        builder.fiber_budget(budget.get());
    }
    if let Some(Timeslice(time)) = turned.timeslice {
        builder.fiber_timeslice(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeslice_has_a_unit_or_is_none() {
        let read = |text: &str| text.parse::<Timeslice>().map(|timeslice| timeslice.0);
        assert_eq!(read("none"), Ok(None));
        assert_eq!(read(TIMESLICE.1), Ok(Some(Duration::from_millis(1))));
        assert_eq!(read("250us"), Ok(Some(Duration::from_micros(250))));
        assert_eq!(read("0ns"), Ok(Some(Duration::ZERO)));
        for wrong in ["", "1", "ms", "1 ms", "-1ms", "1.5ms", "1h", "99999999999999999999s"] {
            assert_eq!(read(wrong), Err(()), "{wrong}");
        }
    }
}
