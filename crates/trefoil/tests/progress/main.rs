//! An adversary for each line of the page `trefoil::progress`.
//!
//! What is measured is polls, as the runtime counts them, and events that come
//! at all. Nothing passes or fails by a time, but for a watchdog.

mod blocking;
mod bounds;
mod busy_worker;
mod current_thread;
mod floods;
mod forks;
mod queues;
mod rig;
mod slots;
mod threads;
