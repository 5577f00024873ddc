//! `trefoil::time`, one module for each of its nouns: all in one program, which links the runtime
//! once. Nothing here limits or counts what the process has; such tests are programs of their own.

mod after_shutdown;
mod interval;
mod of_block_on;
mod paused;
mod sleep;

#[path = "../support/panic_hook.rs"]
mod panic_hook;
#[path = "../support/mod.rs"]
mod support;
