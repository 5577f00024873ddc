//! `trefoil::fiber`, one module for each of its nouns: all in one program, which links the runtime
//! once. Nothing here limits or counts what the process has; such tests are programs of their own.

mod aborts;
mod actors;
mod blocking;
mod closures;
mod deques;
mod forks;
mod handover;
mod hosts;
mod in_place;
mod locals;
mod scope;
mod spawn;
mod storm;
mod taken;
mod turns;
mod unwound;

#[path = "../support/mod.rs"]
mod support;
