//! Random fork trees with panics, locks, blocking legs, scopes and loops, together with storms of
//! tasks, on runtimes of all sizes that are built and dropped.
//!
//! `cargo run --release -p trefoil-tools --bin stress_forks -- [--seconds N] [--seed N]
//! [--workers W]`
//!
//! The result and the panic of every tree are checked. A watchdog aborts the process if there is no
//! progress any more.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use trefoil::fork_join::{for_each, fork_all, join, map_reduce, scope};
use trefoil::runtime::Builder;
use trefoil::task;

/// How long a round may make no progress before the watchdog aborts.
const STUCK_AFTER: Duration = Duration::from_secs(20);

/// The count of progress, which all threads increase.
static LEAVES: AtomicU64 = AtomicU64::new(0);
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// splitmix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Copy)]
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// The expected result of a tree: the number of its leaves, and whether it panics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Expected {
    leaves: u64,
    panics: bool,
}

/// Computes the expected result of the tree that `seed` stands for, without running the tree.
fn foresee(mut rng: Rng, depth: u64) -> Expected {
    let kind = rng.below(16);
    if depth == 0 || kind < 3 {
        return Expected { leaves: 1, panics: rng.below(400) == 0 };
    }
    let children = children_of(kind);
    let mut all = Expected::default();
    for _ in 0..children {
        let child = foresee(Rng(rng.next()), depth - 1);
        all.leaves += child.leaves;
        all.panics |= child.panics;
    }
    all
}

fn children_of(kind: u64) -> usize {
    match kind {
        0..=10 => 2,
        11 | 12 => 5,
        _ => 3,
    }
}

struct World {
    lock: Mutex<u64>,
}

/// Runs the tree, and returns the number of its leaves.
fn grow(world: &World, mut rng: Rng, depth: u64) -> u64 {
    let kind = rng.below(16);
    if depth == 0 || kind < 3 {
        let panics = rng.below(400) == 0;
        LEAVES.fetch_add(1, Relaxed);
        let spins = rng.below(64);
        for _ in 0..spins {
            std::hint::spin_loop();
        }
        if panics {
            panic_any("a leaf");
        }
        return 1;
    }
    let seeds: Vec<u64> = (0..children_of(kind)).map(|_| rng.next()).collect();
    let child = |seed: u64| grow(world, Rng(seed), depth - 1);
    match kind {
        3..=9 => {
            let (a, b) = join(|| child(seeds[0]), || child(seeds[1]));
            a + b
        }
        10 => {
            // A lock is held across a join, and nothing else may take it meanwhile. The subtrees
            // must not take it again, so they are plain.
            let guard = world.lock.try_lock();
            let (a, b) = join(|| child(seeds[0]), || child(seeds[1]));
            drop(guard);
            a + b
        }
        11 | 12 => {
            let seeds: [u64; 5] = std::array::from_fn(|n| seeds[n]);
            fork_all(seeds.map(|seed| move || child(seed))).iter().sum()
        }
        13 => {
            let sum = AtomicU64::new(0);
            scope(|scope| {
                for &seed in &seeds {
                    let (sum, child) = (&sum, &child);
                    scope.spawn(move |_| {
                        sum.fetch_add(child(seed), Relaxed);
                    });
                }
            });
            sum.into_inner()
        }
        14 => map_reduce(&seeds[..], |&seed| child(seed), |a, b| a + b).unwrap_or(0),
        _ => {
            let sum = AtomicU64::new(0);
            // If an item panics, a loop may skip others, unlike `fork_all`. So the panic is caught
            // inside of the item, and the count is exact.
            let caught: Mutex<bool> = Mutex::new(false);
            for_each(&seeds[..], |&seed| match catch_unwind(AssertUnwindSafe(|| child(seed))) {
                Ok(leaves) => drop(sum.fetch_add(leaves, Relaxed)),
                Err(_) => *caught.lock().unwrap() = true,
            });
            if caught.into_inner().unwrap() {
                panic_any("a leaf");
            }
            sum.into_inner()
        }
    }
}

fn check(world: &World, seed: u64, depth: u64) {
    let expected = foresee(Rng(seed), depth);
    let caught = catch_unwind(AssertUnwindSafe(|| grow(world, Rng(seed), depth)));
    match caught {
        Ok(leaves) => {
            assert!(!expected.panics, "seed {seed}: a panic was lost");
            assert_eq!(leaves, expected.leaves, "seed {seed}");
        }
        Err(payload) => {
            assert!(expected.panics, "seed {seed}: a panic from nowhere");
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"a leaf"), "seed {seed}");
        }
    }
    ROUNDS.fetch_add(1, Relaxed);
}

fn round(rng: &mut Rng, workers: Option<usize>) {
    let workers = workers.unwrap_or([1, 2, 2, 3, 8, 64][rng.below(6) as usize]);
    let hands_off = rng.below(3) > 0;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).handoff_while_forking(hands_off).enable_all();
    let runtime = builder.build().unwrap();
    let world = Arc::new(World { lock: Mutex::new(0) });
    let seeds: Vec<u64> = (0..20).map(|_| rng.next()).collect();
    let ends_early = rng.below(4) == 0;
    let handle = runtime.handle().clone();
    let foreign: Vec<_> = (0..2)
        .map(|n| {
            let (world, handle) = (Arc::clone(&world), handle.clone());
            let seed = seeds[n];
            std::thread::spawn(move || {
                for n in 0..20 {
                    let work = || check(&world, seed ^ n, 7);
                    if n % 2 == 0 { handle.install(work) } else { handle.install_here(work) }
                }
            })
        })
        .collect();
    runtime.block_on(async {
        let tasks: Vec<_> = seeds
            .iter()
            .map(|&seed| {
                let world = Arc::clone(&world);
                trefoil::spawn(async move {
                    let mut rng = Rng(seed);
                    for _ in 0..5 {
                        check(&world, rng.next(), 8);
                        match rng.below(5) {
                            0 => task::yield_now().await,
                            1 => trefoil::time::sleep(Duration::from_micros(rng.below(500))).await,
                            2 => trefoil::spawn(async {}).await.unwrap(),
                            3 => {
                                let handle = trefoil::runtime::Handle::current();
                                let pair = || {
                                    let other = trefoil::spawn(async { 7 });
                                    let seven = || handle.block_on(other).unwrap();
                                    task::block_in_place(seven)
                                };
                                assert_eq!(join(pair, || 1), (7, 1));
                            }
                            _ => {}
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("it checks, and does not panic");
        }
    });
    if ends_early {
        drop(runtime);
        foreign.into_iter().for_each(|thread| thread.join().unwrap());
    } else {
        foreign.into_iter().for_each(|thread| thread.join().unwrap());
        drop(runtime);
    }
}

fn watchdog() {
    let mut last = (0, Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = ROUNDS.load(Relaxed) + LEAVES.load(Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        } else if last.1.elapsed() > STUCK_AFTER {
            eprintln!("nothing has moved for {STUCK_AFTER:?}");
            std::process::abort();
        }
    }
}

fn main() {
    let (mut seconds, mut seed, mut workers) = (10, 1, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value: u64 = arguments.next().and_then(|v| v.parse().ok()).expect("a number");
        match argument.as_str() {
            "--seconds" => seconds = value,
            "--seed" => seed = value,
            // In a current-thread runtime, nothing is forked.
            "--workers" => workers = Some(value.max(1) as usize),
            other => panic!("what is {other}?"),
        }
    }
    // Thousands of leaves panic, so no message is printed.
    std::panic::set_hook(Box::new(|info| {
        if info.payload().downcast_ref::<&str>() != Some(&"a leaf") {
            eprintln!("{info}");
        }
    }));
    std::thread::spawn(watchdog);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut rng = Rng(seed);
    let mut runtimes = 0;
    while Instant::now() < end {
        round(&mut rng, workers);
        runtimes += 1;
    }
    println!(
        "{runtimes} runtimes, {} trees, {} leaves: all accounted for",
        ROUNDS.load(Relaxed),
        LEAVES.load(Relaxed)
    );
}
