//! Forks outside of any runtime, which go to the process-wide one.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, ThreadId};
use support::{fib, multi};
use trefoil::fork_join::{
    Divisible, chunks_mut, for_each, fork_all, fork_reduce, join, map_reduce, scope,
};
use trefoil::runtime::{Builder, Handle, LocalRuntime, global};

/// Runs one of the ignored tests in a process of its own.
fn in_a_process(test: &str, variable: (&str, &str)) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env_remove("TREFOIL_WORKER_THREADS")
        .env(variable.0, variable.1)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

fn here() -> ThreadId {
    thread::current().id()
}

/// Forks, and has the child make the calls. They return, on its one thread.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "it forks, which a process of its own does for it"]
fn forks_in_a_fork_child() {
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
    use std::time::{Duration, Instant};

    // The parent has both kinds of workers.
    assert!(places().iter().all(|&place| place != here()));
    let runtime = multi(2);
    assert_ne!(runtime.install(here), here());
    // SAFETY: the other threads are asleep or about to be, but maybe one in the allocator, which
    // the C libraries of Linux have in order in the child. So the child may do more than system
    // calls.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let calls = || {
            let is_here = || places().iter().all(|&place| place == here());
            assert!(is_here(), "process-wide");
            assert!(runtime.install(is_here), "installed");
            assert_eq!(runtime.install_here(here), here());
            // No place is taken: the call is a call.
            assert!(runtime.install_here(|| Handle::try_current().is_err()));
            let _guard = runtime.enter();
            assert!(is_here(), "entered");
        };
        let ended = catch_unwind(AssertUnwindSafe(calls));
        // SAFETY: this ends the process, without anything that is the parent's to run.
        unsafe { libc::_exit(i32::from(ended.is_err())) };
    }
    let child = Pid::from_raw(pid).expect("a fork failed");
    let give_up = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some((_, status)) = waitpid(Some(child), WaitOptions::NOHANG).unwrap() {
            break status;
        }
        if Instant::now() > give_up {
            kill_process(child, Signal::KILL).unwrap();
            panic!("the child waits for threads that it does not have");
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.exit_status(), Some(0), "see above for what the child says");
}

/// As in a runtime that has shut down: of the parent's threads, only the one that forks is there.
#[cfg(target_os = "linux")]
#[test]
fn forks_in_a_fork_of_the_process_run_on_their_caller() {
    in_a_process("forks_in_a_fork_child", ("TREFOIL_WORKER_THREADS", "2"));
}

/// The threads on which the closures of all functions run.
fn places() -> Vec<ThreadId> {
    let (a, b) = join(here, here);
    let mut places = vec![a, b];
    places.extend(fork_all([here, here, here]));
    let gather = |a: Vec<_>, b: Vec<_>| [a, b].concat();
    places.extend(fork_reduce(0..40, |_| vec![here()], gather).unwrap());
    places.extend(map_reduce((0..40u32).with_grain(1), |_| vec![here()], gather).unwrap());
    let count = AtomicUsize::new(0);
    let caller = here();
    let see = |_: usize| {
        count.fetch_add(usize::from(here() == caller), SeqCst);
    };
    for_each((0..40).with_grain(1), see);
    scope(|scope| {
        scope.spawn(|_| see(0));
        see(1);
    });
    places.extend(vec![caller; count.into_inner()]);
    places
}

#[test]
fn they_leave_their_thread() {
    let caller = here();
    assert!(places().iter().all(|&place| place != caller));
    let name = || thread::current().name().map(String::from);
    assert_eq!(join(name, || ()).0.as_deref(), Some("trefoil-global"));
    assert_eq!(join(|| Handle::current().id(), || ()).0, global().unwrap().id());
    assert_eq!(global().unwrap().name(), Some("global"));
    assert!(Handle::try_current().is_err());
}

#[test]
fn their_results_and_panics_come_back() {
    assert_eq!(join(|| fib(15), || fib(16)), (610, 987));
    let mut numbers: Vec<u32> = (0..1000).collect();
    for_each(chunks_mut(&mut numbers, 10), |chunk| chunk.reverse());
    assert_eq!(numbers[..3], [9, 8, 7]);
    let ran = AtomicUsize::new(0);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        join(|| -> () { panic!("first") }, || ran.fetch_add(1, SeqCst))
    }));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "first");
    assert_eq!(ran.into_inner(), 1);
    let caught = catch_unwind(|| scope(|scope| scope.spawn(|_| panic!("spawned"))));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "spawned");
}

#[test]
fn what_is_in_a_runtime_does_not() {
    let current = Builder::new_current_thread().build().unwrap();
    let local = LocalRuntime::new().unwrap();
    let all_here = || places().iter().all(|&place| place == here());
    assert!(current.block_on(async { all_here() }));
    assert!(local.block_on(async { all_here() }));
    {
        let _guard = current.enter();
        assert!(all_here());
    }
    assert!(current.block_on(current.spawn_blocking(|| places().contains(&here()))).unwrap());
    let runtime = multi(2);
    let _guard = runtime.enter();
    assert_eq!(join(|| Handle::current().id(), || ()).0, runtime.handle().id());
}

#[test]
fn many_threads_may_come_at_once() {
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(map_reduce(0..1000u64, |n| n, |a, b| a + b), Some(499_500));
            });
        }
    });
}

#[test]
fn the_number_of_workers_is_the_environments() {
    in_a_process("with_three_workers", ("TREFOIL_WORKER_THREADS", "3"));
}

#[test]
#[ignore = "run by another test, in an environment of its own"]
fn with_three_workers() {
    assert_eq!(global().unwrap().metrics().num_workers(), 3);
    let barrier = Barrier::new(3);
    let meet = || {
        barrier.wait();
        here()
    };
    let threads = fork_all([meet, meet, meet]);
    assert!(threads[0] != threads[1] && threads[1] != threads[2] && threads[0] != threads[2]);
}

#[test]
fn without_threads_they_run_on_their_caller() {
    // Of an address space of 4 GiB, there is never so much in one piece.
    let too_much: usize = 7 << if usize::BITS < 64 { 29 } else { 47 };
    in_a_process("with_no_threads_to_have", ("RUST_MIN_STACK", &too_much.to_string()));
}

#[test]
#[ignore = "run by another test, in an environment of its own"]
fn with_no_threads_to_have() {
    assert!(global().is_err());
    assert!(global().is_err());
    assert!(places().iter().all(|&place| place == here()));
}

/// Work that is not divided does not start the process-wide runtime.
#[test]
fn a_loop_over_little_starts_no_threads() {
    in_a_process("with_little_to_do", ("TREFOIL_WORKER_THREADS", "2"));
}

#[test]
#[ignore = "run by another test, in an environment of its own"]
#[cfg(target_os = "linux")]
fn with_little_to_do() {
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    for_each(0..1u32, |_| ());
    assert_eq!(fork_reduce(0..0, |_| 0, |a, b| a + b), None);
    assert_eq!(threads(), before);
    join(|| (), || ());
    assert!(threads() > before);
}
