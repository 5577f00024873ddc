//! `File`: an open file.

use super::file_state::FileState;
use super::{OpenOptions, on_pool};
use crate::io::blocking::CALL_BYTES_MAX;
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::primitives::Mutex;
use crate::sync::Notify;
use crate::task::coop::{self, Budget};
use crate::task::spawn_blocking;
use std::fmt;
use std::fs::{File as StdFile, FileTimes, Metadata, Permissions};
use std::future::poll_fn;
use std::io::{self, IoSlice, SeekFrom};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

/// An open file, read and written by [`AsyncReadExt`](crate::io::AsyncReadExt) and
/// [`AsyncWriteExt`](crate::io::AsyncWriteExt).
///
/// **A write is done when its bytes are copied.** A thread of the blocking pool then writes them,
/// one write after another, and an error comes with a later write or flush. So call
/// [`flush`](crate::io::AsyncWriteExt::flush) before the file is dropped, or before others look at
/// it: it returns once all that was written has been given to the system, or with the error.
/// [`sync_all`](Self::sync_all) also waits for the disk. A file that is dropped is closed when the
/// call that is under way is over.
///
/// A read or a write takes at most [`max_buf_size`](Self::max_buf_size) bytes, because they go
/// through a buffer: the thread may outlive the future that waits for it.
///
/// # Cancellation safety
/// A read whose future is dropped goes on, and what it reads is given to the next read. A seek goes
/// on as well.
///
/// A future of [`sync_all`](Self::sync_all), or of another method with `&self`, that is forgotten
/// (`std::mem::forget`) and not dropped keeps its place: others of this kind wait for it until a
/// read, a write or a seek makes the file theirs.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use trefoil::fs::File;
/// use trefoil::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
///
/// # let path = std::env::temp_dir().join(format!("trefoil-file-{}", std::process::id()));
/// let mut file = File::create_new(&path).await?;
/// file.write_all(b"on a disk").await?;
/// file.rewind().await?;
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "on a disk");
/// # trefoil::fs::remove_file(&path).await?;
/// # Ok(())
/// # }
/// ```
pub struct File {
    std: Arc<StdFile>,
    /// Held by the one future of the methods with `&self` that uses the state: it has the permit,
    /// or there is no such future.
    turn: Notify,
    /// `None` while such a future has it.
    state: Mutex<Option<FileState>>,
    max_buf_size: usize,
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of [`std::fs::File::open`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::options().read(true).open(path).await
    }

    /// Opens a file for writing. It is made if there is none, and emptied otherwise.
    ///
    /// # Errors
    /// Those of [`std::fs::File::create`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::options().write(true).create(true).truncate(true).open(path).await
    }

    /// Makes a file, which must not exist, for reading and writing.
    ///
    /// # Errors
    /// Those of [`std::fs::File::create_new`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn create_new<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::options().read(true).write(true).create_new(true).open(path).await
    }

    /// Options for opening a file: as [`OpenOptions::new`].
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Makes a file of one that `std` has opened.
    pub fn from_std(std: StdFile) -> Self {
        let state = Mutex::new(Some(FileState::new()));
        Self { std: Arc::new(std), turn: free_turn(), state, max_buf_size: CALL_BYTES_MAX }
    }

    /// Waits until what was written is on the disk, with what the system knows of the file.
    ///
    /// # Errors
    /// Those of [`std::fs::File::sync_all`]. The error of an earlier write comes with the next
    /// write or flush.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn sync_all(&self) -> io::Result<()> {
        self.call(false, StdFile::sync_all).await
    }

    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    /// As [`sync_all`](Self::sync_all).
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn sync_data(&self) -> io::Result<()> {
        self.call(false, StdFile::sync_data).await
    }

    /// Makes the file that long. If it was longer, the rest is cut off; otherwise, zeros follow.
    ///
    /// # Errors
    /// Those of [`std::fs::File::set_len`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        // What was read ahead may be cut off, so it is read again.
        self.call(true, move |std| std.set_len(size)).await
    }

    /// What the system says about the file. A write that is under way may count or not.
    ///
    /// # Errors
    /// Those of [`std::fs::File::metadata`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = Arc::clone(&self.std);
        on_pool(move || std.metadata()).await
    }

    /// A second handle to the open file: both share its position. What was read ahead is with the
    /// first one.
    ///
    /// # Errors
    /// Those of [`std::fs::File::try_clone`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn try_clone(&self) -> io::Result<Self> {
        drop(self.settled().await);
        let std = Arc::clone(&self.std);
        let mut clone = Self::from_std(on_pool(move || std.try_clone()).await?);
        clone.max_buf_size = self.max_buf_size;
        Ok(clone)
    }

    /// Waits for the call that is under way, and returns the file of `std`, whose next read begins
    /// where that of this file would have. An error of an earlier write is lost: flush before. And
    /// so is what a dropped read has got from a file without a position, such as a pipe.
    ///
    /// # Panics
    /// If a dropped future has left a call such as [`metadata`](Self::metadata) on the pool, and
    /// the system has no second handle to give.
    pub async fn into_std(mut self) -> StdFile {
        poll_fn(|cx| self.state().poll_settle(cx)).await;
        self.give_back();
        match Arc::try_unwrap(self.std) {
            Ok(std) => std,
            // That call has its own reference, for a moment.
            Err(std) => spawn_blocking(move || std.try_clone())
                .await
                .expect("the call does not panic, and the runtime is there")
                .expect("a second handle to the file"),
        }
    }

    /// As [`into_std`](Self::into_std), if no call is under way.
    ///
    /// # Errors
    /// The file itself, if one is.
    #[allow(
        clippy::result_large_err,
        reason = "the type is tokio's; the locks of a file are large on macOS"
    )]
    pub fn try_into_std(mut self) -> Result<StdFile, Self> {
        let mut cx = Context::from_waker(Waker::noop());
        let settled = coop::with_budget(Budget::UNLIMITED, || self.state().poll_settle(&mut cx));
        if settled.is_pending() {
            return Err(self);
        }
        self.give_back();
        match Arc::try_unwrap(self.std) {
            Ok(std) => Ok(std),
            Err(std) => {
                self.std = std;
                Err(self)
            }
        }
    }

    /// Sets the file's permissions.
    ///
    /// # Errors
    /// Those of [`std::fs::File::set_permissions`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        let std = Arc::clone(&self.std);
        on_pool(move || std.set_permissions(perm)).await
    }

    /// Sets the times of the last access and of the last change, after what was written.
    ///
    /// # Errors
    /// Those of [`std::fs::File::set_times`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        // A write that ended later would set the time of the last change again.
        self.call(false, move |std| std.set_times(times)).await
    }

    /// Sets the time of the last change, after what was written.
    ///
    /// # Errors
    /// As [`set_times`](Self::set_times).
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets the most that one read or write takes, which is 2 MiB otherwise.
    ///
    /// # Panics
    /// If `max_buf_size` is 0.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        self.max_buf_size = max_buf_size;
    }

    /// The most that one read or write takes.
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }

    fn give_back(&mut self) {
        let std = Arc::clone(&self.std);
        self.state().give_back(&std);
    }

    fn state(&mut self) -> &mut FileState {
        let Self { state, turn, .. } = self;
        state.get_mut().get_or_insert_with(|| {
            // A future that was forgotten has kept the state, and the turn. What it was doing goes
            // on without it.
            *turn = free_turn();
            FileState::new()
        })
    }

    /// Waits until no other future of this kind uses the state and no call is under way.
    async fn settled(&self) -> Turn<'_> {
        self.turn.notified().await;
        let mut turn = Turn { file: self, state: self.state.lock().take() };
        poll_fn(|cx| turn.state().poll_settle(cx)).await;
        turn
    }

    /// Makes a call when no other one is under way.
    async fn call(
        &self,
        is_exact: bool,
        call: impl FnOnce(&StdFile) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let mut turn = self.settled().await;
        turn.state().begin_other(&self.std, is_exact, call);
        poll_fn(|cx| turn.state().poll_other(cx)).await
    }
}

fn free_turn() -> Notify {
    let turn = Notify::new();
    turn.notify_one();
    turn
}

/// The state in the hands of one future, which returns it with the permit.
struct Turn<'a> {
    file: &'a File,
    state: Option<FileState>,
}

impl Turn<'_> {
    fn state(&mut self) -> &mut FileState {
        self.state.get_or_insert_with(FileState::new)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.file.state.lock() = self.state.take();
        self.file.turn.notify_one();
    }
}

impl AsyncRead for File {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (std, max) = (Arc::clone(&self.std), self.max_buf_size);
        self.state().poll_read(&std, max, cx, buf)
    }
}

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state().poll_flush(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let (std, max) = (Arc::clone(&self.std), self.max_buf_size);
        self.state().poll_write(&std, max, cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl AsyncSeek for File {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let std = Arc::clone(&self.std);
        self.state().start_seek(&std, position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.state().poll_seek(cx)
    }
}

impl From<StdFile> for File {
    fn from(std: StdFile) -> Self {
        Self::from_std(std)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("std", &self.std).finish_non_exhaustive()
    }
}

#[cfg(unix)]
mod unix {
    use super::{File, StdFile};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

    impl From<OwnedFd> for File {
        fn from(fd: OwnedFd) -> Self {
            Self::from_std(fd.into())
        }
    }

    impl AsFd for File {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.std.as_fd()
        }
    }

    impl AsRawFd for File {
        fn as_raw_fd(&self) -> RawFd {
            self.std.as_raw_fd()
        }
    }

    impl FromRawFd for File {
        unsafe fn from_raw_fd(fd: RawFd) -> Self {
            // SAFETY: the caller promises that the descriptor is open, and gives it away.
            Self::from_std(unsafe { StdFile::from_raw_fd(fd) })
        }
    }
}

#[cfg(windows)]
mod windows {
    use super::{File, StdFile};
    use std::os::windows::io::{
        AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle,
    };

    impl From<OwnedHandle> for File {
        fn from(handle: OwnedHandle) -> Self {
            Self::from_std(handle.into())
        }
    }

    impl AsHandle for File {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            self.std.as_handle()
        }
    }

    impl AsRawHandle for File {
        fn as_raw_handle(&self) -> RawHandle {
            self.std.as_raw_handle()
        }
    }

    impl FromRawHandle for File {
        unsafe fn from_raw_handle(handle: RawHandle) -> Self {
            // SAFETY: the caller promises that the handle is open, and gives it away.
            Self::from_std(unsafe { StdFile::from_raw_handle(handle) })
        }
    }
}
