//! The semaphore: counts, order, the end, and threads.

use crate::panic_hook::with_hook;
use crate::polled::Polled;
use crate::support::current_and_multi;
use crate::support::watch::wait_for;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;
use trefoil::sync::{Semaphore, TryAcquireError};
use trefoil::task;

#[test]
fn permits_are_counted() {
    let semaphore = Semaphore::new(5);
    let one = semaphore.try_acquire().unwrap();
    let three = semaphore.try_acquire_many(3).unwrap();
    assert_eq!((one.num_permits(), three.num_permits()), (1, 3));
    assert_eq!(semaphore.available_permits(), 1);
    assert_eq!(semaphore.try_acquire_many(2).unwrap_err(), TryAcquireError::NoPermits);
    drop(three);
    assert_eq!(semaphore.available_permits(), 4);
    one.forget();
    assert_eq!(semaphore.available_permits(), 4);
    assert_eq!(semaphore.forget_permits(3), 3);
    assert_eq!(semaphore.forget_permits(3), 1);
    assert_eq!(semaphore.forget_permits(3), 0);
    semaphore.add_permits(2);
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn permits_are_merged_and_split() {
    let semaphore = Semaphore::new(5);
    let mut some = semaphore.try_acquire_many(2).unwrap();
    some.merge(semaphore.try_acquire_many(3).unwrap());
    assert_eq!(some.num_permits(), 5);
    assert!(some.split(6).is_none());
    let two = some.split(2).unwrap();
    let none = some.split(0).unwrap();
    assert_eq!((some.num_permits(), two.num_permits(), none.num_permits()), (3, 2, 0));
    assert!(std::ptr::eq(two.semaphore(), &raw const semaphore));
    drop(none);
    drop(some);
    assert_eq!(semaphore.available_permits(), 3);
    drop(two);
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
fn owned_permits_keep_the_semaphore_alive() {
    let semaphore = Arc::new(Semaphore::new(4));
    let weak = Arc::downgrade(&semaphore);
    let mut some = Arc::clone(&semaphore).try_acquire_many_owned(3).unwrap();
    some.merge(Arc::clone(&semaphore).try_acquire_owned().unwrap());
    assert_eq!(Arc::clone(&semaphore).try_acquire_owned().unwrap_err(), TryAcquireError::NoPermits);
    let one = some.split(1).unwrap();
    assert!(some.split(4).is_none());
    assert_eq!((some.num_permits(), one.num_permits()), (3, 1));
    assert!(Arc::ptr_eq(one.semaphore(), &semaphore));
    some.forget();
    drop(semaphore);
    assert!(one.semaphore().try_acquire().is_err());
    drop(one);
    assert!(weak.upgrade().is_none());
}

#[test]
fn permits_of_different_semaphores_are_not_merged() {
    let (one, other) = (Semaphore::new(1), Semaphore::new(1));
    let mut permit = one.try_acquire().unwrap();
    let its = other.try_acquire().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| permit.merge(its))).is_err());
    assert_eq!((permit.num_permits(), other.available_permits()), (1, 1));
}

#[cfg(target_pointer_width = "64")]
#[test]
fn there_may_be_more_permits_than_a_u32_counts() {
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS);
    let mut all = semaphore.try_acquire_many(u32::MAX).unwrap();
    all.merge(semaphore.try_acquire_many(u32::MAX).unwrap());
    assert_eq!(all.num_permits(), 2 * u32::MAX as usize);
    let most = all.split(u32::MAX as usize + 1).unwrap();
    assert_eq!(all.num_permits(), u32::MAX as usize - 1);
    drop((all, most));
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
}

#[test]
fn there_are_not_more_than_the_most_permits() {
    assert!(catch_unwind(|| Semaphore::new(Semaphore::MAX_PERMITS + 1)).is_err());
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS - 1);
    assert!(catch_unwind(|| semaphore.add_permits(2)).is_err());
    assert!(catch_unwind(|| semaphore.add_permits(usize::MAX)).is_err());
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS - 1);
    // The drop of a permit is no different.
    let permit = semaphore.try_acquire().unwrap();
    semaphore.add_permits(2);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(permit))).is_err());
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);

    // Nor is it with somebody who waits, and who gets nothing of what is refused.
    let semaphore = Semaphore::new(0);
    let mut waiter = Polled::waiting(semaphore.acquire());
    assert!(catch_unwind(|| semaphore.add_permits(Semaphore::MAX_PERMITS + 1)).is_err());
    assert!(waiter.poll().is_pending());
    semaphore.add_permits(Semaphore::MAX_PERMITS);
    let permit = waiter.ready().unwrap();
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS - 1);
    drop(permit);
}

#[test]
fn waiters_are_served_in_order_whatever_they_want() {
    let semaphore = Semaphore::new(1);
    let wanted = [3, 1, 2, 1, 5, 1];
    let mut waiters = Vec::from_iter(wanted.map(|n| Polled::waiting(semaphore.acquire_many(n))));
    // The first one has gathered the one that was there.
    assert_eq!(semaphore.available_permits(), 0);
    let mut given = 1;
    for first in 0..waiters.len() {
        let needed: u32 = wanted[..=first].iter().sum();
        while given < needed {
            assert!(waiters.iter_mut().skip(first).all(|waiter| waiter.poll().is_pending()));
            assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
            semaphore.add_permits(1);
            given += 1;
        }
        assert_eq!(waiters[first].wakes(), 1);
        let permit = waiters[first].ready().unwrap();
        assert_eq!(permit.num_permits(), wanted[first] as usize);
        permit.forget();
        assert!(waiters.iter().skip(first + 1).all(|waiter| waiter.wakes() == 0));
    }
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn many_permits_at_once_wake_all_that_they_are_enough_for() {
    let semaphore = Semaphore::new(0);
    let mut waiters = Vec::from_iter((0..100).map(|_| Polled::waiting(semaphore.acquire())));
    semaphore.add_permits(70);
    let served = waiters.iter_mut().filter(|waiter| waiter.wakes() == 1).count();
    assert_eq!(served, 70);
    for (n, waiter) in waiters.iter_mut().enumerate() {
        match waiter.poll() {
            Poll::Ready(permit) => {
                assert!(n < 70, "{n}");
                permit.unwrap().forget();
            }
            Poll::Pending => assert!(n >= 70, "{n}"),
        }
    }
    semaphore.add_permits(40);
    assert_eq!(semaphore.available_permits(), 10);
}

#[test]
fn none_at_all_are_always_there() {
    let semaphore = Semaphore::new(0);
    let waiter = Polled::waiting(semaphore.acquire());
    assert_eq!(semaphore.try_acquire_many(0).unwrap().num_permits(), 0);
    assert_eq!(Polled::new(semaphore.acquire_many(0)).ready().unwrap().num_permits(), 0);
    drop(waiter);
    semaphore.close();
    assert!(Polled::new(semaphore.acquire_many(0)).ready().is_err());
}

#[test]
fn the_end_reaches_all_that_wait_and_all_that_come() {
    let semaphore = Semaphore::new(3);
    let held = semaphore.try_acquire().unwrap();
    let mut many = Polled::waiting(semaphore.acquire_many(3));
    let mut one = Polled::waiting(semaphore.acquire());
    assert_eq!(semaphore.available_permits(), 0);
    assert!(!semaphore.is_closed());
    semaphore.close();
    semaphore.close();
    assert!(semaphore.is_closed());
    assert_eq!((many.wakes(), one.wakes()), (1, 1));
    assert!(many.ready().is_err());
    assert!(one.ready().is_err());
    // What the first one had gathered is back, and nobody gets it.
    assert_eq!(semaphore.available_permits(), 2);
    assert!(Polled::new(semaphore.acquire()).ready().is_err());
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    drop(held);
    assert_eq!(semaphore.available_permits(), 3);
    semaphore.add_permits(1);
    assert_eq!(semaphore.forget_permits(9), 4);
}

#[test]
fn nobody_is_told_of_permits_after_the_end() {
    let semaphore = Semaphore::new(0);
    let mut granted = Polled::waiting(semaphore.acquire_many(2));
    semaphore.add_permits(2);
    semaphore.close();
    assert!(granted.ready().is_err());
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn errors_say_what_is_wrong() {
    let semaphore = Semaphore::new(0);
    assert!(semaphore.try_acquire().unwrap_err().to_string().contains("too few"));
    semaphore.close();
    assert!(semaphore.try_acquire().unwrap_err().to_string().contains("closed"));
    assert!(Polled::new(semaphore.acquire()).ready().unwrap_err().to_string().contains("closed"));
}

#[test]
fn threads_wait_in_the_same_queue() {
    let semaphore = Arc::new(Semaphore::new(0));
    let its = Arc::clone(&semaphore);
    let thread = thread::spawn(move || {
        its.blocking_acquire_many(2).unwrap().forget();
        Arc::clone(&its).blocking_acquire_owned().unwrap().forget();
        Arc::clone(&its).blocking_acquire_many_owned(2).unwrap().forget();
        assert!(its.blocking_acquire().is_err());
    });
    semaphore.add_permits(1);
    // The thread has gathered it.
    wait_for("the thread asks", || semaphore.available_permits() == 0);
    let mut behind = Polled::waiting(semaphore.acquire());
    semaphore.add_permits(1);
    assert!(behind.poll().is_pending());
    semaphore.add_permits(1);
    behind.ready().unwrap().forget();
    semaphore.add_permits(3);
    wait_for("the thread has all", || semaphore.available_permits() == 0);
    semaphore.close();
    thread.join().unwrap();
}

#[test]
fn the_hook_of_a_panic_may_give_permits() {
    let semaphore = Arc::new(Semaphore::new(0));
    let its = Arc::clone(&semaphore);
    with_hook(
        move || its.add_permits(1),
        move || {
            let mut waits = Polled::waiting(semaphore.acquire_many(2));
            let more = catch_unwind(AssertUnwindSafe(|| {
                semaphore.add_permits(Semaphore::MAX_PERMITS + 1);
            }));
            assert!(waits.poll().is_pending(), "nothing has changed but for the hook");
            semaphore.add_permits(1);
            drop(waits.ready().unwrap());
            assert_eq!(semaphore.available_permits(), 2);
            std::panic::resume_unwind(more.unwrap_err());
        },
    );
}

#[test]
fn asynchronous_code_must_not_block() {
    for runtime in current_and_multi([1]) {
        let panics = |f: &dyn Fn()| catch_unwind(AssertUnwindSafe(f)).is_err();
        runtime.block_on(async {
            let semaphore = Arc::new(Semaphore::new(9));
            assert!(panics(&|| drop(semaphore.blocking_acquire())));
            assert!(panics(&|| drop(semaphore.blocking_acquire_many(2))));
            assert!(panics(&|| drop(Arc::clone(&semaphore).blocking_acquire_owned())));
            assert!(panics(&|| drop(Arc::clone(&semaphore).blocking_acquire_many_owned(2))));
            assert_eq!(semaphore.available_permits(), 9);
            let its = Arc::clone(&semaphore);
            task::spawn_blocking(move || drop(its.blocking_acquire().unwrap())).await.unwrap();
        });
    }
}

#[test]
fn permits_publish_what_came_before() {
    struct Shared(Semaphore, std::cell::UnsafeCell<[u64; 4]>);
    // SAFETY: the only permit guards the cell, which is what this test is about.
    unsafe impl Sync for Shared {}
    let shared = Shared(Semaphore::new(1), std::cell::UnsafeCell::new([0; 4]));
    let start = Barrier::new(4);
    thread::scope(|scope| {
        let threads = (0..4).map(|_| {
            scope.spawn(|| {
                let shared = &shared;
                start.wait();
                for n in 0..2000 {
                    let permit = if n % 2 == 0 {
                        shared.0.blocking_acquire().unwrap()
                    } else {
                        match shared.0.try_acquire() {
                            Ok(permit) => permit,
                            Err(_) => shared.0.blocking_acquire().unwrap(),
                        }
                    };
                    // SAFETY: this thread has the only permit.
                    let cell = unsafe { &mut *shared.1.get() };
                    cell.iter_mut().for_each(|n| *n += 1);
                    drop(permit);
                }
            })
        });
        // ThreadSanitizer does not see what the end of a scope orders.
        Vec::from_iter(threads).into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(shared.1.into_inner(), [8000; 4]);
}

#[test]
fn it_is_small_and_goes_everywhere() {
    // Under ThreadSanitizer, locks have a word more.
    #[cfg(all(target_pointer_width = "64", not(trefoil_tsan)))]
    {
        assert_eq!(size_of::<Semaphore>(), 24);
        assert_eq!(size_of::<trefoil::sync::SemaphorePermit<'_>>(), 16);
        let semaphore = Semaphore::new(1);
        assert!(size_of_val(&semaphore.acquire()) <= 96, "{}", size_of_val(&semaphore.acquire()));
    }
    fn goes_everywhere<T: Send + Sync>(_: &T) {}
    static SEMAPHORE: Semaphore = Semaphore::const_new(1);
    goes_everywhere(&SEMAPHORE);
    goes_everywhere(&SEMAPHORE.acquire());
    goes_everywhere(&SEMAPHORE.try_acquire().unwrap());
    let owned = Arc::new(Semaphore::new(1));
    goes_everywhere(&Arc::clone(&owned).acquire_owned());
    goes_everywhere(&owned.try_acquire_owned().unwrap());
}
