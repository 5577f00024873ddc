//! `trefoil::io`, `fs`, and the traits of other crates, one module for each of its nouns: all in
//! one program, which links the runtime once. Nothing here limits or counts what the process has;
//! such tests are programs of their own.

mod budget;
mod cancel;
mod compat_futures_io;
mod compat_hyper;
mod compat_tokio;
mod file;
mod hostile;
mod model;
mod waits;

#[path = "../support/mod.rs"]
mod support;
