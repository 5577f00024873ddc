//! "A thread that joins a task, or is in `block_on`: woken by the worker that
//! completes the task, before that worker's next poll."

use crate::floods::Flood;
use crate::rig::{Event, Rig};
use parking_lot::Mutex;
use std::sync::{Arc, mpsc};
use std::thread;
use trefoil::spawn;
use trefoil::task::spawn_pinned;

/// The wake-up of a thread was once deferred while tasks were queued. If the next poll waits for
/// that thread, this is a deadlock.
#[test]
fn held_wakeup() {
    for workers in [1, 2, 8] {
        let rig = Rig::new(workers);
        for round in 0..50 {
            let mutex = Arc::new(Mutex::new(()));
            let (send, receive) = mpsc::channel();
            let (go, all) = (Event::default(), Event::default());
            let (its, goes) = (mutex.clone(), go.clone());
            drop(rig.handle().spawn_pinned(0, async move {
                // With one worker, the task comes from the ring, and otherwise from the pinned
                // queue.
                let make = |a, b| (spawn_pinned(0, a), spawn_pinned(0, b));
                let first = async move { goes.hold() };
                let second = async move { drop(its.lock()) };
                let both = if round % 2 == 0 && workers == 1 {
                    (spawn(first), spawn(second))
                } else {
                    make(first, second)
                };
                drop(spawn(async {}));
                send.send(both).unwrap();
            }));
            let (first, second) = receive.recv().unwrap();
            let (handle, done) = (rig.handle().clone(), all.clone());
            let locked = Event::default();
            let is_locked = locked.clone();
            let joiner = thread::spawn(move || {
                let guard = mutex.lock();
                is_locked.happens();
                handle.block_on(first).unwrap();
                drop(guard);
                handle.block_on(second).unwrap();
                done.happens();
            });
            locked.wait("the joiner's lock");
            go.happens();
            all.wait("a thread that joins, for which the next poll waits");
            joiner.join().unwrap();
        }
    }
}

/// The same with a load on the worker: the next poll of any task lasts until the thread goes on.
#[test]
fn held() {
    for flood in [Flood::Yielders, Flood::Joiners, Flood::Outside, Flood::JoiningThreads] {
        for workers in [1, 2, 8] {
            let rig = flood.rig(workers);
            for _ in 0..10 {
                let (goes_on, second_done) = (Event::default(), Event::default());
                let (send, receive) = mpsc::channel();
                let (waits, is_done) = (goes_on.clone(), second_done.clone());
                let go = Event::default();
                let goes = go.clone();
                drop(rig.handle().spawn_pinned(0, async move {
                    let first = spawn_pinned(0, async move { goes.hold() });
                    drop(spawn_pinned(0, async move {
                        waits.hold();
                        is_done.happens();
                    }));
                    send.send(first).unwrap();
                }));
                let first = receive.recv().unwrap();
                let (handle, told) = (rig.handle().clone(), goes_on.clone());
                let joiner = thread::spawn(move || {
                    handle.block_on(first).unwrap();
                    told.happens();
                });
                go.happens();
                second_done.wait("a poll that lasts until a thread has joined");
                joiner.join().unwrap();
            }
        }
    }
}

/// Threads in `block_on`, whose futures are woken by tasks while there is a load.
#[test]
fn a_thread_in_block_on() {
    for flood in Flood::ALL {
        for workers in [1, 2] {
            let rig = flood.rig(workers);
            let (handle, done) = (rig.handle().clone(), Event::default());
            let its = done.clone();
            let thread = thread::spawn(move || {
                for _ in 0..5 {
                    let (send, receive) = trefoil::sync::oneshot::channel();
                    let (to_task, from_thread) = trefoil::sync::oneshot::channel();
                    drop(handle.spawn(async move {
                        from_thread.await.unwrap();
                        send.send(5).unwrap();
                    }));
                    to_task.send(()).unwrap();
                    assert_eq!(handle.block_on(receive).unwrap(), 5);
                }
                its.happens();
            });
            done.wait("a thread in block_on");
            thread.join().unwrap();
        }
    }
}
