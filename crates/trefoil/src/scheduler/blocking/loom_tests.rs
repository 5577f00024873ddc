//! The pool under loom: closures are spawned while threads end.

use super::*;
use crate::primitives::atomic::{AtomicBool, SeqCst};
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

/// A thread of the pool that has lost its worker, and has one fiber.
struct Host {
    pool: Arc<Pool>,
    handle: Handle,
    parker: Arc<Parker>,
    /// Its fiber has ended.
    is_over: Arc<AtomicBool>,
}

impl Host {
    fn new(runtime: &Runtime) -> Self {
        let pool = pool(runtime);
        // As after `Pool::start`, in the body.
        let mut state = pool.state.lock();
        state.threads += 1;
        state.workers += 1;
        drop(state);
        Self {
            pool,
            handle: runtime.handle().clone(),
            parker: Arc::new(Parker::new()),
            is_over: Arc::default(),
        }
    }

    /// Has the fiber end, from another thread.
    fn end(&self) -> impl FnOnce() + Send + 'static {
        let (parker, is_over) = (Arc::clone(&self.parker), Arc::clone(&self.is_over));
        move || {
            is_over.store(true, SeqCst);
            parker.unpark();
        }
    }

    /// As `WorkerThread::serve_as_host`. Each worker that it is given ends at once.
    fn serve(&self) {
        self.parker.adopt();
        loop {
            self.pool.begin_hosting(&self.handle);
            let Some(body) = self.serve_until_body() else { break };
            (body.run)(By::Free);
        }
        self.pool.end_hosting();
        // The worker's body ends, and the thread is one of the pool's.
        self.pool.state.lock().end_body();
        self.pool.serve(&self.handle);
    }

    fn serve_until_body(&self) -> Option<Body> {
        while !self.is_over.load(SeqCst) {
            let body = self.pool.host_rests(&self.handle, &self.parker).or_else(|| {
                self.parker.park();
                self.pool.host_wakes(&self.handle, &self.parker)
            });
            if body.is_some() {
                return body;
            }
        }
        None
    }
}

/// A worker that needs a thread. `run` is what it does.
fn body(run: impl FnOnce(By<'_>) + Send + 'static) -> Body {
    Body { worker: 0, blocked: 0, is_reserved: false, run: Box::new(run) }
}

/// What the pool counts, once all of its threads have ended.
fn check_over(runtime: Runtime, pool: &Arc<Pool>) {
    let handle = runtime.handle().clone();
    drop(runtime);
    pool.wait_over(&handle, None);
    let state = pool.state.lock();
    assert_eq!((state.threads, state.workers, state.hosts), (0, 0, 0));
    assert!(state.resting_hosts.is_empty() && !state.has_work());
    assert_eq!(state.outstanding, 0);
}

/// The only thread of the limit becomes a host while a closure comes that its fiber waits for.
#[test]
fn loom_blocking_host_leaves_the_limit_to_a_closure() {
    model(2, || {
        let runtime = runtime(1);
        let pool = pool(&runtime);
        let host = Host::new(&runtime);
        let end = host.end();
        let hosting = thread::spawn(move || host.serve());
        drop(runtime.spawn_blocking(end));
        check_over(runtime, &pool);
        hosting.join().unwrap();
    });
}

/// A host rests, or is about to, or ends, when a worker needs a thread and a closure comes. Both
/// run, whoever runs them, and no thread is started beyond the limit.
#[test]
fn loom_blocking_host_rests_while_a_body_and_a_closure_come() {
    model(1, || {
        let runtime = runtime(1);
        let pool = pool(&runtime);
        let host = Host::new(&runtime);
        let (end, has_run) = (host.end(), Arc::new(AtomicBool::new(false)));
        let hosting = thread::spawn(move || host.serve());
        let runs = Arc::clone(&has_run);
        assert!(pool.run(runtime.handle(), || Some(body(move |_| runs.store(true, SeqCst)))));
        let closure = runtime.spawn_blocking(end);
        assert_eq!(loom::future::block_on(closure).ok(), Some(()));
        // The host, and one.
        assert!(pool.state.lock().threads <= 2);
        check_over(runtime, &pool);
        hosting.join().unwrap();
        assert!(has_run.load(SeqCst), "nobody has run it");
    });
}

/// The limit is reached, and a host is about to rest: it is the only thread that a worker can have.
#[test]
fn loom_blocking_host_is_a_worker_where_no_thread_may_be_started() {
    model(2, || {
        let runtime = runtime(1);
        let pool = pool(&runtime);
        // Of a thread that blocks.
        pool.state.lock().threads += 1;
        let host = Host::new(&runtime);
        let end = host.end();
        let hosting = thread::spawn(move || host.serve());
        let (says, said) = crate::sync::oneshot::channel();
        let run = move |by: By<'_>| {
            end();
            says.send(matches!(by, By::New)).unwrap();
        };
        assert!(pool.run(runtime.handle(), || Some(body(run))));
        let is_new = loom::future::block_on(said).unwrap();
        assert!(!is_new, "a thread was started beyond the limit");
        pool.state.lock().threads -= 1;
        check_over(runtime, &pool);
        hosting.join().unwrap();
    });
}

/// A host that rests is on its way for a worker when a closure comes, for which nobody is chosen
/// then. The worker waits for the closure, so the host has to see to it first.
#[test]
fn loom_blocking_host_has_a_closure_run_before_it_is_a_worker() {
    model(2, || {
        // The host as a worker, and one.
        let runtime = runtime(2);
        let pool = pool(&runtime);
        let host = Host::new(&runtime);
        let end = host.end();
        let hosting = thread::spawn(move || host.serve());
        let (says, said) = crate::sync::oneshot::channel();
        let run = move |_: By<'_>| {
            loom::future::block_on(said).unwrap();
            end();
        };
        assert!(pool.run(runtime.handle(), || Some(body(run))));
        drop(runtime.spawn_blocking(move || says.send(()).unwrap()));
        check_over(runtime, &pool);
        hosting.join().unwrap();
    });
}
