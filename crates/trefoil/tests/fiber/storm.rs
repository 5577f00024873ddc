//! Fibers that do everything at random, and are aborted at any moment.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::Alive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use trefoil::runtime::Builder;
use trefoil::{fiber, task};

/// Fibers that spawn, wait, fork, block in place, borrow, compute, panic, and are aborted at any
/// moment.
#[test]
fn a_storm_of_fibers_leaves_nothing_behind() {
    /// Nobody is alive who has borrowed this.
    struct Ended(Arc<AtomicUsize>);
    impl Drop for Ended {
        fn drop(&mut self) {
            assert_eq!(self.0.load(SeqCst), 0, "a fiber has outlived its scope");
        }
    }
    fn grow(seed: u64, depth: u32, alive: &Arc<AtomicUsize>) {
        let _alive = Alive::new(alive);
        let mut dice = seed;
        let mut roll = move |sides: u64| {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % sides
        };
        for _ in 0..roll(6) {
            match roll(14) {
                0 => fiber::yield_now(),
                1 => fiber::sleep(Duration::from_micros(roll(300))),
                2 if depth > 0 => {
                    let (seed, alive) = (roll(u64::MAX >> 33), alive.clone());
                    let child = fiber::spawn(move || grow(seed, depth - 1, &alive));
                    if roll(2) == 0 {
                        child.abort();
                    }
                    let _ = child.join();
                }
                3 if depth > 0 => {
                    // Detached.
                    let (seed, alive) = (roll(u64::MAX >> 33), alive.clone());
                    fiber::spawn(move || grow(seed, depth - 1, &alive));
                }
                4 => {
                    trefoil::fork_join::join(
                        || fiber::wait(async { task::yield_now().await }),
                        || std::hint::black_box(1),
                    );
                }
                9..=11 if depth > 0 => {
                    // A wait for a fiber that may be bound to this very thread.
                    let (seed, its) = (roll(u64::MAX >> 33), alive.clone());
                    let child = fiber::spawn(move || grow(seed, depth - 1, &its));
                    let time = Duration::from_micros(roll(100));
                    let sleep = move || fiber::sleep(time);
                    match roll(5) {
                        0 => drop(trefoil::fork_join::join(|| child.join(), sleep)),
                        1 => drop(trefoil::fork_join::join(sleep, || child.join())),
                        2 => trefoil::fork_join::scope(|scope| {
                            scope.spawn(|_| drop(child.join()));
                            scope.spawn(move |_| sleep());
                        }),
                        3 => {
                            let nested = || trefoil::fork_join::join(sleep, || child.join());
                            drop(trefoil::fork_join::join(nested, sleep));
                        }
                        _ => drop(task::block_in_place(|| child.join())),
                    }
                }
                5 => task::block_in_place(std::thread::yield_now),
                6 if roll(4) == 0 => std::panic::resume_unwind(Box::new("a part of the storm")),
                7 if depth > 0 => {
                    // All of them borrow, and have ended when it is left.
                    let inner = Arc::new(AtomicUsize::new(0));
                    let _ended = Ended(inner.clone());
                    fiber::scope(|scope| {
                        for _ in 0..roll(3) {
                            let (seed, inner) = (roll(u64::MAX >> 33), &inner);
                            let child = scope.spawn(move || {
                                let _inner = Alive::new(inner);
                                grow(seed, depth - 1, alive);
                            });
                            match roll(3) {
                                0 => child.abort(),
                                1 => drop(child.join()),
                                _ => {}
                            }
                        }
                    });
                }
                8 => (0..roll(1000)).for_each(|_| fiber::check!()),
                _ => fiber::wait(async { task::spawn(async {}).await.unwrap() }),
            }
        }
    }
    for round in 0..20u64 {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut builder = Builder::new_multi_thread();
        // In some, the thread in `block_on` takes a worker's place, and guests fork beside it.
        builder.worker_threads(1 + (round % 3) as usize).serve_in_block_on(round % 2 == 1);
        let runtime = builder.enable_all().build().unwrap();
        let guest = (round % 4 == 3).then(|| {
            let handle = runtime.handle().clone();
            std::thread::spawn(move || {
                for _ in 0..100 {
                    let sum = |from| (from..from + 100).sum::<u64>();
                    let forks = || trefoil::fork_join::join(|| sum(0), || sum(1));
                    assert_eq!(handle.install_here(forks), (4950, 5050));
                }
            })
        });
        runtime.block_on(async {
            let mut handles: Vec<_> = (0..100u64)
                .map(|seed| {
                    let alive = alive.clone();
                    fiber::spawn(move || grow(seed * 7919 + round, 3, &alive))
                })
                .collect();
            // Half are waited for, some are aborted, and the others end with the runtime.
            for handle in handles.drain(..50) {
                let _ = handle.await;
            }
            handles.iter().take(25).for_each(task::JoinHandle::abort);
        });
        if let Some(guest) = guest {
            guest.join().unwrap();
        }
        drop(runtime);
        assert_eq!(alive.load(SeqCst), 0, "round {round}");
    }
}
