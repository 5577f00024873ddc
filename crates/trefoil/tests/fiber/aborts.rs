//! Fibers that are aborted, and go on.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::watch::{WATCHDOG, receive};
use crate::support::{Hasty, multi};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use trefoil::sync::oneshot;
use trefoil::{fiber, fork_join};

/// All of this is on one thread. If one of the calls blocked it, nobody would end that.
#[test]
fn a_fiber_that_catches_its_unwinding_is_unwound_again_and_never_blocks_its_thread() {
    /// Would be an unwinding in an unwinding, if a wait in it were one as well.
    struct Waits(Arc<AtomicUsize>);
    impl Drop for Waits {
        fn drop(&mut self) {
            assert!(thread::panicking());
            fiber::sleep(Duration::from_micros(1));
            fiber::wait(async {});
            fiber::yield_now();
            fiber::check!();
            self.0.fetch_add(1, SeqCst);
        }
    }
    type Call = fn(oneshot::Receiver<()>);
    let calls: [Call; 7] = [
        |answer| _ = fiber::wait(answer),
        |answer| _ = answer.blocking_recv(),
        |_| fiber::sleep(Duration::from_secs(3600)),
        |_| fiber::yield_now(),
        |_| loop {
            fiber::check!();
        },
        |answer| fiber::scope(|scope| drop(scope.spawn(|| _ = answer.blocking_recv()))),
        |answer| _ = fork_join::join(|| fiber::wait(answer), || ()),
    ];
    let runtime = Hasty(Some(multi(1)));
    let _guard = runtime.enter();
    for call in calls {
        let (began, has_begun) = channel();
        let (ended, has_ended) = channel::<()>();
        let (answers, answer) = oneshot::channel();
        let dropped = Arc::new(AtomicUsize::new(0));
        let its = dropped.clone();
        let builder = fiber::Builder::new().budget(16).timeslice(Some(Duration::ZERO));
        let fiber = builder.spawn(move || {
            let _ended = ended;
            let waits = |answer: Option<oneshot::Receiver<()>>| {
                let _waits = Waits(its.clone());
                match answer {
                    None => fiber::wait(std::future::pending()),
                    Some(answer) => call(answer),
                }
            };
            began.send(()).unwrap();
            assert!(catch_unwind(AssertUnwindSafe(|| waits(None))).is_err());
            for _ in 0..3 {
                let (_answers, answer) = oneshot::channel();
                assert!(catch_unwind(AssertUnwindSafe(|| waits(Some(answer)))).is_err());
                assert!(!thread::panicking());
                // What is ready needs nobody else.
                assert_eq!(fiber::wait(async { 1 }), 1);
            }
            waits(Some(answer));
            unreachable!("it was to be unwound");
        });
        let fiber = fiber.unwrap();
        receive("a fiber begins", &has_begun);
        fiber.abort();
        let end = has_ended.recv_timeout(WATCHDOG);
        assert_eq!(end, Err(RecvTimeoutError::Disconnected), "it blocks");
        assert!(runtime.block_on(fiber).unwrap_err().is_cancelled());
        assert_eq!(dropped.load(SeqCst), 5);
        drop(answers);
    }
    // Others of the thread go on.
    assert_eq!(runtime.block_on(fiber::spawn(|| 1)).unwrap(), 1);
}
