//! mio by hand: one epoll a thread, and no runtime. The floor of what the rows about sockets cost.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod connection;
mod ping_pong;
mod worker;

fn main() -> ExitCode {
    contender_main::serve! {
        runtime: "mio",
        threads_max: usize::MAX,
        workloads: &[("tcp_ping_pong", ping_pong::prepare)],
    }
}
