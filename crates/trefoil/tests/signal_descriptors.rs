//! The descriptors of signals, which no other test in this process opens or closes meanwhile.
#![cfg(all(feature = "signal", target_os = "linux"))]

mod support;

use support::watch::wait_for;
use support::{current_and_multi, current_thread};
use trefoil::signal::unix::{SignalKind, signal};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A runtime keeps one pair for each kind, however often listeners come and go, and gives all of
/// them back when it ends, although its handles live on.
#[test]
fn a_runtime_keeps_a_pair_for_each_kind_and_gives_it_back() {
    let kinds = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGHUP].map(SignalKind::from_raw);
    // What the process itself keeps, such as the random numbers of its maps.
    drop(current_thread());
    let before = descriptors();
    let mut handles = Vec::new();
    for runtime in current_and_multi([1, 2]) {
        let listen = || kinds.map(|kind| signal(kind).unwrap());
        let guard = runtime.enter();
        drop(listen());
        let with_signals = descriptors();
        // The sockets, and those of the driver.
        assert!(with_signals >= before + 2 * kinds.len());
        for _ in 0..100 {
            drop((listen(), listen()));
        }
        assert_eq!(descriptors(), with_signals);
        drop(guard);
        handles.push(runtime.handle().clone());
        drop(runtime);
        assert_eq!(descriptors(), with_signals - 2 * kinds.len());
    }
    drop(handles);
    // The driver's own go with whoever leaves last: a thread that ends may still be at it.
    wait_for("the descriptors of the drivers", || descriptors() == before);
}
