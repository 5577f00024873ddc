//! Trefoil against tokio, row by row, interleaved in one process.
//!
//! `cargo run --release -p trefoil-tools --bin bench_tasks -- [filter] [--rounds N]`
//!
//! Prints the medians in ns per operation and the ratio trefoil / tokio. For
//! steering only: races with more contenders and honest statistics are run by
//! palio.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What the rows need of a runtime.
trait Rt: Send + Sync + 'static {
    type Handle<T: Send + 'static>: Future<Output = T> + Send + 'static;
    fn make(workers: usize) -> Self;
    fn block_on<F: Future>(&self, future: F) -> F::Output;
    fn spawn_outside<F>(&self, future: F) -> Self::Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
    fn spawn<F>(future: F) -> Self::Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
    fn spawn_blocking<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static)
    -> Self::Handle<R>;
    fn yield_now() -> impl Future<Output = ()> + Send;
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send;
    fn timeout_ready() -> impl Future<Output = ()> + Send;
}

macro_rules! rt {
    ($name:ident, $krate:ident) => {
        struct $name($krate::runtime::Runtime);

        impl Rt for $name {
            type Handle<T: Send + 'static> = Unwrap<$krate::task::JoinHandle<T>>;
            fn make(workers: usize) -> Self {
                use $krate::runtime::Builder;
                Self(if workers == 0 {
                    Builder::new_current_thread().enable_all().build().unwrap()
                } else {
                    Builder::new_multi_thread()
                        .worker_threads(workers)
                        .enable_all()
                        .build()
                        .unwrap()
                })
            }
            fn block_on<F: Future>(&self, future: F) -> F::Output {
                self.0.block_on(future)
            }
            fn spawn_outside<F>(&self, future: F) -> Self::Handle<F::Output>
            where
                F: Future + Send + 'static,
                F::Output: Send + 'static,
            {
                Unwrap(self.0.spawn(future))
            }
            fn spawn<F>(future: F) -> Self::Handle<F::Output>
            where
                F: Future + Send + 'static,
                F::Output: Send + 'static,
            {
                Unwrap($krate::spawn(future))
            }
            fn spawn_blocking<R: Send + 'static>(
                f: impl FnOnce() -> R + Send + 'static,
            ) -> Self::Handle<R> {
                Unwrap($krate::task::spawn_blocking(f))
            }
            fn yield_now() -> impl Future<Output = ()> + Send {
                $krate::task::yield_now()
            }
            fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
                $krate::time::sleep(duration)
            }
            async fn timeout_ready() {
                let _ = $krate::time::timeout(Duration::from_secs(1), async {}).await;
            }
        }
    };
}

rt!(Trefoil, trefoil);
rt!(Tokio, tokio);

/// A join handle whose task is expected to succeed.
struct Unwrap<H>(H);

impl<T, E: std::fmt::Debug, H: Future<Output = Result<T, E>> + Unpin> Future for Unwrap<H> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<T> {
        Pin::new(&mut self.0).poll(cx).map(Result::unwrap)
    }
}

fn spin(us: u64) {
    let end = Instant::now() + Duration::from_micros(us);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Runs a row once; returns the operations done.
type Row<R> = fn(&R) -> u64;

fn spawn_many<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        R::spawn(async {
            let handles: Vec<_> = (0..10_000).map(|_| R::spawn(async {})).collect();
            for handle in handles {
                handle.await;
            }
        })
        .await
    });
    10_000
}

fn spawn_many_1k_main<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let handles: Vec<_> = (0..1_000).map(|_| R::spawn(async {})).collect();
        for handle in handles {
            handle.await;
        }
    });
    1_000
}

fn spawn_many_local<R: Rt>(rt: &R) -> u64 {
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

fn spawn_many_remote_idle<R: Rt>(rt: &R) -> u64 {
    let handles: Vec<_> = (0..10_000).map(|_| rt.spawn_outside(async {})).collect();
    rt.block_on(async {
        for handle in handles {
            handle.await;
        }
    });
    10_000
}

fn spawn_yield_join<R: Rt>(rt: &R) -> u64 {
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

fn busy1<R: Rt>(rt: &R) -> u64 {
    let stop = Arc::new(AtomicBool::new(false));
    rt.block_on(async {
        let busy: Vec<_> = (0..8)
            .map(|_| {
                let stop = stop.clone();
                R::spawn(async move {
                    while !stop.load(Relaxed) {
                        R::yield_now().await;
                        spin(10);
                    }
                })
            })
            .collect();
        R::spawn(async {
            let handles: Vec<_> = (0..10_000).map(|_| R::spawn(async {})).collect();
            for handle in handles {
                handle.await;
            }
        })
        .await;
        stop.store(true, Relaxed);
        for task in busy {
            task.await;
        }
    });
    10_000
}

fn busy2<R: Rt>(rt: &R) -> u64 {
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
    let handles: Vec<_> = (0..1_000).map(|_| rt.spawn_outside(async {})).collect();
    rt.block_on(async {
        for handle in handles {
            handle.await;
        }
    });
    stop.store(true, Relaxed);
    while left.load(Relaxed) > 0 {
        std::thread::yield_now();
    }
    1_000
}

fn ping_pong<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        R::spawn(async {
            let handles: Vec<_> = (0..1_000)
                .map(|_| {
                    R::spawn(async {
                        let (a, b) = futures::channel::oneshot::channel();
                        let (c, d) = futures::channel::oneshot::channel();
                        drop(R::spawn(async move {
                            b.await.unwrap();
                            c.send(()).unwrap();
                        }));
                        a.send(()).unwrap();
                        d.await.unwrap();
                    })
                })
                .collect();
            for handle in handles {
                handle.await;
            }
        })
        .await
    });
    1_000
}

fn ping_pong_seq<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        R::spawn(async {
            for _ in 0..1_000 {
                let (a, b) = futures::channel::oneshot::channel();
                let (c, d) = futures::channel::oneshot::channel();
                drop(R::spawn(async move {
                    b.await.unwrap();
                    c.send(()).unwrap();
                }));
                a.send(()).unwrap();
                d.await.unwrap();
            }
        })
        .await
    });
    1_000
}

fn yield_many<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let handles: Vec<_> = (0..200)
            .map(|_| {
                R::spawn(async {
                    for _ in 0..1_000 {
                        R::yield_now().await;
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.await;
        }
    });
    200_000
}

fn yield_hot<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let handles: Vec<_> = (0..2)
            .map(|_| {
                R::spawn(async {
                    for _ in 0..100_000 {
                        R::yield_now().await;
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.await;
        }
    });
    200_000
}

fn chained_spawn<R: Rt>(rt: &R) -> u64 {
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

fn spawn_blocking<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                R::spawn(async {
                    for _ in 0..50 {
                        let batch: Vec<_> = (0..16).map(|_| R::spawn_blocking(|| 0)).collect();
                        for handle in batch {
                            assert_eq!(handle.await, 0);
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await;
        }
    });
    1_600
}

fn timer_timeout<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        R::spawn(async {
            for _ in 0..10_000 {
                R::timeout_ready().await;
            }
        })
        .await
    });
    10_000
}

fn timer_sleep<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        R::spawn(async {
            for _ in 0..10_000 {
                drop(std::hint::black_box(R::sleep(Duration::from_secs(1))));
            }
        })
        .await
    });
    10_000
}

fn many_timers<R: Rt>(rt: &R) -> u64 {
    rt.block_on(async {
        let handles: Vec<_> = (0..10_000u64)
            .map(|n| R::spawn(sleep_ms::<R>(1 + n.wrapping_mul(2_654_435_761) % 10)))
            .collect();
        for handle in handles {
            handle.await;
        }
    });
    10_000
}

async fn sleep_ms<R: Rt>(ms: u64) {
    R::sleep(Duration::from_millis(ms)).await;
}

fn storm<R: Rt>(rt: &R) -> u64 {
    let stop = Arc::new(AtomicBool::new(false));
    rt.block_on(async {
        let busy: Vec<_> = (0..8)
            .map(|_| {
                let stop = stop.clone();
                R::spawn(async move {
                    while !stop.load(Relaxed) {
                        R::yield_now().await;
                    }
                })
            })
            .collect();
        let handles: Vec<_> = (0..10_000).map(|_| R::spawn(async {})).collect();
        for handle in handles {
            handle.await;
        }
        stop.store(true, Relaxed);
        for task in busy {
            task.await;
        }
    });
    10_000
}

fn panics<R: Rt>(rt: &R) -> u64 {
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

struct Args {
    filter: Option<String>,
    rounds: usize,
}

fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: u64 = fields.get(11).and_then(|f| f.parse().ok()).unwrap_or(0)
        + fields.get(12).and_then(|f| f.parse().ok()).unwrap_or(0);
    Duration::from_millis(ticks * 10)
}

fn compare(args: &Args, name: &str, workers: usize, ours: Row<Trefoil>, theirs: Row<Tokio>) {
    let name = format!("{name}/{workers}");
    if args.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
        return;
    }
    let (a, b) = (Trefoil::make(workers), Tokio::make(workers));
    let (mut times_a, mut times_b) = (Vec::new(), Vec::new());
    let (mut cpu_a, mut cpu_b) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..3 {
        ours(&a);
        theirs(&b);
    }
    for _ in 0..args.rounds {
        let (start, used) = (Instant::now(), cpu());
        let mut ops = 0;
        while start.elapsed() < Duration::from_millis(4) {
            ops += ours(&a);
        }
        times_a.push(start.elapsed().as_nanos() as f64 / ops as f64);
        cpu_a += cpu() - used;
        let (start, used) = (Instant::now(), cpu());
        let mut ops = 0;
        while start.elapsed() < Duration::from_millis(4) {
            ops += theirs(&b);
        }
        times_b.push(start.elapsed().as_nanos() as f64 / ops as f64);
        cpu_b += cpu() - used;
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (ours, theirs) = (median(&mut times_a), median(&mut times_b));
    println!(
        "{name:32} trefoil {ours:9.1}  tokio {theirs:9.1}  ratio {:5.2}   cpu {:?} / {:?}",
        ours / theirs,
        cpu_a,
        cpu_b
    );
}

fn main() {
    let mut args = Args { filter: None, rounds: 30 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--rounds" {
            args.rounds = words.next().and_then(|n| n.parse().ok()).expect("a number");
        } else {
            args.filter = Some(word);
        }
    }
    macro_rules! row {
        ($row:ident, $($workers:literal),*) => {
            $(compare(&args, stringify!($row), $workers, $row::<Trefoil>, $row::<Tokio>);)*
        };
    }
    row!(spawn_many, 0, 1, 2);
    row!(spawn_many_1k_main, 0, 1, 2);
    row!(spawn_many_local, 1, 2, 4);
    row!(spawn_many_remote_idle, 1, 2, 4);
    row!(spawn_yield_join, 0, 1, 2);
    row!(busy1, 4);
    row!(busy2, 4);
    row!(ping_pong, 0, 1, 2, 4);
    row!(ping_pong_seq, 0, 1, 2);
    row!(yield_many, 0, 1, 2, 4);
    row!(yield_hot, 0, 1, 2);
    row!(chained_spawn, 0, 1, 2, 4);
    row!(spawn_blocking, 1, 2);
    row!(timer_timeout, 1, 2);
    row!(timer_sleep, 1, 2);
    row!(many_timers, 0, 1, 2);
    row!(storm, 0, 1, 2);
    row!(panics, 0, 1, 2);
}
