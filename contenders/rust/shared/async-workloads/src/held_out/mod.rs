//! The suite `held-out`: rows that no runtime was tuned by before they were first raced.

mod broadcast;
mod deadlines;
mod phases;
mod pipeline;
mod requests;
mod unbalanced_tree;

use palio_protocol::harness::Prepare;
use palio_protocol::salt::mix;

pub(crate) use deadlines::Deadline;

use crate::{AsyncRuntime, Channels};

pub(crate) fn rows<R: AsyncRuntime, C: Channels>() -> [(&'static str, Prepare); 6] {
    [
        ("held_out/unbalanced_tree", unbalanced_tree::prepare::<R>),
        ("held_out/phases", phases::prepare::<R>),
        ("held_out/pipeline", pipeline::prepare::<R, C>),
        ("held_out/broadcast", broadcast::prepare::<R, C>),
        ("held_out/deadlines", deadlines::prepare::<R>),
        ("held_out/requests", requests::prepare::<R, C>),
    ]
}

/// Work of so many steps, none of which can start before the one before it has ended.
fn grind(value: u64, key: u64, steps: u32) -> u64 {
    (0..steps).fold(value, |value, _| mix(value, key))
}
