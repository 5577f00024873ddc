//! `fs::File`: what it promises beyond `std`'s: calls in flight outlive their futures, and none of
//! what was written is lost.
#![cfg(not(miri))]

use crate::support::current_thread;
use std::future::Future;
use std::io::{ErrorKind, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};
use trefoil::fs::{self, File, OpenOptions};
use trefoil::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader};
use trefoil::runtime::{Builder, Runtime};

/// A directory that is removed with everything in it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trefoil-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, contents: &[u8]) -> PathBuf {
        let path = self.0.join("file");
        std::fs::write(&path, contents).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Polls a future once, and drops it.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A runtime whose pool has one thread.
fn one_thread() -> Runtime {
    Builder::new_current_thread().max_blocking_threads(1).enable_all().build().unwrap()
}

/// Keeps the one thread of the pool from everything else, until it is dropped.
struct Hold {
    _until_dropped: mpsc::Sender<()>,
}

fn hold() -> Hold {
    let (sender, receiver) = mpsc::channel();
    let (began, begins) = mpsc::channel();
    trefoil::task::spawn_blocking(move || {
        began.send(()).unwrap();
        let _ = receiver.recv();
    });
    begins.recv().unwrap();
    Hold { _until_dropped: sender }
}

/// Polls a future once while the pool has no thread for it, and drops it.
fn abandon<F: Future>(future: F) {
    let _hold = hold();
    assert!(poll_once(future).is_pending());
}

async fn read_write(path: &PathBuf) -> File {
    OpenOptions::new().read(true).write(true).open(path).await.unwrap()
}

#[test]
fn what_a_dropped_read_has_read_is_given_to_the_next_one() {
    let directory = Directory::new("dropped-read");
    let path = directory.file(b"abcdef");
    one_thread().block_on(async {
        let mut file = File::open(&path).await.unwrap();
        abandon(file.read(&mut [0; 4]));
        let mut all = Vec::new();
        file.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"abcdef");
    });
}

#[test]
fn a_write_behind_a_dropped_read_is_where_the_reader_was() {
    let directory = Directory::new("write-behind");
    let path = directory.file(b"abcdef");
    one_thread().block_on(async {
        let mut file = read_write(&path).await;
        let mut first = [0; 2];
        file.read_exact(&mut first).await.unwrap();
        // This reads ahead, and nobody takes what it has read.
        abandon(file.read(&mut [0; 4]));
        file.write_all(b"XY").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), b"abXYef");
        // The same for a seek from here, and for one that no offset can undo.
        file.rewind().await.unwrap();
        abandon(file.read(&mut [0; 4]));
        assert_eq!(file.seek(SeekFrom::Current(1)).await.unwrap(), 1);
        abandon(file.read(&mut [0; 4]));
        assert!(file.seek(SeekFrom::Current(i64::MIN)).await.is_err());
        assert_eq!(file.stream_position().await.unwrap(), 1);
    });
}

#[test]
fn a_seek_that_fails_leaves_what_was_read_ahead() {
    let directory = Directory::new("failed-seek");
    let path = directory.file(b"abcdef");
    one_thread().block_on(async {
        let mut file = File::open(&path).await.unwrap();
        for position in [SeekFrom::End(-100), SeekFrom::Current(-100), SeekFrom::Start(u64::MAX)] {
            file.rewind().await.unwrap();
            abandon(file.read(&mut [0; 4]));
            assert!(file.seek(position).await.is_err(), "{position:?}");
            let mut all = Vec::new();
            file.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, b"abcdef", "{position:?}");
        }
    });
}

/// A terminal, for one. Here it is a socket, whose other end is in the test's hands.
#[cfg(unix)]
#[test]
fn a_write_to_what_has_no_position_leaves_what_was_read_ahead() {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    one_thread().block_on(async {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut file = File::from(OwnedFd::from(ours));
        theirs.write_all(b"abcdef").unwrap();
        abandon(file.read(&mut [0; 6]));
        file.write_all(b"XY").await.unwrap();
        file.flush().await.unwrap();
        let mut written = [0; 2];
        theirs.read_exact(&mut written).unwrap();
        assert_eq!(&written, b"XY");
        let mut first = [0; 2];
        file.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"ab");
        // It has no length either, and the attempt costs nothing of what was read.
        assert!(file.set_len(0).await.is_err());
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"cdef");
    });
}

/// The position is that of all handles, and another one has moved it.
#[test]
fn what_could_not_be_written_is_not_read() {
    let directory = Directory::new("not-written");
    let path = directory.file(b"abcdef");
    one_thread().block_on(async {
        let mut file = read_write(&path).await;
        abandon(file.read(&mut [0; 4]));
        let mut other = file.try_clone().await.unwrap();
        other.rewind().await.unwrap();
        // Four bytes before the beginning, there is no place to write to.
        file.write_all(b"XY").await.unwrap();
        assert_eq!(file.flush().await.unwrap_err().kind(), ErrorKind::InvalidInput);
        let mut all = Vec::new();
        file.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"abcdabcdef");
        assert_eq!(fs::read(&path).await.unwrap(), b"abcdef");
    });
}

#[test]
fn a_read_is_no_longer_than_the_buffer_may_be() {
    let directory = Directory::new("max-buf");
    let path = directory.file(&[7; 100]);
    current_thread().block_on(async {
        let mut file = read_write(&path).await;
        for (max, read) in [(10, 10), (1, 1)] {
            file.set_max_buf_size(max);
            assert_eq!(file.max_buf_size(), max);
            assert_eq!(file.read(&mut [0; 50]).await.unwrap(), read);
            assert_eq!(file.write(&[8; 50]).await.unwrap(), read);
        }
        assert_eq!(file.write(&[]).await.unwrap(), 0);
        assert!(catch_unwind(AssertUnwindSafe(|| file.set_max_buf_size(0))).is_err());
        let mut whole = File::open(&path).await.unwrap();
        assert_eq!(whole.max_buf_size(), 2 * 1024 * 1024);
        assert_eq!(whole.read(&mut [0; 200]).await.unwrap(), 100);
        assert_eq!(whole.read(&mut [0; 200]).await.unwrap(), 0);
    });
}

#[test]
fn an_error_of_a_write_comes_with_the_next_call_that_can_tell() {
    let directory = Directory::new("late-error");
    let path = directory.file(b"abc");
    current_thread().block_on(async {
        let mut file = File::open(&path).await.unwrap();
        // Not opened for writing, which only the thread of the pool learns.
        file.write_all(b"x").await.unwrap();
        let error = file.flush().await.unwrap_err();
        assert!(error.raw_os_error().is_some(), "the system's own error: {error:?}");
        file.flush().await.unwrap();

        // A read and a sync in between do not swallow it.
        file.write_all(b"x").await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'a');
        let _ = file.sync_all().await;
        assert!(file.write(b"y").await.is_err());
        assert_eq!(file.read_u8().await.unwrap(), b'b');

        file.write_all(b"x").await.unwrap();
        file.rewind().await.unwrap();
        assert!(file.shutdown().await.is_err());
        assert_eq!(file.read_u8().await.unwrap(), b'a');
    });
}

#[test]
fn a_write_that_no_thread_has_begun_is_made_when_the_runtime_ends() {
    let directory = Directory::new("at-the-end");
    let path = directory.file(b"");
    let runtime = one_thread();
    let mut file = File::from_std(std::fs::File::create(&path).unwrap());
    let held = runtime.block_on(async {
        let held = hold();
        assert_eq!(file.write(b"promised").await.unwrap(), 8);
        held
    });
    runtime.shutdown_background();
    // The runtime's only thread for it is held, and yet the call is not forgotten.
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    drop(held);
    // The file outlives its runtime: it waits for that call, and goes on elsewhere.
    current_thread().block_on(async move {
        file.flush().await.unwrap();
        file.write_all(b"!").await.unwrap();
        file.flush().await.unwrap();
    });
    assert_eq!(std::fs::read(&path).unwrap(), b"promised!");
}

#[test]
fn calls_by_shared_reference_take_turns_and_none_is_forgotten() {
    let directory = Directory::new("turns");
    let path = directory.file(b"abc");
    one_thread().block_on(async {
        let mut file = read_write(&path).await;
        file.write_all(b"wxyz").await.unwrap();
        let (a, b, c) = trefoil::join!(file.sync_all(), file.set_len(2), file.sync_data());
        assert!(a.is_ok() && b.is_ok() && c.is_ok());
        assert_eq!(fs::read(&path).await.unwrap(), b"wx");
        // One that is dropped while it waits, or while its call is under way, passes the turn on.
        abandon(file.set_len(1));
        {
            let _hold = hold();
            let mut first = pin!(file.sync_all());
            let cx = &mut Context::from_waker(Waker::noop());
            assert!(first.as_mut().poll(cx).is_pending());
            assert!(poll_once(file.sync_all()).is_pending());
        }
        file.sync_all().await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), 1);
        drop(file);
    });
}

#[test]
fn the_file_of_std_comes_back() {
    let directory = Directory::new("into-std");
    let path = directory.file(b"abc");
    one_thread().block_on(async {
        let mut file = read_write(&path).await;
        file.write_all(b"X").await.unwrap();
        let clone = file.try_clone().await.unwrap();
        // It is begun before the call of `into_std`, and has a reference to the file.
        abandon(file.metadata());
        let std = file.into_std().await;
        assert_eq!(std.metadata().unwrap().len(), 3);
        assert_eq!(std::fs::read(&path).unwrap(), b"Xbc");
        let std = clone.try_into_std().expect("no call of it is under way");
        let mut file = File::from(std);
        // While a call is under way, the file is returned as it is.
        let held = hold();
        assert!(poll_once(file.read(&mut [0])).is_pending());
        let mut file = file.try_into_std().expect_err("a call is under way");
        drop(held);
        assert!(file.rewind().await.is_ok());
        assert_eq!(file.read_u8().await.unwrap(), b'X');
    });
}

#[test]
fn a_second_seek_at_once_is_refused() {
    use std::pin::Pin;
    use trefoil::io::AsyncSeek;
    let directory = Directory::new("seeks");
    let path = directory.file(b"abc");
    current_thread().block_on(async {
        let mut file = File::open(&path).await.unwrap();
        Pin::new(&mut file).start_seek(SeekFrom::Start(1)).unwrap();
        let error = Pin::new(&mut file).start_seek(SeekFrom::Start(2)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Other);
        assert_eq!(file.seek(SeekFrom::Start(2)).await.unwrap(), 2);
        assert_eq!(file.read_u8().await.unwrap(), b'c');
    });
}

#[test]
fn functions_of_paths_do_what_those_of_std_do() {
    let directory = Directory::new("paths");
    let at = |name: &str| directory.0.join(name);
    current_thread().block_on(async {
        fs::write(at("a"), b"text").await.unwrap();
        assert!(fs::try_exists(at("a")).await.unwrap());
        assert!(!fs::try_exists(at("b")).await.unwrap());
        assert_eq!(fs::copy(at("a"), at("b")).await.unwrap(), 4);
        fs::hard_link(at("a"), at("hard")).await.unwrap();
        fs::rename(at("b"), at("c")).await.unwrap();
        assert_eq!(fs::read(at("c")).await.unwrap(), b"text");
        assert_eq!(fs::read_to_string(at("hard")).await.unwrap(), "text");
        fs::write(at("c"), [0xff]).await.unwrap();
        let error = fs::read_to_string(at("c")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(fs::read(at("none")).await.unwrap_err().kind(), ErrorKind::NotFound);
        #[cfg(unix)]
        {
            fs::symlink(at("a"), at("soft")).await.unwrap();
            assert_eq!(fs::read_link(at("soft")).await.unwrap(), at("a"));
            assert!(fs::symlink_metadata(at("soft")).await.unwrap().is_symlink());
            assert!(fs::metadata(at("soft")).await.unwrap().is_file());
            let real = fs::canonicalize(at("soft")).await.unwrap();
            assert_eq!(real, std::fs::canonicalize(at("a")).unwrap());
        }
        let mut permissions = fs::metadata(at("a")).await.unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(at("a"), permissions).await.unwrap();
        assert!(fs::metadata(at("a")).await.unwrap().permissions().readonly());

        fs::create_dir(at("d")).await.unwrap();
        assert_eq!(fs::create_dir(at("d")).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs::create_dir_all(at("d/e/f")).await.unwrap();
        assert!(fs::remove_dir(at("d")).await.is_err());
        fs::remove_dir(at("d/e/f")).await.unwrap();
        let mut builder = fs::DirBuilder::new();
        assert!(builder.create(at("x/y")).await.is_err());
        builder.recursive(true).create(at("x/y")).await.unwrap();
        fs::remove_dir_all(at("d")).await.unwrap();
        fs::remove_file(at("c")).await.unwrap();
        assert!(!fs::try_exists(at("d")).await.unwrap());
    });
}

#[test]
fn a_directory_is_read_whole_even_if_reads_are_dropped() {
    let directory = Directory::new("entries");
    let mut expected = Vec::new();
    for n in 0..100 {
        std::fs::write(directory.0.join(n.to_string()), "").unwrap();
        expected.push(n.to_string());
    }
    expected.sort();
    one_thread().block_on(async {
        let mut entries = fs::read_dir(&directory.0).await.unwrap();
        let mut names = Vec::new();
        loop {
            // An entry that is dropped with the future counts, too.
            let entry = match poll_once(entries.next_entry()) {
                Poll::Ready(entry) => entry,
                Poll::Pending => entries.next_entry().await,
            };
            let Some(entry) = entry.unwrap() else { break };
            assert!(entry.file_type().await.unwrap().is_file());
            assert_eq!(entry.metadata().await.unwrap().len(), 0);
            assert_eq!(entry.path(), directory.0.join(entry.file_name()));
            names.push(entry.file_name().into_string().unwrap());
        }
        assert!(entries.next_entry().await.unwrap().is_none());
        names.sort();
        assert_eq!(names, expected);
    });
}

#[test]
fn times_are_set_behind_what_was_written() {
    let directory = Directory::new("times");
    let path = directory.file(b"");
    let [long_ago, later] =
        [1_000_000, 2_000_000].map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s));
    current_thread().block_on(async {
        let mut file = read_write(&path).await;
        file.write_all(b"abc").await.unwrap();
        let times = fs::FileTimes::new().set_modified(long_ago).set_accessed(later);
        file.set_times(times).await.unwrap();
        let metadata = file.metadata().await.unwrap();
        assert_eq!((metadata.modified().unwrap(), metadata.len()), (long_ago, 3));
        assert_eq!(metadata.accessed().unwrap(), later);
        file.write_all(b"def").await.unwrap();
        file.set_modified(later).await.unwrap();
        let metadata = file.metadata().await.unwrap();
        assert_eq!((metadata.modified().unwrap(), metadata.len()), (later, 6));
    });
}

#[test]
fn a_call_on_a_path_fails_when_the_runtime_has_shut_down() {
    let runtime = current_thread();
    let handle = runtime.handle().clone();
    drop(runtime);
    let error = handle.block_on(fs::read("any")).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::Other, "background task failed".into())
    );
    let inner = error.into_inner().unwrap();
    let cause = inner.source().unwrap().downcast_ref::<trefoil::task::JoinError>().unwrap();
    assert!(cause.is_cancelled());
}

/// A future that is forgotten never gives back what it had. Whoever has the file for itself does.
#[test]
fn a_call_that_was_forgotten_holds_nobody_up_for_good() {
    let directory = Directory::new("forgotten");
    let path = directory.file(b"abc");
    one_thread().block_on(async {
        let mut file = read_write(&path).await;
        {
            let _hold = hold();
            // A future that is not pinned to the heap could not be forgotten after its first poll.
            let file: &File = &file;
            let mut sync = Box::pin(file.sync_all());
            assert!(sync.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            std::mem::forget(sync);
        }
        file.write_all(b"xyz").await.unwrap();
        file.sync_all().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"xyz");
    });
}

/// A write has failed, and the next call was cancelled: the one after that waits for it.
#[test]
#[cfg(target_os = "linux")]
fn a_call_after_a_failed_write_and_a_cancelled_read_waits_for_both() {
    one_thread().block_on(async {
        let full = std::fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let mut file = trefoil::fs::File::from_std(full);
        file.write_all(b"x").await.unwrap();
        // The pool has one thread, which has then done the write.
        trefoil::task::spawn_blocking(|| ()).await.unwrap();
        let held = hold();
        let mut byte = [0];
        let mut read = Box::pin(file.read(&mut byte));
        std::future::poll_fn(|cx| {
            assert!(read.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        drop(read);
        drop(held);
        file.sync_all().await.unwrap_or_default();
        assert!(file.flush().await.is_err(), "the error of the write is kept");
    });
}

/// A read after a seek whose future was dropped begins where that seek ends, and what it has
/// buffered stays.
#[test]
fn a_buffered_reader_keeps_what_it_has_read_after_a_dropped_seek() {
    let directory = Directory::new("dropped-seek-of-a-buffer");
    let path = directory.file(b"abcdefghij");
    one_thread().block_on(async {
        let mut reader = BufReader::with_capacity(4, File::open(&path).await.unwrap());
        abandon(reader.seek(SeekFrom::Start(2)));
        assert_eq!(reader.read_u8().await.unwrap(), b'c');
        assert_eq!(reader.stream_position().await.unwrap(), 3);
        assert_eq!(reader.read_u8().await.unwrap(), b'd');
        assert_eq!(reader.seek(SeekFrom::Current(1)).await.unwrap(), 5);
        assert_eq!(reader.read_u8().await.unwrap(), b'f');
    });
}

/// What was buffered before the seek comes before it, and is not mixed with what comes behind.
#[test]
fn a_dropped_seek_of_a_buffered_reader_is_made_as_a_whole() {
    let directory = Directory::new("dropped-seek-of-a-full-buffer");
    let path = directory.file(b"abcdefghij");
    one_thread().block_on(async {
        let mut reader = BufReader::with_capacity(4, File::open(&path).await.unwrap());
        assert_eq!(reader.read_u8().await.unwrap(), b'a');
        abandon(reader.seek(SeekFrom::Start(8)));
        assert_eq!(reader.read_u8().await.unwrap(), b'i');
        assert_eq!(reader.stream_position().await.unwrap(), 9);
        assert_eq!(reader.read_u8().await.unwrap(), b'j');
    });
}

/// What a dropped read has read ahead is read again by the file of `std`.
#[test]
fn a_file_of_std_goes_on_where_the_file_was() {
    let directory = Directory::new("into-std");
    let path = directory.file(b"abcdef");
    one_thread().block_on(async {
        for at_once in [false, true] {
            let mut file = File::open(&path).await.unwrap();
            assert_eq!(file.read_u8().await.unwrap(), b'a');
            abandon(file.read(&mut [0; 4]));
            // Waits for that read.
            assert_eq!(file.read_u8().await.unwrap(), b'b');
            let mut of_std = if at_once {
                let mut file = Some(file);
                loop {
                    // The thread that has read may still have the file.
                    match file.take().unwrap().try_into_std() {
                        Ok(of_std) => break of_std,
                        Err(again) => file = Some(again),
                    }
                }
            } else {
                file.into_std().await
            };
            let mut rest = String::new();
            std::io::Read::read_to_string(&mut of_std, &mut rest).unwrap();
            assert_eq!(rest, "cdef");
        }
    });
}
