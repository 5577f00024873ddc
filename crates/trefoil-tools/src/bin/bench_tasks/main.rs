//! Trefoil against tokio: their rows alternate in one process.
//!
//! `cargo run --release -p trefoil-tools --bin bench_tasks -- [filter] [--rounds N]`
//!
//! Prints the medians in ns per operation and the ratio trefoil / tokio. The figures only guide
//! development: Palio runs the races, with more contenders and honest statistics.

mod rows;
mod runtimes;

use std::time::{Duration, Instant};

use runtimes::{Rt, Tokio, Trefoil};

/// Runs a row once, and returns the number of operations.
type Row<R> = fn(&R) -> u64;

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

/// Repeats a row for 4 ms. Notes the time per operation in ns, and the processor time.
fn round<R>(rt: &R, row: Row<R>, times_ns: &mut Vec<f64>, used: &mut Duration) {
    let (start, before) = (Instant::now(), cpu());
    let mut ops = 0;
    while start.elapsed() < Duration::from_millis(4) {
        ops += row(rt);
    }
    times_ns.push(start.elapsed().as_nanos() as f64 / ops as f64);
    *used += cpu() - before;
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
        round(&a, ours, &mut times_a, &mut cpu_a);
        round(&b, theirs, &mut times_b, &mut cpu_b);
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
            $(compare(&args, stringify!($row), $workers, rows::$row::<Trefoil>, rows::$row::<Tokio>);)*
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
