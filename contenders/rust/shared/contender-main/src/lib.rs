//! The main of every contender, and its allocator: the system's, or mimalloc in the tuned track.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub use palio_protocol;

/// The allocator of the track.
#[cfg(feature = "mimalloc")]
pub type Inner = mimalloc::MiMalloc;
/// The allocator of the track.
#[cfg(not(feature = "mimalloc"))]
pub type Inner = std::alloc::System;

/// The allocator of the track, for a contender that wraps it (feature `wrapped`).
#[cfg(feature = "mimalloc")]
pub const INNER: Inner = mimalloc::MiMalloc;
/// The allocator of the track, for a contender that wraps it (feature `wrapped`).
#[cfg(not(feature = "mimalloc"))]
pub const INNER: Inner = std::alloc::System;

#[cfg(all(feature = "mimalloc", not(feature = "wrapped")))]
#[global_allocator]
static ALLOCATOR: Inner = INNER;

/// The flags of the build, and the allocator with the version that the linked library says of
/// itself.
#[must_use]
pub fn flags(built: &str) -> &'static str {
    String::leak(format!("{built} allocator={}", allocator()))
}

#[cfg(feature = "mimalloc")]
fn allocator() -> String {
    format!("mimalloc-{}", mimalloc_version(INNER.version()))
}

#[cfg(not(feature = "mimalloc"))]
fn allocator() -> String {
    "system".to_owned()
}

/// mimalloc's number, such as 209 for 2.0.9; later ones have two digits for each part (20302).
#[cfg(any(feature = "mimalloc", test))]
fn mimalloc_version(number: u32) -> String {
    let base = if number < 1000 { 10 } else { 100 };
    format!("{}.{}.{}", number / (base * base), number / base % base, number % base)
}

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
            flags: $crate::flags(env!("PALIO_FLAGS")),
            threads_max: $threads_max,
            workloads: $workloads,
            knobs: $knobs,
        })
    };
    (runtime: $runtime:literal, threads_max: $threads_max:expr, workloads: $workloads:expr $(,)?) => {
        $crate::serve!(runtime: $runtime, threads_max: $threads_max, workloads: $workloads, knobs: &[])
    };
    // A runtime that chooses, when it starts, how it waits for the system's events.
    (runtime: $runtime:literal, threads_max: $threads_max:expr, workloads: $workloads:expr, driver: $driver:expr $(,)?) => {
        $crate::palio_protocol::harness::serve($crate::palio_protocol::harness::Contender {
            id: env!("PALIO_ID"),
            runtime: $runtime,
            version: env!("PALIO_RUNTIME_VERSION"),
            toolchain: env!("PALIO_TOOLCHAIN"),
            flags: $crate::flags(&format!("{} driver={}", env!("PALIO_FLAGS"), $driver)),
            threads_max: $threads_max,
            workloads: $workloads,
            knobs: &[],
        })
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_of_mimalloc_are_read_in_both_forms() {
        assert_eq!(super::mimalloc_version(209), "2.0.9");
        assert_eq!(super::mimalloc_version(30302), "3.3.2");
    }
}
