//! `trefoil::sync`, one module for each of its nouns: all in one program, which links the runtime
//! once. Nothing here counts threads, allocations or what the process has; such tests are programs
//! of their own.

mod broadcast;
mod hostile_wakers;
mod locks;
mod mpmc;
mod mpmc_select;
mod mpsc;
mod mpsc_bounded;
mod mpsc_model;
mod notify;
mod once;
mod oneshot;
mod semaphore;
mod semaphore_neighbours;
mod wakers;
mod watch;

#[path = "../support/panic_hook.rs"]
mod panic_hook;
#[path = "../support/polled.rs"]
mod polled;
#[path = "../support/polls.rs"]
mod polls;
#[path = "../support/mod.rs"]
mod support;
