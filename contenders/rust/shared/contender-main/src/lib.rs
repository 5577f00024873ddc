//! The main of every contender, and its allocator: the system's, or mimalloc in the tuned track.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub use palio_protocol;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the contender. A macro, because the facts about the build stand in the environment of the
/// contender's package, where its build script has put them.
#[macro_export]
macro_rules! serve {
    (runtime: $runtime:literal, threads_max: $threads_max:expr, workloads: $workloads:expr, knobs: $knobs:expr $(,)?) => {
        $crate::palio_protocol::harness::serve($crate::palio_protocol::harness::Contender {
            id: env!("PALIO_ID"),
            runtime: $runtime,
            version: env!("PALIO_RUNTIME_VERSION"),
            toolchain: env!("PALIO_TOOLCHAIN"),
            flags: env!("PALIO_FLAGS"),
            threads_max: $threads_max,
            workloads: $workloads,
            knobs: $knobs,
        })
    };
    (runtime: $runtime:literal, threads_max: $threads_max:expr, workloads: $workloads:expr $(,)?) => {
        $crate::serve!(runtime: $runtime, threads_max: $threads_max, workloads: $workloads, knobs: &[])
    };
}
