//! Fibers that borrow: all of a scope have ended when it is left, however that happens.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::ThreadId;
use std::time::Duration;
use trefoil::fiber::{self, Scope};
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::{mpsc, oneshot};
use trefoil::task;

fn multi(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Numbers of workers with which a fiber of a scope shares its owner's thread, and may not.
fn each(test: impl Fn(&Runtime)) {
    test(&multi(1));
    test(&multi(3));
}

/// A place that fibers borrow. Whoever uses it after its end is found out.
struct Place {
    is_alive: AtomicBool,
    users: AtomicUsize,
}

impl Place {
    fn new() -> Self {
        Self { is_alive: AtomicBool::new(true), users: AtomicUsize::new(0) }
    }

    fn enter(&self) -> User<'_> {
        assert!(self.is_alive.load(SeqCst));
        self.users.fetch_add(1, SeqCst);
        User { place: self, thread: std::thread::current().id() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_alive.store(false, SeqCst);
        assert_eq!(self.users.load(SeqCst), 0, "a place has ended before its users");
    }
}

struct User<'a> {
    place: &'a Place,
    thread: ThreadId,
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        assert!(self.place.is_alive.load(SeqCst), "a user has outlived its place");
        assert_eq!(self.thread, std::thread::current().id());
        self.place.users.fetch_sub(1, SeqCst);
    }
}

/// When a wait is given up for lost.
const WATCHDOG: Duration = Duration::from_secs(20);

fn pends() {
    fiber::wait(std::future::pending::<()>());
}

#[test]
fn fibers_borrow_and_give_back() {
    each(|runtime| {
        let sum = runtime.block_on(async {
            fiber::spawn(|| {
                let numbers: Vec<u64> = (0..100).collect();
                let mut sums = [0; 4];
                let last = fiber::scope(|scope| {
                    for (part, sum) in numbers.chunks(25).zip(&mut sums) {
                        scope.spawn(move || {
                            fiber::yield_now();
                            *sum = part.iter().sum();
                        });
                    }
                    scope.spawn(|| numbers.last()).join().unwrap()
                });
                sums.iter().sum::<u64>() + last.unwrap()
            })
            .await
            .unwrap()
        });
        assert_eq!(sum, 4950 + 99);
    });
}

#[test]
fn a_thread_and_a_call_that_blocks_have_scopes() {
    let runtime = multi(2);
    let _guard = runtime.enter();
    let scope = || {
        let mut numbers = [1, 2, 3];
        fiber::scope(|scope| {
            for number in &mut numbers {
                scope.spawn(move || {
                    fiber::sleep(Duration::from_micros(10));
                    *number *= 2;
                });
            }
        });
        numbers
    };
    assert_eq!(scope(), [2, 4, 6]);
    assert_eq!(runtime.block_on(task::spawn_blocking(scope)).unwrap(), [2, 4, 6]);
    let in_place = runtime.spawn(async move { task::block_in_place(scope) });
    assert_eq!(runtime.block_on(in_place).unwrap(), [2, 4, 6]);
}

#[test]
fn a_scope_in_asynchronous_code_is_refused_before_it_begins() {
    let runtime = multi(1);
    let called = Arc::new(AtomicBool::new(false));
    let its = called.clone();
    let task = runtime.spawn(async move { fiber::scope(|_| its.store(true, SeqCst)) });
    assert!(runtime.block_on(task).unwrap_err().is_panic());
    assert!(!called.load(SeqCst));
}

#[test]
fn fibers_of_a_scope_spawn_into_it() {
    fn spawn<'scope>(scope: &'scope Scope<'scope, '_>, count: &'scope AtomicUsize, depth: u32) {
        for _ in 0..2 {
            scope.spawn(move || {
                fiber::yield_now();
                count.fetch_add(1, SeqCst);
                if depth > 1 {
                    spawn(scope, count, depth - 1);
                }
            });
        }
    }
    each(|runtime| {
        let count = runtime.block_on(async {
            fiber::spawn(|| {
                let count = AtomicUsize::new(0);
                fiber::scope(|scope| spawn(scope, &count, 6));
                count.into_inner()
            })
            .await
            .unwrap()
        });
        assert_eq!(count, 2 + 4 + 8 + 16 + 32 + 64);
    });
}

#[test]
fn all_fibers_have_ended_when_a_panic_leaves_a_scope() {
    each(|runtime| {
        runtime.block_on(async {
            // The closure's own panic.
            let fiber = fiber::spawn(|| {
                let place = Place::new();
                let (go, goes) = oneshot::channel::<()>();
                let left = catch_unwind(AssertUnwindSafe(|| {
                    fiber::scope(|scope| {
                        scope.spawn(|| {
                            let _user = place.enter();
                            goes.blocking_recv().unwrap();
                            fiber::yield_now();
                        });
                        fiber::yield_now();
                        go.send(()).unwrap();
                        resume_unwind(Box::new(7));
                    })
                }));
                drop(place);
                *left.unwrap_err().downcast::<i32>().unwrap()
            });
            assert_eq!(fiber.await.unwrap(), 7);
            // That of a fiber, which was joined or not.
            for joins in [true, false] {
                let fiber = fiber::spawn(move || {
                    let place = Place::new();
                    fiber::scope(|scope| {
                        scope.spawn(|| {
                            let _user = place.enter();
                            (0..5).for_each(|_| fiber::yield_now());
                        });
                        let panics = scope.spawn(|| {
                            let _user = place.enter();
                            fiber::yield_now();
                            resume_unwind(Box::new(8));
                        });
                        if joins {
                            let payload = panics.join().unwrap_err().into_panic();
                            assert_eq!(*payload.downcast::<i32>().unwrap(), 8);
                        }
                    });
                });
                assert_eq!(fiber.await.is_ok(), joins);
            }
        });
    });
}

#[test]
fn a_closure_whose_destructor_panics_is_a_panic_of_its_fiber() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            resume_unwind(Box::new(9));
        }
    }
    // On one thread, the fiber does not begin before it is aborted.
    let runtime = multi(1);
    for joins in [true, false] {
        let fiber = runtime.block_on(async {
            let fiber = fiber::spawn(move || {
                fiber::scope(|scope| {
                    let panics = Panics;
                    let fiber = scope.spawn(move || drop(panics));
                    fiber.abort();
                    if joins {
                        let payload = fiber.join().unwrap_err().into_panic();
                        assert_eq!(*payload.downcast::<i32>().unwrap(), 9);
                    }
                });
            });
            fiber.await
        });
        assert_eq!(fiber.is_ok(), joins);
    }
}

#[test]
fn an_abort_ends_the_fibers_of_a_scope_first() {
    each(|runtime| {
        for waits_inside in [true, false] {
            runtime.block_on(async move {
                let (began, mut has_begun) = mpsc::unbounded_channel();
                let place = Arc::new(Place::new());
                let kept = place.clone();
                let fiber = fiber::spawn(move || {
                    let outer = place;
                    let place = Place::new();
                    let _user = outer.enter();
                    fiber::scope(|scope| {
                        for _ in 0..10 {
                            let began = began.clone();
                            let place = &place;
                            scope.spawn(move || {
                                let _user = place.enter();
                                began.send(()).unwrap();
                                pends();
                            });
                        }
                        if waits_inside {
                            pends();
                        }
                    });
                    unreachable!("its fibers wait for ever");
                });
                for _ in 0..10 {
                    has_begun.recv().await.unwrap();
                }
                fiber.abort();
                assert!(fiber.await.unwrap_err().is_cancelled());
                assert_eq!(kept.users.load(SeqCst), 0);
                assert_eq!(Arc::strong_count(&kept), 1, "all of the stack was unwound");
            });
        }
    });
}

/// Scopes in scopes, on whatever threads: each fiber is in a scope of its own.
fn grow(place: &Place, began: &mpsc::UnboundedSender<()>, depth: u32) {
    let _user = place.enter();
    let own = Place::new();
    fiber::scope(|scope| {
        for _ in 0..2 {
            if depth > 0 {
                let own = &own;
                let began = began.clone();
                scope.spawn(move || grow(own, &began, depth - 1));
            }
        }
        began.send(()).unwrap();
        fiber::scope(|scope| {
            scope.spawn(|| {
                let _user = own.enter();
                pends();
            });
            if depth.is_multiple_of(2) {
                fiber::yield_now();
                pends();
            }
        });
    });
}

const NODES: usize = (1 << 5) - 1;

#[test]
fn an_abort_goes_down_a_tree_of_scopes_on_many_threads() {
    each(|runtime| {
        for round in 0..20 {
            runtime.block_on(async {
                let (began, mut has_begun) = mpsc::unbounded_channel();
                let fiber = fiber::spawn(move || grow(&Place::new(), &began, 4));
                // In every second round, in the midst of its growth.
                for _ in 0..if round % 2 == 0 { NODES } else { round } {
                    has_begun.recv().await.unwrap();
                }
                fiber.abort();
                assert!(fiber.await.unwrap_err().is_cancelled());
            });
        }
    });
}

#[test]
fn the_end_of_a_runtime_ends_scopes() {
    for workers in [1, 3] {
        for round in 0..20 {
            let runtime = multi(workers);
            let place = Arc::new(Place::new());
            let (began, mut has_begun) = mpsc::unbounded_channel();
            runtime.block_on(async {
                let its = place.clone();
                fiber::spawn(move || grow(&its, &began, 4));
                for _ in 0..if round % 2 == 0 { NODES } else { round } {
                    has_begun.recv().await.unwrap();
                }
            });
            drop(runtime);
            assert_eq!(Arc::strong_count(&place), 1);
            assert_eq!(place.users.load(SeqCst), 0);
        }
    }
}

#[test]
fn a_fiber_that_catches_its_unwinding_ends_after_its_scope() {
    each(|runtime| {
        runtime.block_on(async {
            let (began, has_begun) = oneshot::channel();
            let (caught, was_caught) = oneshot::channel();
            let fiber = fiber::spawn(move || {
                let place = Place::new();
                fiber::scope(|scope| {
                    scope.spawn(|| {
                        let _user = place.enter();
                        pends();
                    });
                    let waits = AssertUnwindSafe(|| {
                        began.send(()).unwrap();
                        pends();
                    });
                    assert!(catch_unwind(waits).is_err());
                    caught.send(()).unwrap();
                });
            });
            has_begun.await.unwrap();
            fiber.abort();
            was_caught.await.unwrap();
            assert!(fiber.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_fiber_that_catches_its_unwinding_is_unwound_again_where_it_waits() {
    each(|runtime| {
        runtime.block_on(async {
            let (began, has_begun) = oneshot::channel();
            let caught = Arc::new(AtomicUsize::new(0));
            let its = caught.clone();
            let fiber = fiber::spawn(move || {
                let place = Place::new();
                fiber::scope(|scope| {
                    scope.spawn(|| {
                        let _user = place.enter();
                        pends();
                    });
                    began.send(()).unwrap();
                    for _ in 0..3 {
                        assert!(catch_unwind(pends).is_err());
                        its.fetch_add(1, SeqCst);
                        // What is ready needs no wait.
                        assert_eq!(fiber::wait(async { 1 }), 1);
                    }
                    pends();
                });
            });
            has_begun.await.unwrap();
            fiber.abort();
            assert!(fiber.await.unwrap_err().is_cancelled());
            assert_eq!(caught.load(SeqCst), 3);
        });
    });
}

#[test]
fn what_has_unwound_a_fiber_is_a_mere_panic_of_another() {
    each(|runtime| {
        runtime.block_on(async {
            let (began, has_begun) = oneshot::channel();
            let (caught, was_caught) = oneshot::channel();
            let fiber = fiber::spawn(move || {
                fiber::scope(|_| {
                    let waits = AssertUnwindSafe(|| {
                        began.send(()).unwrap();
                        pends();
                    });
                    caught.send(catch_unwind(waits).unwrap_err()).unwrap();
                });
            });
            has_begun.await.unwrap();
            fiber.abort();
            let payload = was_caught.await.unwrap();
            assert!(fiber.await.unwrap_err().is_cancelled());
            let other = fiber::spawn(|| resume_unwind(payload));
            assert!(other.await.unwrap_err().is_panic());
        });
    });
}

#[test]
fn a_scope_in_a_destructor_of_an_aborted_fiber_waits_for_its_fibers() {
    struct Scopes<'a>(&'a AtomicUsize);
    impl Drop for Scopes<'_> {
        fn drop(&mut self) {
            fiber::scope(|scope| {
                scope.spawn(|| {
                    fiber::yield_now();
                    self.0.fetch_add(1, SeqCst);
                });
            });
        }
    }
    // The thread blocks in a destructor, so another worker has to run the fiber.
    let runtime = multi(2);
    runtime.block_on(async {
        let count = Arc::new(AtomicUsize::new(0));
        for in_scope in [false, true] {
            let (began, has_begun) = oneshot::channel();
            let its = count.clone();
            let fiber = fiber::spawn(move || {
                let waits = || {
                    let _scopes = Scopes(&its);
                    began.send(()).unwrap();
                    pends();
                };
                if in_scope { fiber::scope(|_| waits()) } else { waits() }
            });
            has_begun.await.unwrap();
            fiber.abort();
            assert!(fiber.await.unwrap_err().is_cancelled());
        }
        assert_eq!(count.load(SeqCst), 2);
    });
}

/// The abort unwinds the scope, and is caught outside of it: the fiber ends at its next wait.
#[test]
fn an_abort_that_is_caught_outside_of_the_scope_is_not_lost() {
    enum In {
        Wait,
        Closure,
        InnerScope,
    }
    for workers in [1, 3] {
        for (by_shutdown, way) in [
            (false, In::Wait),
            (true, In::Wait),
            (false, In::Closure),
            (true, In::Closure),
            (false, In::InnerScope),
            (true, In::InnerScope),
        ] {
            let runtime = multi(workers);
            let place = Arc::new(Place::new());
            let its = place.clone();
            let (began, has_begun) = std::sync::mpsc::channel();
            let handle = runtime.handle().clone();
            let _guard = handle.enter();
            let fiber = fiber::spawn(move || {
                let _user = its.enter();
                loop {
                    let left = catch_unwind(AssertUnwindSafe(|| {
                        fiber::scope(|scope| {
                            scope.spawn(pends);
                            began.send(()).unwrap();
                            match way {
                                In::Wait => pends(),
                                In::InnerScope => fiber::scope(|scope| drop(scope.spawn(pends))),
                                // A panic of its own, on account of the abort.
                                In::Closure => {
                                    assert!(catch_unwind(pends).is_err());
                                    resume_unwind(Box::new(()));
                                }
                            }
                        });
                    }));
                    assert!(left.is_err());
                    pends();
                }
            });
            has_begun.recv().unwrap();
            let (ended, has_ended) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                if by_shutdown {
                    drop(runtime);
                } else {
                    fiber.abort();
                    assert!(runtime.block_on(fiber).unwrap_err().is_cancelled());
                }
                ended.send(()).unwrap();
            });
            has_ended.recv_timeout(WATCHDOG).expect("the abort was lost");
            assert_eq!(place.users.load(SeqCst), 0);
        }
    }
}

#[test]
fn a_named_fiber_with_a_stack_of_its_own_is_one_of_a_scope() {
    let runtime = multi(1);
    let _guard = runtime.enter();
    let name = String::from("borrowed");
    let (its, size) = fiber::scope(|scope| {
        let builder = fiber::Builder::new().name("one of a scope").stack_size(1 << 20);
        let fiber = builder.spawn_scoped(scope, || {
            let current = fiber::current().unwrap();
            (current.name().map(str::len), current.stack_size() + name.len())
        });
        fiber.unwrap().join().unwrap()
    });
    assert_eq!((its, size), (Some(14), (1 << 20) + 8));
}

#[test]
fn a_scope_in_a_runtime_that_has_shut_down_has_no_fibers() {
    let runtime = multi(1);
    let handle = runtime.handle().clone();
    drop(runtime);
    let _guard = handle.enter();
    let place = Place::new();
    fiber::scope(|scope| {
        let fiber = scope.spawn(|| drop(place.enter()));
        assert!(fiber.join().unwrap_err().is_cancelled());
    });
}
