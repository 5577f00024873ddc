//! A worker that is lost would take its queues along: a panic of its own code,
//! outside of any task, ends the process, where otherwise all that waits for it
//! would wait for ever.

use super::*;
use crate::runtime::Builder;
use crate::scheduler::Scheduler;
use std::process::{Command, Stdio};

/// The parent's watch is on the child: a hang is not waited for.
#[test]
fn a_panic_of_the_loop_ends_the_process() {
    let path = module_path!().split_once("::").expect("within a crate").1;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{path}::the_loop_unwinds"), "--ignored", "--nocapture"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
            panic!("the process goes on without one of its workers");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("outside of any task; aborting"), "{said}");
    #[cfg(unix)]
    assert!(std::os::unix::process::ExitStatusExt::signal(&output.status).is_some(), "{said}");
}

/// All foreign code that a worker calls is guarded, so it takes a fault of this
/// crate: the state of a worker that does not exist.
#[test]
#[ignore = "ends the process: run by the test above"]
fn the_loop_unwinds() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let Scheduler::Multi(shared) = &runtime.handle().scheduler else { unreachable!() };
    let state = Box::new(WorkerState::new(1, ptr::null(), Arc::default(), false, true));
    let its = Arc::clone(shared);
    let worker = std::thread::spawn(move || run(its, state, By::New));
    let _ = worker.join();
}
