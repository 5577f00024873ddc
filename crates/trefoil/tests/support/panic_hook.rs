//! Foreign code that runs wherever there is a panic: its hook.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Runs `panics` on a thread of its own, whose panics call `hook`. Both have to end.
pub(crate) fn with_hook(
    hook: impl Fn() + Send + Sync + 'static,
    panics: impl FnOnce() + Send + 'static,
) {
    let (panicked, has_panicked) = mpsc::channel();
    let thread = thread::spawn(move || {
        let (own, others) = (thread::current().id(), take_hook());
        set_hook(Box::new(
            move |info| {
                if thread::current().id() == own { hook() } else { others(info) }
            },
        ));
        panicked.send(catch_unwind(AssertUnwindSafe(panics)).is_err()).unwrap();
    });
    let outcome = has_panicked.recv_timeout(Duration::from_secs(20));
    assert!(outcome.expect("the hook waits for what the panic has locked"), "there is no panic");
    thread.join().unwrap();
}
