//! Histograms of durations: how they are divided, and their counts.

use crate::primitives::atomic::{AtomicU64, Relaxed};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// At the finest precision, the width of a bucket is a 1024th of its start.
const PRECISION_MAX: u32 = 10;

/// The buckets of a histogram of durations. Durations are counted in whole nanoseconds.
///
/// ```
/// use std::time::Duration;
/// use trefoil::runtime::{HistogramConfiguration, LogHistogram};
///
/// // A hundred buckets of 10 µs.
/// let even = HistogramConfiguration::linear(Duration::from_micros(10), 100);
/// // Buckets that grow, none wider than an eighth of its start.
/// let log = HistogramConfiguration::log(
///     LogHistogram::builder()
///         .min_value(Duration::from_micros(1))
///         .max_value(Duration::from_secs(1))
///         .max_error(0.125),
/// );
/// # let _ = (even, log);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramConfiguration {
    scale: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear { width_ns: u64, buckets: usize },
    Log(LogHistogram),
}

impl HistogramConfiguration {
    /// Buckets of equal width. The last one also counts all longer durations.
    ///
    /// # Panics
    /// If the width or the number of buckets is 0.
    #[track_caller]
    pub fn linear(bucket_width: Duration, num_buckets: usize) -> Self {
        assert!(!bucket_width.is_zero(), "a bucket must be wider than 0 ns");
        assert!(num_buckets > 0, "a histogram has at least one bucket");
        Self { scale: Scale::Linear { width_ns: to_ns(bucket_width), buckets: num_buckets } }
    }

    /// Buckets whose width grows with the durations that they count.
    ///
    /// # Panics
    /// Given a [`LogHistogramBuilder`], in the cases in which its
    /// [`build`](LogHistogramBuilder::build) does.
    #[track_caller]
    pub fn log(configuration: impl Into<LogHistogram>) -> Self {
        Self { scale: Scale::Log(configuration.into()) }
    }

    /// What a runtime's histograms have if nobody says otherwise.
    pub(crate) fn of_metrics() -> Self {
        Self::linear(Duration::from_micros(100), 10)
    }

    pub(crate) fn buckets(&self) -> usize {
        match &self.scale {
            Scale::Linear { buckets, .. } => *buckets,
            Scale::Log(log) => log.buckets,
        }
    }

    fn bucket_of(&self, ns: u64) -> usize {
        let unbounded = match &self.scale {
            Scale::Linear { width_ns, .. } => usize::try_from(ns / width_ns).unwrap_or(usize::MAX),
            Scale::Log(log) => step_of(ns, log.precision).saturating_sub(log.below),
        };
        unbounded.min(self.buckets() - 1)
    }

    /// # Panics
    /// If there is no such bucket.
    #[track_caller]
    pub(crate) fn range(&self, bucket: usize) -> Range<Duration> {
        let buckets = self.buckets();
        assert!(
            bucket < buckets,
            "the histogram has {buckets} buckets, and none with number {bucket}"
        );
        let start = |bucket: usize| match &self.scale {
            _ if bucket == 0 => 0,
            _ if bucket == buckets => u64::MAX,
            Scale::Linear { width_ns, .. } => width_ns.saturating_mul(bucket as u64),
            Scale::Log(log) => start_of(log.below + bucket, log.precision),
        };
        Duration::from_nanos(start(bucket))..Duration::from_nanos(start(bucket + 1))
    }
}

impl Default for HistogramConfiguration {
    fn default() -> Self {
        Self::log(LogHistogram::default())
    }
}

/// A scale that divides each power of two into buckets of equal width: see
/// [`HistogramConfiguration::log`].
///
/// The default reaches from 100 ns to a minute, and the width of a bucket is at most a quarter of
/// its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHistogram {
    /// Each power of two has `2^precision` steps.
    precision: u32,
    /// The last step of the first bucket, which also holds all steps before.
    below: usize,
    buckets: usize,
}

impl LogHistogram {
    /// A builder, which starts with the default's settings.
    pub fn builder() -> LogHistogramBuilder {
        LogHistogramBuilder::default()
    }

    /// Where the last bucket starts, which holds all longer durations, in nanoseconds. It is no
    /// earlier than the builder's [`max_value`](LogHistogramBuilder::max_value), unless that is
    /// within the last of all steps.
    pub fn max_value(&self) -> u64 {
        start_of(self.below + self.buckets - 1, self.precision)
    }
}

impl Default for LogHistogram {
    fn default() -> Self {
        Self::builder().build()
    }
}

/// Configures and builds a [`LogHistogram`].
#[derive(Clone, Copy, Debug)]
pub struct LogHistogramBuilder {
    precision: u32,
    min_value: Duration,
    max_value: Duration,
}

impl Default for LogHistogramBuilder {
    fn default() -> Self {
        Self {
            precision: 2,
            min_value: Duration::from_nanos(100),
            max_value: Duration::from_secs(60),
        }
    }
}

impl LogHistogramBuilder {
    /// The greatest width of a bucket, as a fraction of its start: 0.25 by default. The fraction is
    /// rounded down to a power of two, and is a 1024th at least.
    ///
    /// # Panics
    /// If `max_error` is not between 0 and 1.
    #[track_caller]
    pub fn max_error(mut self, max_error: f64) -> Self {
        assert!(
            max_error > 0.0 && max_error < 1.0,
            "`max_error` is {max_error}, and must lie between 0 and 1"
        );
        let is_fine = |precision: &u32| 1.0 / f64::from(1u32 << precision) <= max_error;
        self.precision = (0..PRECISION_MAX).find(is_fine).unwrap_or(PRECISION_MAX);
        self
    }

    /// Divides each power of two into `2^precision` buckets.
    ///
    /// # Panics
    /// If `precision` is greater than 10.
    #[track_caller]
    pub fn precision_exact(mut self, precision: u32) -> Self {
        assert!(
            precision <= PRECISION_MAX,
            "`precision` is {precision}, and {PRECISION_MAX} at most"
        );
        self.precision = precision;
        self
    }

    /// The least duration that is told from shorter ones: 100 ns by default. Shorter durations are
    /// all in the first bucket, which ends at this duration or a little before.
    pub fn min_value(mut self, duration: Duration) -> Self {
        self.min_value = duration;
        self
    }

    /// The longest duration that is told from longer ones: a minute by default. The last bucket,
    /// which counts all of those, starts at this duration or a little after.
    ///
    /// # Panics
    /// If `duration` is 0.
    #[track_caller]
    pub fn max_value(mut self, duration: Duration) -> Self {
        assert!(!duration.is_zero(), "`max_value` must be longer than 0 ns");
        self.max_value = duration;
        self
    }

    /// Builds the scale, as [`build`](Self::build), if it has no more than `max_buckets` buckets.
    ///
    /// # Errors
    /// If the scale would have more buckets than that.
    ///
    /// # Panics
    /// If `min_value` is longer than `max_value`.
    #[track_caller]
    pub fn max_buckets(
        &self,
        max_buckets: usize,
    ) -> Result<LogHistogram, InvalidHistogramConfiguration> {
        let histogram = self.build();
        if histogram.buckets > max_buckets {
            return Err(InvalidHistogramConfiguration::TooManyBuckets {
                required_bucket_count: histogram.buckets,
            });
        }
        Ok(histogram)
    }

    /// Builds the scale.
    ///
    /// # Panics
    /// If `min_value` is longer than `max_value`.
    #[track_caller]
    pub fn build(&self) -> LogHistogram {
        let (min, max) = (self.min_value, self.max_value);
        assert!(min <= max, "`min_value` is {min:?}, and `max_value` {max:?} is shorter than that");
        let precision = self.precision;
        let below = step_of(to_ns(min), precision).saturating_sub(1);
        // The last bucket is the first that starts no earlier than `max_value`, if there is one.
        let before = step_of(to_ns(max) - 1, precision);
        let last = (before + 1).min(step_of(u64::MAX, precision));
        LogHistogram { precision, below, buckets: last - below + 1 }
    }
}

impl From<LogHistogramBuilder> for LogHistogram {
    #[track_caller]
    fn from(builder: LogHistogramBuilder) -> Self {
        builder.build()
    }
}

/// The settings contradict one another: see [`LogHistogramBuilder::max_buckets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidHistogramConfiguration {
    /// The histogram would have more buckets than it may have.
    TooManyBuckets {
        /// The number of buckets that the settings need.
        required_bucket_count: usize,
    },
}

impl fmt::Display for InvalidHistogramConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TooManyBuckets { required_bucket_count } = self;
        write!(f, "the histogram would take {required_bucket_count} buckets")
    }
}

impl std::error::Error for InvalidHistogramConfiguration {}

/// Nanoseconds; 584 years for all longer durations.
fn to_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The step of a duration. The steps are 1 ns wide at first. From `2^(precision + 1)` on, they are
/// twice as wide after each power of two.
fn step_of(ns: u64, precision: u32) -> usize {
    let doublings = ns.max(1).ilog2().saturating_sub(precision);
    ((doublings as usize) << precision) + (ns >> doublings) as usize
}

/// Where a step starts.
fn start_of(step: usize, precision: u32) -> u64 {
    let doublings = (step >> precision).saturating_sub(1);
    ((step - (doublings << precision)) as u64) << doublings
}

/// The counts of one histogram.
#[derive(Debug)]
pub(crate) struct Histogram {
    configuration: HistogramConfiguration,
    counts: Box<[AtomicU64]>,
}

impl Histogram {
    fn new(configuration: HistogramConfiguration) -> Self {
        let counts = (0..configuration.buckets()).map(|_| AtomicU64::new(0)).collect();
        Self { configuration, counts }
    }

    fn record(&self, duration: Duration) {
        // Relaxed: statistics. An RMW, because two threads may record for one worker: a thread
        // whose state was retaken during a poll records that poll when it ends.
        self.counts[self.configuration.bucket_of(to_ns(duration))].fetch_add(1, Relaxed);
    }

    /// # Panics
    /// If there is no such bucket.
    #[track_caller]
    pub(crate) fn count(&self, bucket: usize) -> u64 {
        let buckets = self.counts.len();
        assert!(
            bucket < buckets,
            "the histogram has {buckets} buckets, and none with number {bucket}"
        );
        // Relaxed: statistics.
        self.counts[bucket].load(Relaxed)
    }
}

/// Which histograms the workers of a runtime keep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Histograms {
    pub(crate) schedule_latency: Option<HistogramConfiguration>,
    pub(crate) poll_time: Option<HistogramConfiguration>,
}

impl Histograms {
    pub(crate) fn any(&self) -> bool {
        self.schedule_latency.is_some() || self.poll_time.is_some()
    }

    /// Those of one worker.
    pub(crate) fn start(&self) -> Option<Box<TaskTimes>> {
        self.any().then(|| {
            Box::new(TaskTimes {
                schedule_latency: self.schedule_latency.map(Histogram::new),
                poll_time: self.poll_time.map(Histogram::new),
                mean_poll_ns: AtomicU64::new(0),
            })
        })
    }
}

/// How much a poll counts in the mean of poll times.
const MEAN_SHARE: f64 = 0.1;

/// The histograms of one worker.
#[derive(Debug)]
pub(crate) struct TaskTimes {
    pub(crate) schedule_latency: Option<Histogram>,
    pub(crate) poll_time: Option<Histogram>,
    /// The mean of poll times, in which later ones count more; 0 before the first.
    mean_poll_ns: AtomicU64,
}

impl TaskTimes {
    pub(crate) fn record_schedule_latency(&self, duration: Duration) {
        if let Some(histogram) = &self.schedule_latency {
            histogram.record(duration);
        }
    }

    pub(crate) fn record_poll_time(&self, duration: Duration) {
        if let Some(histogram) = &self.poll_time {
            histogram.record(duration);
        }
        // Relaxed: statistics. If two threads record for one worker, one poll may be missed.
        let (before, now) = (self.mean_poll_ns.load(Relaxed), to_ns(duration));
        let difference = (now as f64 - before as f64) * MEAN_SHARE;
        let mean = if before == 0 { now } else { before.saturating_add_signed(difference as i64) };
        self.mean_poll_ns.store(mean, Relaxed);
    }

    pub(crate) fn mean_poll_time(&self) -> Duration {
        // Relaxed: statistics.
        Duration::from_nanos(self.mean_poll_ns.load(Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn configurations() -> Vec<HistogramConfiguration> {
        let mut all = vec![
            HistogramConfiguration::default(),
            HistogramConfiguration::linear(Duration::from_micros(100), 10),
            HistogramConfiguration::linear(Duration::from_nanos(7), 1),
        ];
        for precision in 0..=PRECISION_MAX {
            for (min, max) in [(0, 1), (0, u64::MAX), (1, 2), (100, 60_000_000_000), (1023, 1025)] {
                all.push(HistogramConfiguration::log(
                    LogHistogram::builder()
                        .precision_exact(precision)
                        .min_value(Duration::from_nanos(min))
                        .max_value(Duration::from_nanos(max)),
                ));
            }
        }
        all
    }

    #[test]
    fn buckets_follow_one_another_without_gaps() {
        for configuration in configurations() {
            let ranges: Vec<_> =
                (0..configuration.buckets()).map(|bucket| configuration.range(bucket)).collect();
            assert_eq!(ranges[0].start, Duration::ZERO);
            assert_eq!(ranges[ranges.len() - 1].end, Duration::from_nanos(u64::MAX));
            for pair in ranges.windows(2) {
                assert_eq!(pair[0].end, pair[1].start, "{configuration:?}");
                assert!(pair[0].start < pair[0].end, "{configuration:?}");
            }
        }
    }

    #[test]
    fn a_duration_is_counted_where_it_belongs() {
        for configuration in configurations() {
            for bucket in 0..configuration.buckets() {
                let range = configuration.range(bucket);
                let (start, end) = (to_ns(range.start), to_ns(range.end));
                for ns in [start, start + (end - start) / 2, end - 1] {
                    assert_eq!(configuration.bucket_of(ns), bucket, "{configuration:?}: {ns}");
                }
            }
        }
    }

    #[test]
    fn a_log_scale_keeps_its_bounds() {
        for max_error in [0.9, 0.5, 0.25, 0.1, 0.01, 0.001] {
            let log = LogHistogram::builder()
                .min_value(Duration::from_micros(1))
                .max_value(Duration::from_secs(1))
                .max_error(max_error)
                .build();
            let configuration = HistogramConfiguration::log(log);
            let last = configuration.buckets() - 1;
            assert!(configuration.range(0).end <= Duration::from_micros(1));
            assert!(configuration.range(last).start >= Duration::from_secs(1));
            assert!(configuration.range(last - 1).start < Duration::from_secs(1));
            for bucket in 1..last {
                let range = configuration.range(bucket);
                let error = (range.end - range.start).as_nanos() as f64;
                assert!(error <= max_error * range.start.as_nanos() as f64, "{range:?}");
            }
        }
    }

    #[test]
    fn too_many_buckets_are_refused() {
        let builder = LogHistogram::builder();
        let needed = LogHistogram::default().buckets;
        assert_eq!(builder.max_buckets(needed), Ok(builder.build()));
        let error = builder.max_buckets(needed - 1).unwrap_err();
        let required_bucket_count = needed;
        assert_eq!(error, InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count });
        assert_eq!(error.to_string(), format!("the histogram would take {needed} buckets"));
    }
}
