//! Timers whose runtime has shut down.

use crate::support::current_and_multi;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use trefoil::runtime::Runtime;
use trefoil::time::{self, interval, sleep, timeout};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 4])
}

fn sleep_in(runtime: &Runtime, duration: Duration) -> time::Sleep {
    let _guard = runtime.enter();
    sleep(duration)
}

/// Arms a timer on one of the runtime's own threads, and returns it.
fn armed(runtime: &Runtime, duration: Duration) -> Pin<Box<time::Sleep>> {
    let arm = async move {
        let mut timer = Box::pin(sleep(duration));
        poll_fn(|cx| {
            assert!(timer.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        Some(timer)
    };
    runtime.block_on(async { trefoil::spawn(arm).await.unwrap() }).expect("always there")
}

/// The text of the panic of `f`.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
    payload.downcast_ref::<&str>().map(ToString::to_string).unwrap_or_default()
}

const IS_OVER: &str =
    "A Trefoil context was found, but it is being shutdown. A timer cannot fire any more.";

#[test]
fn a_timer_panics_in_a_runtime_that_has_shut_down() {
    for (runtime, other) in runtimes().into_iter().zip(runtimes()) {
        let handle = runtime.handle().clone();
        let before = sleep_in(&runtime, ms(3));
        let registered = armed(&runtime, Duration::from_secs(3600));
        runtime.shutdown_timeout(Duration::from_secs(3600));
        assert_eq!(panic_of(|| handle.block_on(before)), IS_OVER);
        assert_eq!(panic_of(|| handle.block_on(registered)), IS_OVER);
        assert_eq!(panic_of(|| handle.block_on(async { sleep(ms(3)).await })), IS_OVER);
        let timeout = async { timeout(ms(3), pending::<()>()).await };
        assert_eq!(panic_of(|| drop(handle.block_on(timeout))), IS_OVER);
        let ticks = async {
            let mut interval = interval(ms(3));
            interval.tick().await;
            interval.tick().await;
        };
        assert_eq!(panic_of(|| handle.block_on(ticks)), IS_OVER);
        // Not in a runtime that lives.
        other.block_on(async { sleep(ms(1)).await });
    }
}

/// A thread waits for a timer in `Handle::block_on` while the runtime shuts down.
#[test]
fn a_timer_panics_when_its_runtime_shuts_down() {
    for runtime in runtimes() {
        let handle = runtime.handle().clone();
        let (tell, is_waiting) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            panic_of(|| {
                handle.block_on(async {
                    let mut timer = pin!(sleep(ms(3_600_000)));
                    poll_fn(|cx| {
                        let polled = timer.as_mut().poll(cx);
                        let _ = tell.send(());
                        polled
                    })
                    .await;
                });
            })
        });
        is_waiting.recv().unwrap();
        drop(runtime);
        assert_eq!(waiter.join().unwrap(), IS_OVER);
    }
}
