//! Foreign code that a worker runs between polls (wakers, hooks, destructors), and that blocks in
//! place or forks there.

mod support;

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;
use support::{multi, start_workers, that_waits};
use trefoil::fork_join;
use trefoil::runtime::{Builder, Handle, Runtime};
use trefoil::task::{self, LocalSet};

fn runtimes() -> Vec<Runtime> {
    [1, 2, 3].map(multi).into()
}

/// Blocks in place and forks, and counts that it did. With more than one worker, it also waits for
/// a task there, which another worker then has to run.
#[derive(Clone)]
struct Blocks {
    done: Arc<AtomicUsize>,
    waits_for_a_task: bool,
}

impl Blocks {
    fn new(runtime: &Runtime) -> Self {
        let workers = runtime.metrics().num_workers();
        Self { done: Arc::default(), waits_for_a_task: workers > 1 }
    }

    fn act(&self) {
        // A task for the LIFO slot, if this thread is a worker.
        let (sender, receiver) = mpsc::channel();
        let waits = self.waits_for_a_task;
        if waits {
            trefoil::spawn(async move { sender.send(()).unwrap() });
        }
        task::block_in_place(|| {
            if waits {
                receiver.recv().unwrap();
            }
        });
        assert_eq!(fork_join::join(|| 1, || 2), (1, 2));
        self.done.fetch_add(1, SeqCst);
    }

    fn count(&self) -> usize {
        self.done.load(SeqCst)
    }
}

impl Wake for Blocks {
    fn wake(self: Arc<Self>) {
        self.act();
    }
}

/// Acts when it is dropped.
struct OnDrop(Blocks);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.act();
    }
}

/// When it is dropped, with a set of local tasks, it tries to block, and forks.
struct ForksOnDrop(Blocks);

impl Drop for ForksOnDrop {
    fn drop(&mut self) {
        let blocks = || task::block_in_place(|| ());
        assert!(std::panic::catch_unwind(blocks).is_err(), "a set of local tasks may not block");
        assert_eq!(fork_join::join(|| 1, || 2), (1, 2));
        self.0.done.fetch_add(1, SeqCst);
    }
}

/// Checks that the runtime still works.
fn still_works(runtime: &Runtime) {
    let sum = runtime.block_on(async {
        let tasks: Vec<_> = (0..100u64)
            .map(|n| {
                trefoil::spawn(async move {
                    task::yield_now().await;
                    trefoil::time::sleep(Duration::from_micros(n)).await;
                    n
                })
            })
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 4950);
}

/// Polls a future once, with a waker that is not the task's.
fn poll_with<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Waits until the count is reached, without keeping a worker busy: a busy worker would not steal
/// from the worker that blocks.
async fn reaches(blocks: &Blocks, count: usize) {
    while blocks.count() < count {
        trefoil::time::sleep(Duration::from_micros(300)).await;
    }
}

#[test]
fn a_deferred_waker_blocks() {
    for runtime in runtimes() {
        let blocks = Blocks::new(&runtime);
        let its = blocks.clone();
        let task = runtime.spawn(async move {
            let waker = Waker::from(Arc::new(its.clone()));
            for round in 1..4 {
                let mut yielding = pin!(task::yield_now());
                assert!(poll_with(yielding.as_mut(), &waker).is_pending());
                reaches(&its, round).await;
            }
        });
        runtime.block_on(task).unwrap();
        assert_eq!(blocks.count(), 3);
        still_works(&runtime);
    }
}

#[test]
fn the_clone_of_a_waker_blocks() {
    const VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| {}, |_| {}, |_| {});
    fn clone(blocks: *const ()) -> RawWaker {
        // SAFETY: the waker is made from a reference that outlives it.
        unsafe { &*blocks.cast::<Blocks>() }.act();
        RawWaker::new(blocks, &VTABLE)
    }
    for runtime in runtimes() {
        let blocks = Blocks::new(&runtime);
        let leaked: &'static Blocks = Box::leak(Box::new(blocks.clone()));
        let task = runtime.spawn(async move {
            let raw = RawWaker::new(std::ptr::from_ref(leaked).cast(), &VTABLE);
            // SAFETY: the functions only read what was leaked.
            let waker = unsafe { Waker::from_raw(raw) };
            let mut yielding = pin!(task::yield_now());
            assert!(poll_with(yielding.as_mut(), &waker).is_pending());
        });
        runtime.block_on(task).unwrap();
        assert_eq!(blocks.count(), 1);
        still_works(&runtime);
    }
}

#[test]
fn the_waker_of_a_timer_blocks() {
    for runtime in runtimes() {
        let blocks = Blocks::new(&runtime);
        let its = blocks.clone();
        let task = runtime.spawn(async move {
            let waker = Waker::from(Arc::new(its.clone()));
            let soon = || Box::pin(trefoil::time::sleep(Duration::from_millis(1)));
            let _sleeps: [_; 3] = std::array::from_fn(|_| that_waits(&waker, soon));
            // This waker is in the same batch, and its task must run as well.
            trefoil::time::sleep(Duration::from_millis(1)).await;
            reaches(&its, 3).await;
        });
        runtime.block_on(task).unwrap();
        assert_eq!(blocks.count(), 3);
        still_works(&runtime);
    }
}

#[test]
fn the_waker_of_a_joiner_blocks() {
    for runtime in runtimes() {
        let blocks = Blocks::new(&runtime);
        let mut task = runtime.spawn(async { task::yield_now().await });
        let waker = Waker::from(Arc::new(blocks.clone()));
        // It may or may not have ended already.
        if poll_with(Pin::new(&mut task), &waker).is_pending() {
            runtime.block_on(reaches(&blocks, 1));
        }
        still_works(&runtime);
    }
}

/// Runs a runtime whose hooks call `act`. Returns how many threads it started, and how often `act`
/// was called.
fn with_hooks(workers: usize, act: fn()) -> (usize, usize) {
    let calls = Arc::new(AtomicUsize::new(0));
    let hook = |calls: &Arc<AtomicUsize>| {
        let calls = calls.clone();
        move || {
            act();
            calls.fetch_add(1, SeqCst);
        }
    };
    let threads = Arc::new(AtomicUsize::new(0));
    let started = threads.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .on_thread_start(move || {
            started.fetch_add(1, SeqCst);
            act();
        })
        .on_thread_park(hook(&calls))
        .on_thread_unpark(hook(&calls))
        .on_thread_stop(hook(&calls))
        .build()
        .unwrap();
    start_workers(&runtime);
    for _ in 0..20 {
        still_works(&runtime);
    }
    drop(runtime);
    (threads.load(SeqCst), calls.load(SeqCst))
}

#[test]
fn hooks_block() {
    for workers in [1, 2, 3] {
        let (threads, calls) = with_hooks(workers, || task::block_in_place(|| ()));
        assert!(calls > 0);
        // A hook does not give the worker state away.
        assert_eq!(threads, workers);
    }
}

/// Jobs that a hook forks may be stolen, and a thread may be replaced while it runs one.
#[test]
fn hooks_fork() {
    for workers in [1, 2, 3] {
        let (threads, calls) =
            with_hooks(workers, || assert_eq!(fork_join::join(|| 1, || 2), (1, 2)));
        assert!(calls > 0);
        assert!(threads >= workers);
    }
}

#[test]
fn the_destructor_of_an_output_blocks() {
    for runtime in runtimes() {
        let blocks = Blocks::new(&runtime);
        // If the task has ended by then, this thread drops the output.
        let _context = runtime.enter();
        for rests in [false, true] {
            let before = blocks.count();
            // Nobody joins the task, so the worker drops the output.
            let its = blocks.clone();
            drop(runtime.spawn(async move {
                if rests {
                    task::yield_now().await;
                }
                OnDrop(its)
            }));
            runtime.block_on(reaches(&blocks, before + 1));
            // Another task drops the output, with the handle.
            let its = blocks.clone();
            let task = runtime.spawn(async move {
                if rests {
                    trefoil::time::sleep(Duration::from_millis(1)).await;
                }
                OnDrop(its)
            });
            let dropping = runtime.spawn(async move {
                while !task.is_finished() {
                    task::yield_now().await;
                }
                drop(task);
            });
            runtime.block_on(dropping).unwrap();
            assert_eq!(blocks.count(), before + 2);
        }
        still_works(&runtime);
    }
}

#[test]
fn the_destructor_of_a_future_blocks() {
    for runtime in runtimes() {
        let blocks = Blocks::new(&runtime);
        for round in 0..3 {
            let guard = OnDrop(blocks.clone());
            let task = runtime.spawn(async move {
                let _guard = guard;
                match round {
                    0 => {}
                    1 => pending().await,
                    _ => std::panic::resume_unwind(Box::new("a panic")),
                }
            });
            task.abort();
            let _ = runtime.block_on(task);
        }
        assert_eq!(blocks.count(), 3);
        still_works(&runtime);
    }
}

#[test]
fn the_destructor_of_a_local_task_forks() {
    for runtime in runtimes() {
        let blocks = Blocks::new(&runtime);
        for polled in [false, true] {
            let before = blocks.count();
            let its = blocks.clone();
            let task = runtime.spawn(async move {
                poll_fn(|cx| {
                    let set = LocalSet::new();
                    let guard = ForksOnDrop(its.clone());
                    let local = set.spawn_local(async move {
                        let _guard = guard;
                        pending::<()>().await;
                    });
                    if polled {
                        assert!(pin!(set.run_until(pending::<()>())).poll(cx).is_pending());
                    }
                    drop(set);
                    assert!(local.is_finished());
                    Poll::Ready(())
                })
                .await;
                task::yield_now().await;
            });
            runtime.block_on(task).unwrap();
            assert_eq!(blocks.count(), before + 1);
        }
        still_works(&runtime);
    }
}

#[test]
fn the_destructor_of_a_closure_that_is_refused_blocks() {
    for runtime in runtimes() {
        // By then the other workers may have left.
        let blocks = Blocks { waits_for_a_task: false, ..Blocks::new(&runtime) };
        let its = blocks.clone();
        let (over, is_over) = mpsc::channel::<()>();
        let (ended, has_ended) = mpsc::channel();
        let (started, has_started) = mpsc::channel();
        runtime.spawn(async move {
            started.send(()).unwrap();
            is_over.recv().unwrap();
            let guard = OnDrop(its);
            let refused = Handle::current().spawn_blocking(move || drop(guard));
            assert!(refused.is_finished());
            ended.send(()).unwrap();
        });
        has_started.recv().unwrap();
        runtime.shutdown_background();
        over.send(()).unwrap();
        has_ended.recv().unwrap();
        assert_eq!(blocks.count(), 1);
    }
}

#[test]
fn a_name_that_panics_is_replaced() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name_fn(|| std::panic::resume_unwind(Box::new("no name")))
        .build()
        .unwrap();
    let name = runtime.spawn(async {
        task::block_in_place(|| ());
        task::spawn_blocking(|| std::thread::current().name().map(String::from)).await.unwrap()
    });
    assert!(runtime.block_on(name).unwrap().is_some());
}

#[test]
fn what_was_deferred_is_woken_before_its_worker_blocks() {
    for runtime in runtimes() {
        let (woken, is_woken) = mpsc::channel();
        struct Tells(mpsc::Sender<()>);
        impl Wake for Tells {
            fn wake(self: Arc<Self>) {
                self.0.send(()).unwrap();
            }
        }
        let task = runtime.spawn(async move {
            let waker = Waker::from(Arc::new(Tells(woken)));
            let mut yielding = pin!(task::yield_now());
            assert!(poll_with(yielding.as_mut(), &waker).is_pending());
            task::block_in_place(|| is_woken.try_recv().unwrap());
        });
        runtime.block_on(task).unwrap();
    }
}
