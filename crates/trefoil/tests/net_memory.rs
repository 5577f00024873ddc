//! What a connection costs that has nothing to do.
#![cfg(feature = "net")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Waker};
use trefoil::net::TcpStream;
use trefoil::runtime::Builder;

struct Counting;

/// How many bytes are allocated.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: `System` does everything, and keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise: it came from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The promise.
const MOST: usize = 512;
/// Few enough for the usual limit of descriptors, of which each takes two.
const CONNECTIONS: usize = 300;

type Wait<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + 'a>>;

/// The connections, and the other sides, which are the system's alone.
fn connect(
    listener: &TcpListener,
    ours: &mut Vec<TcpStream>,
    theirs: &mut Vec<std::net::TcpStream>,
) {
    let addr = listener.local_addr().unwrap();
    for _ in 0..CONNECTIONS {
        theirs.push(std::net::TcpStream::connect(addr).unwrap());
        let accepted = listener.accept().unwrap().0;
        accepted.set_nonblocking(true).unwrap();
        ours.push(TcpStream::from_std(accepted).unwrap());
    }
}

/// This is only one test, because there is only one count.
#[test]
fn an_idle_connection_costs_512_bytes_at_most() {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    let _guard = runtime.enter();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = Vec::with_capacity(CONNECTIONS);
    let mut theirs = Vec::with_capacity(CONNECTIONS);
    let mut waits: Vec<Wait<'_>> = Vec::with_capacity(CONNECTIONS);
    let cx = &mut Context::from_waker(Waker::noop());

    let before = ALIVE.load(Relaxed);
    connect(&listener, &mut ours, &mut theirs);
    // All of them were announced as writable, so the reactor has seen each one.
    runtime.block_on(async {
        for stream in &ours {
            stream.writable().await.unwrap();
        }
    });
    // One wait of each kind.
    for stream in &ours {
        assert!(stream.poll_read_ready(cx).is_pending());
    }
    let boxes = ALIVE.load(Relaxed);
    for stream in &ours {
        let mut wait: Wait<'_> = Box::pin(stream.readable());
        assert!(wait.as_mut().poll(cx).is_pending());
        waits.push(wait);
    }
    let wait_size = waits.iter().map(|wait| size_of_val(&**wait)).sum::<usize>();
    let allocated = ALIVE.load(Relaxed) - before;
    assert!(ALIVE.load(Relaxed) - boxes > wait_size, "a place on the list is counted");
    // The future is a part of the task that waits, and so its cost and not the connection's.
    let each = size_of::<TcpStream>() + (allocated - wait_size) / CONNECTIONS;
    assert!(each > size_of::<TcpStream>(), "the reactor's part is counted");
    assert!(each <= MOST, "{each} bytes for each connection");

    // Those that come later use the memory of those that are gone.
    drop(waits);
    let before = ALIVE.load(Relaxed);
    for _ in 0..3 {
        ours.clear();
        theirs.clear();
        connect(&listener, &mut ours, &mut theirs);
    }
    let more = ALIVE.load(Relaxed).saturating_sub(before);
    assert!(more <= CONNECTIONS * 8, "{more} bytes more, beyond a list of free places");
}
