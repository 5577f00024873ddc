//! The buckets of a runtime's histograms.

use std::time::Duration;
use trefoil::runtime::{Builder, HistogramConfiguration, LogHistogram, RuntimeMetrics};

/// The metrics of a runtime with that histogram.
fn buckets(log: LogHistogram) -> RuntimeMetrics {
    Builder::new_current_thread()
        .enable_metrics_poll_time_histogram()
        .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(log))
        .build()
        .unwrap()
        .metrics()
}

/// A bound of the error has the scale of a precision, and that is the coarsest one that keeps the
/// bound, down to one bit.
#[test]
fn the_coarsest_scale_keeps_the_bound() {
    let ms = Duration::from_millis;
    for (max_error, bits) in [(0.6, 1), (0.5, 1), (0.49, 2), (0.25, 2), (0.24, 3), (0.01, 7)] {
        let builder = LogHistogram::builder().min_value(ms(1)).max_value(ms(1000));
        let bounded = buckets(builder.max_error(max_error).build());
        let builder = LogHistogram::builder().min_value(ms(1)).max_value(ms(1000));
        let exact = buckets(builder.precision_exact(bits).build());
        let count = exact.poll_time_histogram_num_buckets();
        assert_eq!(bounded.poll_time_histogram_num_buckets(), count, "{max_error}");
        for bucket in 0..count {
            let range = exact.poll_time_histogram_bucket_range(bucket);
            assert_eq!(bounded.poll_time_histogram_bucket_range(bucket), range, "{max_error}");
        }
    }
}

/// The numbers are those of tokio's scales with the same settings.
#[test]
fn log_histograms_have_tokios_buckets() {
    let ns = Duration::from_nanos;
    let default = buckets(LogHistogram::default());
    assert_eq!(default.poll_time_histogram_num_buckets(), 119);
    assert_eq!(default.poll_time_histogram_bucket_range(0), ns(0)..ns(96));
    assert_eq!(default.poll_time_histogram_bucket_range(1), ns(96)..ns(112));
    assert_eq!(default.poll_time_histogram_bucket_range(118), ns(7 << 33)..ns(u64::MAX));
    assert_eq!(LogHistogram::default().max_value(), 7 << 33);

    let builder = LogHistogram::builder()
        .max_value(Duration::from_millis(4))
        .min_value(Duration::from_micros(20))
        .precision_exact(0);
    let coarse = buckets(builder.build());
    assert_eq!(coarse.poll_time_histogram_num_buckets(), 10);
    for bucket in 1..9 {
        let range = coarse.poll_time_histogram_bucket_range(bucket);
        assert_eq!(range.end - range.start, ns((1 << (bucket - 1)) * 16384));
    }
    // A greatest duration at which a bucket starts is the start of the last one.
    let exact = buckets(builder.max_value(ns(1 << 22)).build());
    assert_eq!(exact.poll_time_histogram_bucket_range(9).start, ns(1 << 22));
    assert_eq!(exact.poll_time_histogram_num_buckets(), 10);
    assert_eq!(builder.max_value(ns(1 << 22)).build().max_value(), 1 << 22);
    assert_eq!(builder.max_value(ns((1 << 22) + 1)).build().max_value(), 1 << 23);
}

/// As tokio's.
#[test]
fn a_histogram_has_ten_buckets_of_100_us_by_default() {
    let us = Duration::from_micros;
    let runtime = Builder::new_current_thread()
        .enable_metrics_schedule_latency_histogram()
        .enable_metrics_poll_time_histogram()
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    assert_eq!(metrics.poll_time_histogram_num_buckets(), 10);
    assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 10);
    assert_eq!(metrics.poll_time_histogram_bucket_range(1), us(100)..us(200));
    assert_eq!(metrics.schedule_latency_histogram_bucket_range(9).start, us(900));
}

#[test]
fn a_log_histogram_may_begin_where_it_ends() {
    let second = Duration::from_secs(1);
    let metrics = buckets(LogHistogram::builder().min_value(second).max_value(second).build());
    let last = metrics.poll_time_histogram_num_buckets() - 1;
    assert!(metrics.poll_time_histogram_bucket_range(0).end <= second);
    assert!(metrics.poll_time_histogram_bucket_range(last).start >= second);
    assert!(last <= 2, "{last}");
}
