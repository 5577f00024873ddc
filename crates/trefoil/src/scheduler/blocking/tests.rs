//! The system has no thread to give: asked for stacks larger than any memory. Threads
//! of the tests stand in for the pool's.

use super::*;
use crate::runtime::{Builder, Runtime};
use parking_lot::Mutex;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

const WATCHDOG: Duration = Duration::from_secs(20);
/// Of an address space of 4 GiB, there is never so much in one piece.
const TOO_MUCH: usize = 7 << if usize::BITS < 64 { 29 } else { 47 };

fn build(builder: &mut Builder) -> (Runtime, Arc<Pool>) {
    let runtime = builder.thread_stack_size(TOO_MUCH).build().unwrap();
    let pool = Arc::clone(&runtime.handle().common().blocking);
    (runtime, pool)
}

/// A thread that looks for work now, as one does whose worker has gone to another.
fn serve(runtime: &Runtime, pool: &Arc<Pool>) -> std::thread::JoinHandle<()> {
    pool.state.lock().threads += 1;
    let (handle, pool) = (runtime.handle().clone(), Arc::clone(pool));
    std::thread::spawn(move || pool.serve(&handle))
}

/// The last thread is in its `on_thread_stop` when a worker needs one.
#[test]
fn a_body_comes_while_the_last_thread_goes() {
    let (stop, stopping) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let (runtime, pool) = build(
        Builder::new_current_thread().thread_keep_alive(Duration::ZERO).on_thread_stop(move || {
            let _ = stop.send(());
            let _ = may_go.lock().recv();
        }),
    );
    let thread = serve(&runtime, &pool);
    stopping.recv_timeout(WATCHDOG).expect("the thread goes");
    let (run, has_run) = mpsc::channel();
    let run: Run = Box::new(move |by| run.send(matches!(by, By::New)).unwrap());
    assert!(pool.run(runtime.handle(), || Some(Body {
        worker: 0,
        blocked: 0,
        is_reserved: false,
        run
    })));
    drop(go);
    assert!(!has_run.recv_timeout(WATCHDOG).expect("the worker has a thread"));
    thread.join().unwrap();
    assert_eq!(pool.threads(), 0);
}

/// The only thread is a worker, which may never be free: nobody can run a closure, and
/// its spawner is told so.
#[test]
fn a_closure_does_not_wait_for_a_worker() {
    let (runtime, pool) = build(&mut Builder::new_current_thread());
    let (end, is_over) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let run: Run = Box::new(move |_| {
        begin.send(()).unwrap();
        let _ = is_over.recv();
    });
    assert!(pool.run(runtime.handle(), || Some(Body {
        worker: 0,
        blocked: 0,
        is_reserved: false,
        run
    })));
    let thread = serve(&runtime, &pool);
    begun.recv_timeout(WATCHDOG).expect("the worker has a thread");
    let spawned = catch_unwind(AssertUnwindSafe(|| runtime.spawn_blocking(|| ())));
    drop(end);
    assert!(spawned.is_err(), "it waits for a thread");
    drop(runtime);
    thread.join().unwrap();
}

/// "A worker's place is taken by a thread of the same pool, ahead of closures that wait there":
/// `progress.md`.
#[test]
fn a_worker_goes_before_closures_that_came_first() {
    let (runtime, pool) = build(&mut Builder::new_current_thread());
    let (inside, is_inside) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let thread = serve(&runtime, &pool);
    // The only thread is busy, so that the others wait for it.
    drop(runtime.spawn_blocking(move || {
        inside.send(()).unwrap();
        let _ = may_go.recv();
    }));
    is_inside.recv_timeout(WATCHDOG).expect("a busy thread");
    let (closures, order) = mpsc::channel();
    let workers = closures.clone();
    // A failed test may have gone by then.
    drop(runtime.spawn_blocking(move || closures.send("closure").is_ok()));
    let run: Run = Box::new(move |_| _ = workers.send("worker"));
    pool.run(runtime.handle(), || Some(Body { worker: 0, blocked: 0, is_reserved: false, run }));
    drop(go);
    for expected in ["worker", "closure"] {
        assert_eq!(order.recv_timeout(WATCHDOG), Ok(expected));
    }
    drop(runtime);
    thread.join().unwrap();
}

type Act = Box<dyn FnOnce() + Send>;

/// As `build`, with a function that is called once, while a thread is being started.
fn build_with_act(act: &Arc<Mutex<Option<Act>>>) -> (Runtime, Arc<Pool>) {
    let act = Arc::clone(act);
    let mut builder = Builder::new_current_thread();
    build(builder.thread_keep_alive(Duration::MAX).thread_name_fn(move || {
        if let Some(act) = act.lock().take() {
            act();
        }
        "late".to_owned()
    }))
}

/// While a thread is being started for a closure, another one runs it, and is a worker then. The
/// system gives no thread: there is nothing that the closure's spawner has to be told.
#[test]
fn a_closure_has_run_when_its_thread_does_not_come() {
    let act = Arc::default();
    let (runtime, pool) = build_with_act(&act);
    let (run, has_run) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let (end, is_over) = mpsc::channel::<()>();
    let (tell, thread) = mpsc::channel();
    let (handle, its_pool) = (runtime.handle().clone(), Arc::clone(&pool));
    *act.lock() = Some(Box::new(move || {
        its_pool.state.lock().threads += 1;
        let (its, serving) = (handle.clone(), Arc::clone(&its_pool));
        tell.send(std::thread::spawn(move || serving.serve(&its))).unwrap();
        has_run.recv_timeout(WATCHDOG).expect("another thread runs the closure");
        let (begin, begun) = mpsc::channel();
        let run: Run = Box::new(move |_| {
            begin.send(()).unwrap();
            let _ = is_over.recv();
        });
        assert!(its_pool.run(&handle, || Some(Body {
            worker: 0,
            blocked: 0,
            is_reserved: false,
            run
        })));
        drop(go);
        begun.recv_timeout(WATCHDOG).expect("it is a worker");
    }));
    let spawned = catch_unwind(AssertUnwindSafe(|| {
        runtime.spawn_blocking(move || {
            run.send(()).unwrap();
            let _ = may_go.recv();
        })
    }));
    drop(end);
    assert!(spawned.is_ok(), "a spawner is told that there is no thread for what has run");
    drop(runtime);
    thread.recv().unwrap().join().unwrap();
}

/// While a thread is being started for a closure, another one runs it, and rests. The next closure
/// relies on the new thread, which does not come.
#[test]
fn a_thread_rests_when_another_does_not_come() {
    let act = Arc::default();
    let (runtime, pool) = build_with_act(&act);
    let (tell, thread) = mpsc::channel();
    let (run, has_run) = mpsc::channel();
    let (handle, its_pool) = (runtime.handle().clone(), Arc::clone(&pool));
    *act.lock() = Some(Box::new(move || {
        its_pool.state.lock().threads += 1;
        let (its, serving) = (handle.clone(), Arc::clone(&its_pool));
        tell.send(std::thread::spawn(move || serving.serve(&its))).unwrap();
        let start = Instant::now();
        while its_pool.idle_threads() == 0 {
            assert!(start.elapsed() < WATCHDOG, "the other thread rests");
            std::thread::yield_now();
        }
        drop(handle.spawn_blocking(move || run.send(()).unwrap()));
    }));
    drop(runtime.spawn_blocking(|| ()));
    has_run.recv_timeout(WATCHDOG).expect("the thread that rests runs the closure");
    drop(runtime);
    thread.recv().unwrap().join().unwrap();
}

/// A host is on its way for a worker, so nobody is chosen for a closure that comes. A thread that
/// has become free takes the worker, and waits for that closure. The host sees to it.
#[test]
fn a_host_that_comes_too_late_has_a_closure_run() {
    let runtime = Builder::new_current_thread().max_blocking_threads(2).build().unwrap();
    let (pool, handle) = (Arc::clone(&runtime.handle().common().blocking), runtime.handle());
    // Two threads of the pool: the host, which was a worker, and the one that becomes free.
    let mut state = pool.state.lock();
    state.threads += 2;
    state.workers += 1;
    drop(state);
    let parker = Arc::new(Parker::new());
    pool.begin_hosting(handle);
    assert!(pool.host_rests(handle, &parker).is_none(), "no worker needs a thread");
    let run: Run = Box::new(|_| ());
    assert!(pool.run(handle, || Some(Body { worker: 0, blocked: 0, is_reserved: false, run })));
    assert!(parker.park_timeout(Duration::ZERO), "the host is chosen");
    let (run, has_run) = mpsc::channel();
    drop(runtime.spawn_blocking(move || run.send(()).unwrap()));
    assert!(pool.state.lock().begin_body().is_some(), "the free thread is faster");
    assert!(pool.host_wakes(handle, &parker).is_none(), "there is no other worker");
    let ran = has_run.recv_timeout(WATCHDOG);
    let mut state = pool.state.lock();
    state.threads -= 2;
    state.workers -= 2;
    state.hosts -= 1;
    drop(state);
    ran.expect("the closure has a thread");
}

/// Two threads rest when a host becomes a worker, so one of them is too many. It is woken for a
/// closure, which the other one runs, however long the first one takes to end.
#[test]
fn a_thread_that_is_too_many_leaves_a_closure_to_one_that_rests() {
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(2)
        .thread_keep_alive(Duration::MAX)
        .on_thread_stop(move || _ = may_go.lock().recv())
        .build()
        .unwrap();
    let pool = Arc::clone(&runtime.handle().common().blocking);
    let both = Arc::new(std::sync::Barrier::new(2));
    for _ in 0..2 {
        let both = Arc::clone(&both);
        drop(runtime.spawn_blocking(move || _ = both.wait()));
    }
    let start = Instant::now();
    while pool.idle_threads() < 2 {
        assert!(start.elapsed() < WATCHDOG, "both threads rest");
        std::thread::yield_now();
    }
    let mut state = pool.state.lock();
    state.threads += 1;
    state.workers += 1;
    drop(state);
    let (run, has_run) = mpsc::channel();
    drop(runtime.spawn_blocking(move || run.send(()).unwrap()));
    let ran = has_run.recv_timeout(WATCHDOG);
    drop(go);
    let mut state = pool.state.lock();
    state.threads -= 1;
    state.workers -= 1;
    drop(state);
    ran.expect("the closure waits for the end of the first thread");
}

/// The monitor is to start a thread, and sleeps on. A thread that rests counts as that one when its
/// time is over; then there is to be another one.
#[test]
fn the_monitor_starts_all_threads_that_it_was_asked_for() {
    let mut builder = Builder::new_current_thread();
    // If this fails, the drop would wait for ever.
    let runtime = ManuallyDrop::new(builder.thread_keep_alive(Duration::ZERO).build().unwrap());
    let (pool, handle) = (Arc::clone(&runtime.handle().common().blocking), runtime.handle());
    let (run, has_run) = mpsc::channel();
    let ask = || {
        let run = run.clone();
        let run: Run = Box::new(move |_| run.send(()).unwrap());
        let body = Body { worker: 0, blocked: 0, is_reserved: false, run };
        assert!(pool.run(handle, || Some(body)));
    };
    // The test has the place of the monitor.
    pool.starter_sleeps();
    ask();
    serve(&runtime, &pool).join().unwrap();
    has_run.try_recv().expect("the other thread is free");
    ask();
    assert_eq!(pool.threads(), 2);
    pool.start_owed(handle);
    has_run.recv_timeout(WATCHDOG).expect("a thread was started");
    let start = Instant::now();
    while pool.threads() > 0 {
        assert!(start.elapsed() < WATCHDOG, "a thread that counts was not started");
        std::thread::yield_now();
    }
    drop(ManuallyDrop::into_inner(runtime));
}
