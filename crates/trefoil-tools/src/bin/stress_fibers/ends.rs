//! Fibers that a runtime's end meets with.

use crate::plan::recurse;
use crate::storm::{Rng, Token, World, check, progress};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use trefoil::fiber;
use trefoil::runtime::Handle;
use trefoil::sync::{Semaphore, mpsc};
use trefoil::task::JoinHandle;

pub(crate) struct Resting {
    /// These do not end by themselves.
    endless: Vec<JoinHandle<()>>,
    /// These may have ended.
    others: Vec<JoinHandle<()>>,
}

/// Fibers that rest, run, and have not begun. Some of them have not come so far when this returns.
pub(crate) fn spawn(world: &Arc<World>, handle: &Handle, rng: &mut Rng) -> Resting {
    let _guard = handle.enter();
    let (begins, mut have_begun) = mpsc::unbounded_channel::<()>();
    let mut spawned = 0;
    let mut one = |kind: u64| {
        world.fibers.fetch_add(1, SeqCst);
        spawned += 1;
        let (token, world, begins) = (Token::new(world), world.clone(), begins.clone());
        fiber::spawn(move || {
            let _token = token;
            let _ = begins.send(());
            drop(begins);
            rest(&world, kind);
        })
    };
    let most = if rng.one_in(16) { 20_000 } else { 1_000 };
    let mut endless: Vec<_> = (0..rng.below(most)).map(|_| one(rng.below(6))).collect();
    for _ in 0..rng.below(4) {
        endless.push(one(6 + rng.below(3)));
    }
    if rng.one_in(2) {
        for _ in 0..spawned {
            have_begun.blocking_recv().unwrap();
            progress();
        }
    }
    let others = (0..rng.below(2000)).map(|_| {
        world.fibers.fetch_add(1, SeqCst);
        let token = Token::new(world);
        fiber::spawn(move || {
            let _token = token;
            fiber::yield_now();
        })
    });
    let others = others.collect();
    Resting { endless, others }
}

fn rest(world: &Arc<World>, kind: u64) {
    match kind {
        0 => fiber::wait(pending::<()>()),
        1 => {
            // Two that borrow, and rest as well.
            let borrowed = Token::new(world);
            fiber::scope(|scope| {
                for _ in 0..2 {
                    world.fibers.fetch_add(1, SeqCst);
                    scope.spawn(|| {
                        let _own = (&borrowed, Token::new(world));
                        fiber::wait(pending::<()>());
                    });
                }
                fiber::wait(pending::<()>());
            });
        }
        2 => {
            recurse(world, 30, false);
            deep(world, 30);
        }
        3 => {
            let (_keep, mut receiver) = mpsc::channel::<Token>(1);
            let _ = receiver.blocking_recv();
        }
        4 => {
            let nothing = Semaphore::new(0);
            let _token = Token::new(world);
            let _ = fiber::wait(nothing.acquire());
        }
        // Its unwinding is caught. It returns all the same, and counts as cancelled.
        5 => {
            let waits = AssertUnwindSafe(|| fiber::wait(pending::<()>()));
            check(catch_unwind(waits).is_err(), || "nothing has come".to_owned());
        }
        // Three that run.
        6 => loop {
            fiber::check!();
        },
        7 => loop {
            fiber::yield_now();
        },
        // Its thread has lent a local, and so must not end.
        _ => LENT.with(|lent| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    let is_gone = lent.0.clone();
                    while !world.ends() {
                        thread::yield_now();
                    }
                    (0..100).for_each(|_| thread::yield_now());
                    check(!is_gone.load(SeqCst), || "a local is gone that is borrowed".to_owned());
                });
                fiber::wait(pending::<()>());
            });
        }),
    }
}

thread_local! {
    static LENT: Lent = Lent::default();
}

#[derive(Default)]
struct Lent(Arc<std::sync::atomic::AtomicBool>);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn deep(world: &Arc<World>, depth: u32) {
    let frame = [depth as u8; 1024];
    let _token = Token::new(world);
    if depth == 0 {
        fiber::wait(pending::<()>());
    } else {
        deep(world, depth - 1);
    }
    std::hint::black_box(&frame);
}

impl Resting {
    /// Of a runtime that has ended, or does so in the background.
    pub(crate) fn judge(self, world: &World, has_ended: bool) {
        let count = self.endless.len() + self.others.len();
        let all = self.endless.iter().chain(&self.others);
        let open = all.filter(|handle| !handle.is_finished()).count();
        check(!has_ended || open == 0, || format!("{open} of {count} have not ended"));
        for handle in self.endless {
            let joined = handle.join();
            progress();
            let cancelled = joined.as_ref().is_err_and(|error| error.is_cancelled());
            check(cancelled, || format!("nobody was to end this one: {joined:?}"));
        }
        for handle in self.others {
            let joined = handle.join();
            progress();
            let foreseen = joined.as_ref().map_or_else(|error| error.is_cancelled(), |()| true);
            check(foreseen && world.ends(), || format!("it should not: {joined:?}"));
        }
    }
}
