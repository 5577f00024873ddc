//! What `runtime::from_tokio` says is the same as in tokio, and what it says is different, tested
//! on both runtimes.

use std::future::{Future, pending};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;

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

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

/// All questions to one of the two runtimes.
macro_rules! answers {
    ($name:ident, $runtime:ident) => {
        mod $name {
            use super::*;
            use $runtime::runtime::{Builder, Handle, Runtime};
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

            pub(super) fn thread_name() -> String {
                let runtime = multi();
                let name = async { thread::current().name().unwrap().to_owned() };
                runtime.block_on(runtime.spawn(name)).unwrap()
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
                // Guards may be shared between threads.
                fn is_sync(_: &impl Sync) {}
                is_sync(&current().enter());
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

    let names = (theirs::thread_name(), ours::thread_name());
    assert_eq!(names, ("tokio-rt-worker".into(), "trefoil-worker".into()));
}

#[test]
fn what_is_the_same() {
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
