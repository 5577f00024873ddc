//! What a fiber costs that waits.
#![cfg(all(target_os = "linux", not(trefoil_tsan)))]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::{multi, page_size};
use trefoil::sync::{Semaphore, mpsc};
use trefoil::{fiber, task};

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
const MOST_PAGES: usize = 2;
const MOST_BYTES: usize = 512;

const FIBERS: usize = 1000;
/// That of a stack, without its guard.
const STACK: usize = 256 * 1024;

/// Whether the system backs the page at that address.
fn is_resident(address: usize) -> bool {
    let mut backed = 0_u8;
    let at = std::ptr::without_provenance_mut(address);
    // SAFETY: it reads the tables of the system, and writes one byte for one page. An address that
    // is not mapped is an error.
    let result = unsafe { libc::mincore(at, page_size(), &raw mut backed) };
    result == 0 && backed & 1 != 0
}

/// How many pages the system backs of the stack that has this address in one of its first frames;
/// `None` if that cannot be told.
fn resident_pages(frame: usize) -> Option<usize> {
    let frame = frame / page_size() * page_size();
    // Above most stacks is the guard of another one, or nothing.
    let mut above = (frame..frame + 4 * page_size()).step_by(page_size());
    let end = above.find(|&address| !is_resident(address))?;
    Some((end - STACK..end).step_by(page_size()).filter(|&address| is_resident(address)).count())
}

/// Fibers that wait: how many bytes of the heap each takes, and how many pages nearly all take at
/// most.
fn parked(touched: usize) -> (usize, usize) {
    fn touch(bytes: usize) {
        let frame = [1_u8; 4096];
        black_box(&frame);
        if bytes > frame.len() {
            touch(bytes - frame.len());
        }
    }
    let runtime = multi(1);
    let gate = Arc::new(Semaphore::new(0));
    let mut handles = Vec::with_capacity(FIBERS);
    let mut places = Vec::with_capacity(FIBERS);
    runtime.block_on(async {
        let (rests, mut resting) = mpsc::channel(FIBERS);
        let spawn = || {
            let (gate, rests) = (gate.clone(), rests.clone());
            fiber::spawn(move || {
                let place = 0_u8;
                if touched > 0 {
                    touch(touched);
                }
                rests.try_send((&raw const place).addr()).unwrap();
                drop(rests);
                fiber::wait(gate.acquire()).unwrap().forget();
            })
        };
        // What is made once.
        let first = spawn();
        resting.recv().await.unwrap();
        task::yield_now().await;
        let before = ALIVE.load(Relaxed);
        for _ in 0..FIBERS {
            handles.push(spawn());
        }
        for _ in 0..FIBERS {
            places.push(resting.recv().await.unwrap());
        }
        // The only worker has left them all.
        task::spawn(async {}).await.unwrap();
        let bytes = ALIVE.load(Relaxed).saturating_sub(before) / FIBERS;
        let mut pages: Vec<_> = places.iter().filter_map(|&place| resident_pages(place)).collect();
        assert!(pages.len() > FIBERS / 2, "{} of {FIBERS} stacks have guards above", pages.len());
        pages.sort_unstable();
        // One in a hundred may have been in a rare call that goes deeper, and fills a queue's
        // next block, say.
        let pages = pages[pages.len() * 99 / 100];
        gate.add_permits(FIBERS + 1);
        first.await.unwrap();
        for handle in handles.drain(..) {
            handle.await.unwrap();
        }
        (bytes, pages)
    })
}

/// This is only one test, because there is only one count.
#[test]
fn a_fiber_that_waits_takes_two_pages_and_512_bytes_at_most() {
    let (bytes, pages) = parked(0);
    assert!(pages <= MOST_PAGES, "{pages} pages are resident");
    assert!(bytes <= MOST_BYTES, "{bytes} bytes are allocated");
    println!("{pages} pages, {bytes} bytes");
    // Those that have touched more are seen.
    let (_, pages) = parked(3 * page_size());
    assert!(pages > MOST_PAGES, "{pages} pages are resident");
}
