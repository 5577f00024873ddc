//! No work is left behind while a state is lent, given back and handed over, and it has one owner.

use super::*;
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{AcqRel, AtomicBool, AtomicUsize, Relaxed, SeqCst, fence};
use loom::thread;
use std::sync::Arc;

/// A worker's state: whoever has it may touch it.
struct State(UnsafeCell<u32>);

// SAFETY: whoever has the state has all of it.
unsafe impl Send for State {}

impl State {
    fn touch(&self) {
        // SAFETY: what the model is to show: nobody else has the state.
        self.0.with_mut(|count| unsafe { *count += 1 });
    }
}

/// One worker, a stand-in for it, and somebody who posts work.
struct Model {
    idle: Idle,
    parker: Arc<Parker>,
    loan: Loan<State>,
    /// Work that any worker could do, and work that is for this one only.
    work: AtomicUsize,
    inbox: AtomicBool,
    done: AtomicUsize,
    total: usize,
}

impl Model {
    fn new(total: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(1),
            parker: Arc::new(Parker::new()),
            loan: Loan::new(),
            work: AtomicUsize::new(0),
            inbox: AtomicBool::new(false),
            done: AtomicUsize::new(0),
            total,
        })
    }

    fn place(&self) -> Place<'_> {
        Place { worker: 0, idle: &self.idle, parker: &self.parker }
    }

    /// As `Shared::notify`.
    fn notify(&self) -> bool {
        fence(SeqCst);
        let is_chosen = self.idle.notify().is_some();
        if is_chosen {
            self.parker.unpark();
        }
        is_chosen
    }

    fn post(&self) {
        self.work.fetch_add(1, Relaxed);
        self.notify();
    }

    /// As `Shared::send`.
    fn send(&self) {
        self.inbox.swap(true, AcqRel);
        fence(SeqCst);
        self.parker.unpark();
    }

    fn is_over(&self) -> bool {
        self.done.load(SeqCst) == self.total
    }

    /// As `Shared::look_again`.
    fn look_again(&self) {
        fence(SeqCst);
        if self.work.load(Relaxed) > 0 && !self.notify() {
            self.parker.unpark();
        }
    }

    /// Does what there is, as whoever has the state does, and stops searching.
    fn serve(&self, state: &State, awake: Option<Awake>) {
        state.touch();
        if awake == Some(Awake::Searching) && self.idle.stop_searching() {
            fence(SeqCst);
        }
        let take = |work: usize| work.checked_sub(1);
        while self.work.fetch_update(Relaxed, Relaxed, take).is_ok() {
            self.done.fetch_add(1, SeqCst);
        }
        if self.inbox.load(Relaxed) && self.inbox.swap(false, AcqRel) {
            self.done.fetch_add(1, SeqCst);
        }
    }

    /// The worker's own thread.
    fn own(&self) {
        self.parker.adopt();
        let (mut state, mut awake) = (State(UnsafeCell::new(0)), None);
        loop {
            self.serve(&state, awake);
            if self.is_over() {
                return;
            }
            if self.loan.lend(self.place(), false, state) == Asleep::LookAgain {
                self.look_again();
            }
            let (back, how) = self.loan.wait(self.place(), None, || ());
            state = back;
            awake = match how {
                Back::Woken(awake) => Some(awake),
                Back::Handed => None,
            };
        }
    }

    /// Takes the place, if there is one, serves, and brings the state back.
    fn visit(&self, hands: bool) {
        let Some(state) = self.idle.wake_any(|_| self.loan.borrow()) else { return };
        self.parker.take_seat();
        self.serve(&state, None);
        if hands || self.is_over() || self.inbox.load(Relaxed) {
            assert!(self.loan.has_owner());
            return self.loan.hand(state);
        }
        if self.loan.give_back(self.place(), false, state) == Asleep::LookAgain {
            self.look_again();
        }
    }

    /// A stand-in that sleeps in the worker's place until it is woken for itself.
    fn visit_and_sleep(&self, wanted: &AtomicBool) {
        let Some(state) = self.idle.wake_any(|_| self.loan.borrow()) else { return };
        self.parker.take_seat();
        self.serve(&state, None);
        while !wanted.load(Relaxed) && !self.is_over() {
            if self.idle.sleep(0, false, || ()) == Asleep::LookAgain {
                self.look_again();
            }
            self.parker.park();
            let awake = self.idle.wake(0);
            self.serve(&state, Some(awake));
        }
        self.loan.hand(state);
    }

    /// Ends the worker, which sleeps for ever if all work was done elsewhere.
    fn end(&self) {
        while !self.is_over() {
            thread::yield_now();
        }
        self.parker.unpark();
    }
}

fn check(preemptions: usize, total: usize, visitor: fn(&Model), poster: fn(&Model)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let model = Model::new(total);
        let [own, visits] = [Model::own as fn(&Model), visitor].map(|body| {
            let its = Arc::clone(&model);
            thread::spawn(move || body(&its))
        });
        poster(&model);
        visits.join().unwrap();
        model.end();
        own.join().unwrap();
    });
}

#[test]
fn loom_loan_a_post_meets_a_visitor_that_gives_the_state_back() {
    check(3, 1, |model| model.visit(false), Model::post);
}

#[test]
fn loom_loan_a_post_meets_a_visitor_that_hands_the_state_over() {
    check(3, 1, |model| model.visit(true), Model::post);
}

#[test]
fn loom_loan_a_message_meets_a_visitor_that_gives_the_state_back() {
    // With a higher bound, loom's own mutex panics on an `unpark` of a thread that waits for it.
    check(2, 1, |model| model.visit(false), Model::send);
}

#[test]
fn loom_loan_visitors_come_one_after_another() {
    check(
        3,
        1,
        |model| {
            model.visit(false);
            model.visit(true);
        },
        Model::post,
    );
}

/// A root is woken by a thread that finds the place where the stand-in waits, or did before.
#[test]
fn loom_loan_a_stand_in_that_sleeps_is_woken() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let model = Model::new(1);
        let wanted = Arc::new(AtomicBool::new(false));
        let own = {
            let its = Arc::clone(&model);
            thread::spawn(move || its.own())
        };
        let stands_in = {
            let (its, wanted) = (Arc::clone(&model), Arc::clone(&wanted));
            thread::spawn(move || its.visit_and_sleep(&wanted))
        };
        wanted.store(true, Relaxed);
        model.parker.unpark();
        stands_in.join().unwrap();
        model.post();
        model.end();
        own.join().unwrap();
    });
}
