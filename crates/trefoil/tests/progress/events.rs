//! "An event of the system": beside tasks that are always ready, and beside a poll that does not
//! end.

use crate::bounds;
use crate::rig::{Event, OnDrop, Rig, Worst, wait_for};
use futures::poll;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;
use trefoil::net::UdpSocket;
use trefoil::runtime::{Builder, RuntimeMetrics};
use trefoil::spawn;
use trefoil::task::yield_now;
use trefoil::time::sleep;

/// Notes at which poll of a worker it was woken.
struct Note {
    metrics: RuntimeMetrics,
    at: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        self.at.store(self.metrics.worker_poll_count(0), SeqCst);
    }
}

async fn pair() -> (UdpSocket, std::net::UdpSocket) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    other.connect(socket.local_addr().unwrap()).unwrap();
    (socket, other)
}

/// One worker that is never idle. The datagram arrives within the call that sends it, so the event
/// is there before the first poll that counts.
#[test]
fn beside_tasks_that_are_always_ready() {
    let rig = Rig::new(1);
    let mut worst = Worst::default();
    let metrics = rig.metrics.clone();
    let seen = rig.handle().block_on(rig.handle().spawn(async move {
        for _ in 0..20 {
            spawn(async {
                loop {
                    yield_now().await;
                }
            });
        }
        let mut seen = Vec::new();
        for _ in 0..100 {
            let (socket, other) = pair().await;
            let note = Arc::new(Note { metrics: metrics.clone(), at: AtomicU64::new(NEVER) });
            let waker = Waker::from(note.clone());
            let mut readable = Box::pin(socket.readable());
            let polled = readable.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            other.send(b"x").unwrap();
            let before = metrics.worker_poll_count(0);
            while note.at.load(SeqCst) == NEVER {
                yield_now().await;
            }
            seen.push(note.at.load(SeqCst) - before);
        }
        seen
    }));
    seen.unwrap().into_iter().for_each(|seen| worst.add(seen, bounds::event(1), "events"));
    worst.report("events, beside tasks that are always ready");
}

/// "If the runtime has nothing else to run, it polls the task again at once, after a look at
/// events" ([`yield_now`]): also if it has none otherwise, because that is hardly ever due.
#[test]
fn beside_a_task_that_yields_alone() {
    for builder in [Builder::new_current_thread, Builder::new_multi_thread] {
        let runtime =
            builder().worker_threads(1).enable_all().event_interval(u32::MAX).build().unwrap();
        let metrics = runtime.metrics();
        let yields = async move {
            for n in 0..100 {
                let (socket, other) = pair().await;
                let note = Arc::new(Note { metrics: metrics.clone(), at: AtomicU64::new(NEVER) });
                let waker = Waker::from(note.clone());
                let mut readable = pin!(socket.readable());
                let polled = readable.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                other.send(b"x").unwrap();
                yield_now().await;
                assert_ne!(note.at.load(SeqCst), NEVER, "event {n}");
            }
        };
        runtime.block_on(runtime.spawn(yields)).unwrap();
    }
}

/// The worker that saw the last event does not come out of its poll, and the other sleeps.
#[test]
fn beside_a_poll_that_does_not_end() {
    let rig = Rig::monitored(2);
    let end = OnDrop(Event::default());
    let (its, served) = (end.0.clone(), Event::default());
    let serving = served.clone();
    let (socket, other) = rig.handle().block_on(pair());
    let (long, trigger) = rig.handle().block_on(pair());
    let holds = Event::default();
    let held = holds.clone();
    rig.handle().spawn(async move {
        long.recv(&mut [0; 8]).await.unwrap();
        holds.happens();
        its.hold();
    });
    rig.handle().spawn(async move {
        for _ in 0..20 {
            socket.recv(&mut [0; 8]).await.unwrap();
        }
        serving.happens();
    });
    trigger.send(b"x").unwrap();
    held.wait("the long poll");
    for _ in 0..20 {
        other.send(b"x").unwrap();
    }
    served.wait("events beside a long poll");
}

/// All workers are in long polls: the monitor itself sees the event, and calls the waker.
#[test]
fn beside_long_polls_of_all_workers() {
    let rig = Rig::monitored(2);
    let end = OnDrop(Event::default());
    let (socket, other) = rig.handle().block_on(pair());
    let held = [Event::default(), Event::default()];
    for (worker, held) in held.iter().enumerate() {
        let (holds, its) = (held.clone(), end.0.clone());
        rig.handle().spawn_pinned(worker, async move {
            holds.happens();
            its.hold();
        });
    }
    held.iter().for_each(|held| held.wait("a long poll"));
    let note = Arc::new(Note { metrics: rig.metrics.clone(), at: AtomicU64::new(NEVER) });
    let waker = Waker::from(note.clone());
    let mut readable = Box::pin(socket.readable());
    assert!(readable.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    other.send(b"x").unwrap();
    wait_for("an event beside long polls", || note.at.load(SeqCst) != NEVER);
}

/// What a thread that is no worker waits for.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// An event of a socket that a task has made, in `block_on`.
    EventInBlockOn,
    /// An event of a socket that the thread has made, in an executor of its own.
    Event,
    /// A timer, in an executor of its own.
    Timer,
}

/// All workers are in long polls that began before it was time for a monitor, and no thread of the
/// runtime is left that would start one.
#[test]
fn outside_beside_first_polls_that_do_not_end() {
    for serves_in_block_on in [false, true] {
        for awaited in [Awaited::EventInBlockOn, Awaited::Event, Awaited::Timer] {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(2).enable_all().serve_in_block_on(serves_in_block_on);
            let runtime = builder.build().unwrap();
            let (end, seen) = (OnDrop(Event::default()), Event::default());
            let (made, of_task) = mpsc::channel();
            let held = Arc::new(Barrier::new(3));
            let holders: Vec<_> = (0..2)
                .map(|worker| {
                    let (made, holds, its) = (made.clone(), held.clone(), end.0.clone());
                    runtime.handle().spawn_pinned(worker, async move {
                        made.send(pair().await).unwrap();
                        holds.wait();
                        its.hold();
                    })
                })
                .collect();
            held.wait();
            let (handle, sees) = (runtime.handle().clone(), seen.clone());
            let thread = thread::spawn(move || {
                let _entered = handle.enter();
                match awaited {
                    Awaited::EventInBlockOn => {
                        let (socket, other) = of_task.recv().unwrap();
                        handle.block_on(one_event(socket, other));
                    }
                    Awaited::Event => futures::executor::block_on(async {
                        let (socket, other) = pair().await;
                        one_event(socket, other).await;
                    }),
                    Awaited::Timer => futures::executor::block_on(sleep(Duration::from_millis(1))),
                }
                sees.happens();
            });
            seen.wait(&format!("{awaited:?} beside first polls ({serves_in_block_on})"));
            assert!(holders.iter().all(|holder| !holder.is_finished()), "the polls are to end yet");
            drop(end);
            thread.join().unwrap();
        }
    }
}

/// Waits for a datagram that arrives when the socket has been found empty.
async fn one_event(socket: UdpSocket, other: std::net::UdpSocket) {
    let mut readable = pin!(socket.readable());
    assert!(poll!(readable.as_mut()).is_pending());
    other.send(b"x").unwrap();
    readable.await.unwrap();
}
