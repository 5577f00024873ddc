//! Some of the differences that `fork_join::from_rayon` lists, tested on both libraries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use trefoil::runtime::{Builder, Runtime};

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).build().unwrap()
}

#[test]
fn what_a_thread_does_while_it_is_in_another_pool() {
    let ran = Arc::new(AtomicBool::new(false));
    let its = Arc::clone(&ran);
    let (a, b) = (pool(1), pool(1));
    a.install(|| {
        a.spawn(move || its.store(true, SeqCst));
        b.install(|| {
            while !ran.load(SeqCst) {
                thread::yield_now();
            }
        });
    });

    let ran = Arc::new(AtomicBool::new(false));
    let its = Arc::clone(&ran);
    let (a, b) = (runtime(1), runtime(1));
    a.install(|| {
        drop(a.spawn(async move { its.store(true, SeqCst) }));
        b.install(|| assert!(!ran.load(SeqCst)));
        assert!(!ran.load(SeqCst));
    });
}

#[test]
fn the_end_of_a_pool_and_of_a_runtime() {
    // Jobs that are left in a pool run, and nobody waits for them.
    let (sender, receiver) = std::sync::mpsc::channel();
    let pool = pool(1);
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    pool.spawn(move || may_go.recv().unwrap());
    pool.spawn(move || sender.send(()).unwrap());
    drop(pool);
    go.send(()).unwrap();
    receiver.recv().unwrap();

    // Tasks that are left in a runtime are dropped, and the drop of the runtime waits for it.
    let runtime = runtime(1);
    let ended = Arc::new(AtomicBool::new(false));
    let (its, kept) = (Arc::clone(&ended), Arc::new(()));
    let (start, started) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        start.send(()).unwrap();
        (0..1000).for_each(|_| thread::yield_now());
        its.store(true, SeqCst);
    });
    started.recv().unwrap();
    let left = Arc::clone(&kept);
    runtime.spawn(async move {
        std::future::pending::<()>().await;
        drop(left);
    });
    drop(runtime);
    assert!(ended.load(SeqCst));
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
fn a_runtime_that_is_over_leaves_forks_to_their_caller() {
    let runtime = runtime(2);
    let handle = runtime.handle().clone();
    drop(runtime);
    let here = thread::current().id();
    assert_eq!(handle.install(|| thread::current().id()), here);
    let _guard = handle.enter();
    let places = trefoil::fork_join::join(|| thread::current().id(), || thread::current().id());
    assert_eq!(places, (here, here));
}

#[test]
fn a_runtime_is_not_dropped_on_its_own_workers() {
    let dropped = |last: Box<dyn FnOnce()>| catch_unwind(AssertUnwindSafe(last)).is_ok();
    let (sender, receiver) = std::sync::mpsc::channel();

    let (told, theirs) = (sender.clone(), Arc::new(pool(1)));
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let its = Arc::clone(&theirs);
    theirs.spawn(move || {
        may_go.recv().unwrap();
        told.send(dropped(Box::new(|| drop(its)))).unwrap();
    });
    drop(theirs);
    go.send(()).unwrap();
    assert!(receiver.recv().unwrap());

    let ours = Arc::new(runtime(1));
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let its = Arc::clone(&ours);
    drop(ours.spawn(async move {
        may_go.recv().unwrap();
        sender.send(dropped(Box::new(|| drop(its)))).unwrap();
    }));
    drop(ours);
    go.send(()).unwrap();
    assert!(!receiver.recv().unwrap());
}
