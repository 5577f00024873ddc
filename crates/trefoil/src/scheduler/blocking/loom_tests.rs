//! The pool under loom: closures are spawned while threads end.

use super::*;
use crate::runtime::{Builder, Runtime};
use loom::thread;

fn runtime(max_threads: usize) -> Runtime {
    Builder::new_current_thread().max_blocking_threads(max_threads).build().expect("no threads yet")
}

fn pool(runtime: &Runtime) -> Arc<Pool> {
    Arc::clone(&runtime.handle().common().blocking)
}

fn model(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

/// A closure that no thread runs is a deadlock, which loom reports.
#[test]
fn loom_blocking_closure_comes_while_the_last_idle_thread_goes() {
    model(1, || {
        let runtime = runtime(1);
        let first = runtime.spawn_blocking(|| 1);
        let pool = pool(&runtime);
        let clock = thread::spawn(move || pool.work.expire());
        assert_eq!(loom::future::block_on(first).unwrap(), 1);
        // The thread waits, or its wait has timed out, or it has ended.
        let second = runtime.spawn_blocking(|| 2);
        assert_eq!(loom::future::block_on(second).unwrap(), 2);
        clock.join().unwrap();
        drop(runtime);
    });
}

/// Two closures of which one waits for the other need two threads.
#[test]
fn loom_blocking_closures_that_need_each_other_get_threads() {
    model(1, || {
        let runtime = runtime(2);
        let (sender, receiver) = crate::sync::oneshot::channel();
        let first = runtime.spawn_blocking(|| loom::future::block_on(receiver).unwrap());
        let second = runtime.spawn_blocking(|| sender.send(3).unwrap());
        assert_eq!(loom::future::block_on(first).unwrap(), 3);
        drop(second);
        drop(runtime);
    });
}

#[test]
fn loom_blocking_end_races_with_a_closure() {
    model(2, || {
        let runtime = runtime(1);
        let count = Arc::new(());
        let (handle, its) = (runtime.handle().clone(), Arc::clone(&count));
        let spawning = thread::spawn(move || handle.spawn_blocking(move || drop(its)));
        let (pool, its_handle) = (pool(&runtime), runtime.handle().clone());
        drop(runtime);
        // The closure runs, is cancelled, or is refused. In each case it is dropped.
        let join = spawning.join().unwrap();
        let _ = loom::future::block_on(join);
        assert_eq!(Arc::strong_count(&count), 1);
        pool.wait_over(&its_handle, None);
        assert_eq!(pool.threads(), 0);
    });
}

/// The end waits for whatever comes last: the scheduler's tasks or a thread. Who is not woken
/// waits for ever.
#[test]
fn loom_blocking_end_waits_for_tasks_and_threads() {
    model(2, || {
        let runtime = runtime(1);
        let (pool, its_handle) = (pool(&runtime), runtime.handle().clone());
        // As in a multi-thread runtime.
        pool.state.lock().has_tasks = true;
        drop(runtime.spawn_blocking(|| ()));
        let its_pool = Arc::clone(&pool);
        let scheduler = thread::spawn(move || its_pool.tasks_are_gone());
        drop(runtime);
        assert!(pool.state.lock().is_over());
        scheduler.join().unwrap();
        pool.wait_over(&its_handle, None);
    });
}
