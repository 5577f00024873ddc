//! Spawning and joining, on every kind of runtime.

use crate::support::{current_and_multi, multi};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use trefoil::runtime::Runtime;
use trefoil::task;

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 2, 4, 16])
}

#[test]
fn outputs_reach_the_joiner() {
    for runtime in runtimes() {
        let sum = runtime.block_on(async {
            let handles: Vec<_> = (0..1000u64).map(|n| trefoil::spawn(async move { n })).collect();
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 499_500);
    }
}

#[test]
fn tasks_spawned_from_outside_run() {
    for runtime in runtimes() {
        let handles: Vec<_> = (0..1000u64).map(|n| runtime.spawn(async move { n })).collect();
        let sum = runtime.block_on(async move {
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 499_500);
    }
}

#[test]
fn tasks_that_yield_all_finish() {
    for runtime in runtimes() {
        let done = Arc::new(AtomicUsize::new(0));
        runtime.block_on(async {
            let handles: Vec<_> = (0..300)
                .map(|_| {
                    let done = done.clone();
                    trefoil::spawn(async move {
                        for _ in 0..100 {
                            task::yield_now().await;
                        }
                        done.fetch_add(1, SeqCst);
                    })
                })
                .collect();
            for handle in handles {
                handle.await.unwrap();
            }
        });
        assert_eq!(done.load(SeqCst), 300);
    }
}

#[test]
fn a_chain_of_spawns_ends() {
    fn link(
        n: usize,
        end: trefoil::sync::oneshot::Sender<()>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            if n == 0 {
                end.send(()).unwrap();
            } else {
                trefoil::spawn(link(n - 1, end));
            }
        })
    }
    for runtime in runtimes() {
        let (end, ended) = trefoil::sync::oneshot::channel();
        runtime.block_on(async {
            trefoil::spawn(link(1000, end));
            ended.await.unwrap();
        });
    }
}

#[test]
fn a_task_that_wakes_itself_while_polled_is_polled_again() {
    struct Again(u32);
    impl Future for Again {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            if self.0 == 0 {
                return Poll::Ready(());
            }
            self.0 -= 1;
            cx.waker().wake_by_ref();
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    }
    for runtime in runtimes() {
        runtime.block_on(async {
            let handles: Vec<_> = (0..10).map(|_| trefoil::spawn(Again(1000))).collect();
            for handle in handles {
                handle.await.unwrap();
            }
        });
    }
}

#[test]
fn ids_are_unique_and_known_inside() {
    for runtime in runtimes() {
        runtime.block_on(async {
            assert!(task::try_id().is_none());
            let mut seen = std::collections::HashSet::new();
            for _ in 0..3000 {
                let handle = trefoil::spawn(async { task::id() });
                let id = handle.id();
                assert!(seen.insert(id));
                assert_eq!(handle.await.unwrap(), id);
            }
        });
    }
}

#[test]
fn detached_tasks_run() {
    for runtime in runtimes() {
        let (sender, receiver) = trefoil::sync::oneshot::channel();
        drop(runtime.spawn(async move { sender.send(7).unwrap() }));
        assert_eq!(runtime.block_on(receiver), Ok(7));
    }
}

#[test]
fn pinned_tasks_stay_on_their_worker() {
    let runtime = multi(3);
    runtime.block_on(async {
        let mut threads = std::collections::HashSet::new();
        for worker in 0..3 {
            let handles: Vec<_> = (0..20)
                .map(|_| {
                    trefoil::task::spawn_pinned(worker, async {
                        let thread = std::thread::current().id();
                        for _ in 0..50 {
                            task::yield_now().await;
                            assert_eq!(std::thread::current().id(), thread);
                        }
                        trefoil::spawn(async {}).await.unwrap();
                        assert_eq!(std::thread::current().id(), thread);
                        thread
                    })
                })
                .collect();
            let mut of_worker = std::collections::HashSet::new();
            for handle in handles {
                of_worker.insert(handle.await.unwrap());
            }
            assert_eq!(of_worker.len(), 1);
            threads.extend(of_worker);
        }
        assert_eq!(threads.len(), 3);
    });
}

#[test]
fn a_task_that_never_yields_does_not_hold_up_the_others() {
    let runtime = multi(2);
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let its = stop.clone();
    let hog = runtime.spawn(async move {
        while !its.load(SeqCst) {
            std::hint::spin_loop();
        }
    });
    runtime.block_on(async {
        for _ in 0..1000 {
            trefoil::spawn(async { task::yield_now().await }).await.unwrap();
        }
    });
    stop.store(true, SeqCst);
    runtime.block_on(hog).unwrap();
}
