//! Fibers of current-thread runtimes that another thread would have to run.
//!
//! A current-thread runtime is driven by whoever is in its `block_on`, which need not be the same
//! thread each time. A fiber that has begun on one thread waits, while another drives, until its
//! own drives again.

use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicUsize, SeqCst};
use crate::primitives::thread::ThreadId;
use crate::task::wake_guarded;
use std::task::Waker;

static WAITING: Mutex<Vec<(ThreadId, Waker)>> = Mutex::new(Vec::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The task of that waker is woken when that thread drives a runtime.
pub(super) fn wait(thread: ThreadId, waker: &Waker) {
    let waker = waker.clone();
    let mut waiting = WAITING.lock();
    let known = waiting.iter().any(|(whose, other)| *whose == thread && other.will_wake(&waker));
    if !known {
        waiting.push((thread, waker));
        COUNT.fetch_add(1, SeqCst);
    }
}

/// The calling thread drives a runtime from here on.
pub(crate) fn drives() {
    // A fiber that is stranded meanwhile was so by another driver of the same runtime, which comes
    // before this one.
    if COUNT.load(SeqCst) == 0 {
        return;
    }
    let thread = crate::context::thread_id();
    let mut woken = Vec::new();
    let mut waiting = WAITING.lock();
    waiting.retain(|(whose, waker)| {
        let is_its = *whose == thread;
        if is_its {
            woken.push(waker.clone());
        }
        !is_its
    });
    COUNT.store(waiting.len(), SeqCst);
    drop(waiting);
    woken.into_iter().for_each(wake_guarded);
}
