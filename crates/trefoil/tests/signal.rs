//! Signals, each of which is another one, since they belong to the process.
#![cfg(all(feature = "signal", unix))]

mod support;

use rustix::process::{Signal as Raw, getpid, kill_process};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use support::by_hand::turns_of_others;
use support::{current_and_multi, current_thread};
use trefoil::runtime::{Builder, Handle};
use trefoil::signal::ctrl_c;
use trefoil::signal::unix::{Signal, SignalKind, signal};

/// The handler may run on any thread, and later than this.
fn send(signal: Raw) {
    kill_process(getpid(), signal).unwrap();
}

/// The handler has run when this returns.
fn raise(signal: Raw) {
    // SAFETY: it takes nothing but a number, of a signal that has a handler.
    assert_eq!(unsafe { libc::raise(signal.as_raw()) }, 0);
}

#[test]
fn each_listener_sees_each_signal() {
    for runtime in current_and_multi([1, 2]) {
        runtime.block_on(async {
            let mut one = signal(SignalKind::user_defined1()).unwrap();
            let mut other = signal(SignalKind::user_defined1()).unwrap();
            for _ in 0..20 {
                send(Raw::USR1);
                one.recv().await.unwrap();
                other.recv().await.unwrap();
            }
            // Several at the same time are one.
            (0..10).for_each(|_| raise(Raw::USR1));
            one.recv().await.unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            assert!(pin!(one.recv()).poll(&mut cx).is_pending());
            drop(one);
            send(Raw::USR1);
            other.recv().await.unwrap();
        });
    }
}

#[test]
fn two_runtimes_listen() {
    let (a, b) = (current_thread(), support::multi(1));
    let mut one = a.block_on(async { signal(SignalKind::user_defined2()).unwrap() });
    let mut other = b.block_on(async { signal(SignalKind::user_defined2()).unwrap() });
    drop(Builder::new_current_thread().enable_all().build().unwrap());
    send(Raw::USR2);
    a.block_on(one.recv()).unwrap();
    b.block_on(other.recv()).unwrap();
    drop(a);
    assert_eq!(b.block_on(one.recv()), None, "its runtime has shut down");
}

#[test]
fn an_interrupt_ends_a_wait_and_not_the_process() {
    the_end_of_the_runtime_is_no_interrupt();
    current_thread().block_on(async {
        let mut waiting = pin!(ctrl_c());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        send(Raw::INT);
        waiting.await.unwrap();
        send(Raw::INT);
    });
}

#[test]
fn what_cannot_be_handled_is_an_error() {
    current_thread().block_on(async {
        for number in [9, 19, 11, -1, 0, 10_000] {
            assert!(signal(SignalKind::from_raw(number)).is_err(), "{number}");
        }
    });
}

#[test]
fn without_io_each_signal_is_a_panic() {
    let runtime = Builder::new_current_thread().build().unwrap();
    for kind in [SignalKind::user_defined2(), SignalKind::from_raw(-1)] {
        let listen = || {
            let _guard = runtime.enter();
            signal(kind).map(drop)
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(listen)).is_err());
    }
}

#[test]
fn a_signal_of_a_fork_is_not_ours() {
    current_thread().block_on(async {
        let mut listener = signal(SignalKind::window_change()).unwrap();
        // SAFETY: up to its end, the child makes system calls alone.
        let child = match unsafe { libc::fork() } {
            0 => {
                raise(Raw::WINCH);
                // SAFETY: nothing of this process is to be tidied up.
                unsafe { libc::_exit(0) }
            }
            child => child,
        };
        let mut status = 0;
        // SAFETY: the place of the status is there.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        let mut cx = Context::from_waker(Waker::noop());
        // So often that the runtime has looked for events.
        for _ in 0..200 {
            assert!(listener.poll_recv(&mut cx).is_pending());
            trefoil::task::yield_now().await;
        }
        send(Raw::WINCH);
        listener.recv().await.unwrap();
    });
}

#[test]
fn a_handler_that_others_remove_is_the_end() {
    current_thread().block_on(async {
        let mut listener = signal(SignalKind::hangup()).unwrap();
        send(Raw::HUP);
        listener.recv().await.unwrap();
        #[expect(deprecated, reason = "it is still there, and removes handlers of others")]
        let any = signal_hook_registry::unregister_signal(libc::SIGHUP);
        assert!(any);
        assert!(listener.recv().await.is_none());
    });
}

/// Runs a test on the only thread that drives the runtime, so that nobody looks for events within
/// one poll: with one worker, there is not even a monitor.
fn on_the_only_thread<F>(test: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for runtime in current_and_multi([1]) {
        runtime.block_on(runtime.spawn(test())).unwrap();
    }
}

/// Of a number that `Raw` may not name.
fn raise_number(number: i32) {
    // SAFETY: it takes nothing but a number, of a signal that has a handler.
    assert_eq!(unsafe { libc::raise(number) }, 0);
}

fn listen(number: i32) -> Signal {
    signal(SignalKind::from_raw(number)).unwrap()
}

fn hears(listener: &mut Signal) -> bool {
    match listener.poll_recv(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(received) => received.is_some(),
        Poll::Pending => false,
    }
}

/// As `ctrl_c`.
async fn next(number: i32) {
    listen(number).recv().await.unwrap();
}

#[test]
fn what_comes_between_two_listeners_is_the_next_one_s() {
    on_the_only_thread(|| async {
        // From here on, the signal does not end the process.
        drop(listen(libc::SIGALRM));
        for _ in 0..3 {
            raise(Raw::ALARM);
            let (mut one, mut other) = (listen(libc::SIGALRM), listen(libc::SIGALRM));
            assert!(hears(&mut one) && !hears(&mut one));
            assert!(!hears(&mut listen(libc::SIGALRM)), "it was received");
            assert!(hears(&mut other) && !hears(&mut other));
            raise(Raw::ALARM);
            // It was waited for, and nobody has received it.
            drop((one, other));
            next(libc::SIGALRM).await;
        }
    });
}

#[test]
fn what_the_runtime_has_looked_at_is_no_later_listener_s() {
    on_the_only_thread(|| async {
        drop(listen(libc::SIGTTIN));
        for sleeps in [true, false, true, false] {
            let mut old = listen(libc::SIGTTIN);
            raise(Raw::TTIN);
            if sleeps {
                // A sleep may be over before the thread has looked for events.
                let events = || Handle::current().metrics().io_driver_ready_count();
                let before = events();
                while events() == before {
                    trefoil::time::sleep(Duration::from_millis(1)).await;
                }
            } else {
                // So often that the runtime has looked for events.
                for _ in 0..200 {
                    trefoil::task::yield_now().await;
                }
            }
            let mut late = listen(libc::SIGTTIN);
            assert!(!hears(&mut late));
            // What comes after the look is its, although somebody has yet to receive the first.
            raise(Raw::TTIN);
            assert!(hears(&mut listen(libc::SIGTTIN)));
            assert!(hears(&mut late) && hears(&mut old));
            assert!(!hears(&mut late) && !hears(&mut old));
        }
    });
}

#[test]
fn nothing_comes_from_before_the_first_listener_of_the_runtime() {
    let (a, b) = (current_thread(), current_thread());
    a.block_on(async { drop(listen(libc::SIGTTOU)) });
    raise(Raw::TTOU);
    assert!(!b.block_on(async { hears(&mut listen(libc::SIGTTOU)) }));
    assert!(a.block_on(async { hears(&mut listen(libc::SIGTTOU)) }));
    raise(Raw::TTOU);
    b.block_on(next(libc::SIGTTOU));
}

/// Signals come from another thread while the runtime looks, and nobody listens. What came within a
/// look is settled as well: nobody receives it later.
#[test]
fn what_comes_while_the_runtime_looks_is_not_left_over() {
    on_the_only_thread(|| async {
        drop(listen(libc::SIGXCPU));
        for _ in 0..500 {
            // So few that a look reads as often as one of them comes meanwhile.
            let storm = trefoil::task::spawn_blocking(|| {
                (0..7).for_each(|_| raise_number(libc::SIGXCPU));
            });
            while !storm.is_finished() {
                trefoil::task::yield_now().await;
            }
            for _ in 0..200 {
                trefoil::task::yield_now().await;
            }
            assert!(!hears(&mut listen(libc::SIGXCPU)));
        }
    });
}

/// The other arm is always ready, and sends one signal at a time.
#[test]
fn a_loop_that_makes_its_listener_anew_loses_nothing() {
    on_the_only_thread(|| async {
        drop(listen(libc::SIGVTALRM));
        let (sent, mut received) = (AtomicUsize::new(0), 0);
        for _ in 0..10_000 {
            trefoil::select! {
                () = next(libc::SIGVTALRM) => received += 1,
                () = async {
                    if sent.load(SeqCst) == received {
                        sent.fetch_add(1, SeqCst);
                        raise_number(libc::SIGVTALRM);
                    }
                } => {}
            }
            let sent = sent.load(SeqCst);
            assert!((received..=received + 1).contains(&sent), "one signal came twice");
        }
        assert!(received > 1000, "{received}");
    });
}

/// Listeners come and go on all workers, and one stays. It sees each signal once, and a task that
/// makes a new listener for each signal sees none twice.
#[test]
fn one_that_stays_sees_no_less_than_those_that_come_and_go() {
    const SIGNALS: usize = 500;
    for runtime in current_and_multi([1, 2, 3]) {
        let mut stays = runtime.block_on(async { listen(libc::SIGPROF) });
        let (to_raise, raises) = std::sync::mpsc::channel();
        let raiser = std::thread::spawn(move || {
            raises.iter().for_each(|()| raise_number(libc::SIGPROF));
        });
        let counts = Vec::from_iter((0..4).map(|_| Arc::new(AtomicUsize::new(0))));
        let tasks = Vec::from_iter(counts.iter().map(|count| {
            let count = Arc::clone(count);
            runtime.spawn(async move {
                loop {
                    trefoil::select! {
                        () = next(libc::SIGPROF) => count.fetch_add(1, SeqCst),
                        () = trefoil::task::yield_now() => continue,
                    };
                }
            })
        }));
        let sees = async {
            for seen in 1..=SIGNALS {
                to_raise.send(()).unwrap();
                stays.recv().await.unwrap();
                for count in &counts {
                    let count = count.load(SeqCst);
                    assert!(count <= seen, "{count} of {seen} signals");
                }
            }
            assert!(!hears(&mut stays));
        };
        runtime.block_on(sees);
        drop(to_raise);
        raiser.join().unwrap();
        tasks.iter().for_each(trefoil::task::JoinHandle::abort);
    }
}

/// A program may listen in each of its tasks, as with `ctrl_c` in a `select!`.
#[test]
fn any_number_of_listeners_takes_one_pair_of_descriptors() {
    for runtime in current_and_multi([1, 2]) {
        runtime.block_on(async {
            let sources = || runtime.metrics().io_driver_fd_registered_count();
            let listen = || signal(SignalKind::quit()).unwrap();
            let before = sources();
            let mut listeners = Vec::from_iter((0..2000).map(|_| listen()));
            assert_eq!(sources(), before + 1);
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..3 {
                assert!(listeners.iter_mut().all(|its| its.poll_recv(&mut cx).is_pending()));
                raise(Raw::QUIT);
                for listener in &mut listeners {
                    listener.recv().await.unwrap();
                }
                assert!(listen().poll_recv(&mut cx).is_pending());
            }
            // When all have gone, the runtime still has them, for others who begin.
            drop(listeners);
            assert_eq!(runtime.metrics().io_driver_fd_deregistered_count(), 0);
            let mut listener = listen();
            raise(Raw::QUIT);
            listener.recv().await.unwrap();
            assert_eq!(sources(), before + 1);
        });
    }
}

/// Each of many listeners sees each of many signals, while all of them empty the socket that they
/// share.
#[test]
fn listeners_on_all_workers_see_each_signal() {
    const LISTENERS: usize = 20;
    for runtime in current_and_multi([1, 2, 3]) {
        runtime.block_on(async {
            let (saw, mut seen) = trefoil::sync::mpsc::channel(LISTENERS);
            let tasks = Vec::from_iter((0..LISTENERS).map(|_| {
                let mut listener = signal(SignalKind::pipe()).unwrap();
                let saw = saw.clone();
                trefoil::spawn(async move {
                    loop {
                        listener.recv().await.unwrap();
                        saw.send(()).await.unwrap();
                    }
                })
            }));
            for _ in 0..200 {
                raise(Raw::PIPE);
                for _ in 0..LISTENERS {
                    seen.recv().await.unwrap();
                }
            }
            tasks.iter().for_each(trefoil::task::JoinHandle::abort);
        });
    }
}

/// More than the socket has room for, while nobody looks.
#[test]
fn a_storm_while_nobody_looks_is_one_signal() {
    current_thread().block_on(async {
        let mut one = signal(SignalKind::io()).unwrap();
        let mut other = signal(SignalKind::io()).unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            (0..5000).for_each(|_| raise(Raw::IO));
            one.recv().await.unwrap();
            assert!(one.poll_recv(&mut cx).is_pending());
            raise(Raw::IO);
            other.recv().await.unwrap();
            one.recv().await.unwrap();
            assert!(one.poll_recv(&mut cx).is_pending());
            assert!(other.poll_recv(&mut cx).is_pending());
        }
    });
}

/// A listener that is made after others have removed the handler has one of its own.
#[test]
fn a_listener_after_a_removed_handler_hears() {
    current_thread().block_on(async {
        let kind = SignalKind::from_raw(libc::SIGURG);
        let mut old = signal(kind).unwrap();
        #[expect(deprecated, reason = "it is still there, and removes handlers of others")]
        let any = signal_hook_registry::unregister_signal(libc::SIGURG);
        assert!(any);
        let mut new = signal(kind).unwrap();
        raise(Raw::URG);
        new.recv().await.unwrap();
        assert!(old.recv().await.is_none());
    });
}

/// A loop that never has to wait for its signals does not keep its worker.
#[test]
fn signals_that_have_come_spend_the_budget() {
    let turns = turns_of_others(async {
        let mut listener = listen(libc::SIGXFSZ);
        for _ in 0..1000 {
            raise_number(libc::SIGXFSZ);
            listener.recv().await.unwrap();
        }
    });
    assert_eq!(turns, 7);
}

/// What a runtime that has shut down refuses does not depend on who has listened there before.
#[test]
fn a_runtime_that_has_shut_down_takes_no_listener() {
    let runtime = current_thread();
    let handle = runtime.handle().clone();
    let old = runtime.block_on(async { signal(SignalKind::user_defined2()).unwrap() });
    drop(runtime);
    let _guard = handle.enter();
    let error = signal(SignalKind::user_defined2()).unwrap_err();
    assert!(trefoil::runtime::is_rt_shutdown_err(&error));
    drop(old);
}

/// Called by the test that sends interrupts, since this one must not get any.
fn the_end_of_the_runtime_is_no_interrupt() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let (waits, does_wait) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        handle.block_on(async {
            let mut interrupt = pin!(ctrl_c());
            poll_fn(|cx| {
                assert!(interrupt.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            waits.send(()).unwrap();
            interrupt.await
        })
    });
    does_wait.recv().unwrap();
    drop(runtime);
    let error = waiting.join().unwrap().unwrap_err();
    assert!(trefoil::runtime::is_rt_shutdown_err(&error), "{error}");
}
