//! The semaphore among bad neighbours: those that push in, give up, are not polled, or panic.

use crate::polled::{Dice, Polled};
use crate::support::by_hand::turns_of_others;
use crate::support::watch::wait_for;
use crate::support::{current_and_multi, current_thread, multi};
use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;
use trefoil::sync::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
use trefoil::task::{self, coop};

/// The stated bound: while somebody waits, nobody who asks later gets a permit.
#[test]
fn nobody_overtakes_whatever_others_do() {
    const WAITERS: usize = 1000;
    let semaphore = Semaphore::new(0);
    let stop = AtomicBool::new(false);
    let overtakings = AtomicUsize::new(0);
    let attempts = AtomicUsize::new(0);
    let mut waiters = Vec::from_iter(
        (0..WAITERS).map(|n| Polled::waiting(semaphore.acquire_many(1 + n as u32 % 3))),
    );
    // It never gets all that it wants, so there is always somebody who waits.
    let mut last = Polled::waiting(semaphore.acquire_many(u32::MAX));
    thread::scope(|scope| {
        for hostile in 0..3 {
            let (semaphore, stop, overtakings) = (&semaphore, &stop, &overtakings);
            let attempts = &attempts;
            scope.spawn(move || {
                while !stop.load(SeqCst) {
                    let taken = match hostile {
                        0 => semaphore.try_acquire().is_ok(),
                        1 => semaphore.forget_permits(1) > 0,
                        // Asks, and gives up.
                        _ => Polled::new(semaphore.acquire()).poll().is_ready(),
                    };
                    overtakings.fetch_add(usize::from(taken), SeqCst);
                    attempts.fetch_add(1, SeqCst);
                }
            });
        }
        for (n, waiter) in waiters.iter_mut().enumerate() {
            let seen = attempts.load(SeqCst);
            if n % 100 == 0 {
                wait_for("the others try", || attempts.load(SeqCst) > seen + 3);
            }
            for missing in (0..1 + n % 3).rev() {
                assert_eq!(waiter.wakes(), 0);
                semaphore.add_permits(1);
                assert_eq!(waiter.wakes(), usize::from(missing == 0), "{n}");
            }
            waiter.ready().unwrap().forget();
        }
        stop.store(true, SeqCst);
    });
    assert_eq!(overtakings.load(SeqCst), 0);
    assert!(last.poll().is_pending());
}

#[test]
fn a_task_without_budget_takes_its_place_before_it_yields() {
    current_thread().block_on(async {
        let semaphore = Semaphore::new(0);
        let mut early = pin!(semaphore.acquire());
        while coop::has_budget_remaining() {
            coop::consume_budget().await;
        }
        poll_fn(|cx| {
            assert!(!coop::has_budget_remaining());
            assert!(early.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        let mut late = Polled::waiting(coop::unconstrained(semaphore.acquire()));
        semaphore.add_permits(1);
        assert!(late.poll().is_pending());
        drop(early.await.unwrap());
        drop(late.ready().unwrap());

        // If the permit is there, it is taken, and the task has it when it comes back.
        let mut early = pin!(semaphore.acquire());
        while coop::has_budget_remaining() {
            coop::consume_budget().await;
        }
        poll_fn(|cx| {
            assert!(early.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(semaphore.available_permits(), 0);
        drop(early.await.unwrap());
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn permits_that_are_always_there_leave_others_their_turn() {
    let turns = turns_of_others(async {
        let semaphore = Semaphore::new(1);
        for _ in 0..1000 {
            drop(semaphore.acquire().await.unwrap());
        }
    });
    // One for each 128 operations.
    assert_eq!(turns, 7);
}

/// The futurelock: a future that was given the permit, and is kept, but is not polled.
#[test]
fn a_permit_is_kept_for_a_waiter_that_is_not_polled_and_passed_on_when_it_is_dropped() {
    for is_polled_in_the_end in [false, true] {
        for runtime in current_and_multi([1, 2]) {
            runtime.block_on(async {
                let semaphore = Arc::new(Semaphore::new(1));
                let held = Arc::clone(&semaphore).acquire_owned().await.unwrap();
                let mut kept = Box::pin(Arc::clone(&semaphore).acquire_owned());
                trefoil::select! {
                    biased;
                    _ = &mut kept => panic!("the permit is held"),
                    () = std::future::ready(()) => {}
                }
                drop(held);
                // The permit is that of `kept` now. Nobody else gets it, as is promised.
                let mut next = Box::pin(semaphore.acquire());
                let is_ready = poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx).is_ready())).await;
                assert!(!is_ready);
                assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
                if is_polled_in_the_end {
                    drop(kept.await.unwrap());
                } else {
                    drop(kept);
                }
                drop(next.await.unwrap());
                assert_eq!(semaphore.available_permits(), 1);
            });
        }
    }
}

#[test]
fn a_waiter_may_be_dropped_at_every_poll() {
    // Three permits come in one by one, and after each the waiter is polled.
    for polls in 0..=4_usize {
        let semaphore = Semaphore::new(0);
        let mut first = Polled::new(semaphore.acquire_many(3));
        let mut behind = None;
        let mut got = None;
        for n in 0..polls {
            if n > 0 {
                semaphore.add_permits(1);
            }
            if let Poll::Ready(permit) = first.poll() {
                assert_eq!(n, 3);
                got = Some(permit.unwrap());
            }
            behind.get_or_insert_with(|| Polled::waiting(semaphore.acquire()));
        }
        let given = polls.saturating_sub(1);
        drop(first);
        let mut taken = 0;
        if got.is_some() {
            taken = 3;
        }
        if let Some(behind) = &mut behind {
            // It gets one of those that the first one had.
            let is_served = behind.poll().is_ready();
            assert_eq!(is_served, given > taken, "{polls}");
        }
        drop(behind);
        assert_eq!(semaphore.available_permits(), given - taken, "{polls}");
        drop(got);
        assert_eq!(semaphore.available_permits(), given);
    }
}

/// What a semaphore is: a number and a queue.
#[derive(Default)]
struct Model {
    available: usize,
    /// Identity, wanted, gathered.
    queue: VecDeque<(usize, usize, usize)>,
    granted: Vec<(usize, usize)>,
    closed: bool,
}

impl Model {
    fn give(&mut self, mut n: usize) {
        while n > 0 {
            let Some((id, wanted, gathered)) = self.queue.front_mut() else {
                self.available += n;
                return;
            };
            let given = n.min(*wanted - *gathered);
            *gathered += given;
            n -= given;
            if gathered == wanted {
                self.granted.push((*id, *wanted));
                self.queue.pop_front();
            }
        }
    }

    fn ask(&mut self, id: usize, wanted: usize) {
        if self.queue.is_empty() && self.available >= wanted {
            self.available -= wanted;
            self.granted.push((id, wanted));
            return;
        }
        self.queue.push_back((id, wanted, 0));
        let there = std::mem::take(&mut self.available);
        self.give(there);
    }

    fn give_up(&mut self, id: usize) {
        if let Some(at) = self.queue.iter().position(|&(other, ..)| other == id) {
            let (_, _, gathered) = self.queue.remove(at).unwrap();
            self.give(gathered);
        } else if let Some(at) = self.granted.iter().position(|&(other, _)| other == id) {
            let (_, wanted) = self.granted.remove(at);
            self.give(wanted);
        }
    }

    fn close(&mut self) {
        self.closed = true;
        for (_, _, gathered) in std::mem::take(&mut self.queue) {
            self.available += gathered;
        }
    }
}

#[test]
fn it_does_what_a_plain_model_does() {
    type Asking<'a> = Pin<Box<dyn Future<Output = Result<SemaphorePermit<'a>, AcquireError>> + 'a>>;
    for seed in 1..=300_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let semaphore = Semaphore::new(3);
        let mut model = Model { available: 3, ..Model::default() };
        let mut asking: Vec<(usize, Polled<Asking<'_>>)> = Vec::new();
        let mut held: Vec<SemaphorePermit<'_>> = Vec::new();
        for id in 0..200 {
            match dice.below(100) {
                // One more asks.
                0..30 => {
                    let wanted = 1 + dice.below(4) as u32;
                    let mut polled =
                        Polled::<Asking<'_>>::new(Box::pin(semaphore.acquire_many(wanted)));
                    let ended = polled.poll();
                    if model.closed {
                        assert!(matches!(ended, Poll::Ready(Err(_))));
                        continue;
                    }
                    model.ask(id, wanted as usize);
                    let is_granted = model.granted.pop_if(|(other, _)| *other == id).is_some();
                    match ended {
                        Poll::Ready(permit) => {
                            assert!(is_granted, "seed {seed}: it had to wait");
                            held.push(permit.unwrap());
                        }
                        Poll::Pending => {
                            assert!(!is_granted, "seed {seed}: it had not to wait");
                            asking.push((id, polled));
                        }
                    }
                }
                // One gives up.
                30..45 if !asking.is_empty() => {
                    let (id, polled) = asking.swap_remove(dice.below(asking.len() as u64) as usize);
                    drop(polled);
                    model.give_up(id);
                }
                // One is polled.
                45..60 if !asking.is_empty() => {
                    let at = dice.below(asking.len() as u64) as usize;
                    let id = asking[at].0;
                    let ended = asking[at].1.poll();
                    let granted = model.granted.iter().position(|&(other, _)| other == id);
                    match ended {
                        Poll::Ready(Ok(permit)) => {
                            assert!(!model.closed, "seed {seed}");
                            let (_, wanted) = model.granted.remove(granted.unwrap());
                            assert_eq!(permit.num_permits(), wanted);
                            held.push(permit);
                            asking.swap_remove(at);
                        }
                        Poll::Ready(Err(_)) => {
                            assert!(model.closed, "seed {seed}");
                            model.give_up(id);
                            asking.swap_remove(at);
                        }
                        Poll::Pending => assert!(granted.is_none() && !model.closed, "seed {seed}"),
                    }
                }
                60..80 if !held.is_empty() => {
                    let permit = held.swap_remove(dice.below(held.len() as u64) as usize);
                    let n = permit.num_permits();
                    drop(permit);
                    model.give(n);
                }
                80..85 => {
                    let n = dice.below(3) as usize;
                    semaphore.add_permits(n);
                    model.give(n);
                }
                85..90 => {
                    let n = dice.below(3) as usize;
                    let taken = n.min(model.available);
                    model.available -= taken;
                    assert_eq!(semaphore.forget_permits(n), taken, "seed {seed}");
                }
                90..99 => {
                    let wanted = 1 + dice.below(3) as u32;
                    let expected = if model.closed {
                        Err(TryAcquireError::Closed)
                    } else if model.available < wanted as usize {
                        Err(TryAcquireError::NoPermits)
                    } else {
                        model.available -= wanted as usize;
                        Ok(())
                    };
                    let taken = semaphore.try_acquire_many(wanted).map(|permit| held.push(permit));
                    assert_eq!(taken, expected, "seed {seed}");
                }
                99 if id > 100 => {
                    semaphore.close();
                    model.close();
                }
                _ => {}
            }
            assert_eq!(semaphore.available_permits(), model.available, "seed {seed}, step {id}");
            for (id, polled) in &asking {
                let is_over = model.closed || model.granted.iter().any(|(other, _)| other == id);
                assert_eq!(polled.wakes() > 0, is_over, "seed {seed}: {id} is woken in time");
            }
        }
    }
}

#[test]
fn a_storm_of_cancellations_loses_no_permit() {
    const PERMITS: usize = 3;
    const TASKS: u64 = 16;
    const ROUNDS: u64 = 2000;
    for runtime in [multi(2), multi(4)] {
        runtime.block_on(async {
            let semaphore = Arc::new(Semaphore::new(PERMITS));
            let inside = Arc::new(AtomicUsize::new(0));
            let tasks = Vec::from_iter((1..=TASKS).map(|seed| {
                let (semaphore, inside) = (Arc::clone(&semaphore), Arc::clone(&inside));
                trefoil::spawn(async move {
                    let mut dice = Dice(seed << 32 | seed);
                    let mut entered = 0;
                    for _ in 0..ROUNDS {
                        let wanted = 1 + dice.below(PERMITS as u64) as u32;
                        // It gives up after so many turns of others.
                        let patience = dice.below(6);
                        let permit = trefoil::select! {
                            biased;
                            permit = semaphore.acquire_many(wanted) => permit.unwrap(),
                            () = async {
                                for _ in 0..patience {
                                    task::yield_now().await;
                                }
                            } => continue,
                        };
                        let before = inside.fetch_add(wanted as usize, SeqCst);
                        assert!(before + wanted as usize <= PERMITS);
                        if dice.below(2) == 0 {
                            task::yield_now().await;
                        }
                        inside.fetch_sub(wanted as usize, SeqCst);
                        drop(permit);
                        entered += 1;
                    }
                    entered
                })
            }));
            let mut entered = 0;
            for task in tasks {
                entered += task.await.unwrap();
            }
            assert!(entered > 0 && entered < TASKS * ROUNDS, "{entered}");
            // All are back: a lost one would hang this, or be missed.
            let all = semaphore.acquire_many(PERMITS as u32).await.unwrap();
            drop(all);
            assert_eq!(semaphore.available_permits(), PERMITS);
        });
    }
}

#[test]
fn aborted_tasks_give_up_their_places_and_permits() {
    let runtime = multi(2);
    runtime.block_on(async {
        let semaphore = Arc::new(Semaphore::new(2));
        for round in 0..200 {
            let tasks = Vec::from_iter((0..8).map(|_| {
                let semaphore = Arc::clone(&semaphore);
                trefoil::spawn(async move {
                    let _permit = semaphore.acquire().await.unwrap();
                    pending::<()>().await;
                })
            }));
            if round % 2 == 0 {
                task::yield_now().await;
            }
            for task in &tasks {
                task.abort();
            }
            for task in tasks {
                assert!(task.await.unwrap_err().is_cancelled());
            }
            assert_eq!(semaphore.available_permits(), 2);
        }
    });
}

struct PanicsWhenWoken;

impl Wake for PanicsWhenWoken {
    fn wake(self: Arc<Self>) {
        panic!("a bad waker");
    }
}

#[test]
fn a_waker_that_panics_harms_nobody() {
    let semaphore = Semaphore::new(0);
    let mut before = Polled::waiting(semaphore.acquire());
    let mut bad = Box::pin(semaphore.acquire());
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    assert!(bad.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let mut after = Polled::waiting(semaphore.acquire());
    let mut closed = Polled::waiting(semaphore.acquire());
    semaphore.add_permits(3);
    assert_eq!((before.wakes(), after.wakes(), closed.wakes()), (1, 1, 0));
    before.ready().unwrap().forget();
    after.ready().unwrap().forget();
    drop(bad);
    closed.ready().unwrap().forget();
}

/// A waker that uses the semaphore whenever it is cloned, woken or dropped.
struct Nosy(Arc<Semaphore>, AtomicUsize);

impl Nosy {
    fn look(&self) {
        self.1.fetch_add(1, SeqCst);
        // Through the lock, there and back.
        let mut asks = pin!(self.0.acquire());
        let _ = asks.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }

    fn waker(self: Arc<Self>) -> Waker {
        // SAFETY: the functions of the table keep the contract of `RawWaker`, and the pointer is
        // from `Arc::into_raw`.
        unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(self).cast(), &NOSY)) }
    }
}

static NOSY: RawWakerVTable = RawWakerVTable::new(
    |nosy| {
        // SAFETY: from `Arc::into_raw`, and borrowed for the call.
        let this = unsafe { &*nosy.cast::<Nosy>() };
        this.look();
        // SAFETY: from `Arc::into_raw`; the clone is one more owner.
        unsafe { Arc::increment_strong_count(nosy.cast::<Nosy>()) };
        RawWaker::new(nosy, &NOSY)
    },
    |nosy| {
        // SAFETY: from `Arc::into_raw`, and owned by the call.
        let this = unsafe { Arc::from_raw(nosy.cast::<Nosy>()) };
        this.look();
    },
    |nosy| {
        // SAFETY: from `Arc::into_raw`, and borrowed for the call.
        let this = unsafe { &*nosy.cast::<Nosy>() };
        this.look();
    },
    |nosy| {
        // SAFETY: from `Arc::into_raw`, and owned by the call.
        let this = unsafe { Arc::from_raw(nosy.cast::<Nosy>()) };
        this.look();
    },
);

#[test]
fn foreign_code_does_not_run_under_the_lock() {
    let semaphore = Arc::new(Semaphore::new(0));
    let nosy = Arc::new(Nosy(Arc::clone(&semaphore), AtomicUsize::new(0)));
    let (one, other) = (Arc::clone(&nosy).waker(), Waker::noop());
    let poll = |future: &mut Pin<Box<dyn Future<Output = _>>>, waker: &Waker| {
        future.as_mut().poll(&mut Context::from_waker(waker)).is_ready()
    };
    let mut futures = Vec::new();
    for _ in 0..4 {
        let asks = Arc::clone(&semaphore).acquire_owned();
        let mut future: Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, _>>>> =
            Box::pin(asks);
        // A clone; then the waker is replaced, and is taken back.
        assert!(!poll(&mut future, &one));
        assert!(!poll(&mut future, other));
        assert!(!poll(&mut future, &one));
        futures.push(future);
    }
    // Give up, grant, and end: each takes a waker out of the ring.
    drop(futures.pop());
    semaphore.add_permits(1);
    assert!(poll(&mut futures[0], &one));
    semaphore.close();
    assert!(poll(&mut futures[1], &one));
    drop(futures);
    drop(one);
    assert!(nosy.1.load(SeqCst) >= 16, "{}", nosy.1.load(SeqCst));
    assert_eq!(Arc::strong_count(&nosy), 1);
}
