//! The suite `native-sync`: the rows `sync_*` on what the runtime itself brings.
//!
//! Where those rows differ only in whose primitive it is, both are one source text with a type
//! parameter. The rows about `mpsc` are texts of their own here, because the channel of the
//! document is a sink of futures, and these are not.
//!
//! Here one root has all iterations of a sample, where each iteration of the rows `sync_*` has its
//! own, as in their document: some iterations are so short that the way into the runtime and back
//! would be most of what is measured. The rows about `Notify` have no root.

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
        ("native_sync/semaphore_uncontended", sync_semaphore::prepare_in_one::<R, P>),
        ("native_sync/semaphore_contention", sync_semaphore::prepare_in_one::<R, P>),
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
        ("native_sync/broadcast", sync_broadcast::prepare_in_one::<R, P>),
        ("native_sync/watch", sync_watch::prepare_in_one::<R, P>),
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

#[cfg(test)]
mod tests {
    use palio_protocol::harness::{Contender, converse};

    use super::*;
    use crate::test_runtime::{TestRuntime, entries};
    use crate::{TokioSync, rows};

    const BATCH: u32 = 3;

    const SEMAPHORE: &str = "tasks=6 permits=5";
    const CONTENTION: &str = "producers=4 messages=25";
    const FAN_OUT: &str = "receivers=7 sends=10";

    /// Takes one sample of a row; its line, and how often the sampling thread waited for a root.
    fn sampled(table: &[Row], workload: &str, settings: &str) -> (String, u32) {
        let contender = Contender {
            id: "test",
            runtime: "smol",
            version: "0",
            toolchain: "rustc",
            flags: "none",
            threads_max: 2,
            workloads: table,
            knobs: &[],
        };
        let mut args = format!("--workload {workload} --threads 2 --salt 0");
        for setting in settings.split_whitespace() {
            args += &format!(" --set {setting}");
        }
        let (commands, mut output) = (format!("run 1 {BATCH}\nquit\n"), Vec::new());
        let before = entries();
        converse(contender, args.split(' ').map(str::to_owned), commands.as_bytes(), &mut output)
            .unwrap();
        let output = String::from_utf8(output).unwrap();
        (output.lines().next().unwrap().to_owned(), entries() - before)
    }

    /// That every iteration has its answer and its work, and how many roots there were.
    fn expect(table: &[Row], (row, settings, answer, work): (&str, &str, u64, u32), roots: u32) {
        let places: &[&str] = if row.contains("watch") { &[""] } else { &["worker", "outside"] };
        for place in places {
            let root = if place.is_empty() { String::new() } else { format!(" root={place}") };
            let (line, waits) = sampled(table, row, &format!("{settings}{root}"));
            let work = BATCH * work;
            assert!(line.contains(&format!(" ops={work} answer={answer} work={work} ")), "{line}");
            assert_eq!(waits, roots, "{row} {root}");
        }
    }

    #[test]
    fn all_iterations_of_a_sample_are_in_one_root() {
        let table = native_rows::<TestRuntime, TokioSync>();
        for row in [
            ("native_sync/broadcast", FAN_OUT, 7 * 55, 70),
            ("native_sync/watch", FAN_OUT, 7 * 55, 70),
            ("native_sync/mpsc_contention", CONTENTION, 4950, 100),
            ("native_sync/mpsc_uncontended", "messages=100", 4950, 100),
            ("native_sync/request_reply", "requests=100", 5050, 100),
            ("native_sync/semaphore_uncontended", SEMAPHORE, 6, 6),
            ("native_sync/semaphore_contention", SEMAPHORE, 6, 6),
        ] {
            expect(&table, row, 1);
        }
    }

    #[test]
    fn an_iteration_of_a_row_of_the_document_has_its_own_root() {
        let table = rows::<TestRuntime, TokioSync>();
        for row in [
            ("sync_broadcast/contention", FAN_OUT, 7 * 55, 70),
            ("sync_watch/contention_resubscribe", FAN_OUT, 7 * 55, 70),
            ("sync_mpsc/contention", CONTENTION, 4950, 100),
            ("sync_mpsc/uncontended", "messages=100", 4950, 100),
            ("sync_mpsc_oneshot/request_reply", "requests=100", 5050, 100),
            ("sync_semaphore/uncontended", SEMAPHORE, 6, 6),
            ("sync_semaphore/contention", SEMAPHORE, 6, 6),
        ] {
            expect(&table, row, BATCH);
        }
    }
}
