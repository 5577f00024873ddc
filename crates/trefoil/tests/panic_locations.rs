//! A panic names the line of the program that made the mistake, and not one of this crate.
#![allow(
    clippy::redundant_closure,
    clippy::redundant_closure_for_method_calls,
    reason = "a function that is passed as it is has its caller in `std`"
)]

use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use trefoil::runtime::{
    Builder, Handle, HistogramConfiguration, LocalRuntime, LogHistogram, Runtime, RuntimeMetrics,
    UnhandledPanic,
};
use trefoil::sync::oneshot;
use trefoil::task::{self, JoinSet, LocalSet};
use trefoil::time::{self, Duration, Instant};

trefoil::task_local! {
    static LOCAL: u32;
}

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// With both histograms.
fn measuring() -> Runtime {
    Builder::new_current_thread()
        .enable_metrics_poll_time_histogram()
        .enable_metrics_schedule_latency_histogram()
        .build()
        .unwrap()
}

/// Calls `f` in asynchronous code.
fn in_async<R>(f: impl FnOnce() -> R) {
    current().block_on(async { drop(f()) });
}

/// What panics, by its name.
type Case = (&'static str, Box<dyn FnOnce()>);

fn case<R>(name: &'static str, f: impl FnOnce() -> R + 'static) -> Case {
    (name, Box::new(move || drop(f())))
}

/// What asks about a worker that is not there.
fn cases_of_workers(metrics: &RuntimeMetrics) -> Vec<Case> {
    type Ask = fn(&RuntimeMetrics);
    let all: [(&'static str, Ask); 15] = [
        ("worker_local_queue_depth", |metrics| _ = metrics.worker_local_queue_depth(2)),
        ("worker_local_schedule_count", |metrics| _ = metrics.worker_local_schedule_count(2)),
        ("worker_thread_id", |metrics| _ = metrics.worker_thread_id(2)),
        ("worker_noop_count", |metrics| _ = metrics.worker_noop_count(2)),
        ("worker_mean_poll_time", |metrics| _ = metrics.worker_mean_poll_time(2)),
        ("worker_poll_count", |metrics| _ = metrics.worker_poll_count(2)),
        ("worker_park_count", |metrics| _ = metrics.worker_park_count(2)),
        ("worker_park_unpark_count", |metrics| _ = metrics.worker_park_unpark_count(2)),
        ("worker_total_busy_duration", |metrics| _ = metrics.worker_total_busy_duration(2)),
        ("worker_steal_count", |metrics| _ = metrics.worker_steal_count(2)),
        ("worker_steal_operations", |metrics| _ = metrics.worker_steal_operations(2)),
        ("worker_overflow_count", |metrics| _ = metrics.worker_overflow_count(2)),
        ("worker_wake_count", |metrics| _ = metrics.worker_wake_count(2)),
        ("poll_time_histogram_bucket_count", |metrics| {
            metrics.poll_time_histogram_bucket_count(2, 0);
        }),
        ("schedule_latency_histogram_bucket_count", |metrics| {
            metrics.schedule_latency_histogram_bucket_count(2, 0);
        }),
    ];
    let of = |(name, ask): (&'static str, Ask)| {
        let metrics = metrics.clone();
        case(name, move || ask(&metrics))
    };
    all.map(of).into()
}

fn cases() -> Vec<Case> {
    let ms = Duration::from_millis(1);
    let multi = Builder::new_multi_thread;
    vec![
        case("worker_threads", move || multi().worker_threads(0).build()),
        case("max_blocking_threads", move || multi().max_blocking_threads(0).build()),
        case("event_interval", move || multi().event_interval(0).build()),
        case("global_queue_interval", move || multi().global_queue_interval(0).build()),
        case("name", move || multi().name("").build()),
        case("start_paused", move || multi().start_paused(true).build()),
        case("build_local", move || multi().build_local(Default::default())),
        case("unhandled_panic", move || {
            multi().unhandled_panic(UnhandledPanic::ShutdownRuntime).build()
        }),
        case("Handle::current", || Handle::current()),
        case("Runtime::block_on", || in_async(|| current().block_on(async {}))),
        case("Runtime::block_on, multi", move || {
            in_async(|| multi().worker_threads(1).build().unwrap().block_on(async {}));
        }),
        case("Handle::block_on", || in_async(|| Handle::current().block_on(async {}))),
        case("LocalRuntime::block_on", || {
            in_async(|| LocalRuntime::new().unwrap().block_on(async {}));
        }),
        case("shutdown_timeout", || in_async(|| current().shutdown_timeout(ms_of(1)))),
        case("LocalSet::block_on", || {
            in_async(|| LocalSet::new().block_on(&current(), async {}));
        }),
        case("spawn", || task::spawn(async {})),
        case("spawn_pinned", || task::spawn_pinned(0, async {})),
        case("spawn_blocking", || task::spawn_blocking(|| ())),
        case("spawn_local", || task::spawn_local(async {})),
        case("block_in_place", || in_async(|| task::block_in_place(|| ()))),
        case("task::id", || task::id()),
        case("task::Builder::spawn", || task::Builder::new().spawn(async {})),
        case("task::Builder::spawn_local", || task::Builder::new().spawn_local(async {})),
        case("task::Builder::spawn_blocking", || task::Builder::new().spawn_blocking(|| ())),
        case("JoinSet::spawn", || JoinSet::new().spawn(async {})),
        case("JoinSet::spawn_local", || JoinSet::new().spawn_local(async {})),
        case("JoinSet::spawn_blocking", || JoinSet::new().spawn_blocking(|| ())),
        case("JoinSet::build_task", || JoinSet::new().build_task().spawn(async {})),
        case("JoinError::into_panic", || {
            let runtime = current();
            let aborted = runtime.spawn(std::future::pending::<()>());
            aborted.abort();
            runtime.block_on(aborted).unwrap_err().into_panic()
        }),
        case("LocalKey::with", || LOCAL.with(|value| *value)),
        case("LocalKey::get", || LOCAL.get()),
        case("LocalKey::sync_scope", || {
            LOCAL.sync_scope(1, || LOCAL.with(|_| LOCAL.sync_scope(2, || ())));
        }),
        case("sleep", move || time::sleep(ms)),
        case("sleep_until", move || time::sleep_until(Instant::now())),
        case("timeout", move || time::timeout(ms, async {})),
        case("timeout_at", move || time::timeout_at(Instant::now(), async {})),
        case("interval", move || time::interval(ms)),
        case("interval of nothing", || in_async(|| time::interval(Duration::ZERO))),
        case("interval_at", move || time::interval_at(Instant::now(), ms)),
        case("sleep without timers", move || {
            let runtime = Builder::new_current_thread().build().unwrap();
            let _guard = runtime.enter();
            time::sleep(ms)
        }),
        case("pause", || time::pause()),
        case("resume", || in_async(|| time::resume())),
        case("blocking_recv", || in_async(|| oneshot::channel::<u32>().1.blocking_recv())),
        case("linear", || HistogramConfiguration::linear(Duration::ZERO, 1)),
        case("log", || {
            HistogramConfiguration::log(LogHistogram::builder().min_value(Duration::MAX))
        }),
        case("max_error", || LogHistogram::builder().max_error(1.0)),
        case("precision_exact", || LogHistogram::builder().precision_exact(11)),
        case("max_value", || LogHistogram::builder().max_value(Duration::ZERO)),
        case("LogHistogramBuilder::build", || {
            LogHistogram::builder().min_value(Duration::MAX).build()
        }),
        case("poll_time_histogram_bucket_range", || {
            measuring().metrics().poll_time_histogram_bucket_range(1000)
        }),
        case("schedule_latency_histogram_bucket_count", || {
            measuring().metrics().schedule_latency_histogram_bucket_count(0, 1000)
        }),
    ]
}

fn ms_of(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn panics_name_the_line_of_the_caller() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let its = Arc::clone(&seen);
    std::panic::set_hook(Box::new(move |info| {
        its.lock().push(info.location().map(ToString::to_string).unwrap_or_default());
    }));
    let mut wrong = Vec::new();
    let two_workers = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let of_workers = [two_workers, measuring()].map(|runtime| cases_of_workers(&runtime.metrics()));
    for (name, f) in cases().into_iter().chain(of_workers.into_iter().flatten()) {
        seen.lock().clear();
        let has_panicked = catch_unwind(AssertUnwindSafe(f)).is_err();
        let first = seen.lock().first().cloned().unwrap_or_default();
        if !has_panicked || !first.starts_with(file!()) {
            wrong.push((name, has_panicked, first));
        }
    }
    drop(std::panic::take_hook());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
