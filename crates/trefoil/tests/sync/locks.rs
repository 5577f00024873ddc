//! The mutex, the lock for readers and writers, and the barrier.

use crate::polled::{Dice, Polled};
use crate::support::by_hand::turns_of_others;
use crate::support::watch::wait_for;
use crate::support::{current_and_multi, current_thread, multi};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use trefoil::sync::{
    Barrier, MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
use trefoil::task;

fn panics<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn a_mutex_is_had_by_one_at_a_time() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.try_lock().unwrap();
    assert!(mutex.try_lock().unwrap_err().to_string().contains("lock"));
    let mut next = Polled::waiting(mutex.lock());
    *guard += 1;
    drop(guard);
    assert_eq!(next.wakes(), 1);
    // It is the next one's, which has not said so yet.
    assert!(mutex.try_lock().is_err());
    assert_eq!(*next.ready(), 2);
    assert_eq!(*mutex.try_lock().unwrap(), 2);
    drop(next);
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn a_mutex_is_reached_in_all_ways() {
    let mut mutex = Mutex::from(String::from("a"));
    mutex.get_mut().push('b');
    assert_eq!(format!("{mutex:?}"), r#"Mutex { data: "ab" }"#);
    let guard = mutex.try_lock().unwrap();
    assert_eq!(format!("{guard} {guard:?}"), r#"ab "ab""#);
    assert!(std::ptr::eq(MutexGuard::mutex(&guard), &raw const mutex));
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
    drop(guard);
    static MUTEX: Mutex<u8> = Mutex::const_new(3);
    assert_eq!(*MUTEX.try_lock().unwrap(), 3);
    assert_eq!(Mutex::<u8>::default().into_inner(), 0);
    let unsized_one: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
    unsized_one.try_lock().unwrap()[0] = 9;
    assert_eq!(*unsized_one.try_lock_owned().unwrap(), [9, 2, 3]);
}

#[test]
fn the_guard_of_a_part_keeps_the_mutex_locked() {
    let mutex = Mutex::new((1, Some('a')));
    let guard = mutex.try_lock().unwrap();
    let guard = MutexGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    let mut number = MutexGuard::map(guard, |pair| &mut pair.0);
    *number += 1;
    assert_eq!(format!("{number} {number:?}"), "2 2");
    assert!(mutex.try_lock().is_err());
    drop(number);
    let option = MutexGuard::map(mutex.try_lock().unwrap(), |pair| &mut pair.1);
    let option = MappedMutexGuard::try_map(option, |_| None::<&mut u8>).unwrap_err();
    let mut letter = MappedMutexGuard::try_map(option, Option::as_mut).unwrap();
    *letter = 'b';
    let letter = MappedMutexGuard::map(letter, |letter| letter);
    assert!(mutex.try_lock().is_err());
    drop(letter);
    assert_eq!(*mutex.try_lock().unwrap(), (2, Some('b')));
    // A panic of the closure unlocks it.
    let guard = mutex.try_lock().unwrap();
    assert!(panics(|| MutexGuard::map(guard, |_| -> &mut u8 { panic!("oh") })));
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn the_owned_guard_of_a_part_keeps_the_mutex_locked() {
    let mutex = Arc::new(Mutex::new((1, Some('a'))));
    let lock = || Arc::clone(&mutex).try_lock_owned();
    let guard = lock().unwrap();
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    let guard = OwnedMutexGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    let option = OwnedMutexGuard::map(guard, |pair| &mut pair.1);
    let option = OwnedMappedMutexGuard::try_map(option, |_| None::<&mut u8>).unwrap_err();
    let mut letter = OwnedMappedMutexGuard::try_map(option, Option::as_mut).unwrap();
    *letter = 'b';
    assert!(lock().is_err());
    assert_eq!(Arc::strong_count(&mutex), 2);
    drop(OwnedMappedMutexGuard::map(letter, |letter| letter));
    assert_eq!(*lock().unwrap(), (1, Some('b')));
    drop(OwnedMutexGuard::try_map(lock().unwrap(), |pair| Some(&mut pair.0)).unwrap());
    assert_eq!(Arc::strong_count(&mutex), 1);
    // The guard may be the last owner.
    let guard = Arc::clone(&mutex).try_lock_owned().unwrap();
    let weak = Arc::downgrade(&mutex);
    drop(mutex);
    drop(OwnedMutexGuard::map(guard, |pair| &mut pair.0));
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_panic_unlocks() {
    let runtime = multi(2);
    let (mutex, lock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    let (its, there) = (Arc::clone(&mutex), Arc::clone(&lock));
    let task = runtime.spawn(async move {
        let (mut one, mut other) = (its.lock().await, there.write().await);
        *one = 1;
        *other = 2;
        panic!("with both locks");
    });
    runtime.block_on(async {
        assert!(task.await.unwrap_err().is_panic());
        assert_eq!((*mutex.lock().await, *lock.read().await), (1, 2));
    });
}

#[test]
fn a_mutex_counts_what_tasks_and_threads_add() {
    const ROUNDS: u64 = 500;
    for runtime in current_and_multi([1, 4]) {
        let mutex = Arc::new(Mutex::new(0));
        let threads = Vec::from_iter((0..2).map(|n| {
            let mutex = Arc::clone(&mutex);
            thread::spawn(move || {
                for _ in 0..ROUNDS {
                    if n == 0 {
                        *mutex.blocking_lock() += 1;
                    } else {
                        *Arc::clone(&mutex).blocking_lock_owned() += 1;
                    }
                }
            })
        }));
        runtime.block_on(async {
            let tasks = Vec::from_iter((0..8).map(|n| {
                let mutex = Arc::clone(&mutex);
                trefoil::spawn(async move {
                    for _ in 0..ROUNDS {
                        let mut guard = mutex.lock().await;
                        let before = *guard;
                        if n % 2 == 0 {
                            task::yield_now().await;
                        }
                        *guard = before + 1;
                    }
                })
            }));
            for task in tasks {
                task.await.unwrap();
            }
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*mutex.try_lock().unwrap(), 10 * ROUNDS);
    }
}

/// The holder unlocks and asks again in a loop, always ready but for the others.
#[test]
fn a_mutex_goes_round() {
    current_thread().block_on(async {
        let mutex = Arc::new(Mutex::new(Vec::new()));
        let guard = mutex.lock().await;
        let tasks = Vec::from_iter((0..4).map(|n| {
            let mutex = Arc::clone(&mutex);
            trefoil::spawn(async move {
                for _ in 0..100 {
                    mutex.lock().await.push(n);
                }
            })
        }));
        for _ in 0..2 {
            task::yield_now().await;
        }
        drop(guard);
        for task in tasks {
            task.await.unwrap();
        }
        let order = mutex.lock().await;
        let expected = Vec::from_iter((0..400).map(|n| n % 4));
        assert_eq!(*order, expected);
    });
}

#[test]
fn asynchronous_code_must_not_block_for_a_lock() {
    for runtime in current_and_multi([1]) {
        runtime.block_on(async {
            let (mutex, lock) = (Arc::new(Mutex::new(0)), RwLock::new(0));
            assert!(panics(|| drop(mutex.blocking_lock())));
            assert!(panics(|| drop(Arc::clone(&mutex).blocking_lock_owned())));
            assert!(panics(|| drop(lock.blocking_read())));
            assert!(panics(|| drop(lock.blocking_write())));
            assert!(mutex.try_lock().is_ok() && lock.try_write().is_ok());
        });
    }
}

#[test]
fn many_read_or_one_writes() {
    let lock = RwLock::new(1);
    let (one, another) = (lock.try_read().unwrap(), lock.try_read().unwrap());
    assert_eq!(*one + *another, 2);
    assert!(lock.try_write().is_err());
    let mut writer = Polled::waiting(lock.write());
    // Who comes after the writer waits for it.
    assert!(lock.try_read().is_err());
    let mut reader = Polled::waiting(lock.read());
    drop(one);
    assert_eq!(writer.wakes(), 0);
    drop(another);
    assert_eq!((writer.wakes(), reader.wakes()), (1, 0));
    *writer.ready() = 5;
    assert_eq!(*reader.ready(), 5);
    assert_eq!(*lock.try_write().unwrap(), 5);
}

#[test]
fn a_writer_that_gives_up_lets_the_readers_behind_it_go_on() {
    let lock = RwLock::new(());
    let held = lock.try_read().unwrap();
    let writer = Polled::waiting(lock.write());
    let mut readers = Vec::from_iter((0..3).map(|_| Polled::waiting(lock.read())));
    drop(writer);
    let guards = Vec::from_iter(readers.iter_mut().map(|reader| {
        assert_eq!(reader.wakes(), 1);
        reader.ready()
    }));
    drop((held, guards));
    assert!(lock.try_write().is_ok());
}

#[test]
fn the_number_of_readers_is_limited() {
    let lock = RwLock::with_max_readers((), 2);
    let (one, _other) = (lock.try_read().unwrap(), lock.try_read().unwrap());
    assert!(lock.try_read().is_err());
    let mut third = Polled::waiting(lock.read());
    drop(one);
    drop(third.ready());
    for too in [0, u32::MAX >> 2] {
        let panic = catch_unwind(|| RwLock::with_max_readers((), too)).unwrap_err();
        let message = panic.downcast_ref::<&str>().unwrap();
        assert!(message.contains("readers"), "{message}");
        assert!(panics(|| RwLock::const_with_max_readers((), too)));
    }
    static LOCK: RwLock<u8> = RwLock::const_with_max_readers(1, u32::MAX >> 3);
    assert_eq!(*LOCK.try_write().unwrap(), 1);
}

#[test]
fn a_writer_goes_on_as_a_reader_and_no_writer_comes_in_between() {
    let lock = Arc::new(RwLock::new((1, 'a')));
    let mut guard = lock.try_write().unwrap();
    let mut reader = Polled::waiting(lock.read());
    let mut writer = Polled::waiting(lock.write());
    guard.0 = 2;
    let guard = guard.downgrade();
    // The reader was first.
    assert_eq!(reader.ready().0, 2);
    assert!(writer.poll().is_pending());
    assert_eq!(*guard, (2, 'a'));
    drop(guard);
    drop(writer.ready());

    let guard = RwLockWriteGuard::downgrade_map(lock.try_write().unwrap(), |pair| &pair.0);
    assert_eq!((*guard, lock.try_read().unwrap().1), (2, 'a'));
    drop(guard);
    let guard = lock.try_write().unwrap();
    let guard = RwLockWriteGuard::try_downgrade_map(guard, |_| None::<&u8>).unwrap_err();
    assert!(lock.try_read().is_err());
    let guard = RwLockWriteGuard::try_downgrade_map(guard, |pair| Some(&pair.1)).unwrap();
    assert_eq!((*guard, lock.try_read().unwrap().0), ('a', 2));
    drop(guard);

    let own = || Arc::clone(&lock).try_write_owned().unwrap();
    let guard = own().downgrade();
    assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&guard), &lock));
    assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    drop(guard);
    let guard = OwnedRwLockWriteGuard::downgrade_map(own(), |pair| &pair.0);
    assert_eq!((*guard, lock.try_read().unwrap().1), (2, 'a'));
    drop(guard);
    let guard = OwnedRwLockWriteGuard::try_downgrade_map(own(), |_| None::<&u8>).unwrap_err();
    assert!(lock.try_read().is_err());
    let guard = OwnedRwLockWriteGuard::try_downgrade_map(guard, |pair| Some(&pair.1)).unwrap();
    assert_eq!((*guard, lock.try_read().unwrap().0), ('a', 2));
    drop(guard);
    assert_eq!(Arc::strong_count(&lock), 1);
    assert!(lock.try_write().is_ok());
}

#[test]
fn the_guards_of_a_part_keep_the_lock() {
    let lock = RwLock::new((1, Some('a')));
    let guard = RwLockReadGuard::map(lock.try_read().unwrap(), |pair| &pair.1);
    let guard = RwLockReadGuard::try_map(guard, |_| None::<&u8>).unwrap_err();
    let guard = RwLockReadGuard::try_map(guard, Option::as_ref).unwrap();
    assert_eq!(format!("{guard} {guard:?}"), "a 'a'");
    assert!(lock.try_write().is_err() && lock.try_read().is_ok());
    drop(guard);
    let guard = lock.try_write().unwrap();
    let guard = RwLockWriteGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    let guard = RwLockWriteGuard::map(guard, |pair| &mut pair.1);
    let guard = RwLockMappedWriteGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    let mut guard = RwLockMappedWriteGuard::try_map(guard, Option::as_mut).unwrap();
    *guard = 'b';
    assert!(lock.try_read().is_err());
    drop(RwLockMappedWriteGuard::map(guard, |letter| letter));
    RwLockWriteGuard::into_mapped(lock.try_write().unwrap()).0 += 1;
    *RwLockWriteGuard::try_map(lock.try_write().unwrap(), |pair| Some(&mut pair.0)).unwrap() += 1;
    assert_eq!(*lock.try_write().unwrap(), (3, Some('b')));
}

#[test]
fn the_owned_guards_of_a_part_keep_the_lock() {
    let lock = Arc::new(RwLock::new((1, Some('a'))));
    let read = || Arc::clone(&lock).try_read_owned().unwrap();
    let write = || Arc::clone(&lock).try_write_owned().unwrap();
    let guard = OwnedRwLockReadGuard::map(read(), |pair| &pair.1);
    let guard = OwnedRwLockReadGuard::try_map(guard, |_| None::<&u8>).unwrap_err();
    let guard = OwnedRwLockReadGuard::try_map(guard, Option::as_ref).unwrap();
    assert!(lock.try_write().is_err() && lock.try_read().is_ok());
    drop(guard);
    let guard = write();
    assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&guard), &lock));
    let guard = OwnedRwLockWriteGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    let guard = OwnedRwLockWriteGuard::map(guard, |pair| &mut pair.1);
    assert!(Arc::ptr_eq(OwnedRwLockMappedWriteGuard::rwlock(&guard), &lock));
    let guard = OwnedRwLockMappedWriteGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    let mut guard = OwnedRwLockMappedWriteGuard::try_map(guard, Option::as_mut).unwrap();
    *guard = 'b';
    assert!(lock.try_read().is_err());
    drop(OwnedRwLockMappedWriteGuard::map(guard, |letter| letter));
    OwnedRwLockWriteGuard::into_mapped(write()).0 += 1;
    *OwnedRwLockWriteGuard::try_map(write(), |pair| Some(&mut pair.0)).unwrap() += 1;
    assert_eq!(*read(), (3, Some('b')));
    assert_eq!(Arc::strong_count(&lock), 1);
}

#[test]
fn a_lock_is_reached_in_all_ways() {
    let mut lock = RwLock::from(1);
    *lock.get_mut() += 1;
    assert_eq!(format!("{lock:?}"), "RwLock { data: 2 }");
    let guard = lock.try_write().unwrap();
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked> }");
    assert_eq!(format!("{guard} {guard:?}"), "2 2");
    drop(guard);
    assert_eq!(*lock.blocking_read(), 2);
    *lock.blocking_write() += 1;
    assert_eq!(lock.into_inner(), 3);
    assert_eq!(RwLock::<u8>::default().into_inner(), 0);
    static LOCK: RwLock<u8> = RwLock::const_new(4);
    assert_eq!(*LOCK.try_read().unwrap(), 4);
    let unsized_one: Arc<RwLock<[u8]>> = Arc::new(RwLock::new([1, 2]));
    current_thread().block_on(async {
        Arc::clone(&unsized_one).write_owned().await[1] = 7;
        assert_eq!(*unsized_one.read_owned().await, [1, 7]);
    });
}

#[test]
fn a_storm_of_readers_writers_and_cancellations_keeps_the_lock_sound() {
    const TASKS: u64 = 12;
    const ROUNDS: u64 = 1500;
    for runtime in current_and_multi([2, 4]) {
        runtime.block_on(async {
            // Writers keep the two equal, but for a moment.
            let lock = Arc::new(RwLock::with_max_readers((0_u64, 0_u64), 5));
            let tasks = Vec::from_iter((1..=TASKS).map(|seed| {
                let lock = Arc::clone(&lock);
                trefoil::spawn(async move {
                    let mut dice = Dice(seed << 40 | seed);
                    let mut written = 0;
                    for _ in 0..ROUNDS {
                        let patience = dice.below(8);
                        let give_up = async {
                            for _ in 0..patience {
                                task::yield_now().await;
                            }
                        };
                        if dice.below(3) == 0 {
                            let mut guard = trefoil::select! {
                                biased;
                                guard = lock.write() => guard,
                                () = give_up => continue,
                            };
                            guard.0 += 1;
                            task::yield_now().await;
                            guard.1 += 1;
                            written += 1;
                            if dice.below(2) == 0 {
                                let guard = guard.downgrade();
                                let before = *guard;
                                task::yield_now().await;
                                assert_eq!(*guard, before);
                            }
                        } else {
                            let guard = trefoil::select! {
                                biased;
                                guard = lock.read() => guard,
                                () = give_up => continue,
                            };
                            let before = *guard;
                            assert_eq!(before.0, before.1);
                            if dice.below(2) == 0 {
                                task::yield_now().await;
                            }
                            assert_eq!(*guard, before);
                        }
                    }
                    written
                })
            }));
            let mut written = 0;
            for task in tasks {
                written += task.await.unwrap();
            }
            assert!(written > 0);
            assert_eq!(*lock.write().await, (written, written));
            assert!(lock.try_write().is_ok());
        });
    }
}

#[test]
fn a_wait_for_a_lock_may_be_dropped_at_every_poll() {
    // 0: never polled. 1: it waits. 2: it has the lock, and does not know. 3: it knows.
    for polls in 0..=3 {
        let lock = RwLock::new(());
        let held = lock.try_write().unwrap();
        let mut writer = Polled::new(lock.write());
        let mut held = Some(held);
        let mut guard = None;
        for n in 1..=polls {
            match n {
                1 => assert!(writer.poll().is_pending()),
                2 => drop(held.take()),
                _ => guard = Some(writer.ready()),
            }
        }
        let mut behind = Polled::new(lock.read());
        assert!(behind.poll().is_pending(), "{polls}");
        drop(writer);
        drop(held);
        assert_eq!(behind.poll().is_ready(), guard.is_none(), "{polls}");
        drop((behind, guard));
        assert!(lock.try_write().is_ok());
    }
}

#[test]
fn a_barrier_opens_for_each_generation() {
    const TASKS: usize = 7;
    const ROUNDS: usize = 300;
    for runtime in current_and_multi([1, 4]) {
        runtime.block_on(async {
            let barrier = Arc::new(Barrier::new(TASKS));
            let arrived = Arc::new(AtomicUsize::new(0));
            let tasks = Vec::from_iter((0..TASKS).map(|_| {
                let (barrier, arrived) = (Arc::clone(&barrier), Arc::clone(&arrived));
                trefoil::spawn(async move {
                    let mut led = 0;
                    for round in 1..=ROUNDS {
                        arrived.fetch_add(1, SeqCst);
                        led += usize::from(barrier.wait().await.is_leader());
                        let now = arrived.load(SeqCst);
                        // All of this round have arrived, and nobody is two rounds ahead.
                        assert!((round * TASKS..(round + 1) * TASKS).contains(&now), "{now}");
                        barrier.wait().await;
                    }
                    led
                })
            }));
            let mut led = 0;
            for task in tasks {
                led += task.await.unwrap();
            }
            assert_eq!(led, ROUNDS);
        });
    }
}

#[test]
fn a_barrier_counts_arrivals_also_of_those_that_leave() {
    let barrier = Barrier::new(3);
    drop(Polled::new(barrier.wait()));
    drop(Polled::waiting(barrier.wait()));
    let mut second = Polled::waiting(barrier.wait());
    assert_eq!(second.wakes(), 0);
    // The one that was never polled has not arrived.
    assert!(Polled::new(barrier.wait()).ready().is_leader());
    assert_eq!(second.wakes(), 1);
    // The next generation does not open for it.
    let mut late = Polled::waiting(barrier.wait());
    assert!(!second.ready().is_leader());
    assert!(late.poll().is_pending());
    assert!(format!("{barrier:?}").contains("arrived: 1"), "{barrier:?}");
}

#[test]
fn a_barrier_for_none_is_one_for_one() {
    for n in [0, 1] {
        let barrier = Barrier::new(n);
        for _ in 0..3 {
            assert!(Polled::new(barrier.wait()).ready().is_leader());
        }
    }
    let huge = Barrier::new(usize::MAX);
    let mut waits = Polled::waiting(huge.wait());
    assert!(waits.poll().is_pending());
}

#[test]
fn a_barrier_that_is_always_open_leaves_others_their_turn() {
    let turns = turns_of_others(async {
        let barrier = Barrier::new(1);
        for _ in 0..1000 {
            assert!(barrier.wait().await.is_leader());
        }
    });
    assert_eq!(turns, 7);
}

#[test]
fn a_thread_waits_in_the_queue_of_a_lock() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let its = Arc::clone(&mutex);
    let thread = thread::spawn(move || *its.blocking_lock() += 1);
    // Two strong counts say nothing of the queue. A waiter behind the thread does.
    let lock = RwLock::new(());
    let (reading, writing) = (lock.try_read().unwrap(), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(lock.blocking_write());
            writing.store(1, SeqCst);
        });
        wait_for("a writer waits", || lock.try_read().is_err());
        let mut behind = Polled::waiting(lock.read());
        assert_eq!(writing.load(SeqCst), 0);
        drop(reading);
        wait_for("the writer is done", || behind.wakes() == 1);
        assert!(behind.poll().is_ready());
    });
    drop(guard);
    thread.join().unwrap();
    assert_eq!(*mutex.try_lock().unwrap(), 1);
}

#[test]
fn locks_are_small_and_go_everywhere() {
    // Under ThreadSanitizer, locks have a word more.
    #[cfg(all(target_pointer_width = "64", not(trefoil_tsan)))]
    {
        assert_eq!((size_of::<Mutex<()>>(), size_of::<Mutex<u64>>()), (24, 32));
        assert_eq!((size_of::<RwLock<()>>(), size_of::<RwLock<u64>>()), (32, 40));
        assert_eq!((size_of::<MutexGuard<'_, u8>>(), size_of::<OwnedMutexGuard<u8>>()), (8, 8));
        assert_eq!(size_of::<RwLockReadGuard<'_, u8>>(), 16);
        assert_eq!(size_of::<RwLockWriteGuard<'_, u8>>(), 16);
        let mutex = Mutex::new(());
        assert!(size_of_val(&mutex.lock()) <= 96, "{}", size_of_val(&mutex.lock()));
    }
    fn sent<T: Send>() {}
    fn sent_and_shared<T: Send + Sync + Unpin>() {}
    fn everywhere<T: Send + Sync>(_: T) {}
    sent_and_shared::<Mutex<std::cell::Cell<u8>>>();
    sent::<MutexGuard<'_, std::cell::Cell<u8>>>();
    sent::<OwnedMutexGuard<std::cell::Cell<u8>>>();
    sent::<MappedMutexGuard<'_, std::cell::Cell<u8>>>();
    sent::<OwnedMappedMutexGuard<u8, std::cell::Cell<u8>>>();
    sent_and_shared::<MutexGuard<'_, u8>>();
    sent_and_shared::<OwnedMappedMutexGuard<u8, i8>>();
    sent_and_shared::<RwLock<u8>>();
    sent_and_shared::<RwLockReadGuard<'_, u8>>();
    sent_and_shared::<RwLockWriteGuard<'_, u8>>();
    sent_and_shared::<RwLockMappedWriteGuard<'_, u8>>();
    sent_and_shared::<OwnedRwLockReadGuard<u8, i8>>();
    sent_and_shared::<OwnedRwLockWriteGuard<u8>>();
    sent_and_shared::<OwnedRwLockMappedWriteGuard<u8, i8>>();
    sent_and_shared::<Barrier>();
    let (mutex, lock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    everywhere(mutex.lock());
    everywhere(Arc::clone(&mutex).lock_owned());
    everywhere((lock.read(), lock.write()));
    everywhere((Arc::clone(&lock).read_owned(), Arc::clone(&lock).write_owned()));
    assert!(matches!(Polled::new(mutex.lock()).poll(), Poll::Ready(_)));
}
