//! Task state, join handle, abort, wake and shutdown under loom.

use super::*;
use crate::primitives::Mutex;
use loom::thread;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A scheduler with one queue, which can be closed.
struct Scheduler {
    queue: Mutex<Option<Vec<Runnable>>>,
}

impl Schedule for Scheduler {
    unsafe fn deliver(this: *const Self, task: Runnable) -> Result<(), Runnable> {
        // SAFETY: `this` came from `Arc::as_ptr`, and is live by the caller's promise.
        unsafe { Arc::increment_strong_count(this) };
        // SAFETY: the count that was just added.
        let this = unsafe { Arc::from_raw(this) };
        match &mut *this.queue.lock() {
            Some(queue) => {
                queue.push(task);
                Ok(())
            }
            None => Err(task),
        }
    }
}

impl Scheduler {
    fn new() -> Arc<Self> {
        Arc::new(Self { queue: Mutex::new(Some(Vec::new())) })
    }

    fn pop(&self) -> Option<Runnable> {
        self.queue.lock().as_mut().and_then(Vec::pop)
    }
}

#[derive(Default)]
struct Worker {
    tasks: OwnedTasks,
    sent_home: Cell<u32>,
}

impl Home for Worker {
    fn index(&self) -> u32 {
        0
    }
    fn tasks(&self) -> &OwnedTasks {
        &self.tasks
    }
    fn send_home(&self, _: u32, _: CompletedTask) {
        self.sent_home.set(self.sent_home.get() + 1);
    }
}

/// Its clones are counted, those in the future and in the output included.
#[derive(Clone)]
struct Alive(
    #[expect(dead_code, reason = "its count is read")] Arc<std::sync::atomic::AtomicUsize>,
);

impl Alive {
    fn new() -> (Self, Arc<std::sync::atomic::AtomicUsize>) {
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        (Self(Arc::clone(&count)), count)
    }
}

/// Leaves its waker in `out` in each of the first `done_after` polls, and then is done.
struct Handshake {
    out: Arc<Mutex<Option<Waker>>>,
    polls: u32,
    done_after: u32,
    _alive: Alive,
}

impl Future for Handshake {
    type Output = Alive;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Alive> {
        self.polls += 1;
        if self.polls > self.done_after {
            return Poll::Ready(self._alive.clone());
        }
        *self.out.lock() = Some(cx.waker().clone());
        Poll::Pending
    }
}

type Slot = Arc<Mutex<Option<Waker>>>;

fn spawn(
    scheduler: &Arc<Scheduler>,
    done_after: u32,
) -> (Slot, JoinHandle<Alive>, Arc<std::sync::atomic::AtomicUsize>) {
    spawn_measured(scheduler, done_after, false)
}

fn spawn_measured(
    scheduler: &Arc<Scheduler>,
    done_after: u32,
    is_measured: bool,
) -> (Slot, JoinHandle<Alive>, Arc<std::sync::atomic::AtomicUsize>) {
    let (alive, count) = Alive::new();
    let out = Arc::new(Mutex::new(None));
    let future = Handshake { out: Arc::clone(&out), polls: 0, done_after, _alive: alive };
    let notes = is_measured.then(|| Notes::new(Origin::here(None), true, None));
    let (task, join) = allocate(future, Arc::as_ptr(scheduler), Id::next(), NO_HOME, notes, None);
    scheduler.queue.lock().as_mut().expect("open").push(task);
    (out, join, count)
}

fn run(worker: &Worker, task: Runnable, scheduler: &Scheduler) {
    match task.run(worker) {
        Ran::Off => {}
        Ran::Woken(task) | Ran::Yielded(task) => {
            scheduler.queue.lock().as_mut().expect("open").push(task);
        }
    }
}

fn count(alive: &Arc<std::sync::atomic::AtomicUsize>) -> usize {
    // One reference is the test's own. Each `Alive` has one more.
    Arc::strong_count(alive) - 1
}

/// Shuts the scheduler down, as the last thread of a runtime does.
fn close(scheduler: &Arc<Scheduler>, worker: &Worker) {
    let left = scheduler.queue.lock().take();
    for task in left.into_iter().flatten() {
        task.cancel(worker);
    }
    cancel_all(scheduler, worker);
}

#[test]
fn loom_a_wake_during_or_after_a_poll_is_not_lost() {
    loom::model(|| wake_while_it_is_polled(false));
}

#[test]
fn loom_a_stamp_is_touched_by_one_at_a_time() {
    loom::model(|| wake_while_it_is_polled(true));
}

fn wake_while_it_is_polled(is_measured: bool) {
    let scheduler = Scheduler::new();
    let worker = Worker::default();
    let (out, join, alive) = spawn_measured(&scheduler, 2, is_measured);
    let first = scheduler.pop().expect("it was spawned");
    run(&worker, first, &scheduler);
    let waker = out.lock().take().expect("it was polled");
    let waking = thread::spawn(move || {
        waker.wake_by_ref();
        waker.wake();
    });
    // If a wake came in time, this poll happens at the same time as the other one.
    if let Some(task) = scheduler.pop() {
        run(&worker, task, &scheduler);
    }
    waking.join().unwrap();
    // The second poll has happened, or the task is queued for it. It leaves a waker again.
    let mut polls = 0;
    loop {
        while let Some(task) = scheduler.pop() {
            polls += 1;
            assert!(polls <= 3);
            run(&worker, task, &scheduler);
        }
        let Some(waker) = out.lock().take() else { break };
        waker.wake();
    }
    assert!(join.is_finished());
    drop(join);
    assert_eq!(count(&alive), 0);
    assert_eq!(worker.tasks.len(), 0);
}

#[test]
fn loom_the_joiner_is_woken_or_finds_the_output() {
    loom::model(|| {
        let scheduler = Scheduler::new();
        let worker = Worker::default();
        let (_out, mut join, alive) = spawn(&scheduler, 0);
        let joining =
            thread::spawn(move || loom::future::block_on(async { (&mut join).await.is_ok() }));
        let task = scheduler.pop().expect("it was spawned");
        run(&worker, task, &scheduler);
        assert!(joining.join().unwrap());
        assert_eq!(count(&alive), 0);
    });
}

#[test]
fn loom_the_output_is_dropped_once_whoever_is_last() {
    loom::model(|| {
        let scheduler = Scheduler::new();
        let worker = Worker::default();
        let (_out, mut join, alive) = spawn(&scheduler, 0);
        let dropping = thread::spawn(move || {
            let mut cx = Context::from_waker(Waker::noop());
            let polled = Pin::new(&mut join).poll(&mut cx);
            drop(join);
            drop(polled);
        });
        let task = scheduler.pop().expect("it was spawned");
        run(&worker, task, &scheduler);
        dropping.join().unwrap();
        assert_eq!(count(&alive), 0);
    });
}

#[test]
fn loom_abort_races_with_a_poll_and_a_wake() {
    loom::model(|| {
        let scheduler = Scheduler::new();
        let worker = Worker::default();
        let (out, join, alive) = spawn(&scheduler, 1);
        let first = scheduler.pop().expect("it was spawned");
        run(&worker, first, &scheduler);
        let waker = out.lock().take().expect("it was polled");
        let abort = join.abort_handle();
        let aborting = thread::spawn(move || abort.abort());
        waker.wake();
        if let Some(task) = scheduler.pop() {
            run(&worker, task, &scheduler);
        }
        aborting.join().unwrap();
        while let Some(task) = scheduler.pop() {
            run(&worker, task, &scheduler);
        }
        assert!(join.is_finished());
        drop(join);
        assert_eq!(count(&alive), 0);
    });
}

#[test]
fn loom_shutdown_races_with_a_waker() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let scheduler = Scheduler::new();
        let worker = Worker::default();
        let (out, join, alive) = spawn(&scheduler, 5);
        let first = scheduler.pop().expect("it was spawned");
        run(&worker, first, &scheduler);
        let waker = out.lock().take().expect("it was polled");
        let second = waker.clone();
        let waking = thread::spawn(move || {
            waker.wake_by_ref();
            drop(waker);
        });
        let abort = join.abort_handle();
        let aborting = thread::spawn(move || {
            abort.abort();
            second.wake();
        });
        close(&scheduler, &worker);
        assert!(join.is_finished());
        assert_eq!(worker.tasks.len(), 0);
        // This is the last `Arc` of the runtime, except the counts that were left for wakers.
        let weak = Arc::downgrade(&scheduler);
        drop(scheduler);
        drop(join);
        waking.join().unwrap();
        aborting.join().unwrap();
        assert_eq!(weak.strong_count(), 0);
        assert_eq!(count(&alive), 0);
    });
}

/// A fiber in a scope rests, or is about to, while somebody aborts it: it is polled once more, and
/// sees that.
#[test]
fn loom_an_abort_of_a_shielded_task_is_seen_in_a_poll() {
    use super::state::{Idle, Start, State, Wake};

    /// Whoever has the queue entry polls.
    fn poll(state: &State) -> bool {
        loop {
            assert_eq!(state.start(), Start::Poll, "it is shielded");
            if state.is_cancelled() {
                state.unshield();
                assert_eq!(state.idle(), Idle::Parked);
                return true;
            }
            if state.idle() == Idle::Parked {
                return false;
            }
        }
    }

    loom::model(|| {
        let state = Arc::new(State::new());
        assert_eq!(state.start(), Start::Poll);
        state.shield();
        let aborting = {
            let state = Arc::clone(&state);
            thread::spawn(move || state.cancel() == Wake::Schedule && poll(&state))
        };
        let here = state.idle() == Idle::Rescheduled && poll(&state);
        let there = aborting.join().unwrap();
        assert!(here != there, "{here} {there}");
        // A later wake-up drops the future.
        assert_eq!(state.wake(), Wake::Schedule);
        assert_eq!(state.start(), Start::Cancel);
    });
}
