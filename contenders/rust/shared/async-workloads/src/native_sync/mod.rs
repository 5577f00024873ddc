//! The suite `native-sync`: the rows `sync_*` on what the runtime itself brings.
//!
//! Where those rows differ only in whose primitive it is, both are one source text with a type
//! parameter. The rows about `mpsc` are texts of their own here, because the channel of the
//! document is a sink of futures, and these are not.

mod mpsc;
mod request_reply;

use palio_protocol::harness::Prepare;

use crate::{
    AsyncRuntime, Broadcasts, Channels, Notifies, Oneshots, Semaphores, Watches, sync_broadcast,
    sync_notify, sync_semaphore, sync_watch,
};

type Row = (&'static str, Prepare);

/// The rows about channels of many senders, on the channels `C` and, for the answers to requests,
/// `O`.
#[must_use]
pub fn native_rows_on_channels<R: AsyncRuntime, C: Channels, O: Oneshots>() -> [Row; 3] {
    [
        ("native_sync/mpsc_contention", mpsc::prepare_contention::<R, C>),
        ("native_sync/mpsc_uncontended", mpsc::prepare_uncontended::<R, C>),
        ("native_sync/request_reply", request_reply::prepare::<R, C, O>),
    ]
}

/// The rows about semaphores.
#[must_use]
pub fn native_rows_on_semaphores<R: AsyncRuntime, P: Semaphores>() -> [Row; 2] {
    [
        ("native_sync/semaphore_uncontended", sync_semaphore::prepare::<R, P>),
        ("native_sync/semaphore_contention", sync_semaphore::prepare::<R, P>),
    ]
}

/// Every row of the suite that `R` can run, for a runtime that has all of the primitives.
#[must_use]
pub fn native_rows<R, P>() -> Vec<Row>
where
    R: AsyncRuntime,
    P: Channels + Oneshots + Notifies + Semaphores + Broadcasts + Watches,
{
    let mut rows: Vec<Row> = vec![
        ("native_sync/broadcast", sync_broadcast::prepare::<R, P>),
        ("native_sync/watch", sync_watch::prepare::<R, P>),
    ];
    rows.extend(native_rows_on_channels::<R, P, P>());
    rows.extend(native_rows_on_semaphores::<R, P>());
    if !R::DRIVEN_BY_BLOCK_ON {
        rows.extend([
            ("native_sync/notify_one", sync_notify::prepare_one::<R, P> as Prepare),
            ("native_sync/notify_waiters", sync_notify::prepare_waiters::<R, P>),
        ]);
    }
    rows
}
