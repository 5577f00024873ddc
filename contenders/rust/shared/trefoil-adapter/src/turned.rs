//! Methods of the builder that are turned for experiments.

use std::num::NonZeroU32;
use std::sync::OnceLock;

use palio_protocol::harness::{Refusal, Request};
use trefoil::runtime::Builder;

pub(crate) const EVENTS: (&str, &str) = ("event_interval", "61");
pub(crate) const SHARED: (&str, &str) = ("global_queue_interval", "61");
/// These two are of workers that search each other's queues, and not of a single thread.
pub(crate) const SEARCH: (&str, &str) = ("search_rounds", "24");
pub(crate) const LIFO: (&str, &str) = ("lifo_slot", "on");

/// What was turned; `None` is left as the runtime has it.
#[derive(Debug, Default)]
struct Turned {
    event_interval: Option<NonZeroU32>,
    global_queue_interval: Option<NonZeroU32>,
    search_rounds: Option<u32>,
    has_no_lifo_slot: bool,
}

static TURNED: OnceLock<Turned> = OnceLock::new();

/// Reads those that a runtime has whose workers search each other's queues, or that of one thread.
pub(crate) fn read(request: &mut Request, is_multi_thread: bool) -> Result<(), Refusal> {
    let mut turned = Turned {
        event_interval: request.knob(EVENTS.0)?,
        global_queue_interval: request.knob(SHARED.0)?,
        ..Turned::default()
    };
    if is_multi_thread {
        turned.search_rounds = request.knob(SEARCH.0)?;
        turned.has_no_lifo_slot = request.is_turned(LIFO.0, [LIFO.1, "off"])?;
    }
    TURNED.set(turned).expect("a process prepares one row");
    Ok(())
}

/// Whether an interval was turned, which nobody may set twice.
pub(crate) fn has_intervals() -> bool {
    let has =
        |turned: &Turned| turned.event_interval.is_some() || turned.global_queue_interval.is_some();
    TURNED.get().is_some_and(has)
}

pub(crate) fn apply(builder: &mut Builder) {
    let Some(turned) = TURNED.get() else { return };
    if let Some(polls) = turned.event_interval {
        builder.event_interval(polls.get());
    }
    if let Some(polls) = turned.global_queue_interval {
        builder.global_queue_interval(polls.get());
    }
    if let Some(rounds) = turned.search_rounds {
        builder.search_rounds(rounds);
    }
    if turned.has_no_lifo_slot {
        builder.disable_lifo_slot();
    }
}
