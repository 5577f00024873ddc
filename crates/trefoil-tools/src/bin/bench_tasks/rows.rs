//! The rows. Each runs once per call, and returns how many operations it did.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::runtimes::Rt;

fn spin(us: u64) {
    let end = Instant::now() + Duration::from_micros(us);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

async fn join_all<T>(handles: Vec<impl Future<Output = T>>) {
    for handle in handles {
        handle.await;
    }
}

/// Runs `future` in a task, so that a worker polls it.
fn in_task<R: Rt>(rt: &R, future: impl Future<Output = ()> + Send + 'static) {
    rt.block_on(async { R::spawn(future).await });
}

/// Spawns empty tasks, and joins them.
async fn spawn_and_join<R: Rt>(tasks: usize) {
    join_all((0..tasks).map(|_| R::spawn(async {})).collect()).await;
}

/// Spawns tasks that yield so many times, and joins them.
async fn yield_and_join<R: Rt>(tasks: usize, yields: usize) {
    let yielder = |_| {
        R::spawn(async move {
            for _ in 0..yields {
                R::yield_now().await;
            }
        })
    };
    join_all((0..tasks).map(yielder).collect()).await;
}

/// Runs `work` beside eight tasks that yield, and that call `poll` after each yield.
async fn beside_yielders<R: Rt>(poll: fn(), work: impl Future) {
    let stop = Arc::new(AtomicBool::new(false));
    let busy = (0..8).map(|_| {
        let stop = stop.clone();
        R::spawn(async move {
            while !stop.load(Relaxed) {
                R::yield_now().await;
                poll();
            }
        })
    });
    let busy = busy.collect();
    work.await;
    stop.store(true, Relaxed);
    join_all(busy).await;
}

/// Sends a message to a new task, and waits for the answer.
async fn exchange<R: Rt>() {
    let (a, b) = futures::channel::oneshot::channel();
    let (c, d) = futures::channel::oneshot::channel();
    drop(R::spawn(async move {
        b.await.unwrap();
        c.send(()).unwrap();
    }));
    a.send(()).unwrap();
    d.await.unwrap();
}

pub(crate) fn spawn_many<R: Rt>(rt: &R) -> u64 {
    in_task(rt, spawn_and_join::<R>(10_000));
    10_000
}

pub(crate) fn spawn_many_1k_main<R: Rt>(rt: &R) -> u64 {
    rt.block_on(spawn_and_join::<R>(1_000));
    1_000
}

pub(crate) fn spawn_many_local<R: Rt>(rt: &R) -> u64 {
    let left = Arc::new(AtomicUsize::new(10_000));
    let (done, is_done) = std::sync::mpsc::sync_channel(1);
    for _ in 0..10_000 {
        let (left, done) = (left.clone(), done.clone());
        drop(rt.spawn_outside(async move {
            if left.fetch_sub(1, Relaxed) == 1 {
                done.send(()).unwrap();
            }
        }));
    }
    is_done.recv().unwrap();
    10_000
}

pub(crate) fn spawn_many_remote_idle<R: Rt>(rt: &R) -> u64 {
    let handles = (0..10_000).map(|_| rt.spawn_outside(async {})).collect();
    rt.block_on(join_all(handles));
    10_000
}

pub(crate) fn spawn_yield_join<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let handles: Vec<_> = (0..1_000)
            .map(|_| {
                R::spawn(async {
                    R::yield_now().await;
                    2
                })
            })
            .collect();
        for handle in handles {
            assert_eq!(handle.await, 2);
        }
    });
    1_000
}

pub(crate) fn busy1<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let spawner = async { R::spawn(spawn_and_join::<R>(10_000)).await };
        beside_yielders::<R>(|| spin(10), spawner).await;
    });
    10_000
}

pub(crate) fn busy2<R: Rt>(rt: &R) -> u64 {
    fn link<R: Rt>(
        stop: Arc<AtomicBool>,
        left: Arc<AtomicUsize>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            if stop.load(Relaxed) {
                left.fetch_sub(1, Relaxed);
                return;
            }
            spin(10);
            drop(R::spawn(link::<R>(stop, left)));
        })
    }
    let (stop, left) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(4)));
    for _ in 0..4 {
        drop(rt.spawn_outside(link::<R>(stop.clone(), left.clone())));
    }
    let handles = (0..1_000).map(|_| rt.spawn_outside(async {})).collect();
    rt.block_on(join_all(handles));
    stop.store(true, Relaxed);
    while left.load(Relaxed) > 0 {
        std::thread::yield_now();
    }
    1_000
}

pub(crate) fn ping_pong<R: Rt>(rt: &R) -> u64 {
    in_task(rt, async {
        join_all((0..1_000).map(|_| R::spawn(exchange::<R>())).collect()).await;
    });
    1_000
}

pub(crate) fn ping_pong_seq<R: Rt>(rt: &R) -> u64 {
    in_task(rt, async {
        for _ in 0..1_000 {
            exchange::<R>().await;
        }
    });
    1_000
}

pub(crate) fn yield_many<R: Rt>(rt: &R) -> u64 {
    rt.block_on(yield_and_join::<R>(200, 1_000));
    200_000
}

pub(crate) fn yield_hot<R: Rt>(rt: &R) -> u64 {
    rt.block_on(yield_and_join::<R>(2, 100_000));
    200_000
}

pub(crate) fn chained_spawn<R: Rt>(rt: &R) -> u64 {
    fn link<R: Rt>(
        n: usize,
        done: futures::channel::oneshot::Sender<()>,
    ) -> impl Future<Output = ()> + Send {
        let boxed: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            if n == 0 {
                done.send(()).unwrap();
            } else {
                drop(R::spawn(link::<R>(n - 1, done)));
            }
        });
        boxed
    }
    rt.block_on(async {
        let (done, is_done) = futures::channel::oneshot::channel();
        drop(R::spawn(link::<R>(1_000, done)));
        is_done.await.unwrap();
    });
    1_000
}

pub(crate) fn spawn_blocking<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let batches = |_| {
            R::spawn(async {
                for _ in 0..50 {
                    let batch: Vec<_> = (0..16).map(|_| R::spawn_blocking(|| 0)).collect();
                    for handle in batch {
                        assert_eq!(handle.await, 0);
                    }
                }
            })
        };
        join_all((0..2).map(batches).collect()).await;
    });
    1_600
}

pub(crate) fn timer_timeout<R: Rt>(rt: &R) -> u64 {
    in_task(rt, async {
        for _ in 0..10_000 {
            R::timeout_ready().await;
        }
    });
    10_000
}

pub(crate) fn timer_sleep<R: Rt>(rt: &R) -> u64 {
    in_task(rt, async {
        for _ in 0..10_000 {
            drop(std::hint::black_box(R::sleep(Duration::from_secs(1))));
        }
    });
    10_000
}

pub(crate) fn many_timers<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let timer = |n: u64| R::spawn(sleep_ms::<R>(1 + n.wrapping_mul(2_654_435_761) % 10));
        join_all((0..10_000).map(timer).collect()).await;
    });
    10_000
}

async fn sleep_ms<R: Rt>(ms: u64) {
    R::sleep(Duration::from_millis(ms)).await;
}

pub(crate) fn storm<R: Rt>(rt: &R) -> u64 {
    rt.block_on(beside_yielders::<R>(|| (), spawn_and_join::<R>(10_000)));
    10_000
}

pub(crate) fn panics<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let handles: Vec<_> = (0..10_000u32)
            .map(|n| {
                R::spawn(async move {
                    let result = std::panic::catch_unwind(|| {
                        if n % 2 == 0 {
                            std::panic::resume_unwind(Box::new(()));
                        }
                    });
                    result.is_ok()
                })
            })
            .collect();
        let mut ok = 0;
        for handle in handles {
            ok += usize::from(handle.await);
        }
        assert_eq!(ok, 5_000);
    });
    10_000
}
