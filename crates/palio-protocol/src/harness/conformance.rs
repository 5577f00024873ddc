//! The workloads that check a harness rather than a runtime.

use super::{Iteration, Kind, Refusal, Request, Work};
use crate::message::decimal;
use crate::salt::mix;

const PLAIN: &str = "conformance";
/// How a harness summarises events. A name of its own, so that a harness without them can refuse it
/// as it refuses any other workload.
const EVENTS: &str = "conformance/events";
/// How a harness counts forks.
const FORKS: &str = "conformance/forks";
/// How a harness hands on and mixes the salt.
const SALT: &str = "conformance/salt";

/// What prepares the workload `name`, if it is one of these.
pub(super) fn find(name: &str) -> Option<super::Prepare> {
    match name {
        PLAIN | EVENTS | FORKS => Some(given),
        SALT => Some(salted),
        _ => None,
    }
}

/// One unit of no work, whose answer is the salt mixed with an index.
fn salted(request: &mut Request) -> Result<Work, Refusal> {
    let (salt, index) = (request.salt, request.param("index")?);
    Ok(Work::new(move || Iteration { answer: mix(salt, index), ops: 1, work: Some(1) }))
}

fn given(request: &mut Request) -> Result<Work, Refusal> {
    let answer = request.param("answer")?;
    let ops = request.param("ops")?;
    let work = match request.param::<String>("work")?.as_str() {
        "-" => None,
        text => Some(
            text.parse()
                .map_err(|_| Refusal::Misuse(format!("--set work={text} has the wrong type")))?,
        ),
    };
    let events_ns = if request.workload == EVENTS {
        let text = request.param::<String>("events")?;
        let events = text.split(',').map(decimal).collect::<Option<Vec<u64>>>();
        events
            .filter(|events| !events.is_empty())
            .ok_or_else(|| Refusal::Misuse(format!("--set events={text} has the wrong type")))?
    } else {
        Vec::new()
    };
    let forks = if request.workload == FORKS {
        let forks = request.param("forks")?;
        if request.counts_forks() { forks } else { 0 }
    } else {
        0
    };
    Ok(Work::of(Kind::Given { answer, ops, work, events_ns, forks }))
}
