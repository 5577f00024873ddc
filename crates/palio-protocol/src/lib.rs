//! The contract between Palio and a contender, as `docs/protocol.md` states it.
//!
//! - [`message`] parses and writes every line that crosses the pipe; Palio and the harness share
//!   it, so the two sides cannot drift apart.
//! - [`forks`] counts what is handed to a runtime.
//! - [`open_files`] makes room for sockets, or says why there is none.
//! - [`salt`] mixes the salt of a process into its work.
//! - [`served`] is what a server computes for a request.
//! - [`harness`] is the contender's side for Rust: argument parsing, clock, resource usage and
//!   printing, written once. A contender brings only its workloads.
#![forbid(unsafe_code)]

pub mod distribution;
pub mod forks;
pub mod harness;
pub mod message;
pub mod open_files;
pub mod salt;
pub mod served;

/// The version of the contract that this crate speaks.
pub const PROTOCOL_VERSION: u32 = 2;

/// The sessions that every harness must pass, as TOML; `palio verify` plays them.
pub const VECTORS: &str = include_str!("../vectors/conformance.toml");
