//! What `runtime::from_tokio` says is the same as in tokio, and what it says is different, tested
//! on both runtimes.

use std::future::{Future, pending, poll_fn};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

/// Stores whether the thread was panicking when it was dropped.
struct Panics(mpsc::Sender<bool>);

impl Future for Panics {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        panic!("on purpose")
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.0.send(thread::panicking()).unwrap();
    }
}

struct PanicsIfWoken;

impl Wake for PanicsIfWoken {
    fn wake(self: Arc<Self>) {
        panic!("on purpose")
    }
}

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

/// The text of a panic.
fn text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.unwrap_or_else(|| *payload.downcast::<String>().unwrap())
}

/// All questions to one of the two runtimes.
macro_rules! answers {
    ($name:ident, $runtime:ident) => {
        mod $name {
            use super::*;
            use $runtime::runtime::{Builder, Handle, LocalRuntime, Runtime};
            use $runtime::task::{self, LocalSet};

            fn current() -> Runtime {
                Builder::new_current_thread().enable_all().build().unwrap()
            }

            fn multi() -> Runtime {
                Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
            }

            /// How many messages a task has received when its sibling first runs.
            pub(super) fn received_before_others_run() -> usize {
                const MESSAGES: usize = 10_000;
                let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
                for n in 0..MESSAGES {
                    sender.send(n).unwrap();
                }
                drop(sender);
                let count = Arc::new(AtomicUsize::new(0));
                let its = Arc::clone(&count);
                current().block_on(async {
                    let all = task::spawn(async move {
                        while receiver.recv().await.is_some() {
                            its.fetch_add(1, SeqCst);
                        }
                    });
                    let seen = task::spawn(async move { count.load(SeqCst) }).await.unwrap();
                    all.await.unwrap();
                    seen
                })
            }

            pub(super) fn a_guard_leaked_in_block_on_is_a_panic() -> bool {
                let ask = || {
                    let (outer, inner) = (current(), current());
                    panics(|| outer.block_on(async { forget(inner.enter()) }))
                };
                thread::spawn(ask).join().unwrap()
            }

            /// Whether there is a current runtime after guards of two runtimes were dropped in the
            /// wrong order, which panics.
            pub(super) fn is_in_one_after_two_were_left_in_the_wrong_order() -> bool {
                let ask = || {
                    let (a, b) = (current(), current());
                    let of_a = a.enter();
                    let of_b = b.enter();
                    assert!(panics(|| drop(of_a)));
                    drop(of_b);
                    Handle::try_current().is_ok()
                };
                thread::spawn(ask).join().unwrap()
            }

            /// The same with sets of local tasks, where the wrong order does not panic.
            pub(super) fn is_in_a_set_after_two_were_left_in_the_wrong_order() -> bool {
                let ask = || {
                    let (a, b) = (LocalSet::new(), LocalSet::new());
                    let of_a = a.enter();
                    let of_b = b.enter();
                    drop(of_a);
                    drop(of_b);
                    !panics(|| drop(task::spawn_local(async {})))
                };
                thread::spawn(ask).join().unwrap()
            }

            /// Whether a task that a `LocalSet` inside of a `LocalRuntime` has spawned goes with
            /// the set.
            pub(super) fn a_task_goes_with_the_inner_set() -> bool {
                let runtime = LocalRuntime::new().unwrap();
                runtime.block_on(async {
                    let set = LocalSet::new();
                    let spawn = |_: &mut Context<'_>| {
                        Poll::Ready(task::spawn_local(task::yield_now()))
                    };
                    let join = set.run_until(poll_fn(spawn)).await;
                    drop(set);
                    join.await.is_err()
                })
            }

            pub(super) fn thread_name() -> String {
                let runtime = multi();
                let name = async { thread::current().name().unwrap().to_owned() };
                runtime.block_on(runtime.spawn(name)).unwrap()
            }

            /// Whether a task that rests was dropped by the end of its runtime while the worker
            /// that has polled it is in a poll, and all other workers have left.
            pub(super) fn a_task_goes_before_the_poll_of_its_worker_ends() -> bool {
                let (stops, has_stopped) = mpsc::channel();
                let runtime = Builder::new_multi_thread()
                    .worker_threads(2)
                    .on_thread_stop(move || {
                        let _ = stops.send(());
                    })
                    .build()
                    .unwrap();
                // One worker is held, so that the other one polls all that follows.
                let (release, is_released) = mpsc::channel::<()>();
                let (holds, is_held) = mpsc::channel();
                runtime.spawn(async move {
                    holds.send(()).unwrap();
                    is_released.recv().unwrap_err();
                });
                is_held.recv().unwrap();
                let (ends, has_ended) = mpsc::channel::<()>();
                let (rests, is_at_rest) = mpsc::channel();
                let (held, of_the_task) = mpsc::channel::<()>();
                runtime.spawn(async move {
                    let has_rested = Arc::new(AtomicUsize::new(0));
                    let its = Arc::clone(&has_rested);
                    task::spawn(async move {
                        its.store(1, SeqCst);
                        let _held = held;
                        pending::<()>().await
                    });
                    while has_rested.load(SeqCst) == 0 {
                        task::yield_now().await;
                    }
                    rests.send(()).unwrap();
                    has_ended.recv().unwrap_err();
                });
                is_at_rest.recv().unwrap();
                // The end has begun when the worker that was held goes on.
                runtime.shutdown_background();
                drop(release);
                has_stopped.recv().unwrap();
                let is_gone = of_the_task.try_recv() == Err(mpsc::TryRecvError::Disconnected);
                drop(ends);
                assert_eq!(of_the_task.recv(), Err(mpsc::RecvError));
                is_gone
            }

            /// What a channel says to its receiver when it was closed, and a sender waits for more
            /// room than there was.
            pub(super) fn end_of_a_channel_with_a_waiting_sender() -> Poll<Option<u32>> {
                let (sender, mut receiver) = $runtime::sync::mpsc::channel(2);
                sender.try_send(1).unwrap();
                let mut both = pin!(sender.reserve_many(2));
                let cx = &mut Context::from_waker(Waker::noop());
                assert!(both.as_mut().poll(cx).is_pending());
                receiver.close();
                assert_eq!(receiver.poll_recv(cx), Poll::Ready(Some(1)));
                receiver.poll_recv(cx)
            }

            /// How many messages there are after their receiver was dropped, and a permit was used.
            pub(super) fn messages_sent_to_nobody() -> usize {
                let message = Arc::new(());
                let (sender, receiver) = $runtime::sync::mpsc::channel(1);
                let permit = sender.try_reserve().unwrap();
                drop(receiver);
                permit.send(Arc::clone(&message));
                Arc::strong_count(&message) - 1
            }

            /// What errors of channels and locks say.
            pub(super) fn texts_of_errors() -> [String; 3] {
                use $runtime::sync::{Semaphore, mpsc};
                let (sender, mut receiver) = mpsc::channel::<u8>(1);
                let empty = receiver.try_recv().unwrap_err().to_string();
                drop(receiver);
                let closed = sender.try_send(1).unwrap_err().to_string();
                [empty, closed, Semaphore::new(0).try_acquire().unwrap_err().to_string()]
            }

            /// Whether the first in a queue is one who asked first, and had no budget then.
            fn a_task_without_budget_keeps_its_place() -> bool {
                let semaphore = $runtime::sync::Semaphore::new(0);
                current().block_on(async {
                    let mut early = pin!(semaphore.acquire());
                    while task::coop::has_budget_remaining() {
                        task::consume_budget().await;
                    }
                    poll_fn(|cx| Poll::Ready(assert!(early.as_mut().poll(cx).is_pending()))).await;
                    let mut late = pin!(task::coop::unconstrained(semaphore.acquire()));
                    poll_fn(|cx| Poll::Ready(assert!(late.as_mut().poll(cx).is_pending()))).await;
                    semaphore.add_permits(1);
                    poll_fn(|cx| Poll::Ready(late.as_mut().poll(cx).is_pending())).await
                })
            }

            /// What is free of a closed semaphore of which one waiter wanted more than there was.
            pub(super) fn permits_that_a_closed_semaphore_has() -> usize {
                let semaphore = $runtime::sync::Semaphore::new(2);
                let mut many = pin!(semaphore.acquire_many(3));
                let cx = &mut Context::from_waker(Waker::noop());
                assert!(many.as_mut().poll(cx).is_pending());
                semaphore.close();
                semaphore.available_permits()
            }

            /// The permits after an attempt to have more than the most, which panics.
            pub(super) fn permits_after_too_many_were_added() -> usize {
                use $runtime::sync::Semaphore;
                let semaphore = Semaphore::new(1);
                assert!(panics(|| semaphore.add_permits(Semaphore::MAX_PERMITS)));
                semaphore.available_permits()
            }

            /// Whether a panic of a waker reaches the one who wakes.
            pub(super) fn a_panic_of_a_waker_goes_on() -> bool {
                let semaphore = $runtime::sync::Semaphore::new(0);
                let mut waiting = pin!(semaphore.acquire());
                let waker = Waker::from(Arc::new(PanicsIfWoken));
                assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                panics(|| semaphore.add_permits(1))
            }

            /// How often a task asks for what is always there before its sibling first runs, if
            /// it asks a thousand times.
            pub(super) fn asked_before_others_run() -> [usize; 6] {
                use $runtime::sync::{Barrier, Notify, OnceCell, SetOnce, broadcast, mpsc};
                fn ask<F: Future<Output = ()> + Send + 'static>(
                    operation: impl Fn() -> F + Send + 'static,
                ) -> usize {
                    let count = Arc::new(AtomicUsize::new(0));
                    let its = Arc::clone(&count);
                    current().block_on(async {
                        let asks = task::spawn(async move {
                            for _ in 0..1000 {
                                operation().await;
                                its.fetch_add(1, SeqCst);
                            }
                        });
                        let seen = task::spawn(async move { count.load(SeqCst) }).await.unwrap();
                        asks.await.unwrap();
                        seen
                    })
                }
                let cell = Arc::new(OnceCell::new_with(Some(1)));
                let barrier = Arc::new(Barrier::new(1));
                let notify = Arc::new(Notify::new());
                let set = Arc::new(SetOnce::new_with(Some(1)));
                let (sender, _) = mpsc::channel::<()>(1);
                let (announcer, _) = broadcast::channel::<()>(1);
                [
                    ask(move || {
                        let cell = Arc::clone(&cell);
                        async move {
                            cell.get_or_init(|| async { 2 }).await;
                        }
                    }),
                    ask(move || {
                        let barrier = Arc::clone(&barrier);
                        async move {
                            barrier.wait().await;
                        }
                    }),
                    ask(move || {
                        let notify = Arc::clone(&notify);
                        async move {
                            notify.notify_one();
                            notify.notified().await;
                        }
                    }),
                    ask(move || {
                        let set = Arc::clone(&set);
                        async move {
                            set.wait().await;
                        }
                    }),
                    ask(move || {
                        let sender = sender.clone();
                        async move { sender.closed().await }
                    }),
                    ask(move || {
                        let announcer = announcer.clone();
                        async move { announcer.closed().await }
                    }),
                ]
            }

            /// What is left of a string when the read of a line behind it is dropped.
            pub(super) fn what_a_dropped_read_leaves_of_a_string() -> String {
                use $runtime::io::{AsyncBufReadExt, BufReader, duplex};
                let (_other, reader) = duplex(8);
                let mut text = String::from("kept");
                let mut reader = BufReader::new(reader);
                let cx = &mut Context::from_waker(Waker::noop());
                assert!(pin!(reader.read_line(&mut text)).poll(cx).is_pending());
                text
            }

            /// The sizes of the futures of macros.
            pub(super) fn sizes() -> Vec<usize> {
                use std::future::ready;
                fn size<F: Future>(future: F) -> usize {
                    size_of_val(&future)
                }
                vec![
                    size(async { $runtime::select!(_ = ready(0i32) => {}) }),
                    size(async { $runtime::select!(_ = ready(0i32) => {}, _ = ready(0i32) => {}) }),
                    size(async {
                        $runtime::select! {
                            biased;
                            _ = ready(0i32) => {}
                            _ = ready(0i32) => {}
                            _ = ready(0i32) => {}
                        }
                    }),
                    size(async { $runtime::join!(ready(0i32)) }),
                    size(async { $runtime::join!(ready(0i32), ready(0i32)) }),
                    size(async { $runtime::join!(biased; ready(0i32)) }),
                    size(async { $runtime::join!(biased; ready(0i32), ready(0i32)) }),
                    size(async { $runtime::try_join!(ready(Ok::<_, ()>(0i32))) }),
                    size(async {
                        $runtime::try_join!(ready(Ok::<_, ()>(0i32)), ready(Ok::<_, ()>(0i32)))
                    }),
                ]
            }

            /// Programs look for these words in the texts of panics, to know what has happened.
            pub(super) fn say_the_same_words() {
                let nowhere = "there is no reactor running";
                for text in [
                    text(|| drop(task::spawn(async {}))),
                    text(|| drop(Handle::current())),
                    text(|| drop($runtime::time::sleep(Duration::ZERO))),
                    Handle::try_current().unwrap_err().to_string(),
                ] {
                    assert!(text.starts_with(nowhere), "{text}");
                }
                let text_within = |f: fn()| text(|| current().block_on(async { f() }));
                let nested = text_within(|| current().block_on(async {}));
                let words = "Cannot start a runtime from within a runtime";
                assert!(nested.starts_with(words), "{nested}");
                let waits = text_within(|| drop($runtime::sync::Mutex::new(()).blocking_lock()));
                let words = "Cannot block the current thread from within a runtime";
                assert!(waits.starts_with(words), "{waits}");
                let dropped = text_within(|| drop(current()));
                let words = "Cannot drop a runtime in a context where blocking is not allowed";
                assert!(dropped.starts_with(words), "{dropped}");
                let elsewhere = LocalRuntime::new().unwrap().block_on(async {
                    let spawn = || text(|| drop(task::spawn_local(async {})));
                    task::spawn_blocking(spawn).await.unwrap()
                });
                let words = "Local tasks can only be spawned on a LocalRuntime";
                assert!(elsewhere.starts_with(words), "{elsewhere}");
                // Theirs has their name and version between the first two words.
                let runtime = Builder::new_current_thread().build().unwrap();
                let sleep = async { $runtime::time::sleep(Duration::ZERO).await };
                let timeless = text(|| runtime.block_on(sleep));
                let words = "context was found, but timers are disabled";
                assert!(timeless.contains(words), "{timeless}");
            }

            /// What is the same in both.
            pub(super) fn are_alike() {
                // Tasks that are spawned into a runtime that has shut down are cancelled.
                let runtime = multi();
                let handle = runtime.handle().clone();
                drop(runtime);
                let join = handle.spawn(pending::<()>());
                assert!(current().block_on(join).unwrap_err().is_cancelled());
                // So are tasks that are spawned into a set that was dropped.
                let set = LocalSet::new();
                let guard = set.enter();
                drop(set);
                let join = task::spawn_local(pending::<()>());
                assert!(current().block_on(join).unwrap_err().is_cancelled());
                drop(guard);
                // A handle to a local runtime takes local tasks on its thread.
                let runtime = LocalRuntime::new().unwrap();
                let handle = runtime.handle().clone();
                let spawn = |_: &mut Context<'_>| Poll::Ready(task::spawn_local(async { 1 }));
                let spawned = handle.block_on(poll_fn(spawn));
                let context = handle.enter();
                let entered = task::spawn_local(async { 2 });
                drop(context);
                let both = async { (spawned.await.unwrap(), entered.await.unwrap()) };
                assert_eq!(runtime.block_on(both), (1, 2));
                // An abort does not take an output away that is stored already.
                let runtime = current();
                let join = runtime.spawn(async { 1 });
                runtime.block_on(task::yield_now());
                assert!(join.is_finished());
                join.abort();
                assert_eq!(runtime.block_on(join).unwrap(), 1);
                // An aborted task is dropped without another poll.
                let join = runtime.spawn(async { 1 });
                join.abort();
                assert!(runtime.block_on(join).unwrap_err().is_cancelled());
                // Blocking in place.
                assert_eq!(task::block_in_place(|| 1), 1);
                assert!(panics(|| current().block_on(async { task::block_in_place(|| ()) })));
                assert_eq!(multi().block_on(async { task::block_in_place(|| 1) }), 1);
                // In asynchronous code, neither can block on a future or drop a runtime.
                assert!(panics(|| current().block_on(async { multi().block_on(async {}) })));
                assert!(panics(|| current().block_on(async { drop(multi()) })));
                current().block_on(async { multi().shutdown_background() });
                // A future that panics is dropped during its panic.
                let (told, is_panicking) = mpsc::channel();
                let runtime = multi();
                let ended = runtime.block_on(runtime.spawn(Panics(told)));
                assert!(ended.unwrap_err().is_panic());
                assert!(is_panicking.recv().unwrap());
                // A task that another thread has spawned waits in the global queue.
                let runtime = current();
                let handle = runtime.handle().clone();
                thread::spawn(move || drop(handle.spawn(async {}))).join().unwrap();
                assert_eq!(runtime.metrics().global_queue_depth(), 1);
                // A runtime has no blank name.
                assert!(panics(|| drop(Builder::new_current_thread().name(" ").build())));
                // Whoever has a runtime may catch panics around it, and errors can be copied.
                fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
                is_unwind_safe::<Runtime>();
                is_unwind_safe::<LocalRuntime>();
                is_unwind_safe::<Handle>();
                fn is_copied<T: Copy>() {}
                is_copied::<$runtime::time::error::Error>();
                // Ids of tasks may be keys of ordered maps.
                fn is_ordered<T: Ord>() {}
                is_ordered::<task::Id>();
                // Guards may be shared between threads.
                fn is_sync(_: &impl Sync) {}
                is_sync(&current().enter());
                assert!(a_task_without_budget_keeps_its_place());
                // Outside of a runtime, neither can spawn.
                assert!(panics(|| drop(task::spawn(async {}))));
                assert!(panics(|| drop(task::spawn_local(async {}))));
            }
        }
    };
}

answers!(theirs, tokio);
answers!(ours, trefoil);

#[test]
fn what_is_different() {
    assert!(theirs::received_before_others_run() < 10_000);
    assert_eq!(ours::received_before_others_run(), 10_000);

    assert!(theirs::a_guard_leaked_in_block_on_is_a_panic());
    assert!(!ours::a_guard_leaked_in_block_on_is_a_panic());

    assert!(theirs::is_in_one_after_two_were_left_in_the_wrong_order());
    assert!(!ours::is_in_one_after_two_were_left_in_the_wrong_order());

    assert!(theirs::is_in_a_set_after_two_were_left_in_the_wrong_order());
    assert!(!ours::is_in_a_set_after_two_were_left_in_the_wrong_order());

    assert!(!theirs::a_task_goes_with_the_inner_set());
    assert!(ours::a_task_goes_with_the_inner_set());

    let names = (theirs::thread_name(), ours::thread_name());
    assert_eq!(names, ("tokio-rt-worker".into(), "trefoil-worker".into()));
}

#[test]
fn tasks_at_rest_go_with_the_worker_that_polled_them() {
    assert!(theirs::a_task_goes_before_the_poll_of_its_worker_ends());
    assert!(!ours::a_task_goes_before_the_poll_of_its_worker_ends());
}

#[test]
fn what_is_different_of_channels() {
    assert_eq!(theirs::end_of_a_channel_with_a_waiting_sender(), Poll::Pending);
    assert_eq!(ours::end_of_a_channel_with_a_waiting_sender(), Poll::Ready(None));

    assert_eq!(theirs::messages_sent_to_nobody(), 1);
    assert_eq!(ours::messages_sent_to_nobody(), 0);

    let mut texts = theirs::texts_of_errors().into_iter().zip(ours::texts_of_errors());
    assert!(texts.all(|(theirs, ours)| theirs != ours));
}

#[test]
fn what_is_different_of_permits() {
    assert_eq!(theirs::permits_that_a_closed_semaphore_has(), 0);
    assert_eq!(ours::permits_that_a_closed_semaphore_has(), 2);

    assert_ne!(theirs::permits_after_too_many_were_added(), 1);
    assert_eq!(ours::permits_after_too_many_were_added(), 1);

    assert!(theirs::a_panic_of_a_waker_goes_on());
    assert!(!ours::a_panic_of_a_waker_goes_on());

    assert_eq!(theirs::asked_before_others_run(), [1000; 6]);
    assert!(ours::asked_before_others_run().into_iter().all(|count| count < 1000));
}

#[test]
fn a_dropped_read_leaves_the_string_as_it_was() {
    assert_eq!(theirs::what_a_dropped_read_leaves_of_a_string(), "");
    assert_eq!(ours::what_a_dropped_read_leaves_of_a_string(), "kept");
}

#[test]
fn what_is_the_same() {
    theirs::say_the_same_words();
    ours::say_the_same_words();
    theirs::are_alike();
    ours::are_alike();
}

#[test]
fn futures_of_macros_are_no_larger_than_theirs() {
    let (ours, theirs) = (ours::sizes(), theirs::sizes());
    assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| ours <= theirs), "{ours:?} {theirs:?}");
}

/// Each difference names a test that there is, as `file::function`. What is missing needs none.
#[test]
fn each_difference_names_its_test() {
    let page = include_str!("../src/runtime/from_tokio.rs");
    let (_, differences) = page.split_once("# Differences").unwrap();
    let mut items: Vec<String> = Vec::new();
    let mut is_missing = false;
    for line in differences.lines().map(|line| line.trim_start_matches("//!").trim()) {
        if line.starts_with("**") {
            is_missing = line == "**What is missing**";
        } else if line.starts_with("- ") && !is_missing {
            items.push(line.to_owned());
        } else if let Some(item) = items.last_mut().filter(|_| !is_missing) {
            item.extend([" ", line]);
        }
    }
    let untested: Vec<_> = items.iter().filter(|item| !item.split('`').any(is_test)).collect();
    assert_eq!(untested, [""; 0]);
    assert!(items.len() > 25, "{}", items.len());
}

/// Whether the word is `file::function` of these tests.
fn is_test(word: &str) -> bool {
    let Some((file, function)) = word.rsplit_once("::") else { return false };
    let path = format!("{}/tests/{}.rs", env!("CARGO_MANIFEST_DIR"), file.replace("::", "/"));
    let function = format!("fn {function}(");
    std::fs::read_to_string(path).is_ok_and(|text| text.contains(&function))
}
