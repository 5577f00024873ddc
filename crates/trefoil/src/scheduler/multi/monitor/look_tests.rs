//! What a look passes on, without the thread that looks.

use super::*;
use crate::scheduler::Scheduler;
use crate::scheduler::multi::worker::without_monitor;
use std::sync::mpsc;

const WATCHDOG: Duration = Duration::from_secs(30);

/// "If no other worker has time …: 33 + *p*/1024 periods, to the back of the shared queue":
/// `progress.md`. A look is a period.
#[test]
fn the_ring_of_a_worker_in_a_long_poll_is_passed_on_at_the_thirty_third_look() {
    const QUEUED: usize = 10;
    let runtime = without_monitor(2);
    let Scheduler::Multi(shared) = &runtime.handle().scheduler else { unreachable!() };
    let (inside, is_inside) = mpsc::channel();
    let ends = [0, 1].map(|worker| {
        let (inside, (end, may_end)) = (inside.clone(), mpsc::channel::<()>());
        drop(runtime.spawn_pinned(worker, async move {
            inside.send(()).unwrap();
            let _ = may_end.recv();
            if worker == 0 {
                // The last one stays in the slot.
                (0..=QUEUED).for_each(|_| drop(crate::spawn(async {})));
                inside.send(()).unwrap();
                let _ = may_end.recv();
            }
        }));
        is_inside.recv_timeout(WATCHDOG).expect("a long poll");
        end
    });
    // Only when the other is in its poll: nobody is there to take them.
    ends[0].send(()).unwrap();
    is_inside.recv_timeout(WATCHDOG).expect("tasks in the ring");
    let ring = &shared.remotes[0].ring;
    assert_eq!((ring.len(), shared.injector.len()), (QUEUED, 0));
    let mut seen = Seen::default();
    for look in 0..33 {
        assert_eq!(ring.len(), QUEUED, "the worker may only wait for the system, at look {look}");
        shared.look_at_poll(0, &mut seen);
        assert_eq!(look > 0, shared.remotes[0].lifo.is_empty(), "the slot, at look {look}");
    }
    assert_eq!((ring.len(), shared.injector.len()), (0, QUEUED + 1));
    drop(ends);
}
