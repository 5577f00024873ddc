//! Guards, sets, hooks and CPUs: what is the root's and what is the tasks'.

use crate::rig::{builder, id, id_cell, ms, on, serving, stand_in};
use crate::support::Hasty;
use crate::support::current_thread;
use crate::support::watch::WATCHDOG;
use crate::support::watch::drop_returns;
use crate::support::watch::receive;
use crate::support::watch::workers_sleep;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::thread::ThreadId;
use std::time::Duration;
use std::time::Instant;
use trefoil::runtime::Handle;
use trefoil::spawn;
use trefoil::sync::oneshot;
use trefoil::task::LocalSet;
use trefoil::task::block_in_place;
use trefoil::task::spawn_local;
use trefoil::task::yield_now;
use trefoil::time::sleep;

#[test]
fn local_sets_in_the_root() {
    for workers in [1, 2] {
        let runtime = serving(workers);
        let set = LocalSet::new();
        set.block_on(&runtime, async {
            stand_in().await;
            let local = Rc::new(Cell::new(0));
            let (send, sent) = oneshot::channel::<ThreadId>();
            let its = local.clone();
            let task = spawn_local(async move {
                for _ in 0..100 {
                    its.set(its.get() + spawn(async { 1 }).await.unwrap());
                    yield_now().await;
                }
                sent.await.unwrap()
            });
            let other = spawn(async move {
                // Tasks of the runtime are in no set, wherever they run.
                let outside = catch_unwind(|| drop(spawn_local(async {})));
                assert!(outside.is_err(), "a task has found the root's set");
                sleep(ms(1)).await;
                send.send(id()).unwrap();
            });
            other.await.unwrap();
            task.await.unwrap();
            assert_eq!(local.get(), 100);
        });
        runtime.block_on(async {
            let set = LocalSet::new();
            stand_in().await;
            let output = set.run_until(async { spawn_local(async { 7 }).await.unwrap() }).await;
            assert_eq!(output, 7);
        });
        drop(set);
        workers_sleep(&runtime.metrics());
        drop_returns("the drop of the runtime", runtime);
    }
}

/// Guards that the root holds while it waits have no effect on tasks.
#[test]
fn guards_of_the_root_are_not_those_of_tasks() {
    let other = Arc::new(current_thread());
    for workers in [1, 2] {
        let other = other.clone();
        on(serving(workers), async move |handle| {
            let set = LocalSet::new();
            let of_other = other.enter();
            let of_set = set.enter();
            let start = Instant::now();
            loop {
                assert!(start.elapsed() < WATCHDOG, "no place for the future of `block_on`");
                let its = handle.clone();
                let here = id();
                let is_here = handle
                    .spawn(async move {
                        assert_eq!(Handle::current().id(), its.id());
                        assert!(catch_unwind(|| drop(spawn_local(async {}))).is_err());
                        block_in_place(|| ());
                        id() == here
                    })
                    .await
                    .unwrap();
                assert_eq!(Handle::current().id(), other.handle().id());
                drop(spawn_local(async {}));
                if is_here {
                    break;
                }
            }
            drop(of_set);
            drop(of_other);
            assert_eq!(Handle::current().id(), handle.id());
        });
    }
}

#[test]
fn hooks_come_in_pairs() {
    type Log = Mutex<HashMap<ThreadId, Vec<&'static str>>>;
    let log: Arc<Log> = Arc::default();
    let note = |what| {
        let log = log.clone();
        move || log.lock().entry(id()).or_default().push(what)
    };
    for workers in [1, 2] {
        let runtime = builder(workers)
            .on_thread_start(note("start"))
            .on_thread_stop(note("stop"))
            .on_thread_park(note("park"))
            .on_thread_unpark(note("unpark"))
            .build()
            .unwrap();
        let root = id_cell();
        let its = root.clone();
        on(Hasty(Some(runtime)), async move |_| {
            *its.lock() = Some(id());
            for n in 0..50 {
                spawn(async move {
                    if n % 10 == 0 {
                        block_in_place(|| thread::sleep(ms(1)));
                    }
                })
                .await
                .unwrap();
                sleep(Duration::from_micros(n * 20)).await;
            }
        });
        let root = root.lock().unwrap();
        for (thread, calls) in log.lock().drain() {
            let mut calls = calls.as_slice();
            if thread == root {
                assert!(calls.contains(&"park"), "the root never slept as a worker");
            } else {
                let [start, between @ .., stop] = calls else { panic!("{calls:?}") };
                assert_eq!((*start, *stop), ("start", "stop"));
                calls = between;
            }
            for pair in calls.chunks(2) {
                assert_eq!(pair, ["park", "unpark"], "the root: {}", thread == root);
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_thread_has_the_workers_cpus_meanwhile_and_its_own_afterwards() {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let all = sched_getaffinity(None).unwrap();
    let cpus = Vec::from_iter((0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)));
    let (first, last) = (cpus[0], *cpus.last().unwrap());
    let only = |cpu| {
        let mut set = CpuSet::new();
        set.set(cpu);
        set
    };
    let runtime = Hasty(Some(builder(1).worker_affinity(move |_| [first]).build().unwrap()));
    thread::spawn(move || {
        sched_setaffinity(None, &only(last)).unwrap();
        runtime.block_on(async {
            for _ in 0..3 {
                stand_in().await;
                assert_eq!(sched_getaffinity(None).unwrap(), only(first));
                let its = spawn(async { sched_getaffinity(None).unwrap() }).await.unwrap();
                assert_eq!(its, only(first));
                // The place goes, and another thread is the worker.
                spawn(async move {
                    let (send, sent) = mpsc::channel();
                    drop(spawn(async move {
                        send.send(sched_getaffinity(None).unwrap()).unwrap();
                    }));
                    let others = block_in_place(|| receive("another task", &sent));
                    assert_eq!(others, only(first));
                })
                .await
                .unwrap();
            }
        });
        assert_eq!(sched_getaffinity(None).unwrap(), only(last));
    })
    .join()
    .unwrap();
}
