//! The budget, which makes a task yield whose operations are always ready.

use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use trefoil::runtime::Builder;
use trefoil::task::{self, LocalSet, coop};

/// How often another task ran while a task did `work`.
fn turns_of_others(work: impl Future<Output = ()> + Send + 'static) -> usize {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let turns = Arc::new(AtomicUsize::new(0));
        let its = Arc::clone(&turns);
        let worker = trefoil::spawn(async move {
            // The other task is queued now.
            task::yield_now().await;
            let before = its.load(SeqCst);
            work.await;
            its.load(SeqCst) - before
        });
        let other = trefoil::spawn(async move {
            loop {
                turns.fetch_add(1, SeqCst);
                task::yield_now().await;
            }
        });
        let turns = worker.await.unwrap();
        other.abort();
        turns
    })
}

#[test]
fn ready_futures_leave_others_their_turn_if_they_cooperate() {
    let alone = turns_of_others(async {
        for n in 0..1000 {
            assert_eq!(ready(n).await, n);
        }
    });
    let cooperative = turns_of_others(async {
        for n in 0..1000 {
            assert_eq!(coop::cooperative(ready(n)).await, n);
        }
    });
    let exempt = turns_of_others(coop::unconstrained(async {
        for n in 0..1000 {
            assert_eq!(coop::cooperative(ready(n)).await, n);
        }
    }));
    assert_eq!((alone, cooperative, exempt), (0, 7, 0));
}

/// On a multi-thread runtime, a task that has spent its budget may be polled a few more times
/// before other tasks.
#[test]
fn a_task_that_spends_all_its_budgets_leaves_others_their_turn() {
    for workers in [1, 2] {
        let runtime = Builder::new_multi_thread().worker_threads(workers).build().unwrap();
        for _ in 0..20 {
            let is_over = Arc::new(AtomicBool::new(false));
            let endless: Vec<_> = (0..2 * workers)
                .map(|_| {
                    let is_over = Arc::clone(&is_over);
                    runtime.spawn(async move {
                        while !is_over.load(SeqCst) {
                            task::consume_budget().await;
                        }
                    })
                })
                .collect();
            runtime.block_on(runtime.spawn(async move { is_over.store(true, SeqCst) })).unwrap();
            for task in endless {
                runtime.block_on(task).unwrap();
            }
        }
    }
}

#[test]
fn a_unit_without_progress_is_given_back() {
    let turns = turns_of_others(async {
        poll_fn(|cx| {
            for _ in 0..1000 {
                let Poll::Ready(unit) = coop::poll_proceed(cx) else {
                    panic!("nothing was spent, and nothing is left");
                };
                drop(unit);
            }
            for _ in 0..128 {
                assert!(coop::has_budget_remaining());
                let Poll::Ready(unit) = coop::poll_proceed(cx) else { panic!("128 are left") };
                unit.made_progress();
            }
            assert!(!coop::has_budget_remaining());
            Poll::Ready(())
        })
        .await;
        task::consume_budget().await;
    });
    assert_eq!(turns, 1);
}

#[test]
fn the_budget_has_no_end_outside_of_a_runtime() {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..1000 {
        let Poll::Ready(unit) = coop::poll_proceed(&mut cx) else { panic!("it has ended") };
        unit.made_progress();
    }
}

#[test]
fn sets_and_runtimes_have_different_ids() {
    let (a, b) = (LocalSet::new(), LocalSet::new());
    let runtime = Builder::new_current_thread().build().unwrap();
    assert_eq!(a.id(), a.id());
    assert_ne!(a.id(), b.id());
    assert_ne!(a.id(), runtime.handle().id());
    assert_ne!(b.id(), runtime.handle().id());
}
