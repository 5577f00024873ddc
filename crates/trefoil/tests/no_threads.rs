//! The system cannot start threads, because their stacks would be larger than any memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use trefoil::runtime::Builder;
use trefoil::task;

const TOO_MUCH: usize = 1 << 50;

#[test]
fn a_runtime_without_workers_is_an_error() {
    for workers in [1, 2, 8] {
        let built = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_stack_size(TOO_MUCH)
            .enable_all()
            .build();
        assert!(built.is_err());
    }
}

#[test]
fn a_closure_that_no_thread_can_run_is_a_panic_for_its_spawner() {
    let runtime =
        Builder::new_current_thread().thread_stack_size(TOO_MUCH).enable_all().build().unwrap();
    let dropped = std::sync::Arc::new(());
    for _ in 0..3 {
        let its = dropped.clone();
        let spawned = catch_unwind(AssertUnwindSafe(|| runtime.spawn_blocking(move || drop(its))));
        let message = *spawned.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("the blocking pool needs a thread"), "{message}");
        assert_eq!(runtime.metrics().num_blocking_threads(), 0);
    }
    assert_eq!(std::sync::Arc::strong_count(&dropped), 1);
    // Everything else still works.
    let task = runtime.spawn(async {
        task::yield_now().await;
        5
    });
    assert_eq!(runtime.block_on(task).unwrap(), 5);
}
