//! All that is asked of smarm, in its own words; README.md says which of them its document has.

use std::sync::mpsc as std_mpsc;

use palio_protocol::harness::{Iteration, Work};
use smarm::runtime::Config;
use smarm::{JoinHandle, Runtime};
pub(crate) use smarm::{channel, sleep, spawn, yield_now};

/// Joins an actor that does not panic.
pub(crate) fn join<T>(handle: JoinHandle<T>) -> T {
    let Ok(returned) = handle.join() else { panic!("an actor has panicked") };
    returned
}

/// Scope `cold`: every iteration starts a runtime of so many schedulers, runs `root` as its first
/// actor, and stops the runtime.
pub(crate) fn cold<T>(threads: usize, root: impl Fn() -> T + Copy + Send + 'static) -> Work
where
    T: Into<Iteration> + Send + 'static,
{
    Work::new(move || {
        let (done, ended) = std_mpsc::sync_channel(1);
        Runtime::new(Config::exact(threads)).run(move || {
            done.send(root()).expect("the sampling thread waits");
        });
        ended.recv().expect("the root ends").into()
    })
}
