//! Wakers that do more than wake: foreign code in the midst of ours.

use crate::polls::poll_once;
use parking_lot::Mutex;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use trefoil::sync::{
    Notify, OwnedSemaphorePermit, Semaphore, broadcast, mpmc, mpsc, oneshot, watch,
};

type Waits<T> = Vec<Option<Pin<Box<dyn Future<Output = T> + Send>>>>;

/// Calls a closure when it wakes.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn calls(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Calls(f)))
}

fn panics() -> Waker {
    calls(|| panic!("from a waker, on purpose"))
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

fn begin<T>(waits: &Mutex<Waits<T>>, index: usize, waker: &Waker) {
    let mut waits = waits.lock();
    let wait = waits[index].as_mut().unwrap();
    assert!(poll(wait.as_mut(), waker).is_pending());
}

/// The first who wakes drops others, which wait for their turn to be notified.
#[test]
fn a_waker_drops_others_that_are_about_to_be_notified() {
    let notify = Arc::new(Notify::new());
    let waits: Arc<Mutex<Waits<()>>> = Arc::default();
    for _ in 0..100 {
        let wait = Box::pin(Arc::clone(&notify).notified_owned());
        waits.lock().push(Some(wait));
    }
    let (its, others) = (Arc::clone(&notify), Arc::clone(&waits));
    let first = calls(move || {
        let dropped: Vec<_> = [1, 33, 50, 98, 99].map(|index| others.lock()[index].take()).into();
        drop(dropped);
        // All who have waited are notified by the call that is under way, so this is for others.
        its.notify_one();
    });
    begin(&waits, 0, &first);
    (1..100).for_each(|index| begin(&waits, index, Waker::noop()));
    notify.notify_waiters();
    for wait in waits.lock().iter_mut().flatten() {
        assert!(poll_once(wait.as_mut()).is_ready());
    }
    assert!(poll_once(Box::pin(notify.notified()).as_mut()).is_ready(), "the permit is stored");
    assert!(poll_once(Box::pin(notify.notified()).as_mut()).is_pending());
}

fn wait_for_permits(
    semaphore: &Arc<Semaphore>,
    waiters: usize,
) -> Arc<Mutex<Waits<Result<OwnedSemaphorePermit, ()>>>> {
    let waits = (0..waiters).map(|_| {
        let semaphore = Arc::clone(semaphore);
        let wait = async move { semaphore.acquire_owned().await.map_err(drop) };
        Some(Box::pin(wait) as Pin<Box<dyn Future<Output = _> + Send>>)
    });
    Arc::new(Mutex::new(waits.collect()))
}

/// Whoever gives up while permits are handed out gives back what is on its way to it.
#[test]
fn permits_that_are_handed_out_are_not_lost() {
    // Between two batches, what is left waits with one of these.
    for given_up in 1..100 {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = wait_for_permits(&semaphore, 100);
        let others = Arc::clone(&waits);
        let first = calls(move || drop(others.lock()[given_up].take()));
        begin(&waits, 0, &first);
        (1..100).for_each(|index| begin(&waits, index, Waker::noop()));
        semaphore.add_permits(100);
        let permits: Vec<_> = (waits.lock().iter_mut().flatten())
            .map(|wait| match poll_once(wait.as_mut()) {
                Poll::Ready(permit) => permit.unwrap(),
                Poll::Pending => panic!("without a permit, after {given_up} has given up"),
            })
            .collect();
        assert_eq!(permits.len(), 99);
        assert_eq!(semaphore.available_permits(), 1);
        drop(permits);
        assert_eq!(semaphore.available_permits(), 100);
    }
}

/// The first who wakes gives more, asks, and looks how many there are.
#[test]
fn permits_that_come_while_others_are_handed_out() {
    let semaphore = Arc::new(Semaphore::new(0));
    let waits = wait_for_permits(&semaphore, 200);
    let its = Arc::clone(&semaphore);
    let first = calls(move || {
        assert!(its.try_acquire().is_err(), "others wait");
        its.add_permits(50);
    });
    begin(&waits, 0, &first);
    (1..200).for_each(|index| begin(&waits, index, Waker::noop()));
    semaphore.add_permits(100);
    let mut waits = waits.lock();
    // All are polled before the permits of one are given back.
    let polled: Vec<_> = waits.iter_mut().flatten().map(|wait| poll_once(wait.as_mut())).collect();
    let ready: Vec<_> = polled.iter().map(Poll::is_ready).collect();
    assert_eq!(ready, [[true; 150].as_slice(), &[false; 50]].concat());
}

/// All are refused who have waited, and whoever is dropped meanwhile is not touched.
#[test]
fn a_semaphore_closes_on_many_who_wait() {
    let semaphore = Arc::new(Semaphore::new(0));
    let waits = wait_for_permits(&semaphore, 100);
    let (its, others) = (Arc::clone(&semaphore), Arc::clone(&waits));
    let first = calls(move || {
        its.add_permits(7);
        let dropped = [1, 33, 99].map(|index| others.lock()[index].take());
        drop(dropped);
        assert!(its.try_acquire().is_err());
    });
    begin(&waits, 0, &first);
    (1..100).for_each(|index| begin(&waits, index, Waker::noop()));
    semaphore.close();
    for wait in waits.lock().iter_mut().flatten() {
        match poll_once(wait.as_mut()) {
            Poll::Ready(outcome) => assert!(outcome.is_err()),
            Poll::Pending => panic!("it waits for a closed semaphore"),
        }
    }
    assert_eq!(semaphore.available_permits(), 7);
}

/// A destructor that panics would end the process if it ran during another panic.
#[test]
fn panics_of_wakers_stay_in_destructors() {
    fn waits_for<F: Future>(future: F, end: impl FnOnce()) {
        let mut future = Box::pin(future);
        assert!(poll(future.as_mut(), &panics()).is_pending());
        let ended = catch_unwind(AssertUnwindSafe(end));
        assert!(ended.is_ok(), "the panic of a waker has left a destructor");
        assert!(poll_once(future.as_mut()).is_ready());
    }
    let (sender, receiver) = mpsc::channel::<()>(1);
    waits_for(sender.closed(), || drop(receiver));
    let (sender, mut receiver) = mpsc::channel::<()>(1);
    waits_for(receiver.recv(), || drop(sender));
    let (sender, receiver) = mpsc::unbounded_channel::<()>();
    waits_for(sender.closed(), || drop(receiver));
    let (sender, receiver) = watch::channel(1);
    waits_for(sender.closed(), || drop(receiver));
    let (sender, mut receiver) = watch::channel(1);
    waits_for(receiver.changed(), || drop(sender));
    let (sender, receiver) = broadcast::channel::<()>(1);
    waits_for(sender.closed(), || drop(receiver));
    let (sender, mut receiver) = broadcast::channel::<()>(1);
    waits_for(receiver.recv(), || drop(sender));
    let (sender, receiver) = mpmc::unbounded::<()>();
    waits_for(sender.closed(), || drop(receiver));
    let (sender, receiver) = mpmc::unbounded::<()>();
    waits_for(receiver.recv(), || drop(sender));
    let (mut sender, receiver) = oneshot::channel::<()>();
    waits_for(sender.closed(), || drop(receiver));
    let (sender, receiver) = oneshot::channel::<()>();
    waits_for(receiver, || drop(sender));

    let notify = Notify::new();
    let mut leaves = Box::pin(notify.notified());
    assert!(poll_once(leaves.as_mut()).is_pending());
    waits_for(notify.notified(), || {
        notify.notify_one();
        drop(leaves);
    });
}
