//! Pipes, with and without names.
#![cfg(all(feature = "net", unix))]

use crate::rig::everywhere;
use crate::support::current_thread;
use std::fs::File;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Waker};
use trefoil::io::{AsyncReadExt, AsyncWriteExt, Interest};
use trefoil::net::unix::pipe::{self, OpenOptions, Receiver, Sender};
use trefoil::runtime::is_rt_shutdown_err;
use trefoil::spawn;

fn noop() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// A FIFO file that nobody else has, which is removed in the end.
struct Fifo(PathBuf);

impl Fifo {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("trefoil-{}-{}.fifo", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Self(path)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn megabytes_arrive_in_order() {
    everywhere(|| async {
        let (mut sender, mut receiver) = pipe::pipe().unwrap();
        let sent: Vec<u8> = (0..1_000_000).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let writer = spawn(async move { sender.write_all(&sent).await.unwrap() });
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).await.unwrap();
        writer.await.unwrap();
        assert_eq!(received, expected);
    });
}

#[test]
fn a_pipe_that_is_full_takes_more_once_it_is_read() {
    everywhere(|| async {
        let (sender, receiver) = pipe::pipe().unwrap();
        sender.writable().await.unwrap();
        let mut written = 0;
        let error = loop {
            match sender.try_write(&[7; 1000]) {
                Ok(count) => written += count,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(sender.poll_write_ready(&mut noop()).is_pending());
        let mut buf = Vec::with_capacity(written);
        while buf.len() < written {
            receiver.readable().await.unwrap();
            match receiver.try_read_buf(&mut buf) {
                Ok(count) => assert!(count > 0),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        assert_eq!(buf, vec![7; written]);
        sender.writable().await.unwrap();
        let parts = [IoSlice::new(b"ab"), IoSlice::new(b"c")];
        assert_eq!(sender.try_write_vectored(&parts).unwrap(), 3);
        let (mut one, mut rest) = ([0; 1], [0; 4]);
        let count = loop {
            receiver.readable().await.unwrap();
            let mut parts = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut rest)];
            match receiver.try_read_vectored(&mut parts) {
                Ok(count) => break count,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        };
        assert_eq!((count, one, &rest[..2]), (3, *b"a", &b"bc"[..]));
    });
}

#[test]
fn the_other_end_is_closed() {
    everywhere(|| async {
        let (mut sender, receiver) = pipe::pipe().unwrap();
        drop(receiver);
        let error = sender.write_all(b"x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        let (sender, mut receiver) = pipe::pipe().unwrap();
        drop(sender);
        assert!(receiver.ready(Interest::READABLE).await.unwrap().is_read_closed());
        assert_eq!(receiver.read(&mut [0]).await.unwrap(), 0);
    });
}

#[test]
fn fifo_files() {
    everywhere(|| async {
        let fifo = Fifo::new();
        let error = OpenOptions::new().open_sender(&fifo.0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NXIO.raw_os_error()));
        let mut receiver = OpenOptions::new().open_receiver(&fifo.0).unwrap();
        let mut sender = OpenOptions::new().open_sender(&fifo.0).unwrap();
        sender.write_all(b"hello").await.unwrap();
        drop(sender);
        let mut text = String::new();
        receiver.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
    });
}

/// Whether the end has nothing to do, now that it was tried in vain.
fn waits(end: impl Fn(&mut Context<'_>) -> bool) -> bool {
    // What was reported before may come once more.
    (0..3).any(|_| end(&mut noop()))
}

#[test]
fn an_end_that_is_opened_again_makes_nobody_spin() {
    everywhere(|| async {
        let fifo = Fifo::new();
        let mut receiver = OpenOptions::new().open_receiver(&fifo.0).unwrap();
        let mut sender = OpenOptions::new().open_sender(&fifo.0).unwrap();
        sender.write_all(b"one").await.unwrap();
        drop(sender);
        let mut text = String::new();
        receiver.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "one");
        // The next sender has nothing to say yet.
        let mut sender = OpenOptions::new().open_sender(&fifo.0).unwrap();
        assert!(waits(|cx| {
            assert_eq!(receiver.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
            receiver.poll_read_ready(cx).is_pending()
        }));
        let reading = spawn(async move {
            let mut buf = [0; 3];
            receiver.read_exact(&mut buf).await.unwrap();
            (receiver, buf)
        });
        sender.write_all(b"two").await.unwrap();
        let (mut receiver, buf) = reading.await.unwrap();
        assert_eq!(&buf, b"two");
        drop(sender);
        assert_eq!(receiver.read(&mut [0]).await.unwrap(), 0);
        drop(receiver);

        // The same the other way round, where the pipe stays full.
        let keeper = OpenOptions::new().open_receiver(&fifo.0).unwrap();
        let mut sender = OpenOptions::new().open_sender(&fifo.0).unwrap();
        sender.writable().await.unwrap();
        while sender.try_write(&[7; 4096]).is_ok() {}
        drop(keeper);
        assert!(sender.ready(Interest::WRITABLE).await.unwrap().is_write_closed());
        let mut receiver = OpenOptions::new().open_receiver(&fifo.0).unwrap();
        assert!(waits(|cx| {
            assert_eq!(sender.try_write(b"x").unwrap_err().kind(), ErrorKind::WouldBlock);
            sender.poll_write_ready(cx).is_pending()
        }));
        let writing = spawn(async move { sender.write_all(b"x").await });
        while receiver.read(&mut [0; 4096]).await.unwrap() > 0 {}
        writing.await.unwrap().unwrap();
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_receiver_that_may_write_sees_no_end() {
    everywhere(|| async {
        let fifo = Fifo::new();
        let mut sender = OpenOptions::new().read_write(true).open_sender(&fifo.0).unwrap();
        let mut receiver = OpenOptions::new().read_write(true).open_receiver(&fifo.0).unwrap();
        sender.write_all(b"one").await.unwrap();
        drop(sender);
        let mut buf = [0; 3];
        receiver.read_exact(&mut buf).await.unwrap();
        assert!(pin!(receiver.read(&mut buf)).poll(&mut noop()).is_pending());
        let mut sender = OpenOptions::new().open_sender(&fifo.0).unwrap();
        sender.write_all(b"two").await.unwrap();
        receiver.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"two");
    });
}

#[test]
fn what_is_no_pipe_or_the_other_end_is_refused() {
    current_thread().block_on(async {
        let invalid = |result: std::io::Result<()>| {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
        };
        let file = || File::open("/dev/null").unwrap();
        invalid(OpenOptions::new().open_sender("/dev/null").map(drop));
        invalid(OpenOptions::new().open_receiver("/dev/null").map(drop));
        invalid(Sender::from_file(file()).map(drop));
        invalid(Receiver::from_file(file()).map(drop));
        let (reader, writer) = std::io::pipe().unwrap();
        invalid(Receiver::from_owned_fd(writer.into()).map(drop));
        invalid(Sender::from_owned_fd(reader.into()).map(drop));
    });
}

#[test]
fn descriptors_come_and_go() {
    current_thread().block_on(async {
        // In blocking mode, which is changed.
        let (reader, writer) = std::io::pipe().unwrap();
        let mut receiver = Receiver::from_owned_fd(reader.into()).unwrap();
        let mut sender = Sender::from_owned_fd(writer.into()).unwrap();
        assert!(pin!(receiver.read(&mut [0])).poll(&mut noop()).is_pending());
        sender.write_all(b"x").await.unwrap();
        receiver.read_exact(&mut [0]).await.unwrap();

        let mut reader = File::from(receiver.into_nonblocking_fd().unwrap());
        assert_eq!(reader.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        let mut writer = File::from(sender.into_blocking_fd().unwrap());
        let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
        writer.write_all(b"y").unwrap();
        let mut receiver = Receiver::from_file_unchecked(reader).unwrap();
        let mut buf = [0];
        receiver.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"y");
    });
}

#[test]
fn try_io_clears_what_would_block() {
    current_thread().block_on(async {
        let (sender, _receiver) = pipe::pipe().unwrap();
        sender.writable().await.unwrap();
        sender.try_io(|| Ok(())).unwrap();
        let would_block = || Err::<(), _>(ErrorKind::WouldBlock.into());
        assert_eq!(sender.try_io(would_block).unwrap_err().kind(), ErrorKind::WouldBlock);
        let mut called = false;
        let error = sender.try_io(|| {
            called = true;
            Ok(())
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(!called);
    });
}

#[test]
fn a_read_that_was_dropped_loses_nothing() {
    everywhere(|| async {
        let (mut sender, mut receiver) = pipe::pipe().unwrap();
        let mut buf = [0; 3];
        for n in 0..20 {
            assert!(pin!(receiver.read(&mut buf)).poll(&mut noop()).is_pending());
            sender.write_all(&[n; 3]).await.unwrap();
            receiver.read_exact(&mut buf).await.unwrap();
            assert_eq!(buf, [n; 3]);
        }
    });
}

#[test]
fn without_its_runtime_a_pipe_fails() {
    let (mut sender, mut receiver) = current_thread().block_on(async { pipe::pipe().unwrap() });
    current_thread().block_on(async {
        assert!(is_rt_shutdown_err(&receiver.read(&mut [0]).await.unwrap_err()));
        assert!(is_rt_shutdown_err(&sender.write_all(b"x").await.unwrap_err()));
    });
}
