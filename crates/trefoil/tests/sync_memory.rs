//! What a channel allocates that holds nothing.

#[path = "support/live.rs"]
mod live;

use live::LIVE;
use trefoil::sync::{broadcast, mpmc, mpsc, oneshot, watch};

/// The promise.
const MOST: usize = 256;

#[track_caller]
fn is_small<C>(what: &str, make: impl FnOnce() -> C) {
    let before = LIVE.get();
    let channel = make();
    let bytes = LIVE.get().wrapping_sub(before);
    assert!(bytes > 0, "{what}: what it allocates is counted");
    assert!(bytes <= MOST, "{what}: {bytes} bytes");
    drop(channel);
    assert_eq!(LIVE.get(), before, "{what}: all is freed");
}

/// Whatever their capacity. Where a channel has a place for its value, that is small here.
#[test]
fn an_empty_channel_of_each_kind_takes_at_most_256_bytes() {
    type Large = [u64; 100];
    is_small("oneshot", oneshot::channel::<u64>);
    is_small("watch", || watch::channel(0_u64));
    for capacity in [1, 16, 100_000] {
        is_small("mpsc, bounded", || mpsc::channel::<Large>(capacity));
        is_small("broadcast", || broadcast::channel::<Large>(capacity));
        is_small("mpmc, bounded", || mpmc::bounded::<Large>(capacity));
    }
    is_small("mpsc, unbounded", mpsc::unbounded_channel::<Large>);
    is_small("mpmc, a rendezvous", || mpmc::bounded::<Large>(0));
    is_small("mpmc, unbounded", mpmc::unbounded::<Large>);
}
