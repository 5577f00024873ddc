//! `trefoil::actor`, one module for each of its nouns: all in one program, which links the runtime
//! once. Nothing here limits or counts what the process has; such tests are programs of their own.

mod hostile;
mod hostile_children;
mod links;
mod messages;
mod model;
mod storm;
mod supervisor;

#[path = "../support/mod.rs"]
mod support;
