//! Whom a push wakes in the middle of a poll, where no monitor makes up for it.

use super::*;
use crate::scheduler::Scheduler;
use std::sync::mpsc;

const WATCHDOG: Duration = Duration::from_secs(30);

/// The poll that spawns them goes on until the one that was displaced from the LIFO slot has run.
#[test]
fn a_sleeper_is_woken_for_the_task_that_leaves_the_slot() {
    let runtime = without_monitor(2);
    let Scheduler::Multi(shared) = &runtime.handle().scheduler else { unreachable!() };
    let its = Arc::clone(shared);
    let (end, has_ended) = mpsc::channel();
    drop(runtime.spawn_pinned(0, async move {
        let start = Instant::now();
        while !its.remotes[1].parker.is_parked() && start.elapsed() < WATCHDOG {
            std::thread::yield_now();
        }
        let (run, has_run) = mpsc::channel();
        drop(crate::spawn(async move { run.send(()).unwrap_or(()) }));
        drop(crate::spawn(async {}));
        end.send(has_run.recv_timeout(WATCHDOG)).unwrap();
    }));
    assert_eq!(has_ended.recv_timeout(3 * WATCHDOG), Ok(Ok(())), "nobody has come for it");
}
