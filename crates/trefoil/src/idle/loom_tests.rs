//! No work is left behind by sleepers: the protocol with a queue and parkers.

use super::*;
use crate::primitives::atomic::{AcqRel, AtomicUsize, Relaxed, fence};
use crate::primitives::parker::Parker;
use loom::thread;
use std::sync::Arc;

/// The worker's part of the protocol, as `multi::worker` plays it.
struct Pool {
    idle: Idle,
    /// Work that is visible; taken by whoever decrements it.
    work: AtomicUsize,
    done: AtomicUsize,
    total: usize,
    parkers: Vec<Parker>,
}

impl Pool {
    fn new(workers: u32, total: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(workers),
            work: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            total,
            parkers: (0..workers).map(|_| Parker::new()).collect(),
        })
    }

    fn push(&self) {
        self.work.fetch_add(1, Relaxed);
        fence(SeqCst);
        self.notify();
    }

    fn notify(&self) -> bool {
        let Some(worker) = self.idle.notify() else { return false };
        self.parkers[worker as usize].unpark();
        true
    }

    fn take(&self) -> bool {
        self.work.fetch_update(Relaxed, Relaxed, |work| work.checked_sub(1)).is_ok()
    }

    /// A guest comes and goes; meanwhile, its worker may get a message.
    fn visit(&self, sends_message: bool) {
        let Some(worker) = self.idle.cover(|_| ()) else { return };
        // Work that comes here is what the worker would have been woken for.
        if sends_message {
            self.parkers[worker as usize].unpark();
        }
        match self.idle.uncover(worker, || ()) {
            Some(Asleep::LookAgain) => self.look_again(worker),
            Some(Asleep::OthersSearch) => {}
            None => drop(self.parkers[worker as usize].unpark()),
        }
    }

    fn look_again(&self, worker: u32) {
        fence(SeqCst);
        if self.work.load(Relaxed) > 0 && !self.notify() {
            self.parkers[worker as usize].unpark();
        }
    }

    fn is_over(&self) -> bool {
        self.done.load(SeqCst) == self.total
    }

    fn work(&self, worker: u32) {
        self.parkers[worker as usize].adopt();
        let mut is_searching = false;
        loop {
            if self.is_over() {
                return;
            }
            if !is_searching {
                is_searching = self.idle.start_searching();
            }
            if is_searching && self.take() {
                is_searching = false;
                if self.idle.stop_searching() {
                    fence(SeqCst);
                    if self.work.load(Relaxed) > 0 {
                        self.notify();
                    }
                }
                if self.done.fetch_add(1, SeqCst) + 1 == self.total {
                    for parker in &self.parkers {
                        parker.unpark();
                    }
                }
                continue;
            }
            if self.idle.sleep(worker, std::mem::take(&mut is_searching), || ())
                == Asleep::LookAgain
            {
                self.look_again(worker);
            }
            if self.is_over() {
                return;
            }
            // Work that nobody comes for is a deadlock here.
            self.parkers[worker as usize].park();
            is_searching = self.idle.wake(worker) == Awake::Searching;
        }
    }
}

#[test]
fn loom_idle_one_worker_and_a_foreign_pusher() {
    loom::model(|| {
        let pool = Pool::new(1, 2);
        let theirs = Arc::clone(&pool);
        let worker = thread::spawn(move || theirs.work(0));
        pool.push();
        pool.push();
        worker.join().unwrap();
    });
}

#[test]
fn loom_idle_one_worker_a_guest_and_a_foreign_pusher() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let pool = Pool::new(1, 1);
        let theirs = Arc::clone(&pool);
        let worker = thread::spawn(move || theirs.work(0));
        let theirs = Arc::clone(&pool);
        let guest = thread::spawn(move || {
            theirs.visit(true);
            theirs.visit(false);
        });
        pool.push();
        guest.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn loom_idle_two_workers_and_a_foreign_pusher() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let pool = Pool::new(2, 1);
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let theirs = Arc::clone(&pool);
                thread::spawn(move || theirs.work(worker))
            })
            .collect();
        pool.push();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// A worker that blocks was chosen, and has no thread yet, so it is to be counted as busy.
/// Meanwhile a thread becomes the worker, and blocks in turn: it can be chosen again.
#[test]
fn loom_a_sleep_is_ended_once_and_no_later_one() {
    loom::model(|| {
        let idle = Arc::new(Idle::new(1));
        // Which sleep it is, as in `multi::Remote`.
        let sleep = Arc::new(AtomicU64::new(0));
        let fall_asleep = |number| idle.sleep(0, false, || sleep.store(number, Relaxed));
        assert_eq!(fall_asleep(1), Asleep::LookAgain);
        assert_eq!(idle.notify(), Some(0));
        fn end_first(idle: &Idle, sleep: &AtomicU64) {
            let is_ours = || sleep.compare_exchange(1, 0, AcqRel, Relaxed).is_ok();
            if idle.wake_if(0, is_ours) == Some(Awake::Searching) {
                let _ = idle.stop_searching();
            }
        }
        let counting = {
            let (idle, sleep) = (Arc::clone(&idle), Arc::clone(&sleep));
            thread::spawn(move || end_first(&idle, &sleep))
        };
        end_first(&idle, &sleep);
        let _ = fall_asleep(2);
        counting.join().unwrap();
        assert_eq!(idle.counts(), (0, 1));
        assert_eq!(idle.notify(), Some(0));
    });
}
