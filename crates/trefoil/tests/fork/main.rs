//! `trefoil::fork_join`, one module for each of its nouns: all in one program, which links the
//! runtime once. Nothing here limits or counts what the process has; such tests are programs of
//! their own.

mod install_here;
mod join;
mod many;
mod panics;
mod scope;
mod unrelated;

#[path = "../support/mod.rs"]
mod support;
