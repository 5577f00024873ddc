//! When stopped time jumps, and when it must not.

use crate::panic_hook::with_hook;
use std::hint::spin_loop;
use trefoil::runtime::Builder;
use trefoil::task;
use trefoil::time::{Duration, Instant, advance, timeout};

/// The closure ends at any moment of the thread's way to sleep, and wakes the future of `block_on`.
/// Whoever finds the pool idle has to find that future woken as well.
#[test]
fn it_does_not_jump_past_a_closure_that_the_future_of_block_on_waits_for() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    for round in 0..50_000 {
        let elapsed = runtime.block_on(async move {
            let start = Instant::now();
            let closure = task::spawn_blocking(move || (0..round % 600).for_each(|_| spin_loop()));
            timeout(Duration::from_secs(3600), closure).await.expect("it has ended").unwrap();
            start.elapsed()
        });
        assert_eq!(elapsed, Duration::ZERO, "in round {round}");
    }
}

#[test]
fn the_hook_of_a_panic_may_ask_for_the_time() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let handle = runtime.handle().clone();
    let hook = move || {
        let _runtime = handle.enter();
        Instant::now();
    };
    with_hook(hook, move || {
        runtime.block_on(async {
            let before = Instant::now();
            advance(Duration::from_secs(1)).await;
            assert_eq!(before.elapsed(), Duration::from_secs(1));
            advance(Duration::MAX).await;
        });
    });
}
