//! Whose turn it is when fibers wake each other beside tasks. Polls are counted, and no time.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::{mpsc, oneshot};
use trefoil::task::{JoinHandle, block_in_place, yield_now};
use trefoil::{fiber, spawn};

fn one_worker() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).build().unwrap()
}

/// Tasks that yield until they are told to stop.
struct Others {
    polls: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<u64>>,
}

impl Others {
    /// `switches` is counted by fibers. Each task returns by how much that grew between two polls
    /// of it, at most.
    fn spawn(number: usize, switches: &Arc<AtomicU64>) -> Self {
        let (polls, is_over) = <(Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let task = |_| {
            let (polls, is_over, switches) = (polls.clone(), is_over.clone(), switches.clone());
            spawn(async move {
                let (mut last, mut most) = (None, 0);
                while !is_over.load(Relaxed) {
                    polls.fetch_add(1, Relaxed);
                    let now = switches.load(Relaxed);
                    most = most.max(now - last.replace(now).unwrap_or(now));
                    yield_now().await;
                }
                most
            })
        };
        let tasks = (0..number).map(task).collect();
        Self { polls, is_over, tasks }
    }

    fn end(self) -> u64 {
        self.is_over.store(true, Relaxed);
        self.tasks.into_iter().map(|task| task.join().unwrap()).max().unwrap()
    }
}

/// As a task would from the LIFO slot.
#[test]
fn a_fiber_that_was_just_woken_on_its_thread_goes_first() {
    let runtime = one_worker();
    let _guard = runtime.enter();
    let root = fiber::spawn(|| {
        let others = Others::spawn(16, &Arc::default());
        let (sender, mut messages) = mpsc::unbounded_channel();
        let (begins, begun) = oneshot::channel();
        let polls = others.polls.clone();
        let receiver = fiber::spawn(move || {
            begins.send(()).unwrap();
            let mut most = 0;
            while let Some(sent) = messages.blocking_recv() {
                most = most.max(polls.load(Relaxed) - sent);
            }
            most
        });
        begun.blocking_recv().unwrap();
        for _ in 0..100 {
            // The receiver waits by then.
            fiber::yield_now();
            sender.send(others.polls.load(Relaxed)).unwrap();
        }
        drop(sender);
        let most = receiver.join().unwrap();
        (most, others.end())
    });
    let (most, _) = root.join().unwrap();
    assert!(most <= 1, "{most} polls of others came first");
}

/// The turns of the LIFO slot: three in a row, between two of which others have theirs.
#[test]
fn fibers_that_keep_each_other_awake_leave_the_others_their_turns() {
    const OTHERS: usize = 4;
    let runtime = one_worker();
    let _guard = runtime.enter();
    let root = fiber::spawn(|| {
        let switches = Arc::new(AtomicU64::new(0));
        let others = Others::spawn(OTHERS, &switches);
        let (there, mut here) = mpsc::unbounded_channel();
        let (back, mut again) = mpsc::unbounded_channel();
        let counted = switches.clone();
        let other = fiber::spawn(move || {
            while let Some(()) = here.blocking_recv() {
                counted.fetch_add(1, Relaxed);
                back.send(()).unwrap();
            }
        });
        let this = fiber::spawn(move || {
            for _ in 0..10_000 {
                there.send(()).unwrap();
                again.blocking_recv().unwrap();
                switches.fetch_add(1, Relaxed);
            }
        });
        this.join().unwrap();
        other.join().unwrap();
        others.end()
    });
    let most = root.join().unwrap();
    // Every fourth turn is one of bound fibers, and so may be three of the others in four.
    let bound = 4 * (OTHERS as u64 + 1);
    assert!(most <= bound, "{most} turns of fibers between two polls of a task, and not {bound}");
}

/// A thread that was just about to run a fiber first, when another became the worker in its place,
/// runs it, even beside fibers that are always ready.
#[test]
fn a_fiber_that_was_to_go_first_has_its_turn_where_its_thread_is_no_worker_any_more() {
    let runtime = one_worker();
    let _guard = runtime.enter();
    let is_over = Arc::new(AtomicBool::new(false));
    let waits_for = is_over.clone();
    let root = fiber::spawn(move || {
        let (sender, receiver) = oneshot::channel();
        let (begins, begun) = oneshot::channel();
        let woken = fiber::spawn(move || {
            begins.send(()).unwrap();
            receiver.blocking_recv().unwrap();
            is_over.store(true, Relaxed);
        });
        begun.blocking_recv().unwrap();
        let ready = |_| {
            let is_over = waits_for.clone();
            let (begins, begun) = oneshot::channel();
            let fiber = fiber::spawn(move || {
                begins.send(()).unwrap();
                (0..10_000).any(|_| {
                    fiber::yield_now();
                    is_over.load(Relaxed)
                })
            });
            begun.blocking_recv().unwrap();
            fiber
        };
        let ready: Vec<_> = (0..2).map(ready).collect();
        let (there, here) = std::sync::mpsc::channel();
        spawn(async move { there.send(()).unwrap() });
        sender.send(()).unwrap();
        // Whoever runs that task is the worker.
        block_in_place(|| here.recv().unwrap());
        woken.join().unwrap();
        ready.into_iter().all(|fiber| fiber.join().unwrap())
    });
    assert!(root.join().unwrap(), "fibers that are always ready came first");
}
