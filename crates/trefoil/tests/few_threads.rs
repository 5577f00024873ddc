//! The system gives no more threads, for a while: there is no room for another stack.
//!
//! The limit is the process's, so the tests take turns.
#![cfg(all(target_os = "linux", not(miri)))]

mod support;

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use support::watch::{Event, WATCHDOG, drop_returns, receive, wait_for, workers_sleep};
use support::{Hasty, page_size, start_workers};
use trefoil::runtime::Builder;
use trefoil::task::block_in_place;

/// More than threads leave behind for others, and little enough for all that a test needs at once:
/// where an address is 32 bits, there is room for two of 1 GiB.
const STACK: usize = 1 << if usize::BITS < 64 { 27 } else { 30 };

/// Held by the test that runs.
static TURN: Mutex<()> = Mutex::new(());

/// How many tests have their turn, or wait for it.
static TESTS: AtomicUsize = AtomicUsize::new(0);

struct Turn(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

impl Drop for Turn {
    fn drop(&mut self) {
        TESTS.fetch_sub(1, SeqCst);
    }
}

/// Waits for the threads of other tests to be gone: they would leave their stacks to others.
fn turn() -> Turn {
    TESTS.fetch_add(1, SeqCst);
    let turn = Turn(TURN.lock());
    // The main thread, and one for each of these tests.
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    wait_for("threads go", || threads() <= 1 + TESTS.load(SeqCst));
    turn
}

/// Until the drop, no thread with such a stack can be started.
struct NoThreads {
    before: Rlimit,
    /// Threads that have the stacks which were left.
    others: Vec<(mpsc::Sender<()>, JoinHandle<()>)>,
}

impl NoThreads {
    fn new() -> Self {
        let before = getrlimit(Resource::As);
        // One for all that the tests need, and half a stack.
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        let bytes = pages * page_size() as u64 + STACK as u64 / 2;
        setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: before.maximum }).unwrap();
        let mut others = Vec::new();
        loop {
            let (end, is_over) = mpsc::channel();
            let builder = thread::Builder::new().stack_size(STACK);
            match builder.spawn(move || is_over.recv().unwrap_or_default()) {
                Ok(other) => others.push((end, other)),
                Err(_) => return Self { before, others },
            }
        }
    }
}

impl Drop for NoThreads {
    fn drop(&mut self) {
        setrlimit(Resource::As, self.before).unwrap();
        for (end, other) in self.others.drain(..) {
            drop(end);
            other.join().unwrap();
        }
    }
}

#[test]
fn a_system_gives_no_threads_for_a_while() {
    let _turn = turn();
    for workers in [1, 2] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_stack_size(STACK)
            .enable_all()
            .build()
            .unwrap();
        let runtime = Hasty(Some(runtime));
        let (begin, begun) = mpsc::channel();
        let (end, is_over) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        // The monitor needs a thread, too.
        drop(runtime.spawn_pinned(0, async { block_in_place(|| ()) }));
        workers_sleep(&runtime.metrics());
        drop(runtime.spawn_pinned(0, async move {
            block_in_place(|| {
                begin.send(()).unwrap();
                is_over.recv().unwrap();
            });
            tell.send(()).unwrap();
        }));
        receive("a task blocks", &begun);
        let no_threads = NoThreads::new();
        let spawned = catch_unwind(AssertUnwindSafe(|| runtime.spawn_blocking(|| ())));
        assert!(spawned.is_err(), "a closure waits for a thread although there is none");
        let pinned = runtime.spawn_pinned(0, async move { end.send(()).unwrap() });
        // Longer only makes it harder to pass.
        thread::sleep(std::time::Duration::from_millis(300));
        assert!(!pinned.is_finished());
        drop(no_threads);
        receive("a task that waits for another one, which had no thread", &told);
        wait_for("that other one", || pinned.is_finished());
        drop_returns("the drop of a runtime that had no threads for a while", runtime);
    }
}

/// A worker's place finds no new thread. Until that is known, another thread has become the worker,
/// and blocks in place: it counts as asleep, and is woken for what comes.
#[test]
fn a_worker_sleeps_again_before_it_is_known_to_have_no_thread() {
    let _turn = turn();
    let (is_armed, blocks) = (Arc::new(AtomicBool::new(false)), Event::default());
    let (free, is_freed) = mpsc::channel::<()>();
    let free = Mutex::new(Some(free));
    let (its_arms, its_blocks) = (is_armed.clone(), blocks.clone());
    let name = move || {
        if its_arms.swap(false, SeqCst) {
            drop(free.lock().take());
            wait_for("a thread of the pool becomes the worker", || its_blocks.has_happened());
        }
        "worker".to_owned()
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(STACK)
        .thread_name_fn(name)
        .enable_all()
        .build()
        .unwrap();
    let runtime = Hasty(Some(runtime));
    // The monitor needs a thread, too.
    runtime.block_on(runtime.spawn(async { block_in_place(|| ()) })).unwrap();
    let (begin, begun) = mpsc::channel();
    let begins = begin.clone();
    drop(runtime.spawn_blocking(move || {
        begins.send(()).unwrap();
        let _ = is_freed.recv();
    }));
    receive("a closure blocks", &begun);
    let (end, is_over) = mpsc::channel::<()>();
    drop(runtime.spawn(async move {
        block_in_place(|| {
            begin.send(()).unwrap();
            let _ = is_over.recv();
        });
    }));
    receive("a task blocks", &begun);
    let no_threads = NoThreads::new();
    is_armed.store(true, SeqCst);
    let last = Event::default();
    let (its_blocks, its_last) = (blocks.clone(), last.clone());
    // Returns when the system has refused a thread.
    let second = runtime.spawn(async move {
        block_in_place(|| {
            its_blocks.happens();
            wait_for("the last task", || its_last.has_happened());
        });
    });
    assert!(blocks.has_happened(), "nothing was tested");
    drop(no_threads);
    drop(runtime.spawn(async move { last.happens() }));
    runtime.block_on(second).unwrap();
    drop(end);
    drop_returns("the drop of a runtime that had no threads for a while", runtime);
}

/// A thread is being started for one worker when another worker needs one as well. The system gives
/// none. What is not pinned to the two is run by the third worker, which sleeps.
#[test]
fn a_worker_relies_on_a_thread_that_is_on_its_way_and_does_not_come() {
    let _turn = turn();
    let is_armed = Arc::new(AtomicBool::new(false));
    let (is_starting, both) = (Event::default(), Event::default());
    let (its_arms, its_starting, its_both) = (is_armed.clone(), is_starting.clone(), both.clone());
    let name = move || {
        if its_arms.swap(false, SeqCst) {
            its_starting.happens();
            wait_for("the other worker needs a thread", || its_both.has_happened());
        }
        "worker".to_owned()
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(3)
        .thread_stack_size(STACK)
        .thread_name_fn(name)
        .enable_all()
        .build()
        .unwrap();
    let runtime = Hasty(Some(runtime));
    start_workers(&runtime);
    // The monitor needs a thread, too.
    drop(runtime.spawn_pinned(0, async { block_in_place(|| ()) }));
    workers_sleep(&runtime.metrics());
    let (begin, begun) = mpsc::channel();
    // The last one to sleep is woken first.
    let ends = [1, 0].map(|worker| {
        let begin = begin.clone();
        let (end, is_over) = mpsc::channel::<()>();
        drop(runtime.spawn_pinned(worker, async move {
            block_in_place(|| {
                begin.send(()).unwrap();
                let _ = is_over.recv();
            });
        }));
        receive("a task blocks", &begun);
        end
    });
    let (go, may_go) = mpsc::channel::<()>();
    let handle = runtime.handle().clone();
    let starter = thread::spawn(move || {
        let _ = may_go.recv();
        drop(handle.spawn_pinned(1, async {}));
    });
    let no_threads = NoThreads::new();
    is_armed.store(true, SeqCst);
    drop(go);
    wait_for("a thread is being started", || is_starting.has_happened());
    drop(runtime.spawn_pinned(0, async {}));
    both.happens();
    starter.join().unwrap();
    let task = runtime.spawn(async {});
    wait_for("a task that the third worker can run", || task.is_finished());
    drop(no_threads);
    drop(ends);
    drop_returns("the drop of a runtime that had no threads for a while", runtime);
}

/// A worker blocks in place until one of its tasks is dropped, and has no thread for that when the
/// runtime ends.
#[test]
fn a_runtime_ends_while_a_system_gives_no_threads() {
    let _turn = turn();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .unwrap();
    let runtime = Hasty(Some(runtime));
    let (hold, is_dropped) = mpsc::channel::<()>();
    let rests = runtime.spawn(async move {
        std::future::pending::<()>().await;
        drop(hold);
    });
    let (begin, begun) = mpsc::channel();
    drop(runtime.spawn(async move {
        block_in_place(|| {
            begin.send(()).unwrap();
            let _ = is_dropped.recv();
        });
    }));
    receive("a task blocks", &begun);
    let no_threads = NoThreads::new();
    let freeing = thread::spawn(move || {
        // Longer only makes it harder to pass.
        thread::sleep(std::time::Duration::from_millis(300));
        drop(no_threads);
    });
    drop_returns("the drop of a runtime that had no threads at first", runtime);
    freeing.join().unwrap();
    assert!(rests.is_finished());
}

/// Two closures wait for one thread, which does not come. The spawner of one is told so. The other
/// one's was told nothing, and that closure runs when there are threads again.
#[test]
fn a_closure_relies_on_a_thread_that_does_not_come() {
    let _turn = turn();
    let is_armed = Arc::new(AtomicBool::new(false));
    let (is_starting, both) = (Event::default(), Event::default());
    let (its_arms, its_starting, its_both) = (is_armed.clone(), is_starting.clone(), both.clone());
    let name = move || {
        if its_arms.swap(false, SeqCst) {
            its_starting.happens();
            wait_for("another closure", || its_both.has_happened());
        }
        "worker".to_owned()
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK)
        .thread_name_fn(name)
        .build()
        .unwrap();
    let runtime = Hasty(Some(runtime));
    workers_sleep(&runtime.metrics());
    let (go, may_go) = mpsc::channel::<()>();
    let handle = runtime.handle().clone();
    let starter = thread::spawn(move || {
        let _ = may_go.recv();
        catch_unwind(AssertUnwindSafe(|| handle.spawn_blocking(|| ()))).is_err()
    });
    let no_threads = NoThreads::new();
    is_armed.store(true, SeqCst);
    drop(go);
    wait_for("a thread is being started", || is_starting.has_happened());
    let other = runtime.spawn_blocking(|| ());
    both.happens();
    assert!(starter.join().unwrap(), "a closure waits for a thread although there is none");
    drop(no_threads);
    wait_for("the other closure", || other.is_finished());
    runtime.block_on(other).expect("it has run");
    drop_returns("the drop of a runtime that had no threads for a while", runtime);
}

/// The system gives no thread for workers that have none yet. What all workers see is done by the
/// one that has a thread; what is pinned to another waits until there are threads again.
#[test]
fn a_worker_gets_its_thread_when_there_are_threads_again() {
    let _turn = turn();
    for monitor_first in [false, true] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(8)
            .thread_stack_size(STACK)
            .enable_all()
            .build()
            .unwrap();
        let runtime = Hasty(Some(runtime));
        let metrics = runtime.metrics();
        if monitor_first {
            // It starts when the runtime is a period old, and is at rest when all have slept.
            thread::sleep(std::time::Duration::from_millis(300));
        }
        let no_threads = NoThreads::new();
        let pinned = [5, 2].map(|worker| runtime.spawn_pinned(worker, async {}));
        let tasks = Vec::from_iter((0..100).map(|_| runtime.spawn(async {})));
        wait_for("tasks that the first worker can run", || {
            tasks.iter().all(|task| task.is_finished())
        });
        // Longer only makes it harder to pass.
        thread::sleep(std::time::Duration::from_millis(20));
        assert!(pinned.iter().all(|pinned| !pinned.is_finished()));
        assert_eq!(metrics.worker_thread_id(5), None);
        drop(no_threads);
        wait_for("pinned tasks", || pinned.iter().all(|pinned| pinned.is_finished()));
        drop_returns("the drop of a runtime that had few threads for a while", runtime);
    }
}

/// The same at the end of a runtime, which needs no more threads for that.
#[test]
fn a_runtime_ends_although_its_workers_get_no_threads() {
    let _turn = turn();
    for pinned in [0, 1, 7] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(8)
            .thread_stack_size(STACK)
            .enable_all()
            .build()
            .unwrap();
        let runtime = Hasty(Some(runtime));
        let no_threads = NoThreads::new();
        let tasks =
            Vec::from_iter((1..=pinned).map(|worker| runtime.spawn_pinned(worker, async {})));
        // The drop has a thread of its own, of the usual size.
        drop_returns("the drop of a runtime that has one thread", runtime);
        assert!(tasks.iter().all(|task| task.is_finished()));
        drop(no_threads);
    }
}

/// Whoever posts work has one worker after the other woken, and none gets a thread. That takes no
/// more stack than one.
#[test]
fn many_workers_get_no_threads_on_a_small_stack() {
    let _turn = turn();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1000)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .unwrap();
    let runtime = Hasty(Some(runtime));
    // Its thread blocks, and counts as busy.
    let (begin, begun) = mpsc::channel();
    let (end, is_over) = mpsc::channel::<()>();
    drop(runtime.spawn(async move {
        begin.send(()).unwrap();
        let _ = is_over.recv();
    }));
    receive("a task blocks", &begun);
    let handle = runtime.handle().clone();
    let (go, may_go) = mpsc::channel::<()>();
    let poster = thread::Builder::new().stack_size(128 * 1024).spawn(move || {
        let _ = may_go.recv();
        handle.spawn(async {})
    });
    let no_threads = NoThreads::new();
    drop(go);
    let task = poster.unwrap().join().unwrap();
    assert!(!task.is_finished());
    drop(end);
    wait_for("a task that the first worker can run", || task.is_finished());
    drop_returns("the drop of a runtime that has one thread", runtime);
    drop(no_threads);
}

/// The only worker with a thread is in a poll that does not end. As soon as there are threads, the
/// system is asked for them when it leaves something in its slot again.
#[test]
fn a_worker_that_has_no_thread_yet_gets_none_for_a_while() {
    let _turn = turn();
    for workers in [2, 3] {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(workers).thread_stack_size(STACK).enable_all();
        let runtime = Hasty(Some(builder.build().unwrap()));
        let (begin, begun) = mpsc::channel();
        let (go, may_go) = mpsc::channel();
        let (end, has_ended) = mpsc::channel();
        drop(runtime.spawn(async move {
            let (tell, told) = mpsc::channel();
            let spawn = || {
                let tell = tell.clone();
                drop(trefoil::spawn(async move { tell.send(()).unwrap() }));
            };
            begin.send(()).unwrap();
            may_go.recv().unwrap();
            // The second one has a thread asked for that runs the first.
            spawn();
            spawn();
            begin.send(()).unwrap();
            may_go.recv().unwrap();
            // The system is asked once in a period.
            thread::sleep(Duration::from_millis(10));
            spawn();
            let are_served = [(); 2].map(|()| told.recv_timeout(WATCHDOG));
            end.send(are_served).unwrap();
        }));
        receive("a poll", &begun);
        let no_threads = NoThreads::new();
        go.send(()).unwrap();
        receive("a worker asks for a thread", &begun);
        drop(no_threads);
        go.send(()).unwrap();
        assert_eq!(has_ended.recv().unwrap(), [Ok(()); 2]);
    }
}
