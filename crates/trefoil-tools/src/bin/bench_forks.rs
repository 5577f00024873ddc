//! Trefoil's fork-join against rayon's and chili's: their rows alternate in one process.
//!
//! `cargo run --release -p trefoil-tools --bin bench_forks -- [--fib N] [--skynet LEVELS]
//! [--rounds N] [--workers N]`
//!
//! Prints medians and minima in ns per fork with the ratios trefoil / other, and trefoil / plain
//! calls as a floor. `--only N` runs `fib` on N workers, or by plain calls for 0, and nothing else:
//! callgrind counts that. The figures only guide development: Palio runs the races.

use std::hint::black_box;
use std::time::Instant;
use trefoil::fork_join;
use trefoil::runtime::{Builder, Runtime};

#[inline(never)]
fn fib_calls(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    // The call goes through a pointer that is opaque to the compiler, so that it turns neither call
    // into a loop.
    black_box(fib_calls(n - 1)) + fib_calls(n - 2)
}

fn fib_trefoil(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = fork_join::join(move || fib_trefoil(n - 1), move || fib_trefoil(n - 2));
    a + b
}

fn fib_rayon(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib_rayon(n - 1), || fib_rayon(n - 2));
    a + b
}

fn fib_chili(scope: &mut chili::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(|s| fib_chili(s, n - 1), |s| fib_chili(s, n - 2));
    a + b
}

/// The sum of `size` consecutive numbers, divided by ten at each level. It uses only `join`, which
/// all three libraries have.
fn skynet_calls(num: u64, size: u64) -> u64 {
    if size == 1 {
        return num;
    }
    let part = size / 10;
    (0..10).map(|i| skynet_calls(num + i * part, part)).sum()
}

macro_rules! skynet {
    ($name:ident, $parts:ident, ($($scope:ident: $type:ty)?), $join:expr) => {
        fn $name($($scope: $type,)? num: u64, size: u64) -> u64 {
            if size == 1 {
                return num;
            }
            $parts($($scope,)? num, size / 10, 10)
        }

        fn $parts($($scope: $type,)? num: u64, part: u64, count: u64) -> u64 {
            if count == 1 {
                return $name($($scope,)? num, part);
            }
            let half = count / 2;
            let (a, b) = $join($($scope,)? num, part, half, count);
            a + b
        }
    };
}

skynet!(skynet_trefoil, parts_trefoil, (), |num, part, half, count| fork_join::join(
    || parts_trefoil(num, part, half),
    || parts_trefoil(num + half * part, part, count - half),
));
skynet!(skynet_rayon, parts_rayon, (), |num, part, half, count| rayon::join(
    || parts_rayon(num, part, half),
    || parts_rayon(num + half * part, part, count - half),
));

fn skynet_chili(scope: &mut chili::Scope<'_>, num: u64, size: u64) -> u64 {
    if size == 1 {
        return num;
    }
    parts_chili(scope, num, size / 10, 10)
}

fn parts_chili(scope: &mut chili::Scope<'_>, num: u64, part: u64, count: u64) -> u64 {
    if count == 1 {
        return skynet_chili(scope, num, part);
    }
    let half = count / 2;
    let (a, b) = scope.join(
        |s| parts_chili(s, num, part, half),
        |s| parts_chili(s, num + half * part, part, count - half),
    );
    a + b
}

struct Pools {
    trefoil: Runtime,
    rayon: rayon::ThreadPool,
    chili: chili::ThreadPool,
}

impl Pools {
    fn new(workers: usize) -> Self {
        Self {
            trefoil: Builder::new_multi_thread().worker_threads(workers).build().unwrap(),
            rayon: rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap(),
            // The thread that calls chili is one of its workers.
            chili: chili::ThreadPool::with_config(chili::Config {
                thread_count: std::num::NonZero::new(workers),
                ..Default::default()
            }),
        }
    }
}

/// The median time per fork.
fn median(times_ns: &mut [f64], forks: f64) -> f64 {
    times_ns.sort_by(f64::total_cmp);
    times_ns[times_ns.len() / 2] / forks
}

fn race(
    name: &str,
    forks: u64,
    rounds: usize,
    expected: u64,
    bodies: &mut [(&str, &mut dyn FnMut() -> u64)],
) -> f64 {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); bodies.len()];
    for _ in 0..rounds {
        for ((_, body), times) in bodies.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let answer = body();
            times.push(start.elapsed().as_nanos() as f64);
            assert_eq!(answer, expected);
        }
    }
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times, forks as f64)).collect();
    let best: Vec<f64> = times.iter().map(|times| times[0] / forks as f64).collect();
    for (what, ns) in [("median", &medians), ("best", &best)] {
        print!("{name:18} {what:6}");
        for ((contender, _), ns_one) in bodies.iter().zip(ns) {
            print!("  {contender} {ns_one:6.2} ({:4.2})", ns[0] / ns_one);
        }
        println!();
    }
    best[0]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut fib, mut levels, mut rounds, mut most, mut only) = (32, 6, 9, 2, None);
    while let Some(argument) = arguments.next() {
        let value: u64 = arguments.next().and_then(|v| v.parse().ok()).expect("a number");
        match argument.as_str() {
            "--fib" => fib = value,
            "--skynet" => levels = value,
            "--rounds" => rounds = value as usize,
            "--only" => only = Some(value),
            "--workers" => most = value as usize,
            other => panic!("what is {other}?"),
        }
    }
    if let Some(calls) = only {
        let answer = match calls {
            0 => fib_calls(black_box(fib)),
            workers => {
                let builder = &mut Builder::new_multi_thread();
                let runtime = builder.worker_threads(workers as usize).build().unwrap();
                runtime.install(|| fib_trefoil(black_box(fib)))
            }
        };
        return println!("{answer}");
    }
    println!("ns per fork (ratio trefoil / contender), median of {rounds}");
    let expected = fib_calls(fib);
    // Each call that is not a leaf forks once.
    let fib_forks = {
        let (mut a, mut b) = (0u64, 0u64);
        for _ in 1..fib {
            (a, b) = (b, a + b + 1);
        }
        b
    };
    let size = 10u64.pow(levels as u32);
    let sum = size * (size - 1) / 2;
    let skynet_forks = size - 1;
    let mut alone = Vec::new();
    for workers in 1..=most {
        let pools = Pools::new(workers);
        let ns_fib = race(
            &format!("fib({fib}) w{workers}"),
            fib_forks,
            rounds,
            expected,
            &mut [
                ("trefoil", &mut || pools.trefoil.install(|| fib_trefoil(black_box(fib)))),
                ("calls", &mut || fib_calls(black_box(fib))),
                ("rayon", &mut || pools.rayon.install(|| fib_rayon(black_box(fib)))),
                ("chili", &mut || fib_chili(&mut pools.chili.scope(), black_box(fib))),
            ],
        );
        let ns_skynet = race(
            &format!("skynet(10^{levels}) w{workers}"),
            skynet_forks,
            rounds,
            sum,
            &mut [
                ("trefoil", &mut || pools.trefoil.install(|| skynet_trefoil(0, black_box(size)))),
                ("calls", &mut || skynet_calls(0, black_box(size))),
                ("rayon", &mut || pools.rayon.install(|| skynet_rayon(0, black_box(size)))),
                ("chili", &mut || skynet_chili(&mut pools.chili.scope(), 0, black_box(size))),
            ],
        );
        alone.push((ns_fib, ns_skynet));
    }
    for (workers, (ns_fib, ns_skynet)) in alone.iter().enumerate().skip(1) {
        println!(
            "speed-up of trefoil with {} workers: fib {:.2}, skynet {:.2}",
            workers + 1,
            alone[0].0 / ns_fib,
            alone[0].1 / ns_skynet
        );
    }
}
