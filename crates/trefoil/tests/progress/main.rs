//! An adversary for each line of the page `trefoil::progress`.
//!
//! The tests count polls, as the runtime does, or wait for events. No test passes or fails by a
//! time, except by a watchdog.

mod blocking;
mod bounds;
mod busy_worker;
mod current_thread;
#[cfg(feature = "net")]
mod events;
mod floods;
mod forks;
mod odd_loads;
mod order;
mod queues;
mod rig;
mod slots;
mod stand_in;
mod threads;
