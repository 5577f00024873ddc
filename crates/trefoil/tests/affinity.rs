//! Workers that are pinned to CPUs.
#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use trefoil::fork_join::join;
use trefoil::runtime::{Builder, LocalOptions, Runtime};
use trefoil::{task, time};

/// The CPUs that the calling thread may use, as the system lists them.
fn listed() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
    line.split_once(':').unwrap().1.trim().to_owned()
}

fn allowed() -> Vec<usize> {
    let list = listed();
    let number = |text: &str| text.parse::<usize>().unwrap();
    list.split(',')
        .flat_map(|run| match run.split_once('-') {
            Some((first, last)) => number(first)..=number(last),
            None => number(run)..=number(run),
        })
        .collect()
}

/// The CPU that a worker is pinned to in these tests.
fn cpu_of(worker: usize) -> usize {
    let allowed = allowed();
    allowed[worker % allowed.len()]
}

fn pinned(workers: usize) -> Runtime {
    let cpus: Vec<usize> = (0..workers).map(cpu_of).collect();
    Builder::new_multi_thread()
        .worker_threads(workers)
        .worker_affinity(move |worker| [cpus[worker]])
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn workers_run_where_they_are_told() {
    let before = listed();
    let runtime = pinned(4);
    assert_eq!(listed(), before, "the thread that builds is left where it was");
    for worker in 0..4 {
        let seen = runtime.block_on(runtime.spawn_pinned(worker, async { listed() })).unwrap();
        assert_eq!(seen, cpu_of(worker).to_string());
    }
}

/// A worker's thread is started by a thread that is pinned, or in a runtime that is.
#[test]
fn a_worker_does_not_inherit_cpus_from_whoever_wakes_it() {
    let everywhere = listed();
    let unpinned = Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let other = pinned(1);
    let handle = unpinned.handle().clone();
    let tasks = other.spawn(async move {
        [1, 2, 3].map(|worker| handle.spawn_pinned(worker, async { listed() }))
    });
    for task in other.block_on(tasks).unwrap() {
        assert_eq!(other.block_on(task).unwrap(), everywhere);
    }
}

#[test]
fn a_worker_may_have_several_cpus() {
    let all = allowed();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .worker_affinity(move |_| all.clone())
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(runtime.spawn(async { listed() })).unwrap(), listed());
}

#[test]
fn threads_that_are_no_workers_are_free() {
    let runtime = pinned(1);
    let seen = runtime.block_on(runtime.spawn(async {
        // The worker starts this thread, which inherits the CPUs of the worker.
        task::spawn_blocking(listed).await.unwrap()
    }));
    assert_eq!(seen.unwrap(), listed());
}

#[test]
fn whoever_takes_a_blocked_workers_place_is_pinned() {
    let runtime = pinned(1);
    let task = runtime.spawn(async {
        let first = thread::current().id();
        let (sender, receiver) = std::sync::mpsc::channel();
        trefoil::spawn(async move {
            sender.send((thread::current().id(), listed())).unwrap();
        });
        let (blocking, (second, seen)) =
            task::block_in_place(|| (listed(), receiver.recv().unwrap()));
        assert_ne!(first, second);
        (blocking, seen)
    });
    let (blocking, seen) = runtime.block_on(task).unwrap();
    assert_eq!(seen, cpu_of(0).to_string());
    assert_eq!(blocking, listed(), "it is no worker any more");
}

#[test]
fn whoever_takes_a_forking_workers_place_is_pinned() {
    let runtime = pinned(2);
    let is_taken = Arc::new(AtomicBool::new(false));
    let heart = {
        let is_taken = Arc::clone(&is_taken);
        runtime.spawn_pinned(1, async move {
            let mut threads = HashSet::from([thread::current().id()]);
            let mut seen = HashSet::from([listed()]);
            while threads.len() < 2 {
                time::sleep(Duration::from_millis(1)).await;
                threads.insert(thread::current().id());
                seen.insert(listed());
            }
            is_taken.store(true, SeqCst);
            seen
        })
    };
    let forks = runtime.spawn_pinned(1, async move {
        while !is_taken.load(SeqCst) {
            join(std::hint::spin_loop, std::hint::spin_loop);
        }
    });
    let seen = runtime.block_on(heart).unwrap();
    runtime.block_on(forks).unwrap();
    assert_eq!(seen, HashSet::from([cpu_of(1).to_string()]));
}

#[test]
fn what_cannot_be_is_an_error() {
    let cpu = allowed()[0];
    let error = Builder::new_multi_thread()
        .worker_threads(2)
        .worker_affinity(move |worker| if worker == 0 { vec![cpu] } else { vec![cpu, 1 << 20] })
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(text.starts_with("worker 1 cannot be pinned to CPU 1048576"), "{text}");
    assert!(text.ends_with(&listed()), "{text}");

    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).worker_affinity(|_| []);
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "worker 0 is given no CPU to run on");

    let mut builder = Builder::new_current_thread();
    builder.worker_affinity(|worker| [worker]);
    assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::InvalidInput);
    let error = builder.build_local(LocalOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_pinned_thread_makes_no_runtime_elsewhere() {
    let Some(&other) = allowed().get(1) else { return };
    let runtime = pinned(1);
    let error = runtime.block_on(runtime.spawn(async move {
        Builder::new_multi_thread()
            .worker_threads(1)
            .worker_affinity(move |_| [other])
            .build()
            .map(Runtime::shutdown_background)
            .unwrap_err()
    }));
    let text = error.unwrap().to_string();
    assert!(text.ends_with(&format!("may use CPU {}", cpu_of(0))), "{text}");
}
