//! The budget, which makes a task yield whose operations are always ready.

use crate::support::by_hand::turns_of_others;
use crate::support::multi;
use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;
use trefoil::runtime::Builder;
use trefoil::task::{self, JoinSet, LocalSet, coop};

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

#[test]
fn tasks_that_have_ended_are_joined_and_leave_others_their_turn() {
    let elsewhere = multi(1);
    let tasks: Vec<_> = (0..1000).map(|n| elsewhere.spawn(ready(n))).collect();
    let mut set = JoinSet::new();
    let members: Vec<_> = (0..1000).map(|n| set.spawn_on(ready(n), elsewhere.handle())).collect();
    while !(tasks.iter().all(|task| task.is_finished())
        && members.iter().all(|member| member.is_finished()))
    {
        std::thread::yield_now();
    }
    let one_by_one = turns_of_others(async {
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), n);
        }
    });
    let in_a_set = turns_of_others(async move {
        while let Some(joined) = set.join_next().await {
            joined.unwrap();
        }
    });
    assert_eq!((one_by_one, in_a_set), (7, 7));
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
