//! What tests of sockets share.

use crate::support::current_and_multi;

/// Runs `body` in `block_on` and as a task of each runtime.
pub(crate) fn everywhere<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for runtime in current_and_multi([1, 2, 4]) {
        runtime.block_on(body());
        runtime.block_on(runtime.spawn(body())).unwrap();
    }
}
