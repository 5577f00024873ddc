//! Who is next, where the page says it to the poll: by the order in which tasks are polled on the
//! only worker of a runtime, in which nothing happens that the test does not bring about.

use crate::rig::{Event, Rig, wait_for};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use trefoil::runtime::{Builder, Handle};
use trefoil::task::yield_now;

/// The polls, in their order.
#[derive(Clone, Default)]
struct Order(Arc<Mutex<Vec<&'static str>>>);

impl Order {
    /// A task that does nothing else.
    fn spawn(&self, who: &'static str) {
        let order = self.clone();
        drop(trefoil::spawn(async move { order.note(who) }));
    }

    fn note(&self, who: &'static str) {
        self.0.lock().push(who);
    }

    /// Who was polled after `first` and before `last`.
    fn between(&self, first: &str, last: &str) -> Vec<&'static str> {
        let order = self.0.lock();
        let at = |who| order.iter().position(|&polled| polled == who).expect(who);
        order[at(first) + 1..at(last)].to_vec()
    }
}

/// "The queue is looked at … when the LIFO slot has gone first three times in a row": also if it
/// would not be for long, because there is much in the ring.
#[test]
fn a_task_from_outside_after_a_streak() {
    const IN_THE_RING: usize = 100;
    /// Each spawns the next one, so that the slot is never empty.
    fn chain(order: Order, left: u32) {
        if left > 0 {
            drop(trefoil::spawn(async move {
                order.note("slot");
                chain(order, left - 1);
            }));
        }
    }
    let rig = Rig::new(1);
    let order = Order::default();
    let (inside, is_inside) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let its = order.clone();
    let holder = rig.handle().spawn(async move {
        (0..IN_THE_RING).for_each(|_| its.spawn("ring"));
        inside.send(()).unwrap();
        may_go.recv().unwrap();
    });
    is_inside.recv().unwrap();
    // They are taken together, so that the next look is due when the ring has had its turn.
    let first = order.clone();
    let first = rig.handle().spawn(async move {
        first.note("first");
        let (handle, from_outside) = (Handle::current(), first.clone());
        let outside = thread::spawn(move || handle.spawn(async move { from_outside.note("last") }));
        drop(outside.join().unwrap());
        chain(first, 20);
    });
    let second = order.clone();
    let second = rig.handle().spawn(async move { second.note("second") });
    go.send(()).unwrap();
    rig.handle().block_on(async { (holder.await.unwrap(), first.await.unwrap()) });
    rig.handle().block_on(second).unwrap();
    wait_for("the task from outside", || order.0.lock().contains(&"last"));
    let between = order.between("first", "last");
    assert!(between.iter().all(|&who| who == "slot"), "{between:?}");
    assert!(between.len() <= 3, "{between:?}");
}

/// "It goes first, except that four tasks of the ring go before a joiner."
#[test]
fn four_of_the_ring_before_a_joiner() {
    let rig = Rig::new(1);
    let order = Order::default();
    let its = order.clone();
    let joiner = rig.handle().spawn(async move {
        let joined = its.clone();
        let joined = trefoil::spawn(async move { joined.note("joined") });
        // The first one displaces the task that is joined from the slot, and goes there.
        (0..10).for_each(|_| its.spawn("ring"));
        joined.await.unwrap();
        its.note("joiner");
    });
    rig.handle().block_on(joiner).unwrap();
    assert_eq!(order.between("joined", "joiner"), ["ring"; 4]);
}

/// "And when the queues are empty": without any periodic work.
#[test]
fn a_deferred_waker_beside_empty_queues() {
    let mut builder = Builder::new_multi_thread();
    let rig = Rig::of(builder.worker_threads(1).enable_all().event_interval(u32::MAX));
    let seen = Event::default();
    let its = seen.clone();
    drop(rig.handle().spawn(async move {
        // It polls its parts with wakers of its own, which the worker keeps.
        let mut yields: FuturesUnordered<_> = (0..3).map(|_| yield_now()).collect();
        while yields.next().await.is_some() {}
        its.happens();
    }));
    seen.wait("deferred wakers, and nothing else");
}

struct Tell(Event);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.happens();
    }
}

/// The same for one that a hook leaves, when the worker has found nothing and is about to sleep.
#[test]
fn a_deferred_waker_that_is_left_on_the_way_to_sleep() {
    let (seen, may_leave) = (Event::default(), Arc::new(AtomicBool::new(false)));
    let (told, leaves) = (seen.clone(), may_leave.clone());
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().on_thread_park(move || {
        if leaves.swap(false, SeqCst) {
            let waker = Waker::from(Arc::new(Tell(told.clone())));
            let mut yields = pin!(yield_now());
            assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert!(!told.has_happened(), "it is deferred");
        }
    });
    let rig = Rig::of(&mut builder);
    may_leave.store(true, SeqCst);
    rig.on_each(|_| async {});
    seen.wait("a deferred waker of a worker that is about to sleep");
}
