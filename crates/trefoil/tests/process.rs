//! Child processes.
#![cfg(all(feature = "process", unix))]

mod support;

use rustix::process::{Pid, test_kill_process};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll, Waker};
use support::watch::wait_for;
use support::{current_and_multi, current_thread, multi};
use trefoil::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use trefoil::process::{Child, ChildStdin, Command};
use trefoil::runtime::is_rt_shutdown_err;
use trefoil::task::{JoinSet, yield_now};
use trefoil::{spawn, task::coop};

/// Runs a test body in `block_on` and in a task, of runtimes of each kind.
fn everywhere<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for runtime in current_and_multi([1, 2]) {
        runtime.block_on(body());
        runtime.block_on(runtime.spawn(body())).unwrap();
    }
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).stdin(Stdio::null());
    command
}

/// A child that runs until its input ends.
fn cat() -> Command {
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().unwrap() as i32).unwrap()
}

/// A zombie can be sent signals, so what cannot was reaped.
fn was_reaped(pid: Pid) -> bool {
    test_kill_process(pid).is_err()
}

fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn cat_echoes() {
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        for n in 0..50_u8 {
            stdin.write_all(&[n; 100]).await.unwrap();
            let mut buf = [0; 100];
            stdout.read_exact(&mut buf).await.unwrap();
            assert_eq!(buf, [n; 100]);
        }
        drop(stdin);
        assert_eq!(stdout.read(&mut [0]).await.unwrap(), 0);
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn codes_and_signals() {
    everywhere(|| async {
        for code in [0, 1, 42, 255] {
            let mut child = sh(&format!("exit {code}")).spawn().unwrap();
            assert!(child.id().is_some());
            let status = child.wait().await.unwrap();
            assert_eq!(status.code(), Some(code));
            assert_eq!(child.id(), None, "its number may be another's");
            assert_eq!(child.wait().await.unwrap(), status);
            assert_eq!(child.try_wait().unwrap(), Some(status));
            child.start_kill().unwrap();
            child.kill().await.unwrap();
        }
        let status = sh("kill -TERM $$").status().await.unwrap();
        assert_eq!((status.code(), status.signal()), (None, Some(15)));
    });
}

#[test]
fn kill() {
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        let stdin = child.stdin.take();
        child.kill().await.unwrap();
        assert_eq!(child.wait().await.unwrap().signal(), Some(9));
        drop(stdin);
    });
}

#[test]
fn settings_reach_the_child() {
    everywhere(|| async {
        let mut command = sh("echo $0 $A $B \"$C\"; pwd; echo no >&2");
        command.arg0("ignored by the shell for -c").arg("zero").current_dir("/");
        command.env("A", "a").envs([("B", "b"), ("C", "c")]).env_remove("C");
        let output = command.output().await.unwrap();
        assert_eq!(output.stdout, b"zero a b \n/\n");
        assert_eq!(output.stderr, b"no\n");
        assert!(output.status.success());

        let mut std = std::process::Command::new("sh");
        std.args(["-c", "exit 3"]);
        let mut command = Command::from(std);
        assert_eq!(command.as_std().get_program(), "sh");
        assert!(!command.get_kill_on_drop());
        assert!(command.kill_on_drop(true).get_kill_on_drop());
        assert_eq!(command.status().await.unwrap().code(), Some(3));
        assert_eq!(command.into_std().status().unwrap().code(), Some(3));
    });
}

#[test]
fn a_group_and_a_closure_before_exec() {
    current_thread().block_on(async {
        let mut command = cat();
        command.process_group(0);
        let mut child = command.spawn().unwrap();
        let group = rustix::process::getpgid(Some(pid(&child))).unwrap();
        assert_eq!(group, pid(&child));
        child.wait().await.unwrap();

        // SAFETY: the closure does nothing but make an error.
        unsafe { command.pre_exec(|| Err(ErrorKind::AddrInUse.into())) };
        assert!(command.spawn().is_err());
    });
}

#[test]
fn what_cannot_be_started_is_an_error() {
    everywhere(|| async {
        let mut command = Command::new("/nonexistent/program");
        assert_eq!(command.spawn().unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(command.status().await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(command.output().await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_closure_starts_the_child() {
    everywhere(|| async {
        let mut command = sh("cat; exit $CODE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn_with(|std| {
                assert_eq!(std.get_program(), "sh");
                std.env("CODE", "7").spawn()
            })
            .unwrap();
        child.stdin.take().unwrap().write_all(b"by a closure").await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        assert_eq!((output.stdout, output.status.code()), (b"by a closure".to_vec(), Some(7)));

        let error = sh("").spawn_with(|_| Err(ErrorKind::AddrInUse.into())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
#[should_panic = "in no Trefoil runtime"]
fn outside_of_a_runtime_nothing_is_started() {
    let _ = Command::new("/nonexistent/program").spawn();
}

#[test]
fn wait_closes_the_input() {
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        assert!(child.stdin.is_some());
        assert!(child.wait().await.unwrap().success());
        assert!(child.stdin.is_none());
        // And so do these.
        assert!(cat().status().await.unwrap().success());
        assert!(cat().output().await.unwrap().status.success());
    });
}

#[test]
fn megabytes_of_output_on_both_streams() {
    everywhere(|| async {
        let script = "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; \
                      head -c 1000000 /dev/zero";
        let output = sh(script).output().await.unwrap();
        assert!(output.status.success());
        assert_eq!((output.stdout.len(), output.stderr.len()), (4_000_000, 2_000_000));
    });
}

#[test]
fn megabytes_through_cat() {
    everywhere(|| async {
        const SIZE: usize = 2_000_000;
        let mut child = cat().spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let sent: Vec<u8> = (0..SIZE).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let writer = spawn(async move { stdin.write_all(&sent).await });
        let output = child.wait_with_output().await.unwrap();
        writer.await.unwrap().unwrap();
        assert_eq!(output.stdout, expected);
    });
}

#[test]
fn a_wait_that_was_dropped_loses_nothing() {
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        let stdin = child.stdin.take();
        for _ in 0..10 {
            assert!(is_pending(&mut pin!(child.wait())));
            yield_now().await;
        }
        drop(stdin);
        // Dropped at each poll, until it is ready.
        let status = loop {
            let mut status = None;
            std::future::poll_fn(|cx| {
                if let Poll::Ready(result) = pin!(child.wait()).poll(cx) {
                    status = Some(result.unwrap());
                }
                Poll::Ready(())
            })
            .await;
            match status {
                Some(status) => break status,
                None => yield_now().await,
            }
        };
        assert!(status.success());
        assert_eq!(child.wait().await.unwrap(), status);
    });
}

#[test]
fn many_children() {
    everywhere(|| async {
        let mut waits = JoinSet::new();
        for n in 0..60 {
            waits.spawn(async move {
                let status = sh(&format!("exit {n}")).status().await.unwrap();
                assert_eq!(status.code(), Some(n));
                n
            });
        }
        let mut sum = 0;
        while let Some(n) = waits.join_next().await {
            sum += n.unwrap();
        }
        assert_eq!(sum, (0..60).sum());
    });
}

#[test]
fn kill_on_drop() {
    everywhere(|| async {
        let mut child = cat().kill_on_drop(true).spawn().unwrap();
        let (stdin, pid) = (child.stdin.take(), pid(&child));
        drop(child);
        while !was_reaped(pid) {
            yield_now().await;
        }
        // Its input never ended.
        drop(stdin);

        // The futures own their child.
        let mut command = cat();
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let pid = Pid::from_raw(child.id().unwrap() as i32).unwrap();
        let stdin = child.stdin.take();
        let mut output = Box::pin(child.wait_with_output());
        assert!(is_pending(&mut output));
        drop(output);
        while !was_reaped(pid) {
            yield_now().await;
        }
        drop(stdin);
    });
}

#[test]
fn a_dropped_child_runs_on_and_is_reaped() {
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let pid = pid(&child);
        // Somebody has waited before, and its waker is not the orphan's.
        assert!(is_pending(&mut Box::pin(child.wait())));
        drop(child);
        stdin.write_all(b"alive").await.unwrap();
        let mut buf = [0; 5];
        stdout.read_exact(&mut buf).await.unwrap();
        assert!(!was_reaped(pid));
        drop(stdin);
        while !was_reaped(pid) {
            yield_now().await;
        }
    });
}

#[test]
fn children_dropped_outside_of_the_runtime_are_reaped() {
    let runtime = multi(1);
    let children: Vec<_> =
        runtime.block_on(async { (0..20).map(|_| cat().spawn().unwrap()).collect() });
    let pids: Vec<_> = children.iter().map(pid).collect();
    drop(children);
    wait_for("the orphans are reaped", || pids.iter().all(|&pid| was_reaped(pid)));
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

/// A child, with its input, whose runtime has shut down.
fn of_a_past_runtime() -> (Child, Option<std::os::fd::OwnedFd>) {
    let runtime = current_thread();
    runtime.block_on(async {
        let mut child = cat().spawn().unwrap();
        let stdin = child.stdin.take().map(|stdin| stdin.into_owned_fd().unwrap());
        (child, stdin)
    })
}

#[test]
fn another_runtime_takes_a_wait_over() {
    let (mut child, stdin) = of_a_past_runtime();
    // There is none: the wait cannot go on, and loses nothing.
    let Poll::Ready(Err(error)) = pin!(child.wait()).poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("nobody would wake it");
    };
    assert!(is_rt_shutdown_err(&error));
    for runtime in current_and_multi([1]) {
        runtime.block_on(async { assert!(is_pending(&mut Box::pin(child.wait()))) });
    }
    drop(stdin);
    let status = multi(1).block_on(async { child.wait().await.unwrap() });
    assert_eq!(status, ExitStatus::default());
}

#[test]
fn the_next_spawn_takes_orphans_over() {
    let (child, stdin) = of_a_past_runtime();
    let early = pid(&child);
    drop(child);
    // Dropped first, and left when the runtime shuts down.
    let runtime = current_thread();
    let (late, other_stdin) = runtime.block_on(async {
        let mut child = cat().spawn().unwrap();
        (pid(&child), child.stdin.take().unwrap().into_owned_fd().unwrap())
    });
    drop(runtime);
    assert!(!was_reaped(early) && !was_reaped(late));

    current_thread().block_on(async {
        assert!(sh("true").status().await.unwrap().success());
        drop((stdin, other_stdin));
        // Another test may have taken them over, and be done by now.
        while !(was_reaped(early) && was_reaped(late)) {
            assert!(sh("true").status().await.unwrap().success());
        }
    });
}

#[test]
fn a_shutdown_ends_a_wait_elsewhere() {
    let runtime = multi(1);
    let mut child = runtime.block_on(async { cat().spawn().unwrap() });
    let stdin = child.stdin.take().unwrap();
    current_thread().block_on(async {
        let mut wait = Box::pin(child.wait());
        assert!(is_pending(&mut wait));
        let ended = spawn(async move {
            yield_now().await;
            runtime.shutdown_background();
            drop(stdin);
        });
        assert!(wait.await.unwrap().success());
        ended.await.unwrap();
    });
}

#[test]
fn streams_go_to_other_children() {
    everywhere(|| async {
        let mut first = sh("printf 'b\\na\\n'").stdout(Stdio::piped()).spawn().unwrap();
        let between: Stdio = first.stdout.take().unwrap().try_into().unwrap();
        let output = Command::new("sort").stdin(between).output().await.unwrap();
        assert_eq!(output.stdout, b"a\nb\n");
        assert!(first.wait().await.unwrap().success());
    });
}

#[test]
fn a_write_that_nobody_reads_fails() {
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        let mut stdin: ChildStdin = child.stdin.take().unwrap();
        child.kill().await.unwrap();
        // A child of another test, between its fork and its exec, has the other end for a while.
        let error = loop {
            if let Err(error) = stdin.write_all(b"hello").await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn all_that_is_ready_spends_the_budget() {
    everywhere(|| async {
        let mut ended = sh("true").spawn().unwrap();
        ended.wait().await.unwrap();
        let mut zeros =
            Command::new("cat").arg("/dev/zero").stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = zeros.stdout.take().unwrap();
        stdout.read_exact(&mut [0]).await.unwrap();
        spawn(async move {
            yield_now().await;
            std::future::poll_fn(|cx| {
                let mut waits = 0;
                while pin!(ended.wait()).poll(cx).is_ready() {
                    waits += 1;
                    assert!(waits < 1000, "a wait spends nothing");
                }
                assert!(waits > 0 && !coop::has_budget_remaining());
                let (mut byte, mut reads) = ([0], pin!(&mut stdout));
                assert!(reads.as_mut().poll_read(cx, &mut ReadBuf::new(&mut byte)).is_pending());
                Poll::Ready(())
            })
            .await;
        })
        .await
        .unwrap();
        zeros.kill().await.unwrap();
    });
}

/// Whoever is told that somebody else has reaped the child knows nothing about its number any more.
#[test]
fn a_child_that_others_have_reaped_has_no_number() {
    everywhere(|| async {
        for polled_before in [false, true] {
            let mut child = cat().kill_on_drop(true).spawn().unwrap();
            let its = pid(&child);
            if polled_before {
                let mut stdin = child.stdin.take();
                assert!(is_pending(&mut pin!(child.wait())));
                drop(stdin.take());
            } else {
                drop(child.stdin.take());
            }
            rustix::process::waitpid(Some(its), rustix::process::WaitOptions::empty()).unwrap();
            // Nobody knows yet, and yet no other process is killed.
            #[cfg(target_os = "linux")]
            child.start_kill().unwrap();
            let code = |error: std::io::Error| error.raw_os_error();
            assert_eq!(child.wait().await.map_err(code), Err(Some(libc::ECHILD)));
            assert_eq!(child.id(), None);
            child.start_kill().unwrap();
            assert_eq!(child.try_wait().map_err(code), Err(Some(libc::ECHILD)));
            assert_eq!(child.wait().await.map_err(code), Err(Some(libc::ECHILD)));
        }
    });
}

/// A child that stops and goes on has not ended, whoever else hears of it.
#[test]
fn a_child_that_stops_and_goes_on_has_not_ended() {
    use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, waitid};
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        let its = pid(&child);
        let stdin = child.stdin.take();
        let mut waiting = Box::pin(child.wait());
        let state =
            |options| waitid(WaitId::Pid(its), options | WaitIdOptions::NOWAIT).unwrap().unwrap();
        for _ in 0..3 {
            assert!(is_pending(&mut waiting));
            kill_process(its, Signal::STOP).unwrap();
            assert!(WaitIdStatus::stopped(&state(WaitIdOptions::STOPPED)));
            for _ in 0..200 {
                assert!(is_pending(&mut waiting));
                yield_now().await;
            }
            kill_process(its, Signal::CONT).unwrap();
            assert!(WaitIdStatus::continued(&state(WaitIdOptions::CONTINUED)));
            for _ in 0..200 {
                assert!(is_pending(&mut waiting));
                yield_now().await;
            }
        }
        kill_process(its, Signal::STOP).unwrap();
        assert!(is_pending(&mut waiting));
        // A child that is stopped can be killed.
        kill_process(its, Signal::KILL).unwrap();
        assert_eq!(waiting.await.unwrap().signal(), Some(9));
        drop(stdin);
    });
}

/// Each poll's future is dropped, and the next one waits on.
#[test]
fn a_wait_that_is_dropped_after_each_poll_ends() {
    everywhere(|| async {
        let mut child = cat().spawn().unwrap();
        let mut stdin = child.stdin.take();
        let mut polls = 0;
        let status = std::future::poll_fn(|cx| {
            polls += 1;
            if polls == 100 {
                drop(stdin.take());
            }
            let polled = pin!(child.wait()).poll(cx);
            if polled.is_pending() && polls <= 100 {
                cx.waker().wake_by_ref();
            }
            polled
        });
        assert!(status.await.unwrap().success());
    });
}

/// Hundreds of children end at the same moment, while half of them were dropped.
#[test]
fn a_crowd_ends_at_once() {
    const CROWD: usize = 300;
    for runtime in current_and_multi([1, 2]) {
        runtime.block_on(async {
            let (reader, writer) = std::io::pipe().unwrap();
            let mut children = JoinSet::new();
            let mut dropped = Vec::new();
            for n in 0..CROWD {
                let mut command = Command::new("cat");
                let input = Stdio::from(reader.try_clone().unwrap());
                let child = command.stdin(input).stdout(Stdio::null()).spawn().unwrap();
                if n % 2 == 0 {
                    dropped.push(pid(&child));
                } else {
                    let mut child = child;
                    children.spawn(async move { child.wait().await });
                }
            }
            yield_now().await;
            drop((reader, writer));
            while let Some(status) = children.join_next().await {
                assert!(status.unwrap().unwrap().success());
            }
            while !dropped.iter().all(|&pid| was_reaped(pid)) {
                yield_now().await;
            }
        });
    }
}
