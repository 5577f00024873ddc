//! Tasks, and the runtimes that run them, one module for each of its nouns: all in one program,
//! which links the runtime once. Nothing here limits or counts what the process has; such tests are
//! programs of their own.

mod abort_and_panic;
mod blocking;
mod builder;
mod coop;
mod guards;
mod hooks;
mod hostile;
mod join_set;
mod local;
mod macros;
mod nested_block_on;
mod shutdown;
mod spawn;
mod task_locals;
mod unhandled_panic;
mod unstarted;
mod worker_index;

#[path = "../support/polls.rs"]
mod polls;
#[path = "../support/mod.rs"]
mod support;
