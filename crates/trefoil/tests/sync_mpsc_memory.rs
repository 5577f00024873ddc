//! What a channel allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use trefoil::sync::mpsc;

struct Counting;

thread_local! {
    /// What this thread has allocated and not freed, in bytes and allocations. It wraps when the
    /// thread frees what another one has allocated.
    static LIVE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

// SAFETY: `System` does everything, and keeps the contract. The counter is a plain cell, which
// allocating code may access at any time.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (bytes, blocks) = LIVE.get();
        LIVE.set((bytes.wrapping_add(layout.size()), blocks.wrapping_add(1)));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let (bytes, blocks) = LIVE.get();
        LIVE.set((bytes.wrapping_sub(layout.size()), blocks.wrapping_sub(1)));
        // SAFETY: the caller's promise: it came from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes and allocations since an earlier moment.
fn since(before: (usize, usize)) -> (usize, usize) {
    let now = LIVE.get();
    (now.0.wrapping_sub(before.0), now.1.wrapping_sub(before.1))
}

#[test]
fn an_empty_channel_is_one_allocation_of_at_most_256_bytes() {
    let before = LIVE.get();
    let channel = mpsc::channel::<[u64; 100]>(1000);
    let (bytes, allocations) = since(before);
    assert!(bytes <= 256, "{bytes}");
    assert_eq!(allocations, 1);
    drop(channel);

    let channel = mpsc::unbounded_channel::<[u64; 100]>();
    let (bytes, allocations) = since(before);
    assert!(bytes <= 256, "{bytes}");
    assert_eq!(allocations, 1);
    drop(channel);
    assert_eq!(since(before), (0, 0));
}

/// A task that sends holds one of these.
#[cfg(all(target_pointer_width = "64", not(trefoil_tsan)))]
#[test]
fn the_futures_hold_little_more_than_the_message_and_a_place_in_the_queue() {
    let (sender, mut receiver) = mpsc::channel::<u64>(1);
    let size = size_of_val(&sender.send(0));
    assert!(size <= 104, "{size}");
    let size = size_of_val(&receiver.recv());
    assert!(size <= 8, "{size}");
}

#[test]
fn a_channel_that_is_emptied_again_and_again_keeps_a_few_blocks() {
    let before = LIVE.get();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let mut blocks_max = 0;
    for round in 0..10_000u64 {
        for n in 0..round % 50 {
            sender.send(n).unwrap();
        }
        while receiver.try_recv().is_ok() {}
        blocks_max = blocks_max.max(since(before).1 - 1);
    }
    assert!(blocks_max <= 6, "{blocks_max} blocks");

    // A backlog that was read goes back to the allocator, up to what is kept in store.
    for n in 0..100_000 {
        sender.send(n).unwrap();
    }
    assert!(since(before).0 >= 800_000);
    while receiver.try_recv().is_ok() {}
    let (bytes, allocations) = since(before);
    assert!(allocations <= 1 + 6 && bytes <= 256 + 6 * 1000, "{bytes} in {allocations}");
    drop((sender, receiver));
    assert_eq!(since(before), (0, 0));
}

#[test]
fn a_channel_in_use_allocates_nothing() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let mut warm_up = |rounds: u64| {
        for n in 0..rounds {
            sender.send(n).unwrap();
            assert_eq!(receiver.try_recv(), Ok(n));
        }
    };
    warm_up(1000);
    let before = LIVE.get();
    warm_up(100_000);
    assert_eq!(since(before), (0, 0));
}

#[test]
fn a_backlog_is_freed_with_the_receiver() {
    let before = LIVE.get();
    let (sender, receiver) = mpsc::unbounded_channel();
    for n in 0..10_000 {
        sender.send(Box::new(n)).unwrap();
    }
    drop(receiver);
    // The sender keeps the channel, and no block.
    assert_eq!(since(before).1, 1);
    drop(sender);
    assert_eq!(since(before), (0, 0));
}
