//! What the stacks of fibers keep of the system's memory when nobody needs them.

// It is about the whole process, and so alone in its file.
#![cfg(all(target_os = "linux", not(trefoil_tsan)))]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trefoil::fiber;
use trefoil::runtime::Builder;
use trefoil::sync::{Barrier, Semaphore};

const FIBERS: usize = 500;
const TOUCHED: usize = 100 * 1024;

/// The bytes that the system backs.
fn resident() -> usize {
    let numbers = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = numbers.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[inline(never)]
fn touch() {
    black_box([1_u8; TOUCHED]);
}

/// The workers have nothing to do, however many there are: the free stacks give their memory back
/// within a time that only a watchdog bounds.
#[test]
fn the_stacks_of_fibers_that_were_alive_at_once_give_their_memory_back() {
    for workers in [1, 2] {
        let runtime = Builder::new_multi_thread().worker_threads(workers).build().unwrap();
        let _guard = runtime.enter();
        let before = resident();
        let peak = fiber::spawn(|| {
            let (begun, released) = (Arc::new(Barrier::new(FIBERS + 1)), Semaphore::new(0));
            let released = Arc::new(released);
            let fibers: Vec<_> = (0..FIBERS)
                .map(|_| {
                    let (begun, released) = (begun.clone(), released.clone());
                    fiber::spawn(move || {
                        touch();
                        fiber::wait(begun.wait());
                        fiber::wait(released.acquire()).unwrap().forget();
                    })
                })
                .collect();
            fiber::wait(begun.wait());
            let peak = resident();
            released.add_permits(FIBERS);
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            peak
        });
        let peak = peak.join().unwrap();
        assert!(peak - before > FIBERS * TOUCHED / 2, "{before} {peak}");
        let since = Instant::now();
        while resident() > peak - FIBERS * TOUCHED / 2 {
            assert!(since.elapsed() < Duration::from_secs(60), "{} {peak}", resident());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
