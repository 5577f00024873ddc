//! Cells that are written once.

use crate::polled::Polled;
use crate::support::by_hand::turns_of_others;
use crate::support::current_and_multi;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use trefoil::sync::{OnceCell, SetError, SetOnce, SetOnceError, oneshot};
use trefoil::task;

/// Counts how many of it are dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_cell_is_filled_once() {
    let mut cell = OnceCell::new();
    assert!(!cell.initialized());
    assert_eq!(cell.get(), None);
    assert_eq!(cell.get_mut(), None);
    assert_eq!(*Polled::new(cell.get_or_init(|| ready(1))).ready(), 1);
    assert_eq!(*Polled::new(cell.get_or_init(|| ready(2))).ready(), 1);
    let error = cell.set(3).unwrap_err();
    assert!(error.is_already_init_err() && !error.is_initializing_err());
    assert_eq!(error, SetError::AlreadyInitializedError(3));
    *cell.get_mut().unwrap() += 10;
    assert_eq!((cell.get(), cell.initialized()), (Some(&11), true));
    assert_eq!(format!("{cell:?}"), "OnceCell { value: Some(11) }");
    assert_eq!(cell, cell.clone());
    assert_eq!(cell.take(), Some(11));
    // It is as new.
    assert_eq!(cell.get(), None);
    assert_eq!(cell.take(), None);
    assert_eq!(cell.set(4), Ok(()));
    assert_eq!(cell.into_inner(), Some(4));
}

#[test]
fn a_cell_may_be_made_with_a_value() {
    static FULL: OnceCell<u8> = OnceCell::const_new_with(1);
    static EMPTY: OnceCell<u8> = OnceCell::const_new();
    assert_eq!((FULL.get(), EMPTY.get()), (Some(&1), None));
    for cell in [OnceCell::from(2), OnceCell::new_with(Some(2)), OnceCell::const_new_with(2)] {
        assert_eq!(*Polled::new(cell.get_or_init(pending)).ready(), 2);
        assert!(cell.set(3).unwrap_err().is_already_init_err());
        assert_ne!(cell, OnceCell::new_with(None));
        assert_eq!(cell.into_inner(), Some(2));
    }
    assert_eq!(OnceCell::<u8>::default(), OnceCell::new());
}

#[test]
fn those_who_wait_get_the_value_of_the_one_who_makes_it() {
    let cell = OnceCell::new();
    let (sender, receiver) = oneshot::channel();
    let mut maker = Polled::waiting(cell.get_or_init(|| async { receiver.await.unwrap() }));
    let mut others = Vec::from_iter((0..3).map(|_| Polled::waiting(cell.get_or_init(pending))));
    let error = cell.set(1).unwrap_err();
    assert!(error.is_initializing_err() && !error.is_already_init_err());
    assert_eq!(error, SetError::InitializingError(1));
    assert_eq!(cell.get(), None);
    sender.send(7).unwrap();
    assert_eq!(*maker.ready(), 7);
    for other in &mut others {
        assert_eq!((other.wakes(), *other.ready()), (1, 7));
    }
}

#[test]
fn if_the_maker_gives_up_the_next_one_makes_the_value() {
    let cell = OnceCell::new();
    let gone = Polled::waiting(cell.get_or_init(pending));
    let mut fails = Polled::waiting(cell.get_or_try_init(|| ready(Err("no"))));
    let mut panics = Polled::waiting(cell.get_or_init(|| async { panic!("oh") }));
    let mut makes = Polled::waiting(cell.get_or_try_init(|| ready(Ok::<_, Infallible>(5))));
    let mut last = Polled::waiting(cell.get_or_init(pending));
    drop(gone);
    assert_eq!((fails.wakes(), panics.wakes()), (1, 0));
    assert_eq!(fails.ready(), Err("no"));
    assert_eq!((panics.wakes(), makes.wakes()), (1, 0));
    assert!(catch_unwind(AssertUnwindSafe(|| panics.poll().is_ready())).is_err());
    assert_eq!((makes.wakes(), last.wakes()), (1, 0));
    assert_eq!(makes.ready(), Ok(&5));
    assert_eq!(*last.ready(), 5);
}

#[test]
fn a_maker_may_be_dropped_at_every_poll() {
    for polls in 0..=4 {
        let cell = OnceCell::new();
        let mut maker = Polled::new(cell.get_or_init(|| async {
            for _ in 0..3 {
                task::yield_now().await;
            }
            1
        }));
        let mut is_made = false;
        for _ in 0..polls {
            is_made = maker.poll().is_ready();
        }
        drop(maker);
        assert_eq!(is_made, polls == 4);
        assert_eq!(
            *Polled::new(cell.get_or_init(|| ready(2))).ready(),
            if is_made { 1 } else { 2 }
        );
    }
}

#[test]
fn of_many_makers_one_makes() {
    for runtime in current_and_multi([1, 4]) {
        runtime.block_on(async {
            for _ in 0..100 {
                let shared = Arc::new((OnceCell::new(), AtomicUsize::new(0)));
                let tasks = Vec::from_iter((0..8).map(|n| {
                    let shared = Arc::clone(&shared);
                    trefoil::spawn(async move {
                        let (cell, made) = &*shared;
                        *cell
                            .get_or_init(|| async {
                                made.fetch_add(1, SeqCst);
                                task::yield_now().await;
                                n
                            })
                            .await
                    })
                }));
                let mut values = Vec::new();
                for task in tasks {
                    values.push(task.await.unwrap());
                }
                assert!(values.iter().all(|value| Some(value) == shared.0.get()));
                assert_eq!(shared.1.load(SeqCst), 1);
            }
        });
    }
}

#[test]
fn a_value_is_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = || Counted(Arc::clone(&drops));
    drop(OnceCell::<Counted>::new());
    drop(SetOnce::<Counted>::new());
    drop(OnceCell::from(counted()));
    assert_eq!(drops.load(SeqCst), 1);
    let cell = OnceCell::new();
    assert!(cell.set(counted()).is_ok());
    drop(cell.set(counted()));
    assert_eq!(drops.load(SeqCst), 2);
    let value = cell.into_inner();
    assert_eq!(drops.load(SeqCst), 2);
    drop(value);
    assert_eq!(drops.load(SeqCst), 3);
    let once = SetOnce::new();
    assert!(once.set(counted()).is_ok());
    drop(once.set(counted()));
    assert_eq!(drops.load(SeqCst), 4);
    let value = once.into_inner();
    assert_eq!(drops.load(SeqCst), 4);
    drop((value, SetOnce::from(counted())));
    assert_eq!(drops.load(SeqCst), 6);
    // Its own drop may panic; it is not dropped again.
    struct Panics(Arc<AtomicUsize>);
    impl Drop for Panics {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            panic!("in the drop");
        }
    }
    let bad = OnceCell::from(Panics(Arc::clone(&drops)));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(bad))).is_err());
    assert_eq!(drops.load(SeqCst), 7);
}

#[test]
fn a_value_is_set_once_and_reaches_all_that_wait() {
    let once = SetOnce::new();
    let mut waiters = Vec::from_iter((0..50).map(|_| Polled::waiting(once.wait())));
    drop(waiters.pop());
    assert_eq!((once.get(), once.initialized()), (None, false));
    assert_eq!(once.set(1), Ok(()));
    assert_eq!(once.set(2), Err(SetOnceError(2)));
    assert!(once.set(2).unwrap_err().to_string().contains("set"));
    for waiter in &mut waiters {
        assert_eq!((waiter.wakes(), *waiter.ready()), (1, 1));
    }
    assert_eq!(*Polled::new(once.wait()).ready(), 1);
    assert_eq!((once.get(), once.initialized()), (Some(&1), true));
    assert_eq!(format!("{once:?}"), "SetOnce { value: Some(1) }");
    assert_eq!(once, once.clone());
    drop(waiters);
    assert_eq!(once.into_inner(), Some(1));
    assert_eq!(SetOnce::<u8>::new_with(None).into_inner(), None);
    static FULL: SetOnce<u8> = SetOnce::const_new_with(1);
    static EMPTY: SetOnce<u8> = SetOnce::const_new();
    assert_ne!(FULL, EMPTY);
}

#[test]
fn a_value_that_is_set_between_creation_and_poll_is_seen() {
    let once = SetOnce::new();
    let mut waiter = Polled::new(once.wait());
    once.set(1).unwrap();
    assert_eq!(*waiter.ready(), 1);
}

/// Who has come too late finds the value, whoever is about to write it.
#[test]
fn of_many_who_set_one_does_and_all_find_the_value() {
    for _ in 0..300 {
        let (once, start) = (SetOnce::new(), Barrier::new(4));
        let won = AtomicUsize::new(0);
        thread::scope(|scope| {
            let threads = (0..4_u64).map(|n| {
                let (once, start, won) = (&once, &start, &won);
                scope.spawn(move || {
                    start.wait();
                    match once.set([n; 8]) {
                        Ok(()) => {
                            won.fetch_add(1, SeqCst);
                        }
                        Err(SetOnceError(value)) => assert_eq!(value, [n; 8]),
                    }
                    let value = once.get().expect("somebody has set it");
                    assert!(value.iter().all(|n| *n == value[0]));
                })
            });
            // ThreadSanitizer does not see what the end of a scope orders.
            Vec::from_iter(threads).into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_eq!(won.load(SeqCst), 1);
    }
}

#[test]
fn waiting_tasks_are_woken_by_a_value_from_another_thread() {
    for runtime in current_and_multi([2]) {
        for _ in 0..100 {
            let once = Arc::new(SetOnce::new());
            let its = Arc::clone(&once);
            let thread = thread::spawn(move || its.set(String::from("there")).unwrap());
            let there = Arc::clone(&once);
            let task = runtime.spawn(async move { there.wait().await.clone() });
            assert_eq!(runtime.block_on(async { once.wait().await.clone() }), "there");
            assert_eq!(runtime.block_on(task).unwrap(), "there");
            thread.join().unwrap();
        }
    }
}

#[test]
fn what_is_always_there_leaves_others_their_turn() {
    let cells = turns_of_others(async {
        let cell = OnceCell::from(1);
        for _ in 0..1000 {
            cell.get_or_init(pending).await;
        }
    });
    let set = turns_of_others(async {
        let once = SetOnce::from(1);
        for _ in 0..1000 {
            once.wait().await;
        }
    });
    let messages = turns_of_others(async {
        for n in 0..1000 {
            let (sender, receiver) = oneshot::channel();
            sender.send(n).unwrap();
            assert_eq!(receiver.await, Ok(n));
        }
    });
    let ends = turns_of_others(async {
        let (mut sender, receiver) = oneshot::channel::<()>();
        drop(receiver);
        for _ in 0..1000 {
            sender.closed().await;
        }
    });
    assert_eq!((cells, set, messages, ends), (7, 7, 7, 7));
}

#[test]
fn cells_are_small_and_go_everywhere() {
    // Under ThreadSanitizer, locks have a word more.
    #[cfg(all(target_pointer_width = "64", not(trefoil_tsan)))]
    assert_eq!((size_of::<OnceCell<u8>>(), size_of::<OnceCell<u64>>()), (32, 40));
    fn everywhere<T: Send + Sync>(_: T) {}
    let (cell, once) = (OnceCell::<u8>::new(), SetOnce::<u8>::new());
    everywhere((cell.get_or_init(|| ready(1)), once.wait()));
    everywhere((cell, once));
}
