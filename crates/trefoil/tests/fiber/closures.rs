//! The closures that fibers begin with, and those of their forks.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::watch::{drop_returns, receive, wait_for};
use crate::support::{Hasty, multi};
use std::sync::Arc;
use trefoil::runtime::Runtime;
use trefoil::sync::oneshot;
use trefoil::{fiber, task};

#[test]
fn a_fiber_may_begin_with_any_number_of_bytes() {
    #[repr(align(128))]
    struct Aligned([u8; 128]);

    fn begins<const N: usize>(runtime: &Runtime) {
        let bytes = [7_u8; N];
        let counts = move || bytes.iter().map(|&byte| usize::from(byte)).sum::<usize>();
        let fiber = runtime.block_on(async move {
            fiber::Builder::new().stack_size(1 << 20).spawn(counts).unwrap().await
        });
        assert_eq!(fiber.unwrap(), 7 * N, "{N} bytes");
    }

    for runtime in [multi(1), multi(2)] {
        begins::<0>(&runtime);
        begins::<511>(&runtime);
        begins::<513>(&runtime);
        begins::<1016>(&runtime);
        begins::<1017>(&runtime);
        begins::<1025>(&runtime);
        begins::<4096>(&runtime);
        begins::<20_000>(&runtime);
        let aligned = Aligned([1; 128]);
        let is_aligned = runtime.block_on(async move {
            let is_aligned = move || {
                let aligned = &aligned;
                (&raw const aligned.0).addr().is_multiple_of(128) && aligned.0 == [1; 128]
            };
            fiber::spawn(is_aligned).await
        });
        assert!(is_aligned.unwrap());
        // One that is aborted before it begins drops what it has.
        let kept = Arc::new(());
        let (mut bytes, its) = ([0_u8; 4096], kept.clone());
        let fiber = runtime.spawn(async move {
            let fiber = fiber::spawn(move || {
                bytes[0] += 1;
                std::hint::black_box(&bytes);
                drop(its);
            });
            fiber.abort();
            drop(fiber.await);
        });
        runtime.block_on(fiber).unwrap();
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}

/// So many threads block in place that the fiber's has no deque, and then there is one for it: the
/// fork takes it, and its closures are still the fiber's own code.
#[test]
fn a_fork_waits_on_a_thread_that_takes_a_deque_late() {
    // One for the worker, and as many as there are to spare (`fork_join/deques.rs`).
    const DEQUES: usize = 65;
    let runtime = Hasty(Some(multi(1)));
    let guard = runtime.enter();
    let (says, said) = std::sync::mpsc::channel();
    let ends: Vec<_> = (0..DEQUES)
        .map(|_| {
            let (end, has_ended) = std::sync::mpsc::channel::<()>();
            let says = says.clone();
            drop(task::spawn(async move {
                task::block_in_place(|| {
                    says.send(()).unwrap();
                    let _ = has_ended.recv();
                });
            }));
            receive("a thread with a deque blocks", &said);
            end
        })
        .collect();
    let (go, may_go) = oneshot::channel::<()>();
    let (joins, has_joined) = std::sync::mpsc::channel();
    let fiber = fiber::spawn(move || {
        says.send(()).unwrap();
        fiber::wait(may_go).unwrap();
        let waits = || {
            let (wakes, woken) = oneshot::channel();
            drop(task::spawn(async move { wakes.send(fiber::current()).unwrap() }));
            assert_eq!(fiber::wait(woken).unwrap(), None);
            let mut scoped = 0;
            fiber::scope(|scope| drop(scope.spawn(|| scoped = 1)));
            fiber::current().map(|fiber| (fiber.id(), scoped))
        };
        joins.send(trefoil::fork_join::join(waits, waits)).unwrap();
    });
    receive("a fiber on a thread without one", &said);
    drop(ends);
    let is_back = || runtime.metrics().num_idle_blocking_threads() == DEQUES;
    wait_for("the threads give their deques back", is_back);
    go.send(()).unwrap();
    let joined = receive("a fork that waits", &has_joined);
    assert_eq!(joined, (Some((fiber.id(), 1)), Some((fiber.id(), 1))));
    drop(guard);
    drop_returns("the drop of a runtime whose threads have blocked", runtime);
}
