//! The cost of waiting: a million parked tasks, and an idle runtime.
//!
//! `cargo run --release -p trefoil-tools --bin parked_tasks`
//!
//! Prints the resident memory of a million tasks at rest, and the processor time that the runtime
//! then uses in a second. Both have a limit, and the program fails if one is exceeded.

use std::time::Duration;

const TASKS: usize = 1_000_000;

fn field(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).expect("procfs");
    let line = text.lines().find(|line| line.starts_with(name)).expect("a known field");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

/// In clock ticks, which are usually 10 ms.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("procfs");
    let fields = stat.rsplit(')').next().expect("a command name").split_whitespace();
    fields.skip(11).take(2).map(|n| n.parse::<u64>().expect("a number")).sum()
}

fn main() {
    let runtime = trefoil::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads");
    let before = field("/proc/self/status", "VmRSS:");
    let started = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for _ in 0..TASKS {
        let started = started.clone();
        drop(runtime.spawn(async move {
            started.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            drop(started);
            std::future::pending::<()>().await;
        }));
    }
    while started.load(std::sync::atomic::Ordering::Relaxed) < TASKS {
        std::thread::yield_now();
    }
    let rss_mib = (field("/proc/self/status", "VmRSS:") - before) / 1024;
    std::thread::sleep(Duration::from_millis(100));
    let ticks = cpu_ticks();
    std::thread::sleep(Duration::from_secs(1));
    let ticks = cpu_ticks() - ticks;
    println!("{TASKS} parked tasks: {rss_mib} MiB; idle for 1 s: {ticks} ticks of CPU");
    assert!(rss_mib <= 200 && ticks == 0);
}
