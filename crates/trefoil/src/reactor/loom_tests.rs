//! Events, waits and sleeps under loom.

use super::lease::{Lease, sleep_with};
use super::slot::{Direction, Slot};
use super::{Ready, Wakes};
use crate::idle::{Asleep, Awake, Idle};
use crate::primitives::atomic::{AtomicBool, AtomicU32, Relaxed, SeqCst, fence};
use crate::primitives::parker::{Interrupt, Parker};
use crate::primitives::{Condvar, Mutex};
use loom::thread;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A source, as the system sees it: it has so much to read.
#[derive(Debug, Default)]
struct File(AtomicU32);

impl File {
    fn read(&self) -> bool {
        self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}

fn announce(slot: &Slot, now: Ready) {
    let mut wakes = Wakes::default();
    slot.announce(slot.generation(), now, &mut wakes);
    wakes.wake();
}

/// Reads as `Registration::poll_io` does.
fn read(slot: &Slot, file: &File) {
    loom::future::block_on(poll_fn(|cx| {
        loop {
            let Some(event) = slot.wait(Direction::Read, Direction::Read.mask(), cx.waker()) else {
                return Poll::Pending;
            };
            if file.read() {
                return Poll::Ready(());
            }
            slot.clear(event);
        }
    }));
}

/// A reader that relies on an old event clears it while a new one comes. If the new one is lost,
/// the reader waits for ever, which loom reports.
#[test]
fn loom_what_is_cleared_is_never_a_newer_event() {
    loom::model(|| {
        let (slot, file) = (Arc::new(Slot::new()), Arc::new(File::default()));
        announce(&slot, Ready::READABLE);
        let (its, theirs) = (Arc::clone(&slot), Arc::clone(&file));
        let system = thread::spawn(move || {
            theirs.0.fetch_add(1, SeqCst);
            announce(&its, Ready::READABLE);
        });
        read(&slot, &file);
        system.join().unwrap();
    });
}

/// One event for each side, and one task at each.
#[test]
fn loom_the_two_sides_do_not_disturb_each_other() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let its = Arc::clone(&slot);
        let system = thread::spawn(move || {
            announce(&its, Ready::WRITABLE);
            announce(&its, Ready::READABLE);
        });
        for direction in [Direction::Read, Direction::Write] {
            let event = loom::future::block_on(poll_fn(|cx| {
                slot.wait(direction, direction.mask(), cx.waker())
                    .map_or(Poll::Pending, Poll::Ready)
            }));
            assert!(event.ready.intersects(direction.mask()));
        }
        system.join().unwrap();
    });
}

/// Two tasks on the list, of which one gives up.
#[test]
fn loom_all_on_the_list_are_woken_and_one_gives_up() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let (mut first, mut second) = (None, None);
        assert!(slot.wait_on_list(Ready::READABLE, &mut first, Waker::noop()).is_none());
        let its = Arc::clone(&slot);
        let system = thread::spawn(move || announce(&its, Ready::READABLE));
        slot.leave_list(first.unwrap());
        loom::future::block_on(poll_fn(|cx| {
            slot.wait_on_list(Ready::READABLE, &mut second, cx.waker())
                .map_or(Poll::Pending, |_| Poll::Ready(()))
        }));
        system.join().unwrap();
    });
}

/// The source leaves while an event comes for it: its successor sees nothing.
#[test]
fn loom_an_event_does_not_reach_the_next_source() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let old = slot.generation();
        let its = Arc::clone(&slot);
        let system = thread::spawn(move || {
            let mut wakes = Wakes::default();
            its.announce(old, Ready::READABLE, &mut wakes);
        });
        slot.vacate(&mut Vec::new());
        assert!(slot.event(Ready::ALL).is_none());
        system.join().unwrap();
        assert!(slot.event(Ready::ALL).is_none());
    });
}

/// The runtime ends while a task begins to wait.
#[test]
fn loom_whoever_waits_sees_the_end() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let its = Arc::clone(&slot);
        let ending = thread::spawn(move || {
            let mut wakes = Wakes::default();
            its.end(&mut wakes);
            wakes.wake();
        });
        let event = loom::future::block_on(poll_fn(|cx| {
            slot.wait(Direction::Read, Direction::Read.mask(), cx.waker())
                .map_or(Poll::Pending, Poll::Ready)
        }));
        assert!(event.is_over);
        ending.join().unwrap();
    });
}

/// The system's half of the driver: a wait for events that can be interrupted.
#[derive(Debug)]
struct System {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_interrupted: bool,
    has_event: bool,
}

impl Interrupt for System {
    fn interrupt(&self) {
        self.state.lock().is_interrupted = true;
        self.changed.notify_all();
    }
}

impl System {
    fn event(&self) {
        self.state.lock().has_event = true;
        self.changed.notify_all();
    }

    /// Waits, and takes what there is: true for an event.
    fn poll(&self) -> bool {
        let mut state = self.state.lock();
        while !state.is_interrupted && !state.has_event {
            state = self.changed.wait(state);
        }
        state.is_interrupted = false;
        std::mem::take(&mut state.has_event)
    }

    fn look(&self) -> bool {
        std::mem::take(&mut self.state.lock().has_event)
    }
}

/// Workers as `multi::worker` has them sleep, with one source.
struct Pool {
    lease: Lease<()>,
    system: Arc<System>,
    idle: Idle,
    parkers: Vec<Parker>,
    sources: AtomicU32,
    is_over: AtomicBool,
    /// They lend their places while somebody else polls, as in `lend.rs`. Nobody takes one here.
    lends: bool,
}

impl Pool {
    fn lending(workers: u32, sources: u32) -> Arc<Self> {
        let pool = Arc::into_inner(Self::new(workers, sources)).expect("it is new");
        Arc::new(Self { lends: true, ..pool })
    }

    fn new(workers: u32, sources: u32) -> Arc<Self> {
        let state = Mutex::new(State::default());
        let system = Arc::new(System { state, changed: Condvar::new() });
        let parker = || Parker::with_interrupt(Some(Arc::clone(&system) as Arc<dyn Interrupt>));
        let parkers = (0..workers).map(|_| parker()).collect();
        Arc::new(Self {
            lease: Lease::new(()),
            system,
            idle: Idle::new(workers),
            parkers,
            sources: AtomicU32::new(sources),
            is_over: AtomicBool::new(false),
            lends: false,
        })
    }

    /// As `Reactor::lacks_holder`.
    fn lacks_holder(&self) -> bool {
        self.sources.load(SeqCst) > 0 && !self.lease.is_taken()
    }

    /// The event was seen: everybody leaves.
    fn over(&self) {
        self.is_over.store(true, SeqCst);
        fence(SeqCst);
        for parker in &self.parkers {
            parker.unpark();
        }
    }

    /// As `Shared::have_reactor_attended`.
    fn have_attended(&self) {
        fence(SeqCst);
        if self.lacks_holder()
            && let Some(worker) = self.idle.notify()
        {
            self.parkers[worker as usize].unpark();
        }
    }

    /// As `Shared::look_at_reactor`, of a reactor that nobody attends to.
    fn monitor(&self) {
        let mut has_event = false;
        if let Some(mut leased) = self.lease.take() {
            leased.with(|()| has_event = self.system.look());
        }
        if has_event {
            self.over();
        }
        self.have_attended();
    }

    fn work(&self, worker: u32) {
        let parker = &self.parkers[worker as usize];
        parker.adopt();
        while !self.is_over.load(SeqCst) {
            let lends = self.lends && !self.lacks_holder();
            if self.idle.sleep(worker, false, || ()) == Asleep::LookAgain {
                fence(SeqCst);
            }
            let mut has_event = false;
            // As in `Reactor::park`. An event that nobody sees is a deadlock here.
            let poll = |(): &mut ()| has_event = self.system.poll();
            if lends {
                if self.lacks_holder() {
                    parker.unpark();
                }
                parker.park();
            } else if self.sources.load(SeqCst) == 0
                || sleep_with(&self.lease, parker, poll).is_none()
            {
                parker.park();
            }
            if self.idle.wake(worker) == Awake::Searching && self.idle.stop_searching() {
                fence(SeqCst);
            }
            if has_event {
                self.over();
            }
        }
    }
}

fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(f);
}

/// The worker sleeps in the poll, and has a token or an event come.
#[test]
fn loom_a_sleeper_in_the_poll_is_reached_by_tokens_and_events() {
    model(|| {
        let pool = Pool::new(1, 1);
        let its = Arc::clone(&pool);
        let worker = thread::spawn(move || its.work(0));
        pool.parkers[0].unpark();
        pool.system.event();
        worker.join().unwrap();
    });
}

/// The runtime ends, and no event comes.
#[test]
fn loom_a_sleeper_in_the_poll_is_reached_by_the_end() {
    model(|| {
        let pool = Pool::new(2, 1);
        let workers = [0, 1].map(|worker| {
            let its = Arc::clone(&pool);
            thread::spawn(move || its.work(worker))
        });
        pool.over();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// The monitor has the lease while the worker goes to sleep, and no event has come yet.
#[test]
fn loom_a_worker_that_was_turned_down_is_woken_for_the_lease() {
    model(|| {
        let pool = Pool::new(1, 1);
        let its = Arc::clone(&pool);
        let worker = thread::spawn(move || its.work(0));
        pool.monitor();
        pool.system.event();
        worker.join().unwrap();
    });
}

/// The first source comes while the worker goes to sleep.
#[test]
fn loom_the_first_source_has_a_sleeper_poll() {
    model(|| {
        let pool = Pool::new(1, 0);
        let its = Arc::clone(&pool);
        let worker = thread::spawn(move || its.work(0));
        // As in `Registration::new`.
        pool.sources.fetch_add(1, SeqCst);
        pool.have_attended();
        pool.system.event();
        worker.join().unwrap();
    });
}

/// The same, with a worker that has decided to lend its place before the source came.
#[test]
fn loom_the_first_source_has_a_lender_poll() {
    model(|| {
        let pool = Pool::lending(1, 0);
        let its = Arc::clone(&pool);
        let worker = thread::spawn(move || its.work(0));
        pool.sources.fetch_add(1, SeqCst);
        pool.have_attended();
        pool.system.event();
        worker.join().unwrap();
    });
}

/// The worker has decided so because the monitor has the lease.
#[test]
fn loom_a_lender_is_woken_for_the_lease() {
    model(|| {
        let pool = Pool::lending(1, 1);
        let its = Arc::clone(&pool);
        let worker = thread::spawn(move || its.work(0));
        pool.monitor();
        pool.system.event();
        worker.join().unwrap();
    });
}

/// The value goes from the old holder of a lease to the next.
#[test]
fn loom_a_lease_hands_on_its_value() {
    loom::model(|| {
        let lease = Arc::new(Lease::new(0_u32));
        let taken = Arc::new(AtomicU32::new(0));
        let threads = [(); 2].map(|()| {
            let (lease, taken) = (Arc::clone(&lease), Arc::clone(&taken));
            thread::spawn(move || {
                // Whoever is turned down has not ended the lease of the other.
                for _ in 0..2 {
                    if let Some(mut leased) = lease.take() {
                        leased.with(|value| *value += 1);
                        drop(leased);
                        taken.fetch_add(1, Relaxed);
                    }
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut leased = lease.take().unwrap();
        leased.with(|value| assert_eq!(*value, taken.load(Relaxed)));
    });
}
