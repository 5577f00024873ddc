//! Fibers that do what nobody should, on systems that give nothing.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

mod support;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use support::watch::{drop_returns, receive};
use support::{Hasty, multi};
use trefoil::sync::{Semaphore, mpsc, oneshot};
use trefoil::{fiber, task};

/// Runs one of this file's tests in a process of its own. Returns what it has said.
fn in_a_process(test: &str) -> String {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
    said
}

struct Counts(Arc<AtomicUsize>);

impl Counts {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[test]
fn a_runtime_ends_with_fibers_that_wait_that_run_and_that_never_began() {
    for runtime in [1, 3].map(multi) {
        let (alive, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        runtime.block_on(async {
            let (began, mut have_begun) = mpsc::unbounded_channel();
            for _ in 0..10 {
                let (counts, began) = (Counts::new(&alive), began.clone());
                fiber::spawn(move || {
                    let _counts = counts;
                    began.send(()).unwrap();
                    fiber::wait(std::future::pending::<()>());
                });
                have_begun.recv().await.unwrap();
            }
            // These run until the end, in calls and between them.
            for _ in 0..3 {
                let (counts, began, stop) = (Counts::new(&alive), began.clone(), stop.clone());
                let runs = fiber::Builder::new().budget(16).timeslice(None).spawn(move || {
                    let _counts = counts;
                    began.send(()).unwrap();
                    while !stop.load(SeqCst) {
                        fiber::check!();
                    }
                    fiber::yield_now();
                    unreachable!("the runtime has ended");
                });
                runs.unwrap();
                have_begun.recv().await.unwrap();
            }
            for _ in 0..10 {
                let counts = Counts::new(&alive);
                fiber::spawn(move || drop(counts));
            }
        });
        drop(runtime);
        assert_eq!(alive.load(SeqCst), 0);
    }
}

#[test]
fn panics_of_one_fiber_are_not_those_of_another_that_waits() {
    for runtime in [1, 3].map(multi) {
        runtime.block_on(async {
            let fibers: Vec<_> = (0..50_usize)
                .map(|number| {
                    fiber::spawn(move || {
                        for round in 0..20 {
                            let left = catch_unwind(AssertUnwindSafe(|| {
                                fiber::yield_now();
                                assert!(!thread::panicking());
                                if (round + number).is_multiple_of(3) {
                                    resume_unwind(Box::new(round));
                                }
                                fiber::yield_now();
                            }));
                            fiber::yield_now();
                            assert!(!thread::panicking());
                            let payload = left.err().map(|payload| *payload.downcast().unwrap());
                            assert_eq!(
                                payload,
                                (round + number).is_multiple_of(3).then_some(round)
                            );
                        }
                        resume_unwind(Box::new(number));
                    })
                })
                .collect();
            for (number, fiber) in fibers.into_iter().enumerate() {
                let fiber: task::JoinHandle<()> = fiber;
                let payload = fiber.await.unwrap_err().into_panic();
                assert_eq!(*payload.downcast::<usize>().unwrap(), number);
            }
        });
    }
}

thread_local! {
    static CELL: RefCell<u32> = const { RefCell::new(0) };
}

#[test]
fn a_borrow_of_a_thread_local_is_kept_across_a_wait_and_seen_by_others() {
    let runtime = multi(1);
    runtime.block_on(async {
        let (send, receive) = oneshot::channel();
        let keeps = fiber::spawn(move || {
            CELL.with_borrow_mut(|number| {
                *number += 1;
                receive.blocking_recv().unwrap();
                *number += 1;
                *number
            })
        });
        let looks = fiber::spawn(move || {
            while CELL.with(|cell| cell.try_borrow().is_ok()) {
                fiber::yield_now();
            }
            send.send(()).unwrap();
        });
        looks.await.unwrap();
        assert_eq!(keeps.await.unwrap(), 2);
    });
}

/// Makes every call of fibers in its destructor.
struct Calls(Arc<AtomicUsize>);

impl Drop for Calls {
    fn drop(&mut self) {
        fiber::check!();
        fiber::yield_now();
        let _ = fiber::current();
        let sums = || {
            let spawned = fiber::spawn(|| 1).join().unwrap();
            let mut scoped = 0;
            fiber::scope(|scope| drop(scope.spawn(|| scoped = 1)));
            fiber::sleep(Duration::from_micros(1));
            spawned + scoped
        };
        // Where asynchronous code must not block, they panic.
        let sum = catch_unwind(AssertUnwindSafe(sums)).unwrap_or(2);
        self.0.fetch_add(sum, SeqCst);
    }
}

#[test]
fn destructors_call_what_they_like() {
    // In a destructor that unwinds, the thread blocks: another one has to run what it waits for.
    let runtime = multi(3);
    let calls = Arc::new(AtomicUsize::new(0));
    let made = || Calls(calls.clone());
    runtime.block_on(async {
        // At the end of the fiber, and in the midst of it.
        let (one, other) = (made(), made());
        let fiber = fiber::spawn(move || {
            drop(one);
            drop(other);
        });
        fiber.await.unwrap();
        assert_eq!(calls.load(SeqCst), 4);
        // In a panic.
        let one = made();
        let fiber = fiber::spawn(move || {
            let _one = one;
            resume_unwind(Box::new(()));
        });
        let fiber: task::JoinHandle<()> = fiber;
        assert!(fiber.await.unwrap_err().is_panic());
        assert_eq!(calls.load(SeqCst), 6);
        // In an abort.
        let (one, (began, has_begun)) = (made(), oneshot::channel());
        let fiber = fiber::spawn(move || {
            let _one = one;
            began.send(()).unwrap();
            fiber::wait(std::future::pending::<()>());
        });
        has_begun.await.unwrap();
        fiber.abort();
        assert!(fiber.await.unwrap_err().is_cancelled());
        assert_eq!(calls.load(SeqCst), 8);
        // An output that nobody wants.
        let one = made();
        drop(fiber::spawn(move || one));
        while calls.load(SeqCst) < 10 {
            task::yield_now().await;
        }
    });
    // A thread's own, at its end.
    thread_local! {
        static LAST: RefCell<Option<Calls>> = const { RefCell::new(None) };
    }
    let (last, handle) = (made(), runtime.handle().clone());
    let thread = thread::spawn(move || {
        let _guard = handle.enter();
        LAST.set(Some(last));
    });
    thread.join().unwrap();
    assert_eq!(calls.load(SeqCst), 12);
}

/// The fiber's worker has ended its tasks by then, and the task's worker has found it queued there.
#[test]
fn what_a_destructor_of_a_fiber_wakes_at_the_end_is_ended_before_anybody_waits_for_it() {
    for _ in 0..50 {
        let runtime = Hasty(Some(multi(2)));
        let (says, all_rest) = std::sync::mpsc::channel();
        let (wakes, woken) = oneshot::channel::<()>();
        let (held, is_dropped) = std::sync::mpsc::channel::<()>();
        let rests = says.clone();
        drop(runtime.spawn_pinned(0, async move {
            drop(fiber::spawn(move || {
                let _wakes = wakes;
                rests.send("the fiber").unwrap();
                fiber::wait(std::future::pending::<()>());
            }));
        }));
        let rests = says.clone();
        drop(runtime.spawn_pinned(1, async move {
            drop(task::spawn(async move {
                let _held = held;
                rests.send("the task").unwrap();
                let _ = woken.await;
            }));
        }));
        for _ in 0..2 {
            receive("a fiber and a task that rest", &all_rest);
        }
        drop(runtime.spawn_pinned(1, async move {
            task::block_in_place(|| {
                says.send("the thread").unwrap();
                let _ = is_dropped.recv();
            });
        }));
        receive("a thread that waits for what the task has", &all_rest);
        drop_returns("a fiber wakes a task at the end", runtime);
    }
}

/// A thread in `block_on` that serves a worker's tasks does not begin fibers, and leaves them to
/// the worker's own thread. A hook that blocks in between must not put the fiber on a list.
#[test]
fn a_hook_may_block_after_a_fiber_was_left_to_another_thread() {
    let mut builder = trefoil::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).serve_in_block_on(true).enable_all();
    let runtime =
        Hasty(Some(builder.on_after_task_poll(|_| task::block_in_place(|| ())).build().unwrap()));
    for _ in 0..100 {
        runtime.block_on(async {
            let fibers: Vec<_> =
                (0..4).map(|_| fiber::spawn(|| fiber::wait(task::yield_now()))).collect();
            for fiber in fibers {
                task::yield_now().await;
                fiber.await.unwrap();
            }
        });
    }
    drop_returns("hooks have blocked", runtime);
}

#[test]
fn a_stack_may_be_larger_than_memory() {
    let runtime = multi(1);
    let _guard = runtime.enter();
    // The largest there may be. The system may have another opinion.
    let most = 1 << if usize::BITS < 64 { 30 } else { 36 };
    match fiber::Builder::new().stack_size(most).spawn(|| fiber::current().unwrap()) {
        Ok(fiber) => assert_eq!(fiber.join().unwrap().stack_size(), most),
        Err(error) => assert!(error.to_string().contains("no memory for a fiber's stack")),
    }
}

#[test]
#[ignore = "limits its process; `a_system_without_memory_refuses_and_loses_nothing` runs it"]
fn limits_its_memory() {
    let runtime = multi(1);
    let before = getrlimit(Resource::As);
    let limit = |current| setrlimit(Resource::As, Rlimit { current, ..before }).unwrap();
    runtime.block_on(async {
        // One has begun before, and goes on.
        let (go, goes) = oneshot::channel();
        let earlier = fiber::spawn(move || goes.blocking_recv().unwrap());
        task::yield_now().await;
        let alive = Arc::new(AtomicUsize::new(0));
        let counts = Counts::new(&alive);
        limit(Some(1 << 30));
        // With its guard alone, it would be more.
        let refused = fiber::Builder::new().stack_size(1 << 30).spawn(move || drop(counts));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
        for part in ["fiber's stack of 1073741824 bytes", "vm.max_map_count", "ulimit -v"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert_eq!(alive.load(SeqCst), 0, "the closure is dropped");
        // In a scope, too, which is left all the same.
        fiber::spawn(|| {
            fiber::scope(|scope| {
                let builder = fiber::Builder::new().stack_size(1 << 30);
                assert!(builder.spawn_scoped(scope, || ()).is_err());
            });
        })
        .await
        .unwrap();
        // A fiber whose stack is made when it begins says so by a panic.
        let (hungry, resting) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let fibers: Vec<_> = (0..5000)
            .map(|_| {
                let (hungry, counts) = (hungry.clone(), Counts::new(&alive));
                let resting = resting.clone();
                fiber::spawn(move || {
                    let _counts = counts;
                    resting.fetch_add(1, SeqCst);
                    fiber::wait(hungry.acquire()).unwrap().forget();
                })
            })
            .collect();
        // The closures of the others are dropped.
        while resting.load(SeqCst) != alive.load(SeqCst) {
            task::yield_now().await;
        }
        hungry.add_permits(fibers.len());
        let mut refused = 0;
        for fiber in fibers {
            if let Err(error) = fiber.await {
                let text = *error.into_panic().downcast::<String>().unwrap();
                assert!(text.contains("no memory for a fiber's stack of 262144 bytes"), "{text}");
                refused += 1;
            }
        }
        assert!(refused > 0, "5000 stacks are more than a gigabyte");
        assert_eq!(alive.load(SeqCst), 0);
        limit(before.current);
        go.send(()).unwrap();
        earlier.await.unwrap();
        assert_eq!(fiber::spawn(|| 1).await.unwrap(), 1);
    });
}

#[test]
fn a_system_without_memory_refuses_and_loses_nothing() {
    let said = in_a_process("limits_its_memory");
    assert!(said.contains("no memory for a fiber's stack"), "{said}");
}

/// Each takes a page or two, and `vm.max_map_count` may not allow so many: half of its default is
/// fewer, if the system's guards split mappings (`fiber/stack.rs`).
#[test]
fn a_hundred_thousand_fibers_rest_wake_and_end_or_the_limit_is_named() {
    let runtime = multi(2);
    let (all, ended) = (100_000, Arc::new(AtomicUsize::new(0)));
    runtime.block_on(async {
        let gate = Arc::new(Semaphore::new(0));
        let (rests, mut resting) = mpsc::unbounded_channel();
        let mut fibers = Vec::new();
        for _ in 0..all {
            let (gate, rests, ended) = (gate.clone(), rests.clone(), ended.clone());
            let spawned = fiber::Builder::new().spawn(move || {
                rests.send(()).unwrap();
                fiber::wait(gate.acquire()).unwrap().forget();
                ended.fetch_add(1, SeqCst);
            });
            match spawned {
                Ok(fiber) => fibers.push(fiber),
                Err(error) => {
                    assert!(fibers.len() > 10_000, "{}: {error}", fibers.len());
                    names_the_limit_of_mappings(&error.to_string());
                    eprintln!("with {} fibers: {error}", fibers.len());
                    break;
                }
            }
        }
        for _ in 0..fibers.len() {
            resting.recv().await.unwrap();
        }
        gate.add_permits(fibers.len());
        let all = fibers.len();
        for fiber in fibers {
            fiber.await.unwrap();
        }
        assert_eq!(ended.load(SeqCst), all);
    });
}

/// Its value, and what raises it.
fn names_the_limit_of_mappings(text: &str) {
    if cfg!(target_os = "linux") {
        let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        for part in [most.trim(), "`sysctl -w vm.max_map_count="] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_system_without_mappings_says_which_limit_it_was() {
    let said = in_a_process("exhausts_its_mappings");
    assert!(said.contains("refused as it should be"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes all mappings; `a_system_without_mappings_says_which_limit_it_was` runs it"]
fn exhausts_its_mappings() {
    // SAFETY: it has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let most: usize = most.trim().parse().unwrap();
    let runtime = multi(1);
    let alive = Arc::new(AtomicUsize::new(0));
    let earlier = runtime.block_on(async {
        let fiber = fiber::spawn(|| fiber::wait(std::future::ready(1)));
        fiber.await.unwrap()
    });
    assert_eq!(earlier, 1);
    // Neighbours with different rights are mappings of their own.
    let len = (most + 2) * page;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: no address is asked for, so nothing that exists is replaced.
    let all = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(all, libc::MAP_FAILED);
    for at in (0..len).step_by(2 * page) {
        // SAFETY: it is in the mapping that was just made.
        let at = unsafe { all.byte_add(at) };
        // SAFETY: as above, and nobody uses it.
        if unsafe { libc::mprotect(at, page, libc::PROT_READ) } != 0 {
            break;
        }
    }
    let refused = runtime.block_on(async {
        // Some may fit into what is left, and into the stack that was kept.
        (0..100_000).find_map(|_| {
            let counts = Counts::new(&alive);
            fiber::Builder::new()
                .stack_size(1 << 20)
                .spawn(move || {
                    let _counts = counts;
                    fiber::wait(std::future::pending::<()>());
                })
                .err()
        })
    });
    // SAFETY: nobody uses it.
    assert_eq!(unsafe { libc::munmap(all, len) }, 0);
    let error = refused.expect("there are more stacks than mappings");
    assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
    names_the_limit_of_mappings(&error.to_string());
    runtime.block_on(async { assert_eq!(fiber::spawn(|| 1).await.unwrap(), 1) });
    drop(runtime);
    assert_eq!(alive.load(SeqCst), 0);
    eprintln!("refused as it should be: {error}");
}

/// Whoever joins it learns why it has ended, and a scope that nobody has waited for it.
#[test]
fn a_panic_after_an_abort_that_was_caught_is_told() {
    let runtime = multi(1);
    let _guard = runtime.enter();
    let panics = |begins: oneshot::Sender<()>| {
        begins.send(()).unwrap();
        catch_unwind(|| fiber::wait(std::future::pending::<()>())).unwrap_err();
        resume_unwind(Box::new("after the abort"));
    };
    let (begins, begun) = oneshot::channel();
    let fiber = fiber::spawn(move || panics(begins));
    begun.blocking_recv().unwrap();
    fiber.abort();
    let payload = fiber.join().unwrap_err().into_panic();
    assert_eq!(payload.downcast_ref(), Some(&"after the abort"));

    let scope = catch_unwind(|| {
        fiber::scope(|scope| {
            let (begins, begun) = oneshot::channel();
            let fiber = scope.spawn(move || panics(begins));
            begun.blocking_recv().unwrap();
            fiber.abort();
        });
    });
    assert!(scope.is_err(), "a fiber of the scope has panicked");
}
