//! A handler that computes for too long: it is reported, and delays nobody.
//!
//! `cargo run --release -p trefoil --example stall_report`
//!
//! A task answers requests, and another one, which was to do so in between, sorts numbers in one
//! long poll. The runtime says which one it was, and where it was spawned.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::{mpsc, oneshot};
use trefoil::task;

fn main() -> std::io::Result<()> {
    let is_reported = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_reported);
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .stall_bound(Duration::from_millis(10))
        .on_stall(move |stall| {
            println!("{stall}");
            seen.store(true, Relaxed);
        })
        .build()?;
    let answered = serve(&runtime, is_reported);
    println!("{answered} requests were answered meanwhile");
    println!("{} stalls in all", runtime.metrics().stall_count());
    Ok(())
}

/// Asks until the hungry handler is through. Returns how often.
fn serve(runtime: &Runtime, is_reported: Arc<AtomicBool>) -> u64 {
    let (asks, mut asked) = mpsc::channel::<oneshot::Sender<u64>>(1);
    runtime.spawn(async move {
        let mut count = 0;
        while let Some(answer) = asked.recv().await {
            count += 1;
            // Whoever asks no more needs no answer.
            let _ = answer.send(count);
        }
    });
    let hungry = runtime.spawn(async move {
        let mut sorted = 0_u64;
        // `task::block_in_place` around this would keep no worker, and nothing would be reported.
        while !is_reported.load(Relaxed) {
            let mut numbers: Vec<u64> = (0..100_000).map(|n| n * 7919 % 100_003).collect();
            numbers.sort_unstable();
            sorted += 1;
        }
        sorted
    });
    runtime.block_on(async {
        let mut answered = 0;
        while !hungry.is_finished() {
            let (answer, answers) = oneshot::channel();
            asks.send(answer).await.expect("the task that answers goes on");
            answered = answers.await.expect("it answers all");
            task::yield_now().await;
        }
        answered
    })
}
