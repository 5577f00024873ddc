//! Methods of the builder that are turned by number.

use std::num::NonZeroU32;
use std::sync::OnceLock;

use palio_protocol::harness::{Refusal, Request};
use tokio::runtime::Builder;

pub(crate) const EVENTS: (&str, &str) = ("event_interval", "61");
/// By default every 31 polls on one thread, and as the time of polls suggests on several.
pub(crate) const SHARED: (&str, &str) = ("global_queue_interval", "auto");
pub(crate) const BLOCKING: (&str, &str) = ("max_blocking_threads", "512");

/// What was turned; `None` is left as tokio has it.
#[derive(Debug)]
struct Turned {
    event_interval: Option<NonZeroU32>,
    global_queue_interval: Option<NonZeroU32>,
    max_blocking_threads: Option<NonZeroU32>,
}

static TURNED: OnceLock<Turned> = OnceLock::new();

pub(crate) fn read(request: &mut Request) -> Result<(), Refusal> {
    let turned = Turned {
        event_interval: request.knob(EVENTS.0)?,
        global_queue_interval: match request.knob::<String>(SHARED.0)? {
            Some(text) if text != SHARED.1 => Some(text.parse().map_err(|_| {
                let (key, auto) = SHARED;
                Refusal::Misuse(format!("--set {key}={text} is neither {auto} nor a number from 1"))
            })?),
            _ => None,
        },
        max_blocking_threads: request.knob(BLOCKING.0)?,
    };
    TURNED.set(turned).expect("a process prepares one row");
    Ok(())
}

pub(crate) fn apply(builder: &mut Builder) {
    let Some(turned) = TURNED.get() else { return };
    if let Some(polls) = turned.event_interval {
        builder.event_interval(polls.get());
    }
    if let Some(polls) = turned.global_queue_interval {
        builder.global_queue_interval(polls.get());
    }
    if let Some(threads) = turned.max_blocking_threads {
        builder.max_blocking_threads(threads.get() as usize);
    }
}
