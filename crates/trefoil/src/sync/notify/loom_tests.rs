//! Tasks that wait, notify, and stop waiting, under loom.

use super::*;
use crate::primitives::atomic::AtomicBool;
use loom::thread;
use std::pin::pin;

fn poll(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Three that wait: more than one batch.
fn three_wait(notify: &Arc<Notify>) -> Vec<Pin<Box<OwnedNotified>>> {
    let mut waits = Vec::from_iter((0..3).map(|_| Box::pin(Arc::clone(notify).notified_owned())));
    waits.iter_mut().for_each(|wait| assert!(!poll(wait.as_mut())));
    waits
}

/// Takes the permit. True if one was stored.
fn has_permit(notify: &Notify) -> bool {
    poll(pin!(notify.notified()))
}

#[test]
fn loom_notify_one_is_not_lost_and_publishes() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let flag = Arc::new(AtomicBool::new(false));
        let (its, there) = (Arc::clone(&notify), Arc::clone(&flag));
        let notifying = thread::spawn(move || {
            // Relaxed: the notification has to publish it.
            there.store(true, Relaxed);
            its.notify_one();
        });
        // A lost permit is a deadlock, which loom reports.
        loom::future::block_on(notify.notified());
        assert!(flag.load(Relaxed));
        notifying.join().unwrap();
    });
}

#[test]
fn loom_notify_passes_the_permit_of_one_that_gives_up() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let (mut first, mut second) =
            (Box::pin(Arc::clone(&notify).notified_owned()), Box::pin(notify.notified()));
        assert!(!poll(first.as_mut()));
        assert!(!poll(second.as_mut()));
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_one());
        drop(first);
        notifying.join().unwrap();
        assert!(poll(second.as_mut()));
        assert!(!has_permit(&notify));
    });
}

#[test]
fn loom_notify_keeps_the_permit_of_the_last_one_that_gives_up() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut only = Box::pin(Arc::clone(&notify).notified_owned());
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_one());
        let ready = poll(only.as_mut());
        drop(only);
        notifying.join().unwrap();
        assert_ne!(ready, has_permit(&notify));
    });
}

#[test]
fn loom_notify_two_wake_two() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let (mut first, mut second) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
        assert!(!first.as_mut().enable());
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_one());
        notify.notify_one();
        let early = poll(second.as_mut());
        notifying.join().unwrap();
        assert!(poll(first.as_mut()));
        assert!(early || poll(second.as_mut()));
        drop((first, second));
        assert!(!has_permit(&notify));
    });
}

/// The second begins to wait while the first, the last one that waits, is woken.
#[test]
fn loom_notify_finds_one_that_began_to_wait_as_the_last_was_woken() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let (mut first, mut second) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
        assert!(!first.as_mut().enable());
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_one());
        assert!(!poll(second.as_mut()));
        notifying.join().unwrap();
        notify.notify_one();
        assert!(poll(first.as_mut()));
        assert!(poll(second.as_mut()));
        drop((first, second));
        assert!(!has_permit(&notify));
    });
}

#[test]
fn loom_notify_waiters_reaches_those_that_exist() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let flag = Arc::new(AtomicBool::new(false));
        let (its, there) = (Arc::clone(&notify), Arc::clone(&flag));
        let notifying = thread::spawn(move || {
            // Relaxed: as above.
            there.store(true, Relaxed);
            its.notify_waiters();
        });
        let notified = notify.notified();
        // A future that was made before the call is woken by it. A future that was made after it
        // sees what came before the call.
        if !flag.load(Relaxed) {
            loom::future::block_on(notified);
            assert!(flag.load(Relaxed));
        }
        notifying.join().unwrap();
        assert!(!has_permit(&notify));
    });
}

#[test]
fn loom_notify_waiters_races_with_one_that_gives_up() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let (mut first, mut second) =
            (Box::pin(Arc::clone(&notify).notified_owned()), Box::pin(notify.notified()));
        assert!(!poll(first.as_mut()));
        assert!(!poll(second.as_mut()));
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_waiters());
        drop(first);
        notifying.join().unwrap();
        assert!(poll(second.as_mut()));
        // `notify_waiters` stores no permit.
        assert!(!has_permit(&notify));
    });
}

/// A batch has room for two here.
#[test]
fn loom_notify_waiters_of_two_batches_beside_one_that_gives_up() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut waits = three_wait(&notify);
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_waiters());
        // The one that waits for the second batch, if that is still to come.
        drop(waits.pop());
        // Whoever waits from here on is not notified twice.
        notify.notify_one();
        notifying.join().unwrap();
        for wait in &mut waits {
            assert!(poll(wait.as_mut()));
        }
        drop(waits);
        let _ = has_permit(&notify);
        assert!(!has_permit(&notify));
    });
}

#[test]
fn loom_notify_waiters_twice_at_once() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut waits = three_wait(&notify);
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_waiters());
        notify.notify_waiters();
        notifying.join().unwrap();
        for wait in &mut waits {
            assert!(poll(wait.as_mut()));
        }
        assert!(!has_permit(&notify));
    });
}

#[test]
fn loom_notify_one_beside_notify_waiters() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut only = Box::pin(notify.notified());
        assert!(!poll(only.as_mut()));
        let its = Arc::clone(&notify);
        let notifying = thread::spawn(move || its.notify_waiters());
        notify.notify_one();
        let permit = has_permit(&notify);
        notifying.join().unwrap();
        assert!(poll(only.as_mut()));
        drop(only);
        // If the waiter got the permit, none is left. If `notify_waiters` came first, the permit
        // was stored.
        let _ = permit;
        assert!(!has_permit(&notify));
    });
}
