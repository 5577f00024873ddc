//! The runtime of the unit tests: smol's global executor, in its shortest form. It has one worker
//! unless `SMOL_THREADS` says otherwise, whatever a test asks for: these tests are about answers.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use smol::future::FutureExt;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};

use crate::{AsyncNet, AsyncRuntime, TimedTask};

pub(crate) struct TestRuntime;

thread_local! {
    static ENTRIES: Cell<u32> = const { Cell::new(0) };
    static SPAWNS: Cell<u32> = const { Cell::new(0) };
}

/// How often this thread, and no other, has waited in [`TestRuntime`]'s `block_on` so far.
pub(crate) fn entries() -> u32 {
    ENTRIES.get()
}

/// How many tasks this thread, and no other, has spawned so far to await them.
pub(crate) fn spawns() -> u32 {
    SPAWNS.get()
}

impl AsyncRuntime for TestRuntime {
    const HAS_BLOCK_IN_PLACE: bool = true;

    type Handle = ();
    type Join<T: Send + 'static> = smol::Task<T>;

    fn start(_threads: usize) -> Self {
        Self
    }

    fn handle(&self) {}

    fn spawn_from_outside<F>((): &(), task: F) -> smol::Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        smol::spawn(task)
    }

    fn spawn_detached_from_outside<F>((): &(), task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        smol::spawn(task).detach();
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        ENTRIES.set(ENTRIES.get() + 1);
        smol::block_on(future)
    }

    fn spawn<F>(task: F) -> smol::Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        SPAWNS.set(SPAWNS.get() + 1);
        smol::spawn(task)
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        smol::spawn(task).detach();
    }

    fn spawn_blocking<T, F>(work: F) -> smol::Task<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        smol::unblock(work)
    }

    fn block_in_place<T>(work: impl FnOnce() -> T) -> T {
        work()
    }

    async fn join_caught<T: Send + 'static>(join: smol::Task<T>) -> Option<T> {
        AssertUnwindSafe(join).catch_unwind().await.ok()
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        smol::future::yield_now()
    }

    async fn sleep(duration: Duration) {
        smol::Timer::after(duration).await;
    }

    async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
        let late = async {
            Self::sleep(duration).await;
            None
        };
        async { Some(future.await) }.or(late).await
    }

    fn spawn_timed(task: TimedTask) -> smol::Task<u64> {
        smol::spawn(task.run::<Self>())
    }
}

impl AsyncNet for TestRuntime {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn listener(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        listener.try_into()
    }

    async fn accept(listener: &mut TcpListener) -> io::Result<TcpStream> {
        listener.accept().await.map(|(stream, _)| stream)
    }

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> + Send {
        TcpStream::connect(address)
    }

    async fn read_exact(stream: &mut TcpStream, bytes: &mut [u8]) -> io::Result<()> {
        stream.read_exact(bytes).await
    }

    async fn write_all(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }
}
