//! Which worker the calling thread is.

use crate::support::{current_thread, multi};
use trefoil::fork_join::join;
use trefoil::runtime::{LocalRuntime, worker_index};
use trefoil::task;

#[test]
fn there_is_none_on_other_threads() {
    assert_eq!(worker_index(), None);
    let runtime = multi(2);
    assert_eq!(runtime.block_on(async { worker_index() }), None);
    let _guard = runtime.enter();
    assert_eq!(worker_index(), None);
    let spawned = task::spawn_blocking(worker_index);
    assert_eq!(runtime.block_on(spawned).unwrap(), None);
    assert_eq!(runtime.handle().block_on(async { worker_index() }), None);
}

#[test]
fn a_single_thread_is_worker_0() {
    let runtime = current_thread();
    assert_eq!(runtime.block_on(async { worker_index() }), Some(0));
    assert_eq!(runtime.block_on(runtime.spawn(async { worker_index() })).unwrap(), Some(0));
    let spawned = runtime.spawn_blocking(worker_index);
    assert_eq!(runtime.block_on(spawned).unwrap(), None);
    let local = LocalRuntime::new().unwrap();
    assert_eq!(local.block_on(async { worker_index() }), Some(0));
    assert_eq!(worker_index(), None);
}

#[test]
fn a_pinned_task_knows_its_worker() {
    let runtime = multi(4);
    for worker in 0..4 {
        let spawned = runtime.spawn_pinned(worker, async {
            let before = worker_index();
            join(|| (), || ());
            assert_eq!(worker_index(), before);
            assert_eq!(task::block_in_place(worker_index), None);
            task::yield_now().await;
            (before, worker_index())
        });
        assert_eq!(runtime.block_on(spawned).unwrap(), (Some(worker), Some(worker)));
    }
}
