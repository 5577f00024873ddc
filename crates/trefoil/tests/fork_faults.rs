//! Faults in forks: stacks that are too small, panics at every depth, and runtimes that are
//! dropped.

mod support;

use support::{fib, multi};
// Panics without a message, because there are thousands of them.
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, mpsc};
use std::thread;
use trefoil::fork_join::{join, scope};
use trefoil::runtime::Builder;
use trefoil::task;

#[cfg(unix)]
mod stack {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Set in the process that has to overflow. The value says where.
    const PLACE: &str = "TREFOIL_TEST_OVERFLOW";
    const SIGABRT: i32 = 6;

    /// Forks within forks until the stack overflows.
    fn endless(n: u64) -> u64 {
        let n = std::hint::black_box(n);
        if n == u64::MAX {
            return 0;
        }
        let (a, b) = join(|| endless(n + 1), || n);
        a.wrapping_add(b)
    }

    fn overflow(place: &str) {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2);
        if place == "named" {
            builder.thread_name("small-stack").thread_stack_size(64 << 10);
        }
        let runtime = builder.build().unwrap();
        match place {
            "installed" | "named" => drop(runtime.install(|| endless(0))),
            "task" => drop(runtime.block_on(runtime.spawn(async { endless(0) }))),
            "stolen" => {
                let both = Barrier::new(2);
                runtime.install(|| {
                    join(
                        || both.wait(),
                        || {
                            both.wait();
                            endless(0)
                        },
                    )
                });
            }
            _ => unreachable!("{place}"),
        }
    }

    /// Runs a process that overflows at `place`, and returns how it ended and what it printed.
    fn ends(place: &str) -> (std::process::ExitStatus, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stack::the_end_of_a_stack_is_named", "--nocapture"])
            .env(PLACE, place)
            .env_remove("RUST_MIN_STACK")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let give_up = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > give_up {
                child.kill().unwrap();
                panic!("{place}: it hangs");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status, said)
    }

    #[test]
    fn the_end_of_a_stack_is_named() {
        if let Ok(place) = std::env::var(PLACE) {
            return overflow(&place);
        }
        for (place, thread) in [
            ("installed", "trefoil-worker"),
            ("task", "trefoil-worker"),
            ("stolen", "trefoil-worker"),
            ("named", "small-stack"),
        ] {
            let (status, said) = ends(place);
            assert_eq!(status.signal(), Some(SIGABRT), "{place}: {status}, {said}");
            let line = said.lines().find(|line| line.contains("has overflowed its stack"));
            let line = line.unwrap_or_else(|| panic!("{place}: {said:?}"));
            assert!(line.contains(&format!("thread '{thread}'")), "{place}: {line}");
        }
    }

    /// How much stack one level of nested forks takes.
    fn bytes_per_level(levels: usize) -> usize {
        fn down(levels: usize, top: usize) -> usize {
            let here = std::hint::black_box(0u8);
            let bottom = &raw const here as usize;
            if levels == 0 {
                return top - bottom;
            }
            join(|| down(levels - 1, top), || ()).0
        }
        let top = std::hint::black_box(0u8);
        down(levels, &raw const top as usize) / levels
    }

    /// How many levels a default stack holds, according to the documentation. Without optimisation,
    /// each function that makes up `join` has a frame of its own.
    #[test]
    fn thousands_of_nested_forks_fit_into_a_default_stack() {
        const STACK: usize = 2 << 20;
        let levels = if cfg!(debug_assertions) { 800 } else { 8000 };
        let bytes = multi(1).install(|| bytes_per_level(100));
        assert!(levels * bytes < STACK, "{bytes} bytes for each level of forks");
    }
}

/// Where in a tree of forks a node panics: before its forks, in a leaf, or after its forks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    node: usize,
    after: bool,
}

/// Walks a full binary tree whose root is node 1. Counts the nodes that it enters, and panics
/// wherever `bad` says so.
fn tree(node: usize, depth: u32, bad: &[Place], entered: &AtomicUsize) {
    entered.fetch_add(1, SeqCst);
    let panics = |after| {
        let place = Place { node, after };
        if bad.contains(&place) {
            resume_unwind(Box::new(place));
        }
    };
    panics(false);
    if depth > 0 {
        join(
            || tree(2 * node, depth - 1, bad, entered),
            || tree(2 * node + 1, depth - 1, bad, entered),
        );
    }
    panics(true);
}

/// The result according to the rules: the payload, and the number of nodes entered.
fn expected(node: usize, depth: u32, bad: &[Place]) -> (Option<Place>, usize) {
    let panics = |after| bad.iter().copied().find(|place| *place == Place { node, after });
    if let Some(place) = panics(false) {
        return (Some(place), 1);
    }
    let mut first = None;
    let mut entered = 1;
    if depth > 0 {
        let (left, below_left) = expected(2 * node, depth - 1, bad);
        let (right, below_right) = expected(2 * node + 1, depth - 1, bad);
        entered += below_left + below_right;
        first = left.or(right);
    }
    (first.or_else(|| panics(true)), entered)
}

#[test]
fn panics_at_every_depth_in_either_leg_or_both() {
    const DEPTH: u32 = 3;
    let places: Vec<_> =
        (1..16).flat_map(|node| [false, true].map(|after| Place { node, after })).collect();
    for runtime in [None, Some(multi(1)), Some(multi(2)), Some(multi(4))] {
        for (index, first) in places.iter().enumerate() {
            // A pair of equal places means that only one place panics.
            for second in &places[index..] {
                let bad = [*first, *second];
                let entered = AtomicUsize::new(0);
                let body = || tree(1, DEPTH, &bad, &entered);
                let caught = catch_unwind(AssertUnwindSafe(|| match &runtime {
                    None => body(),
                    Some(runtime) => runtime.install(body),
                }));
                let payload = caught.err().map(|payload| *payload.downcast::<Place>().unwrap());
                assert_eq!((payload, entered.load(SeqCst)), expected(1, DEPTH, &bad), "{bad:?}");
            }
        }
    }
}

/// The same, if the second leg is certainly stolen, at each level.
#[test]
fn panics_on_both_sides_of_a_theft_at_every_depth() {
    fn down(depth: u32, bad: u32, legs: [bool; 2], entered: &AtomicUsize) {
        entered.fetch_add(1, SeqCst);
        if depth == 0 {
            return;
        }
        let both = Barrier::new(2);
        let leg = |name: &'static str, panics: bool| {
            both.wait();
            if depth == bad && panics {
                resume_unwind(Box::new((depth, name)));
            }
        };
        join(
            || {
                leg("a", legs[0]);
                down(depth - 1, bad, legs, entered);
            },
            || leg("b", legs[1]),
        );
    }
    let runtime = multi(2);
    for bad in 1..=6 {
        for (legs, name) in [([true, false], "a"), ([false, true], "b"), ([true, true], "a")] {
            let entered = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                runtime.install(|| down(6, bad, legs, &entered));
            }));
            let payload = *caught.unwrap_err().downcast::<(u32, &str)>().unwrap();
            assert_eq!(payload, (bad, name));
            // Only the panic of a first leg keeps the levels below from being entered.
            let below = if legs[0] { 6 - bad + 1 } else { 7 };
            assert_eq!(entered.load(SeqCst), below as usize);
        }
    }
}

#[test]
fn a_current_thread_runtime_forks_inline_in_all_its_places() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let here = thread::current().id();
    let ids = || {
        let id = || thread::current().id();
        let (a, b) = join(id, id);
        let mut c = None;
        scope(|scope| scope.spawn(|_| c = Some(id())));
        assert_eq!(fib(12), 144);
        [a, b, c.unwrap()]
    };
    assert_eq!(runtime.block_on(runtime.spawn(async move { ids() })).unwrap(), [here; 3]);
    let local = task::LocalSet::new();
    let in_set =
        local.block_on(&runtime, async move { task::spawn_local(async move { ids() }).await });
    assert_eq!(in_set.unwrap(), [here; 3]);
    // The blocking threads of a current-thread runtime are in its context, which has no workers.
    let (there, ids) =
        runtime.block_on(runtime.spawn_blocking(move || (thread::current().id(), ids()))).unwrap();
    assert_ne!(there, here);
    assert_eq!(ids, [there; 3]);
}

/// The drop waits for a closure that a worker runs. A closure that is still queued goes back to the
/// thread that called `install`, and runs there.
#[test]
fn a_runtime_is_dropped_while_others_install() {
    for workers in [1, 2] {
        let runtime = multi(workers);
        let handle = runtime.handle().clone();
        let ran = AtomicUsize::new(0);
        let (started, release) = (Barrier::new(workers + 1), Barrier::new(workers + 1));
        let (dropped, was_dropped) = mpsc::channel();
        thread::scope(|scope| {
            let running: Vec<_> = (0..workers)
                .map(|_| {
                    let handle = handle.clone();
                    let (started, release) = (&started, &release);
                    scope.spawn(move || {
                        let id = handle.install(|| {
                            started.wait();
                            release.wait();
                            assert_eq!(fib(14), 377);
                            thread::current().id()
                        });
                        assert_ne!(id, thread::current().id());
                    })
                })
                .collect();
            // From here on, all workers are occupied.
            started.wait();
            let queued: Vec<_> = (0..3)
                .map(|_| {
                    let handle = handle.clone();
                    let ran = &ran;
                    scope.spawn(move || {
                        handle.install(|| {
                            ran.fetch_add(1, SeqCst);
                            assert_eq!(fib(14), 377);
                        });
                    })
                })
                .collect();
            while handle.metrics().global_queue_depth() < queued.len() {
                thread::yield_now();
            }
            scope.spawn(move || {
                drop(runtime);
                dropped.send(()).unwrap();
            });
            release.wait();
            for thread in running {
                thread.join().unwrap();
            }
            was_dropped.recv().unwrap();
            for thread in queued {
                thread.join().unwrap();
            }
        });
        // Before the end it ran on a worker, and after it on its own thread, but only once.
        assert_eq!(ran.into_inner(), 3);
    }
}
