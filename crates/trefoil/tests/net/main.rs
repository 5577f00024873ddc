//! `trefoil::net`, one module for each of its nouns: all in one program, which links the runtime
//! once. Nothing here limits or counts what the process has; such tests are programs of their own.

mod datagrams;
mod errors;
mod rig;
mod runtime;
mod tcp;
mod unix;
mod unix_pipe;
mod yields_and_others;

#[path = "../support/mod.rs"]
mod support;
