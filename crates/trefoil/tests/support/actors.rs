//! What tests of actors share.

use super::current_and_multi;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use trefoil::actor::{self, Address, Context, ExitReason};
use trefoil::sync::oneshot;

/// Runs a test on each kind of runtime.
pub(crate) fn each<F: Future<Output = ()>>(test: impl Fn() -> F) {
    for runtime in current_and_multi([1, 3]) {
        runtime.block_on(test());
    }
}

/// An actor that waits for ever.
pub(crate) fn idle() -> Address<u32> {
    actor::spawn(async |own: Context<u32>| {
        let _own = own;
        pending::<()>().await;
    })
}

/// The context of an actor that waits for ever, to be used from outside.
pub(crate) async fn lent<M: Send + 'static>() -> Context<M> {
    let (lend, borrowed) = oneshot::channel();
    actor::spawn(async |own: Context<M>| {
        assert!(lend.send(own).is_ok());
        pending::<()>().await;
    });
    borrowed.await.unwrap()
}

#[track_caller]
pub(crate) fn assert_panic(reason: &ExitReason, message: &str) {
    assert_eq!(reason.as_panic().and_then(|panic| panic.message()), Some(message), "{reason:?}");
}

/// Says when it is dropped.
pub(crate) struct SetOnDrop(pub(crate) Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}
