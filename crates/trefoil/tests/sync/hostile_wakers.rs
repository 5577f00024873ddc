//! Wakers whose clone or drop panics: whoever polls with one gets the panic, and nobody else is any
//! the worse for it.

use crate::polls::poll_once;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use trefoil::io::{self, AsyncReadExt, AsyncWriteExt};
use trefoil::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpmc, mpsc, oneshot,
    watch,
};

/// A waker that cannot be cloned.
fn panics_when_cloned() -> Waker {
    const VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| {}, |_| {}, |_| {});
    fn clone(_: *const ()) -> RawWaker {
        panic!("from the clone of a waker, on purpose");
    }
    // SAFETY: the functions do not use the pointer, and may be called on any thread.
    unsafe { Waker::from_raw(RawWaker::new(ptr::null(), &VTABLE)) }
}

/// A waker whose clones panic when they are dropped, but not when they wake.
fn panics_when_dropped() -> Waker {
    const VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| {}, |_| {}, drop);
    const CLONE: RawWakerVTable = RawWakerVTable::new(clone, |_| {}, |_| {}, drop_clone);
    fn clone(_: *const ()) -> RawWaker {
        RawWaker::new(ptr::null(), &CLONE)
    }
    fn drop(_: *const ()) {}
    fn drop_clone(_: *const ()) {
        panic!("from the drop of a waker, on purpose");
    }
    // SAFETY: the functions do not use the pointer, and may be called on any thread.
    unsafe { Waker::from_raw(RawWaker::new(ptr::null(), &VTABLE)) }
}

type Wait<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

fn wait<'a, F: Future + 'a>(future: F) -> Wait<'a> {
    Box::pin(async { drop(future.await) })
}

fn poll(wait: &mut Wait<'_>, waker: &Waker) -> Poll<()> {
    wait.as_mut().poll(&mut Context::from_waker(waker))
}

/// What a waker does while a task waits with it.
#[derive(Clone, Copy, Debug)]
enum Misdeed {
    /// Its clone panics, and the wait does not begin.
    Clone,
    /// It panics when another one takes its place.
    Replacement,
    /// It panics when the wait is given up.
    Drop,
}

const MISDEEDS: [Misdeed; 3] = [Misdeed::Clone, Misdeed::Replacement, Misdeed::Drop];

/// Waits with such a waker, and gives up. The panic is passed on.
#[track_caller]
fn misbehave(what: &str, misdeed: Misdeed, mut hostile: Wait<'_>) {
    let panicked = match misdeed {
        Misdeed::Clone => {
            let waker = panics_when_cloned();
            catch_unwind(AssertUnwindSafe(|| poll(&mut hostile, &waker).is_ready())).is_err()
        }
        Misdeed::Replacement => {
            assert!(poll(&mut hostile, &panics_when_dropped()).is_pending(), "{what}");
            catch_unwind(AssertUnwindSafe(|| poll_once(hostile.as_mut()).is_ready())).is_err()
        }
        Misdeed::Drop => {
            assert!(poll(&mut hostile, &panics_when_dropped()).is_pending(), "{what}");
            catch_unwind(AssertUnwindSafe(|| drop(hostile))).is_err()
        }
    };
    assert!(panicked, "{what}: nobody is told of a panic: {misdeed:?}");
}

/// Others wait for the same, before and after. They get it.
#[track_caller]
fn harms_no_other<'a>(
    what: &str,
    misdeed: Misdeed,
    [mut before, hostile, mut after]: [Wait<'a>; 3],
    event: impl FnOnce(),
) {
    assert!(poll_once(before.as_mut()).is_pending(), "{what}");
    misbehave(what, misdeed, hostile);
    assert!(poll_once(after.as_mut()).is_pending(), "{what}, after {misdeed:?}");
    event();
    for (other, whose) in [(before, "before"), (after, "after")] {
        let mut other = other;
        assert!(poll_once(other.as_mut()).is_ready(), "{what}: one who waits {whose} {misdeed:?}");
    }
}

/// There is one who may wait. It can wait again.
macro_rules! harms_no_later_wait {
    ($what:literal, $misdeed:expr, $wait:expr, $event:expr) => {{
        let hostile = wait($wait);
        misbehave($what, $misdeed, hostile);
        let mut later = wait($wait);
        assert!(poll_once(later.as_mut()).is_pending(), "{}, after {:?}", $what, $misdeed);
        $event;
        assert!(poll_once(later.as_mut()).is_ready(), "{}, after {:?}", $what, $misdeed);
    }};
}

#[test]
fn a_waker_that_panics_harms_no_other_wait() {
    for misdeed in MISDEEDS {
        let notify = Notify::new();
        let waits = || [(); 3].map(|()| wait(notify.notified()));
        harms_no_other("notify_waiters", misdeed, waits(), || notify.notify_waiters());
        harms_no_other("notify_one", misdeed, waits(), || {
            notify.notify_one();
            notify.notify_one();
        });
        harms_no_other("notify_last", misdeed, waits(), || {
            notify.notify_last();
            notify.notify_last();
        });
        assert!(poll_once(wait(notify.notified()).as_mut()).is_pending(), "a permit too many");

        let semaphore = Semaphore::new(0);
        let waits = [(); 3].map(|()| wait(semaphore.acquire_many(2)));
        harms_no_other("Semaphore", misdeed, waits, || semaphore.add_permits(2));
        assert_eq!(semaphore.available_permits(), 2);
        let mutex = Mutex::new(());
        let guard = mutex.try_lock().unwrap();
        let waits = [(); 3].map(|()| wait(mutex.lock()));
        harms_no_other("Mutex", misdeed, waits, || drop(guard));
        let lock = RwLock::new(());
        let guard = lock.try_write().unwrap();
        let waits = [wait(lock.read()), wait(lock.write()), wait(lock.read())];
        harms_no_other("RwLock", misdeed, waits, || drop(guard));
        let barrier = Barrier::new(4);
        let waits = [(); 3].map(|()| wait(barrier.wait()));
        let mut last = wait(barrier.wait());
        harms_no_other("Barrier", misdeed, waits, || {
            assert!(poll_once(last.as_mut()).is_ready());
        });
        let cell = OnceCell::new();
        let mut maker = wait(cell.get_or_init(std::future::pending::<()>));
        assert!(poll_once(maker.as_mut()).is_pending());
        let waits = [(); 3].map(|()| wait(cell.get_or_init(|| async {})));
        harms_no_other("OnceCell", misdeed, waits, || drop(maker));
        let set = SetOnce::new();
        let waits = [(); 3].map(|()| wait(set.wait()));
        harms_no_other("SetOnce", misdeed, waits, || set.set(()).unwrap());

        let (sender, mut receiver) = mpsc::channel(1);
        sender.try_send(1).unwrap();
        let waits = [2, 3, 4].map(|n| wait(sender.send(n)));
        harms_no_other("mpsc: send", misdeed, waits, || {
            receiver.close();
            receiver.try_recv().unwrap();
        });
        let (sender, receiver) = mpsc::channel::<()>(1);
        let waits = [(); 3].map(|()| wait(sender.closed()));
        harms_no_other("mpsc: closed", misdeed, waits, || drop(receiver));
        let (sender, receiver) = watch::channel(1);
        let mut receivers = [(); 3].map(|()| receiver.clone());
        let waits = receivers.each_mut().map(|receiver| wait(receiver.changed()));
        harms_no_other("watch: changed", misdeed, waits, || sender.send(2).unwrap());
        drop((receivers, receiver));
        let receiver = sender.subscribe();
        let waits = [(); 3].map(|()| wait(sender.closed()));
        harms_no_other("watch: closed", misdeed, waits, || drop(receiver));
        let (sender, receiver) = broadcast::channel(1);
        let mut receivers = [(); 3].map(|()| receiver.resubscribe());
        let waits = receivers.each_mut().map(|receiver| wait(receiver.recv()));
        harms_no_other("broadcast: recv", misdeed, waits, || _ = sender.send(1).unwrap());
        drop((receivers, receiver));
        let receiver = sender.subscribe();
        let waits = [(); 3].map(|()| wait(sender.closed()));
        harms_no_other("broadcast: closed", misdeed, waits, || drop(receiver));
        let (sender, receiver) = mpmc::bounded(2);
        let waits = [(); 3].map(|()| wait(receiver.recv()));
        harms_no_other("mpmc: recv", misdeed, waits, || {
            sender.try_send(1).unwrap();
            sender.try_send(2).unwrap();
        });
        assert!(receiver.is_empty());
        (1..=2).for_each(|n| sender.try_send(n).unwrap());
        let waits = [3, 4, 5].map(|n| wait(sender.send(n)));
        harms_no_other("mpmc: send", misdeed, waits, || {
            assert_eq!([(); 2].map(|()| receiver.try_recv().unwrap()), [1, 2]);
        });
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [3, 5]);
        let waits = [(); 3].map(|()| {
            wait(async {
                mpmc::select! { recv(receiver) -> got => { got.unwrap(); } }
            })
        });
        harms_no_other("mpmc: select", misdeed, waits, || {
            (1..=2).for_each(|n| sender.try_send(n).unwrap());
        });
        let waits = [(); 3].map(|()| wait(sender.closed()));
        harms_no_other("mpmc: closed", misdeed, waits, || drop(receiver));
    }
}

#[test]
fn a_waker_that_panics_harms_no_later_wait() {
    // These keep the waker of a wait that was given up, for the next one.
    for misdeed in [Misdeed::Clone, Misdeed::Replacement] {
        let (sender, mut receiver) = mpsc::channel(1);
        harms_no_later_wait!("mpsc: recv", misdeed, receiver.recv(), sender.try_send(1).unwrap());
        let (sender, mut receiver) = mpsc::unbounded_channel();
        harms_no_later_wait!("unbounded: recv", misdeed, receiver.recv(), sender.send(1).unwrap());
        let (sender, mut receiver) = oneshot::channel();
        harms_no_later_wait!("oneshot", misdeed, &mut receiver, sender.send(1).unwrap());
        let (mut sender, receiver) = oneshot::channel::<()>();
        harms_no_later_wait!("oneshot: closed", misdeed, sender.closed(), drop(receiver));
        let (mut near, mut far) = io::duplex(1);
        let mut byte = [0];
        harms_no_later_wait!(
            "duplex: read",
            misdeed,
            far.read(&mut byte),
            assert!(poll_once(wait(near.write_all(b"1")).as_mut()).is_ready())
        );
        assert!(poll_once(wait(near.write_all(b"2")).as_mut()).is_ready());
        harms_no_later_wait!(
            "duplex: write",
            misdeed,
            near.write(b"3"),
            assert!(poll_once(wait(far.read(&mut byte)).as_mut()).is_ready())
        );
    }
}

/// It has no place in the queue, and takes one when it is polled again.
#[test]
fn a_signal_that_could_not_be_waited_for_is_waited_for_later() {
    let notify = Notify::new();
    let mut wait = Box::pin(notify.notified());
    let waker = panics_when_cloned();
    let mut cx = Context::from_waker(&waker);
    assert!(catch_unwind(AssertUnwindSafe(|| wait.as_mut().poll(&mut cx))).is_err());
    assert!(poll_once(wait.as_mut()).is_pending());
    notify.notify_one();
    assert!(poll_once(wait.as_mut()).is_ready());
    assert!(poll_once(Box::pin(notify.notified()).as_mut()).is_pending(), "the permit was used");
}
