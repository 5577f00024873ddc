//! How much is to be done.

use palio_protocol::harness::{Refusal, Request};
use palio_protocol::open_files;

/// The parameters of `tcp_ping_pong`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub connections: u32,
    pub round_trips: u64,
}

/// What a process has open beside its connections: the standard streams, the listener, and what a
/// runtime needs for itself, such as an epoll and an eventfd a thread.
const BESIDE_CONNECTIONS: u64 = 64;

impl Plan {
    /// Takes the parameters, and makes room for both ends of every connection.
    ///
    /// # Errors
    /// A parameter is wrong, or this process may not have so many files open.
    pub fn of(request: &mut Request) -> Result<Self, Refusal> {
        let plan = Self {
            connections: request.param("connections")?,
            round_trips: request.param("round_trips")?,
        };
        open_files::make_room(2 * u64::from(plan.connections) + BESIDE_CONNECTIONS)?;
        Ok(plan)
    }
}
