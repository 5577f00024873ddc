//! Storms of all operations at once, whose counts are checked.
//!
//! `cargo run --release -p trefoil-tools --bin stress_tasks -- [--seconds N] [--workers W]`
//!
//! Each round makes a runtime: a current-thread runtime, or one with 1, 2, 3, 8 or 64 workers.
//! (`--workers` chooses one of these; 0 is the current-thread runtime.) It runs one storm of each
//! kind at the same time, and shuts the runtime down in one of several ways, some of them during
//! the storms. Everything that is spawned must be dropped exactly once. If nothing happens for 30
//! seconds, a watchdog prints the state of the scheduler and aborts.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use trefoil::runtime::{Builder, Handle, Runtime};
use trefoil::sync::{Notify, oneshot};
use trefoil::task::{self, JoinSet};
use trefoil::time;

/// The number of things that exist, and of things that were ever made.
#[derive(Default)]
struct Ledger {
    alive: AtomicU64,
    made: AtomicU64,
}

/// A thing that is counted in the ledger.
struct Token(Arc<Ledger>);

impl Token {
    fn new(ledger: &Arc<Ledger>) -> Self {
        ledger.alive.fetch_add(1, SeqCst);
        ledger.made.fetch_add(1, SeqCst);
        Self(ledger.clone())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
    }
}

#[derive(Clone)]
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn fork(&mut self) -> Self {
        Self(self.below(u64::MAX - 1) | 1)
    }
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

fn tree(ledger: Arc<Ledger>, depth: u32) -> Boxed {
    let token = Token::new(&ledger);
    Box::pin(async move {
        let _token = token;
        if depth == 0 {
            return task::yield_now().await;
        }
        let left = trefoil::spawn(tree(ledger.clone(), depth - 1));
        let right = trefoil::spawn(tree(ledger, depth - 1));
        let _ = left.await;
        let _ = right.await;
    })
}

/// A task that does one of many things.
async fn one(mut rng: Rng, ledger: Arc<Ledger>) {
    let _token = Token::new(&ledger);
    match rng.below(12) {
        0 => pending().await,
        1 => std::panic::resume_unwind(Box::new(Token::new(&ledger))),
        2 => {
            task::yield_now().await;
            std::panic::resume_unwind(Box::new("later"))
        }
        3 => time::sleep(Duration::from_micros(rng.below(3000))).await,
        4 => {
            let _ = time::timeout(Duration::from_micros(rng.below(2000)), pending::<()>()).await;
        }
        5 => {
            let token = Token::new(&ledger);
            let _ = task::spawn_blocking(move || drop(token)).await;
        }
        6 => {
            let (sender, receiver) = oneshot::channel();
            let foreign = rng.below(4) == 0;
            if foreign {
                std::thread::spawn(move || sender.send(()));
            } else {
                trefoil::spawn(async move { sender.send(()) });
            }
            let _ = receiver.await;
        }
        7 => {
            for _ in 0..rng.below(50) {
                task::yield_now().await;
            }
        }
        8 => {
            let mut set = JoinSet::new();
            for n in 0..rng.below(10) {
                let token = Token::new(&ledger);
                set.spawn(async move {
                    let _token = token;
                    time::sleep(Duration::from_micros(n * 100)).await;
                });
            }
            for _ in 0..rng.below(10) {
                let _ = set.join_next().await;
            }
        }
        9 => {
            let child = trefoil::spawn(tree(ledger.clone(), 3));
            if rng.below(2) == 0 {
                task::yield_now().await;
                child.abort();
            }
            let _ = child.await;
        }
        10 => {
            trefoil::select! {
                _ = time::sleep(Duration::from_micros(rng.below(1000))) => {}
                _ = task::yield_now() => {}
                _ = tree(ledger.clone(), 1) => {}
            }
        }
        _ => {
            let token = Token::new(&ledger);
            let _ = trefoil::task::spawn_pinned(rng.below(64) as usize, async move {
                task::yield_now().await;
                drop(token);
            })
            .await;
        }
    }
}

fn storm(runtime: &Runtime, rng: &mut Rng, ledger: &Arc<Ledger>, progress: &Arc<AtomicU64>) {
    let stop = Arc::new(AtomicBool::new(false));
    // Foreign threads spawn, abort and wake, also during the shutdown.
    let foreigners: Vec<_> = (0..rng.below(3))
        .map(|_| {
            let (handle, ledger, stop) = (runtime.handle().clone(), ledger.clone(), stop.clone());
            let mut rng = rng.fork();
            std::thread::spawn(move || {
                let notify = Arc::new(Notify::new());
                let mut handles = Vec::new();
                while !stop.load(SeqCst) {
                    // Without a limit, only the queue would grow.
                    if ledger.alive.load(SeqCst) > 3_000 {
                        notify.notify_waiters();
                        std::thread::yield_now();
                        continue;
                    }
                    let (token, notify2) = (Token::new(&ledger), notify.clone());
                    handles.push(handle.spawn(async move {
                        let _token = token;
                        notify2.notified().await;
                    }));
                    match rng.below(4) {
                        0 => notify.notify_one(),
                        1 => notify.notify_waiters(),
                        2 => handles.swap_remove(rng.below(handles.len() as u64) as usize).abort(),
                        _ => {}
                    }
                    if handles.len() > 100 {
                        handles.drain(..50).for_each(|handle| handle.abort());
                        handles.clear();
                    }
                }
            })
        })
        .collect();
    let count = 200 + rng.below(800);
    let (ours, progress2) = (ledger.clone(), progress.clone());
    let mut its = rng.fork();
    runtime.block_on(async move {
        let mut handles = Vec::new();
        for _ in 0..count {
            handles.push(trefoil::spawn(one(its.fork(), ours.clone())));
            if its.below(20) == 0 {
                task::yield_now().await;
            }
        }
        for handle in &handles {
            if its.below(8) == 0 {
                handle.abort();
            }
        }
        for mut handle in handles {
            // Tasks that wait for ever are aborted at the end, or dropped with the runtime.
            if time::timeout(Duration::from_millis(3), &mut handle).await.is_err()
                && its.below(3) > 0
            {
                handle.abort();
                let _ = handle.await;
            }
            progress2.fetch_add(1, SeqCst);
        }
    });
    if rng.below(2) == 0 {
        stop.store(true, SeqCst);
    }
    let late = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            std::thread::yield_now();
            stop.store(true, SeqCst);
        })
    };
    late.join().unwrap();
    for foreigner in foreigners {
        foreigner.join().unwrap();
    }
}

fn main() {
    let (mut seconds, mut workers) = (10, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|n| n.parse::<u64>().ok());
        match (word.as_str(), number) {
            ("--seconds", Some(n)) => seconds = n,
            ("--workers", Some(n)) => workers = Some(n as usize),
            _ => panic!("usage: stress_tasks [--seconds N] [--workers W]"),
        }
    }
    let progress = Arc::new(AtomicU64::new(0));
    let current: Arc<Mutex<Option<Handle>>> = Arc::default();
    let (watched, on) = (progress.clone(), current.clone());
    std::thread::spawn(move || {
        let mut last = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let now = watched.load(SeqCst);
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > Duration::from_secs(30) {
                if let Some(handle) = &*on.lock().unwrap() {
                    eprintln!("nothing has happened for 30 s:\n{}", handle.dump());
                }
                std::process::abort();
            }
        }
    });
    let end = Instant::now() + Duration::from_secs(seconds);
    let seed = Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id());
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut rounds, mut tokens) = (0, 0);
    while Instant::now() < end {
        let ledger = Arc::new(Ledger::default());
        let workers = workers.unwrap_or([0, 1, 2, 3, 8, 64][rng.below(6) as usize]);
        let runtime = match workers {
            0 => Builder::new_current_thread().enable_all().build(),
            n => Builder::new_multi_thread()
                .worker_threads(n)
                .max_blocking_threads(4)
                .enable_all()
                .build(),
        }
        .unwrap();
        *current.lock().unwrap() = Some(runtime.handle().clone());
        storm(&runtime, &mut rng, &ledger, &progress);
        match rng.below(3) {
            0 => runtime.shutdown_timeout(Duration::from_secs(20)),
            1 => runtime.shutdown_background(),
            _ => drop(runtime),
        }
        // If the runtime ends in the background, this may take a moment.
        let patience = Instant::now();
        while ledger.alive.load(SeqCst) > 0 {
            if patience.elapsed() > Duration::from_secs(10) {
                let handle = current.lock().unwrap();
                let dump = handle.as_ref().map(|handle| handle.dump().to_string());
                panic!("{} left\n{}", ledger.alive.load(SeqCst), dump.unwrap_or_default());
            }
            std::thread::yield_now();
        }
        progress.fetch_add(1, SeqCst);
        tokens += ledger.made.load(SeqCst);
        rounds += 1;
    }
    println!("{rounds} rounds, {tokens} tokens, none left");
}
