//! What a fiber has entered, and what its polls are given, while it waits and others run.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, mpsc as threads};
use std::task::Poll;
use std::thread;
use trefoil::runtime::{Builder, Handle, Runtime};
use trefoil::sync::oneshot;
use trefoil::{fiber, fork_join, task};

trefoil::task_local! {
    static ORDER: u32;
}

fn multi(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Runtimes on which all fibers have the same thread, and others.
fn each(test: impl Fn(&Runtime)) {
    test(&multi(1));
    test(&multi(3));
}

#[test]
fn a_waker_outlives_the_poll_in_which_a_future_was_given_it() {
    // The future's poll waits itself. The thread polls another task meanwhile, during which a third
    // party looks at the waker that the future was given.
    let runtime = multi(1);
    runtime.block_on(async {
        let (finish, finished) = oneshot::channel::<()>();
        let (look, looks) = threads::channel::<()>();
        let (looked, has_looked) = threads::channel();
        let fiber = fiber::spawn(move || {
            let mut rest = Some((looks, finished));
            fiber::wait(poll_fn(move |cx| {
                let Some((looks, finished)) = rest.take() else { return Poll::Ready(()) };
                let (own, given) = (cx.waker().clone(), cx.waker());
                std::thread::scope(|scope| {
                    let looked = looked.clone();
                    scope.spawn(move || {
                        looks.recv().unwrap();
                        looked.send(given.will_wake(&own)).unwrap();
                    });
                    fiber::wait(finished).unwrap();
                });
                given.wake_by_ref();
                Poll::Pending
            }));
        });
        let other = task::spawn(async move {
            look.send(()).unwrap();
            let same = has_looked.recv().unwrap();
            finish.send(()).unwrap();
            same
        });
        assert!(other.await.unwrap(), "the waker was another task's");
        fiber.await.unwrap();
    });
}

#[test]
fn scopes_of_task_locals_are_the_fibers_own() {
    each(|runtime| {
        runtime.block_on(async {
            let (first, first_goes) = oneshot::channel::<()>();
            let (second, second_goes) = oneshot::channel::<()>();
            let waits = |number, goes: oneshot::Receiver<()>| {
                fiber::spawn(move || {
                    assert!(ORDER.try_get().is_err());
                    ORDER.sync_scope(number, || {
                        fiber::yield_now();
                        assert_eq!(ORDER.get(), number);
                        ORDER.sync_scope(number + 1, || {
                            fiber::wait(goes).unwrap();
                            assert_eq!(ORDER.get(), number + 1);
                        });
                        assert_eq!(ORDER.get(), number);
                    });
                    assert!(ORDER.try_get().is_err());
                })
            };
            let fibers = [waits(10, first_goes), waits(20, second_goes)];
            for _ in 0..10 {
                task::spawn(async { assert!(ORDER.try_get().is_err()) }).await.unwrap();
                task::yield_now().await;
            }
            let held = ORDER.scope(1, async {
                task::yield_now().await;
                ORDER.get()
            });
            assert_eq!(task::spawn(held).await.unwrap(), 1);
            // The first goes first: scopes need not end in the reverse order.
            first.send(()).unwrap();
            let [one, two] = fibers;
            one.await.unwrap();
            second.send(()).unwrap();
            two.await.unwrap();
        });
    });
}

#[test]
fn an_aborted_fiber_has_its_scopes_in_its_destructors() {
    struct Tells(threads::Sender<Option<u32>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(ORDER.try_get().ok()).unwrap();
        }
    }
    each(|runtime| {
        runtime.block_on(async {
            let (tell, told) = threads::channel();
            let (begun, has_begun) = oneshot::channel();
            let fiber = fiber::spawn(move || {
                ORDER.sync_scope(7, || {
                    let _tells = Tells(tell);
                    begun.send(()).unwrap();
                    fiber::wait(std::future::pending::<()>());
                });
            });
            has_begun.await.unwrap();
            fiber.abort();
            assert!(fiber.await.unwrap_err().is_cancelled());
            assert_eq!(told.recv().unwrap(), Some(7));
            task::spawn(async { assert!(ORDER.try_get().is_err()) }).await.unwrap();
        });
    });
}

#[test]
fn a_fiber_that_waits_with_a_borrow_keeps_it_and_others_have_their_own() {
    let runtime = multi(1);
    runtime.block_on(async {
        let (send, receive) = oneshot::channel();
        let (begun, has_begun) = oneshot::channel();
        let fiber = fiber::spawn(move || {
            ORDER.sync_scope(5, || {
                let order = ORDER.with(|order| {
                    begun.send(thread::current().id()).unwrap();
                    let received = fiber::wait(receive).unwrap();
                    assert_eq!((*order, ORDER.get()), (5, 5));
                    *order + received
                });
                // It is not borrowed any more.
                ORDER.sync_scope(6, || assert_eq!(ORDER.get(), 6));
                order
            })
        });
        let here = has_begun.await.unwrap();
        let other = task::spawn(ORDER.scope(1, async {
            // On the same thread, as a fiber that only that could run would be.
            (ORDER.with(|order| *order), thread::current().id())
        }));
        assert!(task::spawn(async { ORDER.try_get() }).await.unwrap().is_err());
        let (order, there) = other.await.unwrap();
        assert_eq!(there, here);
        send.send(order).unwrap();
        assert_eq!(fiber.await.unwrap(), 6);
    });
}

#[test]
fn fibers_begin_below_hooks_that_block_and_fork() {
    for workers in [1, 2] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .on_before_task_poll(|_| {
                task::block_in_place(std::thread::yield_now);
                trefoil::fork_join::scope(|scope| scope.spawn(|_| ()));
            })
            .build()
            .unwrap();
        runtime.block_on(async {
            for number in 0..20 {
                let (send, receive) = oneshot::channel();
                let fiber = fiber::spawn(move || {
                    fiber::yield_now();
                    fiber::wait(receive).unwrap()
                });
                task::spawn(async move { send.send(number).unwrap() }).await.unwrap();
                assert_eq!(fiber.await.unwrap(), number);
            }
        });
    }
}

#[test]
fn a_runtime_that_a_fiber_has_entered_is_not_that_of_others() {
    let elsewhere = multi(1);
    each(|runtime| {
        runtime.block_on(async {
            let own = Handle::current().id();
            let other = elsewhere.handle().clone();
            let done = Arc::new(AtomicBool::new(false));
            let fibers: Vec<_> = (0..2)
                .map(|_| {
                    let (other, done) = (other.clone(), Arc::clone(&done));
                    fiber::spawn(move || {
                        let _entered = other.enter();
                        while !done.load(SeqCst) {
                            assert_eq!(Handle::current().id(), other.id());
                            fiber::yield_now();
                        }
                    })
                })
                .collect();
            for _ in 0..10 {
                assert_eq!(task::spawn(async { Handle::current().id() }).await.unwrap(), own);
                task::yield_now().await;
            }
            done.store(true, SeqCst);
            // Not in the reverse order of their beginnings.
            for fiber in fibers {
                fiber.await.unwrap();
            }
        });
    });
}

#[test]
fn a_closure_that_another_worker_has_taken_may_wait() {
    fn waits(begun: &AtomicBool) -> u32 {
        begun.store(true, SeqCst);
        fiber::wait(async { task::spawn(async { 1 }).await.unwrap() })
    }
    // Until another worker has taken the other closure.
    fn spins(begun: &AtomicBool) -> u32 {
        while !begun.load(SeqCst) {
            std::hint::spin_loop();
        }
        2
    }
    fn forks() -> u32 {
        let begun = AtomicBool::new(false);
        let (a, b) = fork_join::join(|| spins(&begun), || waits(&begun));
        let (begun, sum) = (AtomicBool::new(false), AtomicU32::new(0));
        fork_join::scope(|scope| {
            scope.spawn(|_| {
                sum.fetch_add(waits(&begun), SeqCst);
            });
            sum.fetch_add(spins(&begun), SeqCst);
        });
        a + b + sum.into_inner()
    }
    let runtime = multi(2);
    runtime.block_on(async {
        assert_eq!(fiber::spawn(forks).await.unwrap(), 6);
        // Whoever has forked.
        assert_eq!(task::spawn(async { forks() }).await.unwrap(), 6);
    });
    assert_eq!(runtime.install(forks), 6);
}

/// The guard is in the future for which the fiber waits, over an `.await`.
#[test]
fn a_set_that_a_fibers_future_has_entered_is_the_fibers_own() {
    each(|runtime| {
        runtime.block_on(async {
            let (begins, has_begun) = oneshot::channel::<()>();
            let (go, may_go) = oneshot::channel::<()>();
            let fiber = fiber::spawn(move || {
                fiber::wait(async move {
                    let set = task::LocalSet::new();
                    let _entered = set.enter();
                    begins.send(()).unwrap();
                    may_go.await.unwrap();
                });
                fiber::wait(task::yield_now());
            });
            has_begun.await.unwrap();
            // With one worker, it is the fiber's, which waits. (The hook of the panic prints.)
            let other = task::spawn(async {
                std::panic::catch_unwind(|| drop(task::spawn_local(async {}))).is_err()
            });
            let is_outside = other.await.unwrap();
            go.send(()).unwrap();
            fiber.await.unwrap();
            assert!(is_outside, "`spawn_local` of a task has found a fiber's set");
        });
    });
}
