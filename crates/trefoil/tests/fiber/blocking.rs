//! Calls that block in a fiber: they leave its thread to others, and the traits of `std::io` do.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::watch::{drop_returns, receive};
use crate::support::{self, multi};
use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Read, Seek, SeekFrom, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::thread;
use trefoil::fiber::{self, Blocking};
use trefoil::fs::OpenOptions;
use trefoil::net::{TcpListener, TcpStream, UnixStream};
use trefoil::runtime::Runtime;
use trefoil::sync::{Mutex, RwLock, Semaphore, broadcast, mpmc, mpsc, oneshot};
use trefoil::{io, task};

/// A runtime on which all fibers have the same thread.
fn each(test: impl Fn(&Runtime)) {
    test(&multi(1));
}

/// One fiber waits, and another of the same thread ends that: by then the first one has left the
/// thread, or the second would not run.
fn parks<R: Send + 'static>(
    runtime: &Runtime,
    waits: impl FnOnce() -> R + Send + 'static,
    ends: impl FnOnce() + Send + 'static,
) -> R {
    runtime.block_on(async {
        let waits_now = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::new(AtomicBool::new(false));
        let (begun, ended) = (waits_now.clone(), has_ended.clone());
        let first = fiber::spawn(move || {
            begun.store(true, SeqCst);
            let result = waits();
            assert!(ended.load(SeqCst), "it was to wait");
            (result, thread::current().id())
        });
        let second = fiber::spawn(move || {
            while !waits_now.load(SeqCst) {
                fiber::yield_now();
            }
            has_ended.store(true, SeqCst);
            ends();
            thread::current().id()
        });
        let (result, thread) = first.await.unwrap();
        assert_eq!(second.await.unwrap(), thread, "the two were to have one thread");
        result
    })
}

/// Each time, the worker goes to another thread, and the one that has blocked stays with its fiber.
#[test]
fn threads_that_only_have_fibers_leave_the_limit_to_others() {
    let mut builder = trefoil::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).max_blocking_threads(1).enable_all().build().unwrap();
    let runtime = support::Hasty(Some(runtime));
    let (ends, may_end) = trefoil::sync::watch::channel(false);
    let mut fibers = Vec::new();
    for _ in 0..6 {
        let mut may_end = may_end.clone();
        let (says, said) = std::sync::mpsc::channel();
        let rests = says.clone();
        let _context = runtime.enter();
        fibers.push(fiber::spawn(move || {
            rests.send("rests").unwrap();
            fiber::wait(may_end.wait_for(|may| *may)).unwrap();
        }));
        receive("a fiber that rests", &said);
        drop(runtime.spawn(async move {
            let (ran, has_run) = std::sync::mpsc::channel();
            drop(task::spawn(async move { ran.send(()).unwrap() }));
            task::block_in_place(|| receive("a task beside one that blocks", &has_run));
            says.send("has blocked").unwrap();
        }));
        receive("a task that blocks", &said);
        let (ran, has_run) = std::sync::mpsc::channel();
        drop(runtime.spawn_blocking(move || ran.send(()).unwrap()));
        receive("a closure that blocks", &has_run);
    }
    ends.send(true).unwrap();
    for fiber in fibers {
        runtime.block_on(fiber).unwrap();
    }
    drop_returns("all fibers have ended", runtime);
}

/// As above, and nothing else needs a thread: those that only have fibers are the worker in turn.
#[test]
fn a_thread_that_only_has_fibers_is_a_worker_again() {
    const ROUNDS: usize = 40;
    let runtime = support::Hasty(Some(multi(1)));
    let context = runtime.enter();
    let mut fibers = Vec::new();
    for _ in 0..ROUNDS {
        let (asks, mut asked) = mpsc::unbounded_channel();
        let (says, said) = std::sync::mpsc::channel();
        let fiber = fiber::spawn(move || {
            while let Some(()) = asked.blocking_recv() {
                says.send(thread::current().id()).unwrap();
            }
        });
        asks.send(()).unwrap();
        let its_thread = receive("a fiber that begins", &said);
        fibers.push((fiber, asks, said, its_thread));
        let (says, said) = std::sync::mpsc::channel();
        drop(task::spawn(async move {
            let (ran, has_run) = std::sync::mpsc::channel();
            drop(task::spawn(async move { ran.send(()).unwrap() }));
            task::block_in_place(|| receive("a task beside one that blocks", &has_run));
            says.send(()).unwrap();
        }));
        receive("a task that blocks", &said);
        // Those of the worker, and of all others.
        for (_, asks, said, its_thread) in &fibers {
            asks.send(()).unwrap();
            assert_eq!(receive("a fiber that goes on", said), *its_thread);
        }
    }
    // One of them may have been about to rest when a thread was needed, so it is not one for sure.
    let threads = runtime.metrics().num_blocking_threads();
    assert!(threads < ROUNDS / 2, "{threads} threads beside the worker's");
    for (fiber, asks, ..) in fibers {
        drop(asks);
        runtime.block_on(fiber).unwrap();
    }
    drop(context);
    drop_returns("all fibers have ended", runtime);
}

#[test]
fn a_receiver_that_waits_leaves_its_thread() {
    each(|runtime| {
        let (sender, receiver) = oneshot::channel();
        let send = move || sender.send(1).unwrap();
        assert_eq!(parks(runtime, || receiver.blocking_recv(), send), Ok(1));

        let (sender, mut receiver) = mpsc::channel(1);
        let send = move || sender.blocking_send(2).unwrap();
        assert_eq!(parks(runtime, move || receiver.blocking_recv(), send), Some(2));

        let (sender, mut receiver) = mpsc::unbounded_channel();
        let send = move || [3, 4].into_iter().for_each(|item| sender.send(item).unwrap());
        let many = move || {
            let mut items = Vec::new();
            receiver.blocking_recv_many(&mut items, 10);
            items
        };
        assert_eq!(parks(runtime, many, send), [3, 4]);

        let (sender, receiver) = mpmc::bounded(1);
        let send = move || sender.blocking_send(5).unwrap();
        assert_eq!(parks(runtime, move || receiver.blocking_recv(), send), Ok(5));

        let (sender, receiver) = mpmc::bounded(1);
        let send = move || sender.blocking_send(6).unwrap();
        let all = move || receiver.blocking_iter().collect::<Vec<_>>();
        assert_eq!(parks(runtime, all, send), [6]);

        let (sender, mut receiver) = broadcast::channel(1);
        let send = move || drop(sender.send(7));
        assert_eq!(parks(runtime, move || receiver.blocking_recv(), send), Ok(7));
    });
}

#[test]
fn a_sender_without_room_leaves_its_thread() {
    each(|runtime| {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.try_send(1).unwrap();
        let receive = move || assert_eq!(receiver.blocking_recv(), Some(1));
        // The receiver is dropped with what it has not received.
        let _ = parks(runtime, move || sender.blocking_send(2), receive);

        let (sender, receiver) = mpmc::bounded(1);
        sender.try_send(1).unwrap();
        let kept = receiver.clone();
        let receive = move || assert_eq!(receiver.blocking_recv(), Ok(1));
        parks(runtime, move || sender.blocking_send(2), receive).unwrap();
        assert_eq!(kept.try_recv(), Ok(2));
    });
}

/// Spawns a fiber that sends, and returns when it has, or waits for room. All of this is on one
/// thread.
fn begin_to_send<T: Send + 'static>(
    sender: &mpsc::Sender<T>,
    message: T,
) -> task::JoinHandle<Result<(), mpsc::error::SendError<T>>> {
    let (sender, begun) = (sender.clone(), Arc::new(AtomicBool::new(false)));
    let begins = begun.clone();
    let fiber = fiber::spawn(move || {
        begins.store(true, SeqCst);
        sender.blocking_send(message)
    });
    while !begun.load(SeqCst) {
        fiber::yield_now();
    }
    // Its time may have been over before it has waited: then it is before this one in the queue.
    fiber::yield_now();
    fiber
}

/// Were their turns needed, the receiver would wait for one of them for each message; and where
/// they are on different threads, these would wait for each other.
#[test]
fn senders_that_wait_need_no_turn_for_their_messages() {
    const SENDERS: usize = 1_000;
    for capacity in [1, 3] {
        let runtime = multi(1);
        let _guard = runtime.enter();
        let root = fiber::spawn(move || {
            let (sender, mut receiver) = mpsc::channel(capacity);
            let senders: Vec<_> = (0..SENDERS).map(|n| begin_to_send(&sender, n)).collect();
            // This keeps the only thread.
            let mut received: Vec<_> = (0..SENDERS).map(|_| receiver.try_recv().unwrap()).collect();
            received.sort_unstable();
            assert!(received.into_iter().eq(0..SENDERS));
            assert!(receiver.try_recv().is_err());
            assert_eq!(receiver.capacity(), capacity);
            // Nobody can send any more. They have sent already.
            drop(receiver);
            senders.into_iter().for_each(|sender| sender.join().unwrap().unwrap());
        });
        root.join().unwrap();
    }
}

#[test]
fn a_message_that_waits_is_sent_or_dropped_or_comes_back() {
    let runtime = multi(1);
    let _guard = runtime.enter();
    let root = fiber::spawn(|| {
        let value = Arc::new(());
        let (sender, mut receiver) = mpsc::channel(1);
        sender.try_send(value.clone()).unwrap();
        let send = || begin_to_send(&sender, value.clone());
        let [first, second, third] = [send(), send(), send()];
        // The message of one that is aborted is dropped where it waits.
        first.abort();
        assert!(first.join().unwrap_err().is_cancelled());
        assert_eq!(Arc::strong_count(&value), 4);
        // Of one that is aborted after it was sent, it is received.
        receiver.try_recv().unwrap();
        second.abort();
        assert!(second.join().unwrap_err().is_cancelled());
        assert_eq!(Arc::strong_count(&value), 3);
        assert_eq!((receiver.len(), receiver.capacity()), (1, 0));
        // The channel is closed while the third one waits.
        receiver.close();
        let sent = third.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 3);
        drop(sent.unwrap_err());
        assert!(receiver.blocking_recv().is_some());
        assert!(receiver.blocking_recv().is_none());
        assert_eq!(Arc::strong_count(&value), 1);
    });
    root.join().unwrap();
}

/// A thread waits awake for who wakes its fibers, but not for long: where that takes longer, it
/// sleeps each time.
#[test]
fn a_thread_whose_fibers_are_woken_rarely_sleeps_in_between() {
    const WAKES: u64 = 100;
    let runtime = multi(2);
    let (there, mut messages) = mpsc::unbounded_channel();
    let (back, mut answers) = mpsc::unbounded_channel();
    let guard = runtime.enter();
    let fiber = fiber::spawn(move || {
        while let Some(()) = messages.blocking_recv() {
            back.send(()).unwrap();
        }
    });
    let parks = || {
        let metrics = runtime.metrics();
        (0..2).map(|worker| metrics.worker_park_count(worker)).sum::<u64>()
    };
    let before = parks();
    for _ in 0..WAKES {
        thread::sleep(std::time::Duration::from_millis(1));
        there.send(()).unwrap();
        answers.blocking_recv().unwrap();
    }
    let parked = parks() - before;
    // Not all: on a busy machine, a thread may be given no time to look before the next wake-up.
    assert!(parked >= WAKES / 4, "{parked}");
    drop(there);
    fiber.join().unwrap();
    drop(guard);
}

#[test]
fn who_waits_for_a_lock_leaves_its_thread() {
    each(|runtime| {
        let lock = Arc::new(Mutex::new(1));
        let guard = lock.clone().try_lock_owned().unwrap();
        let its = lock.clone();
        assert_eq!(parks(runtime, move || *its.blocking_lock(), move || drop(guard)), 1);
        let guard = lock.clone().try_lock_owned().unwrap();
        let owned = move || *lock.blocking_lock_owned();
        assert_eq!(parks(runtime, owned, move || drop(guard)), 1);

        let lock = Arc::new(RwLock::new(2));
        let guard = lock.clone().try_write_owned().unwrap();
        let its = lock.clone();
        assert_eq!(parks(runtime, move || *its.blocking_read(), move || drop(guard)), 2);
        let guard = lock.clone().try_read_owned().unwrap();
        let writes = move || {
            let mut guard = lock.blocking_write();
            *guard += 1;
            *guard
        };
        assert_eq!(parks(runtime, writes, move || drop(guard)), 3);

        let semaphore = Arc::new(Semaphore::new(0));
        let its = semaphore.clone();
        let acquires = move || its.blocking_acquire_many(3).map(|permit| permit.num_permits());
        assert_eq!(parks(runtime, acquires, move || semaphore.add_permits(3)).unwrap(), 3);
    });
}

#[test]
fn a_reader_that_exchanges_the_buffer_is_noticed() {
    struct Liar;
    impl io::AsyncRead for Liar {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut io::ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            *buf = io::ReadBuf::new(&mut []);
            Poll::Ready(Ok(()))
        }
    }
    each(|runtime| {
        let reads = || Blocking::new(Liar).read(&mut [0; 4]);
        let joined = runtime.block_on(async { fiber::spawn(reads).await });
        assert!(joined.unwrap_err().is_panic(), "it is taken for the end");
    });
}

#[test]
fn who_joins_leaves_its_thread() {
    each(|runtime| {
        let (sender, receiver) = oneshot::channel();
        let joins = || fiber::spawn(|| receiver.blocking_recv().unwrap()).join().unwrap();
        assert_eq!(parks(runtime, joins, move || sender.send(1).unwrap()), 1);
    });
}

#[test]
fn a_reader_and_a_writer_of_a_socket_leave_their_thread() {
    const BYTES: usize = 1 << 22;
    each(|runtime| {
        // More than the system keeps for them: each has to wait for the other, on one thread.
        let (one, other) = runtime.block_on(async { UnixStream::pair() }).unwrap();
        let writes = move || {
            let mut one = Blocking::new(one);
            let bytes: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
            one.write_all(&bytes).unwrap();
            one.shutdown().unwrap();
            let mut answer = String::new();
            assert_eq!(one.read_to_string(&mut answer).unwrap(), 4);
            answer
        };
        let reads = move || {
            let mut other = BufReader::with_capacity(100, Blocking::new(other));
            let mut bytes = Vec::new();
            assert_eq!(other.read_to_end(&mut bytes).unwrap(), BYTES);
            assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8));
            other.get_mut().write_all(b"done").unwrap();
        };
        assert_eq!(parks(runtime, writes, reads), "done");
    });
}

#[test]
fn a_connection_has_a_fiber_for_each_direction() {
    each(|runtime| {
        let received = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            // Sends back each line.
            let server = fiber::spawn(move || {
                let (stream, _) = fiber::wait(listener.accept()).unwrap();
                let (reads, writes) = stream.into_split();
                let mut writes = Blocking::new(writes);
                for line in BufReader::new(Blocking::new(reads)).lines() {
                    let line = line.unwrap();
                    let parts = [IoSlice::new(line.as_bytes()), IoSlice::new(b"\n")];
                    let count = writes.write_vectored(&parts).unwrap();
                    writes.write_all(&[line.as_bytes(), b"\n"].concat()[count..]).unwrap();
                }
            });
            let stream = TcpStream::connect(address).await.unwrap();
            let (reads, writes) = stream.into_split();
            let writer = fiber::spawn(move || {
                let mut writes = Blocking::new(writes);
                for number in 0..1000 {
                    writeln!(writes, "{number}").unwrap();
                }
                writes.flush().unwrap();
            });
            let reader = fiber::spawn(move || {
                let numbers = BufReader::new(Blocking::new(reads)).lines();
                numbers.map(|line| line.unwrap().parse::<u32>().unwrap()).collect::<Vec<_>>()
            });
            let received = reader.await.unwrap();
            writer.await.unwrap();
            server.await.unwrap();
            received
        });
        assert_eq!(received, (0..1000).collect::<Vec<_>>());
    });
}

#[test]
fn the_end_and_errors_are_those_of_what_is_wrapped() {
    each(|runtime| {
        runtime.block_on(async {
            let fiber = fiber::spawn(|| {
                let (one, other) = io::duplex(16);
                let mut one = Blocking::new(one);
                Blocking::new(other).write_all(b"abc").unwrap();
                // The other end is gone.
                let mut bytes = [0; 4];
                assert_eq!(
                    one.read_exact(&mut bytes).unwrap_err().kind(),
                    ErrorKind::UnexpectedEof
                );
                assert_eq!(one.read(&mut bytes).unwrap(), 0);
                assert_eq!(one.write(b"d").unwrap_err().kind(), ErrorKind::BrokenPipe);
                assert_eq!(one.read(&mut []).unwrap(), 0);
                one.get_ref();
                drop(one.into_inner());
            });
            fiber.await.unwrap();
        });
    });
}

#[test]
fn an_abort_in_a_read_has_read_nothing() {
    each(|runtime| {
        runtime.block_on(async {
            let (one, other) = io::duplex(16);
            let one = Arc::new(Mutex::new(one));
            let (began, has_begun) = oneshot::channel();
            let its = one.clone();
            let fiber = fiber::spawn(move || {
                let mut one = its.blocking_lock();
                began.send(()).unwrap();
                Blocking::new(&mut *one).read_exact(&mut [0; 3])
            });
            has_begun.await.unwrap();
            fiber.abort();
            assert!(fiber.await.unwrap_err().is_cancelled());
            let text = fiber::spawn(move || {
                Blocking::new(other).write_all(b"abc").unwrap();
                let mut text = String::new();
                Blocking::new(&mut *one.blocking_lock()).read_to_string(&mut text).unwrap();
                text
            });
            assert_eq!(text.await.unwrap(), "abc");
        });
    });
}

#[test]
fn a_file_is_read_written_and_sought() {
    let path = std::env::temp_dir().join(format!("trefoil-fiber-blocking-{}", std::process::id()));
    each(|runtime| {
        let path = path.clone();
        runtime.block_on(async {
            let fiber = fiber::spawn(move || {
                let mut options = OpenOptions::new();
                options.read(true).write(true).create(true).truncate(true);
                let mut file = Blocking::new(fiber::wait(options.open(path)).unwrap());
                file.write_all(b"0123456789").unwrap();
                file.flush().unwrap();
                assert_eq!(file.seek(SeekFrom::Start(4)).unwrap(), 4);
                let mut two = [0; 2];
                file.read_exact(&mut two).unwrap();
                assert_eq!(&two, b"45");
                assert_eq!(file.seek(SeekFrom::End(-1)).unwrap(), 9);
                let mut rest = String::new();
                file.read_to_string(&mut rest).unwrap();
                assert_eq!(rest, "9");
                assert!(file.seek(SeekFrom::Current(-100)).is_err());
            });
            fiber.await.unwrap();
        });
    });
    std::fs::remove_file(path).unwrap();
}

#[test]
fn outside_of_fibers_a_thread_blocks_and_asynchronous_code_is_refused() {
    let runtime = multi(1);
    let echo = || {
        let (one, other) = io::duplex(16);
        Blocking::new(one).write_all(b"abc").unwrap();
        let mut text = String::new();
        Blocking::new(other).read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(echo(), "abc");
    runtime.block_on(async {
        assert_eq!(task::spawn_blocking(echo).await.unwrap(), "abc");
        let refused = task::spawn(async move { echo() });
        assert!(refused.await.unwrap_err().is_panic());
    });
}
