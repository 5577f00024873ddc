//! A thief that is given no time while it steals: the slots that it has claimed stay
//! in use, and so the ring of its victim is full long before it holds that many tasks.

use super::*;
use crate::runtime::Builder;
use crate::scheduler::Scheduler;
use crate::task::Schedule;
use std::sync::mpsc;

const WATCHDOG: Duration = Duration::from_secs(30);

/// How many polls it takes until every slot of the largest ring is in use.
const POLLS: usize = (1 << 16) + 100;

/// Tasks from outside are taken in batches, and none of them is lost.
#[test]
fn tasks_from_outside_come_while_a_thief_lags() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let Scheduler::Multi(shared) = &runtime.handle().scheduler else { unreachable!() };
    let (held, is_held) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    // The other worker is in a long poll. It neither steals nor takes tasks from outside.
    drop(runtime.spawn_pinned(1, async move {
        held.send(()).unwrap();
        let _ = is_released.recv();
    }));
    is_held.recv_timeout(WATCHDOG).expect("a worker is held");
    let (stole, has_stolen) = mpsc::channel();
    let (end, has_ended) = mpsc::channel();
    let its = Arc::clone(shared);
    drop(runtime.spawn_pinned(0, async move {
        // One of them is in the ring when the other is in the LIFO slot.
        drop(crate::spawn(async move { end.send(()).unwrap() }));
        drop(crate::spawn(async {}));
        stole.send(its.remotes[0].ring.begin_to_steal()).unwrap();
    }));
    let thief = has_stolen.recv_timeout(WATCHDOG).expect("a theft that is tried");
    let thief = thief.expect("a task that can be stolen");
    assert_eq!(thief.count, 1, "nothing was tested");
    let (ready, is_ready) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    drop(runtime.spawn(async move {
        for _ in 0..POLLS {
            crate::task::yield_now().await;
        }
        ready.send(()).unwrap();
        let _ = may_go.recv();
    }));
    is_ready.recv_timeout(WATCHDOG).expect("a task that yields");
    let (run, has_run) = mpsc::channel();
    for number in 0..100 {
        let run = run.clone();
        drop(runtime.spawn(async move { run.send(number).unwrap() }));
    }
    drop(go);
    for expected in 0..100 {
        assert_eq!(has_run.recv_timeout(WATCHDOG), Ok(expected));
    }
    drop(release);
    // The thief goes on, and its task runs as any other that comes from another thread.
    for task in thief.go_on(&shared.remotes[0].ring) {
        // SAFETY: the runtime is here, and so is its scheduler.
        unsafe { <Shared as Schedule>::deliver(Arc::as_ptr(shared), task) }.expect("a queue");
    }
    has_ended.recv_timeout(WATCHDOG).expect("what was stolen has run");
}
