//! A service whose heavy requests fork, while the cheap ones are answered.
//!
//! `cargo run --release -p trefoil --example cpu_service -- [--workers N] [--seconds S]`
//!
//! Requests come from threads, as a network would bring them, and each is a
//! task. Cheap ones come at fixed times, whether or not those before them were
//! answered, and their delay counts from the moment at which they were due: a
//! service that stalls is charged for every request that it kept waiting. Heavy
//! ones are some tens of milliseconds of computing, and there are always as many
//! of them as there are workers, so that every worker has one in its hands.
//!
//! The same service runs four times:
//!
//! - *nothing heavy*: what a cheap request costs by itself;
//! - *inline*: the task computes, as in any asynchronous runtime. Until it is
//!   done its worker serves nobody else, and here all workers are busy so;
//! - *forked*: the task computes by `join`. From the first fork on, the worker offers its state to
//!   other threads, so the cheap requests wait for a few milliseconds at most
//!   (`fork_join/README.md` has the bound). A heavy request is divided among workers when any are
//!   free;
//! - *blocking*: the task hands the work to the blocking pool and awaits it. The
//!   system then divides the cores among more threads than there are cores.
//!
//! Look at p99 and the maximum, on a machine that does nothing else, and on more than one worker: a
//! single worker hands nothing off, so *forked* is *inline* there. Half of *inline*'s delays are
//! shorter than the work that they wait for, because a request may come at any time of it. Those of
//! *forked* are seldom below a millisecond, because whoever stands in for a forking worker only
//! looks for requests now and then, and leaves the core to the fork.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use trefoil::fork_join::join;
use trefoil::runtime::{Builder, Handle};
use trefoil::task;

/// Between two cheap requests.
const CHEAP_EVERY: Duration = Duration::from_micros(500);

/// A heavy request counts the primes below this.
const HEAVY: u64 = 500_000;
const PRIMES_BELOW_HEAVY: usize = 41_538;

/// Ranges as short as this are not divided.
const LEAF: u64 = 1_000;

/// How the service does its heavy work.
#[derive(Clone, Copy, Debug)]
enum Way {
    Inline,
    Forked,
    Blocking,
}

fn is_prime(n: u64) -> bool {
    n >= 2
        && (2..)
            .take_while(|divisor| divisor * divisor <= n)
            .all(|divisor| !n.is_multiple_of(divisor))
}

fn count_primes(range: Range<u64>) -> usize {
    range.filter(|n| is_prime(*n)).count()
}

/// The same, divided. (`map_reduce` would do this in one line.)
fn fork_primes(range: Range<u64>) -> usize {
    if range.end - range.start <= LEAF {
        return count_primes(range);
    }
    let middle = range.start + (range.end - range.start) / 2;
    let (low, high) = join(|| fork_primes(range.start..middle), || fork_primes(middle..range.end));
    low + high
}

/// The handler of heavy requests. Only here do the three ways differ.
async fn heavy(way: Way) -> usize {
    match way {
        Way::Inline => count_primes(0..HEAVY),
        Way::Forked => fork_primes(0..HEAVY),
        Way::Blocking => {
            let counted = task::spawn_blocking(|| count_primes(0..HEAVY)).await;
            counted.expect("it neither panics nor is aborted")
        }
    }
}

/// The handler of cheap requests.
async fn cheap(n: u64) -> bool {
    is_prime(n)
}

/// Sends cheap requests until it is time to stop, and returns their delays.
fn cheap_client(service: &Handle, until: Instant) -> Vec<Duration> {
    let (answered, answers) = mpsc::channel();
    let mut due = Instant::now();
    for n in 0.. {
        due += CHEAP_EVERY;
        if due > until {
            break;
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let answered = answered.clone();
        drop(service.spawn(async move {
            let answer = cheap(n).await;
            std::hint::black_box(answer);
            // The receiver stays until all senders are gone.
            let _ = answered.send(due.elapsed());
        }));
    }
    drop(answered);
    answers.iter().collect()
}

/// Sends heavy requests, each when the one before was answered, and returns how
/// long they took.
fn heavy_client(service: &Handle, way: Way, stop: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    while !stop.load(Relaxed) {
        let sent = Instant::now();
        let answer = service.block_on(service.spawn(heavy(way)));
        assert_eq!(answer.expect("it does not panic"), PRIMES_BELOW_HEAVY);
        times.push(sent.elapsed());
    }
    times
}

/// The value below which `part` of all are, if there are any.
fn quantile(sorted: &[Duration], part: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part).ceil() as usize).copied().unwrap_or_default()
}

/// Runs the service for a while, and prints a line about it.
fn measure(name: &str, way: Option<Way>, workers: usize, seconds: f64) {
    let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let runtime = runtime.expect("the system has threads");
    let service = runtime.handle();
    let stop = AtomicBool::new(false);
    let (mut delays, mut times) = thread::scope(|scope| {
        let stop = &stop;
        let clients = way.into_iter().flat_map(|way| std::iter::repeat_n(way, workers));
        let clients: Vec<_> =
            clients.map(|way| scope.spawn(move || heavy_client(service, way, stop))).collect();
        let delays = cheap_client(service, Instant::now() + Duration::from_secs_f64(seconds));
        stop.store(true, Relaxed);
        let times = clients.into_iter().flat_map(|client| client.join().expect("no panic"));
        (delays, times.collect::<Vec<_>>())
    });
    delays.sort();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    print!("{name:<14}{:>8}", delays.len());
    for part in [0.5, 0.99, 1.0] {
        print!("{:>9.3}", ms(quantile(&delays, part)));
    }
    println!("{:>10}{:>10.1}", times.len(), ms(quantile(&times, 0.5)));
}

fn main() {
    let mut workers = thread::available_parallelism().map_or(2, usize::from).max(2);
    let mut seconds = 1.0;
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let number = args.next().and_then(|number| number.parse::<f64>().ok());
        match (option.as_str(), number) {
            ("--workers", Some(number)) if number >= 1.0 => workers = number as usize,
            ("--seconds", Some(number)) if number > 0.0 => seconds = number,
            _ => {
                eprintln!("usage: cpu_service [--workers N] [--seconds S]");
                std::process::exit(2);
            }
        }
    }
    println!("{workers} workers; delays of cheap requests and times of heavy ones in ms\n");
    println!("                 cheap      p50      p99      max     heavy       p50");
    measure("nothing heavy", None, workers, seconds);
    measure("inline", Some(Way::Inline), workers, seconds);
    measure("forked", Some(Way::Forked), workers, seconds);
    measure("blocking", Some(Way::Blocking), workers, seconds);
}
